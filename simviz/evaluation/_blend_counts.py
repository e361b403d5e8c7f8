"""Ranks under every weight of a blend, counted in passes over both similarities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from simviz.callbacks import Callback
from simviz.evaluation._blocks import KEPT_BYTES, report
from simviz.evaluation._judged import Queries

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Block = NDArray[np.floating[Any]]
Side_contra = TypeVar("Side_contra", contravariant=True)

#: Listed pairs whose ranks under all weights are held at a time: 0.2 GB for 101 weights.
MAX_LISTED = 2**18
_BUCKETS = 4_096


class Blendable(Protocol[Side_contra]):
    """Two similarities that can be weighed against each other.

    At the weight α a pair scores ``α * learned + (1 - α) * lexical``, in
    float64.
    """

    def iter_parts(
        self, x: Side_contra, y: Side_contra, /, *, block_size: int | None = None
    ) -> Iterator[tuple[Block, Block]]:
        """Both similarities in blocks of rows, in order.

        Parameters
        ----------
        x, y : matrices or Items
            The two sides.
        block_size : int, optional
            Rows of a block.

        Yields
        ------
        learned, lexical : ndarray of shape (b, n_y)
            The same numbers each time it is called.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Weights, ready for the counting loops.

    Parameters
    ----------
    alphas : ndarray of float64, shape (K,)
        Ascending, in [0, 1].
    """

    alphas: Reals
    inner: Reals = field(init=False)
    bucket_start: Ints = field(init=False)

    def __post_init__(self) -> None:
        inside = self.alphas[(self.alphas > 0) & (self.alphas < 1)]
        limits = inside[[0, -1]] if len(inside) else np.array([0.5, 0.5])
        starts = np.searchsorted(self.alphas, np.arange(_BUCKETS + 1) / _BUCKETS)
        object.__setattr__(self, "inner", limits)
        object.__setattr__(self, "bucket_start", starts.astype(np.int64))

    def __len__(self) -> int:
        return len(self.alphas)

    def steps(self, n_listed: int) -> NDArray[np.int32]:
        """Above and tied of listed pairs as steps over the grid, all 0."""
        return np.zeros((2, n_listed, len(self) + 1), dtype=np.int32)


def counts(steps: NDArray[np.int32]) -> Ints:
    """Above and tied of listed pairs at each weight: shape (2, n_listed, K)."""
    return np.cumsum(steps, axis=-1, dtype=np.int64)[..., :-1]


class PartBlocks:
    """Row blocks of two similarities, checked, with progress.

    Parameters
    ----------
    blend : Blendable
        Gives them.
    x, y : matrices or Items
        The two sides.
    shape : tuple of int
        Of a whole matrix.
    block_size : int or None
        Rows of a block.
    n_passes : int
        How often the blocks will be gone through.
    callback : callable or None
        Told the rows done, of all passes.
    """

    def __init__(
        self,
        blend: Blendable[Any],
        x: object,
        y: object,
        shape: tuple[int, int],
        block_size: int | None,
        n_passes: int,
        callback: Callback | None,
    ) -> None:
        self._compute: Callable[[], Iterable[tuple[Block, Block]]] = lambda: blend.iter_parts(
            x, y, block_size=block_size
        )
        self._shape, self._callback = shape, callback
        self._done, self._total = 0, n_passes * shape[0]
        self._keep = n_passes > 1 and 16 * shape[0] * shape[1] <= KEPT_BYTES
        self._kept: list[tuple[Block, Block]] | None = None

    def __iter__(self) -> Iterator[tuple[int, Block, Block]]:
        """Yield the first row of each block, and both blocks in one floating type."""
        kept: list[tuple[Block, Block]] = []
        start = 0
        for learned, lexical in self._compute() if self._kept is None else self._kept:
            both = self._checked(np.asarray(learned), np.asarray(lexical), start)
            if self._keep and self._kept is None:
                kept.append((both[0].copy(), both[1].copy()))
            yield start, *both
            start += len(both[0])
            self._done += len(both[0])
            report(self._callback, self._done, self._total)
        if start != self._shape[0]:
            raise ValueError(
                f"The blend gave {start} rows of similarities for {self._shape[0]} x items. "
                "It must yield every row once, in order."
            )
        if self._keep and self._kept is None:
            self._kept = kept

    def _checked(self, learned: Block, lexical: Block, start: int) -> tuple[Block, Block]:
        n_x, n_y = self._shape
        if (
            learned.shape != lexical.shape
            or learned.ndim != 2
            or learned.shape[1] != n_y
            or start + len(learned) > n_x
        ):
            raise ValueError(
                f"The blend gave blocks of shape {learned.shape} and {lexical.shape} at row "
                f"{start} of {n_x} x items and {n_y} y items. Both must hold the same rows, with "
                "one column per y item."
            )
        single = learned.dtype == lexical.dtype == np.float32
        dtype = np.float32 if single else np.float64
        return (
            np.ascontiguousarray(learned, dtype=dtype),
            np.ascontiguousarray(lexical, dtype=dtype),
        )


def rank_rows(
    learned: Block, lexical: Block, queries: Queries, start: int, grid: Grid, steps: Any
) -> None:
    """Compare what these rows list with all of the row, into steps of those listed pairs."""
    from simviz._numba import threads_for
    from simviz.evaluation._blend_kernels import compare_rows

    ptr = queries.indptr[start : start + len(learned) + 1]
    listed = queries.candidate[ptr[0] : ptr[-1]]
    with threads_for(learned.size):
        n_wrong = compare_rows(
            learned,
            lexical,
            ptr - ptr[0],
            listed,
            grid.alphas,
            grid.inner,
            grid.bucket_start,
            *steps,
        )
    if n_wrong:
        raise ValueError(
            f"Scores must be finite to be blended, but {n_wrong:,} of {learned.size:,} are not. "
            "Look for empty or infinite vectors; an empty item should score 0."
        )


def rank_columns(
    learned: Block,
    lexical: Block,
    columns: slice,
    indptr: Ints,
    own: tuple[Reals, Reals],
    grid: Grid,
    steps: Any,
) -> None:
    """Compare what some columns list with these rows of them, into steps of the listed pairs."""
    from simviz._numba import threads_for
    from simviz.evaluation._blend_kernels import compare_columns

    with threads_for(len(learned) * (columns.stop - columns.start)):
        compare_columns(
            learned,
            lexical,
            columns.start,
            indptr,
            *own,
            grid.alphas,
            grid.inner,
            grid.bucket_start,
            *steps,
        )


def groups(indptr: Ints, limit: int = MAX_LISTED) -> Iterator[slice]:
    """Runs of queries that together list no more than `limit` pairs, or are one."""
    start, n = 0, len(indptr) - 1
    while start < n:
        stop = int(np.searchsorted(indptr, indptr[start] + limit, side="right")) - 1
        stop = min(max(stop, start + 1), n)
        yield slice(start, stop)
        start = stop
