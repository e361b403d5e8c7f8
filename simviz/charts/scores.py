"""What scores look like, class by class, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.charts._lines import add_dotted, add_line, finish, listed, square, translucent
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

#: Classes in the order in which they are drawn, and what they are called.
CLASSES = {"relevant": "relevant", "rejected": "judged not relevant", "unjudged": "unjudged"}


class ScoreHistogram(NamedTuple):
    """One method's scores."""

    method: str
    label: str
    edges: ArrayLike
    counts: Mapping[str, ArrayLike]


class ReliabilityCurve(NamedTuple):
    """Probabilities of one method held against what came true."""

    method: str
    label: str
    predicted: ArrayLike
    observed: ArrayLike
    low: ArrayLike
    high: ArrayLike
    n_pairs: ArrayLike
    n_relevant: ArrayLike
    from_score: ArrayLike
    to_score: ArrayLike
    gap: float


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
        colours = {
            "relevant": method_style(histogram.method, look).colour,
            "rejected": look.ink,
            "unjudged": look.muted,
        }
        # What is relevant on top of the rest.
        for name in reversed(CLASSES):
            counts = np.asarray(histogram.counts.get(name, np.zeros(len(edges) - 1)))
            if not counts.sum():
                continue
            _add_steps(figure, row, edges, counts, colours[name], name, first=name not in shown)
            shown.add(name)
        figure.add_annotation(
            text=safe_text(histogram.label, 40),
            xref=f"x{'' if row == 1 else row} domain",
            yref=f"y{'' if row == 1 else row} domain",
            x=1,
            y=1,
            xanchor="right",
            yanchor="top",
            showarrow=False,
            font={"size": 13, "color": colours["relevant"]},
        )
    apply_theme(figure, look)
    figure.update_yaxes(tickformat=".0%", rangemode="tozero", showgrid=True, nticks=4)
    figure.update_yaxes(title_text="share of each class", row=(n + 1) // 2, col=1)
    figure.update_xaxes(showgrid=False, showline=True)
    figure.update_xaxes(title_text="score", row=n, col=1)
    legend_below(figure, "pairs that are")
    figure.update_layout(legend={"orientation": "h"}, margin={"b": 96})
    told = ", ".join(_medians(histogram) for histogram in histograms)
    return describe(
        figure,
        f"Scores by class of {len(histograms)} methods; middle scores: {told or 'none'}.",
    )


def histogram_records(histograms: Sequence[ScoreHistogram]) -> list[dict[str, Any]]:
    """List the rows behind `histogram_figure`."""
    rows = []
    for histogram in histograms:
        edges = np.asarray(histogram.edges, dtype=np.float64).tolist()
        columns = {name: np.asarray(counts).tolist() for name, counts in histogram.counts.items()}
        for i in range(len(edges) - 1):
            row = {"method": histogram.method, "label": histogram.label}
            row |= {"from": edges[i], "to": edges[i + 1]}
            rows.append(row | {name: counts[i] for name, counts in columns.items()})
    return rows


def reliability_figure(
    curves: Sequence[ReliabilityCurve], *, theme: ThemeName | Theme = "light"
) -> go.Figure:
    """Draw the share that belongs together against the probability that was told."""
    import plotly.graph_objects as go

    look = get_theme(theme)
    figure = go.Figure()
    add_dotted(figure, look.muted, [0, 1], [0, 1])
    drawn = sorted(curves, key=lambda curve: curve.gap)
    for curve in drawn:
        style = method_style(curve.method, look)
        predicted, observed = (
            np.asarray(part, dtype=np.float64) for part in (curve.predicted, curve.observed)
        )
        low, high = (np.asarray(part, dtype=np.float64) for part in (curve.low, curve.high))
        spans = [_span(*pair) for pair in zip(*map(_list, curve[8:10]), strict=True)]
        add_line(
            figure,
            style,
            f"{safe_text(curve.label, 28)} {curve.gap:.3f}",
            predicted,
            observed,
            "%{y:.1%} belong together, %{x:.1%} were expected"
            "<br>score %{customdata[1]}, %{customdata[2]:,} pairs",
            customdata=[
                [curve.method, span, n]
                for span, n in zip(spans, _list(curve.n_pairs), strict=True)
            ],
            markers=True,
        )
        figure.data[-1].error_y = {
            "type": "data",
            "array": np.maximum(high - observed, 0),
            "arrayminus": np.maximum(observed - low, 0),
            "color": translucent(style.colour, 0.55),
            "thickness": 1.2,
            "width": 3,
        }
    rates = {"range": [-0.015, 1.015], "tickformat": ".0%", "showgrid": True}
    finish(
        figure,
        look,
        f"Probability against the share that belongs together for {len(drawn)} methods; mean "
        f"gaps: {listed((c.label, c.gap) for c in drawn)}.",
        x={"title_text": "probability, from the validation part", **rates},
        y={"title_text": "share that belongs together, test part", **rates},
        legend="mean gap to the diagonal",
    )
    return square(figure)


def reliability_records(curves: Sequence[ReliabilityCurve]) -> list[dict[str, Any]]:
    """List the rows behind `reliability_figure`."""
    names = ReliabilityCurve._fields[2:-1]
    rows = []
    for curve in curves:
        for line in zip(*(_list(getattr(curve, name)) for name in names), strict=True):
            row: dict[str, Any] = {"method": curve.method, "label": curve.label}
            rows.append(row | dict(zip(names, line, strict=True)))
    return rows


def _add_steps(
    figure: go.Figure,
    row: int,
    edges: NDArray[np.float64],
    counts: NDArray[np.generic],
    colour: str,
    name: str,
    *,
    first: bool,
) -> None:
    """One class as an outline; the legend names each class once."""
    import plotly.graph_objects as go

    filled = name == "relevant"
    share = counts / counts.sum()
    spans = zip(edges, [*edges[1:], edges[-1]], [*counts, counts[-1]], strict=True)
    figure.add_trace(
        go.Scatter(
            x=edges,
            y=np.append(share, share[-1]),
            mode="lines",
            line={
                "shape": "hv",
                "color": colour,
                "width": 1.8 if filled else 1.2,
                "dash": "dash" if name == "rejected" else "solid",
            },
            fill="tozeroy" if filled else None,
            fillcolor=translucent(colour, 0.16) if filled else None,
            name=CLASSES[name],
            legendgroup=CLASSES[name],
            showlegend=first,
            customdata=[[f"{a:.4g}", f"{b:.4g}", int(n)] for a, b, n in spans],
            hovertemplate=(
                f"{CLASSES[name]}<br>%{{y:.1%}} score %{{customdata[0]}} to %{{customdata[1]}}"
                "<br>%{customdata[2]:,} pairs<extra></extra>"
            ),
        ),
        row=row,
        col=1,
    )


def _medians(histogram: ScoreHistogram) -> str:
    """Where the middle pair of the relevant, and of all others, scores."""
    edges = np.asarray(histogram.edges, dtype=np.float64)
    others = np.zeros(len(edges) - 1)
    for name, counts in histogram.counts.items():
        if name != "relevant":
            others = others + np.asarray(counts)
    told = []
    for counts in (np.asarray(histogram.counts["relevant"]), others):
        total = counts.sum()
        at = int(np.searchsorted(np.cumsum(counts), total / 2)) if total else 0
        told.append(f"{(edges[at] + edges[at + 1]) / 2:.3g}" if total else "none")
    return f"{clean_text(histogram.label, 40)} {told[0]} relevant, {told[1]} others"


def _list(values: Any) -> list[Any]:
    return list(np.asarray(values).tolist())


def _span(low: float, high: float) -> str:
    """A step of the score in words."""
    if np.isinf(low):
        return "any" if np.isinf(high) else f"below {high:.3g}"
    return f"from {low:.3g}" if np.isinf(high) else f"{low:.3g} to {high:.3g}"
