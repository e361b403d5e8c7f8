"""What scores look like, class by class, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simviz.charts._chart import Chart, floats, listed, rows_of, translucent
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

    from simviz.evaluation import Reliability

#: Classes in the order in which they are drawn, and what they are called.
CLASSES = {"relevant": "relevant", "rejected": "judged not relevant", "unjudged": "unjudged"}


class ScoreHistogram(NamedTuple):
    """One method's scores."""

    method: str
    label: str
    edges: NDArray[Any]
    counts: Mapping[str, NDArray[Any]]


class ReliabilityCurve(NamedTuple):
    """Probabilities of one method held against what came true."""

    method: str
    label: str
    reliability: Reliability


def histogram_figure(
    histograms: Sequence[ScoreHistogram], *, theme: ThemeName | Theme = "light"
) -> go.Figure:
    """Draw the scores of each class, one small chart a method, one above the other."""
    from plotly.subplots import make_subplots

    look = get_theme(theme)
    n = max(1, len(histograms))
    figure = make_subplots(rows=n, cols=1, vertical_spacing=min(0.3 / n, 0.12))
    shown: set[str] = set()
    for row, histogram in enumerate(histograms, start=1):
        edges = np.asarray(histogram.edges, dtype=np.float64)
        colours = {"rejected": look.ink, "unjudged": look.muted}
        colours["relevant"] = method_style(histogram.method, look).colour
        # What is relevant on top of the rest.
        for name in reversed(CLASSES):
            counts = np.asarray(histogram.counts.get(name, 0))
            if not counts.sum():
                continue
            outline = _outline(edges, counts, CLASSES[name])
            dash = "dash" if name == "rejected" else "solid"
            line = {"shape": "hv", "color": colours[name], "width": 1.2, "dash": dash}
            if name == "relevant":
                line["width"] = 1.8
                outline |= {"fill": "tozeroy", "fillcolor": translucent(colours[name], 0.16)}
            # The legend names each class once.
            figure.add_scatter(**outline, line=line, showlegend=name not in shown, row=row, col=1)
            shown.add(name)
        axis, font = "" if row == 1 else row, {"size": 13, "color": colours["relevant"]}
        above = {"xref": f"x{axis} domain", "x": 1, "xanchor": "right"}
        above |= {"yref": f"y{axis} domain", "y": 1, "yanchor": "bottom", "showarrow": False}
        figure.add_annotation(text=safe_text(histogram.label, 40), font=font, **above)
    apply_theme(figure, look)
    figure.update_yaxes(tickformat=".0%", rangemode="tozero", showgrid=True, nticks=4)
    figure.update_yaxes(title_text="share of each class", row=(n + 1) // 2, col=1)
    figure.update_xaxes(showgrid=False, showline=True)
    figure.update_xaxes(title_text="score", row=n, col=1)
    legend_below(figure, "pairs that are")
    figure.update_layout(legend={"orientation": "h"}, margin={"t": 26, "b": 96})
    medians = ", ".join(map(_medians, histograms)) or "none"
    alt = f"Scores by class of {len(histograms)} methods; middle scores: {medians}."
    return describe(figure, alt)


def histogram_records(histograms: Sequence[ScoreHistogram]) -> list[dict[str, Any]]:
    """List the rows behind `histogram_figure`."""
    rows = []
    for histogram in histograms:
        (edges,) = floats(histogram.edges)
        rows += rows_of(histogram, **{"from": edges[:-1], "to": edges[1:]}, **histogram.counts)
    return rows


def reliability_figure(
    curves: Sequence[ReliabilityCurve], *, theme: ThemeName | Theme = "light"
) -> go.Figure:
    """Draw the share that belongs together against the predicted probability."""
    chart = Chart(theme)
    chart.dotted([0, 1], [0, 1])
    drawn = sorted(curves, key=lambda curve: curve.reliability.gap)
    for curve in drawn:
        reliability = curve.reliability
        chart.line(
            curve,
            f"{reliability.gap:.3f}",
            reliability.predicted,
            reliability.observed,
            "%{y:.1%} belong together, %{x:.1%} were expected"
            "<br>score %{customdata[1]}, %{customdata[2]:,} pairs",
            map(_span, reliability.from_score.tolist(), reliability.to_score.tolist()),
            reliability.n_pairs.tolist(),
            markers=True,
        )
        chart.figure.data[-1].error_y = {
            "type": "data",
            "array": np.maximum(reliability.high - reliability.observed, 0),
            "arrayminus": np.maximum(reliability.observed - reliability.low, 0),
            "color": translucent(chart.style(curve.method).colour, 0.55),
            "thickness": 1.2,
            "width": 3,
        }
    rates = {"range": [-0.015, 1.015], "tickformat": ".0%", "showgrid": True}
    return chart.finish(
        f"Probability against the share that belongs together for {len(drawn)} methods; mean "
        f"gaps: {listed((c.label, c.reliability.gap) for c in drawn)}.",
        x={"title_text": "predicted probability", **rates},
        y={"title_text": "share that belongs together", **rates},
        legend="mean gap to the diagonal",
        square=1.0,
    )


def reliability_records(curves: Sequence[ReliabilityCurve]) -> list[dict[str, Any]]:
    """List the rows behind `reliability_figure`."""
    return [row for curve in curves for row in rows_of(curve, **asdict(curve.reliability))]


def _outline(edges: NDArray[np.float64], counts: NDArray[np.generic], name: str) -> dict[str, Any]:
    """One class as steps of its share, as arguments of a trace."""
    share = counts / counts.sum()
    spans = zip(edges, [*edges[1:], edges[-1]], [*counts, counts[-1]], strict=True)
    return {
        "x": edges,
        "y": np.append(share, share[-1]),
        "mode": "lines",
        "name": name,
        "legendgroup": name,
        "customdata": [[f"{a:.4g}", f"{b:.4g}", int(n)] for a, b, n in spans],
        "hovertemplate": (
            f"{name}<br>%{{y:.1%}} score %{{customdata[0]}} to %{{customdata[1]}}"
            "<br>%{customdata[2]:,} pairs<extra></extra>"
        ),
    }


def _medians(histogram: ScoreHistogram) -> str:
    """Where the middle pair of the relevant, and of all others, scores."""
    edges = np.asarray(histogram.edges, dtype=np.float64)
    others = [np.asarray(n) for name, n in histogram.counts.items() if name != "relevant"]
    medians = []
    for counts in (np.asarray(histogram.counts["relevant"]), np.sum(others, axis=0)):
        total = counts.sum()
        at = int(np.searchsorted(np.cumsum(counts), total / 2)) if total else 0
        medians.append(f"{(edges[at] + edges[at + 1]) / 2:.3g}" if total else "none")
    return f"{clean_text(histogram.label, 40)} {medians[0]} relevant, {medians[1]} others"


def _span(low: float, high: float) -> str:
    """A step of the score in words."""
    if np.isinf(low):
        return "any" if np.isinf(high) else f"below {high:.3g}"
    return f"from {low:.3g}" if np.isinf(high) else f"{low:.3g} to {high:.3g}"
