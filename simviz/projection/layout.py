"""Positions of both sides on a map: classical scaling, PCA, UMAP and unfolding."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz._blas import eigh
from simviz.callbacks import Callback

logger = logging.getLogger(__name__)
FloatArray = NDArray[np.float64]

#: Largest block of distances held at once, in bytes.
BLOCK_BYTES = 16_000_000
#: Below this many points a neighbourhood graph says nothing that distances do not.
MIN_POINTS = 5
#: Largest table of similarities that is held, in bytes.
MAX_BYTES = 2_000_000_000


def check_sides(x_vectors: ArrayLike, y_vectors: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Both sides as finite float64 matrices of one width."""
    sides = []
    for name, vectors in (("x", x_vectors), ("y", y_vectors)):
        if sp.issparse(vectors):
            raise ValueError(
                f"{name}_vectors is sparse; a map needs dense coordinates. "
                "Reduce it first, for instance with simviz.projection.unfold."
            )
        side = np.asarray(vectors, dtype=np.float64)
        if side.ndim != 2 or not side.shape[0]:
            raise ValueError(
                f"{name}_vectors must have one row per item and one column per dimension, "
                f"with at least one row; got shape {side.shape}."
            )
        if not np.isfinite(side).all():
            row = int(np.flatnonzero(~np.isfinite(side).all(axis=1))[0])
            raise ValueError(
                f"{name}_vectors must be finite; row {row} holds NaN or infinity. "
                "Set empty items to a row of zeros."
            )
        sides.append(side)
    x, y = sides
    if x.shape[1] != y.shape[1]:
        raise ValueError(
            f"Both sides must lie in one space; x_vectors has {x.shape[1]} columns, "
            f"y_vectors has {y.shape[1]}. Give the model's projections, not its inputs."
        )
    return x, y


def centred(points: FloatArray) -> FloatArray:
    """Points around their mean; all zeros if they differ by rounding only."""
    moved = points - points.mean(axis=0)
    rounding = 8 * np.finfo(np.float64).eps * np.abs(points).max(initial=0.0)
    if np.abs(moved).max(initial=0.0) <= rounding:
        moved[:] = 0.0
    return moved


def distance_blocks(
    points: FloatArray, rows: NDArray[np.intp]
) -> Iterator[tuple[NDArray[np.intp], FloatArray]]:
    """Squared Euclidean distances from some rows to all points, block by block."""
    norms = np.einsum("ij,ij->i", points, points)
    size = max(1, BLOCK_BYTES // (8 * len(points)))
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        squared = points[block] @ points.T
        squared *= -2.0
        squared += norms
        squared += norms[block, None]
        np.maximum(squared, 0.0, out=squared)
        squared[np.arange(len(block)), block] = np.inf
        yield block, squared


def principal_axes(covariance: FloatArray, n_axes: int) -> FloatArray:
    """Leading eigenvectors of a covariance, strongest first, signs fixed."""
    # An axis along which nothing varies is returned as zeros, and so is every axis beyond the
    # width of the space: the map is then flat there.
    k = len(covariance)
    axes = np.zeros((k, n_axes))
    n = min(n_axes, k)
    if not n or not covariance.any():
        return axes
    values, vectors = eigh(covariance)
    values, vectors = values[::-1][:n], vectors[:, ::-1][:, :n]
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(n)]
    vectors = vectors * np.where(largest < 0, -1.0, 1.0)
    real = values > k * np.finfo(np.float64).eps * max(values[0], 0.0)
    axes[:, :n][:, real] = vectors[:, real]
    return axes


