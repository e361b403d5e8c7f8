"""Expectation maximisation for topics shared by the items of a pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import gammaln, psi

from simviz._numba import threads_for
from simviz.methods import _em_kernels


class Counts:
    """Counts of one side by items, of the form that kernels read."""

    def __init__(self, C: Any, known: Any = None, dtype: Any = None) -> None:
        self.matrix = self._clean(C, known, dtype or C.dtype)
        self.ptr = self.matrix.indptr.astype(np.int64)
        self.idx = self.matrix.indices.astype(np.int32)
        self.val = self.matrix.data
        self.totals = np.asarray(self.matrix.sum(axis=1, dtype=np.float64)).ravel()

    @staticmethod
    def _clean(C: Any, known: Any, dtype: Any) -> sp.csr_array:
        C = sp.csr_array(C, dtype=dtype, copy=True)
        C.sum_duplicates()
        if known is not None:
            C.data[~known[C.indices]] = 0
        C.eliminate_zeros()
        return C

    @property
    def rows(self) -> tuple[Any, Any, Any]:
        """Limits, columns and values."""
        return self.ptr, self.idx, self.val

    @property
    def lengths(self) -> Index:
        """Non-zeros of each row."""
        return np.diff(self.ptr)


class Side(Counts):
    """Counts of one side, by items and by words, and the units its items are in."""

    def __init__(self, C: Any, items: Index, weights: Array) -> None:
        super().__init__(C)
        self.items = items.astype(np.int64)
        order = np.argsort(items, kind="stable")
        self.units = order.astype(np.int64)
        n_items = self.matrix.shape[0]
        self.unit_ptr = np.searchsorted(items[order], np.arange(n_items + 1)).astype(np.int64)
        self.weights = weights.astype(self.val.dtype)
        columns = sp.csr_array(self.matrix.T)
        columns.sort_indices()
        degrees = np.diff(self.unit_ptr)
        limits, inside, values = columns.indptr.astype(np.int64), columns.indices, columns.data
        self.columns: tuple[Any, ...]
        if (degrees == 1).all():
            units = self.units[inside]
            self.columns = limits, units.astype(np.int32), values * self.weights[units]
        else:
            through = self.unit_ptr, self.units, self.weights
            self.columns = limits, inside.astype(np.int32), values, *through
        # Words that occur in a unit at all: what there is to learn about.
        used = np.bincount(items, weights, minlength=n_items)
        self.word_totals = np.asarray(used @ self.matrix.astype(np.float64)).ravel()
        self.unit_work = self.lengths[self.items]
        meets = np.concatenate([[0], np.cumsum(degrees[inside])])
        self.word_work = np.diff(meets[limits])


Array = NDArray[np.floating]
Index = NDArray[np.integer]

_STEPS_A_CALL = 3e8  # a fraction of a second, so that a wish to stop is heard
_PARTS_A_CALL = 32  # of equal work, for the threads to share
_BLOCK = 2**22  # entries that elementwise passes take at a time


class Progress(NamedTuple):
    """What a step found before it changed anything."""

    objective: float
    log_likelihood: float


class Stopped(Exception):  # noqa: N818 -- a wish, not an error
    """A callback asked to stop in the middle of a pass."""


def equal_parts(work: NDArray[Any], n_topics: int) -> list[Index]:
    """Limits of parts of equal work, one array a call."""
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
    """Shares of topics of the units, and words of the topics."""

    theta: Array
    phis: list[Array]


@dataclass
class EM:
    r"""Steps that raise Σ_u w_u (Σ c log θ_u·φ_w + a Σ log θ_u) + b Σ log φ."""

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
        """Replace θ by a better one, then φ, already expecting with the new θ."""
        objective = self.log_prior(topics)
        seen, cost = self.tilted(topics)
        new, logs = self._space_like(topics), np.empty(self.n_units)
        for s, side in enumerate(self.sides):
            self._run(
                self._unit_parts,
                _em_kernels.expect_rows,
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
            _em_kernels.share_rows(counts, self.a.astype(self.dtype))

    def _expect_words(self, s: int, theta: Array, phi: Array, into: Array) -> None:
        """Expected counts of a side's words, added to those of the other where they share φ."""
        columns = self.sides[s].columns
        direct = len(columns) == 3
        kernel = _em_kernels.expect_columns if direct else _em_kernels.expect_shared_columns
        more = self.shared and s > 0
        self._run(self._word_parts[s], kernel, *columns, theta, phi, more, into=(into,))

    def _run(self, parts: list[Index], kernel: Any, *args: Any, into: tuple[Any, ...]) -> None:
        for call, bounds in enumerate(parts):
            if call and self.notify():
                raise Stopped
            with threads_for(self._steps // len(parts)):
                kernel(*args, bounds, *into)


def folded(counts: Counts, topics: Array, prior: Array, n_iter: int) -> Array:
    """Topics of items, those of words being given."""
    dtype = counts.val.dtype
    phi = np.ascontiguousarray(topics.T, dtype=dtype)
    out = np.empty((len(counts.totals), len(prior)), dtype)
    for bounds in equal_parts(counts.lengths * n_iter, len(prior)):
        with threads_for(int(counts.ptr[-1]) * n_iter * len(prior)):
            _em_kernels.fold_in(*counts.rows, phi, prior.astype(dtype), n_iter, bounds, out)
    return out


def normalized_words(N: Array, b: float, known: NDArray[np.bool_]) -> Array:
    """φ ∝ N + b over known words, in place; a topic without any word stays 0."""
    parts = np.linspace(0, len(N), _PARTS_A_CALL + 1).astype(np.int64)
    sums = np.empty((_PARTS_A_CALL, N.shape[1]))
    with threads_for(N.size):
        _em_kernels.add_and_sum(N, N.dtype.type(b), known, parts, sums)
        total = sums.sum(axis=0)
        scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        _em_kernels.scale_columns(N, scale.astype(N.dtype))
    return N


def blocks(A: Array) -> list[slice]:
    """Rows that elementwise passes take at a time."""
    size = max(1, _BLOCK // A.shape[1])
    return [slice(start, start + size) for start in range(0, len(A), size)]


def _log_sums(A: Array, weights: Array) -> Array:
    """Σ_k weights[k] log A[i, k] of each row, in double precision."""
    out = np.empty(len(A))
    with threads_for(A.size):
        _em_kernels.sum_logs(A, weights.astype(A.dtype), out)
    return out


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
    """One step of Minka's fixed point for a Dirichlet prior of multinomial counts."""
    above, below = np.zeros(len(a)), 0.0
    for rows in blocks(N):
        block = N[rows].astype(np.float64)
        above += weights[rows] @ (psi(block + a) - psi(a))
        below += float(weights[rows] @ (psi(block.sum(axis=1) + a.sum()) - psi(a.sum())))
    if below <= 0:
        return a
    return np.maximum(a * above / below, _LEAST)


@dataclass
class TiltedEM(EM):
    """Posterior regularisation: expectation under the nearest distribution that agrees."""

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
                _em_kernels.agree(
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
                _em_kernels.tilt_rows(theta, self._duals, sign * rates, out)
        return self._tilted


@dataclass
class VariationalEM(EM):
    """Raises the evidence lower bound of latent Dirichlet allocation."""

    # Here ``topics.theta`` holds the Dirichlet parameters γ of the items and ``topics.phis``
    # those of the topics, λ; `a` and `b` are the priors.

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
        """Update γ to rest, then λ."""
        side, gamma, lam = self.sides[0], topics.theta, topics.phis[0]
        bound, B = _topics_bound(lam, self.b, self.known[0])
        T, logs = np.empty_like(gamma), np.zeros(self.n_units)
        prior = self.a.astype(self.dtype)
        self._run(
            self._unit_parts,
            _em_kernels.vary,
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
    total = psi(np.maximum(lam.sum(axis=0, dtype=np.float64), _em_kernels.FLOOR))
    B = np.zeros_like(lam)
    for rows in blocks(lam):
        inside = known[rows]
        block = B[rows]
        block[inside] = np.exp(psi(lam[rows][inside].astype(np.float64)) - total)
    return B


def varied(counts: Counts, B: Array, prior: Array, n_iter: int, change: float) -> Array:
    """Expected topics of items that were not trained on."""
    dtype = counts.val.dtype
    gamma = np.ones((len(counts.totals), len(prior)), dtype)
    T, logs = np.empty_like(gamma), np.empty(len(gamma))
    B = np.ascontiguousarray(B, dtype=dtype)
    for bounds in equal_parts(counts.lengths * n_iter, len(prior)):
        with threads_for(int(counts.ptr[-1]) * n_iter * len(prior)):
            _em_kernels.vary(
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
    total = np.maximum(lam.sum(axis=0, dtype=np.float64), _em_kernels.FLOOR)
    B = expected_log_words(lam, known)
    bound = float((gammaln(b * max(1, known.sum())) - gammaln(total)).sum())
    for rows in blocks(lam):
        exact = lam[rows][known[rows]].astype(np.float64)
        logs = psi(exact) - psi(total)
        bound += float(((b - exact) * logs + gammaln(exact) - gammaln(b)).sum())
    return bound, B
