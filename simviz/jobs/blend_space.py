"""The space of a blend: the spaces of its parts, asked together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simviz.base import EmbeddingModel, nonzero_rows
from simviz.data import Items, PairSet
from simviz.jobs.space import ModelSpace, ranked
from simviz.pipeline import BlendPipeline, PairPipeline, Pipeline
from simviz.projection import Neighbors

Side = Literal["x", "y"]


@dataclass(frozen=True, slots=True, eq=False)
class BlendSpace:
    """The items of a data set as a blend sees them, ready to be asked.

    It answers as `ModelSpace` does. A blend has no vectors, only similarities.

    Parameters
    ----------
    pipeline : BlendPipeline
        Fitted, with a normalisation under which a score depends on its two
        items alone.
    learned, lexical : ModelSpace or BlendSpace
        What its parts see.
    pairs : PairSet
        Whose items.

    Raises
    ------
    ValueError
        If a score depends on other items too.
    """

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
        """Items of the other side that the blend finds most similar to one item.

        Parameters
        ----------
        side : {"x", "y"}
            Side of the item.
        index : int
            Its row on that side.
        k : int, default=10
            Neighbours wanted; capped at the size of the other side.

        Returns
        -------
        Neighbors
            As `ModelSpace.nearest` gives them.

        Raises
        ------
        ValueError
            If an argument is out of range.
        """
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
        """Similarity of an item, known or new, to all items of the other side.

        Parameters
        ----------
        side : {"x", "y"}
            Side that the item is of.
        item : Items
            One item.

        Returns
        -------
        ndarray of float64, shape (n_other,)
            The blend's own scores.

        Raises
        ------
        ValueError
            If there is not one item.
        """
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
    """Place all items of a data set.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        What was trained.
    pairs : PairSet
        Whose items.

    Returns
    -------
    ModelSpace or BlendSpace
        Ready to be asked for neighbours.

    Examples
    --------
    >>> from simviz.pipeline import default_pipeline
    >>> pairs = PairSet.from_texts(["red car", "blue sea"], ["a car in red", "a blue sea"])
    >>> parts = [default_pipeline(m, pairs).fit(pairs) for m in ("tfidf_cosine", "bm25")]
    >>> space_of(BlendPipeline.of(*parts, pairs), pairs).nearest("x", 1, k=1).index.tolist()
    [1]
    """
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
