"""Losses in which every item that is not relevant is compared.

Each is a sum over queries of both directions. It walks blocks of similarities,
never holds them all, and keeps its sums in float64.

Rows may be divided among several that work at once. What one has to know of the
others are sums by column alone: `steps` of a loss yields its own share of such a
sum and is sent the whole. Who works alone gets back what it gave.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from copy import copy
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz._numba import threads_for
from simviz.methods._s2net_blocks import Array, FloatBlocks
from simviz.methods._s2net_kernels import (
    WIDTH,
    add_pairs,
    compare_matched,
    compare_rows,
    pair_scores,
    sum_exponentials,
    weigh_exponentials,
)

Reals = NDArray[np.float64]

#: Called once a block; raises where the fit is to stop.
Tick = Callable[[], None]
T = TypeVar("T")
#: Yields a share of a sum over all rows, is sent the sum, and returns a T.
Steps = Generator[Reals, Reals, T]

# float32 holds exp(2γ) · exp(2γ), and a double the product of eight of these, up to here.
_SINGLE_GAMMA = 20.0


def alone(steps: Steps[T]) -> T:
    """What a computation returns that has all the rows itself."""
    share = next(steps)
    while True:
        try:
            share = steps.send(share)
        except StopIteration as end:
            return end.value


class Pairs:
    """Relevant pairs in both orders, and how much each query counts.

    Parameters
    ----------
    positives : CSR array of shape (n_x, n_y)
        Stored entries are relevant.
    direction : {"x2y", "y2x", "both"}
        Which sides ask.
    balanced : bool
        Whether a query counts 1, instead of 1 for each comparison.
    """

    def __init__(self, positives: sp.csr_array, direction: str, balanced: bool) -> None:
        self.shape = positives.shape
        self.indptr = positives.indptr.astype(np.int64)
        self.y = positives.indices.astype(np.int64)
        per_x = np.diff(self.indptr)
        self.x = np.repeat(np.arange(self.shape[0]), per_x)
        self.by_column = np.lexsort((self.x, self.y))
        per_y = np.bincount(self.y, minlength=self.shape[1])
        self.indptr_y = np.concatenate([[0], np.cumsum(per_y)])
        self.matched = max(per_x.max(initial=0), per_y.max(initial=0)) <= 1
        weights = []
        self.total = 0.0
        for asks, own, others in (
            (direction != "y2x", per_x, self.shape[1]),
            (direction != "x2y", per_y, self.shape[0]),
        ):
            comparisons = own * (others - own) * int(asks)
            counted = comparisons > 0
            weight = np.divide(1.0, comparisons, out=np.zeros(len(own)), where=counted)
            weights.append(weight if balanced else counted.astype(np.float64))
            self.total += float(weights[-1] @ comparisons)
        self.x_weight, self.y_weight = weights
        # Where each pair stands among all pairs of all rows, sorted by column.
        self.place = np.empty(len(self.x), dtype=np.int64)
        self.place[self.by_column] = np.arange(len(self.x))
        self.columns_ptr = self.indptr_y

    def of_rows(self, rows: slice) -> Self:
        """The pairs of some rows, which know their places among all."""
        own = copy(self)
        listed = slice(self.indptr[rows.start], self.indptr[rows.stop])
        own.shape = (rows.stop - rows.start, self.shape[1])
        own.indptr = self.indptr[rows.start : rows.stop + 1] - listed.start
        own.x, own.y = self.x[listed] - rows.start, self.y[listed]
        own.by_column = np.lexsort((own.x, own.y))
        per_y = np.bincount(own.y, minlength=self.shape[1])
        own.indptr_y = np.concatenate([[0], np.cumsum(per_y)])
        own.x_weight, own.place = self.x_weight[rows], self.place[listed]
        return own

    def placed(self, values: Reals) -> Reals:
        """A value of each pair at its place among all pairs, 0 for those of other rows."""
        among = np.zeros(self.columns_ptr[-1])
        among[self.place] = values
        return among

    def scores(self, P: Array, Q: Array) -> Reals:
        """Similarity of each pair."""
        out = np.empty(len(self.x))
        pair_scores(P, Q, self.x, self.y, out)
        return out

    def in_block(self, rows: slice) -> tuple[Any, Any]:
        """Where in a block of these rows relevant pairs stand."""
        listed = slice(self.indptr[rows.start], self.indptr[rows.stop])
        return self.x[listed] - rows.start, self.y[listed]

    def spread(self, weights: Reals, blocks: FloatBlocks, scale: float) -> None:
        """Add what derivatives by the pairs' scores are for the vectors."""
        w = (weights * scale).astype(blocks.P.dtype)
        dP, dQ = blocks.gradients()
        with threads_for(len(w) * dP.shape[1]):
            add_pairs(self.indptr, self.y, w, np.arange(len(w)), blocks.Q, dP)
            add_pairs(self.indptr_y, self.x, w, self.by_column, blocks.P, dQ)


