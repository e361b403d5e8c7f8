"""Kernels between items, in blocks of rows and always in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import Matrix, nonzero_rows, unit_rows

Array = NDArray[np.float64]
KernelFunction = Callable[[Matrix, Matrix], Any]

#: Kernels with a name, in the order in which to show them.
NAMES = ("rbf", "linear", "cosine", "polynomial", "chi2")

_BLOCK_ENTRIES = 2**22
_SAMPLE = 500  # rows whose distances decide on gamma
_LOCALITY = 4.0  # gamma times the median squared distance, at most


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel and its settings.

    An item without any known feature has the kernel 0 with everything, as if
    its feature vector were zero: there is no evidence to compare.

    Parameters
    ----------
    name : str or callable
        One of `NAMES`, "precomputed", or a function of two matrices of rows.
    gamma : float
        Width of "rbf" and "chi2", scale of "polynomial".
    degree : int
        Of "polynomial".
    coef0 : float
        Of "polynomial".
    """

    name: str | KernelFunction
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0

    @property
    def foreign(self) -> bool:
        """Whether its values come from outside, and may be those of no kernel at all."""
        return self.name == "precomputed" or callable(self.name)

    def precision(self, X: Matrix) -> float:
        """Share of the largest eigenvalue below which others are rounding."""
        return max(1e-10, 10 * float(np.finfo(X.dtype).eps)) if self.foreign else 1e-10

    def pick(self, X: Matrix, index: NDArray[np.int64]) -> Any:
        """What is kept of some training items: their rows, or their columns' numbers."""
        return index if self.name == "precomputed" else X[index]

    def diagonal(self, X: Matrix) -> Array:
        """k(x, x) of every row (n,); of training items where it is precomputed."""
        known = nonzero_rows(X)
        if self.name == "precomputed":
            values = X.diagonal()
        elif self.name in ("cosine", "rbf", "chi2"):
            values = np.ones(X.shape[0])
        elif callable(self.name):
            size = 64
            starts = range(0, X.shape[0], size)
            parts = [X[start : start + size] for start in starts]
            values = np.concatenate([_called(self.name, rows, rows).diagonal() for rows in parts])
        else:
            values = squared_norms(X)
            if self.name == "polynomial":
                values = (self.gamma * values + self.coef0) ** self.degree
        return np.where(known, values, 0.0).astype(np.float64)

    def against(self, X: Matrix, landmarks: Any) -> Array:
        """The whole matrix of kernels (n, m) between rows and landmarks."""
        K = np.empty((X.shape[0], _length(landmarks)))
        for rows, block in self.blocks(X, landmarks):
            K[rows] = block
        return K

    def blocks(self, X: Matrix, landmarks: Any) -> Iterator[tuple[slice, Array]]:
        """The same in blocks of rows, with the rows that each block covers.

        Parameters
        ----------
        X : matrix of shape (n, d)
            Items; where kernels are precomputed, those with the n training items.
        landmarks : matrix of shape (m, d) or ndarray of int, shape (m,)
            What `pick` kept.

        Yields
        ------
        rows : slice
            Into `X`.
        K : ndarray of shape (rows, m)
            Kernels.
        """
        values = self._prepared(landmarks)
        known = nonzero_rows(X)
        size = max(16, _BLOCK_ENTRIES // max(1, _length(landmarks)))
        for start in range(0, X.shape[0], size):
            rows = slice(start, min(start + size, X.shape[0]))
            K = values(X[rows])
            K[~known[rows]] = 0.0
            yield rows, K

    def _prepared(self, landmarks: Any) -> Callable[[Matrix], Array]:
        """Work on the landmarks once; answer for blocks of rows."""
        if self.name == "precomputed":
            return lambda A: _dense(A[:, landmarks])
        if callable(self.name):
            function = self.name
            return lambda A: _called(function, A, landmarks)
        B = landmarks.astype(np.float64)
        if self.name == "cosine":
            B = unit_rows(B)
            return lambda A: _products(unit_rows(_alike(A, B)), B)
        if self.name == "rbf":
            distances = _euclidean(B)
            return lambda A: np.exp(-self.gamma * distances(_alike(A, B)))
        if self.name == "chi2":
            return lambda A: np.exp(-self.gamma * _chi2(_alike(A, B), B))
        if self.name == "polynomial":
            return lambda A: (self.gamma * _products(_alike(A, B), B) + self.coef0) ** self.degree
        return lambda A: _products(_alike(A, B), B)


def default_gamma(name: str | KernelFunction, X: Matrix) -> float | None:
    """A width that suits the data of one side, where a kernel has one.

    Parameters
    ----------
    name : str or callable
        Kernel.
    X : matrix of shape (n, d)
        Training items.

    Returns
    -------
    float or None
        For "rbf" and "chi2" 1 over the squared distance to the nearest other
        item (the median of up to 500, evenly taken, equal items aside), but at
        most 4 over the median squared distance. Near items decide then:
        neighbours have the kernel e⁻¹, and in few dimensions, where they come
        ever closer the more there are, items taken at random have e⁻⁴. For
        "polynomial" 1 over the mean squared length. Items without any known
        feature do not count.
    """
    if name not in ("rbf", "chi2", "polynomial"):
        return None
    index = np.flatnonzero(nonzero_rows(X))
    if not len(index):
        return 1.0
    if len(index) > _SAMPLE:
        index = index[np.linspace(0, len(index) - 1, _SAMPLE).astype(np.int64)]
    A = X[index].astype(np.float64)
    if name == "polynomial":
        return _inverse(float(np.mean(squared_norms(A))))
    D = _euclidean(A)(A) if name == "rbf" else _chi2(A, A)
    D[D <= 1e-12 * D.max(initial=0.0)] = np.inf
    if not np.isfinite(D).any():
        return 1.0
    nearest = D.min(axis=1)
    far, near = (float(np.median(values[np.isfinite(values)])) for values in (D, nearest))
    return _inverse(max(near, far / _LOCALITY))


def _inverse(squares: float) -> float:
    """1 / `squares`; 1 where they are too small for a number."""
    return 1.0 / squares if squares > np.finfo(np.float64).tiny else 1.0


def check_kernel_input(name: str | KernelFunction, X: Matrix, side: str) -> None:
    """Refuse training items that a kernel is not made for.

    Parameters
    ----------
    name : str or callable
        Kernel.
    X : matrix of shape (n, d)
        Training items.
    side : str
        "x" or "y", for the message.

    Raises
    ------
    ValueError
        If precomputed kernels are not square, or "chi2" meets
        a negative value.
    """
    if name == "precomputed":
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"{side}_kernel='precomputed' learns from the kernels between all training items "
                f"of the {side} side, a square matrix; got {X.shape[0]} × {X.shape[1]}. Later "
                "items bring one column for each training item."
            )
    if name == "chi2":
        refuse_negative(X, side)


