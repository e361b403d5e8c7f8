"""What a search has tried: a line with its band for one setting, a heat map for two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simviz.charts._lines import MEASURED_AXIS, add_ring, finish, translucent
from simviz.charts.colours import colorscale
from simviz.charts.style import (
    Theme,
    ThemeName,
    apply_theme,
    clean_text,
    describe,
    get_theme,
    safe_text,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: From this ratio on, numbers lie on a logarithmic axis.
_WIDE = 8.0
#: Cells of a heat map up to which each has its number written in it.
_WRITTEN = 70
Rows = Sequence[Mapping[str, Any]]


def selection_figure(
    records: Rows,
    settings: Sequence[str],
    *,
    metric: str = "MRR",
    higher_is_better: bool = True,
    theme: ThemeName | Theme = "light",
) -> go.Figure:
    """Draw what was tried, and mark what was chosen."""
    if len(settings) not in (1, 2) or not records:
        raise ValueError(
            f"A search is drawn over one or two settings, with at least one record; got "
            f"{list(settings)} and {len(records)} records."
        )
    best = best_records(records, settings, higher_is_better=higher_is_better)
    look = get_theme(theme)
    figure = (
        _line(best, settings[0], metric, look)
        if len(settings) == 1
        else _heat(best, settings, metric, higher_is_better, look)
    )
    chosen = next((row for row in best if row["chosen"]), None)
    told = f"{clean_text(metric, 40)} by {' and '.join(clean_text(s, 40) for s in settings)}: "
    told += f"{len(best)} settings tried"
    if chosen is not None:
        values = ", ".join(f"{s} {value_text(chosen[s])}" for s in settings)
        told += f"; chosen {values}, {chosen['value']:.3f}"
    return describe(figure, f"{told}.")


def best_records(
    records: Rows, settings: Sequence[str], *, higher_is_better: bool = True
) -> list[dict[str, Any]]:
    """The rows behind `selection_figure`: of candidates equal in some settings, the best."""
    sign = 1 if higher_is_better else -1
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in records:
        at = tuple(value_text(row[name]) for name in settings)
        old = found.get(at)
        if old is None or (row["chosen"], _worth(row, sign)) > (old["chosen"], _worth(old, sign)):
            kept = ("value", "standard_error", "chosen")
            found[at] = {name: row[name] for name in (*settings, *kept)}
    return sorted(found.values(), key=lambda row: [_order(row[name]) for name in settings])


def value_text(value: Any) -> str:
    """A setting's value in words."""
    if value is None:
        return "left open"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else clean_text(value, 30)


def _worth(row: Mapping[str, Any], sign: int) -> float:
    value = float(row["value"])
    return sign * value if isfinite(value) else -np.inf


def _order(value: Any) -> tuple[int, float, str]:
    """Numbers ascending, then texts, what is left open last."""
    if value is None:
        return (2, 0.0, "")
    if isinstance(value, int | float):
        return (0, float(value), "")
    return (1, 0.0, str(value))


def _cell(value: Any) -> str:
    return safe_text(value_text(value), 30)


def _line(rows: Rows, name: str, metric: str, look: Theme) -> go.Figure:
    import plotly.graph_objects as go

    numeric = all(
        isinstance(row[name], int | float) and not isinstance(row[name], bool) for row in rows
    )
    x: list[Any] = [float(row[name]) if numeric else _cell(row[name]) for row in rows]
    y = np.array([row["value"] for row in rows], dtype=np.float64)
    spread = np.nan_to_num(np.array([row["standard_error"] for row in rows], dtype=np.float64))
    figure = go.Figure()
    figure.add_trace(
        go.Scatter(
            x=[*x, *x[::-1]],
            y=[*(y + spread), *(y - spread)[::-1]],
            fill="toself",
            fillcolor=translucent(look.accent, 0.14),
            line={"width": 0},
            mode="lines",
            hoverinfo="skip",
            name="± one standard error",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            mode="lines+markers",
            line={"color": look.accent, "width": 2.4},
            marker={"size": 7, "color": look.accent},
            customdata=[[value_text(row[name]), s] for row, s in zip(rows, spread, strict=True)],
            hovertemplate=(
                f"{safe_text(name, 40)} %{{customdata[0]}}<br>%{{y:.3f}} ± "
                "%{customdata[1]:.3f}<extra></extra>"
            ),
            name=safe_text(metric, 40),
        )
    )
    for i, row in enumerate(rows):
        if row["chosen"]:
            told = f"chosen: {_cell(row[name])}"
            add_ring(figure, look.second, [x[i]], [y[i]], 17, 2.2, name=told)
    apply_theme(figure, look)
    figure.update_xaxes(title_text=safe_text(name, 40), showgrid=False, showline=True)
    if numeric:
        texts = [value_text(row[name]) for row in rows]
        figure.update_xaxes(tickvals=x, ticktext=texts)
        if x[0] > 0 and x[-1] >= _WIDE * x[0]:
            figure.update_xaxes(type="log")
    else:
        figure.update_xaxes(type="category")
    figure.update_yaxes(title_text=safe_text(metric, 40), tickformat=".2~f")
    figure.update_layout(
        margin={"l": 60, "r": 26, "t": 8, "b": 92},
        legend={"orientation": "h", "x": 0.0, "yref": "container", "y": 0.0, "yanchor": "bottom"},
    )
    return figure


