"""Triples of a query, an item relevant to it, and one that is not: drawing them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isqrt
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from simviz._types import Array, Index, Reals
from simviz.base import IterativeMixin, Matrix, RowScorer, unit_rows
from simviz.methods._training import (
    Data,
    HeldOut,
    Part,
    Stopped,
    Values,
    Watch,
    default_directions,
    held_out_values,
    hold_out_parts,
    least_change,
)
from simviz.relevance import Relevance

Triples = NDArray[np.int32]
Rows = tuple[Any, Any, Any, Any]

_LINE = 64  # bytes

_FLOPS_A_CHUNK = 2e8  # a fraction of a second, so that a wish to stop is heard
FEWEST = 20_000  # triples of a pass
_WATCHED = 512  # queries: a pass takes little longer than to score more
_DENSE = 0.3  # share of entries from which products of whole rows are faster
_WIDE = 128  # features below which single steps cost less than preparing a product
MAX_ENTRIES = 2**27  # half a gigabyte of float32


class TripleSource:
    """Draws triples: from judgments, or from a list of them."""

    def __init__(
        self,
        relevance: Relevance,
        *,
        links: bool,
        triples: Triples | None = None,
        group: int = 1,
        name: str = "SSI",
    ) -> None:
        self.triples, self.group = triples, group if triples is None else 1
        positives = relevance.positives
        self.judged = relevance.unjudged == "ignore"
        if triples is None and not (
            positives.nnz and (relevance.negatives.nnz or not self.judged)
        ):
            raise ValueError(
                f"{name} compares relevant with other items; got {positives.nnz} relevant and "
                f"{relevance.negatives.nnz} judged not relevant. "
                "Bring both, or set unjudged='negative'."
            )
        rows = np.repeat(np.arange(positives.shape[0]), np.diff(positives.indptr))
        columns = positives.indices
        listed = relevance.negatives if self.judged else positives
        if links:
            apart = rows != columns
            rows, columns = rows[apart], columns[apart]
            itself = sp.eye_array(*positives.shape, format="csr")
            listed = listed - listed.multiply(itself) if self.judged else listed + itself
            listed = sp.csr_array(listed)
            listed.eliminate_zeros()
        listed.sort_indices()
        self.n_y = positives.shape[1]
        counts = np.diff(listed.indptr)[rows]
        usable = counts > 0 if self.judged else counts < self.n_y
        self.queries = rows[usable].astype(np.int32)
        self.relevant = columns[usable].astype(np.int32)
        self.ptr, self.listed = listed.indptr, listed.indices
        self.rejected = _Rejected(relevance, self, links=links)

    def __len__(self) -> int:
        drawn_from = (self.queries, self.rejected) if self.triples is None else (self.triples,)
        return sum(map(len, drawn_from))

    def draw(self, n: int, seed: int) -> Triples:
        if not len(self):
            return np.empty((0, 3), np.int32)
        if self.triples is not None:
            return self.triples[np.random.default_rng(seed).integers(len(self.triples), size=n)]
        from simviz.methods._triple_kernels import draw

        triples = np.empty((n, 3), np.int32)
        if len(self.queries):
            draw(self.queries, self.relevant, self.ptr, self.listed, self.judged, self.n_y,
                 self.group, triples, seed)  # fmt: skip
        if len(self.rejected):
            self.rejected.mix(triples, self.group, len(self.rejected) / len(self), seed)
        return triples


class _Rejected:
    """Pairs judged not relevant where unjudged ones are negative; each is drawn as any other."""

    # It is compared with an item that is relevant to its query or, where none is known, with one
    # that was not judged: it belongs to some of these.

    def __init__(self, relevance: Relevance, source: TripleSource, *, links: bool) -> None:
        self.n_y = relevance.shape[1]
        if source.judged or source.triples is not None or not relevance.negatives.nnz:
            self.pairs: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
            return
        # Items to compare with, in ascending order: those that are relevant, or may not be taken.
        relevant, shut = (
            sp.csr_array(m, copy=True) for m in (relevance.positives, relevance.matrix)
        )
        if links:
            itself = sp.eye_array(*relevant.shape, format="csr")
            relevant = sp.csr_array(relevant - relevant.multiply(itself))
            relevant.eliminate_zeros()
            shut = sp.csr_array(abs(shut) + itself)
        for matrix in (relevant, shut):
            matrix.sort_indices()
        self.lists = (relevant, True), (shut, False)
        rows, columns = relevance.negatives.nonzero()
        alone = relevance.only_rejected[rows]
        usable = (
            ~alone & (np.diff(relevant.indptr)[rows] > 0),
            alone & (np.diff(shut.indptr)[rows] < self.n_y),
        )
        apart = rows != columns if links else np.ones(len(rows), dtype=np.bool_)
        self.pairs = [
            (rows[use & apart].astype(np.int32), columns[use & apart].astype(np.int32))
            for use in usable
        ]

    def __len__(self) -> int:
        return sum(len(rows) for rows, _ in self.pairs)

    def mix(self, triples: Triples, group: int, share: float, seed: int) -> None:
        """Put triples of rejected pairs in the place of a share of the groups."""
        from simviz.methods._triple_kernels import draw

        rng = np.random.default_rng(seed)
        taken = rng.random(-(-len(triples) // group)) < share
        kinds = rng.random(len(taken)) * len(self) < len(self.pairs[0][0])
        where = np.repeat(taken, group)[: len(triples)]
        drawn_from = zip(self.pairs, self.lists, (kinds, ~kinds), strict=True)
        for (rows, columns), (listed, judged), kind in drawn_from:
            n = int((taken & kind).sum())
            if not n:
                continue
            made = np.empty((n, 3), np.int32)
            draw(rows, columns, listed.indptr, listed.indices, judged, self.n_y, 1, made,
                 int(rng.integers(2**31)))  # fmt: skip
            # Drawn as a pair and another, which is the better one here. It fills its group, so
            # that a rejected pair weighs as much as a relevant one.
            at = where & np.repeat(kind, group)[: len(triples)]
            triples[at] = np.repeat(made[:, [0, 2, 1]], group, axis=0)[: int(at.sum())]


def rows_of(Z: Matrix) -> Rows:
    """The rows of a matrix as the kernels read them, without a copy."""
    if sp.issparse(Z):
        ptr = Z.indptr.astype(np.int64)
        return ptr, ptr, Z.indices.astype(np.int32, copy=False), Z.data
    n, d = Z.shape
    ptr, columns = np.arange(n + 1, dtype=np.int64) * d, np.arange(d, dtype=np.int32)
    return ptr, np.zeros(n, np.int64), columns, np.ascontiguousarray(Z).ravel()


def aligned(A: NDArray[Any]) -> NDArray[Any]:
    """A copy whose rows begin and end with cache lines, behind its columns zeros."""
    d, n = A.shape
    per_line = _LINE // A.itemsize
    width = -(-n // per_line) * per_line
    raw = np.empty(d * width * A.itemsize + _LINE, np.uint8)
    shift = -raw.ctypes.data % _LINE
    copy = raw[shift : shift + d * width * A.itemsize].view(A.dtype).reshape(d, width)
    copy[:, :n], copy[:, n:] = A, 0
    return copy


def filled(Z: Matrix) -> float:
    return float(np.count_nonzero(Z.data if sp.issparse(Z) else Z)) / Z.shape[0]


def same_items(X: Matrix, Y: Matrix) -> bool:
    """Whether both sides hold the same rows in the same order."""
    if X is Y or X.shape != Y.shape or sp.issparse(X) != sp.issparse(Y):
        return X is Y
    if not sp.issparse(X):
        return bool((X == Y).all())
    return X.nnz == Y.nnz and all(
        bool((getattr(X, part) == getattr(Y, part)).all())
        for part in ("indptr", "indices", "data")
    )


class Descent(NamedTuple):
    """Where a descent starts, its steps, and what they have led to so far."""

    start: NDArray[Any]
    step: Callable[[Triples], float]
    flops: float  # of a triple
    learned: Callable[[], NDArray[Any]]
    seed: int


class TripleMixin(IterativeMixin):
    """For methods that descend on triples; they may be given one by one."""

    def fit(
        self: Any,
        X: Matrix,
        y: Matrix | None = None,
        relevance: object = None,
        X_val: Matrix | None = None,
        y_val: Matrix | None = None,
        relevance_val: object = None,
        *,
        divided: str | None = None,
        triples: ArrayLike | None = None,
    ) -> Any:
        """Learn which items should score higher, stopping early on validation data."""
        if triples is not None:
            n_x, n_y = np.shape(X)[0], np.shape(X if y is None else y)[0]
            self._triples = _checked(triples, n_x, n_y)
            rows, better, _ = self._triples.T
            relevance = Relevance.from_pairs(rows, better, shape=(n_x, n_y), unjudged="ignore")
        try:
            return super().fit(X, y, relevance, X_val, y_val, relevance_val, divided=divided)
        finally:
            vars(self).pop("_triples", None)

    @property
    def _may_stay(self) -> bool:
        """Whether the start is kept where nothing is clearly better."""
        return True

    @property
    def scales_items(self: Any) -> bool:
        return bool(self.normalize)

    def term_weights(self, x_index: NDArray[np.integer], y_index: NDArray[np.integer]) -> Reals:
        """What products of features of x (m,) and of y (n,) count, (m, n)."""
        raise NotImplementedError

    def _scaled(self: Any, items: Matrix, side: Literal["x", "y"]) -> Matrix:
        return unit_rows(items) if self.normalize else items

    def _source(self: Any, X: Matrix, Y: Matrix, relevance: Relevance, group: int) -> TripleSource:
        links = not relevance.is_identity and same_items(X, Y)
        triples = getattr(self, "_triples", None)
        name = type(self).__name__
        return TripleSource(relevance, links=links, triples=triples, group=group, name=name)

    def _fit_iter(self: Any, X: Matrix, Y: Matrix, relevance: Relevance, validation: Any) -> None:
        """Choose the pass on held-out items, and then learn from all in as many."""
        data, rng = (X, Y, relevance), check_random_state(self.random_state)
        held = HeldOut(data, [], own=False)
        if validation is not None or not hasattr(self, "_triples"):
            held = hold_out_parts(self, data, validation, rng, _WATCHED)
        self._stages, self._done = 1 + held.own, 0
        # As many triples a pair as there will be of all.
        fewest = round(FEWEST * held.data[2].positives.nnz / max(1, relevance.positives.nnz))
        limits = self.max_iter, self.patience
        watch, stopped = self._descend(held.data, held.parts, limits, fewest, rng)
        if self._may_stay and watch.best_iter:
            watch = least_change([watch])
        if held.own and not stopped:
            self._done = len(watch.losses)
            again, _ = self._descend(data, [], (watch.best_iter, 1), FEWEST, rng)
            watch.best, watch.best_iter = again.best, len(again.losses)
        self._take(watch.best)
        watch.record(self)

    def _descend(
        self: Any, data: Data, parts: list[Part], limits: tuple[int, int], fewest: int, rng: Any
    ) -> tuple[Watch, bool]:
        """Make passes until none is better, and whether a callback said stop."""
        X, Y, relevance = data
        source = self._source(X, Y, relevance, getattr(self, "n_negatives", 1))
        X, Y = self._scaled(X, "x"), self._scaled(Y, "y")
        descent = self._begin(X, Y, relevance, source, rng)
        directions = default_directions(relevance)

        def values(theta: NDArray[Any]) -> Values:
            self._take(theta)
            return held_out_values(self, parts, directions)

        def heard(step: int, total: int, **metrics: float) -> bool:
            return bool(self._notify(self._done + step, self._stages * self.max_iter, **metrics))

        self._watch = watch = Watch(descent.start, heard, values if parts else None, limits)
        per_pass = max(fewest, len(source))
        chunk = int(np.clip(_FLOPS_A_CHUNK / max(descent.flops, 1), 50, FEWEST))
        chunk = chunk // source.group * source.group or source.group
        stopped = False
        try:
            if self._may_stay and parts:
                # Not as the best: first passes may fall behind it before later ones are ahead.
                watch.first_values = values(descent.start)
            last = limits[0] == 0
            while not last:
                i, total, done = len(watch.losses) + 1, 0.0, 0
                while done < per_pass:
                    n = min(chunk, per_pass - done)
                    total += descent.step(source.draw(n, descent.seed + i * 1_000_003 + done))
                    if not np.isfinite(total):
                        raise self._diverged(i)
                    done += n
                    watch.tick()
                theta = descent.learned()
                # Scores are made of such weights, two of which may be multiplied.
                limit = float(np.finfo(theta.dtype).max) ** 0.25
                if not -limit < theta.min(initial=0.0) <= theta.max(initial=0.0) < limit:
                    raise self._diverged(i)
                last = watch.step(total / done, theta)
        except Stopped:
            stopped = True
        finally:
            del self._watch
        return watch, stopped

    def _diverged(self, step: int) -> ValueError:
        return ValueError(
            f"{type(self).__name__} diverged in pass {step}: its scores overflow. "
            "Take shorter steps, or scale the items (normalize=True)."
        )

    def iter_similarity(
        self: Any, X: Matrix, y: Matrix | None = None, block_size: int | None = None
    ) -> Iterator[NDArray[np.floating]]:
        watch = getattr(self, "_watch", None)
        for block in super().iter_similarity(X, y, block_size):  # type: ignore[misc]
            yield block
            if watch is not None:
                watch.tick()


def _checked(triples: ArrayLike, n_x: int, n_y: int) -> Triples:
    array = np.asarray(triples)
    is_list = array.ndim == 2 and array.shape[1] == 3 and len(array) > 0
    if not is_list or array.dtype.kind not in "iu":
        raise ValueError(
            "triples are rows of three whole numbers (row of X, better row of y, worse row of y); "
            f"got {array.dtype} of shape {array.shape}."
        )
    limits = (n_x, n_y, n_y)
    if array.min() < 0 or (array.max(axis=0) >= limits).any():
        raise ValueError(
            f"triples name rows of X up to {n_x - 1} and of y up to {n_y - 1}; got "
            f"{array.min(axis=0).tolist()} to {array.max(axis=0).tolist()}."
        )
    return array.astype(np.int32)


def is_dense(Z: Matrix) -> bool:
    """Whether a side is better handled as a dense one, however it is stored."""
    return Z.shape[1] > _WIDE and filled(Z) > _DENSE * Z.shape[1]


class BatchSteps:
    """Gradient steps on U and V, in place, a batch at a time."""

    # A batch takes the steps that its triples ask for at its start. It holds at most a sixteenth
    # of the pairs, so that few steps are taken twice.

    def __init__(
        self,
        X: Matrix,
        Y: Matrix,
        U: NDArray[Any],
        V: NDArray[Any] | None,
        n_pairs: int,
        margin: float,
        rate: float,
        *,
        identity: bool,
    ) -> None:
        self.x, self.y = _Side(X, identity), _Side(Y, identity or V is None)
        self.U, self.V = U, V
        self.x_squares, self.y_squares = squares(X), squares(Y)
        self.size = int(np.clip(n_pairs // 16, 8, 256))
        self.margin, self.rate, self.identity = margin, U.dtype.type(rate), identity

    def __call__(self, triples: Triples) -> float:
        total = 0.0
        for start in range(0, len(triples), self.size):
            columns = np.ascontiguousarray(triples[start : start + self.size].T)
            total += self._batch(*columns)
        return total

    def _batch(self, q: NDArray[Any], plus: NDArray[Any], minus: NDArray[Any]) -> float:
        query, delta = self.x.rows(q), self.y.difference(plus, minus)
        T = self.x.project(q, query, self.U)
        if self.V is None:
            S = delta
        elif delta is None:
            S = self.y.project(plus, None, self.V) - self.y.project(minus, None, self.V)
        else:
            S = delta @ self.V
        gap = _row_products(T, S)
        if self.identity:
            gap += _row_products(query, delta)
        bad = gap < self.margin
        if not bad.any():
            return 0.0
        # Both steps use T and S from before either.
        T, S, rate = T[bad], S[bad], self.rate
        if self.V is not None:
            lengths = self.x_squares[q[bad]], self.y_squares[plus[bad]], self.y_squares[minus[bad]]
            rate = bounded_rates(rate, T, S, *lengths)[:, None]
        T, S = T * rate, S * rate
        self.x.update(q[bad], None if query is None else query[bad], S, self.U)
        if self.V is not None:
            if delta is None:
                self.y.update(plus[bad], None, T, self.V)
                self.y.update(minus[bad], None, -T, self.V)
            else:
                self.y.update(plus[bad], delta[bad], T, self.V)
        return float((self.margin - gap[bad]).sum())


def bounded_rates(rate: Any, T: Any, S: Any, query: Any, plus: Any, minus: Any) -> Array:
    """Steps of triples that change a score by 1 at most, to first order."""
    # The slope of the score is |q|² |S|² + |d+ - d-|² |T|²; longer steps feed on themselves.
    slope = query * (S * S).sum(axis=1) + 2 * (plus + minus) * (T * T).sum(axis=1)
    return np.minimum(rate, 1 / np.maximum(slope, 1e-30)).astype(T.dtype)


def squares(Z: Matrix) -> NDArray[np.floating]:
    sums = Z.multiply(Z).sum(axis=1) if sp.issparse(Z) else np.einsum("ij,ij->i", Z, Z)
    return np.asarray(sums).ravel()


def _row_products(A: Any, B: Any) -> NDArray[np.float64]:
    return np.asarray(np.einsum("ic,ic->i", A, B, dtype=np.float64))


class _Side:
    """Rows of one side: dense batches, or None and kernels that read sparse rows."""

    def __init__(self, Z: Matrix, dense: bool) -> None:
        self.Z, self.dense = Z, dense or is_dense(Z)
        self.parts = None if self.dense else rows_of(sp.csr_array(Z))

    def rows(self, index: NDArray[Any]) -> Any:
        if not self.dense:
            return None
        picked = self.Z[index]
        return np.asarray(picked.toarray() if sp.issparse(picked) else picked)

    def difference(self, plus: NDArray[Any], minus: NDArray[Any]) -> Any:
        return self.rows(plus) - self.rows(minus) if self.dense else None

    def project(self, index: NDArray[Any], rows: Array | None, A: Array) -> Array:
        if rows is not None:
            return np.asarray(rows @ A)
        from simviz.methods._triple_kernels import project_rows

        out = np.empty((len(index), A.shape[1]), A.dtype)
        project_rows(self.parts, index, A, out)
        return out

    def update(self, index: NDArray[Any], rows: Array | None, G: Array, A: Array) -> None:
        if rows is not None:
            A += rows.T @ G
            return
        from simviz.methods._triple_kernels import update_rows

        update_rows(self.parts, index, A.dtype.type(1), G, A)


def frequent_features(X: Matrix, Y: Matrix, max_pairs: int) -> tuple[Index, Index] | None:
    """Features of each side that most items have; None where all make no more pairs than that."""
    d_x, d_y = X.shape[1], Y.shape[1]
    if d_x * d_y <= max_pairs:
        return None
    # A narrow side leaves the other more room than each its half.
    n_x = min(d_x, max(isqrt(max_pairs), max_pairs // d_y, 1))
    sizes = n_x, min(d_y, max(max_pairs // n_x, 1))
    counts = (
        np.bincount(Z.indices[Z.data != 0], minlength=Z.shape[1])
        if sp.issparse(Z)
        else np.count_nonzero(Z, axis=0)
        for Z in (X, Y)
    )
    x, y = (np.sort(np.argsort(-c, kind="stable")[:n]) for c, n in zip(counts, sizes, strict=True))
    return x, y


def row_scorer(X: Matrix, W: NDArray[np.floating], Y: Matrix) -> RowScorer:
    """Blocks of X W Yᵀ."""
    W = W.astype(X.dtype, copy=False)
    return lambda rows: np.asarray(Y @ np.asarray(X[rows] @ W).T).T


def pair_score(X: Matrix, W: NDArray[np.floating], Y: Matrix) -> NDArray[np.floating]:
    """Row-wise xᵀ W y."""
    W = W.astype(X.dtype, copy=False)
    size = max(1, 2**24 // W.shape[1])
    parts = [np.empty(0, X.dtype)]
    for start in range(0, X.shape[0], size):
        rows = slice(start, start + size)
        P = np.asarray(X[rows] @ W)
        product = Y[rows].multiply(P) if sp.issparse(Y) else Y[rows] * P
        parts.append(np.asarray(product.sum(axis=1)).ravel())
    return np.concatenate(parts)
