"""Expectation maximisation where the prior of the topics is learned too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import psi

from simviz.methods._em import EM, Array, Progress, Stopped, Topics, blocks

_LEAST = 1e-3  # of a topic's prior: below, a topic could never come back
_FIRST = 10  # steps after which topics differ enough to tell their priors


@dataclass
class LearnedPriorEM(EM):
    """Follows each step, from the tenth on, by one towards the likeliest prior."""

    _n_done: int = 0

    def step(self, topics: Topics) -> Progress:
        """Replace θ, φ and the prior by better ones; see `EM.step`."""
        before = self.a
        try:
            progress = super().step(topics)
        except Stopped:
            self.a = before
            raise
        self._n_done += 1
        return progress

    def _share(self, counts: Array) -> None:
        if self._n_done >= _FIRST:
            self.a = likelier_prior(self.a, counts, self.weights)
        super()._share(counts)


def likelier_prior(a: Array, N: Array, weights: Array) -> Array:
    """One step of Minka's fixed point for a Dirichlet prior of multinomial counts.

    Parameters
    ----------
    a : ndarray of float64, shape (K,)
        The prior.
    N : ndarray of shape (n, K)
        Counts of topics of each unit.
    weights : ndarray of shape (n,)
        How much each unit counts.

    Returns
    -------
    ndarray of float64, shape (K,)
        At least 0.001 each.

    References
    ----------
    Minka (2000), Estimating a Dirichlet distribution, section 4.
    """
    above, below = np.zeros(len(a)), 0.0
    for rows in blocks(N):
        block = N[rows].astype(np.float64)
        above += weights[rows] @ (psi(block + a) - psi(a))
        below += float(weights[rows] @ (psi(block.sum(axis=1) + a.sum()) - psi(a.sum())))
    if below <= 0:
        return a
    return np.maximum(a * above / below, _LEAST)
