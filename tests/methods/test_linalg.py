"""Every route of the engine gives the singular triplets that LAPACK gives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.methods import _linalg
from simviz.methods._linalg import (
    Operator,
    left_svd,
    matrix_operator,
    numerical_rank,
    product_svd,
    rows_operator,
    truncated_svd,
)

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
    expected = A
    if centred:
        # Two groups of rows, each about its own weighted mean.
        w = np.ones(shape[0]) if weights is None else weights
        groups = [slice(0, 10), slice(10, None)]
        expected = np.vstack([A[g] - np.average(A[g], axis=0, weights=w[g]) for g in groups])
    if weighted:
        expected = np.sqrt(weights)[:, None] * expected
    op = rows_operator(sp.csr_array(A) if sparse else A, weights, groups if centred else ())
    if route != "dense":
        monkeypatch.setattr(_linalg, "DENSE_FLOPS", 0)
    if route == "products":
        op = Operator(op.shape, op.matmat, op.rmatmat)
    if route == "iterative":
        monkeypatch.setattr(_linalg, "GRAM_SIDE", 0)
    U, s, Vt = truncated_svd(op, 5, random_state=0)
    np.testing.assert_allclose(s, np.linalg.svd(expected)[1][:5], rtol=1e-7)
    np.testing.assert_allclose(U.T @ U, np.eye(5), atol=1e-7)
    np.testing.assert_allclose(Vt @ Vt.T, np.eye(5), atol=1e-7)
    np.testing.assert_allclose((U.T @ expected), s[:, None] * Vt, atol=1e-7)
    peaks = Vt[np.arange(5), np.abs(Vt).argmax(axis=1)]
    assert (peaks > 0).all(), "signs are not fixed"


def test_rank_ignores_rounding():
    A = decaying(20, 3) @ RNG.standard_normal((3, 15))
    s = truncated_svd(matrix_operator(A), 15)[1]
    assert numerical_rank(s, A.shape) == 3
    assert numerical_rank(np.zeros(3), (3, 3)) == 0
    assert numerical_rank(np.array([1, 1e-2, 1e-6], dtype=np.float32), (20, 15)) == 2


@pytest.mark.parametrize("sparse", [False, True])
def test_product_of_few_items_needs_only_their_gram_matrices(sparse):
    rng = np.random.default_rng(1)
    Y, X, K = decaying(12, 40, rng), decaying(9, 30, rng), rng.standard_normal((12, 9))
    M = Y.T @ K @ X
    sides = [sp.csr_array(Z) if sparse else Z for Z in (Y, X)]
    U, s, Vt = product_svd(sides[0], K, sides[1], 4)
    np.testing.assert_allclose(s, np.linalg.svd(M)[1][:4], rtol=1e-7)
    np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-6)
    np.testing.assert_allclose(Vt @ Vt.T, np.eye(4), atol=1e-6)
    np.testing.assert_allclose(U.T @ M, s[:, None] * Vt, atol=1e-7)


@pytest.mark.parametrize("shape", [(20, 50), (50, 20)])
def test_left_side_alone_is_the_same_left_side(shape):
    op = matrix_operator(decaying(*shape, np.random.default_rng(3)))
    U, s = left_svd(op, 6)
    V, t, _ = truncated_svd(op, 6)
    np.testing.assert_allclose(s, t, rtol=1e-7)
    np.testing.assert_allclose(np.abs(np.einsum("ik,ik->k", U, V)), 1, atol=1e-7)
