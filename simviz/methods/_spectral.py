"""What the spectral methods share: weights of pairs, capping at the rank, whitening.

A whitening gives coordinates in which weighted, centred data plus a ridge have variance one.

For rows Ẑ = diag(√w)(Z − means) with C = ẐᵀẐ, a whitening is a matrix W with Wᵀ(C + κI)W = I. CCA
and OPCA are leading singular vectors or eigenvectors of small matrices in such coordinates. Three
routes give W: the principal directions of Ẑ, after which every κ is free; a Cholesky factor of C +
κI, which is exact for many rows without finding thousands of directions first; and, where that
would not fit into memory, a low-rank model of C + κI.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import block_diag
from sklearn.base import clone

from simviz._blas import gram_of_factor, solve_triangular
from simviz._types import Array, Index
from simviz.base import Matrix, unit_rows
from simviz.methods._linalg import (
    Notify,
    Operator,
    gram_matrix,
    group_means,
    inverse,
    leading_symmetric,
    left_svd,
    matrix_operator,
    numerical_rank,
    rows_operator,
)
from simviz.params import validate_params
from simviz.relevance import Relevance

_log = logging.getLogger(__name__)
FEW = 1_500  # rows or columns whose principal directions take a fraction of a second
LARGEST_FACTOR = 24_000  # columns whose factor fits: 2.3 GB in single precision
_MAX_ROWS = 12_000  # rows whose Gram matrix and its two factors do, where columns are more
ALL_DIRECTIONS = 6_000  # rows or columns up to which all directions are found
MAX_DIRECTIONS = 3_000  # principal directions beyond that
LEADING = 200  # directions in which columns hang together, where there is no factor
PANEL = 1_024  # columns of a Cholesky factor that are found together
_WIDEST = 4_096  # features of which a whole matrix of weights is learned
_KNOWN = 1e-9  # of the most that linked rows have in common: below that it is rounding
_MIN_RIDGE = 1e-6  # of the mean variance: what double precision still sees

#: Residual at which directions of most variance are known well enough: the last of them are
#: wrong by a per cent or two in their variance, all of them together by a hundredth of that.
TOLERANCE = 5e-2


class RegularizationPathMixin:
    """For methods whose every regularisation follows from one decomposition."""

    # Subclasses write ``_solve(sides)``, which reads ``self.regularization``, and have the
    # parameters that `PairedSides` reads.

    def _fit(self: Any, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        self._solve(self._paired_sides(X, Y, relevance))

    def _paired_sides(
        self: Any, X: Matrix, Y: Matrix, relevance: Relevance, *, many: bool = False
    ) -> PairedSides:
        weights = pair_weights(self, relevance)
        # Items without a pair weigh nothing: they would only make the larger side larger.
        x, y = (np.flatnonzero(weights.sum(axis=axis)) for axis in (1, 0))
        X, Y = (Z if len(index) == Z.shape[0] else Z[index] for Z, index in ((X, x), (Y, y)))
        sides = PairedSides(self, X, Y, weights[x][:, y], many=many)
        if min(sides.variances) <= 0:
            raise ValueError(
                f"{self.tags.title} needs {self._contrast[0]} that differ: after centring one "
                f"side is constant (n_samples = {relevance.positives.nnz} pairs). Bring at least "
                f"2 different pairs (1 sample has no {self._contrast[1]})."
            )
        return sides

    def regularization_path(
        self: Any,
        X: Matrix,
        y: Matrix | None = None,
        relevance: object = None,
        *,
        values: Iterable[float],
    ) -> Iterator[Any]:
        """One fitted model for each regularisation, sharing what does not depend on it."""
        # With principal directions (a `rank`, or few items or features) that is nearly
        # everything; where a factor is used, only what is known of the data.
        model = clone(self).set_callbacks(*getattr(self, "_callbacks", ()))
        sides: PairedSides | None = None
        for value in values:
            model.set_params(regularization=value)
            validate_params(model)
            if sides is None:
                X, Y = model._check_sides(X, y, reset=True)
                relevance = Relevance.coerce(relevance, X.shape[0], Y.shape[0])
                sides = model._paired_sides(X, Y, relevance, many=True)
            model._solve(sides)
            fitted = copy(model)
            fitted.set_callbacks()
            yield fitted


def all_rows(X: Matrix, Y: Matrix) -> Matrix:
    """The items of both sides, one below the other; once where they are the same."""
    return X if Y is X else stacked(X, Y)


def stacked(X: Matrix, Y: Matrix) -> Matrix:
    return sp.csr_array(sp.vstack([X, Y])) if sp.issparse(X) else np.vstack([X, Y])


def kinds(Z: Matrix) -> tuple[Index, Index]:
    """Number rows so that equal ones share a number; one row of each number."""
    if sp.issparse(Z):
        Z = sp.csr_array(Z).sorted_indices()
        limits = pairwise(Z.indptr)
        rows = [Z.indices[a:b].tobytes() + Z.data[a:b].tobytes() for a, b in limits]
    else:
        rows = [row.tobytes() for row in Z]
    numbers: dict[bytes, int] = {}
    kind = np.array([numbers.setdefault(row, len(numbers)) for row in rows])
    return kind, np.unique(kind, return_index=True)[1]


def sum_of_kinds(kind: Index, values: Any = 1.0) -> sp.csr_array:
    """A matrix whose product with rows, times values, adds up those of each kind."""
    values = np.broadcast_to(values, kind.shape)
    return sp.csr_array((values, (kind, np.arange(len(kind)))))


def is_default(model: Any) -> bool:
    """Whether nobody asked for this number of dimensions."""
    return bool(model.n_components == getattr(type(model), "n_components", None))


def capped_components(
    model: Any, s: NDArray[np.floating], shape: tuple[int, int], limit: int | None = None
) -> int:
    """How many of the asked components the data can give, warning if fewer."""
    rank = max(1, numerical_rank(s, shape))
    rank = rank if limit is None else min(rank, limit)
    # Fewer values than were asked for and possible: a fit that was ended, not poor data.
    ended = len(s) < min(model.n_components, *shape) and rank == len(s)
    if rank < model.n_components and not ended and not is_default(model):
        warnings.warn(
            f"{type(model).__name__}: n_components={model.n_components} is more than the data "
            f"can give, {rank} are kept. Further directions would be arbitrary.",
            UserWarning,
            stacklevel=4,
        )
    return int(min(rank, model.n_components))


@contextmanager
def fewer_components_unwarned() -> Iterator[None]:
    """Let a model have fewer dimensions than were asked for, without `capped_components`' word."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is more than the data can give", UserWarning)
        yield


