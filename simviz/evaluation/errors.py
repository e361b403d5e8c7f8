"""What a threshold gets wrong: the pairs behind a point of a curve."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.callbacks import Callback
from simviz.evaluation._blocks import n_items, queries_of, similarity_blocks
from simviz.evaluation.scoring import Scorer, Side
from simviz.ranking import rank_listed
from simviz.relevance import Relevance

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPairs:
    """Some pairs with their scores."""

    x: Ints
    y: Ints
    score: Reals


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdErrors:
    """Pairs on the wrong side of a threshold.

    Parameters
    ----------
    threshold : float
        A pair passes at or above it.
    n_passing, n_found, n_relevant : int
        Pairs that pass, relevant ones among them, and all relevant ones.
    false_alarms : ScoredPairs
        Of those that pass and are not relevant, some with the highest scores.
    misses : ScoredPairs
        Of the relevant ones that do not pass, some with the highest scores.
    """

    threshold: float
    n_passing: int
    n_found: int
    n_relevant: int
    false_alarms: ScoredPairs
    misses: ScoredPairs


def errors_at(
    scorer: Scorer[Side],
    x: Side,
    y: Side,
    relevance: object = None,
    *,
    threshold: float,
    k: int = 10,
    block_size: int | None = None,
    callback: Callback | None = None,
) -> ThresholdErrors:
    """List what a threshold lets through, and what it misses.

    Parameters
    ----------
    scorer : Scorer
        A fitted model or pipeline.
    x, y : matrices or Items
        What the scorer's ``iter_similarity`` takes.
    relevance : Relevance or sparse matrix of shape (n_x, n_y), optional
        Judgments; row i belongs to row i when omitted. Pairs that are
        ignored are neither counted nor listed.
    threshold : float
        A pair passes at or above it.
    k : int, default=10
        Pairs to list of each kind, at most.
    block_size : int, optional
        Rows of a block; the scorer chooses when omitted.
    callback : callable, optional
        See `simviz.callbacks`; steps are rows.

    Returns
    -------
    ThresholdErrors
        Exact counts, and the pairs that look most alike to the scorer.

    Raises
    ------
    ValueError
        If `k` is not positive or the threshold is NaN.
    JobCancelled
        If the callback asked to stop.

    Examples
    --------
    >>> from simviz.evaluation import VectorScorer
    >>> Z = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> found = errors_at(VectorScorer(), Z, Z[[0, 1, 0]], threshold=0.7)
    >>> found.n_passing, found.n_found, found.misses.x.tolist()
    (6, 2, [2])
    """
    if k < 1 or np.isnan(threshold):
        raise ValueError(f"Got k={k} and threshold={threshold}; k is positive, neither is NaN.")
    rel = Relevance.coerce(relevance, n_items(x), n_items(y))
    queries, _ = queries_of(rel, "split")
    row, column, relevant = queries.query, queries.candidate, queries.grade > 0
    ignores = rel.unjudged == "ignore"
    scores, n_others = [np.empty(0)], 0
    top: list[tuple[Ints, Ints, Reals]] = []
    for start, block in similarity_blocks(scorer, x, y, 1, block_size, callback):
        part = queries.part(start, start + len(block))
        inside, across = part.query, part.candidate
        scores.append(block[inside, across].astype(np.float64))
        passing = block >= threshold
        if ignores:
            judged = np.zeros_like(passing)
            judged[inside, across] = True
            passing &= judged
        belongs = part.grade > 0
        passing[inside[belongs], across[belongs]] = False
        n_others += int(passing.sum())
        i, j = np.nonzero(passing)
        top.append(_highest(i + start, j, block[i, j].astype(np.float64), k))
    score = np.concatenate(scores)
    found = relevant & (score >= threshold)
    missed = relevant & (score < threshold)
    alarms = tuple(np.concatenate(part) for part in zip(*top, strict=True))
    return ThresholdErrors(
        threshold=float(threshold),
        n_passing=n_others + int(found.sum()),
        n_found=int(found.sum()),
        n_relevant=int(relevant.sum()),
        false_alarms=ScoredPairs(*_highest(alarms[0], alarms[1], alarms[2], k)),
        misses=ScoredPairs(*_highest(row[missed], column[missed], score[missed], k)),
    )


def _highest(x: Ints, y: Ints, score: Reals, k: int) -> tuple[Ints, Ints, Reals]:
    """Those with the highest scores, equal ones as they come."""
    order = np.argsort(-score, kind="stable")[:k]
    return x[order], y[order], score[order]


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Candidates of a query, the best first."""

    candidate: Ints
    score: Reals
    first: Ints
    last: Ints

    @classmethod
    def from_scores(cls, scores: ArrayLike, pool: ArrayLike | None = None) -> Self:
        """Put candidates in order."""
        values = np.asarray(scores, dtype=np.float64)
        candidate = np.arange(len(values)) if pool is None else np.asarray(pool, dtype=np.int64)
        values = values[candidate]
        above, tied = rank_listed(values, [0, len(values)])
        order = np.argsort(above, kind="stable")
        first = above[order] + 1
        return cls(candidate[order], values[order], first, first + tied[order] - 1)

    def __len__(self) -> int:
        return len(self.candidate)

    @property
    def place(self) -> Reals:
        """Expected place of each: the middle of those that it shares."""
        return (self.first + self.last) / 2

    def shown(self, k: int = 10, always: Collection[int] = ()) -> Ints:
        """Which to list: those surely among the first, and some others."""
        wanted = np.isin(self.candidate, list(always))
        return np.flatnonzero((self.last <= k) | wanted).astype(np.int64)

    def moved_from(self, other: Answers) -> Reals:
        """How many places each stands higher here than in other answers."""
        mine, theirs = np.argsort(self.candidate), np.argsort(other.candidate)
        if not np.array_equal(self.candidate[mine], other.candidate[theirs]):
            raise ValueError(
                f"These answers are about different candidates ({len(self):,} and "
                f"{len(other):,}). Compare answers to one query from one pool."
            )
        moved = np.empty(len(self))
        moved[mine] = other.place[theirs] - self.place[mine]
        return moved
