"""Products of a data matrix with blocks of vectors, from both sides, on all cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz._numba import njit, prange, threads_for

Array = NDArray[np.floating]

_STRIP = 128  # most columns at a time: wider rows, gathered at random, miss the caches
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

    def matmat(self, B: Array) -> Array:
        """X B of shape (n, b) for B of shape (d, b)."""
        return _product(self.X, B)

    def rmatmat(self, C: Array) -> Array:
        """Xᵀ C of shape (d, b) for C of shape (n, b)."""
        return _product(self.transpose, C)


def _product(A: Any, B: Array) -> Array:
    if not sp.issparse(A):
        return np.asarray(A @ B)
    dtype = np.result_type(A.dtype, B.dtype)
    out = np.empty((A.shape[0], B.shape[1]), dtype=dtype)
    # Row limits of the parts, by the share of the non-zeros that lies above them.
    bounds = np.searchsorted(A.indptr, np.linspace(0, A.nnz, _PARTS + 1))
    bounds[0], bounds[-1] = 0, A.shape[0]
    width = -(-B.shape[1] // max(1, -(-B.shape[1] // _STRIP)))
    for left in range(0, B.shape[1], max(1, width)):
        columns = np.ascontiguousarray(B[:, left : left + width], dtype=dtype)
        with threads_for(A.nnz * columns.shape[1]):
            _sparse_dense(A.indptr, A.indices, A.data, columns, bounds, left, out)
    return out


@njit(parallel=True)
def _sparse_dense(
    indptr: Any, indices: Any, data: Any, B: Any, bounds: Any, left: int, out: Any
) -> None:
    for part in prange(len(bounds) - 1):
        for i in range(bounds[part], bounds[part + 1]):
            row = out[i, left : left + B.shape[1]]
            row[:] = 0
            for e in range(indptr[i], indptr[i + 1]):
                weight, values = data[e], B[indices[e]]
                for c in range(len(row)):
                    row[c] += weight * values[c]
