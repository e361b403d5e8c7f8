"""A place on a map for something that is not on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a new item is put.

    Parameters
    ----------
    point : tuple of float
        The place, in map coordinates.
    spread : float
        Root of the weighted mean squared distance of its neighbours from it:
        large where they lie apart, and then the place says little.
    """

    point: tuple[float, float]
    spread: float


def place_among(points: ArrayLike, scores: ArrayLike) -> Spot:
    """Put a new item into the middle of its neighbours, the nearest weighing most.

    The same item always gets the same place, whatever else is asked. It is not the
    place that the projection itself would find: of an item alone it finds another than of the
    same item among others.

    Parameters
    ----------
    points : array-like of shape (k, 2)
        Where the neighbours stand on the map.
    scores : array-like of shape (k,)
        Their similarities to the new item. They are weighed by how much they
        exceed the lowest, which counts a tenth of the range.

    Returns
    -------
    Spot
        The weighted mean of the points.

    Raises
    ------
    ValueError
        If there is no neighbour, or the lengths differ.

    Examples
    --------
    >>> place_among([[0, 0], [2, 0]], [0.5, 0.5])
    Spot(point=(1.0, 0.0), spread=1.0)
    """
    where = np.asarray(points, dtype=np.float64)
    told = np.asarray(scores, dtype=np.float64)
    if not len(where) or len(where) != len(told):
        raise ValueError(
            f"{len(where)} points and {len(told)} scores do not make a place: give a score a "
            "point, at least one."
        )
    above = told - told.min()
    weights = above + (0.1 * above.max() or 1.0)
    weights /= weights.sum()
    middle = weights @ where
    spread = float(np.sqrt(weights @ ((where - middle) ** 2).sum(axis=1)))
    return Spot((float(middle[0]), float(middle[1])), spread)
