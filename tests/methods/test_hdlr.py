"""HDLR: projections against those made one by one, in all dimensions, and by a peer."""

from __future__ import annotations

import json
from pathlib import Path

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


def test_few_dimensions_learn_the_metric_of_all():
    """Of d × d updates from A₀ = UUᵀ nothing leaves the span of U."""
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(2, 60, 30))
    U = rng.normal(size=(30, 5)) / 5
    _, _, pairs = problem(60, 5, 120)
    expected = one_by_one(X[pairs.x] - Y[pairs.y], pairs.sign, (1.0, 6.0), 1.0, U @ U.T, 3)
    B = learned(X @ U, Y @ U, pairs, (1.0, 6.0), 1.0, 3)
    np.testing.assert_allclose(U @ B @ U.T, expected, atol=1e-12)


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


def test_bounds_that_hold_change_nothing():
    P, Q, pairs = problem()
    projections = LogDetProjections(P, Q, pairs, (1e6, 1e-6), 1.0)
    assert projections.sweep(lambda: None) == (0.0, 0.0)
    np.testing.assert_array_equal(projections.B, np.eye(7))


def test_a_sweep_that_is_left_changes_no_earlier_metric():
    projections = LogDetProjections(*problem(n_pairs=300), (0.5, 9.0), 1.0)
    projections.sweep(lambda: None)
    kept = projections.B
    before = kept.copy()

    def stop():
        raise InterruptedError

    with pytest.raises(InterruptedError):
        projections.sweep(stop)
    np.testing.assert_array_equal(kept, before)
    assert (projections.B != kept).any() and np.linalg.eigvalsh(projections.B).min() > 0


def test_items_at_one_place_are_passed_over():
    P = np.zeros((3, 2))
    pairs = Constraints(np.array([0, 1]), np.array([1, 2]), np.array([1.0, -1.0]))
    assert LogDetProjections(P, P, pairs, (1.0, 1.0), 1.0).sweep(lambda: None) == (0.0, 0.0)


def test_bounds_are_reached_where_missing_them_costs_much():
    P, Q, pairs = problem(k=30, n_pairs=60)
    B = learned(P, Q, pairs, (5.0, 60.0), 1e9, 300)
    W = P[pairs.x] - Q[pairs.y]
    squares = np.einsum("ij,jk,ik->i", W, B, W)
    assert squares[pairs.sign > 0].max() < 5.0 * (1 + 1e-3)
    assert squares[pairs.sign < 0].min() > 60.0 * (1 - 1e-3)


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


def test_others_fill_up_for_relevant_pairs_that_are_few():
    pairs = drawn(Relevance.identity(20), 1_000_000)
    assert len(pairs) == 400 and (pairs.sign > 0).sum() == 20


def test_only_judged_pairs_are_drawn_where_others_are_ignored():
    judged = Relevance.from_pairs([0, 1, 2, 3], [1, 2, 3, 0], [2, -1, 1, -1], shape=(9, 9))
    pairs = drawn(judged, 100)
    found = sorted(zip(pairs.x, pairs.y, pairs.sign, strict=True))
    assert found == [(0, 1, 1), (1, 2, -1), (2, 3, 1), (3, 0, -1)]


def test_items_without_any_feature_are_left_out():
    X = np.eye(4)
    X[1] = 0
    data = X, np.eye(4), Relevance.identity(4)
    pairs = draw_constraints(data, 100, np.random.RandomState(0), "HDLR")
    assert len(pairs) == 12 and 1 not in pairs.x


