"""Quality against dimensions, steps of training and the number of pairs trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simviz.charts._chart import MEASURED_AXIS, Chart, check_lengths, rows_of
from simviz.charts.style import Theme, ThemeName, clean_text, safe_text
from simviz.evaluation.curves import DimensionCurve as Measured
from simviz.evaluation.differences import Z_95

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Points of so few are marked: each stands for something that was measured.
_FEW = 40
#: What an axis of scores spans at least.
_MIN_SPAN = 0.01
#: Bands of more curves would cover one another.
MAX_BANDS = 5


class DimensionCurve(NamedTuple):
    """One method's quality at several numbers of dimensions.

    Parameters
    ----------
    method : str
        Id of the method: it sets colour, dash and marker.
    label : str
        What to call it.
    dimensions : array-like of int, shape (n,)
        Numbers of dimensions.
    values : array-like of shape (n,)
        The metric at each.
    low, high : array-like of shape (n,), optional
        Confidence band.
    """

    method: str
    label: str
    dimensions: ArrayLike
    values: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None


class ProgressCurve(NamedTuple):
    """One method's values along steps of training, or sizes of the training part."""

    method: str
    label: str
    at: Sequence[float]
    values: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


def dimension_figure(
    curves: Sequence[DimensionCurve | tuple[Any, ...]] | Mapping[str, Measured],
    *,
    metric: str = "MRR",
    theme: ThemeName | Theme = "light",
) -> go.Figure:
    """Draw a metric against the number of dimensions; mark each best point.

    Parameters
    ----------
    curves : sequence of DimensionCurve, or mapping of str
        Or of tuples in its order; or by name what `simviz.evaluation.dimension_curve` measured,
        which gets its 95 % band. Bands are drawn of up to five curves.
    metric : str, default="MRR"
        Name of the metric.
    theme : {"light", "dark"} or Theme, default="light"
        Look of the figure.

    Returns
    -------
    plotly Figure
        With the highest value written at its ring; `dimension_records` gives the rows behind it.

    Raises
    ------
    ValueError
        If a curve's lists differ in length, or a dimension is below 1.

    Examples
    --------
    >>> figure = dimension_figure([("opca", "OPCA", [2, 4, 8], [0.1, 0.4, 0.3])])
    >>> figure.data[0].name
    'OPCA 0.400 at 4'
    """
    chart = Chart(theme)
    if isinstance(curves, Mapping):
        curves = [_measured(name, curve) for name, curve in curves.items()]
    drawn = sorted(map(_sorted_by_dimension, curves), key=lambda curve: -_best(curve)[1])
    described, hover = [], "%{y:.3f} with %{x:,} dimensions"
    for curve in drawn:
        colour, (best_at, best) = chart.style(curve.method).colour, _best(curve)
        value = f"{best:.3f} at {best_at:g}"
        if curve.low is not None and curve.high is not None and len(drawn) <= MAX_BANDS:
            chart.band(colour, curve.dimensions, curve.low, curve.high)
        chart.line(curve, value, curve.dimensions, curve.values, hover, markers=True)
        chart.ring(colour, [best_at], [best], 15)
        described.append(f"{clean_text(curve.label, 40)} {value}")
    if drawn:
        at, best = _best(drawn[0])
        chart.figure.add_annotation(
            **{"text": f"{best:.3f} at {at:g}", "x": np.log10(at), "xanchor": "right"},
            **{"y": best, "yanchor": "bottom", "xshift": 9, "yshift": 8, "showarrow": False},
            font={"color": chart.style(drawn[0].method).colour, "size": 12},
        )
    measured = [at for curve in drawn for at in np.asarray(curve.dimensions).tolist()]
    return chart.finish(
        f"{clean_text(metric, 40)} against the number of dimensions for {len(drawn)} methods; "
        f"best values: {', '.join(described) or 'none'}.",
        x=_log_axis("dimensions", _round_numbers(measured)),
        y={"title_text": safe_text(metric, 40), "rangemode": "tozero"},
        legend=f"best {safe_text(metric, 30)}",
    )


def dimension_records(curves: Sequence[DimensionCurve | tuple[Any, ...]]) -> list[dict[str, Any]]:
    """List the rows behind `dimension_figure`.

    Parameters
    ----------
    curves : sequence of DimensionCurve
        Or of tuples in its order.

    Returns
    -------
    list of dict
        With ``method``, ``label``, ``dimensions``, ``value``, ``low`` and ``high``.
    """
    return _records([_checked(curve) for curve in curves], "dimensions")


def training_figure(
    curves: Sequence[ProgressCurve], *, metric: str, theme: ThemeName | Theme = "light"
) -> go.Figure:
    """Draw a metric against the steps of training."""
    last = max((float(np.max(curve.at)) for curve in curves), default=0.0)
    return _progress(curves, theme, "%{y:.4g} after %{x:,} steps").finish(
        f"{clean_text(metric, 40)} while {len(curves)} methods train; first and last values: "
        f"{_ends(curves)}.",
        x={"title_text": "step of training", "showgrid": False, "showline": True}
        | {"rangemode": "tozero", "dtick": 1 if last < 5 else None},
        # Scores that hardly move have ticks of many digits.
        y={"title_text": safe_text(metric, 40), "showgrid": True, "automargin": True}
        | _least_span(curves),
        legend=f"last {safe_text(metric, 30)}",
    )


