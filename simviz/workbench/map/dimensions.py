"""Sliding through the dimensions of a nested method: one decomposition, cut by the reader."""

from __future__ import annotations

from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING, Any

import streamlit as st

from simviz.charts.canvas import Part, with_positions
from simviz.charts.style import Theme, apply_theme, get_theme, method_style
from simviz.data.pairs import PairSet
from simviz.evaluation import AUC, Evaluation, evaluate
from simviz.evaluation.result import Asking
from simviz.methods import all_methods
from simviz.projection import align_sides, mds_map, pca_map
from simviz.projection.pipeline_map import Placed, Space
from simviz.reports.run_summary import mean_band
from simviz.store.run import Part as PartName, Run
from simviz.workbench.map import canvas
from simviz.workbench.map.view import View, bound, driven
from simviz.workbench.shell import display, drawings, preferences, progress, runs, state, what_if
from simviz.workbench.shell.charts import show_chart

if TYPE_CHECKING:
    from simviz.workbench.map.scene import Scene

_HEIGHT = 150


def measured_dimensions(run: Run) -> list[int]:
    """Return the numbers of dimensions that a nested run was measured at; else none."""
    method = all_methods().get(run.info.method)
    # What follows marks was not measured.
    if method is None or not method.tags.nested or what_if.is_marked(run):
        return []
    shown = preferences.current_part(run.info.dataset_id)
    part = shown if shown in run.measured else run.measured[0]
    known = sorted({int(record["dimension"]) for record in run.part(part).curve})
    return known if len(known) > 1 else []


def show_switch(view: View, run: Run) -> None:
    """Show a switch for the slider, where the method is nested."""
    if known := measured_dimensions(run):

        def switch(is_on: bool) -> None:
            view.dims = known[-1] if is_on else None

        st.toggle(
            "Dimensions",
            **driven("map-scrub", view.dims is not None, switch),
            help="Use the first dimensions only; map, figures and nearest items follow.",
        )


def is_open(view: View, run: Run) -> bool:
    """Return whether the slider is shown."""
    return view.dims is not None and bool(measured_dimensions(run))


def selected_dimension(view: View, run: Run) -> int | None:
    """Return the number of dimensions that the reader chose; None for all of them."""
    known = measured_dimensions(run)
    if view.dims is None or not known:
        return None
    if view.dims not in known:  # of a link, or of another run
        view.dims = min(known, key=lambda k: abs(k - (view.dims or 0)))
    return None if view.dims == known[-1] else view.dims


def cut(scene: Scene, k: int) -> Scene:
    """Return the scene in k dimensions; its places are sent to the browser."""
    placed, places = _drawn(scene.run, scene.places.digest, k, scene)
    canvas.send(places, "cut")
    # Where regions are is known of the whole drawing only.
    return replace(scene, placed=placed, places=places, regions=[])


@state.cached(16)
def space(run: Run, pairs: PairSet, k: int) -> Space:
    """Return what a run sees in k dimensions."""
    return drawings.space(run, pairs).truncate(k)


@state.cached(24)
def _drawn(run: Run, places: str, k: int, _scene: Scene) -> tuple[Placed, Part]:
    """Return the items drawn by k dimensions, turned onto the drawing by all."""
    whole, reduced = _scene.placed, space(run, _scene.pairs, k)
    sides = reduced.rows["x"][whole.x_rows], reduced.rows["y"][whole.y_rows]
    draw = pca_map if whole.drawing.method == "pca" else mds_map
    x, y = draw(*align_sides(*sides, "center"))
    # The quality is that of another drawing.
    drawing = replace(whole.drawing, x=x, y=y, quality=None).turned_onto(whole.drawing)
    return replace(whole, drawing=drawing), with_positions(_scene.places, drawing)


