"""How S2Net goes down: L-BFGS, Adam, batches."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from simviz.data import split
from simviz.datasets import load_demo
from simviz.features import Tfidf
from simviz.methods._s2net_losses import FloatBlocks, Loss
from simviz.methods._s2net_training import (
    Batches,
    Network,
    Objective,
    active_rows,
    adam,
    lbfgs,
    start_parameters,
)
from simviz.methods.s2net import S2Net
from simviz.relevance import Relevance


def convexified(penalty=0.1, n=12, d=6, k=8):
    """A small S2Net whose penalty outweighs its curvature, so there is one minimum."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, n, d))
    start = rng.standard_normal((2 * d + 2, k))
    network = Network(X, Y, False, None)
    model = S2Net(loss="logistic", gamma=2.0)
    loss = Loss(Relevance.identity(n), model, np.random.RandomState(0))
    return Objective(network, loss, FloatBlocks, lambda: None, start, penalty), start


def last(iterates, n):
    *_, found = itertools.islice(iterates, n)
    return found


def test_lbfgs_finds_the_minimum_of_scipy():
    f, start = convexified()
    value, point = last(lbfgs(f, start, 0.01), 60)
    theirs = minimize(
        lambda v: (lambda r: (r[0], r[1].ravel()))(f(v.reshape(start.shape))),
        start.ravel(), jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-10},
    )  # fmt: skip
    assert value == pytest.approx(theirs.fun, abs=1e-9)
    np.testing.assert_allclose(point.ravel(), theirs.x, atol=1e-6)


def test_lbfgs_steps_never_go_up():
    f, start = convexified(penalty=0.0)
    values = [f(start)[0]]
    values += [value for value, _ in itertools.islice(lbfgs(f, start, 0.01), 40)]
    assert (np.diff(values) < 0).all()
    assert values[-1] < 0.7 * values[0]


def test_lbfgs_first_step_has_the_length_asked_for():
    seen, start = [], np.full((4, 3), 2.0)

    def slope(x):  # without end: the first step is taken as it is, then doubled
        seen.append(x)
        return float(x.sum()), np.ones_like(x)

    next(lbfgs(slope, start, 0.01))
    assert np.linalg.norm(seen[1] - start) == pytest.approx(0.01 * np.linalg.norm(start))


def test_lbfgs_solves_an_ill_conditioned_quadratic_in_float32():
    scales = np.geomspace(1, 1e3, 20, dtype=np.float32)[:, None]

    def quadratic(x):
        return float((scales * x * x).sum(dtype=np.float64)) / 2, scales * x

    value, point = last(lbfgs(quadratic, np.ones((20, 2), np.float32), 0.01), 150)
    assert point.dtype == np.float32 and value < 1e-6


def test_lbfgs_ends_at_a_minimum_and_says_that_it_made_no_step():
    start = np.ones((2, 2))
    assert list(lbfgs(lambda x: (float((x * x).sum()), 2 * x), start, 0.1))[-1][0] < 1e-12
    assert list(lbfgs(lambda x: (1.0, np.zeros_like(x)), start, 0.1)) == []
    for wrong in (
        lambda x: (float(x.sum()), -np.ones_like(x)),  # goes up where it says that it goes down
        lambda x: (1.0, np.full_like(x, np.nan)),
    ):
        with pytest.warns(ConvergenceWarning, match="no step down from its start"):
            assert list(lbfgs(wrong, start, 0.01)) == []


@pytest.fixture(scope="module")
def words():
    """Emoji names by their words: CL-LSI leaves many of them with lengths of rounding alone."""
    pairs = split(load_demo("emoji"), "pair", (0.7, 0.1, 0.2), 0).train
    X, Y = (Tfidf().fit_transform(side.content) for side in (pairs.x, pairs.y))
    return X, Y, pairs.relevance


def test_what_the_start_hardly_reaches_counts_as_none(words):
    X, Y, _ = words
    model = S2Net(50, init="cl_lsi", fit_intercept=False)
    start, _ = start_parameters(model, words, np.random.RandomState(0))
    lengths = np.linalg.norm(X @ start[: X.shape[1]], axis=1)
    tiny = lengths < 1e-6
    assert tiny.sum() > (lengths == 0).sum(), "some are not exactly 0"
    P, inverse = Network(X, Y, False, None).forward(start)[0]
    assert not P[tiny].any() and not inverse[tiny].any()
    assert inverse[~tiny].all()


@pytest.mark.parametrize("shared", [False, True])
def test_the_first_step_of_an_offset_moves_no_item_that_had_no_direction(words, shared):
    X, Y, relevance = words
    if shared:
        X, Y = sp.csr_array(sp.hstack([X, 0 * Y])), sp.csr_array(sp.hstack([0 * X, Y]))
    how = {"init": "cl_lsi", "shared": shared, "solver": "lbfgs", "max_iter": 3}
    model = S2Net(200, **how, validation_fraction=0.0)
    start, _ = start_parameters(model, (X, Y, relevance), np.random.RandomState(0))
    kept, _, _ = active_rows((X, Y, relevance), start, shared, None)
    reached = np.linalg.norm(X @ start[: X.shape[1]], axis=1) > 1e-6
    assert not reached.all()
    np.testing.assert_array_equal(kept.toarray(), reached[:, None] * X.toarray())
    # With 50 components, some are reached by lengths of 1e-5.
    for params in ({"n_components": 200}, {"n_components": 50}, {"fit_intercept": False}):
        model.set_params(**params).fit(X, Y, relevance)
        assert model.n_iter_ == 3
        assert (np.diff(model.loss_curve_) < 0).all()


def test_adam_follows_its_definition():
    start, target = np.random.default_rng(0).standard_normal((2, 5, 3))
    batches = Batches(np.eye(4), np.eye(4), Relevance.identity(4), 2, np.random.RandomState(0))
    seen = []

    def objective(X, Y, relevance, x):
        seen.append(relevance.shape)
        return 0.5, x - target

    value, average = last(adam(objective, start, batches, 0.1), 3)
    x, m, v, kept = start.copy(), 0 * start, 0 * start, start.copy()
    rate = 0.1 * np.sqrt((start**2).mean())
    decay = 1 - 1 / 3
    for t in range(1, 7):
        g = x - target
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        x = x - rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        kept = decay * kept + (1 - decay) * x
    np.testing.assert_allclose(average, kept, atol=1e-12)
    assert value == 0.5
    assert seen == [(2, 2)] * 6


@pytest.mark.parametrize(("n", "expected"), [(20, 1), (100, 3), (800, 8), (4000, 8), (9000, 18)])
def test_small_data_still_make_some_batches(n, expected):
    relevance = Relevance.identity(n)
    X = sp.eye_array(n, format="csr")
    assert Batches(X, X, relevance, 500, np.random.RandomState(0)).n == expected


def test_a_pass_meets_every_query_once_with_all_its_judgments():
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(0, 50, 90), rng.integers(0, 30, 90)
    R = Relevance.from_pairs(rows, columns, rng.choice([-1, 1, 2], 90), shape=(50, 30))
    X, Y = sp.csr_array(np.arange(50.0)[:, None] + 1), np.arange(30.0)[:, None]
    batches = Batches(X, Y, R, 7, np.random.RandomState(0))
    assert batches.n == 5  # 41 of the queries have judgments
    met = np.zeros((50, 30))
    for x, y, relevance in batches:
        rows, columns = x.toarray()[:, 0].astype(int) - 1, y[:, 0].astype(int)
        met[np.ix_(rows, columns)] += relevance.matrix.toarray()
    np.testing.assert_array_equal(met, R.matrix.toarray())
