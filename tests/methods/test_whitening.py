"""Whitened data have variance one, whichever way they were whitened."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.methods import _spectral
from simviz.methods._linalg import rows_operator
from simviz.methods._spectral import (
    Blocks,
    CholeskyWhitening,
    Directions,
    Inflated,
    RowsWhitening,
    ScaledWhitening,
    SpectralWhitening,
    cholesky_in_place,
    factor_whitening,
)
from simviz.methods.cca import RidgeCCA
from simviz.methods.opca import OPCA

RNG = np.random.default_rng(0)
N, D, RIDGE = 50, 12, 0.3
GROUPS = [slice(0, 20), slice(20, None)]


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def op(request):
    A = RNG.standard_normal((N, D)) * (RNG.random((N, D)) < 0.6)
    weights = RNG.random(N)
    return rows_operator(sp.csr_array(A) if request.param else A, weights / weights.sum(), GROUPS)


def spectral(op, ridge=RIDGE):
    return SpectralWhitening(Directions(op, None, 0, None, keep=False), ridge)


def whitened(op, route):
    if route == "factor":
        return CholeskyWhitening(op, RIDGE, np.float64)
    if route == "scaled":
        return ScaledWhitening(op, RIDGE, np.float64)
    return spectral(op)


def covariance(op):
    rows = op.matmat(np.eye(op.shape[1]))
    return rows.T @ rows


def check(whitening, C, rows):
    W = whitening.directions(np.eye(whitening.rank))
    np.testing.assert_allclose(W.T @ C @ W, np.eye(whitening.rank), atol=1e-10)
    B, F = RNG.standard_normal((whitening.rank, 3)), RNG.standard_normal((len(rows), 3))
    np.testing.assert_allclose(whitening.forward(B), rows @ (W @ B), atol=1e-10)
    np.testing.assert_allclose(whitening.backward(F), W.T @ (rows.T @ F), atol=1e-10)
    if not isinstance(whitening, Inflated):
        np.testing.assert_allclose(whitening.coordinates(C[0]), W.T @ C[0], atol=1e-10)


@pytest.mark.parametrize("route", ["factor", "directions", "scaled"])
def test_ridge_and_rank_one_more(op, route):
    base, rows, delta = whitened(op, route), op.matmat(np.eye(D)), RNG.standard_normal(D)
    C = covariance(op) + RIDGE * np.eye(D)
    check(base, C, rows)
    check(Inflated(base, base.coordinates(delta)), C + np.outer(delta, delta), rows)
    check(Inflated(base, np.zeros(D)), C, rows)


def test_blocks_of_different_routes(op):
    other = rows_operator(RNG.standard_normal((9, 5)))
    blocks = Blocks([whitened(op, "factor"), spectral(other)], [N, 9])
    C, rows = np.zeros((17, 17)), np.zeros((N + 9, 17))
    C[:D, :D], C[D:, D:] = covariance(op), covariance(other)
    rows[:N, :D], rows[N:, D:] = op.matmat(np.eye(D)), other.matmat(np.eye(5))
    check(blocks, C + RIDGE * np.eye(17), rows)


@pytest.mark.parametrize("panel", [1, 7, 64])
@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-4), (np.float64, 1e-10)])
def test_panels_give_the_factor_of_lapack(panel, dtype, error, monkeypatch):
    monkeypatch.setattr(_spectral, "PANEL", panel)
    A = RNG.standard_normal((40, 30))
    C = (A.T @ A + np.eye(30)).astype(dtype)
    expected, heard = np.linalg.cholesky(C), []
    cholesky_in_place(C, lambda step, total: heard.append((step, total)))
    np.testing.assert_allclose(np.tril(C), expected, atol=error)
    assert heard[-1] == (len(heard), len(heard))
    with pytest.raises(np.linalg.LinAlgError):
        cholesky_in_place(-np.eye(4))


def test_the_shorter_way_is_taken():
    shapes = {
        None: [(1_000, 20_000), (20_000, 1_000)],
        RowsWhitening: [(2_500, 20_000), (10_000, 200_000)],
        CholeskyWhitening: [(40_000, 20_000), (15_000, 20_000)],
        ScaledWhitening: [(40_000, 60_000)],
    }
    for way, some in shapes.items():
        for shape in some:
            assert factor_whitening(rows_operator(sp.csr_array(shape)), None) is way
    assert factor_whitening(rows_operator(sp.csr_array((40_000, 20_000))), 3_000) is None


def test_beyond_the_leading_directions_columns_keep_their_variance(op, monkeypatch, caplog):
    monkeypatch.setattr(_spectral, "LEADING", 3)
    C = covariance(op) + RIDGE * np.eye(D)
    scale = 1 / np.sqrt(np.diag(C))
    mu, V = np.linalg.eigh(C * scale * scale[:, None])
    mu[:-3] = mu[:-3].mean()
    expected = scale[:, None] * (V / np.sqrt(mu)) @ V.T
    whitening = ScaledWhitening(op, RIDGE, np.float64)
    assert f"{D} features would take" in caplog.text and "and 3 directions do" in caplog.text
    np.testing.assert_allclose(whitening.directions(np.eye(D)), expected, atol=1e-10)
    delta = RNG.standard_normal(D)
    more = Inflated(whitening, whitening.coordinates(delta))
    for one, within in ((whitening, C), (more, C + np.outer(delta, delta))):
        W = one.directions(np.eye(D))
        np.testing.assert_allclose(one.gram(np.eye(D)), W.T @ within @ W, atol=1e-10)


@pytest.mark.parametrize("shared", [False, True])
def test_far_more_words_than_fit_are_learned_from(shared, monkeypatch):
    """Where no factor fits, about what a factor finds is found, and measured exactly."""
    rng = np.random.default_rng(0)
    topics = rng.integers(0, 8, 4_400)
    words = np.eye(1_600, dtype=np.float32)
    X, Y = (
        sp.csr_array(words[200 * topics + rng.integers(0, 200, (9, 4_400))].sum(axis=0))
        for _ in "XY"
    )
    for method in (OPCA, RidgeCCA):
        exact = method(6, shared=shared).fit(X[400:], Y[400:])
        with monkeypatch.context() as lowered:
            lowered.setattr(_spectral, "LARGEST_FACTOR", 1_500)
            lowered.setattr(_spectral, "LEADING", 3)  # fewer than hang together
            model = method(6, shared=shared).fit(X[400:], Y[400:])
        # The search behind a factor knows its last direction least.
        np.testing.assert_allclose(model.spectrum_[:5], exact.spectrum_[:5], rtol=0.05)
        new = X[:400], Y[:400]
        assert model.score(*new) > 0.9 * exact.score(*new)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_direction_may_have_nearly_all_variance(dtype):
    """At the size where rows are factored: rounding follows the largest eigenvalue."""
    rng = np.random.default_rng(0)
    n, d = 1_700, 2_200
    A = sp.csc_array(sp.random(n, d, 0.01, random_state=rng)).toarray()
    A[:, 3] = 1e4 * rng.random(n)
    A[100:300] = A[300:500]  # copies, so that the rows are not independent either
    X, Y = sp.csr_array(A.astype(dtype)), sp.csr_array(A[:, ::-1].astype(dtype))
    for model in (RidgeCCA(3), OPCA(3), OPCA(3, shared=True)):
        assert np.isfinite(model.fit(X, Y).similarity(X[:9], Y)).all()
    op = rows_operator(X, np.full(n, 1 / n), [slice(None)])
    ridge = 1e-6 * float(np.trace(op.gram(np.float64)))
    F = rng.standard_normal((n, 2))
    ways = RowsWhitening(op, ridge, np.float64), spectral(op, ridge)
    factor, exact = (way.forward(way.backward(F)) for way in ways)
    np.testing.assert_allclose(factor, exact, atol=1e-3 * np.abs(exact).max())


def test_what_has_no_factor_has_directions(monkeypatch):
    """Means far beyond all differences leave no factor even in double precision."""

    def none(*_):
        raise np.linalg.LinAlgError

    X, Y = RNG.standard_normal((2, 20, 5))
    expected = RidgeCCA(2).fit(X, Y).spectrum_
    monkeypatch.setattr("simviz.methods._spectral.factor_whitening", lambda *_: none)
    np.testing.assert_allclose(RidgeCCA(2).fit(X, Y).spectrum_, expected)