def _heat(
    rows: Rows, settings: Sequence[str], metric: str, higher_is_better: bool, look: Theme
) -> go.Figure:
    import plotly.graph_objects as go

    # The setting with more values lies along the wide axis.
    first, second = sorted(settings, key=lambda s: -len({value_text(row[s]) for row in rows}))
    axes = [
        [_cell(v) for v in sorted({row[s] for row in rows}, key=_order)] for s in (first, second)
    ]
    Z = np.full((len(axes[1]), len(axes[0])), np.nan)
    spread = Z.copy()
    ring = None
    for row in rows:
        at = axes[1].index(_cell(row[second])), axes[0].index(_cell(row[first]))
        Z[at], spread[at] = row["value"], row["standard_error"]
        ring = at if row["chosen"] else ring
    scale = look.scale if higher_is_better else look.scale[::-1]
    written = Z.size <= _WRITTEN
    figure = go.Figure(
        go.Heatmap(
            z=Z,
            x=axes[0],
            y=axes[1],
            customdata=spread,
            colorscale=colorscale(scale),
            xgap=3,
            ygap=3,
            hoverongaps=False,
            texttemplate="%{z:.3f}" if written else None,
            textfont={"size": 12},
            showscale=not written,
            colorbar={"title": {"text": safe_text(metric, 30)}, "thickness": 12, "len": 0.8},
            hovertemplate=(
                f"{safe_text(first, 40)} %{{x}}<br>{safe_text(second, 40)} %{{y}}<br>"
                f"{safe_text(metric, 40)} %{{z:.3f}} ± %{{customdata:.3f}}<extra></extra>"
            ),
        )
    )
    apply_theme(figure, look)
    if ring is not None:
        row_at, column_at = ring
        figure.add_shape(
            type="rect",
            x0=column_at - 0.48,
            x1=column_at + 0.48,
            y0=row_at - 0.48,
            y1=row_at + 0.48,
            line={"color": look.accent, "width": 3},
        )
    figure.update_xaxes(title_text=safe_text(first, 40), type="category", showgrid=False)
    figure.update_yaxes(title_text=safe_text(second, 40), type="category", showgrid=False)
    figure.update_layout(margin={"l": 70, "r": 20, "t": 8, "b": 56})
    return figure


class WeightCurve(NamedTuple):
    """A metric at each weight, measured on one part of the data."""

    label: str
    alphas: ArrayLike
    values: ArrayLike


def blend_figure(
    validation: WeightCurve | tuple[Any, ...] | None,
    test: WeightCurve | tuple[Any, ...] | None,
    alpha: float,
    *,
    ends: tuple[str, str],
    best: float | None = None,
    metric: str = "MRR",
    theme: ThemeName | Theme = "light",
) -> go.Figure:
    """Draw a metric against the weight of a blend, on validation and on test pairs."""
    import plotly.graph_objects as go

    look = get_theme(theme)
    figure = go.Figure()
    told = []
    lines = [(validation, look.accent, "solid", 2.6), (test, look.second, "dash", 2.0)]
    for given, colour, dash, width in lines:
        if given is None:
            continue
        curve = _checked(given)
        alphas, values = np.asarray(curve.alphas), np.asarray(curve.values, dtype=np.float64)
        here = float(np.interp(alpha, alphas, values))
        label = safe_text(curve.label, 28)
        told.append(f"{clean_text(curve.label, 28)} {here:.3f}")
        figure.add_trace(
            go.Scatter(
                x=alphas,
                y=values,
                mode="lines",
                name=f"{label} {here:.3f} at {alpha:g}",
                line={"color": colour, "dash": dash, "width": width},
                hovertemplate=f"{label}<br>%{{y:.3f}} at α = %{{x:.2f}}<extra></extra>",
            )
        )
        figure.add_trace(
            go.Scatter(
                x=[alpha],
                y=[here],
                mode="markers",
                marker={"size": 9, "color": colour, "line": {"width": 2, "color": look.paper}},
                hoverinfo="skip",
                showlegend=False,
            )
        )
        if given is validation and best is not None:
            at_best = [float(np.interp(best, alphas, values))]
            add_ring(figure, colour, [best], at_best, 17, name=f"best on {label}: {best:g}")
    figure.add_vline(x=alpha, line={"color": look.muted, "width": 1, "dash": "dot"})
    # Names grow inwards from the ends of the axis, where they always fit.
    for x, anchor, end in ((0, "left", ends[0]), (1, "right", ends[1])):
        figure.add_annotation(
            x=x,
            y=0,
            yanchor="middle",
            yref="paper",
            yshift=-38,
            xanchor=anchor,
            text=f"{safe_text(end, 24)} alone",
            showarrow=False,
            font={"size": 12, "color": look.muted},
        )
    chosen = "" if best is None else f" The weight chosen on validation pairs is {best:g}."
    finish(
        figure,
        look,
        f"{clean_text(metric, 40)} against the weight of the blend, from "
        f"{clean_text(ends[0], 40)} alone at 0 to {clean_text(ends[1], 40)} alone at 1. At "
        f"{alpha:g}: {', '.join(told)}.{chosen}",
        x={
            "title_text": "weight α",
            "range": [-0.03, 1.03],
            "tickvals": [0, 0.25, 0.5, 0.75, 1],
            "title_standoff": 30,
            **MEASURED_AXIS,
        },
        y={"title_text": safe_text(metric, 40), "tickformat": ".2~f"},
        legend=safe_text(metric, 30),
    )
    return figure.update_layout(margin={"b": figure.layout.margin.b + 26})


def _checked(curve: WeightCurve | tuple[Any, ...]) -> WeightCurve:
    curve = WeightCurve(*curve)
    lengths = {len(np.asarray(curve.alphas)), len(np.asarray(curve.values))}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(
            f"The curve of {curve.label!r} needs one value per weight, at least one; got lengths "
            f"{sorted(lengths)}."
        )
    return curve
