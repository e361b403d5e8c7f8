"""Quality against the weight of a blend, for all weights in about one evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.callbacks import Callback
from simviz.evaluation._blend_counts import (
    Blendable,
    Grid,
    PartBlocks,
    counts,
    groups,
    rank_columns,
    rank_rows,
)
from simviz.evaluation._blend_result import BlendCurve
from simviz.evaluation._blocks import n_items
from simviz.evaluation._judged import Queries, queries_of
from simviz.evaluation.metrics import MRR, Metric, parse_metric
from simviz.evaluation.result import DIRECTIONS, Direction, Pool, check_directions, values_in
from simviz.evaluation.roc import Roc
from simviz.ranking import rank_listed
from simviz.relevance import Relevance

__all__ = ["ALPHAS", "BlendCurve", "Blendable", "blend_curve"]

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Side = TypeVar("Side")

#: Weights that are tried where nobody says which.
ALPHAS: Reals = np.linspace(0.0, 1.0, 101)


def blend_curve(
    blend: Blendable[Side],
    x: Side,
    y: Side,
    relevance: object = None,
    alphas: ArrayLike = ALPHAS,
    *,
    metrics: Iterable[Metric | str] = (MRR(),),
    directions: Sequence[Direction] = DIRECTIONS,
    pool: Pool = "split",
    block_size: int | None = None,
    callback: Callback | None = None,
) -> BlendCurve:
    r"""Measure a blend at many weights, going through the similarities as one evaluation does.

    Parameters
    ----------
    blend : Blendable
        A fitted `simviz.pipeline.BlendPipeline`, whose own weight does not
        matter, or anything with such an ``iter_parts``.
    x, y : matrices or Items
        What its ``iter_parts`` takes.
    relevance : Relevance or sparse matrix of shape (n_x, n_y), optional
        Judgments; row i belongs to row i when omitted.
    alphas : array-like of float
        Weights of the learned similarity in [0, 1]; 0, 0.01, ..., 1 when
        omitted.
    metrics : iterable of Metric or str
        Any metrics of ranks. Those of all pairs (AUC, Spearman) are measured
        where only judged pairs count.
    directions : sequence of {"x2y", "y2x"}
        Which sides ask, the default of the curve first.
    pool : {"split", "all", "judged"}, default="split"
        What a query is ranked against, as in `simviz.evaluation.evaluate`.
    block_size : int, optional
        Rows of a block.
    callback : callable, optional
        See `simviz.callbacks`; steps are rows, those of all passes.

    Returns
    -------
    BlendCurve
        Each value is that of `evaluate` on the blend with that weight, ties
        included.

    Raises
    ------
    ValueError
        If a setting is unknown, a score is not finite, or a metric compares
        all pairs of a pool.
    JobCancelled
        If the callback asked to stop.

    Notes
    -----
    With :math:`\Delta l = l_j - l_t` and :math:`\Delta b = b_j - b_t`, a
    competitor j stands above the target t where
    :math:`\alpha\Delta l + (1-\alpha)\Delta b > 0`, which changes once, at
    :math:`\alpha^* = \Delta b / (\Delta b - \Delta l)`. So each pair is looked
    at once, whatever the number of weights. Near that place, where rounding
    might decide, the blended scores themselves are compared: the counts are
    those of evaluations at single weights to the last one.

    Examples
    --------
    >>> class Both:
    ...     def iter_parts(self, x, y, /, *, block_size=None):
    ...         yield x @ y.T, np.array([[0.2, 0.9, 0.0], [0.0, 0.5, 0.6], [0.1, 0.0, 0.3]])
    >>> curve = blend_curve(Both(), np.eye(3), np.eye(3), alphas=[0, 0.5, 1])
    >>> curve.values().round(3), curve.best()
    (array([0.667, 1.   , 1.   ]), 0.5)
    """
    check_directions(directions)
    if pool not in ("split", "all", "judged"):
        raise ValueError(f"pool must be 'split', 'all' or 'judged', got {pool!r}.")
    rel = Relevance.coerce(relevance, n_items(x), n_items(y))
    if rel.unjudged == "ignore":
        pool = "judged"
    asked = tuple(parse_metric(m) if isinstance(m, str) else m for m in metrics)
    _check_metrics(asked, rel, pool)
    grid = Grid(_weights(alphas))
    chosen = tuple(dict.fromkeys(directions))
    sides = dict(zip(DIRECTIONS, queries_of(rel, pool), strict=True))
    columns = list(groups(sides["y2x"].indptr)) if pool != "judged" and "y2x" in chosen else []
    blocks = PartBlocks(blend, x, y, rel.shape, block_size, 1 + len(columns), callback)
    if pool == "judged":
        return _judged_curve(blocks, sides, chosen, rel, grid, asked)
    own: tuple[Reals, Reals] = (np.empty(rel.matrix.nnz), np.empty(rel.matrix.nnz))
    lines = _Lines(asked, grid)
    for start, learned, lexical in blocks:
        queries = sides["x2y"]
        ptr = queries.indptr[start : start + len(learned) + 1]
        at = np.repeat(np.arange(len(learned)), np.diff(ptr)), queries.candidate[ptr[0] : ptr[-1]]
        for told, block in zip(own, (learned, lexical), strict=True):
            told[ptr[0] : ptr[-1]] = block[at]
        steps = grid.steps(len(at[1]) if "x2y" in chosen else 0)
        rows = queries if "x2y" in chosen else _nothing(queries)
        rank_rows(learned, lexical, rows, start, grid, steps)
        if "x2y" in chosen:
            lines.add("x2y", _some(queries, slice(start, start + len(learned))), counts(steps))
    for group in columns:
        queries = _some(sides["y2x"], group)
        theirs = own[0][queries.stored], own[1][queries.stored]
        steps = grid.steps(len(queries.candidate))
        for _, learned, lexical in blocks:
            rank_columns(learned, lexical, group, queries.indptr, theirs, grid, steps)
        lines.add("y2x", queries, counts(steps))
    return BlendCurve(grid.alphas, asked, lines.joined(chosen), {}, pool)


class _Lines:
    """Values of each query under each weight, queries coming in runs."""

    def __init__(self, metrics: tuple[Metric, ...], grid: Grid) -> None:
        self._metrics, self._grid = metrics, grid
        self._parts: dict[tuple[str, Direction], list[Reals]] = {}

    def add(self, direction: Direction, queries: Queries, ranks: Ints) -> None:
        """Measure queries whose above and tied are given for each weight."""
        for metric in self._metrics:
            if metric.level == "query":
                values = [
                    metric.per_query(queries.ranking(*ranks[:, :, k]))
                    for k in range(len(self._grid))
                ]
                self._parts.setdefault((metric.name, direction), []).append(np.stack(values))

    def joined(self, order: Sequence[Direction]) -> dict[tuple[str, Direction], Reals]:
        """All queries of each metric and direction."""
        keys = [(m.name, d) for m in self._metrics for d in order if (m.name, d) in self._parts]
        return {key: np.concatenate(self._parts[key], axis=1) for key in keys}


def _judged_curve(
    blocks: PartBlocks,
    sides: Mapping[Direction, Queries],
    chosen: Sequence[Direction],
    relevance: Relevance,
    grid: Grid,
    metrics: tuple[Metric, ...],
) -> BlendCurve:
    """Where only judged pairs meet: few enough to be blended and sorted at each weight."""
    queries = sides["x2y"]
    parts: list[tuple[Reals, Reals]] = []
    for start, learned, lexical in blocks:
        ptr = queries.indptr[start : start + len(learned) + 1]
        at = np.repeat(np.arange(len(learned)), np.diff(ptr)), queries.candidate[ptr[0] : ptr[-1]]
        parts.append((learned[at].astype(np.float64), lexical[at].astype(np.float64)))
    told, other = (np.concatenate(part) for part in zip(*parts, strict=True))
    if not (np.isfinite(told).all() and np.isfinite(other).all()):
        raise ValueError("Scores must be finite to be blended; some of the judged pairs' are not.")
    lines: dict[tuple[str, Direction], list[Reals]] = {}
    pooled: dict[str, list[float]] = {}
    for alpha in grid.alphas:
        score = alpha * told + (1.0 - alpha) * other
        rankings = {
            d: sides[d].ranking(*rank_listed(score[sides[d].stored], sides[d].indptr))
            for d in chosen
        }
        for metric in metrics:
            if metric.level == "query":
                for d, ranking in rankings.items():
                    values = values_in("judged", metric, ranking)
                    lines.setdefault((metric.name, d), []).append(values)
            elif metric.level == "roc":
                roc = Roc.from_scores(score, queries.grade > 0)
                pooled.setdefault(metric.name, []).append(metric.of_roc(roc))
            else:
                value = metric.of_scores(relevance.matrix.data, score)
                pooled.setdefault(metric.name, []).append(value)
    return BlendCurve(
        grid.alphas,
        metrics,
        {key: np.stack(values) for key, values in lines.items()},
        {name: np.array(values) for name, values in pooled.items()},
        "judged",
    )


def _weights(alphas: ArrayLike) -> Reals:
    weights = np.unique(np.asarray(alphas, dtype=np.float64))
    if not weights.size or not (weights >= 0).all() or not (weights <= 1).all():
        raise ValueError(
            f"alphas are weights between 0 (lexical alone) and 1 (learned alone), got {alphas!r}."
        )
    return weights


def _check_metrics(metrics: tuple[Metric, ...], relevance: Relevance, pool: Pool) -> None:
    """Refuse what a curve of ranks cannot measure."""
    if not metrics:
        raise ValueError("Name at least one metric, such as 'MRR'.")
    for metric in metrics:
        if metric.level == "scores" and relevance.kind != "score":
            raise ValueError(
                f"{metric} compares scores, but these judgments are grades. Use a metric of ranks."
            )
        if metric.level != "query" and pool != "judged":
            raise ValueError(
                f"{metric} compares all pairs with one another, and a curve follows the ranks "
                "within each query. Use 'AUC (by query)' or 'MRR' here, and evaluate the blend "
                f"at one weight for {metric}."
            )


def _some(queries: Queries, rows: slice) -> Queries:
    """A run of queries by itself."""
    ptr = queries.indptr[rows.start : rows.stop + 1]
    part = slice(int(ptr[0]), int(ptr[-1]))
    return Queries(
        ptr - ptr[0],
        queries.candidate[part],
        queries.grade[part],
        queries.stored[part],
        queries.n_candidates,
    )


def _nothing(queries: Queries) -> Queries:
    """The same queries without a listed candidate."""
    none: Any = np.empty(0)
    return Queries(
        np.zeros_like(queries.indptr), none.astype(np.int64), none, none, queries.n_candidates
    )
