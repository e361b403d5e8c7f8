"""How many neighbours to correct hubs by, chosen on validation pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.data.pairs import PairSet
from simviz.evaluation.metrics import Metric, default_metric, parse_metric
from simviz.evaluation.result import DIRECTIONS, Asking, directions_of
from simviz.evaluation.scoring import evaluate
from simviz.pipeline import CSLSPipeline, Pipeline
from simviz.pipeline._csls import Queries, local_means, locally_scaled, references, top_means

#: Numbers of neighbours that are tried.
NEIGHBORS = (1, 2, 5, 10, 20, 50)
#: Scores that are held while k is chosen, queries at least, and rows of a block.
_ENTRIES, _MIN_HELD, _ROWS = 2**25, 200, 1_024


@dataclass(frozen=True, slots=True)
class HeldScores:
    """Similarities that are held in memory, as `simviz.evaluation.evaluate` asks for them."""

    scores: NDArray[np.floating[Any]]

    def iter_similarity(
        self, x: object, y: object, /, *, block_size: int | None = None
    ) -> Iterator[NDArray[np.floating[Any]]]:
        """All of them, in blocks of rows."""
        size = block_size or _ROWS
        for start in range(0, len(self.scores), size):
            yield self.scores[start : start + size]


def csls(
    pipeline: Pipeline,
    train: PairSet,
    validation: PairSet,
    *,
    queries: Queries = "given",
    metric: Metric | str | None = None,
    direction: Asking = "x2y",
    ks: Sequence[int] = NEIGHBORS,
) -> CSLSPipeline:
    """Correct the hubs of a pipeline, by as many neighbours as are best on validation pairs.

    Parameters
    ----------
    pipeline : PairPipeline, BlendPipeline or CSLSPipeline
        Fitted; it is used as it is.
    train, validation : PairSet
        Its training pairs, and pairs that it was not trained on.
    queries : {"given", "training"}, default="given"
        Among what neighbours are looked for, see `simviz.pipeline.CSLSPipeline`. The
        first, as published, looks at the other queries.
    metric, direction : optional
        As in `choose_blend`.
    ks : sequence of int
        Numbers of neighbours to try.

    Returns
    -------
    CSLSPipeline
        With the best k, of equal ones the first.

    Raises
    ------
    ValueError
        If no query of the validation pairs has an answer.

    Examples
    --------
    >>> from simviz.pipeline import default_pipeline
    >>> texts = [f"{a} {b}" for a in ("red", "blue", "green") for b in ("car", "bus", "tram")]
    >>> pairs = PairSet.from_texts(texts, [f"the {text}" for text in texts])
    >>> fitted = default_pipeline("tfidf_cosine", pairs).fit(pairs)
    >>> csls(fitted, pairs, pairs, ks=[2, 5]).k
    2
    """
    measured = parse_metric(default_metric(validation.relevance) if metric is None else metric)
    values = csls_values(pipeline, train, validation, queries, measured, direction, ks)
    sign = 1 if measured.higher_is_better else -1
    known = {k: sign * value for k, value in values.items() if k and value == value}
    if not known:
        raise ValueError("No query of the validation pairs has an answer, so no k can be chosen.")
    return CSLSPipeline.of(pipeline, train, max(known, key=known.__getitem__), queries=queries)


def csls_values(
    pipeline: Pipeline,
    train: PairSet,
    validation: PairSet,
    queries: Queries,
    metric: Metric,
    direction: Asking = "x2y",
    ks: Sequence[int] = NEIGHBORS,
) -> dict[int, float]:
    """The metric at each k, and under 0 that of the pipeline as it is."""
    # All similarities are held at once, of as many queries as that is possible for.
    n_x, n_y = validation.shape
    n_held = max(_MIN_HELD, _ENTRIES // n_y)
    if n_x > n_held:
        drawn = np.random.default_rng(0).permutation(n_x)[:n_held]
        validation = validation.take(np.sort(drawn))
    x, y = validation.x, validation.y
    scores = pipeline.similarity(x, y)
    known = pipeline._known(x, "x"), pipeline._known(y, "y")
    near = scores, scores.T
    if queries == "training":
        x_side, y_side = references(train)
        near = pipeline.similarity(x, y_side), pipeline.similarity(x_side, y).T
    rows, columns = (top_means(one, list(ks)) for one in near)
    directions = directions_of(direction, DIRECTIONS)
    values = {}
    for k, *nearest in ((0, None, None), *zip(ks, rows, columns, strict=True)):
        table = scores
        if k:
            sides = zip(nearest, known, strict=True)
            local = [local_means(side, is_known) for side, is_known in sides]
            table = locally_scaled(scores, local[0], local[1], *known)
        held = evaluate(HeldScores(table), validation, metrics=[metric], directions=directions)
        values[k] = held.value(metric, direction)
    return values
