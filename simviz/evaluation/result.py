"""What an evaluation knows: ranks of every query, the ROC, and metrics of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from simviz.evaluation.intervals import mean, standard_error
from simviz.evaluation.metrics import Metric, parse_metric
from simviz.evaluation.roc import Roc
from simviz.ranking import Ranking

Direction = Literal["x2y", "y2x"]
DIRECTIONS: tuple[Direction, ...] = ("x2y", "y2x")
Pool = Literal["split", "all", "judged"]
Reals = NDArray[np.float64]


class Record(TypedDict):
    """One line of a results table."""

    metric: str
    direction: str
    value: float
    standard_error: float
    n: int
    pool: str


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Ranks of every query, from which any metric can be asked.

    Parameters
    ----------
    rankings : mapping of {"x2y", "y2x"} to Ranking
        x items as queries, y items as queries.
    pool : {"split", "all", "judged"}
        What a query was ranked against.
    metrics : tuple of Metric
        What `to_records` reports.
    roc : Roc or None
        Over all pairs of the pool; None where no metric asked for it.
    judged, predicted : ndarray of shape (n_pairs,) or None
        Both scores of the stored pairs, where judgments are scores.
    x_empty, y_empty : float or None
        Share of items that are all zeros to the model, hence score 0 against
        everything; None where the scorer can't tell.
    """

    rankings: Mapping[Direction, Ranking]
    pool: Pool
    metrics: tuple[Metric, ...]
    roc: Roc | None = None
    judged: Reals | None = None
    predicted: Reals | None = None
    x_empty: float | None = None
    y_empty: float | None = None

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions that were evaluated."""
        return tuple(self.rankings)

    def n_queries(self, direction: Direction | None = None) -> int:
        """Queries with a relevant candidate: those that count.

        Parameters
        ----------
        direction : {"x2y", "y2x"}, optional
            Both together when omitted.

        Returns
        -------
        int
            Number of queries.
        """
        return sum(int((r.n_relevant > 0).sum()) for r in self._rankings(direction))

    def n_skipped(self, direction: Direction | None = None) -> int:
        """Queries without a relevant candidate, which no metric counts.

        Parameters
        ----------
        direction : {"x2y", "y2x"}, optional
            Both together when omitted.

        Returns
        -------
        int
            Number of queries.
        """
        return sum(int((r.n_relevant == 0).sum()) for r in self._rankings(direction))

    def per_query(self, metric: Metric | str, direction: Direction = "x2y") -> Reals:
        """Value of each query.

        Parameters
        ----------
        metric : Metric or str
            A metric of ranks, or its name.
        direction : {"x2y", "y2x"}, default="x2y"
            Which side asks.

        Returns
        -------
        ndarray of float64, shape (n_queries,)
            In the order of the items; NaN for a skipped query.

        Raises
        ------
        ValueError
            If the metric pools all pairs or the direction was not evaluated.
        """
        (ranking,) = self._rankings(direction)
        return _metric(metric).per_query(ranking)

    def value(self, metric: Metric | str, direction: Direction | None = None) -> float:
        """Value of a metric: the mean over queries, or one number for all pairs.

        Parameters
        ----------
        metric : Metric or str
            The metric, or its name.
        direction : {"x2y", "y2x"}, optional
            Which side asks; the mean of the directions when omitted. Metrics
            of all pairs are the same in every direction.

        Returns
        -------
        float
            NaN where no query counts.

        Raises
        ------
        ValueError
            If the metric needs what this evaluation does not hold.
        """
        metric = _metric(metric)
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
        means = [mean(metric.per_query(ranking)) for ranking in self._rankings(direction)]
        return float(np.mean(means))

    def to_records(self, metrics: Iterable[Metric | str] | None = None) -> list[Record]:
        """Tidy table: one record per metric and direction, then their mean.

        Parameters
        ----------
        metrics : iterable of Metric or str, optional
            What to report; the metrics asked for at first when omitted.

        Returns
        -------
        list of dict
            With keys metric, direction ("x2y", "y2x", "mean", or "pairs" for
            metrics of all pairs), value, standard_error (NaN for "pairs"),
            n (queries or pairs) and pool. The error of a mean of directions
            is the mean of their errors, which holds however closely the two
            depend on each other.
        """
        records: list[Record] = []

        def add(metric: Metric, direction: str, value: float, error: float, n: int) -> None:
            records.append(
                Record(
                    metric=metric.name,
                    direction=direction,
                    value=value,
                    standard_error=error,
                    n=n,
                    pool=self.pool,
                )
            )

        for wanted in self.metrics if metrics is None else metrics:
            metric = _metric(wanted)
            if metric.level != "query":
                add(metric, "pairs", self.value(metric), float("nan"), self._n_pairs(metric))
                continue
            lines = []
            for direction in self.directions:
                values = self.per_query(metric, direction)
                n = int((~np.isnan(values)).sum())
                lines.append((mean(values), standard_error(values), n))
                add(metric, direction, *lines[-1])
            if len(lines) > 1:
                value, error = (float(np.mean([line[i] for line in lines])) for i in (0, 1))
                add(metric, "mean", value, error, sum(line[2] for line in lines))
        return records

    def _n_pairs(self, metric: Metric) -> int:
        if metric.level == "scores" or self.roc is None:
            return 0 if self.judged is None else len(self.judged)
        return self.roc.n_positive + self.roc.n_negative

    def _rankings(self, direction: Direction | None) -> list[Ranking]:
        if direction is None:
            return list(self.rankings.values())
        check_directions((direction,), self.directions)
        return [self.rankings[direction]]

    def __repr__(self) -> str:
        shown = [m for m in self.metrics if m.level != "roc" or self.roc is not None]
        values = ", ".join(f"{m} {self.value(m):.3f}" for m in shown)
        return f"Evaluation({values}; {self.n_queries():,} queries, pool={self.pool!r})"


def _metric(metric: Metric | str) -> Metric:
    return parse_metric(metric) if isinstance(metric, str) else metric


def check_directions(
    directions: Sequence[Direction], known: Sequence[Direction] = DIRECTIONS
) -> None:
    """Refuse directions that are unknown, or were not evaluated."""
    if not directions or set(directions) - set(known):
        raise ValueError(
            f"Directions here are {' and '.join(map(repr, known))}, got {tuple(directions)!r}."
        )
