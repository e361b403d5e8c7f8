"""Exact counts over all pairs, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.evaluation.roc import Roc

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Block = NDArray[np.floating[Any]]


class ColumnCounts:
    """Ranks of some rows within their columns, counted as row blocks pass by.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_listed,)
        Score of each listed pair, column by column.
    indptr : ndarray of int64, shape (n_y + 1,)
        Where each column's listed pairs begin and end.
    dtype : dtype
        Type of the blocks, in which scores are compared.
    """

    def __init__(self, scores: Reals, indptr: Ints, dtype: np.dtype[Any]) -> None:
        column = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        self._indptr, self._column = indptr, column
        self._order = np.lexsort((scores, column))
        self._ordered = scores[self._order].astype(dtype)
        self._lowest = np.full(len(indptr) - 1, np.inf, dtype=dtype)
        listed = np.diff(indptr) > 0
        self._lowest[listed] = self._ordered[indptr[:-1][listed]]
        self._between, self._equal = np.zeros((2, len(scores)), dtype=np.int64)

    def add(self, block: Block) -> None:
        """Count the scores of one block of rows."""
        from simviz.evaluation._kernels import count_columns

        count_columns(block, self._lowest, self._indptr, self._ordered, self._between, self._equal)

    def ranks(self) -> tuple[Ints, Ints]:
        """Above and tied of each listed pair, in the order they were given."""
        n = len(self._order)
        # What lies above a score lies above it or any later one of its column.
        below = np.concatenate([[0], np.cumsum(self._between)])
        higher = below[self._indptr[1:]][self._column] - below[:-1]
        # Repeated scores were counted where they stand first.
        new = np.ones(n, dtype=bool)
        new[1:] = (np.diff(self._column) > 0) | (self._ordered[1:] != self._ordered[:-1])
        first = np.maximum.accumulate(np.where(new, np.arange(n), 0))
        above, tied = np.empty((2, n), dtype=np.int64)
        above[self._order], tied[self._order] = higher, self._equal[first]
        return above, tied


class PooledCounts:
    """Where all scores lie among those of the relevant pairs.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_relevant,)
        Score of each relevant pair.
    dtype : dtype
        Type of the blocks, in which scores are compared.
    """

    def __init__(self, scores: Reals, dtype: np.dtype[Any]) -> None:
        from simviz._numba import n_threads

        self._distinct, self._positives = np.unique(scores, return_counts=True)
        self._ordered = self._distinct.astype(dtype)
        m = len(self._distinct)
        # Row w belongs to worker w; places 2 i + 1 count scores equal to the
        # i-th distinct one, places 2 i those between it and the one before.
        self._counts = np.zeros((n_threads(), 2 * m + 1), dtype=np.int64)
        self._origin, self._per_unit = 0.0, 0.0
        bucket = np.zeros(m, dtype=np.int64)
        n_buckets = min(4 * m + 1, 2**22)
        # Buckets of equal width; one for all where a width would be 0 or infinite.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            span = self._distinct[-1:] - self._distinct[:1]
            per_unit = n_buckets / span
        if m and np.isfinite(span[0]) and np.isfinite(per_unit[0]):
            self._origin, self._per_unit = float(self._distinct[0]), float(per_unit[0])
            bucket = ((self._distinct - self._origin) * self._per_unit).astype(np.int64)
        self._bucket_start = np.searchsorted(
            np.minimum(bucket, n_buckets - 1), np.arange(n_buckets + 1)
        )

    def add(self, block: Block) -> None:
        """Count the scores of one block of rows."""
        from simviz._numba import threads_for
        from simviz.evaluation._kernels import count_between

        if not len(self._ordered):
            self._counts[0, 0] += block.size
            return
        with threads_for(block.size):
            count_between(
                block,
                self._ordered,
                self._origin,
                self._per_unit,
                self._bucket_start,
                self._counts,
            )

    def roc(self, n_known: int = 0) -> Roc:
        """Draw the curve; what is not relevant counts as negative, but for known pairs at −∞."""
        counts = self._counts.sum(axis=0)
        counts[0] -= n_known
        return Roc.from_counts(
            self._distinct, self._positives, counts[1::2] - self._positives, counts[0::2]
        )
