"""Quality against the weight of a blend, for all weights in about one evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import nan
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz._types import Ints, Reals, SideT, SideT_contra
from simviz.callbacks import Callback
from simviz.evaluation._blocks import Block, BlockPairs, Queries, n_items, queries_of
from simviz.evaluation.metrics import MRR, Metric, check_choice, parse_metric
from simviz.evaluation.result import (
    DIRECTIONS,
    Asking,
    Direction,
    Pool,
    check_directions,
    curve_records,
    directions_of,
    mean_curve,
    values_in,
)
from simviz.evaluation.roc import Roc
from simviz.ranking import rank_listed
from simviz.relevance import Relevance

#: Weights that are tried where nobody says which.
ALPHAS: Reals = np.linspace(0.0, 1.0, 101)
#: Listed pairs whose ranks under all weights are held at a time: 0.2 GB for 101 weights.
MAX_LISTED = 2**18
_BUCKETS = 4_096
#: Values closer than this count as one when the best is looked for.
_TIE_TOLERANCE = 1e-12


class Blendable(Protocol[SideT_contra]):
    """Two similarities that can be weighed against each other."""

    # At the weight α a pair scores ``α * learned + (1 - α) * lexical``, in float64.

    def iter_parts(
        self, x: SideT_contra, y: SideT_contra, /, *, block_size: int | None = None
    ) -> Iterator[tuple[Block, Block]]:
        """Both similarities in blocks of rows, in order."""


@dataclass(frozen=True, slots=True, eq=False)
class BlendCurve:
    """Metrics of a blend at each weight.

    Parameters
    ----------
    alphas : ndarray of float64, shape (K,)
        Weights of the learned similarity, ascending.
    metrics : tuple of Metric
        What was measured.
    per_query : mapping of (metric name, direction) to ndarray of shape (K, n_queries)
        Values of each query; NaN for one without a relevant candidate.
    pooled : mapping of metric name to ndarray of shape (K,)
        Values of metrics of all pairs.
    pool : {"split", "all", "judged"}
        What a query was ranked against.

    Raises
    ------
    ValueError
        By methods that are asked for a metric or a direction that was not measured.
    """

    alphas: Reals
    metrics: tuple[Metric, ...]
    per_query: Mapping[tuple[str, Direction], Reals]
    pooled: Mapping[str, Reals]
    pool: Pool

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions that were evaluated, the default first."""
        return tuple(dict.fromkeys(direction for _, direction in self.per_query))

    def values(self, metric: Metric | str | None = None, direction: Asking | None = None) -> Reals:
        """The curve of a metric.

        Parameters
        ----------
        metric : Metric or str, optional
            One of those measured; the first when omitted.
        direction : {"x2y", "y2x", "mean"}, optional
            Which side asks; the first when omitted.

        Returns
        -------
        ndarray of float64, shape (K,)
            NaN where no query counts.
        """
        name = self._metric(metric).name
        if name in self.pooled:
            return self.pooled[name]
        requested = directions_of(direction, self.directions)
        return mean_curve([self.per_query[name, d] for d in requested])

    def best(self, metric: Metric | str | None = None, direction: Asking | None = None) -> float:
        """The weight with the best value: to be asked of validation data only.

        Parameters
        ----------
        metric, direction : optional
            As in `values`.

        Returns
        -------
        float
            Of several with that value the middle one; NaN where no query counts.
        """
        values = self.values(metric, direction)
        if not np.isfinite(values).any():
            return nan
        worth = values if self._metric(metric).higher_is_better else -values
        tied = np.flatnonzero(worth >= np.nanmax(worth) - _TIE_TOLERANCE)
        return float(self.alphas[tied[(len(tied) - 1) // 2]])

    def to_records(self) -> list[dict[str, Any]]:
        """Tidy table: one record per metric, direction ("pairs" for metrics of all) and weight."""
        points = [{"alpha": float(alpha)} for alpha in self.alphas]
        return curve_records(points, self.per_query, pool=self.pool) + [
            {"alpha": float(alpha), "metric": name, "direction": "pairs", "value": float(value)}
            | {"standard_error": nan, "n": 0, "pool": self.pool}
            for name, values in self.pooled.items()
            for alpha, value in zip(self.alphas, values, strict=True)
        ]

    def _metric(self, metric: Metric | str | None) -> Metric:
        if metric is None:
            return self.metrics[0]
        parsed = parse_metric(metric)
        if parsed not in self.metrics:
            known = ", ".join(str(m) for m in self.metrics)
            raise ValueError(
                f"{parsed} was not measured along this curve; {known} was. Ask for it."
            )
        return parsed


def blend_curve(
    blend: Blendable[SideT],
    x: SideT,
    y: SideT,
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
        Weights of the learned similarity in [0, 1]; 0, 0.01, ..., 1 when omitted.
    metrics : iterable of Metric or str
        Any metrics of ranks. Those of all pairs (AUC, Spearman) are measured
        where only judged pairs count.
    directions, pool, block_size, callback : optional
        As in `evaluate`.

    Returns
    -------
    BlendCurve
        Each value is that of `evaluate` on the blend with that weight, ties included.

    Raises
    ------
    ValueError
        If shapes or settings do not fit, a score is not finite, or a metric
        compares all pairs of a pool.

    Notes
    -----
    With :math:`\Delta l = l_j - l_t` and :math:`\Delta b = b_j - b_t`, a competitor j stands above
    the target t where :math:`\alpha\Delta l + (1-\alpha)\Delta b > 0`, which changes once, at
    :math:`\alpha^* = \Delta b / (\Delta b - \Delta l)`. So each pair is looked at once, whatever
    the number of weights. Near that place, where rounding might decide, the blended scores
    themselves are compared: the counts are those of evaluations at single weights to the last one.

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
    check_choice("pool", pool, ("split", "all", "judged"))
    rel = Relevance.coerce(relevance, n_items(x), n_items(y))
    if rel.unjudged == "ignore":
        pool = "judged"
    parsed = tuple(parse_metric(m) for m in metrics)
    _check_metrics(parsed, rel, pool)
    weights = _weights(alphas)
    requested = tuple(dict.fromkeys(directions))
    sides = dict(zip(DIRECTIONS, queries_of(rel, pool), strict=True))
    ranked = [metric for metric in parsed if metric.level == "query"]
    results: dict[tuple[str, Direction], list[Reals]] = {
        (metric.name, direction): [] for metric in ranked for direction in requested
    }

    def measure(direction: Direction, queries: Queries, ranks: Ints) -> None:
        rankings = (queries.ranking(*ranks[..., k]) for k in range(len(weights)))
        lines = [[values_in(pool, metric, ranking) for metric in ranked] for ranking in rankings]
        for metric, values in zip(ranked, zip(*lines, strict=True), strict=True):
            results[metric.name, direction].append(np.stack(values))

    across = pool != "judged"
    columns = list(groups(sides["y2x"].indptr)) if across and "y2x" in requested else []

    compute = partial(blend.iter_parts, x, y, block_size=block_size)
    blocks = BlockPairs(compute, rel.shape, 1 + len(columns), callback)
    grid = _grid(weights)
    own = np.empty((2, rel.matrix.nnz))  # both scores of the judged pairs
    for start, learned, lexical in blocks:
        if across:
            _refuse_infinite(learned, lexical)
        part = sides["x2y"].part(start, start + len(learned))
        at = part.query, part.candidate
        theirs = np.array([learned[at], lexical[at]], dtype=np.float64)
        own[:, part.stored] = theirs
        if across and "x2y" in requested:
            steps = _steps(part, weights)
            _compare(learned, lexical, part, theirs, grid, steps)
            measure("x2y", part, _counts(steps))
    for group in columns:
        part = sides["y2x"].part(group.start, group.stop)
        steps = _steps(part, weights)
        for _, learned, lexical in blocks:
            rows = [np.ascontiguousarray(block[:, group].T) for block in (learned, lexical)]
            _compare(rows[0], rows[1], part, own[:, part.stored], grid, steps)
        measure("y2x", part, _counts(steps))
    pooled: dict[str, Reals] = {}
    if not across:
        if not np.isfinite(own).all():
            raise ValueError(
                "Scores must be finite to be blended; some of the judged pairs' are not."
            )
        # Few enough to be blended and sorted at each weight.
        for direction in requested:
            for group in groups(sides[direction].indptr):
                part = sides[direction].part(group.start, group.stop)
                l, b = own[:, part.stored]  # noqa: E741
                ranks = [rank_listed(a * l + (1.0 - a) * b, part.indptr) for a in weights]
                measure(direction, part, np.stack(ranks, axis=-1))
        for metric in parsed:
            if metric.level != "query":
                blended = (a * own[0] + (1.0 - a) * own[1] for a in weights)
                pooled[metric.name] = np.array([_pooled(metric, rel, z) for z in blended])
    per_query = {key: np.concatenate(parts, axis=1) for key, parts in results.items()}
    return BlendCurve(weights, parsed, per_query, pooled, pool)


def groups(indptr: Ints, limit: int = MAX_LISTED) -> Iterator[slice]:
    """Runs of queries that together list no more than `limit` pairs, or are one."""
    start, n = 0, len(indptr) - 1
    while start < n:
        stop = int(np.searchsorted(indptr, indptr[start] + limit, side="right")) - 1
        stop = min(max(stop, start + 1), n)
        yield slice(start, stop)
        start = stop


def _pooled(metric: Metric, relevance: Relevance, score: Reals) -> float:
    if metric.level == "roc":
        return metric.of_roc(Roc.from_scores(score, relevance.positive))
    return metric.of_scores(relevance.matrix.data, score)


def _refuse_infinite(learned: Block, lexical: Block) -> None:
    n_wrong = int((~np.isfinite(learned + lexical)).sum())
    if n_wrong:
        raise ValueError(
            f"Scores must be finite to be blended, but {n_wrong:,} of {learned.size:,} are not. "
            "Look for empty or infinite vectors; an empty item should score 0."
        )


def _grid(weights: Reals) -> tuple[Reals, Reals, Ints]:
    """Weights, the first and last of those inside, and where to look for one."""
    inside = weights[(weights > 0) & (weights < 1)]
    limits = inside[[0, -1]] if len(inside) else np.array([0.5, 0.5])
    return weights, limits, np.searchsorted(weights, np.arange(_BUCKETS + 1) / _BUCKETS)


def _steps(queries: Queries, weights: Reals) -> NDArray[np.int32]:
    return np.zeros((2, len(queries.candidate), len(weights) + 1), dtype=np.int32)


def _counts(steps: NDArray[np.int32]) -> Ints:
    """Above and tied of listed pairs at each weight: shape (2, n_listed, K)."""
    return np.cumsum(steps, axis=-1, dtype=np.int64)[..., :-1]


def _compare(
    learned: Block,
    lexical: Block,
    queries: Queries,
    own: Reals,
    grid: tuple[Reals, Reals, Ints],
    steps: NDArray[np.int32],
) -> None:
    """Compare what queries list with all of their rows, into steps of those listed pairs."""
    from simviz._numba import threads_for
    from simviz.evaluation._kernels import compare_rows

    own = np.ascontiguousarray(own)  # chosen columns may lie by column: one more to compile
    with threads_for(learned.size):
        compare_rows(learned, lexical, queries.indptr, own[0], own[1], *grid, steps[0], steps[1])


def _weights(alphas: ArrayLike) -> Reals:
    weights = np.unique(np.asarray(alphas, dtype=np.float64))
    if not weights.size or not (weights >= 0).all() or not (weights <= 1).all():
        raise ValueError(
            f"alphas are weights between 0 (lexical alone) and 1 (learned alone), got {alphas!r}."
        )
    return weights


def _check_metrics(metrics: tuple[Metric, ...], relevance: Relevance, pool: Pool) -> None:
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
