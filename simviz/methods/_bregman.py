r"""Cyclic Bregman projections of a LogDet divergence onto bounds of distances.

A projection changes B by a multiple of :math:`(Bw)(Bw)^\top`, w being the
difference of a pair of items [1]_. Taken one by one, each would read and write
all of B. Some dozens together need only their Gram matrix
:math:`w_a^\top B w_b`, which is small and changes by its own rank-one updates;
B is then changed once, by a product of matrices. The projections are the very
same, in the same order.

References
----------
.. [1] J. V. Davis, B. Kulis, P. Jain, S. Sra and I. S. Dhillon.
   "Information-theoretic metric learning." ICML, 2007, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz._numba import njit
from simviz.methods._constraints import Constraints

Reals = NDArray[np.float64]

_BLOCK = 64  # projections at a time: their Gram matrix stays in the first-level cache
_SMALLEST = 1e-12  # of its bound: a distance below it is none


class LogDetProjections:
    """Keeps B close to the identity while distances are brought within their bounds."""

    def __init__(
        self,
        P: NDArray[np.floating],
        Q: NDArray[np.floating],
        pairs: Constraints,
        bounds: tuple[float, float],
        gamma: float,
    ) -> None:
        self.P, self.Q, self.pairs, self.gamma = P, Q, pairs, gamma
        self.bounds = np.where(pairs.sign > 0, *bounds)
        self.slack = self.bounds.copy()
        self.multipliers = np.zeros(len(pairs))
        self.B: Reals = np.eye(P.shape[1])

    def sweep(self, tick: Callable[[], None]) -> tuple[float, float]:
        """Project onto every constraint once."""
        violation = change = 0.0
        self.B = self.B.copy()  # whoever holds the last one keeps it
        for first in range(0, len(self.pairs), _BLOCK):
            missed, moved = self._project(slice(first, first + _BLOCK))
            violation += missed
            change += moved
            tick()
        self.B = (self.B + self.B.T) / 2
        total = self.multipliers.sum()
        return violation / max(1, len(self.pairs)), change / total if total else 0.0

    def _project(self, block: slice) -> tuple[float, float]:
        x, y = self.pairs.x[block], self.pairs.y[block]
        W = self.P[x].astype(np.float64) - self.Q[y]
        V = W @ self.B
        T, beta = np.eye(len(W)), np.zeros(len(W))
        missed, moved = _project(
            V @ W.T, self.pairs.sign[block], self.bounds[block], self.gamma,
            self.multipliers[block], self.slack[block], T, beta,
        )  # fmt: skip
        active = beta != 0
        if active.any():
            U = T[active] @ V  # B w, as B was when the pair's turn came
            self.B += (U.T * beta[active]) @ U
        return missed, moved


@njit(fastmath=frozenset({"contract", "reassoc"}))
def _project(
    G: Reals,
    sign: Reals,
    bound: Reals,
    gamma: float,
    multiplier: Reals,
    slack: Reals,
    T: Reals,
    beta: Reals,
) -> Any:
    """Project onto the constraints of a block, by their Gram matrix alone."""
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