class AllOthers:
    """Relevant pairs against all other pairs of their row and their column.

    Parameters
    ----------
    pairs : Pairs
        What is relevant.
    gamma : float
        Slope of the logistic loss log(1 + exp(−γ Δ)).
    margin : float, optional
        Instead, the hinge max(0, margin − Δ).
    """

    def __init__(self, pairs: Pairs, gamma: float, margin: float | None = None) -> None:
        self.pairs, self.gamma, self.margin = pairs, gamma, margin
        self.total = pairs.total

    def of_rows(self, rows: slice) -> Self:
        """The share of some rows."""
        own = copy(self)
        own.pairs = self.pairs.of_rows(rows)
        return own

    def add(self, blocks: FloatBlocks, scale: float, tick: Tick) -> float:
        """Add the gradient of ``scale`` times the loss to the blocks; return the sum."""
        return alone(self.steps(blocks, scale, tick))

    def steps(self, blocks: FloatBlocks, scale: float, tick: Tick) -> Steps[float]:
        """Do likewise with the share of these rows."""
        pairs, hinge = self.pairs, self.margin is not None
        s = pairs.scores(blocks.P, blocks.Q)
        dtype, every = _working_type(blocks.P.dtype, self.gamma)
        factor = s - (self.margin or 0) if hinge else np.exp(-self.gamma * s)
        f_y = yield pairs.placed(factor)
        compare = self._matched if pairs.matched and not hinge else self._general
        rho, rho_y, loss, slope = compare(blocks, factor, f_y, (dtype, every), scale, tick)
        rho_y = yield rho_y
        pairs.spread(-slope * (rho + rho_y[pairs.place]), blocks, scale)
        return loss

    def _matched(
        self, blocks: FloatBlocks, factor: Reals, f_y: Reals, kind: Any, scale: float, tick: Tick
    ) -> tuple[Reals, Reals, float, float]:
        pairs, (dtype, every) = self.pairs, kind
        a, b = (np.zeros(n, dtype) for n in pairs.shape)
        a[pairs.x] = factor * (pairs.x_weight[pairs.x] > 0)
        columns = np.flatnonzero(np.diff(pairs.columns_ptr))
        b[columns] = f_y * (pairs.y_weight[columns] > 0)
        # All queries of a direction have as many comparisons: one weight serves them all.
        weight = max(pairs.x_weight.max(initial=0), pairs.y_weight.max())
        n_chunks = -(-pairs.shape[1] // WIDTH)
        row_sums, column_sums = (np.zeros(n) for n in pairs.shape)
        loss = 0.0
        for rows in blocks:
            S = blocks.entries(rows)
            S[pairs.in_block(rows)] = blocks.nowhere
            r, logs = np.zeros((n_chunks, len(S))), np.zeros(n_chunks)
            compare_matched(
                S, _base_two(self.gamma, dtype), a[rows], b, every, r, column_sums, logs
            )
            row_sums[rows] = r.sum(axis=0)
            loss += float(logs.sum())
            blocks.spread(rows, S, self.gamma * scale * weight)
            tick()
        rho, rho_y = weight * row_sums[pairs.x], weight * column_sums[columns]
        return rho, rho_y, weight * loss, self.gamma

    def _general(
        self, blocks: FloatBlocks, factor: Reals, f_y: Reals, kind: Any, scale: float, tick: Tick
    ) -> tuple[Reals, Reals, float, float]:
        pairs, (dtype, every) = self.pairs, kind
        hinge = self.margin is not None
        slope = 1.0 if hinge else self.gamma
        f, f_y = factor.astype(dtype), f_y.astype(dtype)
        rho, rho_y = np.zeros(len(f)), np.zeros(len(f_y))
        x_weight, y_weight = pairs.x_weight.astype(dtype), pairs.y_weight.astype(dtype)
        loss_y = np.zeros(pairs.shape[1])
        loss = 0.0
        for rows in blocks:
            if hinge:
                E = blocks.scores(rows).astype(dtype, copy=False)
            else:
                E = _exponentials(blocks, rows, self.gamma, dtype)
            E[pairs.in_block(rows)] = -np.inf if hinge else 0
            G = np.zeros_like(E)
            if x_weight.any():
                loss_x = np.zeros(len(E))
                listed = slice(pairs.indptr[rows.start], pairs.indptr[rows.stop])
                ptr = pairs.indptr[rows.start : rows.stop + 1] - listed.start
                compare_rows(
                    E, G, ptr, f[listed], x_weight[rows], hinge, every, rho[listed], loss_x
                )
                loss += float(loss_x.sum())
            if y_weight.any():
                ET, GT = np.ascontiguousarray(E.T), np.zeros(E.shape[::-1], dtype)
                compare_rows(ET, GT, pairs.columns_ptr, f_y, y_weight, hinge, every, rho_y, loss_y)
                G += GT.T
            blocks.spread(rows, G.astype(blocks.P.dtype, copy=False), slope * scale)
            tick()
        return rho, rho_y, loss + float(loss_y.sum()), slope


class Softmax:
    """Each relevant pair against all others of its row, and column, together.

    The loss log(1 + Σ exp(−γ Δ)), known as InfoNCE. Sums over columns are known
    only when all blocks have passed, so they pass twice; few are kept instead.

    Parameters
    ----------
    pairs : Pairs
        What is relevant; a query counts 1 for each of its relevant items.
    gamma : float
        Inverse temperature.
    balanced : bool
        Whether a query counts 1 instead.
    """

    def __init__(self, pairs: Pairs, gamma: float, balanced: bool) -> None:
        self.pairs, self.gamma = pairs, gamma
        self._weights = []
        self.total = 0.0
        for asks, own in (
            (pairs.x_weight > 0, np.diff(pairs.indptr)),
            (pairs.y_weight > 0, np.diff(pairs.indptr_y)),
        ):
            weight = asks / np.maximum(own, 1) if balanced else asks.astype(np.float64)
            self._weights.append(weight)
            self.total += float(weight @ own)

    def of_rows(self, rows: slice) -> Self:
        """The share of some rows."""
        own = copy(self)
        own.pairs = self.pairs.of_rows(rows)
        own._weights = [self._weights[0][rows], self._weights[1]]
        return own

    def add(self, blocks: FloatBlocks, scale: float, tick: Tick) -> float:
        """Add the gradient of ``scale`` times the loss to the blocks; return the sum."""
        return alone(self.steps(blocks, scale, tick))

    def steps(self, blocks: FloatBlocks, scale: float, tick: Tick) -> Steps[float]:
        """Do likewise with the share of these rows."""
        pairs, gamma = self.pairs, self.gamma
        dtype, _ = _working_type(blocks.P.dtype, gamma)
        base = _base_two(gamma, dtype)
        row_sums, column_sums = (np.zeros(n) for n in pairs.shape)
        n_chunks = -(-pairs.shape[1] // WIDTH)
        single = pairs.shape[0] <= blocks.rows
        for rows in blocks:
            S = blocks.entries(rows)
            S[pairs.in_block(rows)] = blocks.nowhere
            r = np.zeros((n_chunks, len(S)))
            sum_exponentials(S, np.array([base]), r, column_sums)
            row_sums[rows] = r.sum(axis=0)
            tick()
        column_sums = yield column_sums
        a = np.exp(-gamma * pairs.scores(blocks.P, blocks.Q))
        loss, rho = 0.0, np.zeros(len(a))
        slopes: list[Any] = []
        for at, sums, weight in (
            (pairs.x, row_sums, self._weights[0]),
            (pairs.y, column_sums, self._weights[1]),
        ):
            ratio = a * sums[at]
            loss += float(weight[at] @ np.log1p(ratio))
            rho += weight[at] * ratio / (1 + ratio)
            slopes.append(np.bincount(at, weight[at] * a / (1 + ratio), minlength=len(sums)))
        slopes[1] = yield slopes[1]
        by_row, by_column = (slope.astype(dtype) for slope in slopes)
        for rows in blocks:
            if not single:  # else the scores are still there
                S = blocks.entries(rows)
                S[pairs.in_block(rows)] = blocks.nowhere
            weigh_exponentials(S, base, by_row[rows], by_column)
            blocks.spread(rows, S, gamma * scale)
            tick()
        pairs.spread(-gamma * rho, blocks, scale)
        return loss


def _working_type(dtype: Any, gamma: float) -> tuple[Any, int]:
    """Type of exponentials, and how many factors a double holds before it must be emptied."""
    return (dtype, 8) if gamma <= _SINGLE_GAMMA else (np.dtype(np.float64), 1)


def _base_two(gamma: float, dtype: Any) -> Any:
    """Factor of scores such that 2 to their power is exp(γ s), in the type to work in."""
    return dtype.type(gamma / np.log(2))


def _exponentials(blocks: FloatBlocks, rows: slice, gamma: float, dtype: Any) -> Array:
    E = blocks.scores(rows, gamma).astype(dtype, copy=False)
    return np.exp(E, out=E)
