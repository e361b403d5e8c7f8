"""Blocks of similarities: going through them, and counting in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz._types import Ints, Reals
from simviz.callbacks import Callback
from simviz.evaluation.roc import Roc
from simviz.exceptions import JobCancelled
from simviz.ranking import Ranking
from simviz.relevance import Relevance

if TYPE_CHECKING:
    from simviz.evaluation.result import Pool

Block = NDArray[np.floating[Any]]

#: Entries of a block where no size is asked for.
BLOCK_ENTRIES = 2**22
#: Similarities that fit into this are computed once and kept for the second pass.
CACHE_BYTES = 64 * 2**20
#: Scores within a margin that are kept, of one block and of all. Beyond, a second pass is cheaper.
ROOM, MAX_KEPT = 2**20, 2**23
#: Columns that one thread goes through; its share of the counts stays in cache.
STRIP = 256


class Blocks:
    """Row blocks of one similarity matrix, checked, with progress."""

    _source, _n_matrices = "The scorer", 1

    def __init__(
        self,
        compute: Callable[[], Iterable[Any]],
        shape: tuple[int, int],
        n_passes: int,
        callback: Callback | None = None,
    ) -> None:
        self.shape = shape
        self._compute = compute
        self._total = n_passes * shape[0]
        self._callback = callback
        self._done = 0
        self._keep = n_passes > 1 and 8 * self._n_matrices * shape[0] * shape[1] <= CACHE_BYTES
        self._cached: list[tuple[Block, ...]] | None = None
        self._dtype: np.dtype[Any] | None = None

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Yield the first row of each block, and the block (or both blocks)."""
        keeps = self._keep and self._cached is None
        cached: list[tuple[Block, ...]] = []
        start = 0
        for computed in self._compute() if self._cached is None else self._cached:
            blocks = self._checked(computed if isinstance(computed, tuple) else (computed,), start)
            # Copies: scorers may fill the same array again and again.
            if keeps:
                cached.append(tuple(block.copy() for block in blocks))
            yield start, *blocks
            start += len(blocks[0])
            self._done += len(blocks[0])
            report(self._callback, self._done, self._total)
        if start != self.shape[0]:
            raise ValueError(
                f"{self._source} gave {start} rows of similarities for {self.shape[0]} x items. "
                "It must yield every row once, in order."
            )
        if keeps:
            self._cached = cached

    def _checked(self, values: tuple[Any, ...], start: int) -> tuple[Block, ...]:
        block = np.asarray(values[0])
        if block.dtype not in (np.float32, np.float64):
            block = block.astype(np.float64)
        stop = start + (len(block) if block.ndim else 0)
        if block.ndim != 2 or block.shape[1] != self.shape[1] or stop > self.shape[0]:
            raise ValueError(
                f"The scorer gave a block of shape {block.shape} at row {start} of "
                f"{self.shape[0]} x items and {self.shape[1]} y items. "
                "It must yield every row once, with one column per y item."
            )
        # Scores of both passes are compared bit by bit, in one type.
        if self._dtype is not None and block.dtype != self._dtype:
            raise ValueError(
                f"The scorer gave {block.dtype} similarities after {self._dtype} ones. "
                "All blocks must have one type."
            )
        self._dtype = block.dtype
        return (block,)


class BlockPairs(Blocks):
    """Row blocks of two similarities of the same pairs."""

    _source, _n_matrices = "The blend", 2

    def _checked(self, values: tuple[Any, ...], start: int) -> tuple[Block, ...]:
        learned, lexical = map(np.asarray, values)
        n_x, n_y = self.shape
        is_whole = learned.shape == lexical.shape and learned.ndim == 2
        if not is_whole or learned.shape[1] != n_y or start + len(learned) > n_x:
            raise ValueError(
                f"The blend gave blocks of shape {learned.shape} and {lexical.shape} at row "
                f"{start} of {n_x} x items and {n_y} y items. Both must hold the same rows, with "
                "one column per y item."
            )
        single = learned.dtype == lexical.dtype == np.float32
        dtype = np.float32 if single else np.float64
        return tuple(np.ascontiguousarray(part, dtype=dtype) for part in (learned, lexical))


def report(callback: Callback | None, done: int, total: int) -> None:
    """Tell the callback how many rows are done; raise `JobCancelled` if it says so."""
    if callback is not None and callback(done, total, {}):
        raise JobCancelled(f"The evaluation was stopped after {done:,} of {total:,} rows.")


def n_items(side: object) -> int:
    shape = getattr(side, "shape", None)
    return int(shape[0]) if shape else len(cast("Sequence[object]", side))


