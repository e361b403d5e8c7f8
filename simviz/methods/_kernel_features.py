"""Kernels as features: coordinates in which a kernel is an inner product.

Any factor K = G Gᵀ turns a kernel method into the linear one on the rows of
G. Up to a number of items it comes from all eigenvectors of K; above it from
an incomplete Cholesky decomposition, whose pivots are the landmarks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from simviz._blas import eigh, solve_triangular
from simviz.base import Matrix, nonzero_rows
from simviz.methods._kernels import Array, Kernel, squared_norms

Notify = Callable[[int, int], bool]

_LAPACK_SIDE = 1_000  # a full decomposition of that size takes a second
_CANDIDATES = 64  # pivots proposed at a time
_WORTH = 0.05  # of the largest residual among them: what a pivot has to explain
_NEGATIVE = 1e-6  # of the largest eigenvalue: beyond rounding
_ROUNDING = 1e-14  # what centring leaves of a mean that is larger than all differences


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Features of one side, by their singular value decomposition G = U diag(s).

    An item is mapped to ``k(item, landmarks) @ weights``, less one of the
    offsets where the features are centred; on the training items that is G.

    Parameters
    ----------
    U : ndarray of shape (n, r)
        Orthonormal; rows scaled by the square root of the weights where the
        features are centred.
    s : ndarray of shape (r,)
        Descending.
    landmarks : matrix of shape (m, d) or ndarray of int, shape (m,)
        Training items whose kernels decide.
    weights : ndarray of shape (m, r)
        Of the landmarks.
    offsets : ndarray of shape (g, r) or None
        The means of the features, where they are centred.
    """

    U: Array
    s: Array
    landmarks: Any
    weights: Array
    offsets: Array | None


def kernel_features(
    kernel: Kernel,
    X: Matrix,
    *,
    means: Array | None = None,
    max_landmarks: int,
    rng: np.random.RandomState,
    notify: Notify,
) -> Features:
    """Features of the items of one side.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X : matrix of shape (n, d)
        Training items.
    means : ndarray of shape (n, g), optional
        Weights of the items in the mean of their group, 0 in those of other
        groups. Features are then centred group by group, and their rows scaled
        by the square roots of the weights.
    max_landmarks : int
        Up to so many items the features are exact.
    rng : RandomState
        Proposes the landmarks above it.
    notify : callable
        Called between rounds of landmarks; a true answer ends with those found.

    Returns
    -------
    Features
        As many as the rank of the kernel, or fewer.

    Raises
    ------
    ValueError
        If the kernel is not symmetric and positive semi-definite.
    """
    if X.shape[0] <= max_landmarks:
        found = _eigenvectors(kernel, X, means)
    else:
        found = _incomplete_cholesky(kernel, X, means, max_landmarks, rng, notify)
    U, s, index, weights, offsets = found
    # A landmark without a weight, or whose kernels are all 0, decides nothing.
    used = nonzero_rows(weights) & nonzero_rows(X)[index]
    landmarks = kernel.pick(X, index[used])
    return Features(U, s, landmarks, weights[used], offsets)


_Found = tuple[Array, Array, NDArray[np.int64], Array, Array | None]


def _eigenvectors(kernel: Kernel, X: Matrix, means: Array | None) -> _Found:
    index = np.arange(X.shape[0])
    K = checked(kernel.against(X, kernel.pick(X, index)))
    K[:, ~nonzero_rows(X)] = 0.0
    _check_same(K, K.T)
    if means is None:
        s, U = _roots(K, kernel.precision(X))
        return U, s, index, U / s, None
    root, member = _groups(means)
    noise = _ROUNDING * len(K) * float(K.diagonal().max() * means.max())
    # P K Pᵀ with P = I − member meansᵀ, and products with the means are all it takes.
    inner = K @ means
    between = means.T @ inner
    K -= inner @ member.T
    K -= member @ (inner.T - between @ member.T)
    K *= root
    K *= root.T
    s, U = _roots(K, kernel.precision(X), noise)
    W = root * U / s
    sums = member.T @ W
    return U, s, index, W - means @ sums, inner.T @ W - between @ sums


def _incomplete_cholesky(
    kernel: Kernel,
    X: Matrix,
    means: Array | None,
    max_landmarks: int,
    rng: np.random.RandomState,
    notify: Notify,
) -> _Found:
    F, index = pivoted_cholesky(kernel, X, max_landmarks, rng, notify)
    C = F[index].copy()  # lower triangular: K of the landmarks is C Cᵀ
    noise, centres = 0.0, None
    if means is not None:
        root, member = _groups(means)
        centres = means.T @ F
        F -= member @ centres
        F *= root
        noise = _ROUNDING * float(squared_norms(C).max(initial=0.0))
    s, V = _roots(F.T @ F, kernel.precision(X), noise)
    U = F @ V
    U /= s
    W = solve_triangular(C, V, lower=True, transposed=True)
    return U, s, index, W, None if centres is None else centres @ V


def _groups(means: Array) -> tuple[Array, Array]:
    """Square roots (n, 1) of the weights, and which group (n, g) an item with weight is in."""
    return np.sqrt(means.sum(axis=1))[:, None], (means > 0).astype(np.float64)


