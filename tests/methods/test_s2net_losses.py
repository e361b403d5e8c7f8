"""Losses of S2Net: values by brute force, gradients by finite differences."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.methods import _s2net_losses
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
    shape, one_a_query = (N_X, N_Y), np.arange(N_Y)
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


def assert_gradient(function, theta, towards=1.0):
    """The derivative along a random direction is that of finite differences."""
    direction = np.random.default_rng(4).standard_normal(theta.shape) * towards
    up, down = (function(theta + h * direction)[0] for h in (1e-6, -1e-6))
    difference = (up - down) / 2e-6
    slope = float(np.vdot(function(theta)[1], direction))
    assert abs(difference) > 1e-6, "a flat loss tests nothing"
    assert slope == pytest.approx(difference, rel=2e-6, abs=2e-9)


def similarities(f):
    (P, _), (Q, _) = f.network.forward(parameters())
    return P @ Q.T


def brute_force(relevance, S, settings):
    """The mean loss, one comparison after the other, from the definitions."""
    R, stored = relevance.matrix.toarray(), relevance.matrix.copy()
    stored.data = np.ones_like(stored.data)  # a score of 0 is a judgment, too
    stored = stored.toarray() > 0
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
    relevance, theta = JUDGMENTS["several"], parameters(shared)
    theta[-2:] = 0
    P, Q = (
        side(N_X, 0) @ theta[:D],
        side(N_Y, 1) @ theta[:D] if shared else (side(N_Y, 1) @ theta[D : 2 * D]),
    )
    P, Q = (Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in (P, Q))
    f = objective(relevance, shared=shared, intercept=False)
    value, gradient = f(theta)
    assert value == pytest.approx(brute_force(relevance, P @ Q.T, S2Net(loss="logistic")))
    assert not gradient[-2:].any()
    projections = np.pad(np.ones((len(theta) - 2, 1)), ((0, 2), (0, 0)))
    assert_gradient(f, theta, towards=projections)


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
@pytest.mark.parametrize("name", [name for name in JUDGMENTS if name != "one judgment a query"])
@pytest.mark.parametrize("balanced", [False, True])
def test_value_is_the_mean_over_all_comparisons(loss, direction, gamma, name, balanced):
    how = {"direction": direction, "gamma": gamma, "balanced": balanced}
    f = objective(JUDGMENTS[name], loss, **how)
    expected = brute_force(JUDGMENTS[name], similarities(f), S2Net(loss=loss, **how))
    assert f(parameters())[0] == pytest.approx(expected, rel=1e-11)


def test_softmax_is_minus_the_log_probability():
    relevance = Relevance.identity(N_Y)
    f = objective(relevance, "softmax", X=side(N_Y, 5))
    Z = 10 * similarities(f)
    rows, columns = (np.diag(Z) - np.logaddexp.reduce(Z, axis=a) for a in (1, 0))
    assert f(parameters())[0] == pytest.approx(-(rows.mean() + columns.mean()) / 2)


def test_squared_errors_by_gram_matrices():
    f = objective(JUDGMENTS["several"], "mse")
    target = JUDGMENTS["several"].matrix.toarray()
    n = target.sum()
    weight = np.where(target > 0, 1, n / (target.size - n))
    expected = (weight * (target - similarities(f)) ** 2).sum() / 2 / weight.sum()
    assert f(parameters())[0] == pytest.approx(expected)


def test_hard_negatives_are_the_most_similar_ones():
    f = objective(JUDGMENTS["one to one"], hard_negatives=1, direction="x2y")
    others = similarities(f)[2 : N_Y + 2]
    own = np.diag(others).copy()
    np.fill_diagonal(others, -np.inf)
    expected = np.logaddexp(0, 10 * (others.max(axis=1) - own)).mean()
    assert f(parameters())[0] == pytest.approx(expected)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["one to one", "several", "judged"])
@pytest.mark.parametrize("hard", [None, 2])
def test_any_block_size_gives_the_same_and_so_does_torch(loss, name, hard):
    dense = objective(JUDGMENTS[name], loss, rows=100, hard_negatives=hard)(parameters())
    torch = partial(TorchBlocks, dtype="float64")
    for rows, blocks in ((1, FloatBlocks), (5, FloatBlocks), (12, FloatBlocks), (4, torch)):
        f = objective(JUDGMENTS[name], loss, rows=rows, blocks=blocks, hard_negatives=hard)
        value, gradient = f(parameters())
        assert value == pytest.approx(dense[0], rel=1e-12)
        np.testing.assert_allclose(gradient, dense[1], atol=1e-13)


@pytest.mark.parametrize("loss", LOSSES)
def test_single_precision_is_close_to_double_and_bfloat16_to_both(loss):
    rng = np.random.default_rng(0)
    X, Y = (sp.random_array((700, D), density=0.7, rng=rng).tocsr() for _ in "xy")
    relevance, theta = Relevance.identity(700), parameters()
    value, gradient = objective(relevance, loss, X=X, Y=Y, rows=128)(theta)
    X, Y, theta = (Z.astype(np.float32) for Z in (X, Y, theta))
    half = partial(TorchBlocks, dtype="bfloat16")
    for blocks, error in ((FloatBlocks, 2e-6), (half, 3e-3)):
        near, other = objective(relevance, loss, X=X, Y=Y, rows=128, blocks=blocks)(theta)
        assert other.dtype == np.float32
        assert near == pytest.approx(value, rel=error)
        np.testing.assert_allclose(other, gradient, atol=error * np.abs(gradient).max())


def test_half_precision_is_taken_where_it_pays(monkeypatch):
    monkeypatch.setattr(_s2net_losses, "has_fast_bfloat16", lambda: True)
    monkeypatch.setattr(_s2net_losses, "MANY", 200)
    few, many = (np.zeros((n, 256), np.float32) for n in (10, 20))

    def kind(precision, Z, width=256):
        make = _s2net_losses.BlockFactory(precision, "cpu", Z.dtype, width)
        return type(make(Z, Z))

    assert kind("auto", many) is kind("bfloat16", few) is TorchBlocks
    assert kind("auto", few) is kind("auto", many, width=100) is FloatBlocks
    assert kind("auto", many.astype(float)) is kind("float32", many) is FloatBlocks


def test_unknown_items_get_no_gradient():
    relevance, theta = JUDGMENTS["one to one"], parameters()
    X = side(N_X, 0).toarray()
    X[3] = 0
    X = sp.csr_array(X)
    f = objective(relevance, X=X)
    assert (similarities(f)[3] == 0).all() and np.isfinite(f(theta)[1]).all()
    for activation in ("sigmoid", "tanh"):
        assert_gradient(objective(relevance, X=X, activation=activation), theta)
    # With nothing but unknown items there is nothing to learn at all.
    value, gradient = objective(relevance, X=sp.csr_array((N_X, D)))(theta)
    assert value == pytest.approx(np.log(2)) and not gradient.any()


def test_gradients_that_nobody_holds_are_written_over():
    f, theta = objective(JUDGMENTS["several"]), parameters()
    first, second = f(theta)[1], f(2 * theta)[1]
    kept, place = first.copy(), second.ctypes.data
    del second
    third = f(3 * theta)[1]
    assert third.ctypes.data == place
    np.testing.assert_array_equal(first, kept)
