"""Variational Bayes for topics of single items, on the kernel of expectation maximisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, psi

from simviz._numba import threads_for
from simviz.methods import _em_kernels as kernels
from simviz.methods._em import EM, Array, Progress, Topics, blocks, equal_parts, normalized_words
from simviz.methods._em_counts import Counts


@dataclass
class VariationalEM(EM):
    """Raises the evidence lower bound of latent Dirichlet allocation.

    Here ``topics.theta`` holds the Dirichlet parameters γ of the items and
    ``topics.phis`` those of the topics, λ; `a` and `b` are the priors.

    Parameters
    ----------
    n_steps : int
        Updates of an item's γ in a step at most.
    change : float
        Mean change of γ at which they end.
    """

    n_steps: int = 100
    change: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        # Most items need far fewer updates than they may take.
        self._unit_parts = equal_parts(self.unit_work * 10, len(self.a))

    def begin(self, topics: Topics) -> Topics:
        """Dirichlet parameters that expect such topics, as if all words had been seen."""
        per_topic = self.n_tokens / len(self.a)
        words = np.where(self.known[0][:, None], self.b + per_topic * topics.phis[0], 0)
        return Topics(np.ones_like(topics.theta), [words.astype(self.dtype)])

    def word_shares(self, topics: Topics, side: int) -> Array:
        """Expected distributions (V, K) over the words of a side, one a column."""
        return normalized_words(self.phi(topics, side).copy(), 0, self.known[0])

    def step(self, topics: Topics) -> Progress:
        """Update γ to rest, then λ.

        Parameters
        ----------
        topics : Topics
            Changed in place.

        Returns
        -------
        Progress
            With the bound for the new γ and the λ before the step.

        Raises
        ------
        Stopped
            If a callback asked to stop; λ is as it was.
        """
        side, gamma, lam = self.sides[0], topics.theta, topics.phis[0]
        bound, B = _topics_bound(lam, self.b, self.known[0])
        T, logs = np.empty_like(gamma), np.zeros(self.n_units)
        prior = self.a.astype(self.dtype)
        self._run(
            self._unit_parts,
            kernels.vary,
            *(*side.rows, B, prior, self.n_steps, self.change),
            into=(gamma, T, logs),
        )
        counts = np.empty_like(lam)
        self._expect_words(0, T, B, counts)
        found = float(logs.sum())
        for rows in blocks(gamma):
            found -= float(side.totals[rows] @ psi(_filled(gamma[rows]).sum(axis=1)))
            bound += _items_bound(_filled(gamma[rows]), self.a)
        topics.phis[0] = np.where(self.known[0][:, None], self.b + counts, 0).astype(self.dtype)
        return Progress(bound + found, found)


def expected_log_words(lam: Array, known: NDArray[np.bool_]) -> Array:
    """e^{E log φ} of Dirichlet parameters λ (V, K); 0 for words that never occurred."""
    total = psi(np.maximum(lam.sum(axis=0, dtype=np.float64), kernels.FLOOR))
    B = np.zeros_like(lam)
    for rows in blocks(lam):
        inside = known[rows]
        block = B[rows]
        block[inside] = np.exp(psi(lam[rows][inside].astype(np.float64)) - total)
    return B


def varied(counts: Counts, B: Array, prior: Array, n_iter: int, change: float) -> Array:
    """Expected topics of items that were not trained on.

    Parameters
    ----------
    counts : Counts
        Items.
    B : ndarray of shape (V, K)
        See `expected_log_words`.
    prior : ndarray of shape (K,)
        Of the topics of an item.
    n_iter : int
        Updates at most.
    change : float
        Mean change at which they end.

    Returns
    -------
    ndarray of shape (n, K)
        Rows that sum to 1; zeros for an item without any known word.
    """
    dtype = counts.val.dtype
    gamma = np.ones((len(counts.totals), len(prior)), dtype)
    T, logs = np.empty_like(gamma), np.empty(len(gamma))
    B = np.ascontiguousarray(B, dtype=dtype)
    for bounds in equal_parts(counts.lengths * n_iter, len(prior)):
        with threads_for(int(counts.ptr[-1]) * n_iter * len(prior)):
            kernels.vary(
                *(*counts.rows, B, prior.astype(dtype), n_iter, change, bounds, gamma, T, logs)
            )
    total = gamma.sum(axis=1, dtype=np.float64)
    scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    return gamma * scale.astype(dtype)[:, None]


def _filled(gamma: Array) -> Array:
    """γ in double precision, 1 for items without known words, which have no part in the bound."""
    exact = gamma.astype(np.float64)
    exact[exact.sum(axis=1) == 0] = 1
    return exact


def _items_bound(gamma: Array, a: Array) -> float:
    total = gamma.sum(axis=1)
    logs = psi(gamma) - psi(total)[:, None]
    parts = ((a - gamma) * logs + gammaln(gamma) - gammaln(a)).sum(axis=1)
    return float((parts + gammaln(a.sum()) - gammaln(total)).sum())


def _topics_bound(lam: Array, b: float, known: NDArray[np.bool_]) -> tuple[float, Array]:
    """The part of the bound that φ has, and e^{E log φ}."""
    total = np.maximum(lam.sum(axis=0, dtype=np.float64), kernels.FLOOR)
    B = expected_log_words(lam, known)
    bound = float((gammaln(b * max(1, known.sum())) - gammaln(total)).sum())
    for rows in blocks(lam):
        exact = lam[rows][known[rows]].astype(np.float64)
        logs = psi(exact) - psi(total)
        bound += float(((b - exact) * logs + gammaln(exact) - gammaln(b)).sum())
    return bound, B
