"""What an evaluation knows: ranks of every query, the ROC, and metrics of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict

import numpy as np

from simviz._types import Reals
from simviz.evaluation.metrics import Metric, parse_metric
from simviz.evaluation.roc import Roc
from simviz.evaluation.significance import mean, standard_error
from simviz.ranking import Ranking

Direction = Literal["x2y", "y2x"]
DIRECTIONS: tuple[Direction, ...] = ("x2y", "y2x")
#: Who asks: one side, or each side in turn with the mean of both.
Asking = Literal["x2y", "y2x", "mean"]
Pool = Literal["split", "all", "judged"]


class Record(TypedDict):
    """One line of a results table."""

    metric: str
    direction: str
    value: float
    standard_error: float
    n: int
    n_certain: int
    pool: str


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Ranks of every query, from which any metric can be asked.

    Wherever a direction is left out, the first one is meant: in `value` and `per_query`, in
    intervals, tests, curves and searches alike. The mean of several is what "mean" asks for.

    Parameters
    ----------
    rankings : mapping of {"x2y", "y2x"} to Ranking
        x items as queries, y items as queries; the side that asks first.
    pool : {"split", "all", "judged"}
        What a query was ranked against.
    metrics : tuple of Metric
        What `to_records` reports.
    roc : Roc or None
        Over all pairs of the pool; None where no metric asked for it.
    judged : ndarray of shape (n_pairs,) or None
        The judged scores, where judgments are scores.
    predicted : ndarray of shape (n_pairs,) or None
        What the model says of the judged pairs, by x item and then y item;
        None where a query was ranked against more than those.
    x_empty, y_empty : float or None
        Share of items that are all zeros to the model, hence score 0 against
        everything; None where the scorer can't tell.
    x_unknown, y_unknown : float or None
        Share of the terms of each side that training did not show; None where the
        scorer can't tell or reads no terms.

    Raises
    ------
    ValueError
        By methods that are asked for a metric that is unknown or needs what this
        evaluation does not hold, or for a direction that was not evaluated.
    """

    rankings: Mapping[Direction, Ranking]
    pool: Pool
    metrics: tuple[Metric, ...]
    roc: Roc | None = None
    judged: Reals | None = None
    predicted: Reals | None = None
    x_empty: float | None = None
    y_empty: float | None = None
    x_unknown: float | None = None
    y_unknown: float | None = None

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions that were evaluated, the default first."""
        return tuple(self.rankings)

    def n_queries(self, direction: Asking | None = None) -> int:
        """Queries that count: with a relevant candidate, and able to fail.

        Parameters
        ----------
        direction : {"x2y", "y2x", "mean"}, optional
            Which side asks, the first when omitted; "mean" counts all sides.

        Returns
        -------
        int
        """
        n_relevant = sum(int((r.n_relevant > 0).sum()) for r in self._rankings(direction))
        return n_relevant - self.n_certain(direction)

    def n_certain(self, direction: Asking | None = None, metric: Metric | str = "MRR") -> int:
        """Queries left out because they cannot fail: all candidates are relevant.

        Parameters
        ----------
        direction : {"x2y", "y2x", "mean"}, optional
            As in `n_queries`.
        metric : Metric or str, default="MRR"
            A metric of ranks. For NDCG the candidates must also be of one grade.

        Returns
        -------
        int
            Number of queries; 0 unless the pool is "judged".
        """
        if self.pool != "judged":
            return 0
        parsed = parse_metric(metric)
        return sum(int(parsed.certain(r).sum()) for r in self._rankings(direction))

    def per_query(self, metric: Metric | str, direction: Direction | None = None) -> Reals:
        """Value of each query.

        Parameters
        ----------
        metric : Metric or str
            A metric of ranks, or its name.
        direction : {"x2y", "y2x"}, optional
            Which side asks; the first when omitted.

        Returns
        -------
        ndarray of float64, shape (n_queries,)
            In the order of the items; NaN for a query without a relevant
            candidate, and in a judged pool for one that cannot fail.
        """
        direction = self.directions[0] if direction is None else direction
        check_directions((direction,), self.directions)
        ranking = self.rankings[direction]
        return values_in(self.pool, parse_metric(metric), ranking)

    def value(self, metric: Metric | str, direction: Asking | None = None) -> float:
        """Value of a metric: the mean over queries, or one number for all pairs.

        Parameters
        ----------
        metric : Metric or str
            The metric, or its name.
        direction : {"x2y", "y2x", "mean"}, optional
            As in `n_queries`; "mean" is the mean of the directions in which some query counts.
            Metrics of all pairs are the same in every direction.

        Returns
        -------
        float
            NaN where no query counts.
        """
        metric = parse_metric(metric)
        if metric.level == "roc":
            if self.roc is None:
                raise ValueError(
                    f"{metric} needs the ROC curve, which this evaluation did not trace. "
                    f"Ask for it: evaluate(..., metrics=[{str(metric)!r}])."
                )
            return metric.of_roc(self.roc)
        if metric.level == "scores":
            if self.judged is None or self.predicted is None:
                raise ValueError(
                    f"{metric} compares scores, but these judgments are grades. "
                    "Use a metric of ranks, or Relevance(..., kind='score')."
                )
            return metric.of_scores(self.judged, self.predicted)
        rankings = self._rankings(direction)
        return mean([mean(values_in(self.pool, metric, ranking)) for ranking in rankings])

    def to_records(self, metrics: Iterable[Metric | str] | None = None) -> list[Record]:
        """Tidy table: one record per metric and direction, then their mean.

        Parameters
        ----------
        metrics : iterable of Metric or str, optional
            What to report; the metrics asked for at first when omitted.

        Returns
        -------
        list of dict
            With keys metric, direction ("pairs" for metrics of all pairs), value, standard_error
            (NaN for "pairs"), n (queries or pairs), n_certain (queries left out because they
            cannot fail) and pool. The error of a mean of directions is the mean of their errors,
            which holds however closely the two depend on each other. A direction in which no query
            can fail is left out.
        """
        records: list[Record] = []

        def add(
            metric: Metric, direction: str, value: float, error: float, n: int, n_certain: int = 0
        ) -> None:
            records.append(
                Record(
                    metric=metric.name,
                    direction=direction,
                    value=value,
                    standard_error=error,
                    n=n,
                    n_certain=n_certain,
                    pool=self.pool,
                )
            )

        for requested in self.metrics if metrics is None else metrics:
            metric = parse_metric(requested)
            if metric.level != "query":
                add(metric, "pairs", self.value(metric), float("nan"), self._n_pairs(metric))
                continue
            lines = []
            for direction in self.directions:
                values = self.per_query(metric, direction)
                n = int((~np.isnan(values)).sum())
                n_certain = self.n_certain(direction, metric)
                lines.append((mean(values), standard_error(values), n, n_certain))
                if n or not n_certain:
                    add(metric, direction, *lines[-1])
            n, n_certain = sum(line[2] for line in lines), sum(line[3] for line in lines)
            if len(lines) > 1 and (n or not n_certain):
                value, error = (mean([line[i] for line in lines]) for i in (0, 1))
                add(metric, "mean", value, error, n, n_certain)
        return records

    def _n_pairs(self, metric: Metric) -> int:
        if metric.level == "scores" or self.roc is None:
            return 0 if self.judged is None else len(self.judged)
        return self.roc.n_positive + self.roc.n_negative

    def _rankings(self, direction: Asking | None) -> list[Ranking]:
        return [self.rankings[d] for d in directions_of(direction, self.directions)]

    def __repr__(self) -> str:
        known = [m for m in self.metrics if m.level != "roc" or self.roc is not None]
        measured = ((m, self.value(m)) for m in known)
        values = ", ".join(f"{m} {value:.3f}" for m, value in measured if not np.isnan(value))
        certain = self.n_certain()
        left_out = f", {certain:,} left out that cannot fail" if certain else ""
        return f"Evaluation({values}; {self.n_queries():,} queries{left_out}, pool={self.pool!r})"


@dataclass(frozen=True, slots=True, eq=False)
class PartResult:
    """What was found out on one part of a split: figures, and the ranks that they are of.

    A query was ranked against a `pool`, "split", "all" or "judged". `directions` are the sides
    that ask, without those on which no query can fail if there are others; `metrics` those that
    were asked for at first and have a value; `shares` "x_empty" and the like, see `Evaluation`.
    `records` are tidy metrics of what was trained, as "run", and of each baseline; `curve` is tidy
    quality by dimension, empty where the method has none. `evaluations` have the ranks, by the
    names of `records`; those of a stored run are read when they are asked for.
    """

    n_x: int
    n_y: int
    pool: Pool
    directions: Sequence[Direction]
    metrics: Sequence[str]
    shares: Mapping[str, float | None]
    records: Mapping[str, list[Record]]
    curve: Sequence[Mapping[str, Any]]
    evaluations: Mapping[str, Evaluation]

    @classmethod
    def of(
        cls,
        evaluation: Evaluation,
        baselines: Mapping[str, Evaluation],
        curve: Sequence[Mapping[str, Any]] = (),
    ) -> PartResult:
        """Gather what was measured; both sides asked."""
        evaluations = {"run": evaluation, **baselines}
        records = {name: one.to_records() for name, one in evaluations.items()}
        known = {r["metric"] for r in records["run"]}
        asking = {r["direction"] for r in records["run"]}
        directions = [d for d in evaluation.directions if d in asking]
        names = [f"{side}_{what}" for what in ("empty", "unknown") for side in "xy"]
        return cls(
            evaluation.rankings["x2y"].n_queries,
            evaluation.rankings["y2x"].n_queries,
            evaluation.pool,
            directions or evaluation.directions,
            [m.name for m in evaluation.metrics if m.name in known],
            {name: getattr(evaluation, name) for name in names},
            records,
            curve,
            evaluations,
        )

    @property
    def evaluation(self) -> Evaluation:
        """The ranks by what was trained."""
        return self.evaluations["run"]

    def with_metric(self, metric: str) -> PartResult:
        """The same with the figures of a further metric, which the ranks answer."""
        if metric in self.metrics:
            return self
        records = {
            name: [*known, *self.evaluations[name].to_records([metric])]
            for name, known in self.records.items()
        }
        return replace(self, records=records, metrics=[*self.metrics, metric])

    def record(self, metric: str, direction: str, of: str = "run") -> Record | None:
        """The record of a metric and of "run" or a baseline; None where it was not measured."""
        # One that pools all pairs is the same in all directions.
        keys = (direction, "pairs")
        known = self.records.get(of, ())
        return next((r for r in known if r["metric"] == metric and r["direction"] in keys), None)

    def value(self, metric: str, direction: str, of: str = "run") -> float:
        """The value of a metric, see `record`; NaN where there is none."""
        record = self.record(metric, direction, of)
        return float("nan") if record is None else record["value"]

    def summary(self) -> dict[str, float]:
        """The figures that a list of runs shows: of the side that asks first, and of all pairs."""
        keys = (*self.directions[:1], "pairs")
        return {r["metric"]: r["value"] for r in self.records["run"] if r["direction"] in keys}


def values_in(pool: Pool, metric: Metric, ranking: Ranking) -> Reals:
    """Value of each query; NaN for those that cannot fail in a judged pool."""
    values = metric.per_query(ranking)
    return np.where(metric.certain(ranking), np.nan, values) if pool == "judged" else values


def curve_records(
    points: Sequence[dict[str, Any]], per_query: Mapping[tuple[str, Any], Reals], **constant: str
) -> list[dict[str, Any]]:
    """Tidy table of values by (metric, direction), of shape (n_points, n_queries)."""
    return [
        {
            **point,
            "metric": metric,
            "direction": direction,
            "value": mean(line),
            "standard_error": standard_error(line),
            "n": int((~np.isnan(line)).sum()),
            **constant,
        }
        for (metric, direction), lines in per_query.items()
        for point, line in zip(points, lines, strict=True)
    ]


def mean_curve(directions: Sequence[Reals]) -> Reals:
    """Means over queries, and over directions, of values of shape (n_points, n_queries)."""
    curves = [[mean(line) for line in lines] for lines in directions]
    return np.array([mean(point) for point in zip(*curves, strict=True)])


def directions_of(direction: Asking | None, known: Sequence[Direction]) -> tuple[Direction, ...]:
    """Whose values are averaged: the first side's unless one is named, or all by "mean"."""
    if direction == "mean":
        return tuple(known)
    requested = tuple(known[:1]) if direction is None else (direction,)
    check_directions(requested, known)
    return requested


def check_directions(
    directions: Sequence[Direction], known: Sequence[Direction] = DIRECTIONS
) -> None:
    """Refuse directions that are unknown, or were not evaluated."""
    if not directions or set(directions) - set(known):
        raise ValueError(
            f"Directions here are {' and '.join(map(repr, known))}, got {tuple(directions)!r}."
        )
