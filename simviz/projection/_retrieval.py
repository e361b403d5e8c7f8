"""Searching one side by distance from the other, in a space or on a map."""

from __future__ import annotations

import numpy as np

from simviz.projection._sides import BLOCK_BYTES, FloatArray
from simviz.ranking import Ranking, expected_reciprocal_rank, rank_block
from simviz.relevance import Relevance


def mean_reciprocal_rank(points: FloatArray, n_x: int, relevance: Relevance) -> float | None:
    """Mean over x items of 1 / rank of their nearest relevant y item.

    Parameters
    ----------
    points : ndarray of shape (n_x + n_y, k)
        The x side, then the y side, centred and of unit size.
    n_x : int
        Items of the x side.
    relevance : Relevance of shape (n_x, n_y)
        What belongs together. Where unjudged pairs are ignored, an item is
        searched among those judged for it.

    Returns
    -------
    float or None
        The value expected over random order of ties; None where no x item
        has a relevant partner.
    """
    only_judged = relevance.unjudged == "ignore"
    positives = relevance.positives
    queries = np.flatnonzero(np.diff(positives.indptr))
    if not len(queries):
        return None
    grades = (positives - relevance.negatives if only_judged else positives)[queries]
    x, y = points[queries], points[n_x:]
    norms = np.einsum("ij,ij->i", y, y)
    total = 0.0
    size = max(1, BLOCK_BYTES // (8 * len(y)))
    for start in range(0, len(x), size):
        part = grades[start : start + size]
        # Constant within a row, |x|² does not change the order. Rounding
        # lets points that coincide tie.
        scores = np.round(2.0 * (x[start : start + size] @ y.T) - norms, 12)
        above, tied, _ = rank_block(
            scores, part.indptr, part.indices, "judged" if only_judged else "all"
        )
        pool = np.diff(part.indptr) if only_judged else np.full(len(scores), len(y))
        ranking = Ranking(
            part.indptr.astype(np.int64),
            part.indices.astype(np.int64),
            part.data,
            above,
            tied,
            pool,
        )
        total += float(expected_reciprocal_rank(ranking).sum())
    return total / len(x)
