"""Quality against the number of dimensions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.charts._lines import add_band, add_line
from simviz.charts.style import (
    Theme,
    ThemeName,
    apply_theme,
    clean_text,
    describe,
    get_theme,
    legend_below,
    method_style,
    safe_text,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go


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


def dimension_figure(
    curves: Sequence[DimensionCurve | tuple[Any, ...]],
    *,
    metric: str = "MRR",
    theme: ThemeName | Theme = "light",
) -> go.Figure:
    """Draw a metric against the number of dimensions; mark each knee and best point.

    Parameters
    ----------
    curves : sequence of DimensionCurve
        Or of tuples in its order.
    metric : str, default="MRR"
        Name of the metric.
    theme : {"light", "dark"} or Theme, default="light"
        Look of the figure.

    Returns
    -------
    plotly Figure
        With a logarithmic axis to base 2, ticks at the dimensions measured,
        a ring around the best point of each curve, and a dotted line down
        from its `knee`.
        `dimension_records` gives the rows behind it.

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
    import plotly.graph_objects as go

    look = get_theme(theme)
    drawn = [_sorted_by_dimension(_as_dimension(curve)) for curve in curves]
    drawn.sort(key=lambda curve: -_best(curve)[1])
    figure = go.Figure()
    for curve in drawn:
        style = method_style(curve.method, look)
        dimensions, values = np.asarray(curve.dimensions), np.asarray(curve.values)
        best_at, best = _best(curve)
        label = safe_text(curve.label, 28)
        if curve.low is not None and curve.high is not None:
            add_band(figure, style, dimensions, curve.low, curve.high)
        add_line(
            figure,
            style,
            f"{label} {best:.3f} at {best_at:g}",
            dimensions,
            values,
            "%{y:.3f} with %{x:,} dimensions",
            customdata=[curve.method] * len(values),
            markers=True,
        )
        at_knee = knee(dimensions, values)
        if at_knee is not None and at_knee != best_at:
            height = float(values[dimensions == at_knee][0])
            figure.add_trace(
                go.Scatter(
                    x=[at_knee, at_knee],
                    y=[0, height],
                    mode="lines",
                    line={"color": style.colour, "width": 1, "dash": "dot"},
                    hoverinfo="skip",
                    showlegend=False,
                )
            )
            figure.add_annotation(
                x=np.log10(at_knee),
                y=0,
                text="knee",
                # At the foot of its line and along it: knees are often close to one another.
                textangle=-90,
                showarrow=False,
                xanchor="right",
                yanchor="bottom",
                yshift=4,
                font={"size": 11, "color": style.colour},
            )
        figure.add_trace(
            go.Scatter(
                x=[best_at],
                y=[best],
                mode="markers",
                marker={
                    "symbol": "circle-open",
                    "size": 15,
                    "color": style.colour,
                    "line": {"width": 1.8},
                },
                hoverinfo="skip",
                showlegend=False,
            )
        )
    apply_theme(figure, look)
    ticks = _spaced_ticks([d for curve in drawn for d in np.asarray(curve.dimensions).tolist()])
    figure.update_xaxes(
        title_text="dimensions",
        type="log",
        dtick=np.log10(2),
        tickvals=ticks,
        ticktext=[f"{tick:,}" for tick in ticks],
        showgrid=False,
        ticks="outside",
        ticklen=4,
        showline=True,
    )
    figure.update_yaxes(title_text=safe_text(metric, 40), rangemode="tozero")
    legend_below(figure, f"best {safe_text(metric, 30)}")
    told = [
        f"{clean_text(c.label, 40)} {_best(c)[1]:.3f} at {_best(c)[0]:g}"
        + (f", knee at {at:g}" if (at := knee(c.dimensions, c.values)) else "")
        for c in drawn
    ]
    return describe(
        figure,
        f"{clean_text(metric, 40)} against the number of dimensions for {len(drawn)} methods; "
        f"best values: {', '.join(told) or 'none'}.",
    )


