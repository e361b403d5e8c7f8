"""Quality against the weight of a blend, for all weights in about one evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.callbacks import Callback
from simviz.evaluation._blocks import KEPT_BYTES, Queries, n_items, queries_of, report
from simviz.evaluation.metrics import MRR, Metric, parse_metric
from simviz.evaluation.result import (
    DIRECTIONS,
    Asking,
    Direction,
    Pool,
    check_directions,
    meant,
    values_in,
)
from simviz.evaluation.roc import Roc
from simviz.evaluation.significance import mean, standard_error
from simviz.ranking import rank_listed
from simviz.relevance import Relevance

Block = NDArray[np.floating[Any]]
Side_contra = TypeVar("Side_contra", contravariant=True)

#: Listed pairs whose ranks under all weights are held at a time: 0.2 GB for 101 weights.
MAX_LISTED = 2**18
_BUCKETS = 4_096


class Blendable(Protocol[Side_contra]):
    """Two similarities that can be weighed against each other."""

    # At the weight α a pair scores ``α * learned + (1 - α) * lexical``, in float64.

    def iter_parts(
        self, x: Side_contra, y: Side_contra, /, *, block_size: int | None = None
    ) -> Iterator[tuple[Block, Block]]:
        """Both similarities in blocks of rows, in order."""


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Weights, ready for the counting loops."""

    alphas: Reals
    inner: Reals = field(init=False)
    bucket_start: Ints = field(init=False)

    def __post_init__(self) -> None:
        inside = self.alphas[(self.alphas > 0) & (self.alphas < 1)]
        limits = inside[[0, -1]] if len(inside) else np.array([0.5, 0.5])
        starts = np.searchsorted(self.alphas, np.arange(_BUCKETS + 1) / _BUCKETS)
        object.__setattr__(self, "inner", limits)
        object.__setattr__(self, "bucket_start", starts.astype(np.int64))

    def __len__(self) -> int:
        return len(self.alphas)

    def steps(self, n_listed: int) -> NDArray[np.int32]:
        """Above and tied of listed pairs as steps over the grid, all 0."""
        return np.zeros((2, n_listed, len(self) + 1), dtype=np.int32)


def counts(steps: NDArray[np.int32]) -> Ints:
    """Above and tied of listed pairs at each weight: shape (2, n_listed, K)."""
    return np.cumsum(steps, axis=-1, dtype=np.int64)[..., :-1]


class PartBlocks:
    """Row blocks of two similarities, checked, with progress."""

    def __init__(
        self,
        blend: Blendable[Any],
        x: object,
        y: object,
        shape: tuple[int, int],
        block_size: int | None,
        n_passes: int,
        callback: Callback | None,
    ) -> None:
        self._compute: Callable[[], Iterable[tuple[Block, Block]]] = lambda: blend.iter_parts(
            x, y, block_size=block_size
        )
        self._shape, self._callback = shape, callback
        self._done, self._total = 0, n_passes * shape[0]
        self._keep = n_passes > 1 and 16 * shape[0] * shape[1] <= KEPT_BYTES
        self._kept: list[tuple[Block, Block]] | None = None

    def __iter__(self) -> Iterator[tuple[int, Block, Block]]:
        """Yield the first row of each block, and both blocks in one floating type."""
        kept: list[tuple[Block, Block]] = []
        start = 0
        for learned, lexical in self._compute() if self._kept is None else self._kept:
            both = self._checked(np.asarray(learned), np.asarray(lexical), start)
            if self._keep and self._kept is None:
                kept.append((both[0].copy(), both[1].copy()))
            yield start, *both
            start += len(both[0])
            self._done += len(both[0])
            report(self._callback, self._done, self._total)
        if start != self._shape[0]:
            raise ValueError(
                f"The blend gave {start} rows of similarities for {self._shape[0]} x items. "
                "It must yield every row once, in order."
            )
        if self._keep and self._kept is None:
            self._kept = kept

    def _checked(self, learned: Block, lexical: Block, start: int) -> tuple[Block, Block]:
        n_x, n_y = self._shape
        if (
            learned.shape != lexical.shape
            or learned.ndim != 2
            or learned.shape[1] != n_y
            or start + len(learned) > n_x
        ):
            raise ValueError(
                f"The blend gave blocks of shape {learned.shape} and {lexical.shape} at row "
                f"{start} of {n_x} x items and {n_y} y items. Both must hold the same rows, with "
                "one column per y item."
            )
        single = learned.dtype == lexical.dtype == np.float32
        dtype = np.float32 if single else np.float64
        return (
            np.ascontiguousarray(learned, dtype=dtype),
            np.ascontiguousarray(lexical, dtype=dtype),
        )