def show(view: View, scene: Scene) -> None:
    """Show the slider, and what the number of dimensions means for the search."""
    run, k = scene.run, view.dims
    known = measured_dimensions(run)
    if k is None or not known:
        return
    look = get_theme(state.theme())
    hue = method_style(run.info.method, look).colour
    drawn_by = "PCA" if scene.placed.drawing.method == "pca" else "MDS"
    st.select_slider(
        "Dimensions",
        known,
        **bound(view, "dims", "map-k"),
        help="The first k dimensions of the decomposition are the model with k dimensions. Each "
        "map is rotated to match that of all dimensions.",
    )
    part = preferences.part_switch(view.dataset_id)
    if part not in run.measured:
        progress.explain_missing_part([runs.run_title(run.info)], part)
        return
    result = _evaluated(run, scene.pairs, k, part)
    direction = preferences.current_direction(view.dataset_id, scene.pairs, result.directions)
    metric, values = _curve(run, part, direction)
    main = runs.default_metric_of(view.dataset_id, scene.pairs)
    display.figures(_figures(main, direction, metric, values, k, result))
    if values:
        _show_curve(metric, values, k, look, hue)
    else:
        display.quiet("No query has both right and wrong candidates: nothing to rank.")
    _show_roc(result, look, hue)
    measured = run.take(scene.pairs, part)
    direction_label = preferences.direction_label(direction, measured)
    display.quiet(
        f"Of the {part} part: {len(measured.x):,} {measured.nouns[0]} and "
        f"{len(measured.y):,} {measured.nouns[1]}; {direction_label}. "
        f"The map shows all items, drawn by {drawn_by}."
    )


@state.cached(48)
def _evaluated(run: Run, pairs: PairSet, k: int, part: PartName) -> Evaluation:
    measured = run.take(pairs, part)
    pipeline = drawings.pipeline(run).truncate(k)
    return evaluate(pipeline, measured.x, measured.y, measured.relevance, [AUC()])


def _curve(run: Run, part: PartName, direction: Asking) -> tuple[str, dict[int, float]]:
    """Return the name of the metric, and its value by the number of dimensions."""
    records = run.part(part).curve
    band = mean_band(records, direction, "dimension")
    values = {} if band is None else dict(zip(band[0], band[1], strict=True))
    return str(records[0]["metric"]), values


def _figures(
    main: str, direction: Asking, metric: str, values: dict[int, float], k: int, result: Evaluation
) -> list[tuple[str, str]]:
    """Return the main metric, that of the curve, and the area under the ROC curve."""
    figures = []
    if not isnan(value := result.value(main, direction)):
        figures.append((f"{value:.3f}", main))
    if metric != main and values:
        figures.append((f"{values[k]:.3f}", metric))
    if result.roc is not None and main != "AUC":
        figures.append((f"{result.roc.auc:.3f}", "AUC"))
    if values:
        best = max(values, key=values.__getitem__)
        figures.append((f"{best:,}", f"best for {metric}"))
    return figures


def _show_curve(metric: str, values: dict[int, float], k: int, look: Theme, hue: str) -> None:
    known = sorted(values)
    figure, line = _empty_figure(look), {"color": hue, "width": 2}
    hover = "%{x} dimensions: %{y:.3f}<extra></extra>"
    lines = {"mode": "lines+markers", "line": line, "marker": {"size": 5}, "hovertemplate": hover}
    figure.add_scatter(x=known, y=[values[at] for at in known], **lines)
    marker = {"size": 12, "color": look.paper, "line": {"color": hue, "width": 3}}
    figure.add_scatter(x=[k], y=[values[k]], mode="markers", hoverinfo="skip", marker=marker)
    figure.update_xaxes(type="log", title_text="dimensions", tickvals=known[::3])
    figure.update_yaxes(title_text=metric)
    alt = f"{metric} by dimensions; {values[k]:.3f} at {k}."
    show_chart(figure, "map-scrub-curve", alt=alt, height=_HEIGHT)


def _show_roc(result: Evaluation, look: Theme, hue: str) -> None:
    roc = result.roc
    if roc is None:
        return
    figure, line = _empty_figure(look), {"color": hue, "width": 2}
    chance = {"color": look.muted, "width": 1, "dash": "dot"}
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", hoverinfo="skip", line=chance)
    hover = "%{y:.0%} found at %{x:.1%} false alarms<extra></extra>"
    figure.add_scatter(x=roc.fpr, y=roc.tpr, mode="lines", line=line, hovertemplate=hover)
    figure.update_xaxes(title_text="false alarms", range=[0, 1])
    figure.update_yaxes(title_text="found", range=[0, 1.01])
    alt = f"ROC curve with an area of {roc.auc:.3f}."
    show_chart(figure, "map-scrub-roc", alt=alt, height=_HEIGHT)


def _empty_figure(look: Theme) -> Any:
    import plotly.graph_objects as go

    layout = {"showlegend": False, "margin": {"l": 48, "r": 8, "t": 6, "b": 40}}
    return apply_theme(go.Figure(layout=layout), look)
