"""Singular value decompositions of matrices that are never formed.

An operator knows its shape and its products with a block of vectors from
either side; centring, pairing and implicit negatives are terms of such
products. `truncated_svd` then takes the cheapest exact route that fits, and a
block power iteration (Halko, Martinsson & Tropp 2011) above it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.extmath import svd_flip

Array = NDArray[np.floating]
Notify = Callable[[int, int], bool]

_DENSE_FLOPS = 2e9  # direct LAPACK SVD below this many multiplications
_GRAM_SIDE = 5_000  # eigenvectors of the smaller Gram matrix up to this side
_LAPACK_SIDE = 1_500  # all singular triplets of a dense matrix up to this side
_COLUMNS = 512  # columns of a block when a Gram matrix is filled in


@dataclass(frozen=True, slots=True)
class Operator:
    """A matrix known by its products.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns (m, n).
    matmat : callable
        Block (n, b) to block (m, b).
    rmatmat : callable
        Block (m, b) to block (n, b), with the transpose.
    gram : callable, optional
        A Aᵀ of shape (m, m), where there is a shorter way than products.
    rgram : callable, optional
        Aᵀ A of shape (n, n), likewise.
    """

    shape: tuple[int, int]
    matmat: Callable[[Array], Array]
    rmatmat: Callable[[Array], Array]
    gram: Callable[[], Array] | None = None
    rgram: Callable[[], Array] | None = None

    @property
    def T(self) -> Operator:  # noqa: N802 -- as numpy names a transpose
        """The transposed operator."""
        return Operator(self.shape[::-1], self.rmatmat, self.matmat, self.rgram, self.gram)


def matrix_operator(X: Any, mean: Array | None = None, weights: Array | None = None) -> Operator:
    """A data matrix as diag(√weights)(X − 1 meanᵀ), sparse data staying sparse.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
        Data.
    mean : ndarray of shape (d,), optional
        Subtracted from every row, implicitly.
    weights : ndarray of shape (n,), optional
        Row weights.

    Returns
    -------
    Operator
        Of shape (n, d).
    """
    XT = sp.csr_array(X.T) if sp.issparse(X) else X.T
    root = None if weights is None else np.sqrt(weights)[:, None]

    def matmat(B: Array) -> Array:
        Z = np.asarray(X @ B)
        if mean is not None:
            Z = Z - mean @ B
        return Z if root is None else Z * root

    def rmatmat(B: Array) -> Array:
        if root is not None:
            B = B * root
        Z = np.asarray(XT @ B)
        return Z if mean is None else Z - np.outer(mean, B.sum(axis=0))

    def gram() -> Array:
        K = gram_matrix(X)
        if mean is not None:
            m = np.asarray(X @ mean, dtype=np.float64)
            K -= m[:, None] + m - mean @ mean
        return K if root is None else K * root * root.T

    def rgram() -> Array:
        if mean is None:
            return gram_matrix(XT if root is None else XT * root.ravel())
        # The weighted mean is subtracted, so that the cross terms are one rank-one matrix.
        w = np.ones(X.shape[0]) if weights is None else weights
        C = gram_matrix(XT * np.sqrt(w))
        m = np.asarray(XT @ w, dtype=np.float64)
        C -= np.outer(m, mean) + np.outer(mean, m) - w.sum() * np.outer(mean, mean)
        return C

    return Operator(X.shape, matmat, rmatmat, gram, rgram)


def gram_matrix(X: Any) -> Array:
    """X Xᵀ, dense and in float64, of a dense or CSR matrix (n, d)."""
    if sp.issparse(X):
        X = sp.csr_array(X, dtype=np.float64)
        return (X @ X.T).toarray()
    X = np.asarray(X, dtype=np.float64)
    return X @ X.T


def truncated_svd(
    op: Operator,
    k: int,
    *,
    n_iter: int = 8,
    random_state: Any = None,
    notify: Notify | None = None,
) -> tuple[Array, Array, Array]:
    """The k leading singular triplets.

    Small operators are decomposed exactly; larger ones by block power
    iteration with ``max(20, k / 10)`` extra columns, whose last singular values
    may be a few per cent low when the spectrum is flat.

    Parameters
    ----------
    op : Operator
        Of shape (m, n).
    k : int
        Triplets wanted; at most ``min(m, n)`` are returned.
    n_iter : int, default=8
        Power iterations of the iterative route.
    random_state : int, RandomState or None
        Start of the iterative route.
    notify : callable, optional
        Called as ``notify(step, total)`` between passes; a true answer ends
        the iteration, which leaves a valid, less exact result.

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
    small = min(m, n)
    if m * n * small <= _DENSE_FLOPS:
        U, s, Vt = scipy.linalg.svd(_dense(op), full_matrices=False, check_finite=False)
        U, s, Vt = U[:, :k], s[:k], Vt[:k]
    elif small <= _GRAM_SIDE:
        if m <= n:
            U, s, Vt = _gram_svd(op, k)
        else:
            V, s, Ut = _gram_svd(op.T, k)
            U, Vt = Ut.T, V.T
    else:
        U, s, Vt = _block_svd(op, k, n_iter, random_state, notify)
    U, Vt = svd_flip(U, Vt, u_based_decision=False)
    return U, s, Vt


