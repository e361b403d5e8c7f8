"""ROC curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.charts.style import (
    Theme,
    ThemeName,
    apply_theme,
    describe,
    get_theme,
    legend_below,
    method_style,
)
from simviz.charts.text import clean_text, safe_text

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Most points of a curve that are drawn; the rest would be less than a pixel.
MAX_POINTS = 400
#: Where a logarithmic axis of false positives begins.
LOWEST_RATE = 1e-4


class RocCurve(NamedTuple):
    """One method's ROC curve.

    Parameters
    ----------
    method : str
        Id of the method: it sets colour and dash.
    label : str
        What to call it.
    fpr, tpr : array-like of shape (n,)
        False and true positive rates, both rising from 0 to 1.
    auc : float
        Area under the curve.
    ci : tuple of float, optional
        95 % confidence interval of the area.
    """

    method: str
    label: str
    fpr: ArrayLike
    tpr: ArrayLike
    auc: float
    ci: tuple[float, float] | None = None


def roc_figure(
    curves: Sequence[RocCurve | tuple[Any, ...]],
    *,
    log_fpr: bool = False,
    theme: ThemeName | Theme = "light",
) -> go.Figure:
    """Draw ROC curves over one another, with the diagonal of chance.

    Parameters
    ----------
    curves : sequence of RocCurve
        Or of tuples in its order.
    log_fpr : bool, default=False
        Show low false positive rates, from 1e-4, on a logarithmic axis.
    theme : {"light", "dark"} or Theme, default="light"
        Look of the figure.

    Returns
    -------
    plotly Figure
        Square where the axes are linear; the area stands in the legend, best
        first. `roc_records` gives the rows behind it.

    Raises
    ------
    ValueError
        If a curve's rates differ in length or leave [0, 1].

    Examples
    --------
    >>> figure = roc_figure([("cca", "CCA", [0, 0.2, 1], [0, 0.9, 1], 0.85, (0.8, 0.9))])
    >>> figure.data[1].name
    'CCA 0.850 [0.800, 0.900]'
    """
    import plotly.graph_objects as go

    look = get_theme(theme)
    drawn = sorted(map(_as_roc, curves), key=lambda curve: -curve.auc)
    figure = go.Figure()
    chance = np.geomspace(LOWEST_RATE, 1, 60) if log_fpr else np.array([0.0, 1.0])
    figure.add_trace(
        go.Scatter(
            x=chance,
            y=chance,
            mode="lines",
            line={"color": look.muted, "width": 1, "dash": "dot"},
            hoverinfo="skip",
            showlegend=False,
        )
    )
    for curve in drawn:
        style = method_style(curve.method, look)
        fpr, tpr = _essential(*_rates(curve), log_fpr)
        name = f"{safe_text(curve.label, 28)} {curve.auc:.3f}"
        if curve.ci is not None:
            name += f" [{curve.ci[0]:.3f}, {curve.ci[1]:.3f}]"
        figure.add_trace(
            go.Scatter(
                x=fpr,
                y=tpr,
                mode="lines",
                name=name,
                line={"color": style.colour, "dash": style.dash, "width": 2.2},
                customdata=[curve.method] * len(fpr),
                # The name by reference: a label may hold what Plotly would fill in.
                hovertemplate=(
                    "<b>%{fullData.name}</b><br>finds %{y:.1%} of the relevant"
                    "<br>at %{x:.2%} false alarms<extra></extra>"
                ),
            )
        )
    apply_theme(figure, look)
    rates = {"tickformat": ".0%", "showgrid": True}
    figure.update_xaxes(
        title_text="false positive rate" + (", logarithmic" if log_fpr else ""),
        range=[np.log10(LOWEST_RATE), 0] if log_fpr else [-0.005, 1.0],
        **rates,
    )
    figure.update_yaxes(title_text="true positive rate", range=[0, 1.005], **rates)
    if log_fpr:
        figure.update_xaxes(
            type="log",
            tickvals=[1e-4, 1e-3, 1e-2, 1e-1, 1],
            ticktext=["0.01%", "0.1%", "1%", "10%", "100%"],
        )
    else:
        figure.update_yaxes(scaleanchor="x", scaleratio=1, constrain="domain")
        figure.update_xaxes(constrain="domain")
    legend_below(figure, "area under the curve")
    best = [f"{clean_text(c.label, 40)} {c.auc:.3f}" for c in drawn]
    return describe(
        figure,
        f"ROC curves of {len(drawn)} methods, by area under the curve (chance is 0.5): "
        f"{', '.join(best) or 'none'}.",
    )


def roc_records(curves: Sequence[RocCurve | tuple[Any, ...]]) -> list[dict[str, Any]]:
    """List the rows behind `roc_figure`: every point of every curve.

    Parameters
    ----------
    curves : sequence of RocCurve
        Or of tuples in its order.

    Returns
    -------
    list of dict
        With ``method``, ``label``, ``fpr``, ``tpr``, ``auc``.
    """
    return [
        {"method": c.method, "label": c.label, "fpr": fpr, "tpr": tpr, "auc": float(c.auc)}
        for c in map(_as_roc, curves)
        for fpr, tpr in zip(*(rate.tolist() for rate in _rates(c)), strict=True)
    ]


def _as_roc(curve: RocCurve | tuple[Any, ...]) -> RocCurve:
    return curve if isinstance(curve, RocCurve) else RocCurve(*curve)


def _rates(curve: RocCurve) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both rates as arrays, checked."""
    fpr = np.asarray(curve.fpr, dtype=np.float64)
    tpr = np.asarray(curve.tpr, dtype=np.float64)
    if fpr.ndim != 1 or fpr.shape != tpr.shape or not len(fpr):
        raise ValueError(
            f"The ROC curve of {curve.label!r} needs equally many false and true positive rates, "
            f"at least one; got shapes {fpr.shape} and {tpr.shape}."
        )
    both = np.concatenate([fpr, tpr])
    if not ((both >= 0) & (both <= 1)).all():
        raise ValueError(
            f"Rates lie between 0 and 1; the ROC curve of {curve.label!r} has "
            f"{both.min():g} to {both.max():g}."
        )
    return fpr, tpr


def _essential(
    fpr: NDArray[np.float64], tpr: NDArray[np.float64], log_fpr: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Leave out points on the straight line between their neighbours, then thin."""
    if log_fpr:
        # A rate of 0 has no logarithm: the curve begins at the left border.
        start = float(np.interp(LOWEST_RATE, fpr, tpr))
        keep = fpr > LOWEST_RATE
        fpr, tpr = np.r_[LOWEST_RATE, fpr[keep]], np.r_[start, tpr[keep]]
    elif len(fpr) > 2:
        # A straight line stays straight on linear axes only.
        turn = np.diff(fpr[:-1]) * np.diff(tpr[1:]) - np.diff(fpr[1:]) * np.diff(tpr[:-1])
        keep = np.r_[True, np.abs(turn) > 1e-15, True]
        fpr, tpr = fpr[keep], tpr[keep]
    if len(fpr) > MAX_POINTS:
        # Evenly along the drawn path, so that steep parts keep their shape.
        across = np.log10(fpr) / -np.log10(LOWEST_RATE) if log_fpr else fpr
        path = np.r_[0.0, np.cumsum(np.hypot(np.diff(across), np.diff(tpr)))]
        wanted = np.linspace(0, path[-1], MAX_POINTS)
        keep = np.unique(np.r_[0, np.searchsorted(path, wanted[1:-1]), len(fpr) - 1])
        fpr, tpr = fpr[keep], tpr[keep]
    return fpr, tpr