def pivoted_cholesky(
    kernel: Kernel, X: Matrix, limit: int, rng: np.random.RandomState, notify: Notify
) -> tuple[Array, NDArray[np.int64]]:
    """Features F (n, m) with K ≈ F Fᵀ, exact on the m items that are pivots.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X : matrix of shape (n, d)
        Items.
    limit : int
        Pivots at most.
    rng : RandomState
        Proposes pivots in proportion to what the ones so far leave unexplained.
    notify : callable
        As in `kernel_features`.

    Returns
    -------
    F : ndarray of shape (n, m)
        Features; their rows at the pivots are lower triangular.
    index : ndarray of int, shape (m,)
        The pivots in order.

    Raises
    ------
    ValueError
        If the kernel is not symmetric and positive semi-definite.
    """
    n = X.shape[0]
    left = checked(kernel.diagonal(X))
    scale = float(left.max(initial=0.0))
    floor = kernel.precision(X) * scale
    F = np.empty((n, limit))
    index: list[int] = []
    while len(index) < limit:
        m = len(index)
        _refuse_indefinite(float(left.min(initial=0.0)), scale)
        left[left <= floor] = 0.0
        n_left = int(np.count_nonzero(left))
        if not n_left or (m and notify(m, limit)):
            break
        size = min(_CANDIDATES, limit - m, n_left)
        proposed = rng.choice(n, size, replace=False, p=left / left.sum())
        H = _unexplained(kernel, X, proposed, F[:, :m], left + floor, scale)
        best = float(left[proposed].max())
        c, order, rank, _ = scipy.linalg.lapack.dpstrf(
            H[proposed], tol=max(_WORTH * best, floor), lower=1
        )
        order = order[:rank] - 1
        F[:, m : m + rank] = solve_triangular(c[:rank, :rank], H[:, order].T, lower=True).T
        left -= np.einsum("ij,ij->i", F[:, m : m + rank], F[:, m : m + rank])
        index += proposed[order].tolist()
        left[index] = 0.0
    F = F[:, : len(index)]
    if kernel.foreign and scale > 0:
        some = np.linspace(0, n - 1, min(_CANDIDATES, n)).astype(np.int64)
        _unexplained(kernel, X, some, F, np.maximum(left, 0.0) + floor, scale)
    return F, np.array(index, dtype=np.int64)


def _unexplained(
    kernel: Kernel, X: Matrix, some: NDArray[np.int64], F: Array, left: Array, scale: float
) -> Array:
    """Columns of K − F Fᵀ, refused where those of a kernel could not be so large."""
    H = checked(kernel.against(X, kernel.pick(X, some)))
    H[:, ~nonzero_rows(X[some])] = 0.0
    _check_same(H[some], H[some].T)
    H -= F @ F[some].T
    # |k(a, b)|² ≤ k(a, a) k(b, b) for every kernel.
    root = np.sqrt(left)
    _refuse_indefinite(float((np.outer(root, root[some]) - np.abs(H)).min()), scale)
    return H


def singular_triplets(C: Array) -> tuple[Array, Array, Array]:
    """All singular triplets U, s, Vt of what stands between two sets of features."""
    if min(C.shape) <= _LAPACK_SIDE:
        U, s, Vt = np.linalg.svd(C, full_matrices=False)
        return U, s, Vt
    if C.shape[0] > C.shape[1]:
        V, s, Ut = singular_triplets(C.T)
        return Ut.T, s, V.T
    # A third of the time, and exact to where the rank is told.
    squares, U = eigh(C @ C.T, overwrite=True)
    s, U = np.sqrt(np.maximum(squares[::-1], 0.0)), np.ascontiguousarray(U[:, ::-1])
    return U, s, np.divide(U.T @ C, s[:, None], out=np.zeros(C.shape), where=s[:, None] > 0)


def _roots(K: Array, precision: float, noise: float = 0.0) -> tuple[Array, Array]:
    """Singular values of G in K = G Gᵀ, descending, and its left singular vectors."""
    if not K.size:
        return np.empty(0), np.empty((len(K), 0))
    # Not the solver for a subset: it gives up on many equal eigenvalues.
    values, U = eigh(K, overwrite=True)
    _refuse_indefinite(float(values[0]) + noise, float(values[-1]))
    keep = values > max(precision * float(values[-1]), noise)
    return np.sqrt(values[keep][::-1]), np.ascontiguousarray(U[:, keep][:, ::-1])


def checked(K: Any) -> Any:
    """The same kernels, or products with them; a ValueError where one is no number."""
    if not np.isfinite(K).all():
        raise ValueError(
            "A kernel value is infinite or not a number. Scale the features, or lower the degree "
            "of the polynomial."
        )
    return K


def _check_same(A: Array, B: Array) -> None:
    gap = float(np.abs(A - B).max(initial=0.0))
    if gap > 1e-5 * float(np.abs(A).max(initial=0.0)):
        raise ValueError(
            f"A kernel is symmetric, k(a, b) = k(b, a); for two items the values differ by "
            f"{gap:.3g}. Average both, or name a kernel such as 'rbf'."
        )


def _refuse_indefinite(lowest: float, largest: float) -> None:
    if lowest < -_NEGATIVE * max(largest, 0.0):
        raise ValueError(
            "This is no kernel: a matrix of kernels has no negative eigenvalues, and this one "
            f"has {lowest:.3g} beside {largest:.3g}. Similarities that are no inner products of "
            "feature vectors do not work here; name a kernel such as 'rbf', or use K @ K.T."
        )
