"""What metric learning shares: pairs to bring together or apart, and a start to bend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz._blas import add_product
from simviz._numba import njit
from simviz._types import Array, Ints, Reals
from simviz.base import LinearPairModel, Matrix, nonzero_rows
from simviz.methods._training import Part, Values, query_values
from simviz.relevance import Relevance

BLOCK = 64  # projections at a time: their Gram matrix stays in the first-level cache
_SMALLEST = 1e-12  # of its bound: a distance below it is none


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """Distinct pairs of items in random order."""

    x: Ints
    y: Ints
    sign: Reals

    def __len__(self) -> int:
        return len(self.sign)

    def take(self, keep: NDArray[Any]) -> Constraints:
        return Constraints(self.x[keep], self.y[keep], self.sign[keep])


def draw_constraints(
    data: tuple[Matrix, Matrix, Relevance], n: int, rng: Any, name: str
) -> Constraints:
    """Draw pairs from judgments, without replacement."""
    # Half of them are relevant pairs; where there are fewer, all of these and the more others.
    # The others are those judged not relevant, or any that are not relevant where unjudged pairs
    # are negative. Pairs of an item without any known feature say nothing and are left out.
    X, Y, relevance = data
    judged = relevance.unjudged == "ignore"
    positives = _codes(relevance.positives)
    negatives = _codes(relevance.negatives)
    if not len(positives) or (judged and not len(negatives)):
        raise ValueError(
            f"{name} sets similar pairs against dissimilar ones; got {len(positives)} relevant "
            f"and {len(negatives)} judged not relevant. Bring both, or set unjudged='negative'."
        )
    similar = rng.permutation(positives)[: max(1, n // 2)]
    n_missing = n - len(similar)
    if not len(negatives):
        dissimilar = _others(positives, relevance.shape, n_missing, rng)
    else:  # those that were judged come first
        dissimilar = rng.permutation(negatives)[:n_missing]
        if not judged:
            # Where an item belongs that has no relevant ones is unknown.
            others = _others(np.union1d(positives, negatives), relevance.shape, n_missing, rng)
            others = others[~relevance.only_rejected[others // relevance.shape[1]]]
            dissimilar = np.concatenate([dissimilar, others])[:n_missing]
    code = np.concatenate([similar, dissimilar])
    sign = np.repeat([1.0, -1.0], [len(similar), len(dissimilar)])
    order = rng.permutation(len(code))
    x, y = np.divmod(code[order], relevance.shape[1])
    pairs = Constraints(x, y, sign[order])
    return pairs.take(nonzero_rows(X)[x] & nonzero_rows(Y)[y])


def _codes(matrix: sp.csr_array) -> Ints:
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return np.sort(rows * matrix.shape[1] + matrix.indices)


def _others(positives: Ints, shape: tuple[int, int], n: int, rng: Any) -> Ints:
    """Draw distinct pairs that are not relevant, uniformly."""
    total = shape[0] * shape[1]
    if total <= 4 * (n + len(positives)):
        free = np.setdiff1d(np.arange(total, dtype=np.int64), positives, assume_unique=True)
        return np.asarray(rng.permutation(free)[:n])
    others = np.empty(0, dtype=np.int64)
    while len(others) < n:
        drawn = rng.randint(total, size=2 * n, dtype=np.int64)
        others = np.setdiff1d(np.union1d(others, drawn), positives, assume_unique=True)
    return np.asarray(rng.permutation(others)[:n])


def bend(model: LinearPairModel, start: LinearPairModel, root: Array) -> None:
    """Make a model the start with its vectors multiplied by a root of the metric."""
    for side in "xy":
        A, offset = getattr(start, f"{side}_projection_"), getattr(start, f"{side}_offset_")
        setattr(model, f"{side}_projection_", (A @ root).astype(A.dtype))
        moved = None if offset is None else (offset @ root).astype(A.dtype)
        setattr(model, f"{side}_offset_", moved)
    if start.x_projection_ is start.y_projection_:
        model.y_projection_ = model.x_projection_
    model.n_components_ = start.n_components_


def bent_values(
    model: LinearPairModel, start: LinearPairModel, part: Part | None, directions: Sequence[str]
) -> Callable[[Array], Values] | None:
    """What held-out queries score where the start's vectors are multiplied by a root."""
    # The vectors are had once: a projection of thousands of terms is not bent for each metric.
    if part is None:
        return None
    X, Y, relevance = part
    P, Q = start.transform(X), start.transform_y(Y)

    def values(root: Array) -> Values:
        U, V = (model._comparable(Z @ root.astype(Z.dtype)) for Z in (P, Q))
        return [query_values(U @ V.T, relevance, directions)]

    return values


