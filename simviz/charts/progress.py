"""A metric while a method trains, and by how much it trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

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


#: Points of so few are marked: each stands for something that was measured.
_FEW = 40


class ProgressCurve(NamedTuple):
    """One method's values along steps of training, or sizes of the training part."""

    method: str
    label: str
    at: ArrayLike
    values: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None


def training_figure(
    curves: Sequence[ProgressCurve], *, metric: str, theme: ThemeName | Theme = "light"
) -> go.Figure:
    """Draw a metric against the steps of training."""
    figure, look = _figure(curves, theme, "%{y:.4g} after %{x:,} steps")
    apply_theme(figure, look)
    figure.update_xaxes(
        title_text="step of training", showgrid=False, showline=True, rangemode="tozero"
    )
    figure.update_yaxes(title_text=safe_text(metric, 40), showgrid=True)
    legend_below(figure, f"last {safe_text(metric, 30)}")
    return describe(
        figure,
        f"{clean_text(metric, 40)} while {len(curves)} methods train; first and last values: "
        f"{_told(curves)}.",
    )


def learning_figure(
    curves: Sequence[ProgressCurve], *, metric: str, theme: ThemeName | Theme = "light"
) -> go.Figure:
    """Draw a metric against the number of pairs trained on."""
    figure, look = _figure(curves, theme, "%{y:.3f} from %{x:,} pairs")
    apply_theme(figure, look)
    ticks = sorted({int(at) for curve in curves for at in np.asarray(curve.at).tolist()})
    spaced = [t for i, t in enumerate(ticks) if not i or t >= 1.3 * ticks[i - 1]]
    figure.update_xaxes(
        title_text="pairs trained on",
        type="log",
        tickvals=spaced,
        ticktext=[f"{tick:,}" for tick in spaced],
        showgrid=False,
        showline=True,
        ticks="outside",
        ticklen=4,
    )
    figure.update_yaxes(title_text=safe_text(metric, 40), rangemode="tozero", showgrid=True)
    legend_below(figure, f"{safe_text(metric, 30)} from all")
    return describe(
        figure,
        f"{clean_text(metric, 40)} against the number of pairs trained on for {len(curves)} "
        f"methods; from the fewest and from all: {_told(curves)}.",
    )


def progress_records(curves: Sequence[ProgressCurve]) -> list[dict[str, Any]]:
    """List the rows behind both figures."""
    rows: list[dict[str, Any]] = []
    for curve in curves:
        at, values = (np.asarray(part).tolist() for part in (curve.at, curve.values))
        low, high = (
            [None] * len(at) if part is None else np.asarray(part).tolist()
            for part in (curve.low, curve.high)
        )
        for line in zip(at, values, low, high, strict=True):
            told = dict(zip(("at", "value", "low", "high"), line, strict=True))
            rows.append({"method": curve.method, "label": curve.label, **told})
    return rows


def _figure(
    curves: Sequence[ProgressCurve], theme: ThemeName | Theme, hover: str
) -> tuple[go.Figure, Theme]:
    """All bands, then all curves."""
    import plotly.graph_objects as go

    look = get_theme(theme)
    figure = go.Figure()
    for curve in curves:
        sizes = {len(np.asarray(part)) for part in curve[2:] if part is not None}
        if len(sizes) != 1 or 0 in sizes:
            raise ValueError(
                f"The curve of {curve.label!r} needs one value (and bound) per place, at least "
                f"one; got lengths {sorted(sizes)}."
            )
        if curve.low is not None and curve.high is not None:
            add_band(figure, method_style(curve.method, look), curve.at, curve.low, curve.high)
    for curve in curves:
        last = float(np.asarray(curve.values)[-1])
        add_line(
            figure,
            method_style(curve.method, look),
            f"{safe_text(curve.label, 28)} {last:.3f}",
            curve.at,
            curve.values,
            hover,
            customdata=[curve.method] * len(np.asarray(curve.at)),
            markers=len(np.asarray(curve.at)) <= _FEW,
        )
    return figure, look


def _told(curves: Sequence[ProgressCurve]) -> str:
    ends = [(c.label, np.asarray(c.values)[[0, -1]].tolist()) for c in curves]
    return ", ".join(f"{clean_text(la, 40)} {a:.3g} and {b:.3g}" for la, (a, b) in ends) or "none"
