"""Quality against the weight of a blend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simviz.charts.style import (
    Theme,
    ThemeName,
    apply_theme,
    describe,
    get_theme,
    legend_below,
)
from simviz.charts.text import clean_text, safe_text

if TYPE_CHECKING:
    import plotly.graph_objects as go


class WeightCurve(NamedTuple):
    """A metric at each weight, measured on one part of the data.

    Parameters
    ----------
    label : str
        What to call the part.
    alphas : array-like of shape (n,)
        Weights, ascending.
    values : array-like of shape (n,)
        The metric at each.
    """

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
    """Draw a metric against the weight of a blend, on validation and on test pairs.

    Parameters
    ----------
    validation : WeightCurve or None
        Where the weight is chosen; None where there are no such pairs.
    test : WeightCurve or None
        What comes of it; None where the test is not looked at.
    alpha : float
        Weight to mark on both.
    ends : tuple of str
        What stands alone at α = 0 and at α = 1.
    best : float, optional
        The weight chosen on the validation pairs, marked by a ring.
    metric : str, default="MRR"
        Name of the metric.
    theme : {"light", "dark"} or Theme, default="light"
        Look of the figure.

    Returns
    -------
    plotly Figure
        The validation curve drawn through, the test curve dashed.

    Raises
    ------
    ValueError
        If the lists of a curve differ in length.

    Examples
    --------
    >>> figure = blend_figure(
    ...     ("validation", [0, 0.5, 1], [0.4, 0.6, 0.5]),
    ...     ("test", [0, 0.5, 1], [0.3, 0.5, 0.4]), 0.5, ends=("BM25", "CCA"), best=0.5,
    ... )
    >>> figure.data[0].name
    'validation 0.600 at 0.5'
    """
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
            figure.add_trace(
                go.Scatter(
                    x=[best],
                    y=[float(np.interp(best, alphas, values))],
                    mode="markers",
                    name=f"best on {label}: {best:g}",
                    marker={
                        "symbol": "circle-open",
                        "size": 17,
                        "color": colour,
                        "line": {"width": 1.8},
                    },
                    hoverinfo="skip",
                )
            )
    apply_theme(figure, look)
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
    figure.update_xaxes(
        title_text="weight α",
        range=[-0.03, 1.03],
        tickvals=[0, 0.25, 0.5, 0.75, 1],
        title_standoff=30,
        showgrid=False,
        ticks="outside",
        ticklen=4,
        showline=True,
    )
    figure.update_yaxes(title_text=safe_text(metric, 40), tickformat=".2~f")
    legend_below(figure, safe_text(metric, 30))
    figure.update_layout(margin={"b": figure.layout.margin.b + 26})
    chosen = "" if best is None else f" The weight chosen on validation pairs is {best:g}."
    return describe(
        figure,
        f"{clean_text(metric, 40)} against the weight of the blend, from "
        f"{clean_text(ends[0], 40)} alone at 0 to {clean_text(ends[1], 40)} alone at 1. At "
        f"{alpha:g}: {', '.join(told)}.{chosen}",
    )


def _checked(curve: WeightCurve | tuple[Any, ...]) -> WeightCurve:
    curve = curve if isinstance(curve, WeightCurve) else WeightCurve(*curve)
    lengths = {len(np.asarray(curve.alphas)), len(np.asarray(curve.values))}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(
            f"The curve of {curve.label!r} needs one value per weight, at least one; got lengths "
            f"{sorted(lengths)}."
        )
    return curve