def rank_rows(
    learned: Block, lexical: Block, queries: Queries, start: int, grid: Grid, steps: Any
) -> None:
    """Compare what these rows list with all of the row, into steps of those listed pairs."""
    from simviz._numba import threads_for
    from simviz.evaluation._kernels import compare_rows

    ptr = queries.indptr[start : start + len(learned) + 1]
    listed = queries.candidate[ptr[0] : ptr[-1]]
    with threads_for(learned.size):
        n_wrong = compare_rows(
            learned,
            lexical,
            ptr - ptr[0],
            listed,
            grid.alphas,
            grid.inner,
            grid.bucket_start,
            *steps,
        )
    if n_wrong:
        raise ValueError(
            f"Scores must be finite to be blended, but {n_wrong:,} of {learned.size:,} are not. "
            "Look for empty or infinite vectors; an empty item should score 0."
        )


def rank_columns(
    learned: Block,
    lexical: Block,
    columns: slice,
    indptr: Ints,
    own: tuple[Reals, Reals],
    grid: Grid,
    steps: Any,
) -> None:
    """Compare what some columns list with these rows of them, into steps of the listed pairs."""
    from simviz._numba import threads_for
    from simviz.evaluation._kernels import compare_columns

    with threads_for(len(learned) * (columns.stop - columns.start)):
        compare_columns(
            learned,
            lexical,
            columns.start,
            indptr,
            *own,
            grid.alphas,
            grid.inner,
            grid.bucket_start,
            *steps,
        )


def groups(indptr: Ints, limit: int = MAX_LISTED) -> Iterator[slice]:
    """Runs of queries that together list no more than `limit` pairs, or are one."""
    start, n = 0, len(indptr) - 1
    while start < n:
        stop = int(np.searchsorted(indptr, indptr[start] + limit, side="right")) - 1
        stop = min(max(stop, start + 1), n)
        yield slice(start, stop)
        start = stop


#: Values closer than this count as one when the best is looked for.
_LEVEL = 1e-12


class BlendRecord(TypedDict):
    """One point of a curve."""

    alpha: float
    metric: str
    direction: str
    value: float
    standard_error: float
    n: int
    pool: str


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

        Raises
        ------
        ValueError
            If the metric or the direction was not measured.
        """
        name = self._metric(metric).name
        if name in self.pooled:
            return self.pooled[name]
        wanted = meant(direction, self.directions)
        curves = [[mean(line) for line in self.per_query[name, d]] for d in wanted]
        return np.array([mean(point) for point in zip(*curves, strict=True)])

    def best(self, metric: Metric | str | None = None, direction: Asking | None = None) -> float:
        """The weight with the best value: to be asked of validation data only.

        Parameters
        ----------
        metric : Metric or str, optional
            One of those measured; the first when omitted.
        direction : {"x2y", "y2x", "mean"}, optional
            Which side asks; the first when omitted.

        Returns
        -------
        float
            Of several with that value the middle one; NaN where no query
            counts.

        Raises
        ------
        ValueError
            If the metric or the direction was not measured.
        """
        values = self.values(metric, direction)
        if not np.isfinite(values).any():
            return float("nan")
        worth = values if self._metric(metric).higher_is_better else -values
        level = np.flatnonzero(worth >= np.nanmax(worth) - _LEVEL)
        return float(self.alphas[level[(len(level) - 1) // 2]])

    def to_records(self) -> list[BlendRecord]:
        """Tidy table: one record per metric, direction and weight.

        Returns
        -------
        list of dict
            With keys alpha, metric, direction ("x2y", "y2x", or "pairs" for
            metrics of all pairs), value, standard_error, n (queries; 0 for
            "pairs") and pool.
        """
        lines: list[tuple[str, str, list[tuple[float, float, int]]]] = [
            (
                name,
                direction,
                [(mean(v), standard_error(v), int((~np.isnan(v)).sum())) for v in values],
            )
            for (name, direction), values in self.per_query.items()
        ]
        lines += [
            (name, "pairs", [(float(v), float("nan"), 0) for v in values])
            for name, values in self.pooled.items()
        ]
        return [
            BlendRecord(
                alpha=float(alpha),
                metric=name,
                direction=direction,
                value=value,
                standard_error=error,
                n=n,
                pool=self.pool,
            )
            for name, direction, points in lines
            for alpha, (value, error, n) in zip(self.alphas, points, strict=True)
        ]

    def _metric(self, metric: Metric | str | None) -> Metric:
        if metric is None:
            return self.metrics[0]
        asked = parse_metric(metric) if isinstance(metric, str) else metric
        if asked not in self.metrics:
            known = ", ".join(str(m) for m in self.metrics)
            raise ValueError(
                f"{asked} was not measured along this curve; {known} was. Ask for it."
            )
        return asked


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