def learning_figure(
    curves: Sequence[ProgressCurve], *, metric: str, theme: ThemeName | Theme = "light"
) -> go.Figure:
    """Draw a metric against the number of pairs trained on."""
    measured = sorted({int(at) for curve in curves for at in np.asarray(curve.at).tolist()})
    ticks = [at for before, at in pairwise([0, *measured]) if at >= 1.3 * before]
    return _progress(curves, theme, "%{y:.3f} from %{x:,} pairs").finish(
        f"{clean_text(metric, 40)} against the number of pairs trained on for {len(curves)} "
        f"methods; from the fewest and from all: {_ends(curves)}.",
        x=_log_axis("pairs trained on", ticks),
        y={"title_text": safe_text(metric, 40), "rangemode": "tozero", "showgrid": True},
        legend=f"{safe_text(metric, 30)} from all",
    )


def progress_records(curves: Sequence[ProgressCurve]) -> list[dict[str, Any]]:
    """List the rows behind both figures."""
    return _records(curves, "at")


def _progress(curves: Sequence[ProgressCurve], theme: ThemeName | Theme, hover: str) -> Chart:
    """All bands, then all curves."""
    chart = Chart(theme)
    for curve in curves:
        check_lengths(curve.label, "value (and bound) per place", *curve[2:])
        if curve.low is not None and curve.high is not None:
            chart.band(chart.style(curve.method).colour, curve.at, curve.low, curve.high)
    for curve in curves:
        few, last = len(np.asarray(curve.at)) <= _FEW, float(np.asarray(curve.values)[-1])
        chart.line(curve, f"{last:.3f}", curve.at, curve.values, hover, markers=few)
    return chart


def _least_span(curves: Sequence[ProgressCurve]) -> dict[str, Any]:
    """A range for curves that hardly move, which would look like a collapse; else none."""
    values = [np.asarray(v) for c in curves for v in (c.values, c.low, c.high) if v is not None]
    ends = np.array([[v.min(), v.max()] for v in values if len(v)])
    low, high = (ends[:, 0].min(), ends[:, 1].max()) if len(ends) else (np.nan, np.nan)
    if not high - low < _MIN_SPAN:
        return {}
    middle = (low + high) / 2
    return {"range": [middle - _MIN_SPAN / 2, middle + _MIN_SPAN / 2]}


def _round_numbers(measured: Sequence[float]) -> list[int]:
    """1, 2, 5, 10 and so on between the ends of what was measured; both ends if there is none."""
    low, high = min(measured, default=1), max(measured, default=1)
    round_ones = (first * 10**power for power in range(len(f"{high:.0f}")) for first in (1, 2, 5))
    return [at for at in round_ones if low <= at <= high] or sorted({int(low), int(high)})


def _log_axis(title: str, ticks: Sequence[int]) -> dict[str, Any]:
    axis = {"title_text": title, "type": "log", **MEASURED_AXIS}
    return axis | {"tickvals": ticks, "ticktext": [f"{tick:,}" for tick in ticks]}


def _ends(curves: Sequence[ProgressCurve]) -> str:
    ends = [(c.label, np.asarray(c.values)[[0, -1]].tolist()) for c in curves]
    return ", ".join(f"{clean_text(la, 40)} {a:.3g} and {b:.3g}" for la, (a, b) in ends) or "none"


def _records(curves: Sequence[DimensionCurve | ProgressCurve], at: str) -> list[dict[str, Any]]:
    rows = []
    for curve in curves:
        unknown = [None] * len(np.asarray(curve[2]))
        parts: list[Any] = [unknown if part is None else part for part in curve[2:]]
        rows += rows_of(curve, **dict(zip((at, "value", "low", "high"), parts, strict=True)))
    return [row | {"value": float(row["value"])} for row in rows]


def _measured(name: str, curve: Measured) -> DimensionCurve:
    """A curve that was measured, of the side that asks first, under a name."""
    first = next(iter(curve.per_query))
    rows = [row for row in curve.to_records() if row["direction"] == first]
    value, error = (np.array([row[key] for row in rows]) for key in ("value", "standard_error"))
    low, high = value - Z_95 * error, value + Z_95 * error
    return DimensionCurve(name, name, curve.dimensions, value, low, high)


def _checked(curve: DimensionCurve | tuple[Any, ...]) -> DimensionCurve:
    curve = DimensionCurve(*curve)
    check_lengths(curve.label, "value (and bound) per dimension", *curve[2:])
    if np.min(np.asarray(curve.dimensions)) < 1:
        raise ValueError(f"Dimensions begin at 1; {curve.label!r} has a smaller one.")
    return curve


def _sorted_by_dimension(curve: DimensionCurve | tuple[Any, ...]) -> DimensionCurve:
    method, label, dimensions, values, *bounds = _checked(curve)
    order = np.argsort(np.asarray(dimensions), kind="stable")
    low, high = (None if bound is None else np.asarray(bound)[order] for bound in bounds)
    ordered = np.asarray(values, dtype=np.float64)[order]
    return DimensionCurve(method, label, np.asarray(dimensions)[order], ordered, low, high)


def _best(curve: DimensionCurve) -> tuple[float, float]:
    """Fewest dimensions that reach the highest value, and that value."""
    values = np.asarray(curve.values, dtype=np.float64)
    at = int(np.nanargmax(values)) if np.isfinite(values).any() else 0
    return float(np.asarray(curve.dimensions)[at]), float(values[at])