def left_svd(op: Operator, k: int, **settings: Any) -> tuple[Array, Array]:
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
    **settings
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
    if m > min(n, _GRAM_SIDE) or op.gram is None:
        return truncated_svd(op, k, **settings)[:2]
    values, U = _leading_eigenvectors(op.gram(), min(k, m))
    return U, np.sqrt(np.maximum(values, 0.0))


def _leading_eigenvectors(gram: Array, k: int) -> tuple[Array, Array]:
    # Divide and conquer: the solver for a subset is no quicker at these sizes, and gives up
    # on matrices with many equal eigenvalues, such as those of items without any feature.
    values, U = scipy.linalg.eigh((gram + gram.T) / 2, driver="evd", check_finite=False)
    return values[::-1][:k], U[:, ::-1][:, :k]


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
        Values above ``s[0] · √(eps · max(shape))``: those from a Gram matrix
        are known to the square root of the working precision.
    """
    if not len(s) or s[0] <= 0:
        return 0
    return int((s > s[0] * np.sqrt(np.finfo(np.float64).eps * max(shape))).sum())


def dense_svd(C: Array, k: int, random_state: Any = None) -> tuple[Array, Array, Array]:
    """Leading singular triplets of a dense matrix, all of them where that is quick.

    Parameters
    ----------
    C : ndarray of shape (m, n)
        The matrix.
    k : int
        Triplets that are needed.
    random_state : int, RandomState or None
        Start of the iteration that takes over for large matrices and few triplets.

    Returns
    -------
    U, s, Vt : ndarray
        At least ``min(k, m, n)`` triplets, singular values descending.
    """
    if min(C.shape) <= _LAPACK_SIDE or 4 * k > min(C.shape):
        return scipy.linalg.svd(C, full_matrices=False, check_finite=False)
    op = Operator(C.shape, lambda B: C @ B, lambda B: C.T @ B)
    return _block_svd(op, k, 12, random_state, None)


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
    values, W = _leading_eigenvectors(gram_matrix(Y), Y.shape[0])
    T = (W * np.sqrt(np.maximum(values, 0.0))) @ (W.T @ K)
    _, W2 = _leading_eigenvectors(T @ gram_matrix(X) @ T.T, min(k, *K.shape))
    V = np.asarray(X.T @ (T.T @ W2))
    s = np.sqrt(np.einsum("ik,ik->k", V, V))
    order = np.argsort(-s, kind="stable")
    s = s[order]
    inverse = np.divide(1.0, s, out=np.zeros_like(s), where=s > 0)
    V = V[:, order] * inverse
    U = np.asarray(Y.T @ (K @ np.asarray(X @ V))) * inverse
    U, Vt = svd_flip(U, V.T, u_based_decision=False)
    return U, s, Vt


def _dense(op: Operator) -> Array:
    if op.shape[1] <= op.shape[0]:
        return op.matmat(np.eye(op.shape[1]))
    return op.rmatmat(np.eye(op.shape[0])).T


def _gram_svd(op: Operator, k: int) -> tuple[Array, Array, Array]:
    """Through the eigenvectors of A Aᵀ, for operators with fewer rows than columns."""
    gram = op.gram() if op.gram is not None else _gram_by_products(op)
    _, U = _leading_eigenvectors(gram, k)
    # A V = U s gives the other side; its norms are the singular values, exactly.
    V = op.rmatmat(U)
    s = np.sqrt(np.einsum("ik,ik->k", V, V))
    order = np.argsort(-s, kind="stable")
    U, V, s = U[:, order], V[:, order], s[order]
    return U, s, (V * np.divide(1.0, s, out=np.zeros_like(s), where=s > 0)).T


def _gram_by_products(op: Operator) -> Array:
    m = op.shape[0]
    gram = np.empty((m, m))
    for start in range(0, m, _COLUMNS):
        stop = min(start + _COLUMNS, m)
        unit = np.zeros((m, stop - start))
        unit[np.arange(start, stop), np.arange(stop - start)] = 1.0
        gram[:, start:stop] = op.matmat(op.rmatmat(unit))
    return gram


def _block_svd(
    op: Operator, k: int, n_iter: int, random_state: Any, notify: Notify | None
) -> tuple[Array, Array, Array]:
    rng = check_random_state(random_state)
    width = min(k + max(20, k // 10), *op.shape)
    Q = np.linalg.qr(op.matmat(rng.standard_normal((op.shape[1], width))))[0]
    for step in range(1, n_iter + 1):
        # LU keeps the columns apart at a third of the price of QR.
        Z = scipy.linalg.lu(op.rmatmat(Q), permute_l=True, check_finite=False)[0]
        Z = op.matmat(Z)
        last = step == n_iter or (notify is not None and notify(step, n_iter))
        Q = (
            np.linalg.qr(Z)[0]
            if last
            else scipy.linalg.lu(Z, permute_l=True, check_finite=False)[0]
        )
        if last:
            break
    B = op.rmatmat(Q).T
    U, s, Vt = scipy.linalg.svd(B, full_matrices=False, check_finite=False)
    return Q @ U[:, :k], s[:k], Vt[:k]
