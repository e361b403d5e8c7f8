"""Lines, bands and rings as every chart of the app draws them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.charts.style import (
    MethodStyle,
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

#: Most points of a curve that are drawn; the rest would be less than a pixel.
MAX_POINTS = 400
#: An axis with ticks at what was measured.
MEASURED_AXIS = {"showgrid": False, "ticks": "outside", "ticklen": 4, "showline": True}


class Curve(Protocol):
    """What is drawn in the style of a method."""

    @property
    def method(self) -> str:
        """Id of the method."""

    @property
    def label(self) -> str:
        """What to call it."""


class Chart:
    """A figure that is being drawn in a theme."""

    def __init__(self, theme: ThemeName | Theme) -> None:
        import plotly.graph_objects as go

        self.look = get_theme(theme)
        self.figure = go.Figure()

    def style(self, method: str) -> MethodStyle:
        return method_style(method, self.look)

    def line(
        self,
        curve: Curve,
        value: str,
        x: ArrayLike,
        y: ArrayLike,
        hover: str,
        *columns: Iterable[Any],
        markers: bool = False,
        pressed: bool = False,
    ) -> None:
        """Add a method's curve; each point carries the method, then its row of the columns."""
        style = self.style(curve.method)
        marker = {"symbol": style.symbol, "size": 7, "color": style.colour}
        if pressed:
            marker |= {"symbol": "circle", "opacity": 0, "size": 0}
        rows: list[Any] = [[curve.method, *row] for row in zip(*columns, strict=True)]
        self.figure.add_scatter(
            x=x,
            y=y,
            mode="lines+markers" if markers or pressed else "lines",
            name=f"{safe_text(curve.label, 28)} {value}",
            meta={"label": safe_text(curve.label, 40), "look": curve.method},
            line={"color": style.colour, "dash": style.dash, "width": 2.2},
            marker=marker if markers or pressed else None,
            selected={"marker": {"opacity": 1, "size": 9}} if pressed else None,
            customdata=rows if columns else [curve.method] * len(np.asarray(x)),
            # The name by reference: a label may hold what Plotly would fill in.
            hovertemplate=f"<b>%{{fullData.name}}</b><br>{hover}<extra></extra>",
        )

    def trace(
        self, x: Any, y: Any, mode: str, *, hover: str = "", name: str = "", **look: Any
    ) -> None:
        """Add points or a line; without a text no pointer catches it, without a name no legend."""
        caught = {"hovertemplate": f"{hover}<extra></extra>"} if hover else {"hoverinfo": "skip"}
        named = {"name": name or None, "showlegend": bool(name)}
        self.figure.add_scatter(x=x, y=y, mode=mode, **caught, **named, **look)

    def band(
        self, colour: str, x: Any, low: Any, high: Any, *, opacity: float = 0.13, name: str = ""
    ) -> None:
        """Add a confidence band."""
        path = np.concatenate([x, x[::-1]]), np.concatenate([high, low[::-1]])
        fill = translucent(colour, opacity)
        self.trace(*path, "lines", name=name, fill="toself", fillcolor=fill, line={"width": 0})

    def dotted(self, x: ArrayLike, y: ArrayLike) -> None:
        """Add a thin dotted line, such as that of a score that knows nothing."""
        self.trace(x, y, "lines", line={"color": self.look.muted, "width": 1, "dash": "dot"})

    def ring(
        self, colour: str, x: Any, y: Any, size: float, width: float = 1.8, name: str = ""
    ) -> None:
        """Add a ring around points; no legend names it unless it is given a name."""
        marker = {"symbol": "circle-open", "size": size, "color": colour, "line": {"width": width}}
        self.trace(x, y, "markers", name=name, marker=marker)

    def finish(
        self,
        alt: str,
        *,
        x: Mapping[str, object],
        y: Mapping[str, object],
        legend: str,
        square: float | None = None,
    ) -> Any:
        """Return the figure with its look, axes, legend below and description."""
        # Both axes are equally long where the x axis spans `square` times what the y axis does.
        apply_theme(self.figure, self.look)
        self.figure.update_xaxes(**x)
        self.figure.update_yaxes(**y)
        if square is not None:
            self.figure.update_yaxes(scaleanchor="x", scaleratio=square, constrain="domain")
            self.figure.update_xaxes(constrain="domain")
        legend_below(self.figure, legend)
        return describe(self.figure, alt)


def floats(*columns: ArrayLike) -> list[NDArray[np.float64]]:
    return [np.asarray(column, dtype=np.float64) for column in columns]


def check_lengths(label: str, what: str, *columns: ArrayLike | None) -> None:
    """Refuse a curve whose columns are empty, or not equally long."""
    lengths = {len(np.asarray(column)) for column in columns if column is not None}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(
            f"The curve of {label!r} needs one {what}, at least one; got lengths "
            f"{sorted(lengths)}."
        )


def rows_of(curve: Curve, **columns: ArrayLike) -> list[dict[str, Any]]:
    """Columns as rows, each with the method and its label."""
    named = {"method": curve.method, "label": curve.label}
    lines = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    return [named | dict(zip(columns, line, strict=True)) for line in lines]


def listed(values: Iterable[tuple[str, float]]) -> str:
    """Labels with their values, for a description."""
    return ", ".join(f"{clean_text(label, 40)} {value:.3f}" for label, value in values) or "none"


def translucent(colour: str, opacity: float) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"


def thinned(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.intp]:
    """Which points to draw of a path in the unit square, evenly along it."""
    # Steep parts keep their shape; what is left out lies within a pixel.
    if len(x) <= MAX_POINTS:
        return np.arange(len(x))
    path = np.r_[0.0, np.cumsum(np.hypot(np.diff(x), np.diff(y)))]
    positions = np.linspace(0, path[-1], MAX_POINTS)
    return np.unique(np.r_[0, np.searchsorted(path, positions[1:-1]), len(x) - 1])
