"""Steps on batches of pairs whose others are each other's negatives."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.base import Matrix
from simviz.methods._s2net_kernels import adam_step, add_scaled
from simviz.relevance import Relevance

Array = NDArray[np.floating]
#: Value and gradient on a batch: x rows, y rows, and the judgments between them.
BatchObjective = Callable[[Matrix, Matrix, Relevance, Array], tuple[float, Array]]

_FEWEST, _SMALLEST = 8, 32  # batches of a pass, unless they were smaller than this


def batches_of_a_pass(n_queries: int, size: int) -> int:
    """How many batches of about so many queries there are, or more where that were few."""
    return max(1, n_queries // min(size, max(_SMALLEST, n_queries // _FEWEST)))


class Batches:
    """Random batches of queries with all items that they were judged with."""

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
    """Adaptive moments, and the running average of the points visited."""

    # The average is what counts: it needs no schedule of falling rates.

    def __init__(self, objective: BatchObjective, rate: float) -> None:
        self.objective, self.rate = objective, rate

    def iterate(self, start: Array, batches: Batches) -> Iterator[tuple[float, Array]]:
        """Go through the batches again and again."""
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


Function = Callable[[Array], tuple[float, Array]]

_PAIRS = (3, 8)  # fewest and most steps remembered
_MEMORY = 2**30  # bytes that they may take
_TRIALS = 12
_DECREASE, _CURVATURE = 1e-4, 0.9  # the weak Wolfe conditions


def inner(a: Array, b: Array) -> float:
    """Inner product of two matrices, summed in float64 over rows."""
    return float(np.einsum("ik,ik->i", a, b).sum(dtype=np.float64))


class LBFGS:
    """Minimise a smooth function by limited-memory BFGS."""

    def __init__(self, function: Function, first_step: float) -> None:
        self.function, self.first_step = function, first_step

    def iterate(self, start: Array) -> Iterator[tuple[float, Array]]:
        """Go down step by step."""
        x = start
        value, gradient = self.function(x)
        n_pairs = int(np.clip(_MEMORY // max(1, 2 * x.nbytes), *_PAIRS))
        pairs: deque[tuple[Array, Array, float]] = deque(maxlen=n_pairs)
        while (size := inner(gradient, gradient)) > 0:
            direction = _direction(gradient, pairs)
            slope = inner(gradient, direction)
            if slope >= 0:  # rounding has spoilt the memory
                pairs.clear()
                direction, slope = -gradient, -size
            step = 1.0
            if not pairs:
                length = np.sqrt(inner(x, x)) or 1.0
                step = self.first_step * length / np.sqrt(inner(direction, direction))
            found = self._search(x, value, direction, slope, step)
            if found is None:
                if not pairs:
                    return
                pairs.clear()  # try once more, straight down
                continue
            value, new, new_gradient = found
            s, y = new - x, new_gradient - gradient
            curvature, change = inner(s, y), inner(y, y)
            if curvature > 1e-10 * change:
                pairs.append((s, y, curvature))
            x, gradient = new, new_gradient
            yield value, x

    def _search(
        self, x: Array, value: float, direction: Array, slope: float, step: float
    ) -> tuple[float, Array, Array] | None:
        """A step that goes down enough and flattens the slope, by bisection."""
        low, high = 0.0, np.inf
        best = None
        for _ in range(_TRIALS):
            point = x.copy()
            add_scaled(direction, x.dtype.type(step), point)
            reached, gradient = self.function(point)
            if not reached <= value + _DECREASE * step * slope:
                high = step
            else:
                best = reached, point, gradient
                if inner(gradient, direction) >= _CURVATURE * slope:
                    return best
                low = step
            step = 2 * low if high == np.inf else (low + high) / 2
        return best


def _direction(gradient: Array, pairs: deque[tuple[Array, Array, float]]) -> Array:
    """Minus the inverse Hessian times the gradient, by the two-loop recursion."""
    r = -gradient
    shares = []
    for s, y, curvature in reversed(pairs):
        share = inner(s, r) / curvature
        add_scaled(y, r.dtype.type(-share), r)  # without another array of that size
        shares.append(share)
    if pairs:
        s, y, curvature = pairs[-1]
        r *= r.dtype.type(curvature / inner(y, y))
    for (s, y, curvature), share in zip(pairs, reversed(shares), strict=True):
        add_scaled(s, r.dtype.type(share - inner(y, r) / curvature), r)
    return r
