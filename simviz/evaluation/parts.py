"""A held-out part of a split, evaluated against its own candidates or against all items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import scipy.sparse as sp

from simviz.callbacks import Callback
from simviz.evaluation.result import DIRECTIONS, Direction, Evaluation, check_directions
from simviz.evaluation.scoring import Scorer, evaluate

if TYPE_CHECKING:
    from simviz.data.items import Items
    from simviz.data.pairs import PairSet
    from simviz.data.splitting import Split
    from simviz.evaluation.metrics import Metric


def evaluate_part(
    scorer: Scorer[Items],
    pairs: PairSet,
    parts: Split,
    part: Literal["validation", "test"] = "test",
    metrics: Iterable[Metric | str] | None = None,
    *,
    pool: Literal["split", "all"] = "split",
    directions: Sequence[Direction] = DIRECTIONS,
    callback: Callback | None = None,
) -> Evaluation:
    """Rank the queries of a held-out part.

    Parameters
    ----------
    scorer : Scorer
        A fitted pipeline.
    pairs : PairSet
        The whole data set.
    parts : Split
        Of `pairs`, as `simviz.data.split` gives it.
    part : {"validation", "test"}, default="test"
        Whose items ask.
    metrics : iterable of Metric or str, optional
        See `evaluate`.
    pool : {"split", "all"}, default="split"
        What a query is ranked against: the items of the part, among them all
        of a side that the split does not divide; or all items of the data
        set, whose known training pairs are neither candidates nor relevant.
        Judged candidates only, where unlisted pairs are unknown.
    directions : sequence of {"x2y", "y2x"}
        Which sides ask.
    callback : callable, optional
        See `simviz.callbacks`; told of each direction by itself.

    Returns
    -------
    Evaluation
        Against all items, the ROC is that of the queries of the first direction.

    Raises
    ------
    ValueError
        If a score is NaN or a setting is unknown.
    JobCancelled
        If the callback asked to stop.

    Examples
    --------
    >>> from simviz import default_pipeline
    >>> from simviz.data import PairSet, split
    >>> words = [f"word {i}" for i in range(50)]
    >>> pairs = PairSet.from_texts(words, words)
    >>> parts = split(pairs)
    >>> pipeline = default_pipeline("bm25", parts.train).fit(parts.train)
    >>> for pool in ("split", "all"):
    ...     result = evaluate_part(pipeline, pairs, parts, pool=pool)
    ...     print(result.pool, result.rankings["x2y"].n_candidates[0])
    split 10
    all 50
    """
    check_directions(directions)
    if part not in ("validation", "test") or pool not in ("split", "all"):
        raise ValueError(
            f"part is 'validation' or 'test' and pool 'split' or 'all'; got {part!r}, {pool!r}."
        )
    held_out: PairSet = getattr(parts, part)
    if pool == "split" or pairs.relevance.unjudged == "ignore":
        sides = (held_out.x, held_out.y, held_out.relevance)
        return evaluate(scorer, *sides, metrics, directions=directions, callback=callback)
    learned = _positions(parts, pairs)
    found = []
    for direction in directions:
        x = parts.x_index[part] if direction == "x2y" else None
        y = parts.y_index[part] if direction == "y2x" else None
        asked = pairs.take(x, y)
        known = learned if x is None else learned[x]
        found.append(
            evaluate(
                scorer,
                asked.x,
                asked.y,
                asked.relevance,
                metrics,
                directions=(direction,),
                pool="all",
                known=known if y is None else known[:, y],
                callback=callback,
            )
        )
    rankings = {d: one.rankings[d] for d, one in zip(directions, found, strict=True)}
    return replace(found[0], rankings=rankings)


def _positions(parts: Split, pairs: PairSet) -> sp.csr_array:
    """Relevant pairs of training, as positions in the whole."""
    learned = parts.train.relevance.positives.tocoo()
    x, y = parts.x_index["train"], parts.y_index["train"]
    at = (x[learned.row], y[learned.col])
    return sp.csr_array((learned.data != 0, at), shape=pairs.relevance.shape)
