"""Expectation maximisation for topics shared by the items of a pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simviz._numba import threads_for
from simviz.methods import _em_kernels as kernels
from simviz.methods._em_counts import Counts, Side

Array = NDArray[np.floating]
Index = NDArray[np.integer]

_STEPS_A_CALL = 3e8  # a fraction of a second, so that a wish to stop is heard
_PARTS_A_CALL = 32  # of equal work, for the threads to share
_BLOCK = 2**22  # entries that elementwise passes take at a time


class Progress(NamedTuple):
    """What a step found before it changed anything.

    Parameters
    ----------
    objective : float
        What steps raise.
    log_likelihood : float
        Of all counted words, without priors.
    """

    objective: float
    log_likelihood: float


class Stopped(Exception):  # noqa: N818 -- a wish, not an error
    """A callback asked to stop in the middle of a pass."""


def equal_parts(work: NDArray[Any], n_topics: int) -> list[Index]:
    """Limits of parts of equal work, one array a call.

    Parameters
    ----------
    work : ndarray of shape (n,)
        Non-zeros that each row meets.
    n_topics : int
        What each of them costs.

    Returns
    -------
    list of ndarray of int
        Limits of consecutive parts; the last of one is the first of the next.
    """
    total = np.concatenate([[0.0], np.cumsum(work, dtype=np.float64)])
    n_calls = max(1, int(np.ceil(total[-1] * n_topics / _STEPS_A_CALL)))
    shares = np.linspace(0, total[-1], n_calls * _PARTS_A_CALL + 1)
    bounds = np.searchsorted(total, shares).astype(np.int64)
    bounds[0], bounds[-1] = 0, len(work)
    return [
        bounds[start : start + _PARTS_A_CALL + 1]
        for start in range(0, len(bounds) - 1, _PARTS_A_CALL)
    ]


@dataclass
class Topics:
    """Shares of topics of the units, and words of the topics.

    Parameters
    ----------
    theta : ndarray of shape (n_units, K)
        Rows sum to 1.
    phis : list of ndarray of shape (V, K)
        One a vocabulary; columns sum to 1.
    """

    theta: Array
    phis: list[Array]


@dataclass
class EM:
    r"""Steps that raise Σ_u w_u (Σ c log θ_u·φ_w + a Σ log θ_u) + b Σ log φ.

    Parameters
    ----------
    sides : list of Side
        One or two.
    weights : ndarray of float64, shape (n_units,)
        Weights of the units.
    a : ndarray of float64, shape (K,)
        What is added to the expected counts of a unit's topics.
    b : float
        What is added to those of a topic's words.
    shared : bool
        Whether the sides have one vocabulary.
    notify : callable
        Asked within long steps whether to stop.
    """

    sides: list[Side]
    weights: Array
    a: Array
    b: float
    shared: bool
    notify: Callable[[], bool]
    known: list[NDArray[np.bool_]] = field(init=False)
    _space: Topics | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        totals = [side.word_totals for side in self.sides]
        if self.shared:
            totals = [sum(totals[1:], start=totals[0])]
        self.known = [total > 0 for total in totals]
        self.dtype = self.sides[0].val.dtype
        k = len(self.a)
        self.unit_work = np.sum([side.unit_work for side in self.sides], axis=0)
        self._unit_parts = equal_parts(self.unit_work, k)
        self._word_parts = [equal_parts(side.word_work, k) for side in self.sides]
        self._steps = int(self.unit_work.sum()) * k

    @property
    def n_units(self) -> int:
        """Rows of θ."""
        return len(self.weights)

    @property
    def n_tokens(self) -> float:
        """Weighted counts of all units."""
        return float(sum(side.word_totals.sum() for side in self.sides))

    def begin(self, topics: Topics) -> Topics:
        """Topics in the form that steps change."""
        return topics

    def uniform(self) -> Array:
        """θ with equal shares."""
        return np.full((self.n_units, len(self.a)), 1 / len(self.a), self.dtype)

    def phi(self, topics: Topics, side: int) -> Array:
        """φ that a side reads."""
        return topics.phis[0 if self.shared else side]

    def word_shares(self, topics: Topics, side: int) -> Array:
        """Distributions (V, K) over the words of a side, one a column."""
        return self.phi(topics, side)

    def step(self, topics: Topics) -> Progress:
        """Replace θ by a better one, then φ, already expecting with the new θ.

        Parameters
        ----------
        topics : Topics
            Changed in place; untouched where the step is stopped.

        Returns
        -------
        Progress
            Of θ and φ before the step.

        Raises
        ------
        Stopped
            If a callback asked to stop.
        """
        objective = self.log_prior(topics)
        seen, cost = self.tilted(topics)
        new, logs = self._space_like(topics), np.empty(self.n_units)
        for s, side in enumerate(self.sides):
            self._run(
                self._unit_parts,
                kernels.expect_rows,
                *(*side.rows, side.items, seen[s], self.phi(topics, s), s > 0),
                into=(new.theta, logs),
            )
        self._share(new.theta)
        seen = self.tilted_again(new.theta)
        for s in range(len(self.sides)):
            self._expect_words(s, seen[s], self.phi(topics, s), self.phi(new, s))
        for phi, known in zip(new.phis, self.known, strict=True):
            normalized_words(phi, self.b, known)
        topics.theta, new.theta = new.theta, topics.theta
        topics.phis, new.phis = new.phis, topics.phis
        found = float(self.weights @ logs)
        return Progress(objective + cost + found, found)

    def settled(self, objectives: list[float], tol: float) -> bool:
        """Whether the last step gained less than this share of the objective."""
        gain = abs(objectives[-1] - objectives[-2])
        return gain < tol * abs(objectives[-1])

    def tilted(self, topics: Topics) -> tuple[list[Array], float]:
        """θ as each side sees it, and what that adds to the objective."""
        return [topics.theta] * len(self.sides), 0.0

    def tilted_again(self, theta: Array) -> list[Array]:
        """A new θ as each side sees it, φ being what it is."""
        return [theta] * len(self.sides)

    def log_prior(self, topics: Topics) -> float:
        """Σ w a log θ + b Σ log φ, over words that occur."""
        total = 0.0
        if self.a.any():
            total += float(self.weights @ _log_sums(topics.theta, self.a))
        if self.b:
            each = np.full(len(self.a), self.b)
            for phi, known in zip(topics.phis, self.known, strict=True):
                total += float(_log_sums(phi, each)[known].sum())
        return total

    def _space_like(self, topics: Topics) -> Topics:
        """Room for the next θ and φ: what the step before left."""
        if self._space is None:
            empty = [np.empty_like(phi) for phi in topics.phis]
            self._space = Topics(np.empty_like(topics.theta), empty)
        return self._space

    def _share(self, counts: Array) -> None:
        """Turn expected counts into θ, in place. A unit without any word has equal shares."""
        with threads_for(counts.size):
            kernels.share_rows(counts, self.a.astype(self.dtype))

    def _expect_words(self, s: int, theta: Array, phi: Array, into: Array) -> None:
        """Expected counts of a side's words, added to those of the other where they share φ."""
        columns = self.sides[s].columns
        direct = len(columns) == 3
        kernel = kernels.expect_columns if direct else kernels.expect_shared_columns
        more = self.shared and s > 0
        self._run(self._word_parts[s], kernel, *columns, theta, phi, more, into=(into,))

    def _run(self, parts: list[Index], kernel: Any, *args: Any, into: tuple[Any, ...]) -> None:
        for call, bounds in enumerate(parts):
            if call and self.notify():
                raise Stopped
            with threads_for(self._steps // len(parts)):
                kernel(*args, bounds, *into)


def folded(counts: Counts, topics: Array, prior: Array, n_iter: int) -> Array:
    """Topics of items, those of words being given.

    Parameters
    ----------
    counts : Counts
        Items.
    topics : ndarray of shape (K, V)
        Words of each topic.
    prior : ndarray of shape (K,)
        What is added to the expected counts of an item's topics.
    n_iter : int
        Steps, from equal shares.

    Returns
    -------
    ndarray of shape (n, K)
        Rows that sum to 1; zeros for an item without any known word.
    """
    dtype = counts.val.dtype
    phi = np.ascontiguousarray(topics.T, dtype=dtype)
    out = np.empty((len(counts.totals), len(prior)), dtype)
    for bounds in equal_parts(counts.lengths * n_iter, len(prior)):
        with threads_for(int(counts.ptr[-1]) * n_iter * len(prior)):
            kernels.fold_in(*counts.rows, phi, prior.astype(dtype), n_iter, bounds, out)
    return out


def normalized_words(N: Array, b: float, known: NDArray[np.bool_]) -> Array:
    """φ ∝ N + b over known words, in place; a topic without any word stays 0.

    Parameters
    ----------
    N : ndarray of shape (V, K)
        Counts.
    b : float
        What is added to each.
    known : ndarray of bool, shape (V,)
        Words that occur.

    Returns
    -------
    ndarray of shape (V, K)
        Columns that sum to 1.
    """
    parts = np.linspace(0, len(N), _PARTS_A_CALL + 1).astype(np.int64)
    sums = np.empty((_PARTS_A_CALL, N.shape[1]))
    with threads_for(N.size):
        kernels.add_and_sum(N, N.dtype.type(b), known, parts, sums)
        total = sums.sum(axis=0)
        scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        kernels.scale_columns(N, scale.astype(N.dtype))
    return N


def blocks(A: Array) -> list[slice]:
    """Rows that elementwise passes take at a time."""
    size = max(1, _BLOCK // A.shape[1])
    return [slice(start, start + size) for start in range(0, len(A), size)]


def _log_sums(A: Array, weights: Array) -> Array:
    """Σ_k weights[k] log A[i, k] of each row, in double precision."""
    out = np.empty(len(A))
    with threads_for(A.size):
        kernels.sum_logs(A, weights.astype(A.dtype), out)
    return out
