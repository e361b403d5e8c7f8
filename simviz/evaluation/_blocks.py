"""Blocks of similarities that can be gone through more than once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.callbacks import Callback
from simviz.exceptions import JobCancelled

Block = NDArray[np.floating[Any]]

#: Entries of a block where no size is asked for.
BLOCK_ENTRIES = 2**22
#: Similarities that fit into this are computed once and kept for the second pass.
KEPT_BYTES = 64 * 2**20


class Blocks:
    """Row blocks of one similarity matrix, checked, with progress.

    Parameters
    ----------
    compute : callable
        Starts a pass: an iterable of blocks (b, n_y), the same each time.
    shape : tuple of int
        Of the whole matrix.
    n_passes : int
        How often the blocks will be gone through.
    callback : callable, optional
        Told the rows done, of all passes.
    """

    def __init__(
        self,
        compute: Callable[[], Iterable[Block]],
        shape: tuple[int, int],
        n_passes: int,
        callback: Callback | None = None,
    ) -> None:
        self.shape = shape
        self._compute = compute
        self._total = n_passes * shape[0]
        self._callback = callback
        self._done = 0
        self._keep = n_passes > 1 and 8 * shape[0] * shape[1] <= KEPT_BYTES
        self._kept: list[Block] | None = None
        self.dtype: np.dtype[Any] = np.dtype(np.float32)

    def __iter__(self) -> Iterator[tuple[int, Block]]:
        """Yield the first row of each block, and the block."""
        kept: list[Block] = []
        start = 0
        for given in self._compute() if self._kept is None else self._kept:
            block = self._checked(np.asarray(given), start)
            # A copy: scorers may fill the same array again and again.
            if self._keep and self._kept is None:
                kept.append(block.copy())
            yield start, block
            start += len(block)
            self._advance(len(block))
        if start != self.shape[0]:
            raise ValueError(
                f"The scorer gave {start} rows of similarities for {self.shape[0]} x items. "
                "It must yield every row once, in order."
            )
        if self._keep and self._kept is None:
            self._kept = kept

    def _checked(self, block: Block, start: int) -> Block:
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
        if start == 0 and self._done == 0:
            self.dtype = block.dtype
        elif block.dtype != self.dtype:
            raise ValueError(
                f"The scorer gave {block.dtype} similarities after {self.dtype} ones. "
                "All blocks must have one type."
            )
        return block

    def _advance(self, n_rows: int) -> None:
        self._done += n_rows
        report(self._callback, self._done, self._total)


def report(callback: Callback | None, done: int, total: int) -> None:
    """Tell the callback how many rows are done; raise `JobCancelled` if it says so."""
    if callback is not None and callback(done, total, {}):
        raise JobCancelled(f"The evaluation was stopped after {done:,} of {total:,} rows.")


def n_items(side: object) -> int:
    """Number of items: rows of a matrix, sparse or not, else its length."""
    shape = getattr(side, "shape", None)
    return int(shape[0]) if shape else len(cast("Sequence[object]", side))


def bounds(n_rows: int, n_columns: int, size: int | None = None) -> Iterator[tuple[int, int]]:
    """First and last row of each block, by default of some 16 MB in float32."""
    size = size or max(16, BLOCK_ENTRIES // max(1, n_columns))
    for start in range(0, n_rows, size):
        yield start, min(n_rows, start + size)


def as_vectors(values: ArrayLike) -> Block:
    """A dense matrix of float32 or float64."""
    array = np.asarray(values)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim != 2:
        raise ValueError(f"Vectors are a matrix, one row an item; got shape {array.shape}.")
    return array
