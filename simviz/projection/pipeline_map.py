"""A data set as a trained pipeline sees it: who is near whom, drawings, and what they show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz._types import Index, Mask, Side
from simviz.base import EmbeddingModel, nonzero_rows, unit_rows
from simviz.data.pairs import Items, PairSet, as_pairs
from simviz.evaluation import MRR, evaluate
from simviz.pipeline import BlendPipeline, CSLSPipeline, PairPipeline, Pipeline
from simviz.projection.joint import JointMap, joint_map
from simviz.projection.layout import FloatArray, check_sides, unfold
from simviz.projection.two_sided import Similarity, place_new

#: Items of a side that are drawn at most; of methods that only give similarities, fewer.
MAX_DRAWN, MAX_UNFOLDED = 10_000, 4_000
#: Pairs that are compared at most to find what is nearest to each item.
MAX_COMPARED = 6_000_000
#: Neighbours that two models are compared by, and similarities of a block.
N_CHANGED, BLOCK = 10, 2_000_000
#: The drawing that is made first, and the one to show where it is there.
DRAWING, BEST = "mds-2-center", "two-sided-2-70"
#: Names of the groups that `ItemRanks.groups` makes, the best first.
GROUPS = "found first", "found 2nd to 10th", "found later", "no match in the data"
FIRST, SOON, LATE, NOTHING = GROUPS
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

    Give the coordinates of the model, never those of a map: a drawing moves neighbours apart.

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
    _check_request(index, len(own), k)
    return ranked(_vector_scores(own[index], other, similarity), side, k)


def ranked(scores: FloatArray, side: Side, k: int) -> Neighbors:
    """The best of all items of the other side, equal ones ordered by row."""
    order = np.lexsort((np.arange(len(scores)), -scores))[:k]
    return Neighbors("y" if side == "x" else "x", order, scores[order])


def _check_request(index: int, n_items: int, k: int) -> None:
    if not 0 <= index < n_items:
        raise ValueError(f"index must lie in 0..{n_items - 1}, got {index}.")
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}.")


def _vector_scores(
    item: FloatArray, others: FloatArray, similarity: VectorSimilarity
) -> FloatArray:
    """Similarity of one vector to many; empty vectors have cosine 0 with everything."""
    if similarity == "dot":
        return others @ item
    if similarity == "euclidean":
        return -((others - item) ** 2).sum(axis=1)
    if similarity == "cosine":
        lengths = np.linalg.norm(others, axis=1) * np.linalg.norm(item)
        return others @ item / np.where(lengths > 0, lengths, 1.0)
    raise ValueError(f"similarity must be 'cosine', 'dot' or 'euclidean', got {similarity!r}.")


class Space:
    """The items of a data set as a fitted pipeline sees them, ready to be asked."""

    def __init__(self, pipeline: Pipeline, rows: dict[Side, Any], known: dict[Side, Any]) -> None:
        self.pipeline, self.rows, self._known = pipeline, rows, known
        self._scorers: dict[Side, Any] = {}

    @classmethod
    def of(cls, pipeline: Pipeline, pairs: PairSet) -> Space:
        """Place all items of a data set."""
        parts = [pipeline]
        for part in parts:
            if isinstance(part, CSLSPipeline):
                parts.append(part.pipeline_)
            if not isinstance(part, BlendPipeline):
                continue
            parts += part.learned_, part.lexical_
            if part.normalization.endswith("_query"):
                raise ValueError(
                    f"With normalization={part.normalization!r} a score depends on what else is "
                    "ranked, so there is no one space. Use 'global_std' or 'none'."
                )
        sides: dict[Side, Items] = {"x": pairs.x, "y": pairs.y}
        rows = {side: pipeline._encoded(items, side) for side, items in sides.items()}
        known = {
            side: pipeline._known(own, side) if isinstance(own, Items) else nonzero_rows(own)
            for side, own in rows.items()
        }
        return cls(pipeline, rows, known)

    @property
    def n_dimensions(self) -> int | None:
        """Width of the space; None where the pipeline only gives similarities."""
        model = getattr(self.pipeline, "model_", None)
        return int(self.rows["x"].shape[1]) if isinstance(model, EmbeddingModel) else None

    def truncate(self, k: int) -> Space:
        """The space of the first k dimensions of a nested method; nothing is learned anew."""
        if self.n_dimensions is None or not isinstance(self.pipeline, PairPipeline):
            name = type(getattr(self.pipeline, "model_", self.pipeline)).__name__
            raise ValueError(f"{name} is not nested: it has no dimensions to leave out.")
        pipeline = self.pipeline.truncate(k)
        is_cosine = pipeline.model_.similarity_kind == "cosine"
        cut = {side: np.asarray(rows)[:, :k] for side, rows in self.rows.items()}
        rows = {side: unit_rows(own) if is_cosine else own for side, own in cut.items()}
        return Space(pipeline, rows, {side: nonzero_rows(own) for side, own in rows.items()})

    def is_known(self, side: Side, index: int) -> bool:
        """Whether anything in an item is known; if not, all its scores are equal."""
        return bool(self._known[side][index])

    def nearest(self, side: Side, index: int, k: int = 10) -> Neighbors:
        """Items of the other side that the pipeline finds most similar to one item."""
        own = self.rows[side]
        _check_request(index, len(self._known[side]), k)
        item = own.take([index]) if isinstance(own, Items) else own[[index]]
        scores = self._compared(side, item).ravel()
        return ranked(scores, side, k if self.is_known(side, index) and scores.any() else 0)

    def scores(self, side: Side, item: Items) -> FloatArray:
        """Similarity of an item, known or new, to all items of the other side."""
        if len(item) != 1:
            raise ValueError(f"Ask about one item at a time; got {len(item)}.")
        return self._compared(side, self.pipeline._encoded(item, side)).ravel()

    def iter_scores(self, side: Side, size: int) -> Iterator[FloatArray]:
        """Similarities of all items of a side to all of the other, so many rows at a time."""
        own, n = self.rows[side], len(self._known[side])
        for start in range(0, n, size):
            rows = np.arange(start, min(start + size, n))
            yield self._compared(side, own.take(rows) if isinstance(own, Items) else own[rows])

    def _compared(self, side: Side, items: Any) -> FloatArray:
        """Similarities of encoded items to all of the other side, one row each."""
        if side not in self._scorers:
            other: Side = "y" if side == "x" else "x"
            self._scorers[side] = self.pipeline._scorer(self.rows[other], other)
        return np.asarray(self._scorers[side](items), dtype=np.float64)


def draw(
    pipeline: Pipeline, pairs: PairSet, *, seed: int = 0, **options: Any
) -> tuple[JointMap, Index, Index]:
    """Put the items of a data set on one map.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        What was trained.
    pairs : PairSet
        Whose items to draw.
    seed : int, default=0
        Of the map and, where there are too many items, of the sample. What belongs to the x items
        of the sample comes first among the y items.
    **options
        See `simviz.projection.joint_map`.

    Returns
    -------
    drawing : JointMap
        The map, its notes saying what was left out.
    x_drawn, y_drawn : ndarray of int
        The items on it by their position.
    """
    pairs = as_pairs(pairs)
    model = pipeline.model_ if isinstance(pipeline, PairPipeline) else None
    has_vectors = isinstance(model, EmbeddingModel)
    limit = MAX_DRAWN if has_vectors else MAX_UNFOLDED
    rng = np.random.default_rng(seed)
    x_drawn = _sample(len(pairs.x), limit, rng)
    y_drawn = _sample(len(pairs.y), limit, rng, first=_partners(pairs, x_drawn))
    x, y = pairs.x.take(x_drawn), pairs.y.take(y_drawn)
    relevance = pairs.relevance.take(x_drawn, y_drawn)
    notes = []
    for drawn, side, name in ((x_drawn, pairs.x, pairs.x_name), (y_drawn, pairs.y, pairs.y_name)):
        if len(drawn) < len(side):
            some = f"{len(drawn):,} of {len(side):,} {name}"
            notes.append(f"A random sample of {some} is drawn (seed {seed}).")
    similarity: Similarity | FloatArray = "euclidean"
    if isinstance(pipeline, PairPipeline) and isinstance(model, EmbeddingModel):
        vectors = pipeline.coordinates(x, y)
        if model.similarity_kind == "dot":
            similarity = "dot"
    else:
        similarity = np.concatenate(list(pipeline.iter_similarity(x, y)))
        vectors = unfold(similarity, random_state=seed)
        notes.append(
            "This method only says how similar two items of different sides are; distances "
            "within a side follow from that."
        )
    drawing = joint_map(
        *vectors, random_state=seed, similarity=similarity, relevance=relevance, **options
    )
    return replace(drawing, notes=(*notes, *drawing.notes)), x_drawn, y_drawn


def _sample(n: int, limit: int, rng: np.random.Generator, first: Index | None = None) -> Index:
    """All of n, or a random few, ascending; of the first ones as many as there is room for."""
    if n <= limit:
        return np.arange(n)
    if first is None or not len(first):
        return np.sort(rng.choice(n, limit, replace=False))
    if len(first) >= limit:
        return np.sort(rng.choice(first, limit, replace=False))
    others = np.setdiff1d(np.arange(n), first)
    return np.sort(np.concatenate([first, rng.choice(others, limit - len(first), replace=False)]))


def _partners(pairs: PairSet, x_drawn: Index) -> Index:
    """What belongs to the drawn x items, so that a pair is not torn apart by the sample."""
    return np.unique(pairs.relevance.positives[x_drawn].indices).astype(np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A drawing and the items on it."""

    # A large data set is drawn in part: then the rows of the drawing are not those of the data
    # set.

    drawing: JointMap
    x_rows: Index
    y_rows: Index

    def rows(self, side: Side) -> Index:
        """The items of one side."""
        return self.x_rows if side == "x" else self.y_rows

    def points(self, side: Side) -> FloatArray:
        """Where the items of one side stand."""
        return self.drawing.x if side == "x" else self.drawing.y

    def row_of(self, side: Side, item: int) -> int | None:
        """Row on the drawing of an item of the data set; None if it is not drawn."""
        rows = np.flatnonzero(self.rows(side) == item)
        return int(rows[0]) if len(rows) else None

    def place(self, neighbors: Neighbors) -> Neighbors:
        """Neighbours in the data set as rows of the drawing, without those not drawn."""
        rows = self.rows(neighbors.side)
        is_drawn = np.isin(neighbors.index, rows)
        index = np.searchsorted(rows, neighbors.index[is_drawn])
        return Neighbors(neighbors.side, index, neighbors.scores[is_drawn])

    def spot(self, side: Side, scores: NDArray[np.floating], k: int = 10) -> Spot:
        """Where an item that is not drawn stands, by its similarities to the other side's."""
        points = self.points("y" if side == "x" else "x")
        near = ranked(np.asarray(scores, dtype=np.float64), side, k)
        if self.drawing.method != "two-sided":
            return project_new_items(points[near.index], near.scores)
        point = place_new(points, scores)
        away = np.linalg.norm(points[near.index] - point, axis=1)
        # The median: one far neighbour of ten is no wide neighbourhood.
        return Spot((float(point[0]), float(point[1])), float(np.median(away)))

    def neighbor_preservation(self, item: int, neighbors: Neighbors) -> Mask:
        """Which neighbours in the model are neighbours on the drawing too."""
        side: Side = "x" if neighbors.side == "y" else "y"
        is_preserved = np.isin(neighbors.index, self.rows(neighbors.side))
        row = self.row_of(side, item)
        if row is None or not is_preserved.any():
            return np.zeros(len(neighbors), dtype=bool)
        drawn = self.drawing.x, self.drawing.y
        is_preserved[is_preserved] = neighbor_preservation(*drawn, row, self.place(neighbors))
        return is_preserved


