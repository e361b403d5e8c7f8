"""How far a drawing can be trusted, and what it is called."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from sklearn.manifold import trustworthiness

from simviz.projection import layout, map_quality, mds_map
from simviz.projection.quality import points_moved, trust_level
from simviz.relevance import Relevance


def cloud(n_x, n_y, k, seed=0):
    rng = np.random.RandomState(seed)
    return rng.normal(size=(n_x, k)), rng.normal(size=(n_y, k))


@settings(max_examples=20)
@given(st.integers(3, 40), st.integers(3, 60), st.integers(1, 12), st.integers(0, 1000))
def test_trustworthiness_and_continuity_equal_sklearn(n_x, n_y, k, seed):
    x, y = cloud(n_x, n_y, 6, seed)
    drawn = mds_map(x, y)
    quality = map_quality(x, y, *drawn, n_neighbors=k)
    space, flat = np.concatenate([x, y]), np.concatenate(drawn)
    k = quality.n_neighbors
    there = trustworthiness(space, flat, n_neighbors=k)
    back = trustworthiness(flat, space, n_neighbors=k)
    assert (quality.trustworthiness, quality.continuity) == pytest.approx((there, back), abs=1e-9)
    assert quality.false_neighbors.mean() == pytest.approx(1 - quality.trustworthiness)
    assert quality.missing_neighbors.mean() == pytest.approx(1 - quality.continuity)


def test_blocks_do_not_change_the_result(monkeypatch):
    x, y = cloud(70, 50, 8)
    drawn = mds_map(x, y)
    relevance = Relevance.from_pairs(np.arange(50), np.arange(50), shape=(70, 50))
    whole = map_quality(x, y, *drawn, relevance=relevance)
    monkeypatch.setattr(layout, "BLOCK_BYTES", 120 * 8 * 7)
    parts = map_quality(x, y, *drawn, relevance=relevance)
    for name in ("trustworthiness", "continuity", "overlap", "cross_overlap", "mrr_map"):
        assert getattr(whole, name) == pytest.approx(getattr(parts, name), abs=1e-12)
    np.testing.assert_allclose(whole.false_neighbors, parts.false_neighbors, atol=1e-12)


def test_a_perfect_map_keeps_everything():
    x, y = cloud(30, 40, 2)
    quality = map_quality(x, y, -x[:, ::-1] * 7 + 3, -y[:, ::-1] * 7 + 3)
    assert quality.trustworthiness == quality.continuity == 1
    assert quality.overlap == quality.cross_overlap == 1


def test_a_random_map_keeps_what_the_baseline_says():
    x, y = cloud(300, 500, 5)
    quality = map_quality(x, y, *cloud(300, 500, 2, seed=1))
    assert quality.random_overlap == 10 / 799
    assert quality.overlap == pytest.approx(quality.random_overlap, abs=0.006)
    assert quality.random_cross_overlap == pytest.approx((300 * 10 / 500 + 500 * 10 / 300) / 800)
    assert quality.cross_overlap == pytest.approx(quality.random_cross_overlap, abs=0.01)
    assert quality.trustworthiness == pytest.approx(0.5, abs=0.03)


def test_false_and_missing_neighbours_are_told_apart():
    # A line of 20; the map folds its last point onto the first.
    line = np.column_stack([np.arange(20.0), np.zeros(20)])
    folded = line.copy()
    folded[19] = [-0.5, 0.0]
    quality = map_quality(line[:10], line[10:], folded[:10], folded[10:], n_neighbors=2)
    # The first point gets a false neighbour; what it was near to is drawn third at worst.
    assert quality.false_neighbors[0] > quality.missing_neighbors[0] > 0
    # The neighbours of the folded one lose it far away.
    assert quality.missing_neighbors[18] > quality.false_neighbors[18] >= 0
    assert quality.false_neighbors[8] == quality.missing_neighbors[8] == 0


def test_a_sample_says_so_and_estimates_the_same():
    x, y = cloud(300, 400, 6)
    drawn = mds_map(x, y)
    whole, part = map_quality(x, y, *drawn), map_quality(x, y, *drawn, max_points=350)
    assert (whole.n_sampled, part.n_sampled, part.n_points) == (700, 350, 700)
    assert len(part.false_neighbors) == 350 and len(set(part.sample)) == 350
    np.testing.assert_allclose(part.false_neighbors, whole.false_neighbors[part.sample])
    assert part.trustworthiness == pytest.approx(whole.trustworthiness, abs=0.02)
    assert "350 of 700 points" in part.describe()


def test_retrieval_on_the_map_and_in_the_space():
    # In space, partners coincide; on the map the second pair is swapped with the third.
    x = np.eye(4)
    flat = np.array([[0.0, 0], [0, 5], [5, 0], [9, 9]])
    quality = map_quality(x, x, flat, flat[[0, 2, 1, 3]], relevance=sp.eye_array(4, format="csr"))
    assert quality.mrr_space == 1
    # Queries 1 and 2: partner at √50 ≈ 7.07, nearer are the swapped one (0) and the origin (5).
    assert quality.mrr_map == pytest.approx((1 + 1 / 3 + 1 / 3 + 1) / 4)


def test_retrieval_expects_ties_and_respects_judgments():
    x, y = np.zeros((1, 2)), np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
    one = Relevance.from_pairs([0], [2], shape=(1, 4))
    tied = map_quality(x, y, x, y, relevance=one)
    # From the y side there is one candidate only.
    assert tied.mrr_map == pytest.approx(((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4 + 1) / 2)
    judged = Relevance.from_pairs([0, 0], [2, 3], [1, -1], shape=(1, 4))
    assert map_quality(x, y, x, y, relevance=judged).mrr_map == pytest.approx((0.75 + 1) / 2)
    nothing = Relevance.from_pairs([0], [2], [-1], shape=(1, 4))
    assert map_quality(x, y, x, y, relevance=nothing).mrr_map is None


def test_within_and_across_are_told_apart():
    x, y = cloud(60, 80, 2)
    turned = y @ np.array([[0.0, -1.0], [1.0, 0.0]])
    quality = map_quality(x, y, x, turned)
    assert quality.within_overlap == 1
    assert quality.cross_overlap < 0.5 and quality.missing_across.mean() > 0.05
    chance = (60 * 10 / 59 + 80 * 10 / 79) / 140
    assert quality.random_within_overlap == pytest.approx(chance)
    assert quality.false_across.shape == (140,)


def test_across_is_measured_by_the_similarity_of_the_model():
    x, y = cloud(50, 60, 6)
    drawn = cloud(50, 60, 2, seed=1)
    dots = x @ y.T
    relevance = Relevance.from_pairs(np.arange(50), np.arange(50), shape=(50, 60))
    by_dot = map_quality(x, y, *drawn, similarity="dot", relevance=relevance)
    by_table = map_quality(x, y, *drawn, similarity=dots, relevance=relevance)
    by_distance = map_quality(x, y, *drawn, relevance=relevance)
    assert by_dot.cross_overlap == pytest.approx(by_table.cross_overlap)
    np.testing.assert_allclose(by_dot.missing_across, by_table.missing_across)
    assert by_dot.mrr_space == pytest.approx(by_table.mrr_space)
    assert by_dot.mrr_space != pytest.approx(by_distance.mrr_space)
    assert by_dot.within_overlap == by_distance.within_overlap
    assert by_dot.mrr_map == by_distance.mrr_map
    ranks = 1 + (dots > np.diag(dots[:, :50])[:, None]).sum(axis=1)
    back = 1 + (dots[:, :50] > np.diag(dots[:, :50])).sum(axis=0)
    assert by_dot.mrr_space == pytest.approx(((1 / ranks).mean() + (1 / back).mean()) / 2)


def test_unknown_items_are_like_nothing_to_a_cosine():
    x = np.eye(3)
    y = np.concatenate([0.4 * np.eye(3) + 0.6, np.zeros((3, 3))])
    y[:3] /= np.linalg.norm(y[:3], axis=1)[:, None]
    relevance = Relevance.from_pairs(np.arange(3), np.arange(3), shape=(3, 6))
    # By distance the three unknown ones would be as near as anything at a right angle.
    assert map_quality(x, y, x, y, relevance=relevance).mrr_space == 1


def test_equally_similar_items_are_not_missed():
    table = np.zeros((40, 40))
    quality = map_quality(*cloud(40, 40, 3), *cloud(40, 40, 2), similarity=table)
    assert not quality.missing_across.any() and not quality.false_across.any()


def test_points_that_move_are_counted():
    x, y = cloud(40, 50, 2)
    rolled = np.roll(y, 1, axis=0)
    moved = points_moved((x, y), [(x, y), (-x, -y), (x, rolled)])
    assert moved.shape == (90,) and moved.max() == 1
    assert moved[:40].sum() >= 38, "what stood near an x item is another item now"


def test_refusals_say_what_to_do():
    x, y = cloud(5, 6, 3)
    unknown = np.where(np.arange(5)[:, None] == 2, np.nan, x)
    for arguments, options, message in (
        ((x, y, x[:4], y), {}, "The map must place every item"),
        ((unknown, y, x, y), {}, "row 2 holds NaN"),
        ((x, y, x, y), {"n_neighbors": 0}, "at least 1"),
        ((x, y, x, y), {"similarity": np.ones((6, 5))}, r"shape \(5, 6\)"),
        ((x, y, x, y), {"similarity": "cosine"}, "'dot'"),
    ):
        with pytest.raises(ValueError, match=message):
            map_quality(*arguments, **options)


def test_level_falls_with_the_neighbours_kept_beyond_chance():
    x, y = cloud(20, 20, 2)
    quality = map_quality(x, y, x, y, relevance=Relevance.identity(20))
    levels = {
        (1.0, 0.0): "good", (0.5, 0.0): "good", (0.49, 0.0): "fair", (0.1, 0.0): "rough",
        (0.05, 0.0): "poor", (0.0, 0.0): "poor",
        (0.5, 0.5): "poor", (0.2, 0.5): "poor", (0.8, 0.5): "good",
    }  # fmt: skip
    for (overlap, by_chance), level in levels.items():
        kept = replace(quality, cross_overlap=overlap, random_cross_overlap=by_chance)
        assert trust_level(kept) == f"Map quality: {level}"
