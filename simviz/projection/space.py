"""Who is near whom to a trained pipeline, before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.base import EmbeddingModel, Matrix, TopicSimilarity, nonzero_rows, unit_rows
from simviz.data import Items, PairSet
from simviz.pipeline import BlendPipeline, PairPipeline, Pipeline
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
    """Refuse an item that is not there, or no neighbours."""
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


@dataclass(frozen=True, slots=True, eq=False)
class ModelSpace:
    """The items of a data set as a trained pipeline sees them, ready to be asked."""

    pipeline: PairPipeline
    x_rows: Matrix
    y_rows: Matrix
    x_known: NDArray[np.bool_]
    y_known: NDArray[np.bool_]

    @classmethod
    def of(cls, pipeline: PairPipeline, pairs: PairSet) -> ModelSpace:
        """Place all items of a data set."""
        if isinstance(pipeline.model_, EmbeddingModel):
            x, y = pipeline.coordinates(pairs.x, pairs.y)
        else:
            x = pipeline.x_features_.transform(pairs.x.content)
            y = pipeline.y_features_.transform(pairs.y.content)
        return cls(pipeline, x, y, nonzero_rows(x), nonzero_rows(y))

    @property
    def n_dimensions(self) -> int | None:
        """Width of the space; None where the method only gives similarities."""
        return int(self.x_rows.shape[1]) if self._has_vectors else None

    @property
    def _has_vectors(self) -> bool:
        return isinstance(self.pipeline.model_, EmbeddingModel)

    def truncate(self, k: int) -> ModelSpace:
        """The space of the first k dimensions of a nested method; nothing is learned anew."""
        if not self._has_vectors:
            name = type(self.pipeline.model_).__name__
            raise ValueError(f"{name} is not nested: it has no dimensions to leave out.")
        pipeline = self.pipeline.truncate(k)
        x, y = (np.asarray(rows)[:, :k] for rows in (self.x_rows, self.y_rows))
        model = pipeline.model_
        if model.similarity_kind == "cosine":
            x, y = unit_rows(x), unit_rows(y)
        return replace(
            self, pipeline=pipeline, x_rows=x, y_rows=y, x_known=nonzero_rows(x),
            y_known=nonzero_rows(y),
        )  # fmt: skip

    def knows(self, side: Side, index: int) -> bool:
        """Whether anything in an item is known; if not, all its scores are equal."""
        return bool((self.x_known if side == "x" else self.y_known)[index])

    def nearest(self, side: Side, index: int, k: int = 10) -> Neighbors:
        """Items of the other side that the model finds most similar to one item."""
        own, other = (self.x_rows, self.y_rows) if side == "x" else (self.y_rows, self.x_rows)
        _check_request(index, own.shape[0], k)
        item, model = own[[index]], self.pipeline.model_
        if isinstance(model, EmbeddingModel) and not isinstance(model, TopicSimilarity):
            similarity: Literal["cosine", "dot"] = (
                "dot" if model.similarity_kind == "dot" else "cosine"
            )
            sides = (item, other) if side == "x" else (other, item)
            found = nearest_across(*sides, 0, side, k, similarity)
        else:
            found = ranked(self._compared(side, item, other), side, k)
        return found if self.knows(side, index) and found.scores.any() else _nothing(found)

    def scores(self, side: Side, item: Items) -> NDArray[np.float64]:
        """Similarity of an item, known or new, to all items of the other side."""
        if len(item) != 1:
            raise ValueError(f"Ask about one item at a time; got {len(item)}.")
        pipeline, other = self.pipeline, self.y_rows if side == "x" else self.x_rows
        model = pipeline.model_
        features = pipeline.x_features_ if side == "x" else pipeline.y_features_
        row = features.transform(item.content)
        if isinstance(model, EmbeddingModel):
            row = model.coordinates_of(row, side)
        return self._compared(side, row, other)

    def _compared(self, side: Side, item: Matrix, other: Matrix) -> NDArray[np.float64]:
        """What the model says of one row of its space and all of the other side."""
        model = self.pipeline.model_
        scores: NDArray[np.floating]
        if isinstance(model, TopicSimilarity):
            scores = model.compare(item, other)  # from either side the same
        elif isinstance(model, EmbeddingModel):
            scores = item @ other.T
        else:
            scores = (
                model.similarity(item, other) if side == "x" else model.similarity(other, item)
            )
        return np.asarray(scores, dtype=np.float64).ravel()


@dataclass(frozen=True, slots=True, eq=False)
class BlendSpace:
    """The items of a data set as a blend sees them, ready to be asked."""

    # It answers as `ModelSpace` does. A blend has no vectors, only similarities.

    pipeline: BlendPipeline
    learned: Space
    lexical: Space
    pairs: PairSet

    def __post_init__(self) -> None:
        if self.pipeline.normalization.endswith("_query"):
            raise ValueError(
                f"With normalization={self.pipeline.normalization!r} a score depends on what "
                "else is ranked, so there is no one space. Use 'global_std' or 'none'."
            )

    @property
    def n_dimensions(self) -> None:
        """There are none."""
        return None

    def known(self, side: Side) -> NDArray[np.bool_]:
        """Which items of a side either part knows anything of."""
        return known_items(self.learned, side) | known_items(self.lexical, side)

    def knows(self, side: Side, index: int) -> bool:
        """Whether anything in an item is known to a part; if not, all its scores are equal."""
        return self.learned.knows(side, index) or self.lexical.knows(side, index)

    def nearest(self, side: Side, index: int, k: int = 10) -> Neighbors:
        """Items of the other side that the blend finds most similar to one item."""
        own = self.pairs.x if side == "x" else self.pairs.y
        _check_request(index, len(own), k)
        scores = self.scores(side, own.take([index]))
        found = ranked(scores, side, k)
        return found if self.knows(side, index) and scores.any() else _nothing(found)

    def scores(self, side: Side, item: Items) -> NDArray[np.float64]:
        """Similarity of an item, known or new, to all items of the other side."""
        learned, lexical = (
            part.scores(side, item) / (spread if self.pipeline.normalization != "none" else 1.0)
            for part, spread in zip(
                (self.learned, self.lexical), self.pipeline.spreads_, strict=True
            )
        )
        other: Side = "y" if side == "x" else "x"
        is_learned = known_items(self.learned, other) & _knows(self.pipeline.learned_, side, item)
        return self.pipeline.mixed(np.where(is_learned, learned, lexical), lexical)


def _nothing(neighbors: Neighbors) -> Neighbors:
    """None of them."""
    return Neighbors(neighbors.side, neighbors.index[:0], neighbors.scores[:0])


Space = ModelSpace | BlendSpace


def space_of(pipeline: Pipeline, pairs: PairSet) -> Space:
    """Place all items of a data set."""
    if isinstance(pipeline, PairPipeline):
        return ModelSpace.of(pipeline, pairs)
    learned, lexical = (space_of(p, pairs) for p in (pipeline.learned_, pipeline.lexical_))
    return BlendSpace(pipeline, learned, lexical, pairs)


def known_items(space: Space, side: Side) -> NDArray[np.bool_]:
    """Which items of a side a space knows anything of."""
    if isinstance(space, BlendSpace):
        return space.known(side)
    return space.x_known if side == "x" else space.y_known


def _knows(part: Pipeline, side: Side, item: Items) -> bool:
    """Whether features and vector of an item are not zero."""
    if isinstance(part, BlendPipeline):
        return _knows(part.learned_, side, item) or _knows(part.lexical_, side, item)
    features = part.x_features_ if side == "x" else part.y_features_
    row, model = features.transform(item.content), part.model_
    if not nonzero_rows(row)[0] or not isinstance(model, EmbeddingModel):
        return bool(nonzero_rows(row)[0])
    return bool(nonzero_rows(model.transform(row) if side == "x" else model.transform_y(row))[0])
