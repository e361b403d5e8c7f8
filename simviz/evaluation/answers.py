"""The answers to one query, in their order, ties kept together."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.ranking import rank_listed

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Candidates of a query, the best first.

    Parameters
    ----------
    candidate : ndarray of int, shape (n,)
        Position of each on its side.
    score : ndarray of float, shape (n,)
        Its similarity to the query.
    first, last : ndarray of int, shape (n,)
        Places from 1 that it shares with those of the same score; equal
        where it is alone.

    Examples
    --------
    >>> found = Answers.from_scores([0.2, 0.9, 0.5, 0.5])
    >>> found.candidate.tolist(), found.first.tolist(), found.last.tolist()
    ([1, 2, 3, 0], [1, 2, 2, 4], [1, 3, 3, 4])
    """

    candidate: Ints
    score: Reals
    first: Ints
    last: Ints

    @classmethod
    def from_scores(cls, scores: ArrayLike, pool: ArrayLike | None = None) -> Self:
        """Put candidates in order.

        Parameters
        ----------
        scores : array-like of float, shape (n_candidates,)
            Similarity of each candidate.
        pool : array-like of int, optional
            Positions of the candidates that compete; all when omitted.

        Returns
        -------
        Answers
            Those with equal scores as they come.

        Raises
        ------
        ValueError
            If a score is NaN.
        """
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
        """Which to list: those surely among the first, and some others.

        Parameters
        ----------
        k : int, default=10
            Places to fill. Candidates that share places of which some lie
            beyond are left out: which of them to list would be arbitrary.
        always : collection of int
            Candidates to list wherever they stand.

        Returns
        -------
        ndarray of int64
            Indices into these answers, ascending.

        Examples
        --------
        >>> Answers.from_scores([0.9, 0.5, 0.5, 0.1]).shown(2, always=[3]).tolist()
        [0, 3]
        """
        wanted = np.isin(self.candidate, list(always))
        return np.flatnonzero((self.last <= k) | wanted).astype(np.int64)

    def moved_from(self, other: Answers) -> Reals:
        """How many places each stands higher here than in other answers.

        Parameters
        ----------
        other : Answers
            To the same query, from the same pool.

        Returns
        -------
        ndarray of float64, shape (n,)
            Positive where it stands higher here.

        Raises
        ------
        ValueError
            If the candidates are not the same.

        Examples
        --------
        >>> here, there = (Answers.from_scores(s) for s in ([3, 2, 1], [1, 3, 2]))
        >>> here.moved_from(there).tolist()
        [2.0, -1.0, -1.0]
        """
        mine, theirs = np.argsort(self.candidate), np.argsort(other.candidate)
        if not np.array_equal(self.candidate[mine], other.candidate[theirs]):
            raise ValueError(
                f"These answers are about different candidates ({len(self):,} and "
                f"{len(other):,}). Compare answers to one query from one pool."
            )
        moved = np.empty(len(self))
        moved[mine] = other.place[theirs] - self.place[mine]
        return moved
