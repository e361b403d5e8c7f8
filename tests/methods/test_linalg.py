"""Every route of the engine gives the singular triplets that LAPACK gives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.methods import _linalg
from simviz.methods._linalg import Operator, matrix_operator, numerical_rank, truncated_svd

RNG = np.random.default_rng(0)


def decaying(m, n, rng=RNG):
    """A matrix whose singular values halve from one to the next."""
    U, _ = np.linalg.qr(rng.standard_normal((m, min(m, n))))
    V, _ = np.linalg.qr(rng.standard_normal((n, min(m, n))))
    return U * 0.7 ** np.arange(min(m, n)) @ V.T


@pytest.mark.parametrize("shape", [(30, 18), (18, 30)])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("route", ["dense", "gram", "products", "iterative"])
def test_routes_agree_with_lapack(shape, sparse, centred, weighted, route, monkeypatch):
    A = decaying(*shape)
    if sparse:
        A[np.abs(A) < 0.01] = 0
    weights = RNG.random(shape[0]) if weighted else None
    mean = A.mean(axis=0) if not weighted else weights @ A / weights.sum()
    mean = mean if centred else None
    expected = A if mean is None else A - mean
    if weighted:
        expected = np.sqrt(weights)[:, None] * expected
    op = matrix_operator(sp.csr_array(A) if sparse else A, mean, weights)
    if route != "dense":
        monkeypatch.setattr(_linalg, "_DENSE_FLOPS", 0)
    if route == "products":
        op = Operator(op.shape, op.matmat, op.rmatmat)
    if route == "iterative":
        monkeypatch.setattr(_linalg, "_GRAM_SIDE", 0)
    U, s, Vt = truncated_svd(op, 5, random_state=0)
    np.testing.assert_allclose(s, np.linalg.svd(expected)[1][:5], rtol=1e-7)
    np.testing.assert_allclose(U.T @ U, np.eye(5), atol=1e-7)
    np.testing.assert_allclose(Vt @ Vt.T, np.eye(5), atol=1e-7)
    np.testing.assert_allclose((U.T @ expected), s[:, None] * Vt, atol=1e-7)
    peaks = Vt[np.arange(5), np.abs(Vt).argmax(axis=1)]
    assert (peaks > 0).all(), "signs are not fixed"


def test_stopping_between_passes_leaves_orthonormal_vectors(monkeypatch):
    monkeypatch.setattr(_linalg, "_DENSE_FLOPS", 0)
    monkeypatch.setattr(_linalg, "_GRAM_SIDE", 0)
    steps = []
    U, s, _ = truncated_svd(
        matrix_operator(decaying(60, 50)),
        4,
        random_state=0,
        notify=lambda step, total: steps.append((step, total)) or True,
    )
    assert steps == [(1, 8)]
    np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-10)
    assert (np.diff(s) <= 0).all()


def test_rank_ignores_rounding():
    A = decaying(20, 3) @ RNG.standard_normal((3, 15))
    s = truncated_svd(matrix_operator(A), 15)[1]
    assert numerical_rank(s, A.shape) == 3
    assert numerical_rank(np.zeros(3), (3, 3)) == 0
