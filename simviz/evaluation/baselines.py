"""Scorers to compare with: chance, popularity, and vectors from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simviz.data.pairs import Items, PairSet, as_pairs
from simviz.evaluation._blocks import as_vectors, bounds, n_items
from simviz.evaluation.scoring import Scorer


@dataclass(frozen=True)
class ChanceScorer(Scorer[object]):
    """Scores every pair alike: what a metric gives without knowing anything.

    Metrics expect random orders of ties, so the result is chance exactly, not one draw of it.

    Examples
    --------
    >>> from simviz.evaluation import evaluate
    >>> evaluate(ChanceScorer(), np.eye(4), np.eye(4)).value("top-1")
    0.25
    """

    def iter_similarity(
        self, x: object, y: object, /, *, block_size: int | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """Blocks of zeros."""
        for start, stop in bounds(n_items(x), n_items(y), block_size):
            yield np.zeros((stop - start, n_items(y)))


class PopularityScorer(Scorer["Items"]):
    """Scores a candidate by how many partners it had in training.

    The answer is the same for every query: what a metric gives for knowing the popular items only.
    Items are recognised by their ids; unknown ones count 0. A pair scores the sum of both counts,
    of which the query's own part never changes its ranking, so both directions get their baseline.

    Parameters
    ----------
    pairs : PairSet
        Training pairs.

    Examples
    --------
    >>> from simviz.data.pairs import PairSet
    >>> pairs = PairSet.from_texts(["a", "b"], ["c", "d"])
    >>> next(PopularityScorer(pairs).iter_similarity(pairs.x, pairs.y))
    array([[2., 2.],
           [2., 2.]])
    """

    def __init__(self, pairs: PairSet) -> None:
        pairs = as_pairs(pairs)
        positives = pairs.relevance.positives
        by_row = np.diff(positives.indptr)
        by_column = np.bincount(positives.indices, minlength=positives.shape[1])
        self._x_counts = dict(zip(pairs.x.ids, by_row.tolist(), strict=True))
        self._y_counts = dict(zip(pairs.y.ids, by_column.tolist(), strict=True))

    def iter_similarity(
        self, x: Items, y: Items, /, *, block_size: int | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """Count of the x item plus count of the y item, in blocks of rows."""
        x_counts = np.array([self._x_counts.get(i, 0) for i in x.ids], dtype=np.float64)
        y_counts = np.array([self._y_counts.get(i, 0) for i in y.ids], dtype=np.float64)
        for start, stop in bounds(len(x), len(y), block_size):
            yield x_counts[start:stop, None] + y_counts


@dataclass(frozen=True)
class VectorScorer(Scorer[NDArray[np.floating[Any]]]):
    """Compares vectors that are already there, from any model.

    Parameters
    ----------
    similarity : {"cosine", "dot"}, default="cosine"
        Zero vectors score 0 against everything.

    Raises
    ------
    ValueError
        If there is no such similarity, or the methods are given no matrices of one width.

    Examples
    --------
    >>> Z = np.array([[3.0, 4.0], [0.0, 0.0]])
    >>> next(VectorScorer().iter_similarity(Z, np.eye(2)))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    similarity: Literal["cosine", "dot"] = "cosine"

    def __post_init__(self) -> None:
        if self.similarity not in ("cosine", "dot"):
            raise ValueError(f"similarity must be 'cosine' or 'dot', got {self.similarity!r}.")

    def iter_similarity(
        self,
        x: NDArray[np.floating[Any]],
        y: NDArray[np.floating[Any]],
        /,
        *,
        block_size: int | None = None,
    ) -> Iterator[NDArray[np.floating[Any]]]:
        """Cosines or dot products of the rows of two matrices, in blocks of rows."""
        X, Y = self.factors(x, y)
        for start, stop in bounds(len(X), len(Y), block_size):
            yield X[start:stop] @ Y.T

    def factors(
        self, x: NDArray[np.floating[Any]], y: NDArray[np.floating[Any]]
    ) -> tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]:
        """Vectors whose products are the similarities.

        Parameters
        ----------
        x, y : ndarray of shape (n_x, k) and (n_y, k)
            Vectors, one row an item.

        Returns
        -------
        tuple of ndarrays of shape (n_x, k) and (n_y, k)
            Of length 1, or 0, for cosines.
        """
        X, Y = as_vectors(x), as_vectors(y)
        if X.shape[1] != Y.shape[1]:
            raise ValueError(
                f"Vectors of one width are compared; those of x have {X.shape[1]:,} numbers, "
                f"those of y {Y.shape[1]:,}. Take both from one encoder."
            )
        if self.similarity == "dot":
            return X, Y
        from simviz.base import unit_rows

        return unit_rows(X), unit_rows(Y)
