"""Steps on batches of pairs whose others are each other's negatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.base import Matrix
from simviz.methods._s2net_kernels import adam_step
from simviz.relevance import Relevance

Array = NDArray[np.floating]
#: Value and gradient on a batch: x rows, y rows, and the judgments between them.
BatchObjective = Callable[[Matrix, Matrix, Relevance, Array], tuple[float, Array]]

_FEWEST, _SMALLEST = 8, 32  # batches of a pass, unless they were smaller than this


def batches_of_a_pass(n_queries: int, size: int) -> int:
    """How many batches of about so many queries there are, or more where that were few."""
    return max(1, n_queries // min(size, max(_SMALLEST, n_queries // _FEWEST)))


class Batches:
    """Random batches of queries with all items that they were judged with.

    Parameters
    ----------
    X, Y : array or CSR
        Data.
    relevance : Relevance
        Judgments.
    size : int
        Queries of a batch, about; fewer where there would be few batches.
    rng : RandomState
        Shuffles.
    """

    def __init__(self, X: Matrix, Y: Matrix, relevance: Relevance, size: int, rng: Any) -> None:
        self.X, self.Y, self.relevance, self.rng = X, Y, relevance, rng
        self.queries = np.flatnonzero(np.diff(relevance.matrix.indptr))
        self.n = batches_of_a_pass(len(self.queries), size)

    def __iter__(self) -> Iterator[tuple[Matrix, Matrix, Relevance]]:
        """Go through all queries once, in a new order."""
        order = self.rng.permutation(self.queries)
        matrix = self.relevance.matrix
        for rows in np.array_split(order, self.n):
            columns = np.unique(matrix[rows].indices)
            yield self.X[rows], self.Y[columns], self.relevance.take(rows, columns)


class Adam:
    """Adaptive moments, and the running average of the points visited.

    The average is what counts: it needs no schedule of falling rates.

    Parameters
    ----------
    objective : callable
        Value and gradient on a batch.
    rate : float
        Step, as a share of the root mean square of the start.
    """

    def __init__(self, objective: BatchObjective, rate: float) -> None:
        self.objective, self.rate = objective, rate

    def iterate(self, start: Array, batches: Batches) -> Iterator[tuple[float, Array]]:
        """Go through the batches again and again.

        Parameters
        ----------
        start : ndarray of shape (d, k)
            Where to begin; not changed.
        batches : Batches
            Of each pass.

        Yields
        ------
        value : float
            Mean loss of the batches of a pass.
        point : ndarray of shape (d, k)
            The running average, which the next pass changes in place.
        """
        x, average = start.copy(), start.copy()
        mean, square = np.zeros_like(x), np.zeros_like(x)
        scale = float(np.sqrt(np.mean(np.square(x), dtype=np.float64)))
        # The average looks back about one pass.
        decay = 1 - 1 / (1 + batches.n)
        step = 0
        while True:
            total = 0.0
            for X, Y, relevance in batches:
                value, gradient = self.objective(X, Y, relevance, x)
                total += value
                step += 1
                rate = self.rate * scale / (1 - 0.9**step)
                adam_step(x, gradient, mean, square, average, rate, 1 / (1 - 0.999**step), decay)
                del gradient  # the next one is written to the same place
            yield total / batches.n, average
