"""Collapsed Gibbs sampling of topics shared by the items of a pair."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.methods import _em_kernels as kernels
from simviz.methods._em import (
    EM,
    Array,
    Progress,
    Side,
    Stopped,
    Topics,
    likelier_prior,
    normalized_words,
)

_STEPS_A_CALL = 1e8
MOST_TOKENS = 2**26  # tokens that are held at a time, in about 4 GB
_PRIOR_EVERY = 10  # sweeps


@dataclass
class Gibbs(EM):
    """Draws the topic of every single token, again and again."""

    # One step is a sweep over all tokens. Topics of words are averaged over the sweeps of the
    # second half; the prior of the topics is learned in the first.

    n_sweeps: int = 100
    learn: bool = True
    rng: Any = None
    _z: NDArray[np.int32] | None = field(default=None, init=False)
    _n_done: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_size()
        for side in self.sides:
            if (side.val != np.round(side.val)).any():
                raise ValueError(
                    "PLTM(inference='gibbs') draws a topic for each single token and needs "
                    f"whole counts, got {side.val[side.val != np.round(side.val)][0]}. "
                    "Use counts of terms, or inference='em'."
                )
        n_words = self.sides[0].matrix.shape[1]
        shifts = [0, 0 if self.shared else n_words]
        tokens = [_tokens(side, shift) for side, shift in zip(self.sides, shifts, strict=True)]
        lengths = np.array([np.diff(ptr) for ptr, _ in tokens])
        self._ptr = np.concatenate([[0], np.cumsum(lengths.sum(axis=0))])
        split = self._ptr[:-1] + lengths[0]
        # With one vocabulary all tokens are of the first.
        self._split = self._ptr[1:].copy() if self.shared else split
        self._words = np.empty(self._ptr[-1], np.int32)
        for (ptr, words), start in zip(tokens, (self._ptr[:-1], split), strict=True):
            self._words[np.arange(len(words)) + np.repeat(start - ptr[:-1], np.diff(ptr))] = words
        self._sizes = np.array([float(known.sum()) for known in self.known])

    def _check_size(self) -> None:
        """Refuse counts of more tokens than memory holds, before any is written out."""
        n_tokens = sum(float(side.totals[side.items].sum()) for side in self.sides)
        if n_tokens > MOST_TOKENS:
            raise ValueError(
                "PLTM(inference='gibbs') draws a topic for each single token, and the counts of "
                f"these pairs make {n_tokens:,.0f} tokens, more than the {MOST_TOKENS:,} that are "
                "held in memory. Use inference='em', smaller counts, or fewer pairs."
            )

    def settled(self, objectives: list[float], tol: float) -> bool:
        """Never: what is drawn does not come to rest."""
        return False

    def step(self, topics: Topics) -> Progress:
        """Draw all tokens anew."""
        if self._z is None:
            self._first_draw(topics)
        k, found = len(self.a), 0.0
        size = max(1, int(_STEPS_A_CALL / k))
        limits = np.searchsorted(self._ptr, np.arange(0, self._ptr[-1], size))
        bounds = np.unique(np.append(limits, [0, self.n_units]))
        for start, stop in pairwise(bounds):
            if start and self.notify():
                raise Stopped
            draws = self.rng.random_sample(self._ptr[stop] - self._ptr[start])
            found += kernels.sweep(
                *(start, stop, self._ptr, self._words, self._split, self.weights, draws),
                *(self.a, self.b, self._sizes, self._z, self._N_u, self._N_w, self._N_k),
                np.empty(k),
            )
        self._n_done += 1
        if self._n_done > self.n_sweeps // 2:
            self._sum += self._N_w
        elif self.learn and self._n_done % _PRIOR_EVERY == 0:
            self.a = likelier_prior(self.a, self._N_u, self.weights)
        self._estimate(topics)
        return Progress(found, found)

    def _estimate(self, topics: Topics) -> None:
        """Set φ to the mean of what was kept, or to what stands now."""
        n_kept = max(0, self._n_done - self.n_sweeps // 2)
        N = self._sum / n_kept if n_kept else self._N_w
        start = 0
        for v, known in enumerate(self.known):
            part = N[start : start + len(known)].astype(self.dtype)
            topics.phis[v] = normalized_words(part, self.b, known)
            start += len(known)

    def _first_draw(self, topics: Topics) -> None:
        k, n_tokens = len(self.a), len(self._words)
        phi = np.vstack(topics.phis).astype(np.float64)
        self._z = np.empty(n_tokens, np.int32)
        for start in range(0, n_tokens, max(1, 2**22 // k)):
            rows = slice(start, start + max(1, 2**22 // k))
            p = np.cumsum(phi[self._words[rows]], axis=1)
            aim = self.rng.random_sample(len(p)) * p[:, -1]
            self._z[rows] = np.minimum((p <= aim[:, None]).sum(axis=1), k - 1)
        unit = np.repeat(np.arange(self.n_units), np.diff(self._ptr))
        weight = self.weights[unit]
        self._N_u = _table(unit, self._z, np.ones(n_tokens), (self.n_units, k))
        self._N_w = _table(self._words, self._z, weight, (len(phi), k))
        vocabulary = (np.arange(n_tokens) >= self._split[unit]).astype(np.int64)
        self._N_k = _table(vocabulary, self._z, weight, (len(self.known), k))
        self._sum = np.zeros_like(self._N_w)


def _tokens(side: Side, shift: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Limits of the tokens of each unit, and the tokens."""
    rows = side.matrix[side.items]
    times = rows.data.astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(times)])
    return ends[rows.indptr], np.repeat(rows.indices + shift, times)


def _table(rows: Any, columns: Any, values: Array, shape: tuple[int, int]) -> Array:
    return sp.coo_array((values, (rows, columns)), shape).toarray()
