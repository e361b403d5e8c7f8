"""The parts of a blend: what they know and say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simviz.base import EmbeddingModel, nonzero_rows
from simviz.data.items import Items
from simviz.data.pairs import PairSet
from simviz.pipeline._pair import PairPipeline
from simviz.pipeline._scales import Block, Mask

if TYPE_CHECKING:
    from simviz.pipeline._blend import Pipeline


def scored(part: Pipeline, x: Items, y: Items, size: int) -> tuple[Mask, Mask, Iterator[Block]]:
    """Which items a part knows, and its similarities; features are made once for both.

    Parameters
    ----------
    part : PairPipeline or BlendPipeline
        Fitted.
    x, y : Items
        Items of the two sides.
    size : int
        Rows of a block.

    Returns
    -------
    x_known, y_known : ndarray of bool
        Whether features and vector of an item are not zero.
    blocks : iterator of ndarray of shape (rows, n_y)
        Similarities.
    """
    if not isinstance(part, PairPipeline):
        return *part.known(x, y), part.iter_similarity(x, y, size)
    model = part.model_
    X, Y = part.x_features_.transform(x.content), part.y_features_.transform(y.content)
    x_known, y_known = nonzero_rows(X), nonzero_rows(Y)
    if isinstance(model, EmbeddingModel):
        x_known = x_known & nonzero_rows(model.transform(X))
        y_known = y_known & nonzero_rows(model.transform_y(Y))
    return x_known, y_known, model.iter_similarity(X, Y, size)


def cannot_read(role: str, pairs: PairSet, error: Exception) -> str:
    """The sentence for a part that was made for other items."""
    kinds = " and ".join(dict.fromkeys((pairs.x.kind, pairs.y.kind)))
    return (
        f"The {role} part of the blend cannot be used on these {kinds} items: {error} Blend two "
        "pipelines that are made for the same kinds of items, such as two of default_pipeline "
        "on one pair set."
    )
