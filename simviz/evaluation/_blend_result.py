"""What is known of a blend at each weight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from simviz.evaluation.intervals import mean, standard_error
from simviz.evaluation.metrics import Metric, parse_metric
from simviz.evaluation.result import Asking, Direction, Pool, meant

Reals = NDArray[np.float64]

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
