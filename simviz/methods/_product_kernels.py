"""Compiled loops of products with sparse matrices, rows spread over the cores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from simviz._numba import njit, prange

_JOINED = frozenset({"contract"})


def number(x: Any) -> Any:
    """What an entry stands for: floats are themselves, uint16 are bits of bfloat16."""
    raise NotImplementedError("only for compiled loops")


@overload(number, strict=False)
def _number(x: Any) -> Any:
    if isinstance(x, types.Integer):
        return lambda x: np.uint32(np.uint32(x) << np.uint32(16)).view(np.float32)
    return lambda x: x


@njit()
def bfloat16_bits(x: Any) -> Any:
    """The nearest bfloat16 of a float32, ties to even; NaN and infinity stay."""
    bits = np.float32(x).view(np.uint32)
    rounded = np.uint32(bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))
    # An infinity has no bits to carry from; a NaN keeps its first ones, made quiet.
    kept = bits | np.uint32(0x400000) if x != x else rounded
    return np.uint16(kept >> np.uint32(16))


@njit(parallel=True)
def copy_columns(B: Any, left: int, out: Any) -> None:
    """Columns of B from `left` on into `out`, in their type."""
    for i in prange(len(out)):
        for c in range(out.shape[1]):
            out[i, c] = B[i, left + c]


@njit(parallel=True)
def round_columns(B: Any, left: int, out: Any) -> None:
    """Columns of B from `left` on into `out` as bits of bfloat16."""
    for i in prange(len(out)):
        for c in range(out.shape[1]):
            out[i, c] = bfloat16_bits(B[i, left + c])


@njit(parallel=True, fastmath=_JOINED)
def sparse_dense(
    indptr: Any, indices: Any, data: Any, B: Any, bounds: Any, left: int, out: Any
) -> None:
    """Columns of A B from `left` on into `out`, part by part of the rows."""
    # `B` holds floats, or bits of bfloat16.
    for part in prange(len(bounds) - 1):
        for i in range(bounds[part], bounds[part + 1]):
            row = out[i, left : left + B.shape[1]]
            row[:] = 0
            e, end = indptr[i], indptr[i + 1]
            # Four at a time: a quarter of the loads and stores of `row`, and four rows
            # of B on their way from memory at once.
            while e + 3 < end:
                a0, a1, a2, a3 = data[e], data[e + 1], data[e + 2], data[e + 3]
                b0, b1 = B[np.uint64(indices[e])], B[np.uint64(indices[e + 1])]
                b2, b3 = B[np.uint64(indices[e + 2])], B[np.uint64(indices[e + 3])]
                for c in range(len(row)):
                    row[c] += (a0 * number(b0[c]) + a1 * number(b1[c])) + (
                        a2 * number(b2[c]) + a3 * number(b3[c])
                    )
                e += 4
            while e < end:
                a, b = data[e], B[np.uint64(indices[e])]
                for c in range(len(row)):
                    row[c] += a * number(b[c])
                e += 1


@njit(parallel=True)
def sparse_sparse(
    a_ptr: Any, a_idx: Any, a: Any, b_ptr: Any, b_idx: Any, b: Any, bounds: Any, out: Any
) -> None:
    for part in prange(len(bounds) - 1):
        for i in range(bounds[part], bounds[part + 1]):
            row = out[i]
            for e in range(a_ptr[i], a_ptr[i + 1]):
                weight, j = a[e], a_idx[e]
                for f in range(b_ptr[j], b_ptr[j + 1]):
                    row[b_idx[f]] += weight * b[f]
