"""Who is near whom to a trained pipeline, before anything is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz._types import Side
from simviz.base import EmbeddingModel, nonzero_rows, unit_rows
from simviz.data import Items, PairSet
from simviz.pipeline import BlendPipeline, CSLSPipeline, PairPipeline, Pipeline
from simviz.projection._sides import FloatArray, check_sides

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
