"""A split is suggested that works and that asks the right question."""

from __future__ import annotations

import numpy as np
import pytest

from simviz.data import split
from simviz.data.pairs import Items, PairSet
from simviz.data.splitting import MIN_GROUPS, group_columns, part_columns, suggest_split
from simviz.relevance import Relevance

N = 60


def pairs_of(matrix, kinds=("text", "text"), x_metadata=None, y_metadata=None):
    matrix = np.asarray(matrix)
    sides = []
    for n, kind, metadata in zip(matrix.shape, kinds, (x_metadata, y_metadata), strict=True):
        ids = [str(i) for i in range(n)]
        content = np.zeros((n, 4, 4), np.uint8) if kind == "image" else [f"item {i}" for i in ids]
        sides.append(Items(ids, content, kind, metadata or {}))
    rows, columns = matrix.nonzero()
    relevance = Relevance.from_pairs(rows, columns, matrix[rows, columns], shape=matrix.shape)
    return PairSet(*sides, relevance)


def classes(n_classes):
    return np.eye(n_classes)[np.arange(N) % n_classes]


def tied():
    """Every x item with the y item after its own: one chain through all."""
    return np.eye(N) + np.roll(np.eye(N), 1, axis=1)


def parts(n):
    return {"split": np.array(["train", "validation", "test"] * (n // 3), dtype=object)}


@pytest.mark.parametrize(
    ("pairs", "by", "key"),
    [
        (pairs_of(np.eye(N)), "pair", None),
        (pairs_of(tied()), "x", None),
        (pairs_of(classes(6)), "x", None),
        (pairs_of(classes(6).T, ("keyword", "image")), "y", None),
        (pairs_of(classes(6), ("image", "keyword")), "x", None),
        (pairs_of(np.eye(N), x_metadata=parts(N)), "column", "split"),
        (
            pairs_of(np.eye(N), y_metadata={"group": np.arange(N) // 2}),
            "group",
            "group",
        ),
        # Too few groups for a test on new ones.
        (pairs_of(np.eye(N), y_metadata={"group": np.arange(N) % (MIN_GROUPS - 1)}), "pair", None),
        # A split without a test part is no split.
        (pairs_of(np.eye(N), x_metadata={"split": np.array(["train"] * N)}), "pair", None),
    ],
)
def test_suggestion_is_the_fair_one_and_works(pairs, by, key):
    suggestion = suggest_split(pairs)
    assert (suggestion.by, suggestion.group_key) == (by, key)
    assert suggestion.reason.endswith(".")
    found = split(pairs, suggestion.by, group_key=suggestion.group_key)
    assert all(p.relevance.positives.nnz for p in (found.train, found.validation, found.test))


def test_reason_says_which_side_is_new():
    pairs = pairs_of(classes(6).T, ("keyword", "image"))
    assert "new items of 'y' among known items of 'x'" in suggest_split(pairs).reason


def test_too_few_pairs_say_so():
    suggestion = suggest_split(pairs_of(np.eye(2)))
    assert suggestion.by == "pair"
    assert "Too few pairs" in suggestion.reason


def test_columns_that_can_split_are_found_on_both_sides():
    pairs = pairs_of(
        np.eye(N),
        x_metadata={"source": np.arange(N) % 5, "unique": np.arange(N), "flag": np.arange(N) % 2},
        y_metadata={"source": np.arange(N) % 4, "topic": np.arange(N) % 7} | parts(N),
    )
    assert group_columns(pairs) == ["source", "topic"]
    assert part_columns(pairs) == ["split"]


def test_column_that_one_side_contradicts_is_no_split():
    words = {"split": np.array(["maybe"] * N, dtype=object)}
    assert part_columns(pairs_of(np.eye(N), x_metadata=words, y_metadata=parts(N))) == []
