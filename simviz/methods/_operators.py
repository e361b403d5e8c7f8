"""Matrices that are known by their products, and data seen as such a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz._blas import add_product

_STRIP = 1024  # bytes of a row at a time: wider ones, gathered at random, miss the caches
_PARTS = 64  # pieces of about equally many non-zeros: words are as unequal as Zipf says


class Products:
    """A data matrix known by its products with blocks of vectors."""

    def __init__(self, X: Any) -> None:
        self.X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
        self.shape: tuple[int, int] = self.X.shape
        self.dtype = self.X.dtype
        self._transpose: Any = None

    @property
    def transpose(self) -> Any:
        """Xᵀ, as CSR where X is sparse."""
        if self._transpose is None:
            self._transpose = sp.csr_array(self.X.T) if sp.issparse(self.X) else self.X.T
        return self._transpose

    def matmat(self, B: Array, out: Array | None = None, *, half: bool = False) -> Array:
        """X B of shape (n, b) for B of shape (d, b), into `out` if it is given."""
        # With `half` a sparse float32 X meets B rounded to bfloat16, of which twice as much fits
        # into the caches; sums stay in float32.
        return _product(self.X, B, out, half)

    def rmatmat(self, C: Array, out: Array | None = None, *, half: bool = False) -> Array:
        """Xᵀ C of shape (d, b) for C of shape (n, b), likewise."""
        return _product(self.transpose, C, out, half)


def _product(A: Any, B: Array, out: Array | None, half: bool) -> Array:
    dtype = np.result_type(A.dtype, B.dtype)
    if not sp.issparse(A):
        return np.matmul(A, B, out=out)
    from simviz._numba import threads_for
    from simviz.methods._product_kernels import copy_columns, round_columns, sparse_dense

    if out is None:
        out = np.empty((A.shape[0], B.shape[1]), dtype=dtype)
    # Row limits of the parts, by the share of the non-zeros that lies above them.
    bounds = np.searchsorted(A.indptr, np.linspace(0, A.nnz, _PARTS + 1))
    bounds[0], bounds[-1] = 0, A.shape[0]
    half = half and dtype == np.float32
    fill, kind = (round_columns, np.dtype(np.uint16)) if half else (copy_columns, dtype)
    n_strips = -(-B.shape[1] * kind.itemsize // _STRIP)
    width = -(-B.shape[1] // max(1, n_strips))
    if n_strips == 1 and B.dtype == kind and B.flags.c_contiguous and B.flags.writeable:
        # A strip of all columns is what there is: few rows of A should not pay for a copy.
        with threads_for(A.nnz * width):
            sparse_dense(A.indptr, A.indices, A.data, B, bounds, 0, out)
        return out
    strip = np.empty(B.shape[0] * width, kind)
    for left in range(0, B.shape[1], max(1, width)):
        right = min(left + width, B.shape[1])
        columns = strip[: B.shape[0] * (right - left)].reshape(B.shape[0], right - left)
        with threads_for(A.nnz * (right - left)):
            fill(B, left, columns)
            sparse_dense(A.indptr, A.indices, A.data, columns, bounds, left, out)
    return out


def dense_product(A: Any, B: Any, dtype: Any = np.float64) -> Array:
    """A B as a dense matrix, never holding a sparse one of that size."""
    if not (sp.issparse(A) and sp.issparse(B)):
        return np.asarray(A.astype(dtype, copy=False) @ B.astype(dtype, copy=False))
    from simviz._numba import threads_for
    from simviz.methods._product_kernels import sparse_sparse

    A, B = sp.csr_array(A), sp.csr_array(B)
    out = np.zeros((A.shape[0], B.shape[1]), dtype=dtype)
    # What a row costs is what its entries meet on the other side.
    meets = np.concatenate([[0], np.cumsum(np.diff(B.indptr)[A.indices], dtype=np.float64)])
    work = meets[A.indptr]
    bounds = np.searchsorted(work, np.linspace(0, work[-1], _PARTS + 1))
    bounds[0], bounds[-1] = 0, A.shape[0]
    with threads_for(int(work[-1])):
        sparse_sparse(A.indptr, A.indices, A.data, B.indptr, B.indices, B.data, bounds, out)
    return out


Array = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Operator:
    """A matrix known by its products."""

    shape: tuple[int, int]
    matmat: Callable[[Array], Array]
    rmatmat: Callable[[Array], Array]
    gram: Callable[[Any], Array] | None = None
    rgram: Callable[[Any], Array] | None = None
    dtype: Any = np.float64

    @property
    def T(self) -> Operator:  # noqa: N802 -- as numpy names a transpose
        """The transposed operator."""
        return Operator(
            self.shape[::-1], self.rmatmat, self.matmat, self.rgram, self.gram, self.dtype
        )


def matrix_operator(C: Array) -> Operator:
    """A dense matrix."""
    return Operator(
        C.shape,
        lambda B: C @ B,
        lambda B: C.T @ B,
        lambda dtype: C.astype(dtype) @ C.T.astype(dtype),
        lambda dtype: C.T.astype(dtype) @ C.astype(dtype),
        C.dtype,
    )


def rows_operator(Z: Any, weights: Array | None = None, groups: Sequence[slice] = ()) -> Operator:
    """Data as diag(√weights)(Z − means), sparse data staying sparse."""
    products = Products(Z)
    Z = products.X
    n = products.shape[0]
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    root = np.sqrt(w)[:, None]
    by_weight = sp.diags_array(w)
    means = group_means(Z, w, groups)

    def matmat(B: Array) -> Array:
        out = products.matmat(B)
        for rows, mean in zip(groups, means, strict=True):
            out[rows] -= mean.astype(B.dtype) @ B
        return out if weights is None else out * root.astype(B.dtype)

    def rmatmat(C: Array) -> Array:
        if weights is not None:
            C = C * root.astype(C.dtype)
        out = products.rmatmat(C)
        for rows, mean in zip(groups, means, strict=True):
            out -= np.outer(mean, C[rows].sum(axis=0)).astype(C.dtype)
        return out

    def gram(dtype: Any) -> Array:
        K = dense_product(Z, products.transpose, dtype)
        for rows in groups:
            share = (w[rows] / w[rows].sum()).astype(dtype)
            K[rows] -= share @ K[rows]
            K[:, rows] -= (K[:, rows] @ share)[:, None]
        if weights is not None:
            K *= root.astype(dtype)
            K *= root.astype(dtype).T
        return K

    def rgram(dtype: Any) -> Array:
        if sp.issparse(Z):
            left = products.transpose if weights is None else products.transpose @ by_weight
            C = dense_product(left, Z, dtype)
        else:
            # A matrix times its own transpose is half the work to BLAS.
            scaled = Z.astype(dtype) if weights is None else Z * root.astype(dtype)
            C = scaled.T @ scaled
        if groups:
            M = np.array(means)
            sums = np.array([w[rows].sum() for rows in groups])
            # Into C itself: it may be the largest thing in memory.
            add_product(C, M.T * sums, M, -1.0)
        return C

    return Operator(products.shape, matmat, rmatmat, gram, rgram, products.dtype)


def group_means(Z: Any, weights: Array, groups: Sequence[slice]) -> list[Array]:
    """Weighted mean of each group of rows."""
    return [
        np.asarray(weights[rows] @ Z[rows], dtype=np.float64).ravel()
        / max(weights[rows].sum(), np.finfo(np.float64).tiny)
        for rows in groups
    ]