@dataclass(frozen=True, slots=True, eq=False)
class ItemRanks:
    """What a run finds for each item of a drawing among all of the other side on it."""

    x: FloatArray
    y: FloatArray
    x_best: FloatArray
    y_best: FloatArray

    @property
    def groups(self) -> NDArray[np.object_]:
        """How soon each item finds: one of `GROUPS` an item, the x side first."""
        reciprocal = np.concatenate([self.x, self.y])
        named = np.full(len(reciprocal), LATE, dtype=object)
        named[reciprocal >= 0.1] = SOON
        named[reciprocal > 1 - 1e-9] = FIRST
        named[np.isnan(reciprocal)] = NOTHING
        return named

    @property
    def scores(self) -> FloatArray:
        """Similarity of each item to its nearest, the x side first."""
        return np.concatenate([self.x_best, self.y_best])


def rank_items(pipeline: Pipeline, pairs: PairSet, placed: Placed) -> ItemRanks:
    """Ask a run about every item on a drawing, from both sides."""
    x, y = pairs.x.take(placed.x_rows), pairs.y.take(placed.y_rows)
    relevance = pairs.relevance.take(placed.x_rows, placed.y_rows)
    searched = evaluate(pipeline, x, y, relevance, [MRR()], pool="all")
    best_x, best_y = np.full(len(x), -np.inf), np.full(len(y), -np.inf)
    start = 0
    for block in pipeline.iter_similarity(x, y):
        part = slice(start, start + len(block))
        best_x[part] = np.asarray(block).max(axis=1)
        np.maximum(best_y, np.asarray(block).max(axis=0), out=best_y)
        start += len(block)
    x_ranks, y_ranks = searched.per_query(MRR(), "x2y"), searched.per_query(MRR(), "y2x")
    return ItemRanks(x_ranks, y_ranks, best_x, best_y)


