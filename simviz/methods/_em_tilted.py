"""Expectation maximisation where both items of a pair use topics in equal shares."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simviz._numba import threads_for
from simviz.methods import _em_kernels as kernels
from simviz.methods._em import EM, Array, Stopped, Topics, equal_parts


@dataclass
class TiltedEM(EM):
    """Posterior regularisation: expectation under the nearest distribution that agrees.

    Parameters
    ----------
    epsilon : float
        How far a topic's shares in the two items of a pair may be apart.
    n_steps : int
        Steps on the dual for each pair, each time from where they ended before.

    Attributes
    ----------
    gaps : ndarray of float64, shape (n_units,)
        By how much the worst topic of each pair was beyond `epsilon` before
        the last of those steps.
    """

    epsilon: float = 0.0
    n_steps: int = 5
    gaps: Array = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.gaps = np.zeros(self.n_units)
        # A pair costs as many passes over its words as there are steps.
        self._tilt_parts = equal_parts(self.unit_work * self.n_steps, len(self.a))
        shape = (self.n_units, len(self.a))
        self._duals = np.zeros(shape, self.dtype)
        self._tilted = [np.empty(shape, self.dtype) for _ in self.sides]
        words = np.stack([side.totals[side.items] for side in self.sides])
        rates = np.divide(1.0, words, out=np.zeros_like(words), where=(words > 0).all(axis=0))
        self._rates = rates.astype(self.dtype)

    def tilted(self, topics: Topics) -> tuple[list[Array], float]:
        """θ as each side sees it, and what that adds to the objective."""
        x, y = (
            (*side.rows, side.items, self._rates[s], self.phi(topics, s))
            for s, side in enumerate(self.sides)
        )
        epsilon = self.dtype.type(self.epsilon)
        for call, bounds in enumerate(self._tilt_parts):
            if call and self.notify():
                raise Stopped
            with threads_for(self._steps):
                kernels.agree(
                    *(x, y, topics.theta, self._duals, self.n_steps, epsilon, bounds),
                    *(*self._tilted, self.gaps),
                )
        if not 0 < self.epsilon < np.inf:
            return self._tilted, 0.0
        norms = np.abs(self._duals).sum(axis=1, dtype=np.float64)
        return self._tilted, self.epsilon * float(self.weights @ norms)

    def tilted_again(self, theta: Array) -> list[Array]:
        """A new θ as each side sees it, λ being what it is."""
        with threads_for(theta.size):
            for sign, rates, out in zip((-1, 1), self._rates, self._tilted, strict=True):
                kernels.tilt_rows(theta, self._duals, sign * rates, out)
        return self._tilted
