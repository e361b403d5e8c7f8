"""Kernels between items, in blocks of rows and always in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from simviz._blas import eigh, solve_triangular
from simviz._types import Side
from simviz.base import EmbeddingModel, Matrix, nonzero_rows, unit_rows
from simviz.base.stored import Declared, Number, StoredArray
from simviz.params import interval, options

Array = NDArray[np.float64]
KernelFunction = Callable[[Matrix, Matrix], Any]
Setting = tuple[str | KernelFunction, float | None]  # a kernel and its gamma

#: Kernels with a name, in the order in which to show them.
NAMES = ("rbf", "linear", "cosine", "polynomial", "chi2")

BLOCK_ENTRIES = 2**22
_SAMPLE = 500  # rows whose distances decide on gamma
_LOCALITY = 4.0  # gamma times the median squared distance, at most

Notify = Callable[[int, int], bool]
Floats = NDArray[np.floating]
_Decomposed = tuple[Array, Array, NDArray[np.int64], Array, Array | None]

LAPACK_SIDE = 1_000  # a full decomposition of that size takes a second
CANDIDATES = 64  # pivots proposed at a time
_WORTH = 0.05  # of the largest residual among them: what a pivot has to explain
_NEGATIVE = 1e-6  # of the largest eigenvalue: beyond rounding
_ROUNDING = 1e-14  # what centring leaves of a mean that is larger than all differences

# Forms show the first list of names; what follows it can only be given in code.
_KERNEL: list[Any] = [options(*NAMES), options("precomputed"), callable]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel and its settings."""

    # An item without any known feature has the kernel 0 with everything, as if its feature
    # vector were zero: there is no evidence to compare.

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
            parts = [X[start : start + 64] for start in range(0, X.shape[0], 64)]
            values = np.concatenate([_called(self.name, rows, rows).diagonal() for rows in parts])
        else:
            values = squared_norms(X)
            if self.name == "polynomial":
                values = (self.gamma * values + self.coef0) ** self.degree
        return np.where(known, values, 0.0).astype(np.float64)

    def against(self, X: Matrix, landmarks: Any) -> Array:
        """The whole matrix of kernels (n, m) between rows and landmarks."""
        K = np.empty((X.shape[0], landmarks.shape[0]))
        for rows, block in self.blocks(X, landmarks):
            K[rows] = block
        return K

    def blocks(self, X: Matrix, landmarks: Any) -> Iterator[tuple[slice, Array]]:
        """The same in blocks of rows, with the rows that each block covers."""
        values = self._prepared(landmarks)
        known = nonzero_rows(X)
        size = max(16, BLOCK_ENTRIES // max(1, landmarks.shape[0]))
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
    """A width that suits the data of one side, where a kernel has one."""
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
    far, near = (float(np.median(v[np.isfinite(v)])) for v in (D, D.min(axis=1)))
    return _inverse(max(near, far / _LOCALITY))


def _inverse(squares: float) -> float:
    """1 / `squares`; 1 where they are too small for a number."""
    return 1.0 / squares if squares > np.finfo(np.float64).tiny else 1.0


def check_kernel_input(name: str | KernelFunction, X: Matrix, side: str) -> None:
    if name == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"{side}_kernel='precomputed' learns from the kernels between all training items of "
            f"the {side} side, a square matrix; got {X.shape[0]} × {X.shape[1]}. Later items "
            "bring one column for each training item."
        )
    if name == "chi2":
        refuse_negative(X, side)


