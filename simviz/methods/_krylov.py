"""Leading eigenpairs of a symmetric matrix that is known by its products.

Block Lanczos with full reorthogonalisation. Every product is with a narrow
block, so that sparse data stay in the caches, and every direction found is
kept, so that the smallest eigenvalue wanted is as exact as the largest: what
power iteration reaches after dozens of passes over the data, a basis of three
to four times as many directions as are wanted reaches in one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simviz._blas import eigh

Array = NDArray[np.floating]
Notify = Callable[[int, int], bool]

_FIRST_CHECK = 3.0  # times k directions before eigenvalues are looked at
_SPARE = 2_000  # directions beyond 2 k at which the search ends whatever is left
_MOST = 5_500  # directions whose projected matrix takes LAPACK half a minute
_SHORT = 1e-3  # of the norm: what is shorter is made orthogonal twice
_SMALL = 1e-6  # entries between it and its inverse may be squared twice
_USUAL_BASIS = 3.5  # times k directions are enough for most spectra; for progress only


def leading_eigenpairs(
    apply: Callable[[Array], Array],
    side: int,
    k: int,
    *,
    start: Array,
    tol: float = 2e-2,
    notify: Notify | None = None,
) -> tuple[Array, Array]:
    """The k algebraically largest eigenvalues and their eigenvectors.

    Parameters
    ----------
    apply : callable
        The matrix times a block (side, b).
    side : int
        Rows of the matrix.
    k : int
        Pairs wanted, at most `side`.
    start : ndarray of shape (side, b)
        First block, in general position; its type is the working precision
        and its width that of all blocks.
    tol : float, default=2e-2
        Accepted residual ‖A v − θ v‖ / θ of each pair. An eigenvalue is then
        wrong by about its square.
    notify : callable, optional
        Called as ``notify(step, total)`` after each product; a true answer
        ends the search with what has been found.

    Returns
    -------
    values : ndarray of shape (k',)
        Descending; fewer than `k` only when the search was ended.
    vectors : ndarray of shape (side, k')
        Orthonormal columns.

    References
    ----------
    Golub & Underwood (1977), The block Lanczos method for computing
    eigenvalues. Mathematical Software III.
    Stathopoulos & Wu (2002), A block orthogonalization procedure with constant
    synchronization requirements. SIAM J. Sci. Comput. 23.
    """
    width = start.shape[1]
    limit = min(side, 2 * k + _SPARE, max(_MOST, k + k // 2))
    basis = _Basis(side, min(side, limit + width), start.dtype)
    basis.append(_orthonormal(start)[0])
    reach: Array = np.zeros((0, 0))  # how the block to come hangs together with the last one
    total = max(2, round(min(limit, _USUAL_BASIS * k) / width))
    checks = [(0, np.inf)]
    next_check, step, norm = min(limit, int(_FIRST_CHECK * k) + 1), 0, 0.0
    unit = 0.0
    while True:
        last = basis.last
        Z = apply(np.ascontiguousarray(last))
        unit = unit or unit_of(Z)
        Z = over(Z, unit)
        step += 1
        stop = notify is not None and notify(min(step, total), total)
        # The three-term recurrence takes away what is large, one pass over the basis the rest.
        if len(basis.sizes) > 1:
            Z = Z - basis.before_last @ reach.T.astype(Z.dtype)
        own = last.T @ Z
        Z -= last @ own
        basis.couple(own, reach)
        norm = max(norm, float(np.abs(np.linalg.eigvalsh((own + own.T) / 2)).max()))
        floor = norm * float(np.finfo(Z.dtype).eps) * np.sqrt(side)
        new, reach = _orthonormal(basis.without(Z), floor, norm, basis)
        if stop or basis.size >= next_check:
            values, S = basis.ritz()
            found = min(k, len(values))
            scale = np.maximum(values[:found], max(floor, np.finfo(np.float64).tiny))
            left = np.linalg.norm(reach @ S[-basis.sizes[-1] :, :found], axis=0) / scale
            residual = float(left.max(initial=0.0))
            exact = basis.size >= limit or (found == k and residual <= tol)
            if stop or exact:
                return values[:found] * unit, basis.vectors @ S[:, :found].astype(Z.dtype)
            checks.append((basis.size, residual))
            next_check = min(limit, _next_check(checks, width, tol))
        if new.shape[1] < width:
            # An invariant subspace: what is missing lies in directions not seen so far.
            new, reach = _refilled(basis, new, reach, min(width, side - basis.size))
        basis.append(new)


def unit_of(Z: Array) -> float:
    """By what to divide lest squares of squares leave the range of single precision.

    Parameters
    ----------
    Z : ndarray
        Products with data.

    Returns
    -------
    float
        1 for most, else the power of 2 next to the largest entry: dividing by
        it rounds nothing.
    """
    largest = float(np.abs(Z).max(initial=0.0))
    if _SMALL < largest < 1 / _SMALL or not 0 < largest < np.inf:
        return 1.0
    return float(2.0 ** np.clip(np.round(np.log2(largest)), -100, 100))


def over(Z: Array, unit: float) -> Array:
    """Z / `unit`, in the same precision."""
    return Z if unit == 1 else Z * Z.dtype.type(1 / unit)


def _next_check(checks: list[tuple[int, float]], width: int, tol: float) -> int:
    """Where the residual meets `tol` if its logarithm goes on falling as it did."""
    (before, r0), (size, r1) = checks[-2:]
    guess = size * 1.3
    if np.isfinite(r0) and 0 < r1 < r0:
        guess = size + (size - before) * np.log(r1 / tol) / np.log(r0 / r1)
    return int(np.clip(guess, size + width, size * 1.5))


def _orthonormal(
    Z: Array, floor: float = 0.0, norm: float = 0.0, basis: _Basis | None = None
) -> tuple[Array, Array]:
    """Z = Q R with orthonormal columns, leaving out directions shorter than `floor`.

    Z is orthogonal to the basis up to rounding of a matrix of that `norm`; directions that
    are so short that this would show are made so once more.
    """
    Q = Z
    for first in (True, False):
        G = np.asarray(Q.T @ Q, dtype=np.float64)
        lengths = np.sqrt(np.maximum(np.diag(G), 0.0))
        shortest = lengths.min(initial=np.inf)
        lengths[lengths == 0] = 1.0  # a column of zeros has no direction, hence is not known
        values, E = eigh(G / lengths / lengths[:, None], overwrite=True)
        # In the precision of the columns nothing is known below this share of the longest.
        known = values > np.finfo(Z.dtype).eps * len(values)
        E = E[:, known] / lengths[:, None] / np.sqrt(values[known])
        Q = Q @ E.astype(Z.dtype)
        shortest *= np.sqrt(values[known].min(initial=np.finfo(np.float64).max))
        if first and basis is not None and shortest < _SHORT * norm:
            Q = basis.without(Q)
    R = np.asarray(Q.T @ Z, dtype=np.float64)
    long = np.linalg.norm(R, axis=1) > floor
    return Q[:, long], R[long]


def _refilled(basis: _Basis, new: Array, reach: Array, width: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(basis.size)
    missing = width - new.shape[1]
    fresh = rng.standard_normal((new.shape[0], missing)).astype(new.dtype)
    for _ in range(2):
        fresh = basis.without(fresh)
        fresh -= new @ (new.T @ fresh)
        fresh = _orthonormal(fresh)[0]
    reach = np.vstack([reach, np.zeros((fresh.shape[1], reach.shape[1]))])
    return np.hstack([new, fresh]), reach


class _Basis:
    """Orthonormal columns that grow by blocks, and the projected matrix."""

    def __init__(self, side: int, most: int, dtype: np.dtype) -> None:
        # Pages that are never written take no memory.
        self._store = np.empty((side, most), dtype=dtype, order="F")
        self._projected = np.zeros((most, most))
        self.sizes: list[int] = []
        self.size = 0

    @property
    def vectors(self) -> Array:
        return self._store[:, : self.size]

    @property
    def last(self) -> Array:
        return self._store[:, self.size - self.sizes[-1] : self.size]

    @property
    def before_last(self) -> Array:
        stop = self.size - self.sizes[-1]
        return self._store[:, stop - self.sizes[-2] : stop]

    def append(self, block: Array) -> None:
        start, self.size = self.size, self.size + block.shape[1]
        self._store[:, start : self.size] = block
        self.sizes.append(block.shape[1])

    def without(self, Z: Array) -> Array:
        """What of Z is orthogonal to all columns."""
        return Z - self.vectors @ (self.vectors.T @ Z)

    def couple(self, own: Array, reach: Array) -> None:
        """Note the last block's products with itself and with the block before it."""
        T, start = self._projected, self.size - self.sizes[-1]
        T[start : self.size, start : self.size] = (own + own.T) / 2
        if start:
            before = start - self.sizes[-2]
            T[start : self.size, before:start] = reach
            T[before:start, start : self.size] = reach.T

    def ritz(self) -> tuple[Array, Array]:
        """Eigenvalues of the projected matrix, descending, and its eigenvectors."""
        T = self._projected[: self.size, : self.size].astype(self._store.dtype)
        values, S = eigh(T, overwrite=True)
        return values[::-1].astype(np.float64), S[:, ::-1]
