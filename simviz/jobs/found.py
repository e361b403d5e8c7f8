"""How well each item on a map finds what belongs to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simviz.data import PairSet
from simviz.evaluation import MRR, evaluate
from simviz.jobs.placed import Placed
from simviz.pipeline import Pipeline

FloatArray = NDArray[np.float64]
#: Names of the groups that `Found.groups` makes, the best first.
FIRST, SOON, LATE, NOTHING = "found first", "found 2nd to 10th", "found later", "nothing belongs"
GROUPS = (FIRST, SOON, LATE, NOTHING)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a run finds for each item of a drawing among all of the other side on it.

    Parameters
    ----------
    x, y : ndarray of shape (n_x,) and (n_y,)
        Reciprocal rank of the first item that belongs to it, expected over
        random order of ties; NaN where none on the drawing does.
    x_best, y_best : ndarray of shape (n_x,) and (n_y,)
        Similarity to the nearest item of the other side.
    """

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


def find_all(pipeline: Pipeline, pairs: PairSet, placed: Placed) -> Found:
    """Ask a run about every item on a drawing, from both sides.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        What was trained.
    pairs : PairSet
        The data set.
    placed : Placed
        A drawing of it.

    Returns
    -------
    Found
        One value an item of the drawing.

    Examples
    --------
    >>> from simviz.pipeline import default_pipeline
    >>> from simviz.projection import joint_map
    >>> pairs = PairSet.from_texts(["red car", "blue sea"], ["a red car", "the blue sea"])
    >>> pipeline = default_pipeline("tfidf_cosine", pairs).fit(pairs)
    >>> drawn = joint_map([[0.0, 1.0], [1.0, 0.0]], [[0.1, 1.0], [1.0, 0.2]])
    >>> find_all(pipeline, pairs, Placed(drawn, np.arange(2), np.arange(2))).x.tolist()
    [1.0, 1.0]
    """
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
    return Found(
        searched.per_query(MRR(), "x2y"), searched.per_query(MRR(), "y2x"), best_x, best_y
    )
