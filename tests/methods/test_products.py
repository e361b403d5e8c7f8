"""Products of a data matrix are those of NumPy, whatever the matrix is made of."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from simviz.methods._linalg import Products

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("kind", ["csr_array", "csr_matrix", "dense"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 7, 128, 129, 300])
def test_both_sides(kind, dtype, width):
    A = RNG.standard_normal((60, 45)).astype(dtype)
    A[RNG.random(A.shape) < 0.9] = 0
    A[7] = 0
    A[:, 3] = 0
    products = Products(A if kind == "dense" else getattr(sp, kind)(A))
    B, C = (RNG.standard_normal((n, width)).astype(dtype) for n in (45, 60))
    tolerance = {"rtol": 1e-5, "atol": 1e-5} if dtype == np.float32 else {"atol": 1e-12}
    forth, back = products.matmat(B), products.rmatmat(C)
    assert forth.dtype == back.dtype == dtype
    np.testing.assert_allclose(forth, A @ B, **tolerance)
    np.testing.assert_allclose(back, A.T @ C, **tolerance)


def test_strided_blocks_and_long_rows():
    A = sp.random_array((300, 200), density=0.05, format="lil", random_state=RNG)
    A[0] = 1.0  # one row with most of the non-zeros
    A = sp.csr_array(A)
    B = RNG.standard_normal((200, 40))[:, ::2]
    np.testing.assert_allclose(Products(A).matmat(B), A @ B, atol=1e-12)
    B = np.asfortranarray(RNG.standard_normal((300, 150)))
    np.testing.assert_allclose(Products(A).rmatmat(B), A.T @ B, atol=1e-12)


def test_few_rows_meet_a_wide_matrix_as_many_do():
    A = sp.random_array((400, 300), density=0.05, format="csr", rng=RNG)
    B = RNG.standard_normal((300, 500))
    few = [7, 0, 9]
    assert A[few].nnz < len(B) < A.nnz  # only the many are worth a copy of B
    np.testing.assert_allclose(
        Products(A[few]).matmat(B), Products(A).matmat(B)[few], rtol=1e-13, atol=1e-13
    )


@pytest.mark.parametrize("shape", [(5, 4), (0, 4), (5, 0)])
def test_nothing_stored(shape):
    products = Products(sp.csr_array(shape))
    np.testing.assert_array_equal(products.matmat(np.ones((shape[1], 3))), 0)
    np.testing.assert_array_equal(products.rmatmat(np.ones((shape[0], 3))), 0)
    assert products.matmat(np.ones((shape[1], 0))).shape == (shape[0], 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_half_precision_rounds_one_factor_of_float32_to_bfloat16(dtype):
    A = sp.random_array((70, 50), density=0.3, format="csr", rng=RNG, dtype=dtype)
    B, C = (RNG.standard_normal((n, 600)).astype(dtype) for n in (50, 70))
    forth, back = Products(A).matmat(B, half=True), Products(A).rmatmat(C, half=True)
    assert forth.dtype == back.dtype == dtype
    if dtype == np.float32:
        B, C = (torch.from_numpy(Z).bfloat16().float().numpy() for Z in (B, C))
    error = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(forth, A @ B, atol=error)
    np.testing.assert_allclose(back, A.T @ C, atol=error)
