"""Rank matching, turning drawings onto one another, and places for what is new."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from simviz.projection import align, align_sides, project_new_items, side_gap


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


def test_ranks_keep_distances_within_and_the_order_across():
    x, y = pairs_with_a_gap(gap=1.0)
    near_x, near_y = align_sides(x, y, "rank")
    within = np.corrcoef(cdist(near_x, near_x).ravel(), cdist(x, x).ravel())[0, 1]
    assert within > 0.97
    before, after = cdist(x, y), cdist(near_x, near_y)
    ranks = [np.argsort(np.argsort(d, axis=1), axis=1) for d in (before, after)]
    agreement = np.corrcoef(ranks[0].ravel(), ranks[1].ravel())[0, 1]
    assert agreement > 0.8


def test_many_items_are_put_among_landmarks(monkeypatch):
    from simviz.projection import joint

    x, y = pairs_with_a_gap(n=150)
    whole = align_sides(x, y, "rank")
    monkeypatch.setattr(joint, "MAX_LANDMARKS", 120)
    some = align_sides(x, y, "rank")
    assert len(some[0]) == len(some[1]) == 150
    a, b = (cdist(*sides).ravel() for sides in (whole, some))
    assert np.corrcoef(a, b)[0, 1] > 0.9


def test_too_few_items_are_centred():
    x, y = align_sides([[1.0, 2.0]], [[5.0, 5.0], [7.0, 7.0]], "rank")
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
