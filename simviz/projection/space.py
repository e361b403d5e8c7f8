"""The space of a trained pipeline: who is near whom, before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simviz.base import EmbeddingModel, Matrix, TopicSimilarity, nonzero_rows
from simviz.data import Items, PairSet
from simviz.pipeline import BlendPipeline, PairPipeline, Pipeline
from simviz.projection import Neighbors, nearest_across

Side = Literal["x", "y"]


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
            x, y = _unit_rows(x), _unit_rows(y)
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
        if not 0 <= index < own.shape[0]:
            raise ValueError(f"index must lie in 0..{own.shape[0] - 1}, got {index}.")
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}.")
        found = self._scored(side, own[[index]], other, k)
        if self.knows(side, index) and found.scores.any():
            return found
        return Neighbors(found.side, found.index[:0], found.scores[:0])

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
        return self._told(side, row, other)

    def _scored(self, side: Side, item: Matrix, other: Matrix, k: int) -> Neighbors:
        model = self.pipeline.model_
        if isinstance(model, EmbeddingModel) and not isinstance(model, TopicSimilarity):
            similarity: Literal["cosine", "dot"] = (
                "dot" if model.similarity_kind == "dot" else "cosine"
            )
            if side == "x":
                return nearest_across(item, other, 0, "x", k, similarity)
            return nearest_across(other, item, 0, "y", k, similarity)
        return ranked(self._told(side, item, other), side, k)

    def _told(self, side: Side, item: Matrix, other: Matrix) -> NDArray[np.float64]:
        """What the model says of one row of its space and all of the other side."""
        model = self.pipeline.model_
        told: NDArray[np.floating]
        if isinstance(model, TopicSimilarity):
            told = model.compare(item, other)  # from either side the same
        elif isinstance(model, EmbeddingModel):
            told = item @ other.T
        else:
            told = model.similarity(item, other) if side == "x" else model.similarity(other, item)
        return np.asarray(told, dtype=np.float64).ravel()


def _unit_rows(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    """Rows of length 1; zeros stay zeros."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def ranked(scores: NDArray[np.float64], side: Side, k: int) -> Neighbors:
    """The best of all items of the other side, equal ones ordered by row."""
    order = np.lexsort((np.arange(len(scores)), -scores))[:k]
    return Neighbors("y" if side == "x" else "x", order, scores[order])


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
        if not 0 <= index < len(own):
            raise ValueError(f"index must lie in 0..{len(own) - 1}, got {index}.")
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}.")
        scores = self.scores(side, own.take([index]))
        found = ranked(scores, side, k)
        if self.knows(side, index) and scores.any():
            return found
        return Neighbors(found.side, found.index[:0], found.scores[:0])

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