def refuse_negative(X: Matrix, side: str) -> None:
    """Refuse negative values, which "chi2" cannot compare.

    Parameters
    ----------
    X : matrix of shape (n, d)
        Items.
    side : str
        "x" or "y", for the message.

    Raises
    ------
    ValueError
        If a value is below 0.
    """
    lowest = float((X.data if sp.issparse(X) else X).min(initial=0.0))
    if lowest < 0:
        raise ValueError(
            f"{side}_kernel='chi2' compares histograms, whose values are never negative; got "
            f"{lowest:.3g}. Use 'rbf', or bring counts."
        )


def squared_norms(X: Matrix) -> Array:
    """Squared Euclidean lengths (n,) of rows, in float64."""
    if sp.issparse(X):
        X = sp.csr_array(X, dtype=np.float64)
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


def _length(landmarks: Any) -> int:
    return int(landmarks.shape[0])


def _dense(A: Matrix) -> Array:
    return np.array(A.toarray() if sp.issparse(A) else A, dtype=np.float64)


def _alike(A: Matrix, B: Matrix) -> Matrix:
    """Rows in float64, sparse where the landmarks are: blocks are small enough for either."""
    if sp.issparse(B):
        return sp.csr_array(A, dtype=np.float64)
    return _dense(A) if sp.issparse(A) else A.astype(np.float64)


def _products(A: Matrix, B: Matrix) -> Array:
    return _dense(A @ B.T)


def _euclidean(B: Matrix) -> Callable[[Matrix], Array]:
    """Squared distances from rows to the landmarks."""
    # Far from the origin lengths would drown the differences; distances do not mind moving.
    centre = None if sp.issparse(B) else B.mean(axis=0)
    if centre is not None:
        B = B - centre
    norms = squared_norms(B)

    def distances(A: Matrix) -> Array:
        if centre is not None:
            A = A - centre
        D = _products(A, B)
        D *= -2.0
        D += squared_norms(A)[:, None]
        D += norms
        return np.maximum(D, 0.0, out=D)

    return distances


def _chi2(A: Matrix, B: Matrix) -> Array:
    """Σ (a − b)² / (a + b) of rows."""
    if not sp.issparse(B):
        from sklearn.metrics.pairwise import additive_chi2_kernel

        return -additive_chi2_kernel(A, B)
    # (a − b)² / (a + b) = a + b − 4ab / (a + b): beyond the sums, only common features count.
    D = A.sum(axis=1)[:, None] + B.sum(axis=1)
    columns = sp.csc_array(B)
    for i in range(A.shape[0]):
        start, stop = A.indptr[i : i + 2]
        met = columns[:, A.indices[start:stop]]
        a = np.repeat(A.data[start:stop], np.diff(met.indptr))
        together = a + met.data
        shares = np.divide(a * met.data, together, out=np.zeros_like(a), where=together > 0)
        D[i] -= 4 * np.bincount(met.indices, shares, minlength=B.shape[0])
    return np.maximum(D, 0.0)


def _called(function: KernelFunction, A: Matrix, B: Matrix) -> Array:
    K = np.array(function(A, B), dtype=np.float64)
    if K.shape != (A.shape[0], B.shape[0]):
        raise ValueError(
            f"A kernel function takes two matrices of rows and gives one value a pair; for "
            f"{A.shape[0]} and {B.shape[0]} rows it gave the shape {K.shape}. Return an array "
            f"of shape ({A.shape[0]}, {B.shape[0]})."
        )
    return K
