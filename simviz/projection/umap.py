"""UMAP of both sides: neighbourhoods first, large distances loosely."""

from __future__ import annotations

import logging
import warnings
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz.callbacks import Callback
from simviz.projection._sides import (
    FloatArray,
    centred,
    check_sides,
    distance_blocks,
    principal_axes,
)
from simviz.projection.mds import mds_map

logger = logging.getLogger(__name__)

#: Below this many points a neighbourhood graph says nothing that distances do not.
MIN_POINTS = 5


class _StoppedError(Exception):
    """Leaves the optimisation when a callback asks to."""


def umap_map(
    x_vectors: ArrayLike,
    y_vectors: ArrayLike,
    *,
    metric: Literal["euclidean", "cosine"] = "euclidean",
    n_neighbors: int = 15,
    min_dist: float = 0.2,
    random_state: int = 0,
    callback: Callback | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Positions that keep each point near its nearest neighbours.

    The neighbours are exact, the start is the classical scaling, and the
    optimisation runs on one thread from a fixed seed: the same input gives
    the same picture.

    Parameters
    ----------
    x_vectors, y_vectors : array-like of shape (n_x, k) and (n_y, k)
        Coordinates of both sides in the model's space.
    metric : {"euclidean", "cosine"}, default="euclidean"
        How neighbours are found; "cosine" normalises the rows first.
    n_neighbors : int, default=15
        Size of a neighbourhood, the point itself included; capped at the
        number of points.
    min_dist : float, default=0.2
        How close the map may put two points, in its own units.
    random_state : int, default=0
        Seed.
    callback : callable, optional
        See `simviz.callbacks`; called several times a second with the epoch.
        A true answer stops and keeps the positions reached.

    Returns
    -------
    x, y : ndarray of shape (n_x, 2) and (n_y, 2)
        Positions centred at the mean of all points, the widest direction
        first. With fewer than 5
        points, or points that all coincide, those of `mds_map`.

    Raises
    ------
    ValueError
        If the sides do not lie in one space, or an option is out of range.

    References
    ----------
    McInnes, L., Healy, J., Melville, J. (2018). UMAP: Uniform Manifold
    Approximation and Projection for Dimension Reduction. arXiv:1802.03426.
    """
    if metric not in ("euclidean", "cosine"):
        raise ValueError(f"metric must be 'euclidean' or 'cosine', got {metric!r}.")
    if n_neighbors < 2:
        raise ValueError(f"n_neighbors must be at least 2, got {n_neighbors}.")
    x, y = check_sides(x_vectors, y_vectors)
    if metric == "cosine":
        x, y = _unit_rows(x), _unit_rows(y)
    start_x, start_y = mds_map(x, y)
    start = np.concatenate([start_x, start_y])
    n = len(start)
    if n < MIN_POINTS or not start.any():
        return start_x, start_y

    points = centred(np.concatenate([x, y]))
    indices, distances = nearest_points(points, min(n_neighbors, n) - 1)
    rng = np.random.RandomState(random_state)
    positions = _optimise(indices, distances, start, min_dist, rng, callback)
    # Its orientation means nothing: the widest direction goes across the page.
    positions = centred(positions)
    positions = positions @ principal_axes(positions.T @ positions, 2)
    return positions[: len(x)], positions[len(x) :]


def warm_up() -> None:
    """Compile what `umap_map` runs, on a handful of points.

    The first map of a process waits some seconds for compilation; an app
    calls this in a background thread when it starts.
    """
    ring = np.linspace(0.0, 6.0, 24)
    circle = np.column_stack([np.cos(ring), np.sin(ring), ring])
    umap_map(circle[:12], circle[12:], n_neighbors=5)


def nearest_points(points: FloatArray, k: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Each point, then its k exact nearest neighbours, with Euclidean distances.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Coordinates.
    k : int
        Neighbours wanted, fewer than n.

    Returns
    -------
    indices, distances : ndarray of shape (n, k + 1)
        The point itself first, at distance 0, then nearest first.
    """
    n = len(points)
    indices = np.empty((n, k + 1), dtype=np.int32)
    distances = np.zeros((n, k + 1), dtype=np.float32)
    indices[:, 0] = np.arange(n)
    for block, squared in distance_blocks(points, np.arange(n)):
        near = np.argpartition(squared, k - 1, axis=1)[:, :k]
        values = np.take_along_axis(squared, near, axis=1)
        # Equal distances by index, so that the order is the same everywhere.
        order = np.lexsort((near, values), axis=1)
        indices[block, 1:] = np.take_along_axis(near, order, axis=1)
        distances[block, 1:] = np.sqrt(np.take_along_axis(values, order, axis=1))
    return indices, distances


def _let_go(layouts: Any) -> None:
    """Let other threads run while UMAP's kernel does.

    It keeps the interpreter for each of hundreds of epochs, and a page that is drawn
    meanwhile waits for one of them at every element that it sends.
    """
    make = getattr(layouts, "_get_optimize_layout_euclidean_single_epoch_fn", None)
    kernel = make(False) if make is not None else None
    if kernel is not None and not kernel.signatures:  # not compiled yet
        kernel.targetoptions["nogil"] = True


def _optimise(
    indices: NDArray[np.int32],
    distances: NDArray[np.float32],
    start: FloatArray,
    min_dist: float,
    rng: np.random.RandomState,
    callback: Callback | None,
) -> FloatArray:
    """Fuzzy graph of the neighbourhoods, then its stochastic layout."""
    with warnings.catch_warnings():
        # Said on import wherever TensorFlow, which nothing here uses, is absent.
        warnings.filterwarnings("ignore", "Tensorflow not installed", ImportWarning)
        from umap import layouts
        from umap.umap_ import find_ab_params, fuzzy_simplicial_set, make_epochs_per_sample

    _let_go(layouts)
    n, n_neighbors = indices.shape
    graph, _, _ = fuzzy_simplicial_set(
        start, n_neighbors, rng, "euclidean", knn_indices=indices, knn_dists=distances
    )
    graph = sp.coo_array(graph)
    n_epochs = 500 if n <= 10_000 else 200
    # Edges too weak to be drawn even once are left out, as UMAP does.
    keep = graph.data >= graph.data.max() / n_epochs
    head, tail = graph.row[keep].astype(np.int32), graph.col[keep].astype(np.int32)
    # UMAP starts within a box of 10; the jitter parts points that coincide.
    extent = np.ptp(start, axis=0).max()
    jitter = rng.normal(scale=1e-3, size=start.shape)
    positions = (10.0 * (start - start.min(axis=0)) / extent + jitter).astype(
        np.float32, order="C"
    )
    a, b = find_ab_params(1.0, min_dist)
    state = rng.randint(np.iinfo(np.int32).min + 1, np.iinfo(np.int32).max - 1, 3)
    progress = _Progress(n_epochs, callback)
    try:
        layouts.optimize_layout_euclidean(
            positions,
            positions,
            head,
            tail,
            n_epochs,
            n,
            make_epochs_per_sample(graph.data[keep], n_epochs),
            a,
            b,
            state.astype(np.int64),
            tqdm_kwds={
                "disable": callback is None,
                "file": progress,
                "bar_format": "{n_fmt}",
                "mininterval": 0.2,
                "miniters": 1,
                "leave": False,
            },
            move_other=True,
        )
    except _StoppedError:
        # The layout is updated in place: what was reached stands.
        logger.info("UMAP was stopped at epoch %d of %d.", progress.epoch, n_epochs)
    return positions.astype(np.float64)


class _Progress:
    """A file for UMAP's progress bar, the only thing it reports its epochs to."""

    def __init__(self, total: int, callback: Callback | None) -> None:
        self.total = total
        self.callback = callback
        self.epoch = 0

    def write(self, text: str) -> None:
        """Hear of an epoch; raise `_StoppedError` if the callback wants no more."""
        digits = text.strip()
        if self.callback is None or not digits.isdecimal():
            return
        self.epoch = min(int(digits), self.total)
        if self.callback(self.epoch, self.total, {}):
            # The bar clears its line when it is left: that is no new epoch.
            self.callback = None
            raise _StoppedError

    def flush(self) -> None:
        """Nothing is held back."""


def _unit_rows(rows: FloatArray) -> FloatArray:
    """Rows of length 1; rows of zeros stay."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1.0)