def bounds(n_rows: int, n_columns: int, size: int | None = None) -> Iterator[tuple[int, int]]:
    """First and last row of each block, by default of some 16 MB in float32."""
    size = size or max(16, BLOCK_ENTRIES // max(1, n_columns))
    for start in range(0, n_rows, size):
        yield start, min(n_rows, start + size)


def as_vectors(values: ArrayLike) -> Block:
    array = np.asarray(values)
    if array.ndim != 2:
        raise ValueError(f"Vectors are a matrix, one row an item; got shape {array.shape}.")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def vectors_of(scorer: object, x: object, y: object) -> tuple[Block, Block] | None:
    """Two sides as vectors whose products are the scores, if the scorer has them."""
    offer = getattr(scorer, "factors", None)
    factors = None if offer is None else offer(x, y)
    if factors is None:
        return None
    P, Q = factors
    return (P, Q) if P.dtype == Q.dtype and P.dtype in (np.float32, np.float64) else None


def similarities(
    scorer: Any, x: object, y: object, vectors: tuple[Block, Block] | None, block_size: int | None
) -> Iterable[Block]:
    if vectors is None:
        return cast("Iterable[Block]", scorer.iter_similarity(x, y, block_size=block_size))
    P, Q = vectors
    return (P[a:b] @ Q.T for a, b in bounds(len(P), len(Q), block_size))


def similarity_blocks(
    scorer: object,
    x: object,
    y: object,
    n_passes: int,
    block_size: int | None,
    callback: Callback | None,
) -> Blocks:
    compute = partial(similarities, scorer, x, y, vectors_of(scorer, x, y), block_size)
    return Blocks(compute, (n_items(x), n_items(y)), n_passes, callback)


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Judged pairs, query by query, in a CSR-like layout."""

    indptr: Ints
    candidate: Ints
    grade: Reals
    stored: Ints
    n_candidates: int | Ints | None

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def query(self) -> Ints:
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    def part(self, start: int, stop: int) -> Queries:
        """Some queries by themselves, all ranked against candidates as numerous."""
        ptr = self.indptr[start : stop + 1]
        inside = slice(int(ptr[0]), int(ptr[-1]))
        columns = self.candidate[inside], self.grade[inside], self.stored[inside]
        size = self.n_candidates
        sizes = size[start:stop] if isinstance(size, np.ndarray) else size
        return Queries(ptr - ptr[0], *columns, sizes)

    def ranking(self, above: Ints, tied: Ints) -> Ranking:
        """Keep what metrics need: all pairs in a judged pool, else the relevant ones."""
        if self.n_candidates is None:
            sizes = np.diff(self.indptr)
            return Ranking(self.indptr, self.candidate, self.grade, above, tied, sizes)
        keep = self.grade > 0
        indptr = np.concatenate([[0], np.cumsum(keep)])[self.indptr]
        sizes = np.full(len(self), self.n_candidates, dtype=np.int64)
        return Ranking(
            indptr, self.candidate[keep], self.grade[keep], above[keep], tied[keep], sizes
        )


def queries_of(
    relevance: Relevance, pool: Pool, known: sp.csr_array | None = None
) -> tuple[Queries, Queries]:
    """See the pairs from the x side, and from the y side."""
    matrix = relevance.matrix
    n_x, n_y = relevance.shape
    indptr, column = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    row = np.repeat(np.arange(n_x), np.diff(indptr))
    grade = np.asarray(matrix.data, dtype=np.float64)
    if relevance.kind == "score":
        grade = np.where(relevance.positive, 1.0, -1.0)
    order = np.lexsort((row, column))
    column_ptr = np.searchsorted(column[order], np.arange(n_y + 1))
    sizes: tuple[int | Ints | None, int | Ints | None] = (n_y, n_x)
    if pool == "judged":
        sizes = None, None
    elif known is not None:
        by_row = np.diff(known.indptr).astype(np.int64)
        sizes = n_y - by_row, n_x - np.bincount(known.indices, minlength=n_y)
    of_x = Queries(indptr, column, grade, np.arange(len(row)), sizes[0])
    return of_x, Queries(column_ptr, row[order], grade[order], order, sizes[1])


class ColumnCounts:
    """Ranks of judged rows within their columns, counted as row blocks pass by."""

    # The scores of the judged pairs are known beforehand: exactly, or up to a margin. What lies
    # within a margin is kept, and compared once they are known to the last bit.

    def __init__(self, scores: Reals, queries: Queries, margin: Reals | None = None) -> None:
        indptr, column = queries.indptr, queries.query
        self._indptr, self._column = indptr, column
        self._order = np.lexsort((scores, column))
        self._ordered = scores[self._order]
        n_y = len(queries)
        # One margin a column, so that its judged scores keep their order.
        self._margin = np.zeros(n_y)
        if margin is not None:
            np.maximum.at(self._margin, column, margin)
        self._floor = np.full(n_y, np.inf)
        listed = np.diff(indptr) > 0
        self._floor[listed] = self._ordered[indptr[:-1][listed]] - self._margin[listed]
        self._above, self._equal = np.zeros((2, len(column)), dtype=np.int64)
        n_strips = max(1, -(-n_y // STRIP))
        room = 0 if margin is None else max(1, ROOM // n_strips)
        self._place = np.empty((n_strips, room), dtype=np.int64)
        self._value = np.empty((n_strips, room))
        self._n_kept = np.zeros(n_strips, dtype=np.int64)
        self._kept: list[tuple[Ints, Reals]] = []
        self._total = 0
        #: Whether `ranks` will know; a margin without bound tells nothing.
        is_bounded = np.isfinite(self._margin).all() and np.isfinite(scores).all()
        self.is_exact = margin is None or bool(is_bounded)

    @classmethod
    def of_products(cls, P: Block, Q: Block, queries: Queries) -> ColumnCounts:
        """Counts of products, whose judged scores are known up to rounding."""
        row, column = queries.candidate, queries.query
        # A length that overflows makes a margin without bound, which is told apart later.
        with np.errstate(over="ignore", invalid="ignore"):
            about = np.empty(len(row))
            for a, b in bounds(len(row), P.shape[1]):
                products = np.einsum("ik,ik->i", P[row[a:b]], Q[column[a:b]], dtype=np.float64)
                about[a:b] = products
            lengths = [np.sqrt(np.einsum("ik,ik->i", Z, Z, dtype=np.float64)) for Z in (P, Q)]
            # A product of k terms, summed in any order, is off by at most k u / (1 - k u) |p| |q|
            # with the unit roundoff u (Higham, Accuracy and Stability of Numerical Algorithms,
            # 2nd edition, section 3.1).
            unit = np.finfo(P.dtype).eps / 2
            # Eight more terms pay for the rounding of what is computed here.
            margin = unit * (P.shape[1] + 8) * 1.01 * lengths[0][row] * lengths[1][column]
            # Products too small for the type are rounded in steps of its smallest number.
            margin[margin > 0] += P.shape[1] * np.finfo(P.dtype).smallest_subnormal
        return cls(about, queries, margin)

    def add(self, block: Block) -> None:
        from simviz.evaluation._kernels import count_columns

        if not self.is_exact:
            return
        known = self._floor, self._margin, self._indptr, self._ordered
        arrays = (*known, self._above, self._equal, self._place, self._value, self._n_kept)
        count_columns(block, *arrays)
        if not self._n_kept.any():
            return
        room = self._place.shape[1]
        self._total += int(self._n_kept.sum())
        self.is_exact = self._total <= MAX_KEPT and int(self._n_kept.max()) <= room
        if self.is_exact:
            inside = np.arange(room) < self._n_kept[:, None]
            self._kept.append((self._place[inside], self._value[inside]))

    def ranks(self, scores: Reals) -> tuple[Ints, Ints]:
        """Above and tied of each judged pair, whose exact scores are given."""
        n, exact = len(self._order), scores[self._order]
        # What lies above a score lies above it or any later one of its column.
        below = np.concatenate([[0], np.cumsum(self._above)])
        higher = below[self._indptr[1:]][self._column] - below[:-1]
        # Repeated scores were counted where they stand first.
        new = np.ones(n, dtype=bool)
        new[1:] = (np.diff(self._column) > 0) | (self._ordered[1:] != self._ordered[:-1])
        new |= self._margin[self._column] > 0
        equal = self._equal[np.maximum.accumulate(np.where(new, np.arange(n), 0))]
        for place, value in self._kept:
            higher += np.bincount(place[value > exact[place]], minlength=n)
            equal += np.bincount(place[value == exact[place]], minlength=n)
        above, tied = np.empty((2, n), dtype=np.int64)
        above[self._order], tied[self._order] = higher, equal
        return above, tied


def buckets(ordered: Reals, n_buckets: int) -> tuple[float, float, Ints]:
    """Where to look for a score among distinct sorted ones: origin, buckets a unit, starts."""
    bucket = np.zeros(len(ordered), dtype=np.int64)
    origin, per_unit = 0.0, 0.0
    # Buckets of equal width; one for all where a width would be 0 or infinite.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        span = ordered[-1:] - ordered[:1]
        widths = n_buckets / span
    if len(ordered) and np.isfinite(span[0]) and np.isfinite(widths[0]):
        origin, per_unit = float(ordered[0]), float(widths[0])
        bucket = np.minimum(((ordered - origin) * per_unit).astype(np.int64), n_buckets - 1)
    return origin, per_unit, np.searchsorted(bucket, np.arange(n_buckets + 1))


class PooledCounts:
    """Where all scores lie among those of the relevant pairs."""

    def __init__(self, scores: Reals) -> None:
        from simviz._numba import n_threads

        self._distinct, self._positives = np.unique(scores, return_counts=True)
        m = len(self._distinct)
        # Row w belongs to worker w; places 2 i + 1 count scores equal to the
        # i-th distinct one, places 2 i those between it and the one before.
        self._counts = np.zeros((n_threads(), 2 * m + 1), dtype=np.int64)
        self._buckets = buckets(self._distinct, min(4 * m + 1, 2**22))

    def add(self, block: Block) -> None:
        from simviz._numba import threads_for
        from simviz.evaluation._kernels import count_between

        if not len(self._distinct):
            self._counts[0, 0] += block.size
            return
        with threads_for(block.size):
            count_between(block, self._distinct, *self._buckets, self._counts)

    def roc(self, n_known: int = 0) -> Roc:
        """Draw the curve; what is not relevant counts as negative, but for known pairs at −∞."""
        counts = self._counts.sum(axis=0)
        counts[0] -= n_known
        negatives, between = counts[1::2] - self._positives, counts[0::2]
        return Roc.from_counts(self._distinct, self._positives, negatives, between)
