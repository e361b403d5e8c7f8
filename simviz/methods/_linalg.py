"""Singular value decompositions, by the shortest exact way that fits.

Small matrices go to LAPACK, those with one short side through the Gram matrix
of that side, all others to block Lanczos (`_krylov`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.extmath import svd_flip

from simviz._blas import eigh
from simviz.methods._krylov import Notify, leading_eigenpairs, over, unit_of
from simviz.methods._operators import Array, Operator
from simviz.methods._products import dense_product

_DENSE_FLOPS = 1e8  # direct LAPACK SVD below this many multiplications
_GRAM_SIDE = 1_500  # all eigenvectors of a Gram matrix of this side take a fraction of a second
_LARGEST_GRAM = 6_000  # and of this one half a minute: for when many of them are wanted
_MANY = 6  # one in so many
_BLOCK = 96  # columns of a product in the iterative route
_COLUMNS = 512  # columns of a block when a Gram matrix is filled in


def truncated_svd(
    op: Operator,
    k: int,
    *,
    tol: float = 2e-2,
    random_state: Any = None,
    notify: Notify | None = None,
) -> tuple[Array, Array, Array]:
    """The k leading singular triplets.

    Parameters
    ----------
    op : Operator
        Of shape (m, n).
    k : int
        Triplets wanted; at most ``min(m, n)`` are returned.
    tol : float, default=2e-2
        Accepted residual of the iterative route, see `leading_eigenpairs`.
    random_state : int, RandomState or None
        Start of the iterative route.
    notify : callable, optional
        Called as ``notify(step, total)`` between passes of the iterative
        route; a true answer ends it with the triplets found so far.

    Returns
    -------
    U : ndarray of shape (m, k)
        Left singular vectors.
    s : ndarray of shape (k,)
        Singular values, descending.
    Vt : ndarray of shape (k, n)
        Right singular vectors; the largest entry of each row is positive.
    """
    m, n = op.shape
    k = min(k, m, n)
    if m * n * min(m, n) <= _DENSE_FLOPS:
        U, s, Vt = np.linalg.svd(_dense(op), full_matrices=False)
        U, s, Vt = U[:, :k], s[:k], Vt[:k]
    elif m <= n:
        U, s, Vt = _through_left(op, k, tol, random_state, notify)
    else:
        V, s, Ut = _through_left(op.T, k, tol, random_state, notify)
        U, Vt = Ut.T, V.T
    return _signed(U, s, Vt)


def left_svd(
    op: Operator, k: int, *, random_state: Any = None, notify: Notify | None = None
) -> tuple[Array, Array]:
    """Left singular vectors and singular values, where the right ones are not needed.

    With few rows this saves the product with all columns, which is the larger
    part of the work: what is wanted of the right side is ``op.rmatmat(U / s)``
    times a narrow matrix.

    Parameters
    ----------
    op : Operator
        Of shape (m, n).
    k : int
        Pairs wanted; at most ``min(m, n)`` are returned.
    random_state, notify
        As for `truncated_svd`.

    Returns
    -------
    U : ndarray of shape (m, k)
        Left singular vectors.
    s : ndarray of shape (k,)
        Singular values, descending; from a Gram matrix, hence those below
        ``s[0] · √eps`` are rounding.
    """
    m, n = op.shape
    k = min(k, m, n)
    if m > n or not _whole(m, k):
        return truncated_svd(op, k, random_state=random_state, notify=notify)[:2]
    values, U = _leading_eigenvectors(_gram(op), k)
    return U, np.sqrt(np.maximum(values, 0.0))


def leading_symmetric(
    apply: Callable[[Array], Array],
    side: int,
    k: int,
    dtype: Any,
    *,
    random_state: Any = None,
    notify: Notify | None = None,
) -> tuple[Array, Array]:
    """The k algebraically largest eigenvalues of a symmetric matrix, and their eigenvectors.

    Parameters
    ----------
    apply : callable
        The matrix times a block (side, b).
    side : int
        Its rows.
    k : int
        Pairs wanted; at most `side` are returned.
    dtype : type
        Precision of the iterative route.
    random_state, notify
        As for `truncated_svd`.

    Returns
    -------
    values : ndarray of shape (k,)
        Descending.
    vectors : ndarray of shape (side, k)
        Orthonormal columns.
    """
    k = min(k, side)
    if _whole(side, k):
        return _leading_eigenvectors(apply(np.eye(side, dtype=dtype)).astype(np.float64), k)
    start = _start(side, k, dtype, random_state)
    return leading_eigenpairs(apply, side, k, start=start, notify=notify)


def numerical_rank(s: Array, shape: tuple[int, int]) -> int:
    """How many singular values stand above rounding error.

    Parameters
    ----------
    s : ndarray of shape (k,)
        Singular values, descending.
    shape : tuple of int
        Of the matrix they come from.

    Returns
    -------
    int
        Values above ``s[0] · √(eps · max(shape))`` in double precision, since
        those from a Gram matrix are known to the square root of the working
        precision, and above ``s[0] · 8 eps · √max(shape)`` in single, where
        they are norms of products.
    """
    if not len(s) or s[0] <= 0:
        return 0
    eps, size = np.finfo(s.dtype).eps, max(shape)
    share = np.sqrt(eps * size) if s.dtype == np.float64 else 8 * eps * np.sqrt(size)
    return int((s > s[0] * share).sum())


def product_svd(Y: Any, K: Array, X: Any, k: int) -> tuple[Array, Array, Array]:
    """Leading singular triplets of Yᵀ K X for few items with many features.

    With G = Y Yᵀ and H = X Xᵀ, they follow from one symmetric eigenproblem of
    the size of a side: G^½ K H Kᵀ G^½ w = σ² w. No inverse is needed, since the
    singular vectors are Xᵀ Kᵀ G^½ w / σ and their images.

    Parameters
    ----------
    Y, X : array or CSR of shape (n_y, d_y) and (n_x, d_x)
        Items of the two sides.
    K : ndarray of shape (n_y, n_x)
        What stands between them.
    k : int
        Triplets wanted; at most ``min(n_x, n_y)`` are returned.

    Returns
    -------
    U : ndarray of shape (d_y, k)
        Left singular vectors.
    s : ndarray of shape (k,)
        Singular values, descending.
    Vt : ndarray of shape (k, d_x)
        Right singular vectors; the largest entry of each row is positive.
    """
    values, W = _leading_eigenvectors(_gram_matrix(Y), Y.shape[0])
    T = (W * np.sqrt(np.maximum(values, 0.0))) @ (W.T @ K)
    _, W2 = _leading_eigenvectors(T @ _gram_matrix(X) @ T.T, min(k, *K.shape))
    V = np.asarray(X.T @ (T.T @ W2))
    s = np.sqrt(np.einsum("ik,ik->k", V, V))
    order = np.argsort(-s, kind="stable")
    s = s[order]
    inverse = np.divide(1.0, s, out=np.zeros_like(s), where=s > 0)
    V = V[:, order] * inverse
    U = np.asarray(Y.T @ (K @ np.asarray(X @ V))) * inverse
    return _signed(U, s, V.T)


def _gram_matrix(X: Any) -> Array:
    return dense_product(X, sp.csr_array(X.T) if sp.issparse(X) else X.T)


def _signed(U: Array, s: Array, Vt: Array) -> tuple[Array, Array, Array]:
    U, Vt = svd_flip(U, Vt, u_based_decision=False)
    return U, s, Vt


def _leading_eigenvectors(gram: Array, k: int) -> tuple[Array, Array]:
    # Divide and conquer: the solver for a subset is no quicker at these sizes, and gives up
    # on matrices with many equal eigenvalues, such as those of items without any feature.
    values, U = eigh((gram + gram.T) / 2, overwrite=True)
    return values[::-1][:k], U[:, ::-1][:, :k]


def _dense(op: Operator) -> Array:
    if op.shape[1] <= op.shape[0]:
        return op.matmat(np.eye(op.shape[1]))
    return op.rmatmat(np.eye(op.shape[0])).T


def _whole(side: int, k: int) -> bool:
    """Whether all eigenvectors of a Gram matrix come sooner than the leading k."""
    return side <= _GRAM_SIDE or (side <= _LARGEST_GRAM and k * _MANY > side)


def _through_left(
    op: Operator, k: int, tol: float, random_state: Any, notify: Notify | None
) -> tuple[Array, Array, Array]:
    """Through the eigenvectors of A Aᵀ, for operators with no more rows than columns."""
    m = op.shape[0]
    if _whole(m, k):
        _, U = _leading_eigenvectors(_gram(op), k)
    else:
        start = _start(m, k, op.dtype, random_state)
        unit = 0.0

        def product(B: Array) -> Array:
            nonlocal unit
            V = op.rmatmat(B)
            unit = unit or unit_of(V)
            return op.matmat(over(V, unit))

        _, U = leading_eigenpairs(product, m, k, start=start, tol=tol, notify=notify)
    # A V = U s gives the other side; its norms are the singular values, exactly.
    V = op.rmatmat(U)
    unit = unit_of(V)
    scaled = over(V, unit)
    s = np.sqrt(np.einsum("ik,ik->k", scaled, scaled)) * V.dtype.type(unit)
    order = np.argsort(-s, kind="stable")
    U, V, s = U[:, order], V[:, order], s[order]
    return U, s, (V * np.divide(1.0, s, out=np.zeros_like(s), where=s > 0)).T


def _start(side: int, k: int, dtype: Any, random_state: Any) -> Array:
    width = min(max(16, k // 4), _BLOCK)
    return check_random_state(random_state).standard_normal((side, width)).astype(dtype)


def _gram(op: Operator) -> Array:
    if op.gram is not None:
        return op.gram(np.float64)
    m = op.shape[0]
    gram = np.empty((m, m))
    for start in range(0, m, _COLUMNS):
        stop = min(start + _COLUMNS, m)
        unit = np.zeros((m, stop - start))
        unit[np.arange(start, stop), np.arange(stop - start)] = 1.0
        gram[:, start:stop] = op.matmat(op.rmatmat(unit))
    return gram
