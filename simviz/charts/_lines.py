"""Lines and bands as every curve of the app is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.charts.style import (
    MethodStyle,
    Theme,
    apply_theme,
    clean_text,
    describe,
    legend_below,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Most points of a curve that are drawn; the rest would be less than a pixel.
MAX_POINTS = 400
#: An axis with ticks at what was measured.
MEASURED_AXIS = {"showgrid": False, "ticks": "outside", "ticklen": 4, "showline": True}


def add_line(
    figure: go.Figure,
    style: MethodStyle,
    name: str,
    x: ArrayLike,
    y: ArrayLike,
    hover: str,
    *,
    customdata: Sequence[Any],
    markers: bool = False,
    pressed: bool = False,
) -> None:
    """Add a method's curve."""
    import plotly.graph_objects as go

    marker = {"symbol": style.symbol, "size": 7, "color": style.colour}
    if pressed:
        marker |= {"symbol": "circle", "opacity": 0, "size": 0}
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            mode="lines+markers" if markers or pressed else "lines",
            name=name,
            line={"color": style.colour, "dash": style.dash, "width": 2.2},
            marker=marker if markers or pressed else None,
            selected={"marker": {"opacity": 1, "size": 9}} if pressed else None,
            customdata=customdata,
            # The name by reference: a label may hold what Plotly would fill in.
            hovertemplate=f"<b>%{{fullData.name}}</b><br>{hover}<extra></extra>",
        )
    )


def add_band(
    figure: go.Figure, style: MethodStyle, x: ArrayLike, low: ArrayLike, high: ArrayLike
) -> None:
    """Add a confidence band, which no pointer catches and no legend names."""
    import plotly.graph_objects as go

    across = np.asarray(x)
    figure.add_trace(
        go.Scatter(
            x=np.r_[across, across[::-1]],
            y=np.r_[np.asarray(high), np.asarray(low)[::-1]],
            fill="toself",
            fillcolor=translucent(style.colour, 0.13),
            line={"width": 0},
            mode="lines",
            hoverinfo="skip",
            showlegend=False,
        )
    )


def add_dotted(figure: go.Figure, colour: str, x: ArrayLike, y: ArrayLike) -> None:
    """Add a thin dotted line, such as that of a score that knows nothing."""
    import plotly.graph_objects as go

    line = {"color": colour, "width": 1, "dash": "dot"}
    figure.add_trace(
        go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", showlegend=False)
    )


def add_ring(
    figure: go.Figure,
    colour: str,
    x: ArrayLike,
    y: ArrayLike,
    size: float,
    width: float = 1.8,
    **more: object,
) -> None:
    """Add a ring around points; no legend names it unless it is given a name."""
    import plotly.graph_objects as go

    marker = {"symbol": "circle-open", "size": size, "color": colour, "line": {"width": width}}
    quiet: dict[str, object] = {} if "name" in more else {"showlegend": False}
    if "hovertext" not in more:
        quiet["hoverinfo"] = "skip"
    figure.add_trace(go.Scatter(x=x, y=y, mode="markers", marker=marker, **quiet, **more))


def finish(
    figure: go.Figure,
    look: Theme,
    alt: str,
    *,
    x: Mapping[str, object],
    y: Mapping[str, object],
    legend: str,
) -> go.Figure:
    """Give a figure its look, its axes, its legend below and its description."""
    apply_theme(figure, look)
    figure.update_xaxes(**x)
    figure.update_yaxes(**y)
    legend_below(figure, legend)
    return describe(figure, alt)


def listed(values: Iterable[tuple[str, float]]) -> str:
    """Labels with their values, for a description."""
    return ", ".join(f"{clean_text(label, 40)} {value:.3f}" for label, value in values) or "none"


def square(figure: go.Figure, ratio: float = 1.0) -> go.Figure:
    """Make both axes equally long, where the x axis spans `ratio` times what the y axis does."""
    figure.update_yaxes(scaleanchor="x", scaleratio=ratio, constrain="domain")
    return figure.update_xaxes(constrain="domain")


def translucent(colour: str, opacity: float) -> str:
    """Turn "#rrggbb" into an rgba colour."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"


def thinned(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.intp]:
    """Which points to draw of a path in the unit square, evenly along it."""
    # Steep parts keep their shape; what is left out lies within a pixel.
    if len(x) <= MAX_POINTS:
        return np.arange(len(x))
    path = np.r_[0.0, np.cumsum(np.hypot(np.diff(x), np.diff(y)))]
    wanted = np.linspace(0, path[-1], MAX_POINTS)
    return np.unique(np.r_[0, np.searchsorted(path, wanted[1:-1]), len(x) - 1])


def with_interval(value: float, interval: tuple[float, float] | None) -> str:
    """A value with its bounds, as legends show it."""
    told = f"{value:.3f}"
    return told if interval is None else f"{told} [{interval[0]:.3f}, {interval[1]:.3f}]"
