"""How far a drawing can be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz.data.cells import percent
from simviz.evaluation import MRR, evaluate
from simviz.projection.layout import BLOCK_BYTES, FloatArray, centred, check_sides, distance_blocks
from simviz.projection.two_sided import Similarity, check_similarity
from simviz.ranking import expected_reciprocal_rank
from simviz.relevance import Relevance

#: Share of the nearest neighbours across the sides that a drawing keeps beyond chance, and what
#: to call it.
_LEVELS = ((0.5, "good"), (0.25, "fair"), (0.1, "rough"))


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
        The same for the k nearest of the *other* side, by the model's own similarity.
    mrr_space, mrr_map : float or None
        Mean reciprocal rank when each side is searched from the other, the two alike: by the
        model's own similarity, and by distance on the map. None without relevance.
    sample : ndarray of int, shape (n_sampled,)
        Points that were judged: rows of the x side, then of the y side shifted by n_x.
    false_neighbors, missing_neighbors : ndarray of shape (n_sampled,)
        Their shares in 1 − trustworthiness and 1 − continuity, which are the means of these.
    within_overlap, random_within_overlap : float
        Overlap for the k nearest of the own side.
    false_across, missing_across : ndarray of shape (n_sampled,)
        False and missing neighbours of the other side, as shares of the worst possible.
    moved : ndarray of int, shape (n_points,) or None
        In how many of `N_SEEDS` drawings from other seeds a point lands elsewhere, see
        `points_moved`.
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
    sample: NDArray[np.intp] = field(repr=False)
    false_neighbors: FloatArray = field(repr=False)
    missing_neighbors: FloatArray = field(repr=False)
    within_overlap: float
    random_within_overlap: float
    false_across: FloatArray = field(repr=False)
    missing_across: FloatArray = field(repr=False)
    moved: NDArray[np.intp] | None = field(default=None, repr=False)

    @property
    def n_sampled(self) -> int:
        """Points that were judged."""
        return len(self.sample)

    def describe(self) -> str:
        """Say in one sentence how far to trust the map."""
        shares = (
            f"{percent(self.cross_overlap)} of the {self.n_neighbors} nearest of the other side "
            f"(chance: {percent(self.random_cross_overlap)})"
            f" and {percent(self.within_overlap)} of those of the own side "
            f"(chance: {percent(self.random_within_overlap)})"
        )
        scope = f"{self.n_points:,} points"
        if self.n_sampled != self.n_points:
            scope = f"{self.n_sampled:,} of {scope}"
        return (
            f"The drawing keeps {shares} near; trustworthiness {self.trustworthiness:.2f}, "
            f"continuity {self.continuity:.2f} ({scope})."
        )


def map_quality(
    x_vectors: ArrayLike,
    y_vectors: ArrayLike,
    map_x: ArrayLike,
    map_y: ArrayLike,
    *,
    n_neighbors: int = 10,
    similarity: Similarity | ArrayLike = "euclidean",
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
    similarity : {"euclidean", "dot"} or array-like of shape (n_x, n_y), default="euclidean"
        How the model compares items of different sides, see `two_sided_map`.
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
    x, y = check_sides(x_vectors, y_vectors)
    space, n_x = _joined(x, y)
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
    sizes = np.array([n_x, n - n_x])
    k_own = np.minimum(n_neighbors, (sizes - 1) // 2)
    k_other = np.minimum(n_neighbors, np.maximum(sizes // 2, 1))
    across = _both_ways(x, y, check_similarity(similarity, n_x, n - n_x, np.float64))
    false, missing, overlap = np.zeros((3, len(rows)))
    within_overlap, cross_overlap, false_other, missing_other = np.zeros((4, len(rows)))
    start = 0
    blocks = distance_blocks(space, rows), distance_blocks(drawing, rows)
    for (block, in_space), (_, on_map) in zip(*blocks, strict=True):
        part = slice(start, start + len(block))
        start += len(block)
        false[part], overlap[part] = _intruders(in_space, on_map, k)
        missing[part], _ = _intruders(on_map, in_space, k)
        for side, mask in enumerate((block < n_x, block >= n_x)):
            at = np.arange(part.start, part.stop)[mask]
            if not len(at):
                continue
            halves = slice(0, n_x), slice(n_x, n)
            own, other = halves[side], halves[1 - side]
            within_overlap[at] = _intruders(in_space[mask, own], on_map[mask, own], k_own[side])[1]
            cost = across[side].costs(block[mask] - halves[side].start)
            drawn = on_map[mask, other]
            false_other[at], cross_overlap[at] = _intruders(cost, drawn, k_other[1 - side])
            missing_other[at] = _intruders(drawn, cost, k_other[1 - side])[0]
    of_x = rows < n_x
    for penalty in (false, missing):
        penalty /= max(_worst(k, n - 1), 1)
    for penalty in (false_other, missing_other):
        penalty[of_x] /= max(_worst(k_other[1], n - n_x), 1)
        penalty[~of_x] /= max(_worst(k_other[0], n_x), 1)
    mrr: list[float | None] = [None, None]
    if relevance is not None:
        query_rows = rows[of_x], rows[~of_x] - n_x
        searched = Relevance.coerce(relevance, n_x, n - n_x)
        on_drawing = _both_ways(drawing[:n_x], drawing[n_x:], "euclidean")
        mrr = [_mean_reciprocal_rank(ways, query_rows, searched) for ways in (across, on_drawing)]
    shares = np.array([of_x.mean(), 1 - of_x.mean()])
    return Quality(
        n_points=n,
        n_neighbors=k,
        trustworthiness=float(1.0 - false.mean()),
        continuity=float(1.0 - missing.mean()),
        overlap=float(overlap.mean()),
        random_overlap=k / (n - 1),
        cross_overlap=float(cross_overlap.mean()),
        random_cross_overlap=float(shares @ (k_other / sizes)[::-1]),
        mrr_space=mrr[0],
        mrr_map=mrr[1],
        sample=rows,
        false_neighbors=false,
        missing_neighbors=missing,
        within_overlap=float(within_overlap.mean()),
        random_within_overlap=float(shares @ (k_own / np.maximum(sizes - 1, 1))),
        false_across=false_other,
        missing_across=missing_other,
    )


def _worst(k: int, n_others: int) -> float:
    """The largest sum of what k of so many others can exceed rank k by."""
    return k * (2 * n_others - 3 * k + 1) / 2


def _joined(x: FloatArray, y: FloatArray) -> tuple[FloatArray, int]:
    """Both sides as one centred cloud of unit size, and where the y side begins."""
    points = centred(np.concatenate([x, y]))
    size = np.sqrt((points**2).sum() / len(points))
    return (points / size if size > 0 else points), len(x)


def _intruders(truth: FloatArray, shown: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """For each row, how far the k nearest by `shown` exceed rank k by `truth`; who do not."""
    if not 0 < k < shown.shape[1]:
        return np.zeros(len(shown)), np.ones(len(shown))
    near = np.argpartition(shown, (k - 1, k), axis=1)[:, : k + 1]
    # Of several that are equally near none is the one to be kept.
    costs = np.take_along_axis(shown, near, axis=1)
    is_nearer = costs[:, :k] < costs[:, k:]
    near = near[:, :k]
    distances = np.take_along_axis(truth, near, axis=1)
    # The clouds have unit size: what differs by less is rounding.
    distances -= 1e-12
    ranks = np.empty(distances.shape, dtype=np.int64)
    for j in range(k):
        ranks[:, j] = np.count_nonzero(truth < distances[:, j, None], axis=1)
    ranks += 1
    excess = np.maximum(ranks - k, 0)
    preserved = (excess == 0).mean(axis=1)
    return (excess * is_nearer).sum(axis=1).astype(np.float64), preserved


def trust_level(quality: Quality) -> str:
    """Call a drawing by how many of the nearest neighbours across the sides it keeps."""
    chance = quality.random_cross_overlap
    beyond = (quality.cross_overlap - chance) / (1 - chance) if chance < 1 else 1.0
    return f"Map quality: {next((word for least, word in _LEVELS if beyond >= least), 'poor')}"


#: Drawings from other seeds that `points_moved` is told of.
N_SEEDS = 5


def points_moved(
    drawn: tuple[FloatArray, FloatArray],
    others: Sequence[tuple[FloatArray, FloatArray]],
    n_neighbors: int = 10,
) -> NDArray[np.intp]:
    """In how many other drawings of the same items each lands elsewhere; the x side first."""
    # It lands elsewhere where it shares less than half of its nearest drawn items of the other
    # side with the first drawing.
    from scipy.spatial import cKDTree

    moved = []
    for side in range(2):
        k = min(n_neighbors, max(1, len(drawn[1 - side]) // 2))
        found = (cKDTree(both[1 - side]).query(both[side], k) for both in (drawn, *others))
        near = [index.reshape(-1, k) for _, index in found]
        shared = np.array([(near[0][:, :, None] == n[:, None]).any(2).mean(1) for n in near[1:]])
        moved.append((shared < 0.5).sum(axis=0))
    return np.concatenate(moved)


class _Across:
    """How similar the items of one side are to those of the other."""

    def __init__(
        self, own: FloatArray, other: FloatArray, similarity: Similarity | FloatArray
    ) -> None:
        self.own, self.other = own, other
        self.table = None if isinstance(similarity, str) else similarity
        is_dot = isinstance(similarity, str) and similarity == "dot"
        self.norms = 0.0 if is_dot else np.einsum("ij,ij->i", other, other)

    def costs(self, rows: NDArray[np.intp]) -> FloatArray:
        """What rises as the similarity of some rows to all items of the other side falls."""
        if self.table is not None:
            return -self.table[rows]
        # Constant within a row, |own|² does not change the order. Rounding lets points that
        # coincide tie.
        return np.round(self.norms - 2.0 * (self.own[rows] @ self.other.T), 12)

    def iter_similarity(
        self, rows: NDArray[np.intp], others: object, /, *, block_size: int | None = None
    ) -> Iterator[FloatArray]:
        """Similarities of some rows to all items of the other side, block by block."""
        size = max(1, BLOCK_BYTES // (8 * len(self.other)))
        for start in range(0, len(rows), size):
            yield -self.costs(rows[start : start + size])


def _both_ways(x: FloatArray, y: FloatArray, similarity: Similarity | FloatArray) -> list[_Across]:
    """What each side is to the other, both of at most unit size."""
    if not isinstance(similarity, str):
        table = similarity / max(np.abs(similarity).max(initial=0.0), 1e-300)
        return [_Across(x, y, table), _Across(y, x, table.T)]
    lengths = np.linalg.norm(np.concatenate([x, y]), axis=1)
    if np.all((lengths == 0) | (np.abs(lengths - 1) < 1e-6)):
        # Cosines: an unknown item is a row of zeros, and no distance says that it is like nothing.
        similarity = "dot"
    size = max(lengths.max(), 1e-300)
    x, y = x / size, y / size
    return [_Across(x, y, similarity), _Across(y, x, similarity)]


def _mean_reciprocal_rank(
    ways: list[_Across], queries: Sequence[NDArray[np.intp]], relevance: Relevance
) -> float | None:
    """Mean of both directions of the mean over items of 1 / rank of their nearest relevant one."""
    results = []
    for way, rows, sought in zip(ways, queries, (relevance, relevance.T), strict=True):
        rows = rows[np.diff(sought.positives.indptr)[rows] > 0]
        if len(rows):
            others = np.arange(len(way.other))
            searched = evaluate(way, rows, others, sought.take(rows), [MRR()], directions=["x2y"])
            results.append(expected_reciprocal_rank(searched.rankings["x2y"]).mean())
    return float(np.mean(results)) if results else None
