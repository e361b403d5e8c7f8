"""Linear algebra that lets other threads run meanwhile.

scipy's own wrappers keep the interpreter for as long as a routine of BLAS or LAPACK
runs: up to a second in which no page of an app answers, whose jobs train in the same
process. The routines here are the same ones, by the addresses that scipy publishes
for compiled code; a call through `ctypes` lets go of the interpreter. Products and
what else `numpy` has need none of this: it lets go by itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from simviz._types import Array

Float = TypeVar("Float", bound=np.floating)

_LETTERS = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}


def add_product(C: Array, A: Array, B: Array, scale: float = 1.0) -> None:
    """Add ``scale`` A B to C, in place."""
    m, n = C.shape
    k = A.shape[1]
    if A.shape[0] != m or B.shape != (k, n):
        raise ValueError(f"C {C.shape} cannot take the product of {A.shape} and {B.shape}.")
    if not C.flags.writeable or (C.size and not _are_rows(C)):
        raise ValueError("C must be writable and its rows contiguous; give a C-ordered array.")
    if not C.size or not k:
        return
    A, B = _contiguous(A, C.dtype), _contiguous(B, C.dtype)
    # BLAS counts by columns, so it sees all transposed: Cᵀ += Bᵀ Aᵀ.
    (b, ldb, b_transposed), (a, lda, a_transposed) = _layout(B), _layout(A)
    c, ldc, _ = _layout(C)
    one = _number(1.0, C.dtype)
    _call(
        "blas", "gemm", C.dtype, _letter(b_transposed), _letter(a_transposed), n, m, k,
        _number(scale, C.dtype), b, ldb, a, lda, one, c, ldc,
    )  # fmt: skip


def solve_triangular(
    T: NDArray[Float], B: Array, *, lower: bool = False, transposed: bool = False
) -> NDArray[Float]:
    """T⁻¹ B or T⁻ᵀ B for a triangular matrix."""
    X: NDArray[Float] = np.array(B, dtype=T.dtype, order="C")
    if not X.size:
        return X
    matrix = _contiguous(T, T.dtype)
    t, ldt, is_column_major = _layout(matrix)
    # X is seen as Xᵀ: from the right, and so by T⁻ᵀ where T⁻¹ is meant.
    by_columns = lower if is_column_major else not lower
    x, ldx, _ = _layout(X)
    d, b = X.shape
    _call(
        "blas", "trsm", X.dtype, b"R", b"L" if by_columns else b"U",
        _letter(is_column_major != transposed), b"N", b, d, _number(1.0, X.dtype), t, ldt, x, ldx,
    )  # fmt: skip
    return X


def gram_of_factor(L: NDArray[Float]) -> NDArray[Float]:
    """LᵀL for a lower triangular L with contiguous rows, in the lower triangle of the result."""
    A = np.array(L, order="C")
    n = len(A)
    info = ctypes.c_int(0)
    # By columns L is an upper triangle U, and LᵀL is U Uᵀ: a sixth of a whole product.
    _call("lapack", "lauum", A.dtype, b"U", n, _at(A), n, info)
    return A


def eigh(A: NDArray[Float], *, overwrite: bool = False) -> tuple[NDArray[Float], NDArray[Float]]:
    """All eigenvalues and eigenvectors of a symmetric matrix, by divide and conquer."""
    n = len(A)
    # By rows or by columns, it is the same matrix.
    V = A.T if A.flags.c_contiguous else A
    if not (overwrite and V.flags.f_contiguous and V.flags.writeable):
        V = np.array(V, order="F")
    values = np.empty(n, dtype=V.dtype)
    if not n:
        return values, V
    info = ctypes.c_int(0)

    def run(work: Any, n_work: int, whole: Any, n_whole: int) -> None:
        _call(
            "lapack", "syevd", V.dtype, b"V", b"L", n, _at(V), n, _at(values),
            _at(work), n_work, _at(whole), n_whole, info,
        )  # fmt: skip

    work, whole = np.empty(1, dtype=V.dtype), np.empty(1, dtype=np.intc)
    run(work, -1, whole, -1)  # how much room it needs
    # Told in single precision, a large number may be rounded down.
    n_work = max(int(work[0]), 1 + 6 * n + 2 * n * n)
    n_whole = max(int(whole[0]), 3 + 5 * n)
    run(np.empty(n_work, dtype=V.dtype), n_work, np.empty(n_whole, dtype=np.intc), n_whole)
    if info.value:
        raise np.linalg.LinAlgError(f"Eigenvalues did not converge (LAPACK says {info.value}).")
    return values, V


def _contiguous(A: Any, dtype: Any) -> Array:
    """The same matrix in this type, with contiguous rows or columns."""
    A = np.asarray(A, dtype=dtype)
    return A if _are_rows(A) or _are_rows(A.T) else np.ascontiguousarray(A)


def _are_rows(A: Array) -> bool:
    """Whether rows are contiguous, and one lies behind the other."""
    row, entry = A.strides
    item = A.itemsize
    return (entry == item or A.shape[1] == 1) and row % item == 0 and row >= item * A.shape[1]


def _layout(A: Array) -> tuple[ctypes.c_void_p, int, bool]:
    """Address, leading dimension, and whether it is column-major."""
    by_rows = _are_rows(A)
    return _at(A), (A.strides[0] if by_rows else A.strides[1]) // A.itemsize, not by_rows


def _at(A: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(A.ctypes.data)


def _letter(is_transposed: bool) -> bytes:
    return b"T" if is_transposed else b"N"


def _number(value: float, dtype: np.dtype[Any]) -> Any:
    return ctypes.c_float(value) if dtype == np.float32 else ctypes.c_double(value)


def _call(library: str, name: str, dtype: np.dtype[Any], *args: Any) -> None:
    """Call a routine, all of whose arguments are references."""
    if dtype not in _LETTERS:
        raise ValueError(f"Only float32 and float64 are computed with, got {dtype}.")
    references = [_reference(value) for value in args]
    _routine(library, _LETTERS[dtype] + name, len(references))(*references)


def _reference(value: Any) -> Any:
    if isinstance(value, ctypes.c_void_p):
        return value
    if isinstance(value, bytes):
        return ctypes.c_char_p(value)
    return ctypes.byref(ctypes.c_int(value) if isinstance(value, int) else value)


@cache
def _routine(library: str, name: str, n_args: int) -> Callable[..., None]:
    from numba.extending import get_cython_function_address

    address = get_cython_function_address(f"scipy.linalg.cython_{library}", name)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_args)(address)
