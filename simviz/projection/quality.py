"""How far a drawing can be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz.data.cells import percent
from simviz.evaluation import MRR, evaluate
from simviz.projection._sides import BLOCK_BYTES, FloatArray, centred, check_sides, distance_blocks
from simviz.ranking import expected_reciprocal_rank
from simviz.relevance import Relevance

#: Share of the nearest neighbours that a drawing keeps, and what to call it.
_LEVELS = (
    (0.5, "Close to the model"),
    (0.25, "A fair sketch"),
    (0.1, "A rough sketch"),
    (0.0, "Only a hint"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Quality:
    """What a map kept of the neighbourhoods of the space it draws.

    Parameters
    ----------
    n_points : int
        Points of both sides.
    n_neighbors : int
        Size of a neighbourhood, k.
    trustworthiness : float
        1 if all near points on the map are near in the space.
    continuity : float
        1 if all near points of the space are near on the map.
    overlap : float
        Share of the k nearest points on the map that are among the k nearest in the space.
    random_overlap : float
        The same for a map that places points at random: k / (n − 1).
    cross_overlap, random_cross_overlap : float
        The same for the k nearest of the *other* side.
    mrr_space, mrr_map : float or None
        Mean reciprocal rank when the y side is searched by distance from each x item, in the space
        and on the map. None without relevance.
    sample : ndarray of int, shape (n_sampled,)
        Points that were judged: rows of the x side, then of the y side shifted by n_x.
    false_neighbors, missing_neighbors : ndarray of shape (n_sampled,)
        Their shares in 1 − trustworthiness and 1 − continuity, which are the means of these.
    """

    n_points: int
    n_neighbors: int
    trustworthiness: float
    continuity: float
    overlap: float
    random_overlap: float
    cross_overlap: float
    random_cross_overlap: float
    mrr_space: float | None
    mrr_map: float | None
    sample: NDArray[np.intp]
    false_neighbors: FloatArray
    missing_neighbors: FloatArray

    @property
    def n_sampled(self) -> int:
        """Points that were judged."""
        return len(self.sample)

    def describe(self) -> str:
        """Say in one sentence how far to trust the map."""
        kept = f"{percent(self.overlap)} of the {self.n_neighbors} nearest points"
        chance = f"chance: {percent(self.random_overlap, digits=1)}"
        scope = (
            f"{self.n_points:,} points"
            if self.n_sampled == self.n_points
            else f"{self.n_sampled:,} of {self.n_points:,} points"
        )
        return (
            f"The drawing keeps {kept} near ({chance}; {scope}); trustworthiness "
            f"{self.trustworthiness:.2f}, continuity {self.continuity:.2f}."
        )


def map_quality(
    x_vectors: ArrayLike,
    y_vectors: ArrayLike,
    map_x: ArrayLike,
    map_y: ArrayLike,
    *,
    n_neighbors: int = 10,
    relevance: Relevance | sp.sparray | None = None,
    max_points: int = 4000,
    random_state: int = 0,
) -> Quality:
    """Compare a map with the space it draws.

    Parameters
    ----------
    x_vectors, y_vectors : array-like of shape (n_x, k) and (n_y, k)
        Coordinates of both sides in the space.
    map_x, map_y : array-like of shape (n_x, d) and (n_y, d)
        Their positions on the map.
    n_neighbors : int, default=10
        Size of a neighbourhood; lowered below half the number of points.
    relevance : Relevance or sparse matrix of shape (n_x, n_y), optional
        What belongs together, to compare retrieval too.
    max_points : int, default=4000
        Where there are more points, a random sample of at most so many is judged, fewer the more
        points there are, each against all points.
    random_state : int, default=0
        Seed of the sample.

    Returns
    -------
    Quality
        Figures over both sides jointly and for each point.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Notes
    -----
    The rank of a neighbour counts the points that are nearer by more than rounding: a point drawn
    among several at one distance is no error.

    References
    ----------
    Venna, J., Kaski, S. (2001). Neighborhood preservation in nonlinear
    projection methods: an experimental study. ICANN.

    Examples
    --------
    >>> square = np.array([[0, 0], [0, 1.0], [1, 0], [1, 1.2]])
    >>> map_quality(square[:2], square[2:], square[:2], square[2:]).trustworthiness
    1.0
    """
    space, n_x = _joined(*check_sides(x_vectors, y_vectors))
    drawing, drawn_x = _joined(*check_sides(map_x, map_y))
    n = len(space)
    if (drawn_x, len(drawing)) != (n_x, n):
        raise ValueError(
            f"The map must place every item: the sides have {n_x} and {n - n_x} items, "
            f"the map {drawn_x} and {len(drawing) - drawn_x}."
        )
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors must be at least 1, got {n_neighbors}.")
    rows = np.arange(n)
    if n > max_points:
        # The farther beyond, the fewer: so the work grows no further.
        n_sampled = min(max_points, max(500, max_points**2 // n))
        rng = np.random.RandomState(random_state)
        rows = np.sort(rng.choice(n, n_sampled, replace=False))
    # Beyond half the points the penalties lose their normalisation.
    k = min(n_neighbors, (n - 1) // 2)
    false, missing = np.zeros(len(rows)), np.zeros(len(rows))
    kept, cross = np.ones(len(rows)), np.ones(len(rows))
    start = 0
    for (block, in_space), (_, on_map) in zip(
        distance_blocks(space, rows), distance_blocks(drawing, rows), strict=True
    ):
        part = slice(start, start + len(block))
        start += len(block)
        if k:
            false[part], kept[part] = _intruders(in_space, on_map, k)
            missing[part], _ = _intruders(on_map, in_space, k)
        of_x = block < n_x
        for mask, other in ((of_x, slice(n_x, n)), (~of_x, slice(0, n_x))):
            if mask.any():
                a, b = in_space[mask, other], on_map[mask, other]
                cross[part][mask] = _intruders(a, b, min(n_neighbors, a.shape[1]))[1]
    worst = k * (2 * n - 3 * k - 1) / 2
    if k:
        false /= worst
        missing /= worst
    searched = None if relevance is None else Relevance.coerce(relevance, n_x, n - n_x)
    mrr = [
        None if searched is None else _mean_reciprocal_rank(points, n_x, searched)
        for points in (space, drawing)
    ]
    sides = np.array([n_x, n - n_x])
    share_x = (rows < n_x).mean()
    chance = np.minimum(n_neighbors / sides[::-1], 1.0)
    return Quality(
        n_points=n,
        n_neighbors=k,
        trustworthiness=float(1.0 - false.mean()),
        continuity=float(1.0 - missing.mean()),
        overlap=float(kept.mean()),
        random_overlap=k / (n - 1),
        cross_overlap=float(cross.mean()),
        random_cross_overlap=float(share_x * chance[0] + (1 - share_x) * chance[1]),
        mrr_space=mrr[0],
        mrr_map=mrr[1],
        sample=rows,
        false_neighbors=false,
        missing_neighbors=missing,
    )


def _joined(x: FloatArray, y: FloatArray) -> tuple[FloatArray, int]:
    """Both sides as one centred cloud of unit size, and where the y side begins."""
    points = centred(np.concatenate([x, y]))
    size = np.sqrt((points**2).sum() / len(points))
    return (points / size if size > 0 else points), len(x)


def _intruders(truth: FloatArray, shown: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """For each row, how far the k nearest by `shown` exceed rank k by `truth`."""
    if k >= shown.shape[1]:
        return np.zeros(len(shown)), np.ones(len(shown))
    near = np.argpartition(shown, k - 1, axis=1)[:, :k]
    distances = np.take_along_axis(truth, near, axis=1)
    # The clouds have unit size: what differs by less is rounding.
    distances -= 1e-12
    ranks = np.empty(distances.shape, dtype=np.int64)
    for j in range(k):
        ranks[:, j] = np.count_nonzero(truth < distances[:, j, None], axis=1)
    ranks += 1
    excess = np.maximum(ranks - k, 0)
    return excess.sum(axis=1).astype(np.float64), (excess == 0).mean(axis=1)


def trust_level(quality: Quality) -> str:
    """Call a drawing by how many nearest neighbours it keeps."""
    return next(words for least, words in _LEVELS if quality.overlap >= least)


class _Nearness:
    """Scores points by how near they are."""

    def iter_similarity(
        self, x: FloatArray, y: FloatArray, /, *, block_size: int | None = None
    ) -> Iterator[FloatArray]:
        """Scores that order the y points as their distances from each x point do."""
        norms = np.einsum("ij,ij->i", y, y)
        size = max(1, BLOCK_BYTES // (8 * len(y)))
        for start in range(0, len(x), size):
            # Constant within a row, |x|² does not change the order. Rounding
            # lets points that coincide tie.
            yield np.round(2.0 * (x[start : start + size] @ y.T) - norms, 12)


def _mean_reciprocal_rank(points: FloatArray, n_x: int, relevance: Relevance) -> float | None:
    """Mean over x items of 1 / rank of their nearest relevant y item."""
    queries = np.flatnonzero(np.diff(relevance.positives.indptr))
    if not len(queries):
        return None
    sides = points[queries], points[n_x:], relevance.take(queries)
    searched = evaluate(_Nearness(), *sides, [MRR()], directions=["x2y"])
    return float(expected_reciprocal_rank(searched.rankings["x2y"]).mean())
