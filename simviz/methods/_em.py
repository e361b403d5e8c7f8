"""Expectation maximisation for topics shared by the items of a pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz._numba import threads_for
from simviz.methods import _em_kernels as kernels

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


class Counts:
    """Counts of one side by items, of the form that kernels read.

    Parameters
    ----------
    C : array or CSR of shape (n, V)
        Counts; never changed.
    known : ndarray of bool, shape (V,), optional
        Words that count; others are left out.
    dtype : type, optional
        Floating type of the values; that of `C` by default.

    Attributes
    ----------
    ptr, idx, val : ndarray
        Limits of the rows, columns and values of the non-zeros.
    totals : ndarray of float64, shape (n,)
        Sum of each row.
    """

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
    """Counts of one side, by items and by words, and the units its items are in.

    Parameters
    ----------
    C : array or CSR of shape (n, V)
        Counts.
    items : ndarray of int, shape (n_units,)
        The item of each unit: an item may be in several, or in none.
    weights : ndarray of shape (n_units,)
        How much each unit counts.
    """

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
        self.columns = columns.indptr.astype(np.int64), columns.indices.astype(np.int32)
        self.column_values = columns.data
        # Words that occur in a unit at all: what there is to learn about.
        used = np.bincount(items, weights, minlength=n_items)
        self.word_totals = np.asarray(used @ self.matrix.astype(np.float64)).ravel()
        self.unit_work = self.lengths[self.items]
        degrees = np.diff(self.unit_ptr)
        meets = np.concatenate([[0], np.cumsum(degrees[self.columns[1]])])
        self.word_work = np.diff(meets[self.columns[0]])


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
        """Replace θ and φ by better ones.

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
        tilted, cost = self.tilted(topics)
        counts = [np.zeros_like(phi) for phi in topics.phis]
        for s, side in enumerate(self.sides):
            self._run(
                self._word_parts[s],
                kernels.expect_columns,
                *(*side.columns, side.column_values, side.unit_ptr, side.units, side.weights),
                *(tilted[s], self.phi(topics, s)),
                into=(counts[0 if self.shared else s],),
            )
        shares, logs = np.zeros_like(topics.theta), np.zeros(self.n_units)
        for s, side in enumerate(self.sides):
            self._run(
                self._unit_parts,
                kernels.expect_rows,
                *(*side.rows, side.items, tilted[s], self.phi(topics, s)),
                into=(shares, logs),
            )
        self._maximise(topics, shares, counts)
        found = float(self.weights @ logs)
        return Progress(objective + cost + found, found)

    def settled(self, objectives: list[float], tol: float) -> bool:
        """Whether the last step gained less than this share of the objective."""
        gain = abs(objectives[-1] - objectives[-2])
        return gain < tol * abs(objectives[-1])

    def tilted(self, topics: Topics) -> tuple[list[Array], float]:
        """θ as each side sees it, and what that adds to the objective."""
        return [topics.theta] * len(self.sides), 0.0

    def log_prior(self, topics: Topics) -> float:
        """Σ w a log θ + b Σ log φ, over words that occur."""
        total = 0.0
        if self.a.any():
            for rows in blocks(topics.theta):
                total += float(self.weights[rows] @ (_log(topics.theta[rows]) @ self.a))
        if self.b:
            for phi, known in zip(topics.phis, self.known, strict=True):
                for rows in blocks(phi):
                    total += self.b * float(_log(phi[rows][known[rows]]).sum())
        return total

    def _maximise(self, topics: Topics, shares: Array, counts: list[Array]) -> None:
        a = self.a.astype(self.dtype)
        for rows in blocks(shares):
            block = shares[rows]
            block += a
            total = block.sum(axis=1, dtype=np.float64)
            # A unit without any word has no say: its shares stay equal.
            block[total == 0] = 1
            total[total == 0] = len(a)
            topics.theta[rows] = block * (1 / total).astype(self.dtype)[:, None]
        topics.phis[:] = [
            normalized_words(N, self.b, known) for N, known in zip(counts, self.known, strict=True)
        ]

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
    if b:
        N[known] += N.dtype.type(b)
    total = N.sum(axis=0, dtype=np.float64)
    scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    N *= scale.astype(N.dtype)
    return N


def blocks(A: Array) -> list[slice]:
    """Rows that elementwise passes take at a time."""
    size = max(1, _BLOCK // A.shape[1])
    return [slice(start, start + size) for start in range(0, len(A), size)]


def _log(A: Array) -> Array:
    return np.log(np.maximum(A, kernels.FLOOR), dtype=A.dtype).astype(np.float64)
