"""Matrices that are known by their products, and their singular value decompositions.

Small matrices go to LAPACK, those with one short side through the Gram matrix of that side, all
others to block Lanczos.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.extmath import svd_flip

from simviz._blas import add_product, eigh
from simviz._types import Array
from simviz.base.pair_model import nonzero_rows

Apply = Callable[[Array], Array]
Notify = Callable[[int, int], bool] | None

_STRIP = 1024  # bytes of a row at a time: wider ones, gathered at random, miss the caches
_PARTS = 64  # pieces of about equally many non-zeros: words are as unequal as Zipf says
_FIRST_CHECK = 3.0  # times k directions before eigenvalues are looked at
SPARE = 2_000  # directions beyond 2 k at which the search ends whatever is left
_MAX_DIRECTIONS = 5_500  # directions whose projected matrix takes LAPACK half a minute
_SHORT = 1e-3  # of the norm: what is shorter is made orthogonal twice
_SMALL = 1e-6  # entries between it and its inverse may be squared twice
_TYPICAL_BASIS = 3.5  # times k directions are enough for most spectra; for progress only
DENSE_FLOPS = 1e8  # direct LAPACK SVD below this many multiplications
GRAM_SIDE = 1_500  # all eigenvectors of a Gram matrix of this side take a fraction of a second
LARGEST_GRAM = 6_000  # and of this one half a minute: for when many of them are wanted
_MANY = 6  # one in so many
_BLOCK = 96  # columns of a product in the iterative route
COLUMNS = 512  # columns of a block when a Gram matrix is filled in


class Products:
    """A data matrix known by its products with blocks of vectors."""

    def __init__(self, X: Any) -> None:
        self.X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
        self.shape: tuple[int, int] = self.X.shape
        self.dtype = self.X.dtype
        self._transpose: Any = None

    def nonzero_rows(self) -> NDArray[np.bool_]:
        """Which rows of X hold anything but zeros."""
        return nonzero_rows(self.X)

    @property
    def transpose(self) -> Any:
        """Xᵀ, as CSR where X is sparse."""
        if self._transpose is None:
            self._transpose = sp.csr_array(self.X.T) if sp.issparse(self.X) else self.X.T
        return self._transpose

    def matmat(self, B: Array, out: Array | None = None, *, half: bool = False) -> Array:
        """X B of shape (n, b) for B of shape (d, b), into `out` if it is given."""
        # With `half` a sparse float32 X meets B rounded to bfloat16, of which twice as much fits
        # into the caches; sums stay in float32.
        return self._product(B, out, half, turned=False)

    def rmatmat(self, C: Array, out: Array | None = None, *, half: bool = False) -> Array:
        """Xᵀ C of shape (d, b) for C of shape (n, b), likewise."""
        return self._product(C, out, half, turned=True)

    def _product(self, B: Array, out: Array | None, half: bool, *, turned: bool) -> Array:
        return _product(self.transpose if turned else self.X, B, out, half)


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
    is_whole = n_strips == 1 or A.nnz < B.shape[0]
    if is_whole and B.dtype == kind and B.flags.c_contiguous and B.flags.writeable:
        # A strip is a copy of all rows of B: no use where most of them are read once or never.
        with threads_for(A.nnz * B.shape[1]):
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
    """A B as a dense matrix, never holding a sparse one of that size."""
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
    # Each mixture of types would be compiled for itself.
    index = np.result_type(A.indptr, A.indices, B.indptr, B.indices)

    def parts(M: Any) -> tuple[Any, Any, Any]:
        limits, inside = (part.astype(index, copy=False) for part in (M.indptr, M.indices))
        return limits, inside, M.data.astype(out.dtype, copy=False)

    with threads_for(int(work[-1])):
        sparse_sparse(*parts(A), *parts(B), bounds, out)
    return out


@dataclass(frozen=True, slots=True)
class Operator:
    """A matrix known by its products."""

    shape: tuple[int, int]
    matmat: Apply
    rmatmat: Apply
    gram: Callable[[Any], Array] | None = None
    rgram: Callable[[Any], Array] | None = None
    dtype: Any = np.float64
    #: The squared length of each column.
    squares: Callable[[], Array] | None = None

    @property
    def T(self) -> Operator:  # noqa: N802 -- as numpy names a transpose
        return Operator(
            self.shape[::-1], self.rmatmat, self.matmat, self.rgram, self.gram, self.dtype
        )


def matrix_operator(C: Array) -> Operator:
    return Operator(
        C.shape,
        lambda B: C @ B,
        lambda B: C.T @ B,
        lambda dtype: C.astype(dtype) @ C.T.astype(dtype),
        lambda dtype: C.T.astype(dtype) @ C.astype(dtype),
        C.dtype,
    )


def rows_operator(Z: Any, weights: Array | None = None, groups: Sequence[slice] = ()) -> Operator:
    """Data as diag(√weights)(Z − means), sparse data staying sparse."""
    products = Products(Z)
    Z = products.X
    n = products.shape[0]
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    root = np.sqrt(w)[:, None]
    by_weight = sp.diags_array(w)
    means = group_means(Z, w, groups)

    def matmat(B: Array) -> Array:
        out = products.matmat(B)
        for rows, mean in zip(groups, means, strict=True):
            out[rows] -= mean.astype(B.dtype) @ B
        return out if weights is None else out * root.astype(B.dtype)

    def rmatmat(C: Array) -> Array:
        if weights is not None:
            C = C * root.astype(C.dtype)
        out = products.rmatmat(C)
        for rows, mean in zip(groups, means, strict=True):
            out -= np.outer(mean, C[rows].sum(axis=0)).astype(C.dtype)
        return out

    def gram(dtype: Any) -> Array:
        K = dense_product(Z, products.transpose, dtype)
        for rows in groups:
            share = (w[rows] / w[rows].sum()).astype(dtype)
            K[rows] -= share @ K[rows]
            K[:, rows] -= (K[:, rows] @ share)[:, None]
        if weights is not None:
            K *= root.astype(dtype)
            K *= root.astype(dtype).T
        return K

    def rgram(dtype: Any) -> Array:
        if sp.issparse(Z):
            left = products.transpose if weights is None else products.transpose @ by_weight
            C = dense_product(left, Z, dtype)
        else:
            # A matrix times its own transpose is half the work to BLAS.
            scaled = Z.astype(dtype) if weights is None else Z * root.astype(dtype)
            C = scaled.T @ scaled
        if groups:
            M = np.array(means)
            sums = np.array([w[rows].sum() for rows in groups])
            # Into C itself: it may be the largest thing in memory.
            add_product(C, M.T * sums, M, -1.0)
        return C

    def squares() -> Array:
        own = products.transpose.power(2) if sp.issparse(Z) else np.square(Z.T)
        total: Array = own.astype(np.float64) @ w
        for rows, mean in zip(groups, means, strict=True):
            total -= w[rows].sum() * mean**2
        return np.maximum(total, 0.0)

    return Operator(products.shape, matmat, rmatmat, gram, rgram, products.dtype, squares)


def group_means(Z: Any, weights: Array, groups: Sequence[slice]) -> list[Array]:
    return [
        np.asarray(weights[rows] @ Z[rows], dtype=np.float64).ravel()
        / max(weights[rows].sum(), np.finfo(np.float64).tiny)
        for rows in groups
    ]


def leading_eigenpairs(
    apply: Apply, side: int, k: int, *, start: Array, tol: float = 2e-2, notify: Notify = None
) -> tuple[Array, Array]:
    """The k algebraically largest eigenvalues and their eigenvectors."""
    # Golub & Underwood (1977), The block Lanczos method for computing eigenvalues. Mathematical
    # Software III. Stathopoulos & Wu (2002), A block orthogonalization procedure with constant
    # synchronization requirements. SIAM J. Sci. Comput. 23.
    width = start.shape[1]
    limit = min(side, 2 * k + SPARE, max(_MAX_DIRECTIONS, k + k // 2))
    basis = _Basis(side, min(side, limit + width), start.dtype)
    basis.append(_orthonormal(start)[0])
    coupling: Array = np.zeros((0, 0))  # how the block to come hangs together with the last one
    total = max(2, round(min(limit, _TYPICAL_BASIS * k) / width))
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
            Z = Z - basis.before_last @ coupling.T.astype(Z.dtype)
        own = last.T @ Z
        Z -= last @ own
        basis.couple(own, coupling)
        norm = max(norm, float(np.abs(np.linalg.eigvalsh((own + own.T) / 2)).max()))
        floor = norm * float(np.finfo(Z.dtype).eps) * np.sqrt(side)
        new, coupling = _orthonormal(basis.without(Z), floor, norm, basis)
        if stop or basis.size >= next_check:
            values, S = basis.ritz()
            n_leading = min(k, len(values))
            scale = np.maximum(values[:n_leading], max(floor, np.finfo(np.float64).tiny))
            left = np.linalg.norm(coupling @ S[-basis.sizes[-1] :, :n_leading], axis=0) / scale
            residual = float(left.max(initial=0.0))
            exact = basis.size >= limit or (n_leading == k and residual <= tol)
            if stop or exact:
                return values[:n_leading] * unit, basis.vectors @ S[:, :n_leading].astype(Z.dtype)
            checks.append((basis.size, residual))
            next_check = min(limit, _next_check(checks, width, tol))
        if new.shape[1] < width:
            # An invariant subspace: what is missing lies in directions not seen so far.
            new, coupling = _refilled(basis, new, coupling, min(width, side - basis.size))
        basis.append(new)


def unit_of(Z: Array) -> float:
    """By what to divide lest squares of squares leave the range of single precision."""
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
    """Z = Q R with orthonormal columns, leaving out directions shorter than `floor`."""
    # Z is orthogonal to the basis up to rounding of a matrix of that `norm`; directions that are
    # so short that this would show are made so once more.
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


def _refilled(basis: _Basis, new: Array, coupling: Array, width: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(basis.size)
    missing = width - new.shape[1]
    fresh = rng.standard_normal((new.shape[0], missing)).astype(new.dtype)
    for _ in range(2):
        fresh = basis.without(fresh)
        fresh -= new @ (new.T @ fresh)
        fresh = _orthonormal(fresh)[0]
    coupling = np.vstack([coupling, np.zeros((fresh.shape[1], coupling.shape[1]))])
    return np.hstack([new, fresh]), coupling


class _Basis:
    """Orthonormal columns that grow by blocks, and the projected matrix."""

    def __init__(self, side: int, capacity: int, dtype: np.dtype) -> None:
        # Pages that are never written take no memory.
        self._store = np.empty((side, capacity), dtype=dtype, order="F")
        self._projected = np.zeros((capacity, capacity))
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
        return Z - self.vectors @ (self.vectors.T @ Z)

    def couple(self, own: Array, coupling: Array) -> None:
        T, start = self._projected, self.size - self.sizes[-1]
        T[start : self.size, start : self.size] = (own + own.T) / 2
        if start:
            before = start - self.sizes[-2]
            T[start : self.size, before:start] = coupling
            T[before:start, start : self.size] = coupling.T

    def ritz(self) -> tuple[Array, Array]:
        """Eigenvalues of the projected matrix, descending, and its eigenvectors."""
        T = self._projected[: self.size, : self.size].astype(self._store.dtype)
        values, S = eigh(T, overwrite=True)
        return values[::-1].astype(np.float64), S[:, ::-1]


def truncated_svd(
    op: Operator, k: int, *, tol: float = 2e-2, random_state: Any = None, notify: Notify = None
) -> tuple[Array, Array, Array]:
    m, n = op.shape
    k = min(k, m, n)
    if m * n * min(m, n) <= DENSE_FLOPS:
        U, s, Vt = np.linalg.svd(_dense(op), full_matrices=False)
        U, s, Vt = U[:, :k], s[:k], Vt[:k]
    elif m <= n:
        U, s, Vt = _through_left(op, k, tol, random_state, notify)
    else:
        V, s, Ut = _through_left(op.T, k, tol, random_state, notify)
        U, Vt = Ut.T, V.T
    return _signed(U, s, Vt)


def left_svd(
    op: Operator, k: int, *, random_state: Any = None, notify: Notify = None
) -> tuple[Array, Array]:
    """Left singular vectors and singular values, where the right ones are not needed."""
    # With few rows this saves the product with all columns, which is the larger part of the
    # work: what is wanted of the right side is ``op.rmatmat(U / s)`` times a narrow matrix.
    m, n = op.shape
    k = min(k, m, n)
    if m > n or not _whole(m, k):
        return truncated_svd(op, k, random_state=random_state, notify=notify)[:2]
    values, U = _leading_eigenvectors(_gram(op), k)
    return U, np.sqrt(np.maximum(values, 0.0))


def leading_symmetric(
    apply: Apply, side: int, k: int, dtype: Any, *, random_state: Any = None, notify: Notify = None
) -> tuple[Array, Array]:
    """The k algebraically largest eigenvalues of a symmetric matrix, and their eigenvectors."""
    k = min(k, side)
    if _whole(side, k):
        return _leading_eigenvectors(apply(np.eye(side, dtype=dtype)).astype(np.float64), k)
    start = _start(side, k, dtype, random_state)
    return leading_eigenpairs(apply, side, k, start=start, notify=notify)


def numerical_rank(s: Array, shape: tuple[int, int]) -> int:
    """How many singular values stand above rounding error."""
    if not len(s) or s[0] <= 0:
        return 0
    eps, size = np.finfo(s.dtype).eps, max(shape)
    share = np.sqrt(eps * size) if s.dtype == np.float64 else 8 * eps * np.sqrt(size)
    return int((s > s[0] * share).sum())


def product_svd(Y: Any, K: Array, X: Any, k: int) -> tuple[Array, Array, Array]:
    """Leading singular triplets of Yᵀ K X for few items with many features."""
    # With G = Y Yᵀ and H = X Xᵀ, they follow from one symmetric eigenproblem of the size of a
    # side: G^½ K H Kᵀ G^½ w = σ² w. No inverse is needed, since the singular vectors are Xᵀ Kᵀ
    # G^½ w / σ and their images.
    values, W = _leading_eigenvectors(gram_matrix(Y), Y.shape[0])
    T = (W * np.sqrt(np.maximum(values, 0.0))) @ (W.T @ K)
    _, W2 = _leading_eigenvectors(T @ gram_matrix(X) @ T.T, min(k, *K.shape))
    V = np.asarray(X.T @ (T.T @ W2))
    s = np.sqrt(np.einsum("ik,ik->k", V, V))
    order = np.argsort(-s, kind="stable")
    s = s[order]
    V = V[:, order] * inverse(s)
    U = np.asarray(Y.T @ (K @ np.asarray(X @ V))) * inverse(s)
    return _signed(U, s, V.T)


def product_eigh(Z: Any, S: Array, k: int) -> tuple[Array, Array]:
    """The largest eigenvalues of Zᵀ S Z above 0, and their eigenvectors, for few rows of Z."""
    # As in `product_svd`: with G = Z Zᵀ the values are those of G^½ S G^½, and an eigenvector u
    # follows from Z u = G^½ t as Zᵀ S (Z u) / σ.
    values, W = _leading_eigenvectors(gram_matrix(Z), Z.shape[0])
    root = W * np.sqrt(np.maximum(values, 0.0))
    s, T = _leading_eigenvectors(root.T @ S @ root, min(k, len(S)))
    s, T = s[s > 0], T[:, s > 0]
    return s, np.asarray(Z.T @ (S @ (root @ T))) / s


def gram_matrix(X: Any, dtype: Any = np.float64) -> Array:
    """X Xᵀ as a dense matrix."""
    return dense_product(X, sp.csr_array(X.T) if sp.issparse(X) else X.T, dtype)


def inverse(x: Any) -> Any:
    """1 / x, and 0 where x is not above 0."""
    return np.divide(1.0, x, out=np.zeros_like(x), where=x > 0)


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
    return side <= GRAM_SIDE or (side <= LARGEST_GRAM and k * _MANY > side)


def _through_left(
    op: Operator, k: int, tol: float, random_state: Any, notify: Notify
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
    return U, s, (V * inverse(s)).T


def _start(side: int, k: int, dtype: Any, random_state: Any) -> Array:
    width = min(max(16, k // 4), _BLOCK)
    return check_random_state(random_state).standard_normal((side, width)).astype(dtype)


def _gram(op: Operator) -> Array:
    if op.gram is not None:
        return op.gram(np.float64)
    m = op.shape[0]
    gram = np.empty((m, m))
    for start in range(0, m, COLUMNS):
        stop = min(start + COLUMNS, m)
        unit = np.zeros((m, stop - start))
        unit[np.arange(start, stop), np.arange(stop - start)] = 1.0
        gram[:, start:stop] = op.matmat(op.rmatmat(unit))
    return gram
