"""Losses of S2Net: values by brute force, gradients by finite differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.methods._s2net_losses import FloatBlocks, Loss, TorchBlocks
from simviz.methods._s2net_training import Network, Objective
from simviz.methods.s2net import S2Net
from simviz.relevance import Relevance

LOSSES = ("logistic", "softmax", "triplet", "mse")
N_X, N_Y, D, K = 13, 9, 7, 4


def side(n, seed, d=D):
    rng = np.random.default_rng(seed)
    return sp.random_array((n, d), density=0.5, rng=rng, format="csr")


def judgments():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, N_X, 40), rng.integers(0, N_Y, 40)
    shape = (N_X, N_Y)
    one_a_query = np.arange(N_Y)
    return {
        "one to one": Relevance.from_pairs(one_a_query + 2, one_a_query, shape=shape),
        "several": Relevance.from_pairs(x[:20], y[:20], shape=shape),
        "graded": Relevance.from_pairs(x[:20], y[:20], rng.integers(1, 4, 20), shape=shape),
        "judged": Relevance.from_pairs(x, y, rng.choice([-1, 1, 2], 40), shape=shape),
        "scores": Relevance.from_pairs(x, y, rng.normal(size=40), shape=shape, kind="score"),
        "one judgment a query": Relevance.from_pairs(
            one_a_query, one_a_query, rng.permutation([-1, -1, -1, 1, 1, 1, 2, 2, 2]), shape=shape
        ),
    }


JUDGMENTS = judgments()


def objective(
    relevance, loss="logistic", *, gamma=10.0, direction="both", hard_negatives=None,
    balanced=False, shared=False, activation=None, rows=4, penalty=0.0, start=None, X=None, Y=None,
    blocks=FloatBlocks, intercept=True,
):  # fmt: skip
    settings = {"gamma": gamma, "hard_negatives": hard_negatives, "balanced": balanced}
    model = S2Net(loss=loss, direction=direction, **settings)
    X, Y = side(N_X, 0) if X is None else X, side(N_Y, 1) if Y is None else Y
    network = Network(X, Y, shared, activation, intercept=intercept)
    terms = Loss(relevance, model, np.random.RandomState(0))
    return Objective(network, terms, lambda P, Q: blocks(P, Q, rows), lambda: None, start, penalty)


def parameters(shared=False, seed=3):
    n_rows = D + 2 if shared else 2 * D + 2
    return np.random.default_rng(seed).standard_normal((n_rows, K))


def assert_gradient(function, theta, seed=4):
    """The derivative along a random direction is that of finite differences."""
    direction = np.random.default_rng(seed).standard_normal(theta.shape)
    h = 1e-6
    difference = (function(theta + h * direction)[0] - function(theta - h * direction)[0]) / (
        2 * h
    )
    slope = float(np.vdot(function(theta)[1], direction))
    assert abs(difference) > 1e-6, "a flat loss tests nothing"
    assert slope == pytest.approx(difference, rel=2e-6, abs=2e-9)


def brute_force(relevance, S, settings):
    """The mean loss, one comparison after the other, from the definitions."""
    R = relevance.matrix.toarray()
    stored = np.zeros(R.shape, bool)
    stored[relevance.matrix.nonzero()] = True
    if relevance.kind == "score":
        stored[:] = False
        stored[
            np.repeat(np.arange(len(R)), np.diff(relevance.matrix.indptr)),
            relevance.matrix.indices,
        ] = True
    ignore = relevance.unjudged == "ignore"
    terms = []  # losses of each query's comparisons: among grades, and with what was not judged
    for direction, S_, R_, stored_ in (("x2y", S, R, stored), ("y2x", S.T, R.T, stored.T)):
        if settings.direction not in (direction, "both"):
            continue
        for s, r, known in zip(S_, R_, stored_, strict=True):
            pool = np.flatnonzero(known) if ignore else np.arange(len(s))
            here = {True: [], False: []}
            for a, b in itertools.product(np.flatnonzero(known), pool):
                # Grades decide among what was judged; what was not stands below it.
                if r[b] < r[a] or not known[b]:
                    here[known[b]] += comparisons(np.array([s[a] - s[b]]), settings)
            terms += here.values()
    if settings.balanced:
        return np.mean([np.mean(here) for here in terms if here])
    return np.mean(list(itertools.chain(*terms)))


def comparisons(gaps, settings):
    if settings.loss == "triplet":
        return list(np.maximum(0, 2 / settings.gamma - gaps))
    return list(np.logaddexp(0, -settings.gamma * gaps))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("activation", [None, "tanh", "sigmoid"])
@pytest.mark.parametrize("direction", ["both", "x2y", "y2x"])
def test_gradient(loss, shared, activation, direction):
    for name, relevance in JUDGMENTS.items():
        if loss == "mse" and direction != "both" and name != "one to one":
            continue  # squared errors know no direction
        f = objective(relevance, loss, direction=direction, shared=shared, activation=activation)
        assert_gradient(f, parameters(shared))


@pytest.mark.parametrize("shared", [False, True])
def test_without_offsets_value_and_gradient_are_those_of_the_projections(shared):
    """The published model g = Aᵀf, from its definition."""
    relevance = JUDGMENTS["several"]
    X, Y = side(N_X, 0).toarray(), side(N_Y, 1).toarray()
    theta = parameters(shared)
    theta[-2:] = 0

    def value(theta):
        P, Q = X @ theta[:D], Y @ (theta[:D] if shared else theta[D : 2 * D])
        P, Q = (Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in (P, Q))
        return brute_force(relevance, P @ Q.T, S2Net(loss="logistic"))

    found, gradient = objective(relevance, shared=shared, intercept=False)(theta)
    assert found == pytest.approx(value(theta), rel=1e-11)
    assert not gradient[-2:].any()
    for at in np.ndindex(len(theta) - 2, K):
        h = np.zeros_like(theta)
        h[at] = 1e-6
        difference = (value(theta + h) - value(theta - h)) / 2e-6
        assert gradient[at] == pytest.approx(difference, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("loss", ["logistic", "softmax", "triplet"])
@pytest.mark.parametrize("options", [{"hard_negatives": 2}, {"balanced": True}, {"gamma": 60.0}])
def test_gradient_of_options(loss, options):
    for relevance in JUDGMENTS.values():
        assert_gradient(objective(relevance, loss, **options), parameters())


def test_gradient_of_the_penalty():
    start = parameters(seed=9)
    f = objective(JUDGMENTS["several"], penalty=0.3, start=start)
    assert_gradient(f, parameters())
    without = objective(JUDGMENTS["several"])
    away = parameters() - start
    expected = without(parameters())[0] + 0.15 * (away**2).sum()
    assert f(parameters())[0] == pytest.approx(expected)


@pytest.mark.parametrize("loss", ["logistic", "triplet"])
@pytest.mark.parametrize("direction", ["both", "x2y", "y2x"])
@pytest.mark.parametrize("gamma", [1e-5, 10.0, 60.0, 100.0])
@pytest.mark.parametrize(
    ("name", "balanced"),
    [(name, False) for name in JUDGMENTS if name != "one judgment a query"]
    + [(name, True) for name in ("one to one", "several", "graded", "judged", "scores")],
)
def test_value_is_the_mean_over_all_comparisons(loss, direction, gamma, name, balanced):
    f = objective(JUDGMENTS[name], loss, direction=direction, gamma=gamma, balanced=balanced)
    (P, _), (Q, _) = f.network.forward(parameters())
    model = S2Net(loss=loss, gamma=gamma, direction=direction, balanced=balanced)
    expected = brute_force(JUDGMENTS[name], P @ Q.T, model)
    assert f(parameters())[0] == pytest.approx(expected, rel=1e-11)


def test_softmax_is_minus_the_log_probability():
    relevance = Relevance.identity(N_Y)
    f = objective(relevance, "softmax", X=side(N_Y, 5))
    (P, _), (Q, _) = f.network.forward(parameters())
    Z = 10 * P @ Q.T
    rows, columns = (np.diag(Z) - np.logaddexp.reduce(Z, axis=a) for a in (1, 0))
    assert f(parameters())[0] == pytest.approx(-(rows.mean() + columns.mean()) / 2)


def test_squared_errors_by_gram_matrices():
    f = objective(JUDGMENTS["several"], "mse")
    (P, _), (Q, _) = f.network.forward(parameters())
    target = JUDGMENTS["several"].matrix.toarray()
    n = target.sum()
    weight = np.where(target > 0, 1, n / (target.size - n))
    expected = (weight * (target - P @ Q.T) ** 2).sum() / 2 / weight.sum()
    assert f(parameters())[0] == pytest.approx(expected)


def test_hard_negatives_are_the_most_similar_ones():
    relevance = JUDGMENTS["one to one"]
    f = objective(relevance, hard_negatives=1, direction="x2y")
    (P, _), (Q, _) = f.network.forward(parameters())
    S = P @ Q.T
    own = S[np.arange(N_Y) + 2, np.arange(N_Y)]
    others = S[2 : N_Y + 2].copy()
    np.fill_diagonal(others, -np.inf)
    expected = np.logaddexp(0, 10 * (others.max(axis=1) - own)).mean()
    assert f(parameters())[0] == pytest.approx(expected)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["one to one", "several", "judged"])
def test_any_block_size_gives_the_same(loss, name):
    for hard in (None, 2):
        dense = objective(JUDGMENTS[name], loss, rows=100, hard_negatives=hard)(parameters())
        for rows in (1, 5, 12):
            blocked = objective(JUDGMENTS[name], loss, rows=rows, hard_negatives=hard)
            value, gradient = blocked(parameters())
            assert value == pytest.approx(dense[0], rel=1e-12)
            np.testing.assert_allclose(gradient, dense[1], atol=1e-13)


@pytest.mark.parametrize("blocks", ["float64", "float32"])
def test_torch_takes_the_same_products(blocks):
    def made(P, Q, rows):
        return TorchBlocks(P, Q, rows, dtype=blocks)

    for hard in (None, 2):
        ours = objective(JUDGMENTS["several"], hard_negatives=hard)(parameters())
        theirs = objective(JUDGMENTS["several"], blocks=made, hard_negatives=hard)(parameters())
        tolerance = 1e-12 if blocks == "float64" else 1e-6
        assert theirs[0] == pytest.approx(ours[0], rel=tolerance)
        np.testing.assert_allclose(theirs[1], ours[1], atol=tolerance)


def test_bfloat16_is_close_to_float32():
    rng = np.random.default_rng(0)
    X, Y = (sp.random_array((300, D), density=0.7, rng=rng, dtype=np.float32) for _ in "xy")
    relevance, theta = Relevance.identity(300), parameters().astype(np.float32)

    def half(P, Q, rows):
        return TorchBlocks(P, Q, rows, dtype="bfloat16")

    value, gradient = objective(relevance, X=X.tocsr(), Y=Y.tocsr(), rows=64)(theta)
    near, other = objective(relevance, X=X.tocsr(), Y=Y.tocsr(), rows=64, blocks=half)(theta)
    assert gradient.dtype == other.dtype == np.float32
    assert near == pytest.approx(value, rel=3e-3)
    cosine = np.vdot(gradient, other) / np.linalg.norm(gradient) / np.linalg.norm(other)
    assert cosine > 0.999


def test_half_precision_is_taken_where_it_pays(monkeypatch):
    import simviz.methods._s2net_losses as module

    monkeypatch.setattr(module, "has_fast_bfloat16", lambda: True)
    monkeypatch.setattr(module, "MANY", 200)
    few, many = (np.zeros((n, 256), np.float32) for n in (10, 20))

    def kind(precision, Z, width=256):
        return type(module.BlockFactory(precision, "cpu", Z.dtype, width)(Z, Z)).__name__

    assert kind("auto", many) == "TorchBlocks"
    assert kind("auto", few) == kind("auto", many, width=100) == "FloatBlocks"
    assert kind("auto", many.astype(float)) == kind("float32", many) == "FloatBlocks"
    assert kind("bfloat16", few) == "TorchBlocks"


def test_float32_sums_are_kept_in_float64():
    rng = np.random.default_rng(0)
    X, Y = (sp.random_array((700, D), density=0.7, rng=rng).tocsr() for _ in "xy")
    relevance = Relevance.identity(700)
    value, gradient = objective(relevance, X=X, Y=Y, rows=128)(parameters())
    single = objective(relevance, X=X.astype(np.float32), Y=Y.astype(np.float32), rows=128)
    value32, gradient32 = single(parameters().astype(np.float32))
    assert value32 == pytest.approx(value, rel=2e-6)
    np.testing.assert_allclose(gradient32, gradient, atol=2e-6 * np.abs(gradient).max())


def test_unknown_items_get_no_gradient():
    X = side(N_X, 0).toarray()
    X[3] = 0
    only = np.zeros((N_X, D))
    only[3] = X[3]
    f = objective(JUDGMENTS["one to one"], X=sp.csr_array(X))
    (P, _), _ = f.network.forward(parameters())
    assert (P[3] == 0).all()
    theta = parameters()
    value, gradient = f(theta)
    assert np.isfinite(gradient).all()
    for activation in ("sigmoid", "tanh"):
        assert_gradient(
            objective(JUDGMENTS["one to one"], X=sp.csr_array(X), activation=activation), theta
        )
    assert value == pytest.approx(objective(JUDGMENTS["one to one"], X=X)(theta)[0])
    # With nothing but unknown items there is nothing to learn at all.
    nothing = objective(JUDGMENTS["one to one"], X=sp.csr_array((N_X, D)))(theta)
    assert (nothing[1] == 0).all()
    assert nothing[0] == pytest.approx(np.log(2))


def test_gradients_that_nobody_holds_are_written_over():
    f, theta = objective(JUDGMENTS["several"]), parameters()
    first, second = f(theta)[1], f(2 * theta)[1]
    kept, place = first.copy(), second.ctypes.data
    del second
    third = f(3 * theta)[1]
    assert third.ctypes.data == place
    np.testing.assert_array_equal(first, kept)