def test_judgments_of_one_sign_are_refused():
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
        def __init__(self, P, Q, pairs, bounds, gamma):
            super().__init__(P, Q, pairs, bounds, gamma)
            made.append([gamma, len(P), 0])

        def sweep(self, tick):
            made[-1][-1] += 1
            return super().sweep(tick)

    monkeypatch.setattr(_metric, "LogDetProjections", Counted)
    train = loud()
    model = HDLR(13, init="pca", n_constraints=4_000, validation_fraction=0.2).fit(*train)
    start = get_method("pca")(13).fit(*train)
    expected = start.x_projection_ @ root(model.metric_)
    np.testing.assert_allclose(model.x_projection_, expected, atol=1e-9)
    # With the γ that was chosen, and as many sweeps as it had made by then.
    *tried, (gamma, n, sweeps) = made
    before = [count for weight, _, count in tried if weight < model.gamma_]
    assert len(before) > 1 and {240} == {n for _, n, _ in tried}
    assert (gamma, n, sweeps) == (model.gamma_, 300, model.best_iter_ - sum(before))
    assert sweeps > 1


def test_a_start_that_is_kept_is_learned_from_all_items():
    train = loud()
    model = HDLR(13, n_constraints=4_000, validation_fraction=0.2).fit(*train)
    assert (model.best_iter_, model.gamma_) == (0, None)
    start = get_method("opca")(13, shared=True).fit(*train)
    np.testing.assert_array_equal(model.metric_, np.eye(13))
    np.testing.assert_allclose(model.x_projection_, start.x_projection_, atol=1e-9)


def test_more_constraints_teach_more():
    train, test = loud(), loud(200, seed=2)
    few, many = (
        HDLR(13, init="pca", n_constraints=n, gamma=1.0).fit(*train, **watched()).score(*test)
        for n in (40, 4_000)
    )
    assert many > few + 0.05


def test_a_start_that_is_never_beaten_is_kept():
    X, Y, relevance = loud()
    wrong = Relevance(sp.csr_array((relevance.matrix.toarray() == 0).astype(float)))
    start = get_method("opca")(10, shared=True).fit(X, Y, relevance)
    model = HDLR(10, init=start, gamma=10.0).fit(X, Y, wrong, **watched())
    assert model.n_iter_ >= 3 and (model.best_iter_, model.gamma_) == (0, None)
    np.testing.assert_array_equal(model.metric_, np.eye(10))
    np.testing.assert_allclose(model.similarity(X, Y), start.similarity(X, Y), atol=1e-12)


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


def test_starts_are_resolved():
    X, Y, relevance = loud()
    stop = HDLR(4, init="opca").set_callbacks(lambda *_: True).fit(X, Y, relevance)
    assert stop.n_iter_ == 0 and stop.n_components_ == 4
    large = get_method("pca")(12).fit(X, Y)
    cut = HDLR(5, init=large, max_iter=1).fit(X, Y, relevance)
    assert cut.n_components_ == 5 and large.n_components_ == 12
    with pytest.raises(ValueError, match="Fit it on the same features"):
        HDLR(5, init=large).fit(X[:, 1:], Y[:, 1:], relevance)
    with pytest.raises(ValueError, match="'init' parameter"):
        HDLR(5, init="bm25").fit(X, Y, relevance)
    with pytest.warns(UserWarning, match=r"n_components=99 is more than the data can give PCA"):
        assert HDLR(99, init="pca", max_iter=1).fit(X, Y, relevance).n_components_ < 15


def test_sweeps_are_told_with_their_score():
    heard = []

    def callback(step, total, metrics):
        heard.append((step, dict(metrics)))
        return step >= 3

    model = HDLR(5, init="pca").set_callbacks(callback).fit(*loud(), **watched())
    assert model.n_iter_ == 3
    step, metrics = heard[-1]
    assert (step, metrics["loss"]) == (3, model.loss_curve_[-1])
    assert metrics["validation"] == model.validation_scores_[-1]


def test_a_metric_that_rounding_made_indefinite_has_a_root():
    B = np.diag([4.0, 1.0, -1e-18])
    L = root(B)
    np.testing.assert_allclose(L @ L.T, np.diag([4.0, 1.0, 0.0]), atol=1e-12)