def mds_map(x_vectors: ArrayLike, y_vectors: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Positions whose distances follow the model's Euclidean distances best.

    For Euclidean distances, classical scaling is a principal component analysis of both sides
    together: exact, and without any matrix of n × n distances.

    Parameters
    ----------
    x_vectors, y_vectors : array-like of shape (n_x, k) and (n_y, k)
        Coordinates in the model's space.

    Returns
    -------
    x, y : ndarray of shape (n_x, 2) and (n_y, 2)
        Positions, centred at the mean of all points, in units of the model's distance, strongest
        direction first, signs fixed. Directions that the data lack are zeros.

    Raises
    ------
    ValueError
        If the sides do not lie in one space or are not finite.

    References
    ----------
    Torgerson, W. S. (1952). Multidimensional scaling: I. Theory and method.
    Psychometrika 17.

    Examples
    --------
    >>> x, y = mds_map([[0.0, 0.0], [3.0, 0.0]], [[0.0, 4.0], [3.0, 4.0]])
    >>> float(np.linalg.norm(x[0] - y[1]).round(6))  # the diagonal of a 3 × 4 rectangle
    5.0
    """
    x, y = check_sides(x_vectors, y_vectors)
    points = centred(np.concatenate([x, y]))
    n, k = points.shape
    if k <= n:
        positions = points @ principal_axes(points.T @ points, 2)
    else:
        # Fewer points than dimensions: the same directions from the Gram matrix.
        left = principal_axes(points @ points.T, 2)
        positions = left * np.linalg.norm(points.T @ left, axis=0)
    return positions[: len(x)], positions[len(x) :]


def pca_map(x_vectors: ArrayLike, y_vectors: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Positions along the axes on which items of one side differ most.

    `mds_map` looks at all points as one cloud, where a large side outweighs a small one and an
    offset between the sides can take a whole axis. Here the axes come from the mean of the two
    covariances *within* a side; an offset is drawn as far as it lies along these axes.

    Parameters
    ----------
    x_vectors, y_vectors : array-like of shape (n_x, k) and (n_y, k)
        Coordinates in the model's space.

    Returns
    -------
    x, y : ndarray of shape (n_x, 2) and (n_y, 2)
        Positions, with the mean of what was fitted at the origin. Directions that the data lack
        are zeros.

    Raises
    ------
    ValueError
        If the sides do not lie in one space.

    Examples
    --------
    >>> x, y = pca_map([[0, 9.0], [2, 9]], [[0, 0.0], [2, 0], [4, 0]])  # 9 apart, across the axis
    >>> np.abs(x[1] - x[0]).round(6).tolist()
    [2.0, 0.0]
    """
    x, y = check_sides(x_vectors, y_vectors)
    covariances = [side.T @ side / len(side) for side in (centred(x), centred(y))]
    axes = principal_axes(covariances[0] + covariances[1], 2)
    origin = np.mean([x.mean(axis=0), y.mean(axis=0)], axis=0)
    return (x - origin) @ axes, (y - origin) @ axes


class _StoppedError(Exception):
    """Leaves the optimisation when a callback asks to."""


def umap_map(
    x_vectors: ArrayLike,
    y_vectors: ArrayLike,
    *,
    n_neighbors: int = 15,
    min_dist: float = 0.2,
    random_state: int = 0,
    callback: Callback | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Positions that keep each point near its nearest neighbours.

    The neighbours are exact, the start is the classical scaling, and the optimisation runs on one
    thread from a fixed seed: the same input gives the same picture.

    Parameters
    ----------
    x_vectors, y_vectors : array-like of shape (n_x, k) and (n_y, k)
        Coordinates in the model's space.
    n_neighbors : int, default=15
        Size of a neighbourhood, the point itself included.
    min_dist : float, default=0.2
        How close the map may put two points, in its own units.
    random_state : int, default=0
        Seed.
    callback : callable, optional
        See `simviz.callbacks`. A true answer stops and keeps the positions reached.

    Returns
    -------
    x, y : ndarray of shape (n_x, 2) and (n_y, 2)
        Positions centred at the mean of all points, the widest direction first; those of `mds_map`
        for fewer than 5 points, or points that all coincide.

    Raises
    ------
    ValueError
        If the sides do not lie in one space, or an option is out of range.

    References
    ----------
    McInnes, L., Healy, J., Melville, J. (2018). UMAP: Uniform Manifold
    Approximation and Projection for Dimension Reduction. arXiv:1802.03426.
    """
    if n_neighbors < 2:
        raise ValueError(f"n_neighbors must be at least 2, got {n_neighbors}.")
    x, y = check_sides(x_vectors, y_vectors)
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


def nearest_points(points: FloatArray, k: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Each point, then its k exact nearest neighbours, with Euclidean distances."""
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
    """Let other threads run while UMAP's kernel does."""
    # It keeps the interpreter for each of hundreds of epochs, and a page that is drawn meanwhile
    # waits for one of them at every element that it sends.
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
    known = {"knn_indices": indices, "knn_dists": distances}
    graph = sp.coo_array(fuzzy_simplicial_set(start, n_neighbors, rng, "euclidean", **known)[0])
    n_epochs = 500 if n <= 10_000 else 200
    # Edges too weak to be drawn even once are left out, as UMAP does.
    keep = graph.data >= graph.data.max() / n_epochs
    head, tail = graph.row[keep].astype(np.int32), graph.col[keep].astype(np.int32)
    # UMAP starts within a box of 10; the jitter parts points that coincide.
    extent = np.ptp(start, axis=0).max()
    jitter = rng.normal(scale=1e-3, size=start.shape)
    positions = 10.0 * (start - start.min(axis=0)) / extent + jitter
    positions = positions.astype(np.float32, order="C")
    a, b = find_ab_params(1.0, min_dist)
    state = rng.randint(np.iinfo(np.int32).min + 1, np.iinfo(np.int32).max - 1, 3)
    samples = make_epochs_per_sample(graph.data[keep], n_epochs)
    how = head, tail, n_epochs, n, samples, a, b, state.astype(np.int64)
    progress = _Progress(n_epochs, callback)
    bar: dict[str, Any] = {"disable": callback is None, "file": progress, "leave": False}
    bar |= {"bar_format": "{n_fmt}", "mininterval": 0.2, "miniters": 1}
    try:
        layouts.optimize_layout_euclidean(
            positions, positions, *how, tqdm_kwds=bar, move_other=True
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


def unfold(
    similarities: ArrayLike | Iterable[NDArray[np.floating]],
    n_components: int = 50,
    random_state: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """Place both sides so that inner products follow their similarities.

    The table S of similarities is centred in rows and columns, so that an item that is similar
    to everything gains nothing by it, and decomposed: J S J ≈ U Σ Vᵀ gives the x side as U Σ^½
    and the y side as V Σ^½. Distances *within* a side are only a consequence (two items are near
    if the other side sees them alike), and a map drawn from this should say so.

    Parameters
    ----------
    similarities : array-like of shape (n_x, n_y), or iterator of row blocks
        Larger is closer. Blocks are gathered in single precision.
    n_components : int, default=50
        Dimensions wanted; capped at the rank that the table can have.
    random_state : int, default=0
        Seed of the start vector of the Lanczos iterations.

    Returns
    -------
    x_vectors, y_vectors : ndarray of shape (n_x, k) and (n_y, k)
        Coordinates in one space, strongest dimension first, signs fixed.

    Raises
    ------
    ValueError
        If the table is not two-dimensional, not finite, or larger than 2 GB.

    References
    ----------
    Heiser, W. J., Meulman, J. (1983). Analyzing rectangular tables by joint
    and constrained multidimensional scaling. Journal of Econometrics 22.

    Examples
    --------
    >>> x, y = unfold([[2.0, 1.0], [1.0, 2.0]], n_components=1)
    >>> (x @ y.T).round(6).tolist()  # [[2, 1], [1, 2]] after centring
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    if n_components < 1:
        raise ValueError(f"n_components must be at least 1, got {n_components}.")
    table = _gather(similarities)
    # Means in double precision: a float32 sum over a long column drifts.
    rows = table.mean(axis=1, dtype=np.float64)
    columns = table.mean(axis=0, dtype=np.float64)
    largest = float(np.abs(table).max())
    table -= rows[:, None].astype(table.dtype)
    table -= (columns - columns.mean())[None, :].astype(table.dtype)
    # What is left of a constant table is rounding, not structure.
    if float(np.abs(table).max()) <= 16 * np.finfo(table.dtype).eps * largest:
        table[:] = 0.0
    k = max(1, min(n_components, min(table.shape) - 1))
    left, values, right = _svd(table, k, random_state)
    signs = np.where(left[np.abs(left).argmax(axis=0), np.arange(k)] < 0, -1.0, 1.0)
    weights = np.sqrt(values) * signs
    return left * weights, right * weights


def _gather(similarities: ArrayLike | Iterable[NDArray[np.floating]]) -> NDArray[np.floating]:
    """Copy an array, or blocks of rows, into one table of our own."""
    blocks: list[NDArray[np.float32]] = []
    if isinstance(similarities, Iterator) or (
        isinstance(similarities, list | tuple) and similarities and np.ndim(similarities[0]) == 2
    ):
        size = 0
        for block in similarities:
            blocks.append(np.asarray(block, dtype=np.float32))
            size += blocks[-1].nbytes
            if size > MAX_BYTES:
                raise ValueError(
                    f"The table of similarities exceeds {MAX_BYTES / 1e9:.0f} GB. "
                    "Draw a sample of the items instead."
                )
        table: NDArray[np.floating] = np.concatenate(blocks) if blocks else np.empty((0, 0))
    else:
        array = np.asarray(similarities)
        table = array.astype(np.float32 if array.dtype == np.float32 else np.float64)
    if table.ndim != 2 or not table.size:
        raise ValueError(
            "Similarities are a table with one row per x item and one column per y item; "
            f"got shape {table.shape}."
        )
    if not np.isfinite(table).all():
        raise ValueError("Similarities must be finite; found NaN or infinity.")
    return table


def _svd(
    table: NDArray[np.floating], k: int, random_state: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Find the k largest singular triplets, largest first."""
    from scipy.sparse.linalg import svds

    if not table.any():
        return np.zeros((table.shape[0], k)), np.zeros(k), np.zeros((table.shape[1], k))
    if min(table.shape) <= max(200, 3 * k):
        u, s, vt = np.linalg.svd(table.astype(np.float64), full_matrices=False)
    else:
        start = np.random.RandomState(random_state).uniform(-1, 1, min(table.shape))
        u, s, vt = svds(table, k=k, v0=start.astype(table.dtype), solver="arpack")
        u, s, vt = u[:, ::-1], s[::-1], vt[::-1]
    values = np.maximum(s[:k], 0.0).astype(np.float64)
    return u[:, :k].astype(np.float64), values, vt[:k].T.astype(np.float64)


def align(points: ArrayLike, onto: ArrayLike) -> FloatArray:
    """Turn, mirror, scale and shift a drawing to lie on another as well as it can.

    Parameters
    ----------
    points : array-like of shape (n, d)
        The drawing to move.
    onto : array-like of shape (n, d)
        The same items on the other.

    Returns
    -------
    ndarray of shape (n, d)
        The first drawing; distances within it keep their proportions.

    Raises
    ------
    ValueError
        If the shapes differ.

    References
    ----------
    Gower, J. C. (1975). Generalized Procrustes analysis. Psychometrika 40.
    """
    moved = np.asarray(points, dtype=np.float64)
    goal = np.asarray(onto, dtype=np.float64)
    if moved.shape != goal.shape:
        raise ValueError(
            f"Drawings of shape {moved.shape} and {goal.shape} cannot lie on one another: "
            "give the same items in the same order."
        )
    middle = goal.mean(axis=0)
    moved = moved - moved.mean(axis=0)
    U, s, Vt = np.linalg.svd(moved.T @ (goal - middle))
    size = float((moved**2).sum())
    return moved @ (U @ Vt) * (s.sum() / size if size > 0 else 1.0) + middle
