"""Sides brought together, drawings turned onto one another or carried on, and new places."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from simviz.data import PairSet
from simviz.projection import (
    align,
    align_sides,
    joint_map,
    neighbors_changed,
    project_new_items,
    side_gap,
)


def pairs_with_a_gap(n=120, k=6, gap=3.0, seed=0):
    rng = np.random.RandomState(seed)
    shared = rng.normal(size=(n, k))
    offset = np.zeros(k)
    offset[-1] = gap
    return shared + 0.1 * rng.normal(size=(n, k)), shared[::-1] + offset


def test_ranks_know_no_gap():
    x, y = pairs_with_a_gap()
    before, after = side_gap(x, y), side_gap(*align_sides(x, y, "rank"))
    assert before.distance_ratio < 0.8 and before.mixing < 0.5
    assert after.distance_ratio > 0.95 and after.mixing > 1.3 * before.mixing


def test_ranks_keep_distances_within_and_the_order_across(monkeypatch):
    x, y = pairs_with_a_gap(gap=1.0)
    near_x, near_y = align_sides(x, y, "rank")
    within = np.corrcoef(cdist(near_x, near_x).ravel(), cdist(x, x).ravel())[0, 1]
    assert within > 0.97
    before, after = cdist(x, y), cdist(near_x, near_y)
    ranks = [np.argsort(np.argsort(d, axis=1), axis=1) for d in (before, after)]
    agreement = np.corrcoef(ranks[0].ravel(), ranks[1].ravel())[0, 1]
    assert agreement > 0.8
    monkeypatch.setattr("simviz.projection.joint.MAX_LANDMARKS", 100)
    some = align_sides(x, y, "rank")
    assert [len(side) for side in some] == [120, 120]
    assert np.corrcoef(cdist(*some).ravel(), after.ravel())[0, 1] > 0.9
    x, y = align_sides([[1.0, 2.0]], [[5.0, 5.0], [7.0, 7.0]], "rank")  # too few: centred
    assert x.tolist() == [[0.0, 0.0]] and y.mean(axis=0).tolist() == [0.0, 0.0]


def test_align_undoes_turning_mirroring_scaling_and_shifting():
    rng = np.random.RandomState(0)
    goal = rng.normal(size=(40, 2))
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    np.testing.assert_allclose(align(5 * goal @ turn + 3, goal), goal, atol=1e-9)
    np.testing.assert_allclose(align(np.zeros((40, 2)), goal), np.tile(goal.mean(axis=0), (40, 1)))
    with pytest.raises(ValueError, match="same items"):
        align(goal[:3], goal)


def test_place_lies_among_its_neighbours_nearest_to_the_best():
    spot = project_new_items([[0, 0], [1, 0], [0, 1]], [0.9, 0.2, 0.2])
    assert spot.point[0] < 0.2 and spot.point[1] < 0.2 and spot.spread > 0
    same = project_new_items([[2.0, 3.0]], [0.4])
    assert same.point == (2.0, 3.0) and same.spread == 0
    negative = project_new_items([[0, 0], [1, 1]], [-0.2, -0.4])
    assert 0 < negative.point[0] < 0.5, "scores below zero have an order too"
    with pytest.raises(ValueError, match="at least one"):
        project_new_items(np.empty((0, 2)), [])


class Told:
    """A pipeline that says what a table says."""

    def __init__(self, table):
        self.tables = {"y": np.array(table, float), "x": np.array(table, float).T}

    def _encoded(self, items, side):
        return np.array([[1 + int(text)] for text in items.content])

    def _scorer(self, rows, side):
        return lambda queries: self.tables[side][np.ix_(queries[:, 0] - 1, rows[:, 0] - 1)]


@pytest.fixture
def pairs():
    return PairSet.from_texts(list("0123"), list("0123"))


FIRST = [[4, 3, 2, 1], [5, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
SECOND = [[4, 1, 3, 2], [5, 4, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
#: Of two nearest one is another; one of two is new, for others were tied; all of one; none known.
CHANGED = [1 / 2, 1 / 2, 1, np.nan]


def test_what_changed_is_the_share_of_neighbours_that_one_model_alone_has(pairs, monkeypatch):
    found = neighbors_changed(Told(FIRST), Told(SECOND), pairs)
    np.testing.assert_array_equal(found[:4], CHANGED)
    # By columns: [4 5 0 0] and [4 5 1 0], [3 1 0 0] and [1 4 0 0], [2 1 0 0] and [3 1 0 0], ...
    np.testing.assert_array_equal(found[4:], [0, 0, 0, 1 / 2])
    np.testing.assert_array_equal(neighbors_changed(Told(SECOND), Told(FIRST), pairs), found)
    same = neighbors_changed(Told(FIRST), Told(FIRST), pairs)
    np.testing.assert_array_equal(same, [0, 0, np.nan, np.nan, 0, 0, 0, 0])
    monkeypatch.setattr("simviz.projection.pipeline_map.BLOCK", 8)  # two rows at a time
    np.testing.assert_array_equal(neighbors_changed(Told(FIRST), Told(SECOND), pairs), found)


def test_a_drawing_is_turned_onto_another_of_the_same_items_and_as_large():
    rng = np.random.default_rng(0)
    first = joint_map(rng.normal(size=(20, 3)), rng.normal(size=(30, 3)), "pca")
    turn = np.array([[0.6, 0.8], [0.8, -0.6]])
    mirrored = joint_map(first.x @ turn, first.y @ turn, "pca")
    there = mirrored.turned_onto(first)
    np.testing.assert_allclose(there.x, first.x, atol=1e-9)
    np.testing.assert_allclose(there.y, first.y, atol=1e-9)
    # Another drawing, with which it has little in common, does not shrink.
    other = joint_map(rng.normal(size=(20, 3)), rng.normal(size=(30, 3)), "pca").turned_onto(first)
    clouds = [np.concatenate([drawn.x, drawn.y]) for drawn in (first, other)]
    sizes = [np.linalg.norm(cloud - clouds[0].mean(axis=0)) for cloud in clouds]
    assert sizes[0] == pytest.approx(sizes[1])
    # Where all stand in one place, there is nothing to turn, or to turn onto.
    point = joint_map(np.ones((20, 3)), np.ones((30, 3)), "pca")
    np.testing.assert_array_equal(point.turned_onto(first).x, point.x)
    np.testing.assert_array_equal(first.turned_onto(point).x, first.x)


@pytest.fixture(scope="module")
def sides():
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((6, 8)) * 4
    return [centres[np.arange(60) % 6] + rng.standard_normal((60, 8)) for _ in "xy"]


@pytest.mark.parametrize("method", ["two-sided", "mds"])
def test_it_stays_where_it_was_but_for_what_moved(sides, method):
    x, y = sides
    first = joint_map(x, y, method)
    moved = x.copy()
    moved[0] = y[3]  # of another cluster
    fresh = joint_map(moved, y, method)
    then = joint_map(moved, y, method, start=first)
    extent = np.ptp(first.x, axis=0).max()
    away = np.linalg.norm(then.x - first.x, axis=1) / extent
    assert np.median(away) < 0.05
    assert away[0] > 4 * np.median(away)
    near = [np.linalg.norm(d.x[0] - d.y[3]) / extent for d in (first, then)]
    assert near[1] < near[0] / 2
    # The quality is that of a drawing that was made anew.
    assert then.quality.cross_overlap > fresh.quality.cross_overlap - 0.1
