"""What queries have in common on which one of two runs gains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]

#: Groups that share more than this part of their queries are one group.
_SAME = 0.7
#: A group's mean must be this many standard errors from that of all queries.
_LEAST_Z = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class TermGroup:
    """Queries that share a word.

    Parameters
    ----------
    term : str
        The word, in lower case.
    queries : ndarray of int64, shape (n,)
        Positions of the queries, ascending.
    difference : float
        Mean difference of the two runs over them.
    z : float
        By how many standard errors that mean is off the mean of all queries.
    """

    term: str
    queries: Ints
    difference: float
    z: float

    def __len__(self) -> int:
        return len(self.queries)


def shared_terms(
    difference: ArrayLike, texts: Sequence[str], *, n_groups: int = 5, least: int = 4
) -> tuple[list[TermGroup], list[TermGroup]]:
    """Words by which to describe where the first run gains, and where the second.

    Parameters
    ----------
    difference : array-like of float, shape (n,)
        By how much the first run is better on each query.
    texts : sequence of str, length n
        The queries.
    n_groups : int, default=5
        Groups on each side, at most.
    least : int, default=4
        Queries that must share a word.

    Returns
    -------
    gains, losses : list of TermGroup
        Words on whose queries the first run is ahead on average, and more so
        than over all queries; words where it is behind. The most telling
        first. A group that is nearly the same as an earlier one is left out.

    Raises
    ------
    ValueError
        If the lengths differ.

    Notes
    -----
    The words are chosen because they stand out, among all that the queries
    hold. That describes these queries and proves nothing about others.

    Examples
    --------
    >>> texts = ["red car", "red house", "blue car", "blue house", "blue sky", "red sky"]
    >>> gains, losses = shared_terms([0.5, 0.4, 0.0, -0.3, -0.2, 0.6], texts, least=3)
    >>> gains[0].term, len(gains[0]), round(gains[0].difference, 2), losses[0].term
    ('red', 3, 0.5, 'blue')
    """
    from simviz.features._analysis import build_analyzer, count_terms

    d = np.asarray(difference, dtype=np.float64)
    if d.shape != (len(texts),):
        raise ValueError(
            f"There are {d.shape} differences and {len(texts):,} texts. Give one of each a query."
        )
    spread = float(d.std()) if len(d) else 0.0
    if spread == 0:
        return [], []
    counts, terms = count_terms(texts, build_analyzer("word", (1, 1), True, ()))
    columns = counts.tocsc()
    sizes = np.diff(columns.indptr)
    sums = np.asarray((columns != 0).astype(np.float64).T @ d).ravel()
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / sizes
        z = np.sqrt(sizes) * (means - d.mean()) / spread
    common = (sizes >= least) & (sizes < len(d))

    def group(column: int) -> TermGroup:
        queries = np.sort(columns.indices[columns.indptr[column] : columns.indptr[column + 1]])
        return TermGroup(
            terms[column], queries.astype(np.int64), float(means[column]), float(z[column])
        )

    sides = []
    for sign in (1.0, -1.0):
        told = np.flatnonzero(common & (sign * means > 0) & (sign * z >= _LEAST_Z))
        order = told[np.argsort(-sign * z[told], kind="stable")]
        sides.append(_distinct([int(i) for i in order], group, n_groups))
    return sides[0], sides[1]


def _distinct(
    order: Sequence[int], group: Callable[[int], TermGroup], n_groups: int
) -> list[TermGroup]:
    """The first groups that are not nearly the same as one before."""
    kept: list[TermGroup] = []
    for column in order:
        if len(kept) == n_groups:
            break
        found = group(column)
        if not any(_is_same(found.queries, other.queries) for other in kept):
            kept.append(found)
    return kept


def _is_same(a: Ints, b: Ints) -> bool:
    shared = len(np.intersect1d(a, b, assume_unique=True))
    return shared > _SAME * (len(a) + len(b) - shared)
