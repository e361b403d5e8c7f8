"""Curves of the chosen runs, each with the figures read off it beside it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from statistics import fmean
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared import state
from pages._shared.compare_choice import Choice
from pages._shared.compare_marks import plain
from pages._shared.results import CHART_CONFIG

if TYPE_CHECKING:
    from pages._shared.compare_runs import Entry
    from simviz.charts import DimensionCurve
    from simviz.evaluation.roc import Roc
    from simviz.store.run import Run

_RATES = (0.001, 0.01, 0.1)
#: A curve has nearly reached its best from here on.
_NEARLY = 0.95


@st.cache_resource(show_spinner=False, max_entries=64)
def _roc(run_id: str, _run: Run) -> Roc | None:
    from simviz.evaluation.roc import Roc

    arrays = _run.roc()
    return None if arrays is None else Roc(**arrays)


def show_roc(choice: Choice) -> None:
    """Draw how well one threshold separates what belongs together from the rest."""
    from simviz.charts import RocCurve, roc_figure

    traced = [(e, roc) for e in choice.entries if (roc := _roc(e.run.id, e.run)) is not None]
    if not traced:
        st.caption("These runs were measured without a ROC curve.")
        return
    left, right = st.columns([4, 3], gap="large")
    with right:
        zoom = st.toggle(
            "Look at few false alarms",
            key="compare-log",
            help="A logarithmic axis of false alarms: where a score is used as a filter, only "
            "the far left of the curve matters.",
            persist_state="session",
        )
        st.markdown("Share of true pairs found, by the share of false alarms allowed")
        _show_figures(
            ["method", *(f"{100 * rate:g}\N{NO-BREAK SPACE}%" for rate in _RATES)],
            [
                [entry.label, *(f"{100 * roc.tpr_at(rate):.0f} %" for rate in _RATES)]
                for entry, roc in traced
            ],
        )
        first = traced[0][1]
        st.caption(
            f"Over all {first.n_positive + first.n_negative:,} pairs of the test part, of which "
            f"{first.n_positive:,} belong together; both directions are the same. A false alarm "
            "is a pair that does not belong together and still scores above the threshold."
        )
    with left:
        curves = [RocCurve(e.look, e.label, roc.fpr, roc.tpr, roc.auc) for e, roc in traced]
        _draw(roc_figure(curves, log_fpr=zoom, theme=state.theme()), "roc")


def show_dimensions(choice: Choice) -> None:
    """Draw quality against the number of dimensions."""
    from simviz.charts import dimension_figure

    drawn = [
        (entry, curve)
        for entry in choice.entries
        if (curve := dimension_curve(entry, choice.direction)) is not None
    ]
    if not drawn:
        st.caption(
            "None of these methods has such a curve: their dimensions are not ordered, so that "
            "the first few would be no smaller model."
        )
        return
    metric = str(drawn[0][0].measured.curve[0]["metric"])
    left, right = st.columns([4, 3], gap="large")
    with right:
        _show_figures(
            ["method", "best", "with", f"{_NEARLY:.0%} of it with".replace("%", " %")],
            [[entry.label, *_milestones(curve)] for entry, curve in drawn],
        )
        without = [e.label for e in choice.entries if e.label not in {d[0].label for d in drawn}]
        st.caption(
            f"{metric} of the first dimensions of each model, all from one training, with 95 % "
            "bands. Fewer dimensions are quicker to search and smaller to store."
        )
        if without:
            st.caption(plain(f"Without ordered dimensions: {', '.join(without)}."))
    with left:
        figure = dimension_figure(
            [curve for _, curve in drawn], metric=metric, theme=state.theme()
        )
        _draw(figure, "dimensions")


def dimension_curve(entry: Entry, direction: str) -> DimensionCurve | None:
    """Quality by dimension with its 95 % band, or None where the method has none."""
    from simviz.charts import DimensionCurve
    from simviz.evaluation.differences import REACH

    wanted = ("x2y", "y2x") if direction == "mean" else (direction,)
    sides = [[r for r in entry.measured.curve if r["direction"] == d] for d in wanted]
    if not all(sides):
        return None
    points = list(zip(*sides, strict=True))
    values = [fmean(p["value"] for p in point) for point in points]
    reach = [REACH * fmean(p["standard_error"] for p in point) for point in points]
    return DimensionCurve(
        entry.look,
        entry.label,
        [point[0]["dimension"] for point in points],
        values,
        [v - r for v, r in zip(values, reach, strict=True)],
        [v + r for v, r in zip(values, reach, strict=True)],
    )


def _milestones(curve: Any) -> tuple[str, str, str]:
    """The best value, at how many dimensions, and how many nearly reach it."""
    points = list(zip(curve.dimensions, curve.values, strict=True))
    at, best = max(points, key=lambda point: point[1])
    enough = next(k for k, value in points if value >= _NEARLY * best)
    return f"{best:.3f}", f"{at:,}", f"{enough:,}"


def _show_figures(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    st.html(
        '<div class="sv-scroll" tabindex="0"><table class="sv-table sv-slim">'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _draw(figure: Any, name: str) -> None:
    height = 430 if state.is_narrow() else 560
    figure.update_layout(height=height)
    st.plotly_chart(
        figure,
        theme=None,
        key=f"compare-{name}",
        alt=str(figure.layout.meta["alt"]),
        config=CHART_CONFIG,
        height=height,
    )
