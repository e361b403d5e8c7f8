"""The judged pairs of a relevance matrix, as queries of either side see them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.evaluation.result import Pool
from simviz.ranking import Ranking
from simviz.relevance import Relevance

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Judged pairs, query by query, in a CSR-like layout.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n_queries + 1,)
        Where each query's pairs begin and end.
    candidate : ndarray of int64, shape (n_pairs,)
        The other item of each pair.
    grade : ndarray of float64, shape (n_pairs,)
        Above 0 where relevant.
    stored : ndarray of int64, shape (n_pairs,)
        Place of each pair in the relevance matrix.
    n_candidates : int, ndarray of int64 of shape (n_queries,), or None
        Size of the pool; None ranks judged candidates against one another.
    """

    indptr: Ints
    candidate: Ints
    grade: Reals
    stored: Ints
    n_candidates: int | Ints | None

    @property
    def query(self) -> Ints:
        """The query of each pair."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def ranking(self, above: Ints, tied: Ints) -> Ranking:
        """Keep what metrics need: all pairs in a judged pool, else the relevant ones."""
        if self.n_candidates is None:
            sizes = np.diff(self.indptr)
            return Ranking(self.indptr, self.candidate, self.grade, above, tied, sizes)
        keep = self.grade > 0
        indptr = np.concatenate([[0], np.cumsum(keep)])[self.indptr]
        sizes = np.full(len(indptr) - 1, self.n_candidates, dtype=np.int64)
        return Ranking(
            indptr, self.candidate[keep], self.grade[keep], above[keep], tied[keep], sizes
        )


def queries_of(
    relevance: Relevance, pool: Pool, known: sp.csr_array | None = None
) -> tuple[Queries, Queries]:
    """See the pairs from the x side, and from the y side.

    Parameters
    ----------
    relevance : Relevance
        Judgments; scores count as relevant from their threshold on.
    pool : {"split", "all", "judged"}
        What a query is ranked against.
    known : sparse array of bool, optional
        Pairs that are no candidates.

    Returns
    -------
    x, y : Queries
        The same pairs seen from both sides.
    """
    matrix = relevance.matrix
    n_x, n_y = relevance.shape
    indptr, column = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    row = np.repeat(np.arange(n_x), np.diff(indptr))
    grade = np.asarray(matrix.data, dtype=np.float64)
    if relevance.kind == "score":
        limit = 0.0 if relevance.threshold is None else relevance.threshold
        grade = np.where(grade >= limit, 1.0, -1.0)
    order = np.lexsort((row, column))
    column_ptr = np.searchsorted(column[order], np.arange(n_y + 1))
    sizes: tuple[int | Ints | None, int | Ints | None] = (n_y, n_x)
    if pool == "judged":
        sizes = None, None
    elif known is not None:
        by_row = np.diff(known.indptr).astype(np.int64)
        sizes = n_y - by_row, n_x - np.bincount(known.indices, minlength=n_y)
    return (
        Queries(indptr, column, grade, np.arange(len(row)), sizes[0]),
        Queries(column_ptr, row[order], grade[order], order, sizes[1]),
    )