def keep_directions(
    model: Any, A: Array, B: Array, spectrum: Array, dtype: Any, means: tuple[Array, ...] = ()
) -> None:
    """Set what a linear model has learned; offsets where its sides were centred at `means`."""
    model.x_projection_ = np.ascontiguousarray(A, dtype=dtype)
    model.y_projection_ = model.x_projection_ if B is A else np.ascontiguousarray(B, dtype=dtype)
    if means:
        model.x_offset_, model.y_offset_ = (
            (mean @ Z).astype(dtype) for mean, Z in zip(means, (A, B), strict=True)
        )
    model.spectrum_, model.n_components_ = spectrum, A.shape[1]


def pair_weights(model: Any, relevance: Relevance) -> sp.csr_array:
    """Relevant pairs with their grades as weights that sum to 1."""
    positives = relevance.positives
    if not positives.nnz:
        raise ValueError(
            f"{type(model).__name__} learns from relevant pairs; got none among "
            f"{relevance.matrix.nnz} judgments. Bring pairs that belong together."
        )
    return positives / positives.sum()


def unit_moments(
    model: Any, X: Matrix, Y: Matrix, relevance: Relevance
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Second moments of both sides and between them, of rows of length 1 and weighted pairs."""
    if X.shape[1] > _WIDEST:
        raise ValueError(
            f"{model.tags.title} learns a matrix of {X.shape[1]:,} by {X.shape[1]:,} weights; at "
            f"most {_WIDEST:,} features are taken. Bring dense vectors, such as those of a "
            "sentence encoder, or choose a method such as opca."
        )
    weights = pair_weights(model, relevance)
    X, Y = (unit_rows(Z).astype(np.float64) for Z in (X, Y))
    x, y = (sp.diags_array(weights.sum(axis=axis)) for axis in (1, 0))
    moments = [A.T @ (w @ B) for A, w, B in ((X, x, X), (Y, y, Y), (X, weights, Y))]
    x, y, across = (C.toarray() if sp.issparse(C) else C for C in moments)
    return x, y, across


def signed_weights(
    relevance: Relevance, negative_weight: str | float
) -> tuple[sp.csr_array, Array, Array]:
    """Split signed pair weights into R = P − a bᵀ, P sparse."""
    # Wu, Xu & Li, note 2: R may have many values. Grades are such, above and below 0. Where an
    # item belongs that was only rejected is not known: its unjudged pairs have 0.
    known = ~relevance.only_rejected
    if negative_weight == "per_y":
        P, b, a = _signed_rows(relevance.T, "per_x", np.ones(relevance.shape[1]), known * 1.0)
        return sp.csr_array(P.T), a, b
    return _signed_rows(relevance, negative_weight, known * 1.0, np.ones(relevance.shape[1]))


def _signed_rows(
    relevance: Relevance, negative_weight: str | float, rows: Array, columns: Array
) -> tuple[sp.csr_array, Array, Array]:
    """The same by rows; `rows` and `columns` are 0 where unjudged pairs say nothing, else 1."""
    positives, rejected = relevance.positives, relevance.negatives
    if not positives.nnz:
        raise ValueError(
            "Heterogeneous SVD needs at least one relevant pair; got none among "
            f"{relevance.matrix.nnz} judgments. Bring pairs that belong together."
        )
    explicit = relevance.unjudged == "ignore"
    n_x = relevance.shape[0]
    others = rejected if explicit else positives.astype(bool).astype(np.float64)
    if negative_weight == "per_x":
        mass, count = positives.sum(axis=1), others.sum(axis=1)
        n_others = count if explicit else np.where(mass > 0, columns.sum() - count, 0.0)
        mass = np.where(mass > 0, mass, rejected.sum(axis=1))
        w_pos, w_neg = inverse(mass), inverse(n_others)
    else:
        mass, count = positives.sum(), others.sum()
        n_others = count if explicit else rows.sum() * columns.sum() - count
        if negative_weight == "balanced":
            w_pos, w_neg = 1.0 / mass, float(inverse(n_others))
        else:
            w_pos, w_neg = 1.0, 1.0 if negative_weight == "paper" else float(negative_weight)
        w_pos, w_neg = np.full(n_x, w_pos), np.full(n_x, w_neg)
    if explicit:
        P = sp.diags_array(w_pos) @ positives - sp.diags_array(w_neg) @ others
        return sp.csr_array(P), np.zeros(n_x), columns
    # Everything is subtracted, and what that takes from relevant pairs is given back. What was
    # rejected is one of all others and, beside that, weighs like relevant pairs of its size.
    signed = positives - rejected if rejected.nnz else positives
    P = sp.diags_array(w_pos) @ signed + sp.diags_array(w_neg) @ others
    return sp.csr_array(P), w_neg * rows, columns


def normalised(weights: sp.csr_array) -> sp.csr_array:
    """diag(w)^-½ R diag(w')^-½, which turns weighted row spaces into each other."""
    left, right = (sp.diags_array(inverse(np.sqrt(weights.sum(axis=a)))) for a in (1, 0))
    return sp.csr_array(left @ weights @ right)


def factor_whitening(
    op: Operator, rank: int | None
) -> type[CholeskyWhitening] | type[ScaledWhitening] | None:
    """The shortest way to whiten all of an operator without its directions, if there is one."""
    m, n = op.shape
    if rank is not None or min(m, n) <= FEW:
        return None
    if m < n and m <= _MAX_ROWS:
        return RowsWhitening
    return CholeskyWhitening if n <= LARGEST_FACTOR else ScaledWhitening


class Whitening(Protocol):
    """Products with whitened rows Ẑ W and with W itself; coordinates run over r."""

    op: Any = None  # the rows, where `forward` is not written anew
    rank: int
    n_features: int
    #: Directions in which Wᵀ(C + κI)W is known best; None where it is the identity.
    leading: Array | None = None

    def gram(self, B: Array) -> Array:
        """Bᵀ Wᵀ(C + κI)W B."""
        return B.T @ B

    def forward(self, B: Array) -> Array:
        """Ẑ W B of shape (n, b) for B of shape (r, b)."""
        return self.op.matmat(self.directions(B))

    def backward(self, C: Array) -> Array:
        """(Ẑ W)ᵀ C of shape (r, b) for C of shape (n, b)."""
        raise NotImplementedError

    def directions(self, B: Array) -> Array:
        """W B of shape (d, b) for B of shape (r, b)."""
        raise NotImplementedError

    def coordinates(self, v: Array) -> Array:
        """Wᵀ v of shape (r,) for v of shape (d,)."""
        raise NotImplementedError


class Directions:
    """The principal directions of Ẑ = U diag(s) Vᵀ, for any ridge."""

    def __init__(
        self, op: Operator, rank: int | None, random_state: Any, notify: Notify, *, keep: bool
    ) -> None:
        m, n = op.shape
        full = min(m, n)
        if rank is None and full > ALL_DIRECTIONS:
            rank = MAX_DIRECTIONS
        U, s = left_svd(op, min(rank or full, full), random_state=random_state, notify=notify)
        r = numerical_rank(s, op.shape)
        self.op, self.U, self.s, self.rank = op, U[:, :r], s[:r], r
        self._V = op.rmatmat(self.U) / self.s if keep else None

    def right(self, B: Array) -> Array:
        """V B, with V = Ẑᵀ U / s taken for the columns of B only unless it was kept."""
        if self._V is not None:
            return self._V @ B
        return self.op.rmatmat(self.U @ (B / self.s[:, None]))


class SpectralWhitening(Whitening):
    """Whitening by principal directions, W = V diag(1 / √(s² + κ))."""

    def __init__(self, directions: Directions, ridge: float) -> None:
        self.principal, self.U, self.s = directions, directions.U, directions.s
        self.rank, self.n_features = directions.rank, directions.op.shape[1]
        self.spread = np.sqrt(self.s**2 + ridge).astype(self.s.dtype)
        self.damping = self.s / self.spread  # what is left of a direction

    def forward(self, B: Array) -> Array:
        return self.U @ (self.damping[:, None] * B)

    def backward(self, C: Array) -> Array:
        return self.damping[:, None] * (self.U.T @ C)

    def directions(self, B: Array) -> Array:
        return self.principal.right(B / self.spread[:, None])

    def coordinates(self, v: Array) -> Array:
        rows = self.principal.op.matmat(v[:, None])
        return (self.U.T @ rows)[:, 0] / (self.s * self.spread)


class CholeskyWhitening(Whitening):
    """Whitening by C + κI = L Lᵀ, W = L⁻ᵀ."""

    def __init__(self, op: Operator, ridge: float, dtype: Any, notify: Notify = None) -> None:
        assert op.rgram is not None
        self._factor(op, op.rgram(dtype), ridge, notify)

    def _factor(self, op: Operator, C: Array, ridge: float, notify: Notify) -> None:
        self.op = op
        self.rank = self.n_features = op.shape[1]
        C.flat[:: self.rank + 1] += ridge
        cholesky_in_place(C, notify)
        # BLAS reads columns first: to it the lower factor is an upper one, transposed.
        self._upper = C.T

    def forward(self, B: Array) -> Array:
        return self.op.matmat(solve_triangular(self._upper, B))

    def backward(self, C: Array) -> Array:
        return solve_triangular(self._upper, self.op.rmatmat(C), transposed=True)

    def directions(self, B: Array) -> Array:
        return solve_triangular(self._upper, B)

    def coordinates(self, v: Array) -> Array:
        return solve_triangular(self._upper, v[:, None], transposed=True)[:, 0]


class RowsWhitening(CholeskyWhitening):
    """The same for fewer rows than columns, by factors of the size of the rows."""

    # With Ẑ Ẑᵀ = G Gᵀ the rows of G are those of Ẑ in an orthonormal basis V = Ẑᵀ G⁻ᵀ, so that
    # GᵀG + κI is all that is factored.

    def __init__(self, op: Operator, ridge: float, dtype: Any, notify: Notify = None) -> None:
        assert op.gram is not None
        G = op.gram(dtype)
        # Centred rows, copies and empty ones leave directions without any variance; a trace
        # of it makes the factor exist, and weighs nothing beside the ridge.
        G.flat[:: len(G) + 1] += _trace_of_variance(G)
        cholesky_in_place(G, notify)
        self._rows = np.tril(G)
        del G
        self._factor(matrix_operator(self._rows), gram_of_factor(self._rows), ridge, notify)
        self._data, self.n_features = op, op.shape[1]

    def directions(self, B: Array) -> Array:
        """V L⁻ᵀ B."""
        B = super().directions(B)
        return self._data.rmatmat(solve_triangular(self._rows.T, B))

    def coordinates(self, v: Array) -> Array:
        rows = self._data.matmat(v[:, None])
        return super().coordinates(solve_triangular(self._rows.T, rows, transposed=True)[:, 0])


class LinkedWhitening(Whitening):
    """Whitening of those directions alone on which linked rows can agree.

    Where rows have few kinds of partners, as the members of groups do, C_xy = F Q has a low
    rank, and all canonical directions are among (C + κI)⁻¹F.
    """

    def __init__(
        self, op: Operator, block: tuple[Matrix, Array, list[slice]], partners: Index, ridge: float
    ) -> None:
        Z, weights, groups = block
        # Equal rows weigh together. With H = κI + √D Z Zᵀ √D, which is all that is factored, the
        # ridge, rows and means M = Zᵀm are C + κI = (κI + Zᵀ D Z) - M Mᵀ.
        same, first = kinds(Z)
        Z, together = Z[first], sum_of_kinds(same)
        root = np.sqrt(together @ weights)[:, None]
        H = gram_matrix(Z) * root * root.T
        H.flat[:: len(H) + 1] += ridge
        cholesky_in_place(H)
        shares = np.zeros((len(weights), len(groups)))
        for column, rows in enumerate(groups):
            shares[rows, column] = weights[rows]
        E = sum_of_kinds(partners, np.sqrt(weights / np.bincount(partners)[partners])).T
        m, F = together @ shares, (together @ E).toarray()
        for column, rows in enumerate(groups):
            F -= np.outer(m[:, column], E[rows].sum(axis=0))
        # From here on in rows of √D Z, F first and then M: N = H⁻¹[F, M], C = [F, M]ᵀ B⁻¹ [F, M].
        g, P = F.shape[1], np.hstack([F, m]) / root
        N = solve_triangular(H, solve_triangular(H, P, lower=True), lower=True, transposed=True)
        C = P.T @ (P - ridge * N)
        means = np.linalg.solve(np.eye(len(groups)) - C[g:, g:], C[g:, :g])
        N = N[:, :g] + N[:, g:] @ means
        values, T = np.linalg.eigh(C[:g, :g] + C[:g, g:] @ means)
        known = values > max(_KNOWN * values[-1], 1e3 * np.finfo(np.float64).eps)
        self.op, self.n_features, self.rank = op, op.shape[1], int(known.sum())
        self._V = np.asarray(Z.T @ (root * (N @ (T[:, known] / np.sqrt(values[known])))))

    def backward(self, C: Array) -> Array:
        return self._V.T.astype(C.dtype) @ self.op.rmatmat(C)

    def directions(self, B: Array) -> Array:
        """V B."""
        return self._V.astype(B.dtype) @ B

    def coordinates(self, v: Array) -> Array:
        return self._V.T @ v


class ScaledWhitening(Whitening):
    """Whitening by columns of variance one, and their leading directions.

    With D the diagonal of C + κI, M = D^-½ (C + κI) D^-½ has ones on its diagonal: what it holds
    beside them is how columns hang together. Its leading eigenvectors V are found, and all others
    get the mean μ̄ of their eigenvalues: W = D^-½ (V diag(μ)^-½ Vᵀ + μ̄^-½ (I − V Vᵀ)).
    """

    def __init__(self, op: Operator, ridge: float, dtype: Any, notify: Notify = None) -> None:
        assert op.squares is not None
        self.op, self.ridge, d = op, ridge, op.shape[1]
        what = "Covariances of %d features would take %d GB; variances and %d directions do."
        _log.warning(what, d, 4e-9 * d**2, LEADING)
        self.rank = self.n_features = d
        total = op.squares() + ridge
        self._scale = (1 / np.sqrt(total)).astype(dtype)[:, None]
        share = (ridge / total).astype(dtype)[:, None]

        def correlated(B: Array) -> Array:
            return self._scale * op.rmatmat(op.matmat(self._scale * B)) + share * B

        # The seed is of the search for V, which is no choice of the method's.
        mu, V = leading_symmetric(correlated, d, LEADING, dtype, random_state=0, notify=notify)
        rest = (d - mu.sum()) / (d - len(mu)) if len(mu) < d else 1.0
        self.leading = self._V = V.astype(dtype)
        self._rest_scale = 1 / np.sqrt(rest)
        self._own = (1 / np.sqrt(mu) - self._rest_scale)[:, None]

    def gram(self, B: Array) -> Array:
        D = self.directions(B)
        F = self.op.matmat(D).astype(np.float64)
        D = D.astype(np.float64)
        return F.T @ F + self.ridge * (D.T @ D)

    def _root(self, B: Array) -> Array:
        inner = self._own.astype(B.dtype) * (self._V.T @ B)
        return B.dtype.type(self._rest_scale) * B + self._V @ inner

    def backward(self, C: Array) -> Array:
        return self._root(self._scale * self.op.rmatmat(C))

    def directions(self, B: Array) -> Array:
        return self._scale * self._root(B)

    def coordinates(self, v: Array) -> Array:
        return self._root(self._scale * v[:, None])[:, 0]


def _trace_of_variance(G: Array) -> float:
    """What a Gram matrix needs on its diagonal for a Cholesky factor to exist."""
    n, eps = len(G), float(np.finfo(G.dtype).eps)
    if G.dtype == np.float64:
        # Rounding is n ε of the largest eigenvalue, and that may be n times their mean.
        return max(100, n) * eps * float(np.linalg.norm(G))
    # In single precision as much would be felt; where this is too little, double follows.
    return 100 * eps * float(np.trace(G)) / n


def cholesky_in_place(C: Array, notify: Notify = None) -> None:
    """Put the Cholesky factor of C into its lower triangle, panel by panel."""
    d = len(C)
    panels = -(-d // PANEL)
    for panel, start in enumerate(range(0, d, PANEL)):
        stop = min(start + PANEL, d)
        if start:
            C[start:, start:stop] -= C[start:, :start] @ C[start:stop, :start].T
        corner = np.linalg.cholesky(C[start:stop, start:stop])
        C[start:stop, start:stop] = corner
        if stop < d:
            below = solve_triangular(corner, C[stop:, start:stop].T, lower=True)
            C[stop:, start:stop] = below.T
        if notify is not None:
            notify(panel + 1, panels)


class Blocks(Whitening):
    """Several whitenings side by side: of data that share neither rows nor columns."""

    # All in the precision of what is given: one part in double would carry the others along.

    def __init__(self, parts: Sequence[Whitening], n_rows: Sequence[int]) -> None:
        self.parts = parts
        self.rank = sum(part.rank for part in parts)
        self.n_features = sum(part.n_features for part in parts)
        self._rows = np.cumsum(n_rows)[:-1]
        self._ranks = np.cumsum([part.rank for part in parts])[:-1]
        if any(part.leading is not None for part in parts):
            own = (np.zeros((p.rank, 0)) if p.leading is None else p.leading for p in parts)
            self.leading = block_diag(*own)

    def gram(self, B: Array) -> Array:
        return np.sum([p.gram(b) for p, b in self._split(B, self._ranks)], axis=0)

    def _split(self, B: Array, limits: Array) -> Iterator[tuple[Whitening, Array]]:
        return zip(self.parts, np.split(B, limits), strict=True)

    def forward(self, B: Array) -> Array:
        parts = [p.forward(b) for p, b in self._split(B, self._ranks)]
        return np.vstack(parts, dtype=B.dtype, casting="same_kind")

    def backward(self, C: Array) -> Array:
        parts = [p.backward(c) for p, c in self._split(C, self._rows)]
        return np.vstack(parts, dtype=C.dtype, casting="same_kind")

    def directions(self, B: Array) -> Array:
        return np.vstack([p.directions(b) for p, b in self._split(B, self._ranks)])

    def coordinates(self, v: Array) -> Array:
        limits = np.cumsum([p.n_features for p in self.parts])[:-1]
        return np.concatenate([p.coordinates(u) for p, u in self._split(v, limits)])


def candidates(whitening: Whitening, U: Array) -> Array:
    """What was found and the leading directions, in a basis of variance one, exactly."""
    # Directions whose variance was taken for less than it is may have come before all others.
    assert whitening.leading is not None
    Q = np.linalg.qr(np.hstack([U, whitening.leading]))[0]
    L = np.linalg.cholesky(whitening.gram(Q).astype(np.float64))
    return np.linalg.solve(L, Q.T.astype(np.float64)).T.astype(U.dtype)


def exact_within(
    whitening: Whitening, apply: Callable[[Array], Array], mu: Array, U: Array
) -> tuple[Array, Array]:
    """The best eigenpairs among `candidates` where the whitening is not exact."""
    if whitening.leading is None:
        return mu, U
    k = len(mu)
    U = candidates(whitening, U)
    S = np.asarray(U.T @ apply(U), dtype=np.float64)
    mu, T = np.linalg.eigh((S + S.T) / 2)
    return mu[::-1][:k], U @ T[:, ::-1][:, :k].astype(U.dtype)


class Inflated(Whitening):
    """A whitening of C + κI + δδᵀ from one of C + κI."""

    def __init__(self, base: Whitening, delta: Array) -> None:
        self.base, self.rank, self.n_features = base, base.rank, base.n_features
        length2 = float(delta @ delta)
        # (I + ww')^(-1/2) = I - c ww'
        self._c = (1 - 1 / np.sqrt(1 + length2)) / length2 if length2 else 0.0
        self._w = delta[:, None]
        self.leading = base.leading

    def gram(self, B: Array) -> Array:
        """Bᵀ (I + ww')^-½ (base + ww') (I + ww')^-½ B."""
        B = self._root(B)
        along = self._w.T @ B
        return self.base.gram(B) + along.T @ along

    def _root(self, B: Array) -> Array:
        return B - (self._c * self._w).astype(B.dtype) @ (self._w.T.astype(B.dtype) @ B)

    def forward(self, B: Array) -> Array:
        """Ẑ W (I + ww')^-½ B."""
        return self.base.forward(self._root(B))

    def backward(self, C: Array) -> Array:
        return self._root(self.base.backward(C))

    def directions(self, B: Array) -> Array:
        """W (I + ww')^-½ B."""
        return self.base.directions(self._root(B))

    def coordinates(self, v: Array) -> Array:
        """(I + ww')^-½ Wᵀ v."""
        return self._root(self.base.coordinates(v)[:, None])[:, 0]


class PairedSides:
    """Both sides' rows, weighted by the pairs they are in and centred side by side."""

    def __init__(
        self, model: Any, X: Matrix, Y: Matrix, weights: sp.csr_array, *, many: bool = False
    ) -> None:
        self.model = model
        self.dtype = X.dtype
        self.n_x, self.n_y = X.shape[0], Y.shape[0]
        w_x, w_y = weights.sum(axis=1), weights.sum(axis=0)
        self.linked = normalised(weights)
        self._linked_back = sp.csr_array(self.linked.T)
        everything = slice(None)
        self.x_mean, self.y_mean = (
            group_means(Z, w, [everything])[0] for Z, w in ((X, w_x), (Y, w_y))
        )
        if model.shared:
            Z = stacked(X, Y)
            groups = [slice(0, self.n_x), slice(self.n_x, None)]
            blocks = [(Z, np.concatenate([w_x, w_y]), groups)]
        else:
            blocks = [(X, w_x, [everything]), (Y, w_y, [everything])]
        self._blocks = blocks
        self.operators = [rows_operator(*block) for block in blocks]
        self._totals, self._ranks = zip(*(_variance(*block) for block in blocks), strict=True)
        self.variances = [t / r for t, r in zip(self._totals, self._ranks, strict=True)]
        self.noise_variance = self._noise_variance(X, Y, weights)
        self._many = many
        self._directions: dict[int, Directions] = {}
        self._between: Array | None = None  # of the principal directions of both sides

    def whitenings(self, ridges: list[float], *, linked: bool = False) -> list[Whitening]:
        """One whitening a block; of what linked rows agree on alone, where that will do."""
        return [self._whitening(block, ridge, linked) for block, ridge in enumerate(ridges)]

    def _whitening(self, block: int, ridge: float, linked: bool) -> Whitening:
        op, variance = self.operators[block], self.variances[block]
        factor = factor_whitening(op, self.model.rank)
        # Nearly without a ridge a factor is rounding, or there is none at all.
        if factor is not None and ridge >= _MIN_RIDGE * variance:
            if linked and factor is RowsWhitening and op.shape[0] <= ALL_DIRECTIONS:
                partners = self._partners(block)
                if partners.max() < min(len(partners) // 3, FEW):
                    agreeing = LinkedWhitening(op, self._blocks[block], partners, ridge)
                    if agreeing.rank:  # else all have the same partners
                        return agreeing
            # With a ridge far below the mean variance single precision would not see it.
            seen = op.dtype if ridge >= 0.01 * variance else np.float64
            for dtype in dict.fromkeys([seen, np.float64]):
                try:
                    return factor(op, ridge, dtype, self.model._notify)
                except np.linalg.LinAlgError:
                    # A few directions, or means, with nearly all that the numbers hold.
                    continue
        return SpectralWhitening(self._principal(block), ridge)

    def _partners(self, block: int) -> Index:
        """A number for each row: rows of a number have the same partners."""
        x, y = kinds(self.linked)[0], kinds(self._linked_back)[0]
        return np.concatenate([x, y + x.max() + 1]) if self.model.shared else (x, y)[block]

    def _principal(self, block: int) -> Directions:
        if block not in self._directions:
            how = self.model.rank, self.model.random_state, self.model._notify
            self._directions[block] = Directions(self.operators[block], *how, keep=self._many)
        return self._directions[block]

    def correlations(self, x: Whitening, y: Whitening) -> Operator:
        """(Ẑ_x W_x)ᵀ R Ẑ_y W_y, whose singular values are the canonical correlations."""
        if isinstance(x, SpectralWhitening) and isinstance(y, SpectralWhitening):
            if self._between is None:
                self._between = (x.U.T @ (self.linked @ y.U)).astype(self.dtype)
            return matrix_operator(self._between * x.damping[:, None] * y.damping)
        return Operator(
            (x.rank, y.rank),
            lambda B: x.backward(self.linked.astype(B.dtype) @ y.forward(B)),
            lambda B: y.backward(self._linked_back.astype(B.dtype) @ x.forward(B)),
            dtype=self.dtype,
        )

    def across(self, F: Array) -> Array:
        """Each row's partners: [[0, R], [Rᵀ, 0]] times stacked rows of both sides."""
        linked, back = self.linked.astype(F.dtype), self._linked_back.astype(F.dtype)
        return np.vstack([linked @ F[self.n_x :], back @ F[: self.n_x]])

    def _noise_variance(self, X: Matrix, Y: Matrix, weights: sp.csr_array) -> float:
        # tr E (x - y)(x - y)' / 4, centred: what both sides vary, less what they share.
        total = sum(self._totals) / 4
        noise = total
        if self.model.shared:
            mates = weights @ Y
            inner = (X.multiply(mates) if sp.issparse(X) else X * mates).sum(dtype=np.float64)
            noise -= (float(inner) - float(self.x_mean @ self.y_mean)) / 2
        # Pairs of equal items have no noise, but a ridge they need all the same.
        return max(noise, 1e-6 * total) / sum(self._ranks)


def _variance(Z: Matrix, weights: Array, groups: list[slice]) -> tuple[float, int]:
    """Total variance, 0 if it is rounding, and as many directions as rows and columns allow."""
    if sp.issparse(Z):
        exact = Z.astype(np.float64)
        squares = np.asarray(exact.multiply(exact).sum(axis=1)).ravel()
        columns = len(np.unique(Z.indices[Z.data != 0]))
    else:
        squares = np.einsum("ij,ij->i", Z, Z, dtype=np.float64)
        columns = int((Z != 0).any(axis=0).sum())
    filled = int(((squares > 0) & (weights > 0)).sum())
    second = float(weights @ squares)
    total = second - sum(
        float(weights[rows].sum() * (mean @ mean))
        for rows, mean in zip(groups, group_means(Z, weights, groups), strict=True)
    )
    directions = max(1, min(filled - len(groups), columns))
    return (total if total > 1e-13 * second else 0.0), directions
