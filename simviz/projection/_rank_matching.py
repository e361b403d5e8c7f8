"""Distances across the sides in the place of distances within them, in the same order."""

from __future__ import annotations

import numpy as np

from simviz._blas import eigh
from simviz.projection._sides import FloatArray, centred

#: Items whose distances are looked at; the others are placed by theirs to these.
MAX_LANDMARKS = 1_500
_DIMENSIONS = 50


def rank_matched(x: FloatArray, y: FloatArray, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Coordinates in which the other side is as near as the own side.

    The j-th nearest item of the other side gets the distance that the item
    of the same rank has on the own side; what the two items of a pair say is
    averaged. So each item's list of the other side keeps its order as far as
    both sides agree on it, and a gap between the sides, which is in every
    distance across, is in no rank.

    Parameters
    ----------
    x, y : ndarray of shape (n_x, k) and (n_y, k)
        Coordinates of both sides in one space.
    seed : int, default=0
        Of the sample of landmarks, where there are more than 1,500 items.

    Returns
    -------
    x, y : ndarray of shape (n_x, d) and (n_y, d)
        Classical scaling (Torgerson 1952) of the joint distances; d is 50 at
        most. Items that are no landmarks are put where their distances to
        the landmarks say (de Silva & Tenenbaum 2004). Where a side has fewer
        than three items the sides are centred instead.
    """
    if min(len(x), len(y)) < 3:
        return centred(x), centred(y)
    rng = np.random.default_rng(seed)
    share = min(1.0, MAX_LANDMARKS / (len(x) + len(y)))
    marks = [
        side[np.sort(rng.permutation(len(side))[: max(3, round(share * len(side)))])]
        for side in (x, y)
    ]
    squared = np.concatenate(
        [
            np.concatenate(_to_marks(marks[0], *marks), axis=1),
            np.concatenate(_to_marks(marks[1], *marks[::-1])[::-1], axis=1),
        ]
    )
    # Both sides say the same of a pair up to the ties of their ranks.
    squared = (squared + squared.T) / 2
    middle = squared.mean(axis=0)
    axes = _leading(-0.5 * (squared - middle - middle[:, None] + middle.mean()))
    if not axes.shape[1]:
        return centred(x), centred(y)
    return (
        0.5 * (middle - np.concatenate(_to_marks(x, *marks), axis=1)) @ axes,
        0.5 * (middle - np.concatenate(_to_marks(y, *marks[::-1])[::-1], axis=1)) @ axes,
    )


def _to_marks(
    side: FloatArray, own: FloatArray, other: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Squared distances from items to the landmarks of their side, and matched ones across."""
    within, across = _distances(side, own), _distances(side, other)
    # As the item sees it: the rank of a landmark in its list.
    ranks = across.argsort(axis=1).argsort(axis=1) / max(across.shape[1] - 1, 1)
    matched = _quantiles(np.sort(within, axis=1), ranks)
    # As the landmark sees it: the rank of the item in its list.
    lists = np.sort(_distances(own, other), axis=0)
    goals = np.sort(_distances(other, other), axis=1)
    for j in range(across.shape[1]):
        place = np.searchsorted(lists[:, j], across[:, j]) / len(lists)
        matched[:, j] += _quantiles(goals[[j]], np.minimum(place, 1.0)[None])[0]
    return within**2, (matched / 2) ** 2


def _quantiles(ascending: FloatArray, shares: FloatArray) -> FloatArray:
    """Row by row the value at a share of ascending ones, the first of them left out.

    That is the item itself; one that is no landmark loses its nearest landmark, one of many.
    """
    ascending = ascending[:, 1:]
    at = shares * (ascending.shape[1] - 1)
    low = np.minimum(at.astype(np.intp), max(ascending.shape[1] - 2, 0))
    high = np.minimum(low + 1, ascending.shape[1] - 1)
    first = np.take_along_axis(ascending, low, axis=1)
    return first + (at - low) * (np.take_along_axis(ascending, high, axis=1) - first)


def _leading(gram: FloatArray) -> FloatArray:
    """Eigenvectors of the largest positive eigenvalues, each over the root of its own."""
    values, vectors = eigh(gram)
    values, vectors = values[-_DIMENSIONS:], vectors[:, -_DIMENSIONS:]
    real = values > 1e-10 * max(values[-1], 0.0)
    return vectors[:, real][:, ::-1] / np.sqrt(values[real][::-1])


def _distances(a: FloatArray, b: FloatArray) -> FloatArray:
    squared = np.einsum("ij,ij->i", a, a)[:, None] + np.einsum("ij,ij->i", b, b) - 2.0 * (a @ b.T)
    return np.sqrt(np.maximum(squared, 0.0))
