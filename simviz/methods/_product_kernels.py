"""Compiled loops of products with sparse matrices, rows spread over the cores."""

from __future__ import annotations

from typing import Any

from simviz._numba import njit, prange


@njit(parallel=True)
def sparse_dense(
    indptr: Any, indices: Any, data: Any, B: Any, bounds: Any, left: int, out: Any
) -> None:
    """Columns of A B from `left` on into `out`, part by part of the rows."""
    for part in prange(len(bounds) - 1):
        for i in range(bounds[part], bounds[part + 1]):
            row = out[i, left : left + B.shape[1]]
            row[:] = 0
            for e in range(indptr[i], indptr[i + 1]):
                weight, values = data[e], B[indices[e]]
                for c in range(len(row)):
                    row[c] += weight * values[c]


@njit(parallel=True)
def sparse_sparse(
    a_ptr: Any, a_idx: Any, a: Any, b_ptr: Any, b_idx: Any, b: Any, bounds: Any, out: Any
) -> None:
    """A B of two sparse matrices into a dense `out` of zeros."""
    for part in prange(len(bounds) - 1):
        for i in range(bounds[part], bounds[part + 1]):
            row = out[i]
            for e in range(a_ptr[i], a_ptr[i + 1]):
                weight = out.dtype.type(a[e])
                j = a_idx[e]
                for f in range(b_ptr[j], b_ptr[j + 1]):
                    row[b_idx[f]] += weight * out.dtype.type(b[f])
