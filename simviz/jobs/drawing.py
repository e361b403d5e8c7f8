"""Drawing the items of a data set as a trained pipeline sees them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.base import EmbeddingModel
from simviz.data import PairSet
from simviz.pipeline import PairPipeline, Pipeline
from simviz.projection import JointMap, joint_map, unfold

#: Items of a side that are drawn at most; of methods that only give similarities, fewer.
MAX_DRAWN, MAX_UNFOLDED = 10_000, 4_000
#: The drawing that every run has, see `drawing_name`.
DRAWING = "mds-2-center"
Index = NDArray[np.intp]


def drawing_name(drawing: JointMap) -> str:
    """The name under which a run keeps a map.

    Parameters
    ----------
    drawing : JointMap
        A map.

    Returns
    -------
    str
        Method, dimensions and balance, such as "mds-2-center"; there were
        once drawings in three.
    """
    return f"{drawing.method}-2-{drawing.balance}"


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
        Of the sample, where there are too many items, and of the map. What
        belongs to the x items of the sample comes first among the y items.
    **options
        See `simviz.projection.joint_map`.

    Returns
    -------
    drawing : JointMap
        The map, its notes saying what was left out.
    x_drawn, y_drawn : ndarray of int
        The items on it by their position.
    """
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
            notes.append(
                f"A random sample of {len(drawn):,} of {len(side):,} {name} is drawn "
                f"(seed {seed})."
            )
    if isinstance(pipeline, PairPipeline) and has_vectors:
        vectors = pipeline.coordinates(x, y)
    else:
        vectors = unfold(pipeline.iter_similarity(x, y), random_state=seed)
        notes.append(
            "This method only says how similar two items of different sides are; distances "
            "within a side follow from that."
        )
    drawing = joint_map(*vectors, random_state=seed, relevance=relevance, **options)
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
