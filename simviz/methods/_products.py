"""Products of a data matrix with blocks of vectors, from both sides, on all cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.floating]

_STRIP = 1024  # bytes of a row at a time: wider ones, gathered at random, miss the caches
_PARTS = 64  # pieces of about equally many non-zeros: words are as unequal as Zipf says


class Products:
    """A data matrix known by its products with blocks of vectors.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
        Data, of one floating type. It is not copied; its transpose is, once,
        when it is first needed.
    """

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
        """X B of shape (n, b) for B of shape (d, b), into `out` if it is given.

        With `half` a sparse float32 X meets B rounded to bfloat16, of which twice as
        much fits into the caches; sums stay in float32.
        """
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
    """A B as a dense matrix, never holding a sparse one of that size.

    Parameters
    ----------
    A : array or CSR of shape (m, n)
        Left factor.
    B : array or CSR of shape (n, p)
        Right factor.
    dtype : type, default=float64
        Of the result and of all sums.

    Returns
    -------
    ndarray of shape (m, p)
        Row-major.
    """
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
