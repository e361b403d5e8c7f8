"""What a search has tried: a line with its band for one setting, a heat map for two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simviz.charts._chart import MEASURED_AXIS, Chart, check_lengths, translucent
from simviz.charts.dot_colours import colorscale
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
    if len(settings) == 1:
        figure = _line(best, settings[0], metric, look)
    else:
        figure = _heat(best, settings, metric, higher_is_better, look)
    chosen = next((row for row in best if row["chosen"]), None)
    alt = f"{clean_text(metric, 40)} by {' and '.join(clean_text(s, 40) for s in settings)}: "
    alt += f"{len(best)} settings tried"
    if chosen is not None:
        values = ", ".join(f"{s} {value_text(chosen[s])}" for s in settings)
        alt += f"; chosen {values}, {chosen['value']:.3f}"
    return describe(figure, f"{alt}.")


def best_records(
    records: Rows, settings: Sequence[str], *, higher_is_better: bool = True
) -> list[dict[str, Any]]:
    """The rows behind `selection_figure`: of candidates equal in some settings, the best."""
    sign = 1 if higher_is_better else -1

    def rank(row: Mapping[str, Any]) -> tuple[bool, float]:
        value = float(row["value"])
        return row["chosen"], sign * value if isfinite(value) else -np.inf

    best: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for row in records:
        at = tuple(value_text(row[name]) for name in settings)
        if at not in best or rank(row) > rank(best[at]):
            best[at] = row
    columns = (*settings, "value", "standard_error", "chosen")
    rows = [{name: row[name] for name in columns} for row in best.values()]
    return sorted(rows, key=lambda row: [_order(row[name]) for name in settings])


def value_text(value: Any) -> str:
    """A setting's value in words."""
    if value is None:
        return "left open"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else clean_text(value, 30)


