"""HDLR: projections against those made one by one, in all dimensions, and by a peer."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import scipy.sparse as sp
from made_up import loud

from simviz.methods import _metric, get_method
from simviz.methods._metric import Constraints, LogDetProjections, draw_constraints
from simviz.methods.hdlr import HDLR, root
from simviz.relevance import Relevance

GOLDEN = json.loads((Path(__file__).parent / "golden" / "metric_learn.json").read_text())


def one_by_one(differences, sign, bounds, gamma, A, n_sweeps):
    """Information-theoretic metric learning as its paper has it, on a whole matrix."""
    A = A.copy()
    slack = np.where(sign > 0, *bounds)
    multiplier = np.zeros(len(sign))
    for _ in range(n_sweeps):
        for c, w in enumerate(differences):
            p, delta = w @ A @ w, sign[c]
            a = min(multiplier[c], delta * gamma / (gamma + 1) * (1 / p - 1 / slack[c]))
            multiplier[c] -= a
            slack[c] = 1 / (1 / slack[c] + delta * a / gamma)
            A += delta * a / (1 - delta * a * p) * np.outer(A @ w, A @ w)
    return A


def problem(n=150, k=7, n_pairs=200, seed=0):
    """Vectors of two sides, and pairs of which half are similar."""
    rng = np.random.default_rng(seed)
    P = rng.normal(size=(n, k))
    Q = P + 0.4 * rng.normal(size=(n, k)) * np.linspace(0.2, 2, k)
    x, y = rng.integers(0, n, (2, n_pairs))
    sign = rng.choice([-1.0, 1.0], n_pairs)
    return P, Q, Constraints(x, np.where(sign > 0, x, (x + 1 + y % (n - 1)) % n), sign)


def learned(P, Q, pairs, bounds, gamma, n_sweeps):
    projections = LogDetProjections(P, Q, pairs, bounds, gamma)
    for _ in range(n_sweeps):
        projections.sweep(lambda: None)
    return projections.B


@pytest.mark.parametrize("block", [1, 7, 64, 500])
@pytest.mark.parametrize("gamma", [0.01, 1.0, 1e4])
def test_blocks_of_projections_are_the_single_ones(monkeypatch, block, gamma):
    monkeypatch.setattr(_metric, "BLOCK", block)
    P, Q, pairs = problem()
    differences = P[pairs.x] - Q[pairs.y]
    expected = one_by_one(differences, pairs.sign, (0.5, 9.0), gamma, np.eye(7), 4)
    B = learned(P, Q, pairs, (0.5, 9.0), gamma, 4)
    np.testing.assert_allclose(B, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("gamma", GOLDEN["itml"])
def test_a_peer_learns_the_same_metric(gamma):
    points, index = np.array(GOLDEN["points"]), np.array(GOLDEN["pairs"])
    pairs = Constraints(*index.T, np.array(GOLDEN["sign"], dtype=float))
    B = learned(points, points, pairs, GOLDEN["bounds"], float(gamma), 10)
    np.testing.assert_allclose(B, GOLDEN["itml"][gamma], atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("gamma", [1e-3, 1.0, 1e6])
def test_metric_stays_positive_definite(seed, gamma):
    P, Q, pairs = problem(n_pairs=2_000, seed=seed)
    projections = LogDetProjections(P, Q, pairs, (0.01, 50.0), gamma)
    for _ in range(10):
        projections.sweep(lambda: None)
        np.testing.assert_array_equal(projections.B, projections.B.T)
        assert np.linalg.eigvalsh(projections.B).min() > 0
        assert projections.multipliers.min() >= 0


def test_bounds_that_hold_and_items_at_one_place_change_nothing():
    P, Q, pairs = problem()
    for vectors, bounds in (((P, Q), (1e6, 1e-6)), ((0 * P, 0 * Q), (1.0, 1.0))):
        projections = LogDetProjections(*vectors, pairs, bounds, 1.0)
        assert projections.sweep(lambda: None) == (0.0, 0.0)
        np.testing.assert_array_equal(projections.B, np.eye(7))


def test_a_sweep_that_is_left_changes_no_earlier_metric():
    projections = LogDetProjections(*problem(n_pairs=300), (0.5, 9.0), 1.0)
    projections.sweep(lambda: None)
    kept, before = projections.B, projections.B.copy()
    with pytest.raises(InterruptedError):
        projections.sweep(Mock(side_effect=InterruptedError))
    np.testing.assert_array_equal(kept, before)
    assert (projections.B != kept).any() and np.linalg.eigvalsh(projections.B).min() > 0


def drawn(relevance, n, seed=0):
    X, Y = (np.ones((m, 1)) for m in relevance.shape)
    return draw_constraints((X, Y, relevance), n, np.random.RandomState(seed), "HDLR")


@pytest.mark.parametrize("size", [12, 400])
def test_constraints_are_distinct_and_half_of_them_relevant(size):
    rng = np.random.default_rng(0)
    matrix = sp.csr_array((rng.random((size, size)) < 0.3) * 2.0)
    pairs = drawn(Relevance(matrix), 60)
    assert len(pairs) == len(set(zip(pairs.x, pairs.y, strict=True))) == 60
    assert (pairs.sign > 0).sum() == 30
    np.testing.assert_array_equal(matrix.toarray()[pairs.x, pairs.y] > 0, pairs.sign > 0)


def test_others_fill_up_and_items_without_any_feature_are_left_out():
    pairs = drawn(Relevance.identity(20), 1_000_000)
    assert len(pairs) == 400 and (pairs.sign > 0).sum() == 20
    data = np.diag([1, 0, 1, 1]), np.diag([1, 1, 0, 1]), Relevance.identity(4)
    pairs = draw_constraints(data, 100, np.random.RandomState(0), "HDLR")
    assert len(pairs) == 9 and 1 not in pairs.x and 2 not in pairs.y


def test_only_judged_pairs_are_drawn_where_others_are_ignored():
    judged = Relevance.from_pairs([0, 1, 2, 3], [1, 2, 3, 0], [2, -1, 1, -1], shape=(9, 9))
    pairs = drawn(judged, 100)
    found = sorted(zip(pairs.x, pairs.y, pairs.sign, strict=True))
    assert found == [(0, 1, 1), (1, 2, -1), (2, 3, 1), (3, 0, -1)]
    judged = Relevance.from_pairs([0, 1], [1, 0], [1, 1], shape=(2, 2), unjudged="ignore")
    with pytest.raises(ValueError, match="got 2 relevant and 0 judged not relevant"):
        HDLR(1, init="pca").fit(np.eye(2), np.eye(2), judged)


def watched(seed=1):
    return dict(zip(("X_val", "y_val", "relevance_val"), loud(100, seed), strict=True))


def test_noise_is_unlearned_and_the_best_sweep_kept():
    train, test = loud(), loud(200, seed=2)
    start = get_method("pca")(13).fit(*train)
    model = HDLR(13, init="pca", n_constraints=4_000).fit(*train, **watched())
    assert model.score(*test) > start.score(*test) + 0.2
    scores = model.validation_scores_
    assert len(scores) == model.n_iter_ == len(model.loss_curve_)
    assert model.best_iter_ == int(np.argmax(scores)) + 1
    assert model.score(*watched().values()) == pytest.approx(max(scores))
    assert model.gamma_ in (0.01, 0.1, 1.0, 10.0)


def test_what_was_held_out_is_learned_from_in_the_end(monkeypatch):
    made = []

    class Counted(LogDetProjections):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.swept = 0
            made.append(self)

        def sweep(self, tick):
            self.swept += 1
            return super().sweep(tick)

    monkeypatch.setattr(_metric, "LogDetProjections", Counted)
    model = HDLR(13, init="pca", n_constraints=4_000, validation_fraction=0.2).fit(*loud())
    *tried, last = made
    # With the γ that was chosen, and as many sweeps as it had made by then.
    before = [one.swept for one in tried if one.gamma < model.gamma_]
    assert len(before) > 1 and {(len(one.P), len(one.pairs)) for one in tried} == {(240, 4_000)}
    assert (last.gamma, len(last.P), len(last.pairs)) == (model.gamma_, 300, 4_000)
    assert last.swept == model.best_iter_ - sum(before) > 1
    expected = get_method("pca")(13).fit(*loud()).x_projection_ @ root(last.B)
    np.testing.assert_allclose(model.x_projection_, expected, atol=1e-9)


def test_a_start_that_is_kept_is_learned_from_all_items():
    train = loud()
    model = HDLR(13, n_constraints=4_000, validation_fraction=0.2).fit(*train)
    assert (model.best_iter_, model.gamma_) == (0, None)
    start = get_method("opca")(13, shared=True).fit(*train)
    np.testing.assert_array_equal(model.metric_, np.eye(13))
    np.testing.assert_allclose(model.x_projection_, start.x_projection_, atol=1e-9)


def test_without_anything_to_watch_it_converges():
    X, Y, relevance = loud(60)
    model = HDLR(6, init="pca", validation_fraction=0, tol=1e-2).fit(X, Y, relevance)
    assert model.gamma_ == 0.01 and model.validation_scores_ == []
    assert 1 < model.best_iter_ == model.n_iter_ < 100
    L = np.linalg.cholesky(model.metric_)
    start = get_method("pca")(6).fit(X, Y, relevance)
    np.testing.assert_allclose(model.x_projection_, start.x_projection_ @ L, atol=1e-10)
    assert model.x_projection_ is model.y_projection_


def test_bounds_are_percentiles_of_the_start():
    X, Y, relevance = loud(400)
    start = get_method("pca")(13).fit(X, Y)
    model = HDLR(13, init=start, similar_percentile=20, dissimilar_percentile=70, max_iter=1)
    u, v = model.fit(X, Y, relevance).bounds_
    P, Q = start.transform(X), start.transform_y(Y)
    squares = np.sum((P[:, None] - Q[None]) ** 2, axis=2)
    np.testing.assert_allclose([(squares < u).mean(), (squares < v).mean()], [0.2, 0.7], atol=0.02)


def test_means_are_bent_along():
    X, Y, relevance = loud()
    start = get_method("pca")(13, center_at_transform=True).fit(X, Y)
    model = HDLR(13, init=start, gamma=1.0).fit(X, Y, relevance, **watched())
    assert model.best_iter_ > 0
    bent = start.transform(X) @ np.linalg.cholesky(model.metric_)
    np.testing.assert_allclose(model.transform(X), bent, atol=1e-10)


def test_starts_are_cut_and_stopping_keeps_them():
    X, Y, relevance = loud()
    stop = HDLR(4, init="opca").set_callbacks(lambda *_: True).fit(X, Y, relevance)
    assert stop.n_iter_ == 0 and stop.n_components_ == 4
    large = get_method("pca")(12).fit(X, Y)
    cut = HDLR(5, init=large, max_iter=1).fit(X, Y, relevance)
    assert cut.n_components_ == 5 and large.n_components_ == 12


def test_sweeps_are_told_with_their_score():
    heard = []
    model = HDLR(5, init="pca").set_callbacks(
        lambda step, total, metrics: heard.append((step, dict(metrics))) or step >= 3
    )
    model.fit(*loud(), **watched())
    last = {"loss": model.loss_curve_[-1], "validation": model.validation_scores_[-1]}
    assert heard[-1] == (3, last) and model.n_iter_ == 3


def test_a_metric_that_rounding_made_indefinite_has_a_root():
    L = root(np.diag([4.0, 1.0, -1e-18]))
    np.testing.assert_allclose(L @ L.T, np.diag([4.0, 1.0, 0.0]), atol=1e-12)
