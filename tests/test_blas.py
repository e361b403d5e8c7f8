"""Linear algebra that lets other threads run is the same as anybody's."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg

import simviz
from simviz._blas import add_product, eigh, gram_of_factor, solve_triangular

TYPES, ORDERS = (np.float32, np.float64), "CF"


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def tolerance(dtype):
    return {"rtol": 0, "atol": 1e-4 if dtype == np.float32 else 1e-12}


@pytest.mark.parametrize(("dtype", "a", "b"), [*product(TYPES, ORDERS, ORDERS)])
def test_a_product_is_added_to_a_part_of_a_larger_matrix(rng, dtype, a, b):
    whole = rng.normal(size=(12, 9)).astype(dtype)
    before = whole.copy()
    A, B = (
        np.asarray(rng.normal(size=shape), dtype=dtype, order=order)
        for shape, order in (((7, 4), a), ((4, 5), b))
    )
    add_product(whole[2:9, 3:8], A, B, 2.5)
    expected = before.copy()
    expected[2:9, 3:8] += 2.5 * A @ B
    np.testing.assert_allclose(whole, expected, **tolerance(dtype))
    untouched = np.ones(whole.shape, dtype=bool)
    untouched[2:9, 3:8] = False
    assert (whole[untouched] == before[untouched]).all()


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (1, 3, 4), (5, 1, 4), (5, 3, 1), (5, 0, 4), (0, 3, 4)]
)
def test_thin_and_strided_products(rng, shape):
    m, k, n = shape
    A, B, C = rng.normal(size=(m, k)), rng.normal(size=(k, n)), rng.normal(size=(m, n))
    expected = C - A @ B
    add_product(C, A, B, -1.0)
    np.testing.assert_allclose(C, expected, atol=1e-12)
    # Factors that are strided, or of another type.
    C, A, B = np.zeros((3, 5), np.float32), rng.normal(size=(6, 8)), np.arange(20).reshape(4, 5)
    add_product(C, A[::2, ::2], B[:, ::-1])
    np.testing.assert_allclose(C, A[::2, ::2] @ B[:, ::-1], rtol=1e-5)


@pytest.mark.parametrize(
    ("C", "A", "B", "said"),
    [
        (np.zeros((2, 3)), (2, 4), (5, 3), "cannot take the product"),
        (np.zeros((2, 3)), (1, 4), (4, 3), "cannot take the product"),
        (np.zeros((3, 2)).T, (2, 4), (4, 3), "rows contiguous"),
        (np.zeros((2, 3), dtype=int), (2, 4), (4, 3), "float32 and float64"),
    ],
)
def test_what_cannot_be_added_is_refused(C, A, B, said):
    with pytest.raises(ValueError, match=said):
        add_product(C, np.zeros(A), np.zeros(B))


@pytest.mark.parametrize(
    ("dtype", "order", "lower", "transposed"),
    [*product(TYPES, ORDERS, (False, True), (False, True))],
)
def test_triangular_systems(rng, dtype, order, lower, transposed):
    # The other triangle is full of what must not be read.
    T = np.array(rng.normal(size=(6, 6)) + 6 * np.eye(6), dtype=dtype, order=order)
    B = rng.normal(size=(6, 4)).astype(dtype)
    told = solve_triangular(T, B, lower=lower, transposed=transposed)
    half = np.tril(T) if lower else np.triu(T)
    expected = np.linalg.solve(half.T if transposed else half, B)
    np.testing.assert_allclose(told, expected, **tolerance(dtype))
    assert told.dtype == dtype and told.flags.c_contiguous


@pytest.mark.parametrize(("dtype", "order", "n"), [*product(TYPES, ORDERS, (1, 2, 40))])
def test_eigenvectors_and_grams(rng, dtype, order, n):
    A = rng.normal(size=(n, n))
    A = np.array(A + A.T, dtype=dtype, order=order)
    kept = A.copy()
    values, V = eigh(A)
    assert (A == kept).all()
    np.testing.assert_allclose(V * values @ V.T, A, **tolerance(dtype))
    np.testing.assert_allclose(values, scipy.linalg.eigvalsh(A), **tolerance(dtype))
    again = eigh(A, overwrite=True)
    assert (again[0] == values).all() and (again[1] == V).all()
    L = np.tril(kept)
    gram = np.tril(gram_of_factor(L))
    np.testing.assert_allclose(gram, np.tril(L.T @ L), rtol=0, atol=1e2 * tolerance(dtype)["atol"])
    assert (np.tril(kept) == L).all()
    assert [part.shape for part in eigh(np.zeros((0, 0)))] == [(0,), (0, 0)]
    with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        eigh(np.full((4, 4), np.nan))


def test_nothing_else_keeps_the_interpreter_for_long():
    # Of scipy's own, only what is done in no time.
    harmless = {"block_diag", "lapack.dpstrf", "cython_"}
    used = {
        called
        for path in Path(simviz.__file__).parent.rglob("*.py")
        for called in re.findall(r"scipy\.linalg(?: import |\.)([a-z_.]+)", path.read_text())
        if path.parent.name != "datasets"
    }
    assert used <= harmless