def _order(value: Any) -> tuple[int, float, str]:
    """Numbers ascending, then texts, what is left open last."""
    if value is None:
        return (2, 0.0, "")
    if isinstance(value, int | float):
        return (0, float(value), "")
    return (1, 0.0, str(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    return safe_text(value_text(value), 30)


def _line(rows: Rows, name: str, metric: str, look: Theme) -> go.Figure:
    numeric = all(map(_is_number, (row[name] for row in rows)))
    texts = [value_text(row[name]) for row in rows]
    x: list[Any] = [float(row[name]) if numeric else _cell(row[name]) for row in rows]
    y = np.array([row["value"] for row in rows], dtype=np.float64)
    spread = np.nan_to_num(np.array([row["standard_error"] for row in rows], dtype=np.float64))
    chart = Chart(look)
    figure = chart.figure
    chart.band(look.accent, x, y - spread, y + spread, opacity=0.14, name="± one standard error")
    chart.trace(
        x,
        y,
        "lines+markers",
        name=safe_text(metric, 40),
        hover=f"{safe_text(name, 40)} %{{customdata[0]}}<br>%{{y:.3f}} ± %{{customdata[1]:.3f}}",
        line={"color": look.accent, "width": 2.4},
        marker={"size": 7, "color": look.accent},
        customdata=list(zip(texts, spread, strict=True)),
    )
    for i, row in enumerate(rows):
        if row["chosen"]:
            chart.ring(look.second, [x[i]], [y[i]], 17, 2.2, name=f"chosen: {_cell(row[name])}")
    apply_theme(figure, look)
    figure.update_xaxes(title_text=safe_text(name, 40), showgrid=False, showline=True)
    if not numeric:
        figure.update_xaxes(type="category")
    else:
        is_wide = x[0] > 0 and x[-1] >= _WIDE * x[0]
        figure.update_xaxes(tickvals=x, ticktext=texts, type="log" if is_wide else None)
    figure.update_yaxes(title_text=safe_text(metric, 40), tickformat=".2~f")
    return figure.update_layout(
        margin={"l": 60, "r": 26, "t": 8, "b": 92},
        legend={"orientation": "h", "x": 0.0, "yref": "container", "y": 0.0, "yanchor": "bottom"},
    )


def _heat(
    rows: Rows, settings: Sequence[str], metric: str, higher_is_better: bool, look: Theme
) -> go.Figure:
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
    figure = Chart(look).figure
    figure.add_heatmap(
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
    apply_theme(figure, look)
    if ring is not None:
        y, x = ring
        left, right, low, high = x - 0.48, x + 0.48, y - 0.48, y + 0.48
        edge = {"color": look.accent, "width": 3}
        figure.add_shape(type="rect", x0=left, x1=right, y0=low, y1=high, line=edge)
    figure.update_xaxes(title_text=safe_text(first, 40), type="category", showgrid=False)
    figure.update_yaxes(title_text=safe_text(second, 40), type="category", showgrid=False)
    return figure.update_layout(margin={"l": 70, "r": 20, "t": 8, "b": 56})


class DividedValues(NamedTuple):
    """A method's values on each of several divisions, and on the fixed test part."""

    method: str
    label: str
    values: ArrayLike
    fixed: float | None = None


def divisions_figure(
    drawn: Sequence[DividedValues], *, metric: str = "MRR", theme: ThemeName | Theme = "light"
) -> go.Figure:
    """Draw a line a division across methods, their means, and the fixed test part."""
    chart = Chart(theme)
    look = chart.look
    table = np.array([one.values for one in drawn], dtype=np.float64)
    at = np.arange(len(drawn))
    line = {"color": translucent(look.muted, 0.35), "width": 1}
    for i, division in enumerate(table.T):
        chart.trace(at, division, "lines", line=line, hover=f"split {i + 1}: %{{y:.3f}}")
    alt = []
    for i, one in enumerate(drawn):
        colour, _, symbol = chart.style(one.method)
        mean = float(np.nanmean(table[i]))
        alt.append(f"{clean_text(one.label, 28)} {mean:.3f}")
        marker = {"size": 7, "color": colour, "symbol": symbol, "opacity": 0.75}
        hover = f"{safe_text(one.label, 40)} %{{y:.3f}}"
        chart.trace([i] * table.shape[1], table[i], "markers", marker=marker, hover=hover)
        line, name = {"color": colour, "width": 3}, "" if i else "mean of the splits"
        chart.trace([i - 0.22, i + 0.22], [mean, mean], "lines", line=line, name=name)
    fixed = [(i, one.fixed) for i, one in enumerate(drawn) if one.fixed is not None]
    if fixed:
        x, y = zip(*fixed, strict=True)
        chart.ring(look.ink, x, y, 13, name="fixed test part")
    labels = [safe_text(one.label, 24) for one in drawn]
    return chart.finish(
        f"{clean_text(metric, 40)} on {table.shape[1]} random splits: {', '.join(alt)}.",
        x={"tickvals": at, "ticktext": labels, "range": [-0.6, len(drawn) - 0.4], **MEASURED_AXIS},
        y={"title_text": safe_text(metric, 40), "tickformat": ".2~f"},
        legend="",
    )


def divisions_records(methods: Sequence[DividedValues]) -> list[dict[str, Any]]:
    """The rows behind `divisions_figure`."""
    return [
        {"method": one.method, "label": one.label, "division": i + 1, "value": float(value)}
        for one in methods
        for i, value in enumerate(np.asarray(one.values, dtype=np.float64))
    ]


def parameters_figure(
    runs: Rows,
    parameters: Sequence[str],
    *,
    metric: str = "MRR",
    theme: ThemeName | Theme = "light",
) -> go.Figure:
    """Draw a metric against each parameter, a panel each; points carry the ids of runs."""
    chart = Chart(theme)
    figure = chart.figure.set_subplots(1, len(parameters), shared_yaxes=True)
    for i, name in enumerate(parameters, 1):
        having = [row for row in runs if name in row["parameters"]]
        values = [row["parameters"][name] for row in having]
        numbers = list(filter(_is_number, values))
        is_number = len(numbers) == len(values)
        for method in dict.fromkeys(row["method"] for row in having):
            style = chart.style(method)
            mine = [row for row in having if row["method"] == method]
            at = [row["parameters"][name] for row in mine]
            chart.trace(
                at if is_number else [safe_text(str(v), 20) for v in at],
                [row["value"] for row in mine],
                "markers",
                marker={"size": 10, "color": style.colour, "symbol": style.symbol},
                unselected={"marker": {"opacity": 0.25}},
                customdata=[row["id"] for row in mine],
                hovertext=[safe_text(row["label"], 60) for row in mine],
                hover="%{hovertext}: %{y:.3f}",
                row=1,
                col=i,
            )
        title = safe_text(name.removeprefix("n_").replace("_", " "), 24)
        axis: dict[str, Any] = {**MEASURED_AXIS, "title_text": title}
        if is_number and min(numbers) > 0 and max(numbers) > _WIDE * min(numbers):
            ticks = sorted(set(numbers))
            axis |= {"type": "log", "tickvals": ticks, "ticktext": [f"{v:g}" for v in ticks]}
        elif not is_number:
            axis["type"] = "category"
        figure.update_xaxes(**axis, row=1, col=i)
    apply_theme(figure, chart.look)
    figure.update_yaxes(title_text=safe_text(metric, 40), row=1, col=1)
    figure.update_layout(dragmode="select", margin={"l": 60, "r": 20, "t": 8, "b": 60})
    names = ", ".join(clean_text(name, 40) for name in parameters)
    return describe(figure, f"{clean_text(metric, 40)} of {len(runs)} runs against {names}.")


class WeightCurve(NamedTuple):
    """A metric at each weight, measured on one part of the data."""

    label: str
    alphas: ArrayLike
    values: ArrayLike


def blend_figure(
    validation: WeightCurve | None,
    test: WeightCurve | None,
    alpha: float,
    *,
    ends: tuple[str, str],
    best: float | None = None,
    metric: str = "MRR",
    theme: ThemeName | Theme = "light",
) -> go.Figure:
    """Draw a metric against the weight of a blend, on validation and on test pairs."""
    chart = Chart(theme)
    look, figure = chart.look, chart.figure
    described = []
    lines = [(validation, look.accent, "solid", 2.6), (test, look.second, "dash", 2.0)]
    for curve, colour, dash, width in lines:
        if curve is None:
            continue
        check_lengths(curve.label, "value per weight", curve.alphas, curve.values)
        alphas, values = np.asarray(curve.alphas), np.asarray(curve.values, dtype=np.float64)
        value = float(np.interp(alpha, alphas, values))
        label = safe_text(curve.label, 28)
        described.append(f"{clean_text(curve.label, 28)} {value:.3f}")
        name, hover = f"{label} {value:.3f} at {alpha:g}", "%{y:.3f} at α = %{x:.2f}"
        line = {"color": colour, "dash": dash, "width": width}
        chart.trace(alphas, values, "lines", name=name, line=line, hover=f"{label}<br>{hover}")
        marker = {"size": 9, "color": colour, "line": {"width": 2, "color": look.paper}}
        chart.trace([alpha], [value], "markers", marker=marker)
        if curve is validation and best is not None:
            at_best = [float(np.interp(best, alphas, values))]
            chart.ring(colour, [best], at_best, 17, name=f"best on {label}: {best:g}")
    figure.add_vline(x=alpha, line={"color": look.muted, "width": 1, "dash": "dot"})
    # Names grow inwards from the ends of the axis, one below the other, where they always fit.
    for x, anchor, down, end in ((0, "left", 32, ends[0]), (1, "right", 48, ends[1])):
        where = {"x": x, "xanchor": anchor, "yref": "paper", "y": 0, "yshift": -down}
        where |= {"yanchor": "middle", "showarrow": False}
        font = {"size": 12, "color": look.muted}
        figure.add_annotation(text=f"{safe_text(end, 24)} alone", font=font, **where)
    chosen = "" if best is None else f" The weight chosen on validation pairs is {best:g}."
    chart.finish(
        f"{clean_text(metric, 40)} against the weight of the blend, from "
        f"{clean_text(ends[0], 40)} alone at 0 to {clean_text(ends[1], 40)} alone at 1. At "
        f"{alpha:g}: {', '.join(described)}.{chosen}",
        x={"title_text": "weight α", "title_standoff": 46, "range": [-0.03, 1.03]}
        | {"tickvals": [0, 0.25, 0.5, 0.75, 1], **MEASURED_AXIS},
        y={"title_text": safe_text(metric, 40), "tickformat": ".2~f"},
        legend=safe_text(metric, 30),
    )
    return figure.update_layout(margin={"b": figure.layout.margin.b + 42})
