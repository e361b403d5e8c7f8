"""Losses over judged pairs, and what is chosen from all others."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.methods._s2net_blocks import FloatBlocks
from simviz.methods._s2net_dense import Pairs, Reals, Tick
from simviz.methods._s2net_kernels import HINGE, compare_listed

Ints = NDArray[np.int64]

_GROUP = 4096  # judged pairs that are compared with one another where no query has two


class Order:
    """Judged pairs of each query, by grade.

    Parameters
    ----------
    query : ndarray of int, shape (n,)
        Whose judgment each pair is.
    grade : ndarray of shape (n,)
        Its grade.
    balanced : bool
        Whether a query counts 1, instead of 1 for each comparison.
    """

    def __init__(self, query: Ints, grade: Reals, balanced: bool) -> None:
        self.order = np.lexsort((grade, query))
        q, g = query[self.order], grade[self.order]
        first = np.flatnonzero(np.r_[True, q[1:] != q[:-1]][: len(q)])
        self.ptr = np.r_[first, len(q)].astype(np.int64)
        sizes = np.diff(self.ptr)
        # The first pair of its grade tells how many of the query are graded lower.
        new = np.r_[True, (q[1:] != q[:-1]) | (g[1:] != g[:-1])][: len(q)]
        start = np.maximum.accumulate(np.where(new, np.arange(len(q)), 0))
        self.lower = start - np.repeat(first, sizes)
        comparisons = np.add.reduceat(self.lower, first) if len(q) else np.zeros(0)
        self.weight = np.ones(len(sizes))
        if balanced:
            self.weight = 1.0 / np.maximum(comparisons, 1)
        self.total = float(self.weight @ comparisons)

    def add(self, kind: int, gamma: float, margin: float, s: Reals, slopes: Reals) -> float:
        """Add derivatives by the scores to `slopes`; return the summed loss."""
        if not self.total:
            return 0.0
        ordered = s[self.order]
        if kind == HINGE:
            high, low, slope = -ordered, ordered, 1.0
        else:
            high, low, slope = np.exp(-gamma * ordered), np.exp(gamma * ordered), gamma
        out, loss = np.zeros(len(ordered)), np.zeros(len(self.weight))
        compare_listed(kind, high, low, self.ptr, self.lower, self.weight, margin, out, loss)
        slopes[self.order] += slope * out
        return float(loss.sum())


class Listed:
    """Judged pairs against pairs of lower grade, of the same query.

    Where no query has two grades, all judged pairs are compared, in random
    groups of some thousands.

    Parameters
    ----------
    judged : CSR array of shape (n_x, n_y)
        Grades.
    settings : tuple
        Kind of loss, γ, margin, direction, and whether queries are balanced.
    rng : RandomState
        Draws the groups.
    pooled : bool, default=True
        Whether pairs of different queries may be compared at all.
    """

    def __init__(
        self, judged: sp.csr_array, settings: tuple[int, float, float, str, bool], rng: Any,
        *, pooled: bool = True,
    ) -> None:  # fmt: skip
        self.kind, self.gamma, self.margin, direction, balanced = settings
        self.pairs = Pairs(judged, direction, balanced)
        x, y, grade = self.pairs.x, self.pairs.y, judged.data
        sides = {"x2y": (x,), "y2x": (y,), "both": (x, y)}[direction]
        self.orders = [Order(q.astype(np.int64), grade, balanced) for q in sides]
        self.total = sum(order.total for order in self.orders)
        if not self.total and pooled and len(grade):
            groups = rng.permutation(len(grade)) // _GROUP
            self.orders = [Order(groups, grade, balanced)]
            self.total = self.orders[0].total

    def add(self, blocks: FloatBlocks, scale: float, tick: Tick) -> float:
        """Add the gradient of ``scale`` times the loss to the blocks; return the sum."""
        s = self.pairs.scores(blocks.P, blocks.Q)
        slopes = np.zeros(len(s))
        loss = sum(o.add(self.kind, self.gamma, self.margin, s, slopes) for o in self.orders)
        self.pairs.spread(slopes, blocks, scale)
        tick()
        return loss


class Hardest:
    """Relevant pairs against the most similar others of each query.

    They are looked for anew at every evaluation.

    Parameters
    ----------
    positives : CSR array of shape (n_x, n_y)
        Stored entries are relevant.
    n_hard : int
        How many others of each query.
    settings : tuple
        As for `Listed`.
    """

    def __init__(
        self, positives: sp.csr_array, n_hard: int, settings: tuple[int, float, float, str, bool]
    ) -> None:
        self.n_hard = n_hard
        kind, gamma, margin, direction, balanced = settings
        self._settings = (kind, gamma, margin, "x2y", balanced)
        relevant = _signs(positives, 1.0)
        self._sides = []
        self.total = 0.0
        for name, matrix in (("x2y", relevant), ("y2x", sp.csr_array(relevant.T))):
            if direction not in (name, "both"):
                continue
            own = np.diff(matrix.indptr)
            comparisons = own * np.minimum(n_hard, matrix.shape[1] - own)
            self.total += float((comparisons > 0).sum() if balanced else comparisons.sum())
            self._sides.append((matrix, name == "y2x"))

    def add(self, blocks: FloatBlocks, scale: float, tick: Tick) -> float:
        """Add the gradient of ``scale`` times the loss to the blocks; return the sum."""
        loss = 0.0
        for relevant, turned in self._sides:
            seen = blocks.turned() if turned else blocks
            judged = relevant + self._hardest(seen, relevant, tick)
            listed = Listed(judged, self._settings, None, pooled=False)
            loss += listed.add(seen, scale, tick)
        return loss

    def _hardest(self, blocks: FloatBlocks, relevant: sp.csr_array, tick: Tick) -> sp.csr_array:
        """The most similar others of each row, marked −1."""
        n = relevant.shape[1]
        h = min(self.n_hard, n)
        x, y = [], []
        for rows in blocks:
            S = blocks.scores(rows)
            ptr = relevant.indptr[rows.start : rows.stop + 1]
            inside = np.repeat(np.arange(len(S)), np.diff(ptr))
            S[inside, relevant.indices[ptr[0] : ptr[-1]]] = -np.inf
            top = np.argpartition(S, n - h, axis=1)[:, n - h :]
            row, rank = np.nonzero(np.isfinite(np.take_along_axis(S, top, axis=1)))
            x.append(row + rows.start)
            y.append(top[row, rank])
            tick()
        rows_, columns = np.concatenate(x), np.concatenate(y)
        return sp.csr_array((np.full(len(rows_), -1.0), (rows_, columns)), relevant.shape)


class SquaredError:
    """Half the squared error of every similarity, 1 where relevant and 0 elsewhere.

    The sum over all pairs is that of two small Gram matrices,
    Σ s² = ⟨PᵀP, QᵀQ⟩, so nothing of size n² is computed.

    Parameters
    ----------
    target : CSR array of shape (n_x, n_y)
        What the similarity of each listed pair should be.
    others : float
        Weight of a pair that is not listed, whose similarity should be 0.
    """

    def __init__(self, target: sp.csr_array, others: float) -> None:
        self.pairs = Pairs(target, "both", balanced=False)
        self.target, self.others = target.data, others
        n_others = np.prod(target.shape, dtype=float) - target.nnz
        self.total = float(target.nnz + others * n_others)

    def add(self, blocks: FloatBlocks, scale: float, tick: Tick) -> float:
        """Add the gradient of ``scale`` times the loss to the blocks; return the sum."""
        s = self.pairs.scores(blocks.P, blocks.Q)
        error = s - self.target
        loss = float(error @ error - self.others * (s @ s)) / 2
        if self.others:
            dP, dQ = blocks.gradients()
            x_gram, y_gram = (Z.T @ Z for Z in (blocks.P, blocks.Q))
            loss += self.others * float(np.sum(x_gram * y_gram, dtype=np.float64)) / 2
            weight = blocks.P.dtype.type(scale * self.others)
            dP += blocks.P @ (y_gram * weight)
            dQ += blocks.Q @ (x_gram * weight)
        self.pairs.spread(error - self.others * s, blocks, scale)
        tick()
        return loss


def _signs(matrix: sp.csr_array, value: float) -> sp.csr_array:
    """The same entries, each with one value."""
    return sp.csr_array((np.full(matrix.nnz, value), matrix.indices, matrix.indptr), matrix.shape)