class LogDetProjections:
    """Keeps B close to the identity while distances are brought within their bounds."""

    # Cyclic Bregman projections of a LogDet divergence onto bounds of distances (algorithm 1 of
    # Davis et al. 2007). Each changes B by a multiple of (Bw)(Bw)ᵀ, w being the difference of a
    # pair of items. Taken one by one, each would read and write all of B. Some dozens together
    # need only their Gram matrix wᵀBw, which is small and changes by its own rank-one updates; B
    # is then changed once, by a product of matrices. The projections are the very same, in the
    # same order.

    def __init__(
        self, P: Array, Q: Array, pairs: Constraints, bounds: tuple[float, float], gamma: float
    ) -> None:
        self.P, self.Q, self.pairs, self.gamma = P, Q, pairs, gamma
        self.bounds = np.where(pairs.sign > 0, *bounds)
        self.slack = self.bounds.copy()
        self.multipliers = np.zeros(len(pairs))
        # Nearly all time goes into products with B, which have the precision of the vectors.
        self.B: Array = np.eye(P.shape[1], dtype=P.dtype)

    def sweep(self, tick: Callable[[], None]) -> tuple[float, float]:
        """Project onto every constraint once."""
        violation = change = 0.0
        self.B = self.B.copy()  # whoever holds the last one keeps it
        for first in range(0, len(self.pairs), BLOCK):
            missed, moved = self._project(slice(first, first + BLOCK))
            violation += missed
            change += moved
            tick()
        self.B = (self.B + self.B.T) / 2
        total = self.multipliers.sum()
        return violation / max(1, len(self.pairs)), change / total if total else 0.0

    def _project(self, block: slice) -> tuple[float, float]:
        x, y = self.pairs.x[block], self.pairs.y[block]
        W = self.P[x] - self.Q[y]
        V = W @ self.B
        T, beta = np.eye(len(W)), np.zeros(len(W))
        missed, moved = _project(
            V.astype(np.float64) @ W.T, self.pairs.sign[block], self.bounds[block], self.gamma,
            self.multipliers[block], self.slack[block], T, beta,
        )  # fmt: skip
        active = beta != 0
        if active.any():
            U = T[active] @ V  # B w, as B was when the pair's turn came
            add_product(self.B, (U * beta[active, None]).T, U)
        return missed, moved


@njit(fastmath=frozenset({"contract", "reassoc"}))
def _project(
    G: Any, sign: Any, bound: Any, gamma: float, multiplier: Any, slack: Any, T: Any, beta: Any
) -> Any:
    # G, of wᵀBw, is overwritten on and above its diagonal. Of constraint c, ``T[c] @ V`` becomes
    # Bw as it is on its turn, V being Bw as it was at the start of the block, and ``beta[c]``
    # the weight of its update.
    rate = gamma / (gamma + 1)
    missed, moved = 0.0, 0.0
    for c in range(len(sign)):
        for e in range(c):
            if beta[e] != 0:
                share = beta[e] * G[e, c]
                for j in range(e + 1):
                    T[c, j] += share * T[e, j]
        p, delta = G[c, c], sign[c]
        if p <= _SMALLEST * bound[c]:
            continue
        missed += max(0.0, delta * (p - bound[c]) / bound[c])
        a = min(multiplier[c], delta * rate * (1 / p - 1 / slack[c]))
        if a == 0:
            continue
        multiplier[c] -= a
        moved += abs(a)
        slack[c] = 1 / (1 / slack[c] + delta * a / gamma)
        beta[c] = delta * a / (1 - delta * a * p)
        for i in range(c + 1, len(sign)):
            share = beta[c] * G[c, i]
            for j in range(i, len(sign)):
                G[i, j] += share * G[c, j]
    return missed, moved