def nearest_of_all(
    pipeline: Pipeline, pairs: PairSet, placed: Placed, k: int = 5
) -> NDArray[np.intp] | None:
    """Rows of a drawing that a run finds nearest to each of its items, the x side first."""
    # Where there are fewer than k, or the run tells none apart, the item itself stands. None where
    # there are too many pairs to compare.
    if len(placed.x_rows) * len(placed.y_rows) > MAX_COMPARED:
        return None
    x, y = pairs.x.take(placed.x_rows), pairs.y.take(placed.y_rows)
    n_x, start = len(x), 0
    neighbors = np.repeat(np.arange(n_x + len(y))[:, None], k, axis=1)
    per_x, per_y = min(k, len(y)), min(k, n_x)
    best, rows = np.full((0, len(y)), -np.inf), np.empty((0, len(y)), dtype=np.intp)
    for part in pipeline.iter_similarity(x, y):
        block = np.asarray(part)
        own = np.arange(start, start + len(block))
        is_distinct = block.min(axis=1) < block.max(axis=1)
        nearest = np.argpartition(-block, per_x - 1, axis=1)[:, :per_x]
        neighbors[own[is_distinct], :per_x] = n_x + nearest[is_distinct]
        best = np.concatenate([best, block])
        rows = np.concatenate([rows, np.broadcast_to(own[:, None], block.shape)])
        if len(best) > per_y:
            top = np.argpartition(-best, per_y - 1, axis=0)[:per_y]
            best, rows = (np.take_along_axis(each, top, axis=0) for each in (best, rows))
        start += len(block)
    is_distinct = best.any(axis=0)
    neighbors[n_x:][is_distinct, :per_y] = rows.T[is_distinct]
    return neighbors


