"""Block Lanczos finds what LAPACK finds, on spectra that are hard for it."""

from __future__ import annotations

import numpy as np
import pytest

from simviz.methods import _linalg
from simviz.methods._linalg import leading_eigenpairs

SIDE = 300
SPECTRA = {
    "decaying": 0.95 ** np.arange(SIDE),
    "steep": 0.5 ** np.arange(SIDE),
    "rank deficient, many equal": np.repeat([1.0, 0.0], [50, SIDE - 50]),
    "all equal": np.ones(SIDE),
    "zero": np.zeros(SIDE),
    "indefinite": np.concatenate([0.9 ** np.arange(100), -np.ones(200)]),
    "one": np.eye(1, SIDE)[0],
}


def rotated(spectrum, rng):
    Q, _ = np.linalg.qr(rng.standard_normal((SIDE, SIDE)))
    return (Q * spectrum) @ Q.T


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [5, 70])
def test_hard_spectra(name, dtype, k):
    rng = np.random.default_rng(0)
    expected = np.sort(SPECTRA[name])[::-1][:k]
    A = rotated(SPECTRA[name], rng).astype(dtype)
    start = rng.standard_normal((SIDE, 16)).astype(dtype)
    values, V = leading_eigenpairs(lambda B: A @ B, SIDE, k, start=start, tol=1e-4)
    rounding = 1e-4 if dtype == np.float32 else 1e-6
    np.testing.assert_allclose(values, expected, atol=rounding)
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=rounding)
    assert V.dtype == dtype


@pytest.mark.parametrize("tol", [1e-1, 2e-2, 1e-3])
def test_residuals_are_as_small_as_was_asked(tol):
    rng = np.random.default_rng(0)
    A = rotated(SPECTRA["decaying"], rng)
    start = rng.standard_normal((SIDE, 8))
    values, V = leading_eigenpairs(lambda B: A @ B, SIDE, 20, start=start, tol=tol)
    assert np.max(np.linalg.norm(A @ V - V * values, axis=0) / values) <= tol
    exact = SPECTRA["decaying"][:20]
    assert np.max(np.abs(values - exact) / exact) <= tol


def test_a_flat_spectrum_ends_at_the_limit_with_the_best_so_far(monkeypatch):
    monkeypatch.setattr(_linalg, "SPARE", 20)
    rng = np.random.default_rng(0)
    A, products = rotated(np.linspace(1, 2, SIDE), rng), []
    start = rng.standard_normal((SIDE, 20))
    values, V = leading_eigenpairs(
        lambda B: products.append(B.shape[1]) or A @ B, SIDE, 40, start=start
    )
    assert sum(products) <= 2 * 40 + 20 + 20
    np.testing.assert_allclose(V.T @ V, np.eye(40), atol=1e-10)
    exact = np.linspace(2, 1, SIDE)[:40]
    assert (values <= exact + 1e-10).all(), "Ritz values come from below"
    np.testing.assert_allclose(values, exact, rtol=0.2)


def test_progress_never_runs_backwards_or_over():
    rng = np.random.default_rng(0)
    A, start, heard = rotated(SPECTRA["decaying"], rng), rng.standard_normal((SIDE, 6)), []
    told = {"start": start, "notify": lambda *step: heard.append(step)}
    leading_eigenpairs(lambda B: A @ B, SIDE, 30, **told)
    assert heard == sorted(heard) and len({total for _, total in heard}) == 1
    assert max(heard)[0] <= heard[0][1]


def test_as_many_pairs_as_there_are_rows():
    rng = np.random.default_rng(0)
    A = rotated(np.arange(SIDE, dtype=float), rng)
    start = rng.standard_normal((SIDE, 32))
    values, V = leading_eigenpairs(lambda B: A @ B, SIDE, SIDE, start=start)
    np.testing.assert_allclose(values, np.arange(SIDE)[::-1], atol=1e-8)
    np.testing.assert_allclose((V * values) @ V.T, A, atol=1e-8)
