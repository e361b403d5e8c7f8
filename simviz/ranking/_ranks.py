"""Ranks under ties: what stands above a candidate, and what level with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Where the candidates that matter stand, query by query.

    The arrays of listed candidates are flat: those of query ``q`` are the
    slice ``indptr[q]:indptr[q + 1]``, as in a CSR matrix. All judged
    candidates are listed when only judged ones are ranked, else just the
    relevant ones.

    Parameters
    ----------
    indptr : array-like of int, shape (n_queries + 1,)
        Where each query's listed candidates begin and end.
    candidate : array-like of int, shape (n_listed,)
        Index of the candidate on the other side.
    grade : array-like of float, shape (n_listed,)
        Its grade; at or below 0 it was judged not relevant.
    above, tied : array-like of int, shape (n_listed,)
        Candidates of the pool scored strictly higher, and exactly as high
        (itself included).
    n_candidates : array-like of int, shape (n_queries,)
        Size of each query's pool.

    Raises
    ------
    ValueError
        If the lengths do not fit or a rank lies outside its pool.

    Examples
    --------
    Two candidates tie for the second place among four:

    >>> from simviz.ranking import expected_reciprocal_rank
    >>> r = Ranking([0, 1], [3], [1.0], above=[1], tied=[2], n_candidates=[4])
    >>> round(float(expected_reciprocal_rank(r)[0]), 4)  # (1/2 + 1/3) / 2
    0.4167
    """

    indptr: Ints
    candidate: Ints
    grade: Reals
    above: Ints
    tied: Ints
    n_candidates: Ints

    def __post_init__(self) -> None:
        for name in ("indptr", "candidate", "above", "tied", "n_candidates"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.int64))
        object.__setattr__(self, "grade", np.asarray(self.grade, dtype=np.float64))
        lengths = {name: len(getattr(self, name)) for name in ("candidate", "grade", "above")}
        lengths["tied"] = len(self.tied)
        n_listed = int(self.indptr[-1]) if len(self.indptr) else -1
        if set(lengths.values()) != {n_listed}:
            told = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise ValueError(
                f"indptr ends at {n_listed}, but the listed candidates have lengths {told}. "
                "Give one value per listed candidate."
            )
        if len(self.n_candidates) != self.n_queries:
            raise ValueError(
                f"n_candidates has {len(self.n_candidates)} values for {self.n_queries} queries. "
                "Give the size of each query's pool."
            )
        pool = self.n_candidates[self.query]
        wrong = (self.above < 0) | (self.tied < 1) | (self.above + self.tied > pool)
        if wrong.any():
            p = int(np.argmax(wrong))
            raise ValueError(
                f"Listed candidate {p} has {self.above[p]} above and {self.tied[p]} tied in a "
                f"pool of {pool[p]}. Count every candidate once, itself among the tied."
            )

    @property
    def n_queries(self) -> int:
        """Number of queries, with or without a relevant candidate."""
        return len(self.indptr) - 1

    @property
    def query(self) -> Ints:
        """The query of each listed candidate."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.indptr))

    @property
    def n_relevant(self) -> Ints:
        """Number of relevant candidates of each query."""
        return np.bincount(self.query[self.grade > 0], minlength=self.n_queries)


def rank_block(
    scores: ArrayLike,
    indptr: ArrayLike,
    indices: ArrayLike,
    pool: Literal["all", "judged"] = "all",
    *,
    scale: ArrayLike | None = None,
) -> tuple[Ints, Ints, Reals]:
    """Count what stands above and level with some listed candidates of each row.

    Parameters
    ----------
    scores : array-like of shape (b, n_y)
        One row a query, one column a candidate.
    indptr, indices : array-like of int, shapes (b + 1,) and (n_listed,)
        The listed candidates of each row, as in a CSR matrix.
    pool : {"all", "judged"}, default="all"
        What a candidate is ranked against: all of its row, or the listed ones.
    scale : array-like of shape (n_y,), optional
        A factor for each column, applied to the scores as they are compared.

    Returns
    -------
    above, tied : ndarray of int64, shape (n_listed,)
        Candidates of the pool scored strictly higher, and exactly as high
        (itself included).
    score : ndarray of float64, shape (n_listed,)
        The listed candidates' own (scaled) scores.

    Raises
    ------
    ValueError
        If a score of the pool is NaN or the shapes do not fit.

    Examples
    --------
    >>> above, tied, score = rank_block([[0.5, 0.9, 0.5, 0.1]], [0, 2], [0, 3])
    >>> above.tolist(), tied.tolist(), score.tolist()
    ([1, 3], [2, 1], [0.5, 0.1])
    """
    block = np.ascontiguousarray(scores)
    if block.dtype not in (np.float32, np.float64):
        block = block.astype(np.float64)
    starts = np.asarray(indptr, dtype=np.int64)
    listed = np.asarray(indices, dtype=np.int64)
    if block.ndim != 2 or len(starts) != len(block) + 1 or starts[-1] != len(listed):
        raise ValueError(
            f"Scores of shape {block.shape} need one more indptr than rows and as many indices "
            f"as indptr tells; got {len(starts)} and {len(listed)}."
        )
    if len(listed) and (listed.min() < 0 or listed.max() >= block.shape[1]):
        raise ValueError(
            f"Candidates must lie in 0..{block.shape[1] - 1}, got {listed.min()}..{listed.max()}."
        )
    factor = (
        np.ones(block.shape[1], dtype=block.dtype)
        if scale is None
        else np.asarray(scale, dtype=block.dtype)
    )
    if factor.shape != block.shape[1:]:
        raise ValueError(
            f"scale has shape {factor.shape} for {block.shape[1]} candidates. Give one each."
        )
    if pool == "judged":
        rows = np.repeat(np.arange(len(block)), np.diff(starts))
        own = (block[rows, listed] * factor[listed]).astype(np.float64)
        above, tied = rank_listed(own, starts)
        return above, tied, own
    if pool != "all":
        raise ValueError(f"pool must be 'all' or 'judged', got {pool!r}.")

    from simviz._numba import threads_for
    from simviz.ranking._kernels import count_rows

    above, tied = np.zeros((2, len(listed)), dtype=np.int64)
    own = np.zeros(len(listed))
    with threads_for(block.size):
        n_nan = count_rows(block, factor, starts, listed, above, tied, own)
    _refuse_nan(n_nan, block.size)
    return above, tied, own


def rank_listed(scores: ArrayLike, indptr: ArrayLike) -> tuple[Ints, Ints]:
    """Rank each query's listed candidates against one another only.

    Parameters
    ----------
    scores : array-like of float, shape (n_listed,)
        Score of each listed candidate.
    indptr : array-like of int, shape (n_queries + 1,)
        Where each query's listed candidates begin and end.

    Returns
    -------
    above, tied : ndarray of int64, shape (n_listed,)
        As in `rank_block`.

    Raises
    ------
    ValueError
        If a score is NaN.

    Examples
    --------
    >>> above, tied = rank_listed([3.0, 1.0, 1.0, 9.0], [0, 3, 4])
    >>> above.tolist(), tied.tolist()
    ([0, 1, 1, 0], [1, 2, 2, 1])
    """
    values = np.asarray(scores, dtype=np.float64)
    starts = np.asarray(indptr, dtype=np.int64)
    _refuse_nan(int(np.isnan(values).sum()), values.size)
    query = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.lexsort((-values, query))
    first, size = runs(query[order], values[order])
    above, tied = np.empty((2, len(values)), dtype=np.int64)
    above[order] = np.repeat(first, size) - starts[query]
    tied[order] = np.repeat(size, size)
    return above, tied


def runs(*keys: NDArray[np.generic]) -> tuple[Ints, Ints]:
    """Start and length of each run of equal keys in sorted arrays."""
    n = len(keys[0])
    new = np.zeros(n, dtype=bool)
    new[:1] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    first = np.flatnonzero(new)
    return first, np.diff(first, append=n)


def _refuse_nan(n_nan: int, size: int) -> None:
    if n_nan:
        raise ValueError(
            f"Scores must be numbers, but {n_nan:,} of {size:,} are NaN. "
            "Look for empty or infinite vectors; an empty item should score 0."
        )
