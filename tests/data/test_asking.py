"""Who asks, guessed from what the data look like."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.data import Items, PairSet, default_direction, who_asks
from simviz.datasets import DEMOS
from simviz.relevance import Relevance
from simviz.store.datasets import usual_asking

SHORT = ["an ox", "an elk", "a cow"]
LONG = ["a heavy animal that pulls", "a large deer with antlers", "an animal kept for milk"]


def pair_set(x, y, x_kind="text", y_kind="text", relevance=None, **names):
    sides = [
        Items([str(i) for i in range(len(side))], side, kind)
        for side, kind in ((x, x_kind), (y, y_kind))
    ]
    return PairSet(*sides, Relevance.coerce(relevance, len(x), len(y)), **names)


@pytest.mark.parametrize(
    "name", ["queries", "Search terms", "raw_title", "keywords", "user input", "question_1"]
)
def test_a_name_tells(name):
    assert default_direction(pair_set(SHORT, SHORT, x_name="titles", y_name=name)) == "y2x"
    assert default_direction(pair_set(LONG, SHORT, x_name=name, y_name="titles")) == "x2y"


def test_names_that_only_begin_so_or_stand_on_both_sides_tell_nothing():
    assert default_direction(pair_set(SHORT, SHORT, x_name="x", y_name="rawhide")) == "x2y"
    both = pair_set(LONG, SHORT, x_name="queries", y_name="tags")
    assert who_asks(both) == ("y2x", "tags, the shorter side")


def test_keywords_ask_for_pictures_and_texts():
    pictures = np.zeros((3, 4, 4), dtype=np.uint8)
    assert default_direction(pair_set(pictures, SHORT, "image", "keyword")) == "y2x"
    assert default_direction(pair_set(SHORT, LONG, "keyword", "text")) == "x2y"
    assert default_direction(pair_set(pictures, SHORT, "image", "text")) == "x2y"


def test_the_shorter_of_two_texts_asks_only_where_the_other_is_much_longer():
    assert who_asks(pair_set(LONG, SHORT)) == ("y2x", "y, the shorter side")
    assert who_asks(pair_set(LONG, [t[:12] for t in LONG])) == (
        "x2y",
        "x, the left side",
    )
    assert default_direction(pair_set(SHORT, LONG)) == "x2y"


def test_of_judged_pairs_the_side_asks_that_can_be_wrong():
    one_each = sp.csr_array(np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]))
    pairs = pair_set(
        SHORT + LONG[:1], SHORT[:2], relevance=Relevance(one_each, "ignore"), x_name="queries"
    )
    assert who_asks(pairs) == (
        "y2x",
        "y, the only side whose answers can be ranked wrongly",
    )
    assert who_asks(pairs.swap()).direction == "x2y"


def test_exchanged_sides_are_guessed_alike_where_anything_tells():
    for pairs in (pair_set(LONG, SHORT), pair_set(SHORT, SHORT, x_name="pages", y_name="tags")):
        assert {default_direction(pairs), default_direction(pairs.swap())} == {"x2y", "y2x"}


def test_a_demo_says_itself_who_asks():
    pairs = pair_set(SHORT, SHORT, x_name="keywords", y_name="icons")
    assert default_direction(pairs) == "x2y"
    assert usual_asking("demo:icons", pairs).direction == DEMOS["icons"].direction == "y2x"
    assert usual_asking("demo:icons", pairs).reason.startswith("icons")
    assert usual_asking("icons", pairs) == who_asks(pairs)
