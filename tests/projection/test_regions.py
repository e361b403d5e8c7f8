"""Regions of a map: where they are, what they are about, when there is none."""

from __future__ import annotations

import numpy as np
import pytest

from simviz.projection import topic_regions, word_regions


def clumps(centres, n=30, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(n, 2)) * 0.5 + centre for centre in centres])


def test_topics_are_where_their_items_lie_the_weightiest_first():
    points = np.concatenate([clumps([(0, 0)], 20), clumps([(10, 0)], 40), clumps([(0, 10)], 30)])
    theta = np.repeat(np.eye(3) * 0.7 + 0.1, [20, 40, 30], axis=0)
    found = topic_regions(points, theta, [["a", "A"], ["b", ""], ["c", "C"]])
    assert [region.lines for region in found] == [("b",), ("c", "C"), ("a", "A")]
    for region, centre in zip(found, [(10, 0), (0, 10), (0, 0)], strict=True):
        assert np.linalg.norm(np.subtract(region.point, centre)) < 0.5
        assert (points == region.point).all(axis=1).any(), "the point is an item"
    assert found[0].weight == pytest.approx(0.8 * 40)


def test_what_is_scattered_small_unknown_or_nameless_is_no_region():
    points = clumps([(0, 0), (20, 0), (0, 20), (20, 20)])
    theta = np.zeros((120, 5))
    theta[:30, 0] = 1
    theta[30:34, 1] = 1  # too few
    theta[[40, 70, 100, 45, 75, 105], 2] = 1  # all over the map
    theta[60:70, 3] = 1  # without a name
    found = topic_regions(points, theta, [["a"], ["b"], ["c"], [""], ["e"]])
    assert [region.lines for region in found] == [("a",)]
    theta[90:, 4] = 2  # the weightiest of one name
    same = topic_regions(points, theta, [["same", "x"], ["b"], ["c"], [""], ["same", "y"]])
    assert [region.lines for region in same] == [("same", "y")]
    assert topic_regions(np.empty((0, 2)), np.empty((0, 1)), [["a"]]) == []
    assert topic_regions(np.zeros((9, 2)), np.ones((9, 1)), [["a"]])[0].point == (0, 0)
    with pytest.raises(ValueError, match="3 points, shares of shape"):
        topic_regions(np.zeros((3, 2)), np.zeros((4, 1)), [["a"]])


def test_words_that_set_a_region_apart_name_it_on_both_sides():
    points = clumps([(0, 0), (20, 0), (0, 20)])
    x = [f"the {word} of {i}" for word in ("cat", "car", "sun") for i in range(30)]
    y = [f"el {word} de {i}" for word in ("gato", "coche", "sol") for i in range(30)]
    found = word_regions([(points, x), (points + 0.1, y)], 3)
    lines = {region.lines for region in found}
    assert lines == {("cat", "gato"), ("car", "coche"), ("sun", "sol")}
    pictures = word_regions([(points, None), (points, y)], 3)
    assert {region.lines for region in pictures} == {("gato",), ("coche",), ("sol",)}
    again = word_regions([(points, x), (points + 0.1, y)], 3)
    assert again == found, "the same seed gives the same regions"


def test_where_no_word_sets_anything_apart_there_is_no_region():
    points = clumps([(0, 0), (20, 0)])
    assert word_regions([(points, ["the same"] * 60)], 2) == []
    assert word_regions([(points, [f"w{i}" for i in range(60)])], 2) == []
    assert word_regions([(np.zeros((60, 2)), ["the same"] * 60)]) == []
