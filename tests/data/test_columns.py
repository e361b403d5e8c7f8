"""Columns that colour a map: numbers on a scale, or groups with members."""

from __future__ import annotations

import numpy as np
import pytest

from simviz.data import Items, PairSet
from simviz.data.description import MISSING, joined_column, paired_column, telling_columns
from simviz.relevance import Relevance


def items(n, **columns):
    metadata = {name: np.asarray(values) for name, values in columns.items()}
    return Items([str(i) for i in range(n)], ["text"] * n, "text", metadata)


def test_columns_of_either_side_are_offered():
    x = items(4, kind=["a", "a", "b", "b"], name=["p", "q", "r", "s"], same=["c"] * 4)
    y = items(2, length=[1.5, 2.5], constant=[1, 1])
    assert telling_columns(x, y) == ("kind", "length")


def test_side_without_the_column_is_missing():
    x, y = items(2, kind=np.array(["a", None], dtype=object)), items(1)
    assert joined_column(x, y, "kind").tolist() == ["a", MISSING, MISSING]
    numbers = joined_column(items(1), items(2, length=[3, 4]), "length")
    assert numbers.dtype == np.float64
    np.testing.assert_array_equal(numbers, [np.nan, 3.0, 4.0])


def test_numbers_and_words_of_one_name_become_words():
    joined = joined_column(items(1, year=[2001]), items(1, year=["old"]), "year")
    assert joined.tolist() == ["2001", "old"]


def test_missing_numbers_among_objects_are_no_group():
    column = np.array(["a", float("nan"), "a", "b", "b", None], dtype=object)
    assert joined_column(items(6, kind=column), items(1), "kind").tolist() == [
        "a",
        MISSING,
        "a",
        "b",
        "b",
        MISSING,
        MISSING,
    ]


def test_side_without_the_column_takes_it_through_its_pairs():
    belongs = Relevance.from_pairs(
        [0, 1, 1, 2, 2], [0, 0, 1, 0, 2], [1, 3, 1, 1, -1], shape=(4, 3)
    )
    y = items(3, kind=["a", "b", "c"], year=[2000, 2010, 1990])
    pairs = PairSet(items(4), y, belongs)
    assert paired_column(pairs, "kind").tolist() == ["a", "a", "a", MISSING, "a", "b", "c"]
    numbers = paired_column(pairs, "year")
    np.testing.assert_array_equal(numbers[:4], [2000, 2005, 2000, np.nan])
    turned = PairSet(y, items(4), belongs.T)
    assert paired_column(turned, "kind").tolist()[3:] == ["a", "a", "a", MISSING]
    both = PairSet(items(3, kind=[None, "q", "r"]), y, Relevance.identity(3))
    assert paired_column(both, "kind").tolist()[0] == MISSING, "its own column says nothing"


def test_unknown_column_is_refused():
    with pytest.raises(KeyError):
        joined_column(items(1), items(1), "kind")


def test_equal_hashes_are_no_repeats_and_repeats_are_found():
    from simviz.data.cells import are_distinct, merge_equal

    assert are_distinct([]) and are_distinct(["a", "b"]) and not are_distinct(["a", "b", "a"])
    found = merge_equal(np.array([1, 0, 2]), ["b", "a", "b"])
    assert list(found.cells) == ["a", "b", "b"] and list(found.uniques) == ["b", "a"]
    # As many cells as rows, but in another order than the rows.
    assert list(merge_equal(np.array([1, 0]), ["b", "a"]).cells) == ["a", "b"]
