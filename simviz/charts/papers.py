"""Figures of papers, drawn again from what an experiment found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from simviz.charts._chart import Chart
from simviz.charts.curves import DimensionCurve, dimension_figure
from simviz.charts.roc import RocCurve, roc_figure
from simviz.charts.style import Theme, ThemeName, clean_text, method_style, safe_text

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from simviz.experiments import Figure, Series

#: Part of a ROC that is drawn: in the rest, good methods cannot be told apart.
_LOW_FPR = 0.25
_HEIGHT = 600
#: Side of a picture in a scatter plot, as a share of its width.
_PICTURE = 0.06


def paper_figure(source: Figure, *, theme: ThemeName | Theme = "light") -> go.Figure:
    """Draw a figure that an experiment found."""
    looks = [(s.method or s.label, s.label) for s in source.series]
    if source.kind == "dimensions":
        curves = [
            DimensionCurve(*look, [*map(int, s.x)], s.y, s.low or None, s.high or None)
            for look, s in zip(looks, source.series, strict=True)
        ]
        return dimension_figure(curves, metric=source.y_name or "MRR", theme=theme)
    if source.kind == "roc":
        drawn = [
            RocCurve(*look, s.x, s.y, float(np.trapezoid(s.y, s.x)))
            for look, s in zip(looks, source.series, strict=True)
        ]
        figure = roc_figure(drawn, theme=theme)
        # The part of the axis where a filter works, as wide as there is room.
        figure.update_xaxes(range=[-0.001, _LOW_FPR], constrain=None)
        figure.update_yaxes(scaleanchor=None, scaleratio=None, constrain=None)
        return figure.update_layout(height=_HEIGHT)
    if source.kind == "scatter":
        return _scatter(source.series, source.title, theme)
    if source.kind in ("counts", "lines"):
        chart, counts = Chart(theme), source.kind == "counts"
        for place, s in enumerate(source.series):
            colour = chart.look.palette[place % len(chart.look.palette)]
            symbol, dash = ("circle-open", "dash") if place else ("circle", "solid")
            chart.figure.add_scatter(
                x=s.x,
                y=s.y,
                mode="markers" if counts else "lines",
                name=safe_text(s.label, 40),
                marker={"color": colour, "size": 7, "symbol": symbol},
                line={"dash": dash},
                hovertemplate="%{x:,}: %{y:,}<extra>%{fullData.name}</extra>",
                showlegend=len(source.series) > 1,
            )
        kind = "log" if counts else "linear"
        axes = [{"title": clean_text(n, 40), "type": kind} for n in (source.x_name, source.y_name)]
        return chart.finish(f"{clean_text(source.title, 80)}.", x=axes[0], y=axes[1], legend="")
    kinds = "dimensions, roc, scatter, counts or lines"
    raise ValueError(f"A figure shows {kinds}; got {source.kind!r}.")


def _scatter(series: Sequence[Series], title: str, theme: ThemeName | Theme) -> go.Figure:
    chart = Chart(theme)
    figure, palette = chart.figure, chart.look.palette
    across = [v for s in series for v in s.x]
    side = _PICTURE * (max(across) - min(across) or 1.0) if across else 1.0
    for place, s in enumerate(series):
        colour, symbol = palette[place % len(palette)], "circle"
        if s.method:
            colour, _, symbol = method_style(s.method, chart.look)
        shown = [safe_text(name, 40) for name in s.names]
        for x, y, picture in zip(s.x, s.y, s.pictures, strict=False):
            figure.add_layout_image(
                source=picture, xref="x", yref="y", x=x, y=y, sizex=side, sizey=side,
                xanchor="center", yanchor="middle", layer="below", opacity=0.6,
            )  # fmt: skip
        opacity = 0.0 if s.pictures else 1.0
        figure.add_scatter(
            x=s.x,
            y=s.y,
            name=safe_text(s.label, 40),
            showlegend=not s.pictures,
            mode="markers+text" if shown and not s.pictures else "markers",
            text=shown or None,
            textposition="top center",
            textfont={"color": colour, "size": 12},
            marker={"color": colour, "symbol": symbol, "size": 7, "opacity": opacity},
            hovertemplate="%{text}<extra>%{fullData.name}</extra>" if shown else None,
        )
    names = ", ".join(clean_text(s.label, 40) for s in series)
    hidden = {"visible": False, "showgrid": False}
    alt = f"{clean_text(title, 80)}: {names or 'nothing'}."
    equal = {"scaleanchor": "x", "scaleratio": 1, **hidden}
    return chart.finish(alt, x=hidden, y=equal, legend="").update_layout(height=_HEIGHT)
