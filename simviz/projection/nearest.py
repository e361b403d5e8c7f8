"""Nearest items of the other side, as the model sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.projection._sides import FloatArray, check_sides

Side = Literal["x", "y"]
VectorSimilarity = Literal["cosine", "dot", "euclidean"]


@dataclass(frozen=True, slots=True, eq=False)
class Neighbors:
    """The nearest items of the other side, best first.

    Parameters
    ----------
    side : {"x", "y"}
        Side that the neighbours belong to.
    index : ndarray of int, shape (k,)
        Their rows on that side.
    scores : ndarray of shape (k,)
        Similarities, larger is closer, falling.
    """

    side: Side
    index: NDArray[np.intp]
    scores: FloatArray

    def __len__(self) -> int:
        return len(self.index)


def nearest_across(
    x_vectors: ArrayLike,
    y_vectors: ArrayLike,
    index: int,
    side: Side = "x",
    k: int = 10,
    similarity: VectorSimilarity = "cosine",
) -> Neighbors:
    """Items of the other side that a model finds most similar to one item.

    Give the coordinates of the model, never those of a map: a drawing moves
    neighbours apart, and `kept_near` tells which.

    Parameters
    ----------
    x_vectors, y_vectors : array-like of shape (n_x, k) and (n_y, k)
        Coordinates in one space.
    index : int
        Row of the item on its side.
    side : {"x", "y"}, default="x"
        Side of the item.
    k : int, default=10
        Neighbours wanted; capped at the size of the other side.
    similarity : {"cosine", "dot", "euclidean"}, default="cosine"
        "euclidean" is the negative squared distance.

    Returns
    -------
    Neighbors
        Equal scores are ordered by row.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> found = nearest_across([[1.0, 0.0]], [[0.0, 2.0], [3.0, 0.0]], index=0, k=1)
    >>> found.side, found.index.tolist(), found.scores.tolist()
    ('y', [1], [1.0])
    """
    x, y = check_sides(x_vectors, y_vectors)
    if side not in ("x", "y"):
        raise ValueError(f"side must be 'x' or 'y', got {side!r}.")
    own, other = (x, y) if side == "x" else (y, x)
    if not 0 <= index < len(own):
        raise ValueError(f"index must lie in 0..{len(own) - 1}, got {index}.")
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}.")
    scores = _scores(own[index], other, similarity)
    order = np.lexsort((np.arange(len(scores)), -scores))[:k]
    return Neighbors("y" if side == "x" else "x", order, scores[order])


def kept_near(
    map_x: ArrayLike, map_y: ArrayLike, index: int, neighbors: Neighbors
) -> NDArray[np.bool_]:
    """Which of an item's neighbours a drawing kept among its nearest.

    Parameters
    ----------
    map_x, map_y : array-like of shape (n_x, d) and (n_y, d)
        Positions on the map.
    index : int
        Row of the item, on the side that the neighbours do not belong to.
    neighbors : Neighbors
        What `nearest_across` found in the model's space.

    Returns
    -------
    ndarray of bool, shape (len(neighbors),)
        True where a neighbour is among as many nearest of its side on the map.

    Examples
    --------
    >>> found = nearest_across([[1.0, 0.0]], [[0.0, 2.0], [3.0, 0.0]], index=0, k=1)
    >>> kept_near([[0.0, 0.0]], [[0.1, 0.0], [5.0, 5.0]], 0, found).tolist()
    [False]
    """
    side: Side = "x" if neighbors.side == "y" else "y"
    drawn = nearest_across(map_x, map_y, index, side, len(neighbors), "euclidean")
    return np.isin(neighbors.index, drawn.index)


def _scores(item: FloatArray, others: FloatArray, similarity: VectorSimilarity) -> FloatArray:
    """Similarity of one vector to many; empty vectors have cosine 0 with everything."""
    if similarity == "dot":
        return others @ item
    if similarity == "euclidean":
        return -((others - item) ** 2).sum(axis=1)
    if similarity == "cosine":
        lengths = np.linalg.norm(others, axis=1) * np.linalg.norm(item)
        return others @ item / np.where(lengths > 0, lengths, 1.0)
    raise ValueError(f"similarity must be 'cosine', 'dot' or 'euclidean', got {similarity!r}.")


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