def refuse_negative(X: Matrix, side: str) -> None:
    """Refuse negative values, which "chi2" cannot compare."""
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


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Features of one side, by their singular value decomposition G = U diag(s)."""

    # An item is mapped to ``k(item, landmarks) @ weights``, less one of the offsets where the
    # features are centred; on the training items that is G.

    U: Array
    s: Array
    landmarks: Any
    weights: Array
    offsets: Array | None


def kernel_features(
    kernel: Kernel, X: Matrix, means: Array | None, *, max_landmarks: int, rng: Any, notify: Notify
) -> Features:
    if X.shape[0] <= max_landmarks:
        decomposed = _eigenvectors(kernel, X, means)
    else:
        decomposed = _incomplete_cholesky(kernel, X, means, max_landmarks, rng, notify)
    U, s, index, weights, offsets = decomposed
    # A landmark without a weight, or whose kernels are all 0, decides nothing.
    used = nonzero_rows(weights) & nonzero_rows(X)[index]
    landmarks = kernel.pick(X, index[used])
    return Features(U, s, landmarks, weights[used], offsets)


def _eigenvectors(kernel: Kernel, X: Matrix, means: Array | None) -> _Decomposed:
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
    kernel: Kernel, X: Matrix, means: Array | None, max_landmarks: int, rng: Any, notify: Notify
) -> _Decomposed:
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
    """Features F (n, m) with K ≈ F Fᵀ, exact on the m items that are pivots."""
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
        size = min(CANDIDATES, limit - m, n_left)
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
        some = np.linspace(0, n - 1, min(CANDIDATES, n)).astype(np.int64)
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
    if min(C.shape) <= LAPACK_SIDE:
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


class KernelPairModel(EmbeddingModel):
    """A pair model that knows its items by their kernels with landmarks."""

    # Subclasses have these parameters; their ``_fit`` turns the `Features` of both sides into one
    # small matrix each.

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "x_kernel": _KERNEL,
        "y_kernel": _KERNEL,
        "x_gamma": [interval(Real, 0, None, closed="neither"), None],
        "y_gamma": [interval(Real, 0, None, closed="neither"), None],
        "degree": [interval(Integral, 1, None)],
        "coef0": [interval(Real, 0, None)],
        "max_landmarks": [interval(Integral, 1, None)],
    }
    _stored: ClassVar[Declared] = {
        "x_landmarks_": lambda model: model._stored_landmarks("x"),
        "y_landmarks_": lambda model: model._stored_landmarks("y"),
        "x_coefficients_": lambda model: model._stored_coefficients("x"),
        "y_coefficients_": lambda model: model._stored_coefficients("y"),
        "x_offset_": StoredArray(("components",), rows=True, optional=True),
        "y_offset_": StoredArray(("components",), rows=True, optional=True),
        "x_gamma_": Number(positive=True, optional=True),
        "y_gamma_": Number(positive=True, optional=True),
    }

    x_kernel: str | KernelFunction
    y_kernel: str | KernelFunction
    x_gamma: float | None
    y_gamma: float | None
    degree: int
    coef0: float
    max_landmarks: int
    random_state: Any

    x_landmarks_: Any = None
    y_landmarks_: Any = None
    x_coefficients_: Array
    y_coefficients_: Array
    x_offset_: Array | None = None
    y_offset_: Array | None = None
    x_gamma_: float | None = None
    y_gamma_: float | None = None

    _component_arrays: ClassVar[tuple[str, ...]] = (
        "x_coefficients_",
        "y_coefficients_",
        "x_offset_",
        "y_offset_",
        "spectrum_",
    )

    def _features(
        self,
        sides: Mapping[Side, Matrix],
        means: Mapping[Side, Array | None],
        kernels: Mapping[Side, Setting] | None = None,
    ) -> dict[Side, Features]:
        kernels = kernels or self._kernel_settings()
        rng = check_random_state(self.random_state)
        features: dict[Side, Features] = {}
        stopped = False

        def notify(step: int, total: int) -> bool:
            nonlocal stopped
            done = len(features) * total + step
            stopped = stopped or self._notify(done, len(sides) * total)
            return stopped

        for side, Z in sides.items():
            name, gamma = kernels[side]
            check_kernel_input(name, Z, side)
            gamma = default_gamma(name, Z) if gamma is None else gamma
            how = {"max_landmarks": self.max_landmarks, "rng": rng, "notify": notify}
            features[side] = kernel_features(self._kernel(name, gamma), Z, means[side], **how)
            setattr(self, f"{side}_gamma_", gamma)
        return features

    def _keep(self, x: Features, A: Floats, y: Features, B: Floats) -> None:
        """Keep the maps whose columns are A and B in the features of the sides."""
        self.x_landmarks_ = x.landmarks
        self.x_coefficients_ = np.ascontiguousarray(x.weights @ A)
        self.x_offset_ = None if x.offsets is None else x.offsets[0] @ A
        if y is x:
            self.y_landmarks_, self.y_coefficients_ = self.x_landmarks_, self.x_coefficients_
            self.y_gamma_ = self.x_gamma_
        else:
            self.y_landmarks_ = y.landmarks
            self.y_coefficients_ = np.ascontiguousarray(y.weights @ B)
        self.y_offset_ = None if y.offsets is None else y.offsets[-1] @ B

    def _kernel_settings(self) -> dict[Side, Setting]:
        return {"x": (self.x_kernel, self.x_gamma), "y": (self.y_kernel, self.y_gamma)}

    def _kernel(self, name: str | KernelFunction, gamma: float | None) -> Kernel:
        return Kernel(name, 1.0 if gamma is None else gamma, self.degree, self.coef0)

    def _stored_landmarks(self, side: Side) -> StoredArray:
        """Rows of features, or columns of a matrix of kernels; none where a kernel is linear."""
        name, rows, columns = self._kernel_of(side), f"{side}_landmarks", f"{side}_features"
        if name == "precomputed":
            return StoredArray((rows,), whole=True, low=0, below=columns, empty=True)
        how: Any = {"rows": True, "empty": True, "optional": name == "linear"}
        return StoredArray((rows, columns), layout="either", **how)

    def _stored_coefficients(self, side: Side) -> StoredArray:
        linear = getattr(self, f"{side}_landmarks_", None) is None
        rows = f"{side}_features" if linear else f"{side}_landmarks"
        return StoredArray((rows, "components"), rows=True, empty=True)

    def _embed_x(self, X: Matrix) -> Floats:
        return self._embed(X, "x")

    def _embed_y(self, Y: Matrix) -> Floats:
        return self._embed(Y, "y")

    def _embed(self, Z: Matrix, side: Side) -> Floats:
        name = self._kernel_of(side)
        if name == "chi2":
            refuse_negative(Z, side)
        learned = ("gamma", "landmarks", "coefficients", "offset")
        gamma, landmarks, weights, offset = (getattr(self, f"{side}_{n}_") for n in learned)
        if landmarks is None:
            # Linear kernels with every feature: the weights are those of the features themselves.
            return checked(np.asarray(Z @ weights))
        vectors = np.empty((Z.shape[0], weights.shape[1]), dtype=Z.dtype)
        with np.errstate(over="ignore"):  # what single precision cannot hold is told below
            for rows, K in self._kernel(name, gamma).blocks(Z, landmarks):
                vectors[rows] = K @ weights if offset is None else K @ weights - offset
        # Without any known feature there is no evidence, neither for nor against the mean.
        vectors[~nonzero_rows(Z)] = 0.0
        return checked(vectors)

    def _kernel_of(self, side: Side) -> str | KernelFunction:
        kernel: str | KernelFunction = getattr(self, f"{side}_kernel")
        return getattr(self, f"{side}_kernel_", kernel)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.x_kernel == "precomputed"
        tags.input_tags.positive_only = self.x_kernel == "chi2"
        return tags


def column_signs(features: Features, A: Floats) -> Array:
    """Signs that make the largest weight of a landmark positive in every column."""
    W = features.weights @ A
    return np.where(W[np.abs(W).argmax(axis=0), np.arange(A.shape[1])] < 0, -1.0, 1.0)