def neighbors_changed(
    first: Pipeline, second: Pipeline, pairs: PairSet, k: int = N_CHANGED
) -> FloatArray:
    """Share of the nearest items of the other side that only one of two models has.

    They are the k nearest in the models, not on a drawing.

    Parameters
    ----------
    first, second : PairPipeline, BlendPipeline or CSLSPipeline
        Fitted; which is the first does not matter.
    pairs : PairSet
        Whose items, and among which.
    k : int, default=10
        Of few items half at most.

    Returns
    -------
    ndarray of shape (n_x + n_y,)
        The x side first: 0 where both find the same, 1 where they have nothing in common. NaN
        where neither finds any nearer than others.

    Notes
    -----
    Of items that are equally similar all count or none: those at the end of a list only if there
    is room for each. The larger list is the whole.

    Examples
    --------
    >>> import simviz
    >>> pairs = PairSet.from_texts(["red car", "blue car", "green"], ["red", "car blue", "green"])
    >>> tfidf = simviz.default_pipeline("tfidf_cosine", pairs).fit(pairs)
    >>> neighbors_changed(tfidf, tfidf, pairs).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    spaces = [Space.of(pipeline, pairs) for pipeline in (first, second)]
    shares = []
    sides: tuple[tuple[Side, int], ...] = ("x", len(pairs.y)), ("y", len(pairs.x))
    for side, n_other in sides:
        size = max(1, BLOCK // n_other)
        for blocks in zip(*(space.iter_scores(side, size) for space in spaces), strict=True):
            old, new = (_nearest_few(block, min(k, n_other // 2)) for block in blocks)
            sizes = np.maximum(old.sum(axis=1), new.sum(axis=1))
            with np.errstate(invalid="ignore"):
                shares.append(1 - (old & new).sum(axis=1) / sizes)
    return np.concatenate(shares)


def _nearest_few(scores: FloatArray, k: int) -> Mask:
    """The k highest of each row; of equal ones at the end all or none."""
    return np.asarray(scores > -np.partition(-scores, k, axis=1)[:, [k]])


def neighbor_preservation(
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
    """
    side: Side = "x" if neighbors.side == "y" else "y"
    drawn = nearest_across(map_x, map_y, index, side, len(neighbors), "euclidean")
    return np.isin(neighbors.index, drawn.index)


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a new item is put.

    Parameters
    ----------
    point : tuple of float
        The place, in map coordinates.
    spread : float
        Root of the weighted mean squared distance of its neighbours from it; their median
        distance on a two-sided drawing.
    """

    point: tuple[float, float]
    spread: float


def project_new_items(points: ArrayLike, scores: ArrayLike) -> Spot:
    """Put a new item into the middle of its neighbours, the nearest weighing most.

    The same item always gets the same place, whatever else is asked. The projection itself would
    place an item alone otherwise than among others.

    Parameters
    ----------
    points : array-like of shape (k, 2)
        Where the neighbours stand on the map.
    scores : array-like of shape (k,)
        Their similarities to the new item, weighed by how much they exceed the lowest, which
        counts a tenth of the range.

    Returns
    -------
    Spot

    Raises
    ------
    ValueError
        If there is no neighbour, or the lengths differ.

    Examples
    --------
    >>> project_new_items([[0, 0], [2, 0]], [0.5, 0.5])
    Spot(point=(1.0, 0.0), spread=1.0)
    """
    where = np.asarray(points, dtype=np.float64)
    near = np.asarray(scores, dtype=np.float64)
    if not len(where) or len(where) != len(near):
        raise ValueError(
            f"{len(where)} points and {len(near)} scores do not make a place: give a score a "
            "point, at least one."
        )
    above = near - near.min()
    weights = above + (0.1 * above.max() or 1.0)
    weights /= weights.sum()
    middle = weights @ where
    spread = float(np.sqrt(weights @ ((where - middle) ** 2).sum(axis=1)))
    return Spot((float(middle[0]), float(middle[1])), spread)