def knee(dimensions: ArrayLike, values: ArrayLike) -> float | None:
    """Where a curve bends most: more dimensions help less from there on."""
    # The point highest above the straight line from the first to the best one, both axes scaled
    # to [0, 1] and dimensions on a logarithmic scale [1]_.
    across = np.log2(np.asarray(dimensions, dtype=np.float64))
    up = np.asarray(values, dtype=np.float64)
    if not np.isfinite(up).all():
        return None
    end = int(np.argmax(up))
    if end < 2 or up[end] <= up[0]:
        return None
    part_x = (across[: end + 1] - across[0]) / (across[end] - across[0])
    part_y = (up[: end + 1] - up[0]) / (up[end] - up[0])
    above = part_y - part_x
    at = int(np.argmax(above))
    return float(np.asarray(dimensions)[at]) if above[at] > 1e-9 else None


def dimension_records(
    curves: Sequence[DimensionCurve | tuple[Any, ...]],
) -> list[dict[str, Any]]:
    """List the rows behind `dimension_figure`.

    Parameters
    ----------
    curves : sequence of DimensionCurve
        Or of tuples in its order.

    Returns
    -------
    list of dict
        With ``method``, ``label``, ``dimensions``, ``value``, and ``low`` and
        ``high``, None where there is no band.
    """
    rows = []
    for curve in (_as_dimension(c) for c in curves):
        n = len(np.asarray(curve.values))
        low = [None] * n if curve.low is None else np.asarray(curve.low).tolist()
        high = [None] * n if curve.high is None else np.asarray(curve.high).tolist()
        for i, dimension in enumerate(np.asarray(curve.dimensions).tolist()):
            rows.append(
                {
                    "method": curve.method,
                    "label": curve.label,
                    "dimensions": dimension,
                    "value": float(np.asarray(curve.values)[i]),
                    "low": low[i],
                    "high": high[i],
                }
            )
    return rows


def _as_dimension(curve: DimensionCurve | tuple[Any, ...]) -> DimensionCurve:
    """Check one curve against its promises."""
    curve = curve if isinstance(curve, DimensionCurve) else DimensionCurve(*curve)
    lengths = {
        len(np.asarray(values))
        for values in (curve.dimensions, curve.values, curve.low, curve.high)
        if values is not None
    }
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(
            f"The curve of {curve.label!r} needs one value (and bound) per dimension, at least "
            f"one; got lengths {sorted(lengths)}."
        )
    if np.min(np.asarray(curve.dimensions)) < 1:
        raise ValueError(f"Dimensions begin at 1; {curve.label!r} has a smaller one.")
    return curve


def _sorted_by_dimension(curve: DimensionCurve) -> DimensionCurve:
    order = np.argsort(np.asarray(curve.dimensions), kind="stable")

    def sort(values: ArrayLike | None) -> NDArray[np.generic] | None:
        return None if values is None else np.asarray(values)[order]

    return DimensionCurve(
        curve.method,
        curve.label,
        np.asarray(curve.dimensions)[order],
        np.asarray(curve.values, dtype=np.float64)[order],
        sort(curve.low),
        sort(curve.high),
    )


def _best(curve: DimensionCurve) -> tuple[float, float]:
    """Fewest dimensions that reach the highest value, and that value."""
    values = np.asarray(curve.values, dtype=np.float64)
    at = int(np.nanargmax(values)) if np.isfinite(values).any() else 0
    return float(np.asarray(curve.dimensions)[at]), float(values[at])


def _spaced_ticks(dimensions: Iterable[int]) -> list[int]:
    """Of the dimensions measured, those at least half an octave apart."""
    ticks: list[int] = []
    for dimension in sorted(set(dimensions)):
        if not ticks or dimension >= ticks[-1] * 1.4:
            ticks.append(dimension)
    return ticks
