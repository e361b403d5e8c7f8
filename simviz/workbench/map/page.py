"""The map page: a slim bar, the map, and what is selected on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import streamlit as st

from simviz._types import Side
from simviz.charts.canvas import full_names
from simviz.data.cells import percent
from simviz.data.pairs import PairSet
from simviz.data.splitting import is_in_part, parts_present
from simviz.evaluation.tables import csv_text
from simviz.jobs.run_drawings import DEFAULT_LAYOUT, QUICK_LAYOUT, SHARES
from simviz.markdown import escape_markdown
from simviz.projection import JointMap, Quality
from simviz.projection.pipeline_map import Placed
from simviz.projection.quality import N_SEEDS, trust_level
from simviz.store.run import Run
from simviz.workbench.map import canvas, scene as map_scene, topics, two_models, view as map_view
from simviz.workbench.map.view import COLOURS, DRAWINGS, View, bound, driven
from simviz.workbench.shell import (
    code,
    display,
    drawings,
    empty,
    forms,
    frame,
    runs,
    state,
    what_if,
)

TITLE = "Map"
INTRODUCTION = (
    "A map puts both sides into one picture: words among the pictures they mean, titles "
    "beside their translation. It needs data and one trained method."
)
_STYLE = Path(__file__).with_name("style.css")
#: Pixels of the box with the names of runs, and characters that are read in it whole.
_WIDEST, _FITTING, _FITTING_NARROW = 225, 21, 17
#: What each of the `BALANCES` is called, and what it keeps.
_GAPS = {
    "center": ("Centred", "The mean of each side is subtracted; distances within a side stay."),
    "none": ("Unchanged", "Every distance as in the model."),
    "rank": (
        "Matched by rank",
        "The order of each item's list of the other side is kept, distances across are not.",
    ),
}


@frame.page("Map")
def show_page() -> None:
    """Show the Map page."""
    opened = empty.data_and_runs(TITLE, INTRODUCTION, _follow_link)
    if opened is None:
        return
    pairs, infos = opened
    view = map_view.current(str(state.current_dataset_id()))
    st.html(_STYLE)
    st.html(canvas.STYLE)
    display.style()
    if view.lost:
        display.problem(view.lost)
    bar = st.container(horizontal=True, vertical_alignment="center", gap="small", key="map-bar")
    titles = runs.label_runs(infos)
    with bar:
        if trained := what_if.trained():
            view.run_id = trained[-1]
        run = state.run(_choose_run(view, titles))
        two_models.choose(view, titles)
        _choose_drawing(view)
    notes = st.container(key="map-said")
    # A place of its own: what comes and goes there must not move the map, which would begin anew.
    with st.container(key="map-progress"):
        meanwhile = drawings.best_stored(run)
        if meanwhile is None:
            # The first one is soon there; what was chosen then lies on it.
            drawings.ensure_drawn(run, pairs, QUICK_LAYOUT, "the map")
            return
        names = [DRAWINGS[name[:-2]][0] for name in (view.drawing, meanwhile)]
        is_stored = drawings.ensure_drawn(run, pairs, view.drawing_name, *names)
        drawings.show_again(run, view.drawing_name)
        drawing = view.drawing_name if is_stored else meanwhile
        other = two_models.ready(view, pairs, drawing, titles) if is_stored else None
    placed = drawings.stored_drawing(run, drawing)
    parts = drawings.parts(run, pairs)
    with bar:
        _choose_colour(view, pairs)
        is_labelled = topics.choose_labels(view, run)
        followed = what_if.with_marks(run, pairs)
        shown = _show_menu(view, followed, placed, parts, pairs)
        # Of what follows marks no quality is known, and two drawings have two.
        if followed is run and other is None:
            _show_trust(view, placed.drawing, partial(drawings.redraw, run, pairs, drawing))
    with notes:
        title = titles[run.id]
        if len(title) > (_FITTING_NARROW if state.is_narrow() else _FITTING):
            display.quiet(title)
        _show_sample(placed, pairs, int(run.spec["split"]["seed"]))
    if not shown.any():
        st.info("No item passes the filter. Change it under *Show*.")
        return
    compared = None if other is None else two_models.compare(followed, other, pairs, drawing)
    colour = view.colour if compared or view.colour != "change" else COLOURS[0]
    scene = map_scene.scene_of(followed, pairs, drawing, shown, colour, is_labelled)
    scene = replace(scene, compared=compared)
    canvas.send(scene.items, "items")
    canvas.send(scene.places, "places")
    map_scene.show(view, scene)
    canvas.listen(partial(map_view.apply_browser_state, view))
    # While the reader looks, what the first click will ask for is made ready.
    drawings.space(followed, pairs)
    canvas.send(map_scene.nearest_part(followed, pairs, drawing), "nearest")
    if is_stored and view.drawing == DEFAULT_LAYOUT and followed is run:
        drawings.draw_next_share(run, pairs)


def _follow_link(dataset_id: str, pairs: PairSet) -> list[str]:
    return map_view.follow_link(map_view.current(dataset_id), pairs)


def _choose_run(view: View, titles: dict[str, str]) -> str:
    """Choose the run: at first the best one, as Compare names it."""
    if view.run_id not in titles:
        view.run_id = next(iter(titles))
    longest = max(map(len, titles.values()))
    st.selectbox(
        "Run",
        **forms.options(titles),
        **bound(view, "run_id", "map-run"),
        label_visibility="collapsed",
        # As wide as the longest name needs, up to a limit.
        width="stretch" if state.is_narrow() else min(_WIDEST, max(160, 62 + 8 * longest)),
    )
    return view.run_id


def _choose_drawing(view: View) -> None:
    """Choose how the space is made flat, and of the two-sided drawing which side it follows."""
    method = view.drawing.removesuffix("-2")
    with st.popover(DRAWINGS[method][0], icon=":material/bubble_chart:"):
        st.radio(
            "What the drawing keeps",
            list(DRAWINGS),
            format_func=lambda name: DRAWINGS[name][0],
            captions=[text for _, text in DRAWINGS.values()],
            **driven("map-method", method, view.draw_by),
        )
        if view.drawing != DEFAULT_LAYOUT:
            return
        st.select_slider(
            "Own side ↔ other side",
            sorted(SHARES),
            **bound(view, "across", "map-across"),
            format_func="{} %".format,
            help="How much of the drawing follows neighbours across the sides. To the left, items "
            "of one side group by themselves; to the right, each lies closer to its neighbours of "
            "the other side. 70 % suits most data.",
        )


def _choose_colour(view: View, pairs: PairSet) -> None:
    """Choose what the colours mean: one of `COLOURS`, or a metadata column as "=name"."""
    columns = map_view.columns(pairs)
    colours = [*COLOURS[: None if view.beside else -1], *(f"={name}" for name in columns)]
    if view.colour not in colours:
        view.colour = COLOURS[0]
    st.selectbox(
        "Colour by",
        colours,
        format_func=lambda choice: choice.removeprefix("=")[:40],
        label_visibility="collapsed",
        icon=":material/palette:",
        width=132,
        **driven("map-colour", view.colour, view.colour_by),
    )


def _show_menu(
    view: View, run: Run, placed: Placed, parts: tuple[Any, Any], pairs: PairSet
) -> Any:
    """Choose which items to show, how to treat the gap, and take things along; return a mask."""
    labels = np.concatenate([parts[0][placed.x_rows], parts[1][placed.y_rows]])
    present = parts_present(labels)
    if view.part not in present:
        view.part = ""
    x_name, y_name = map(escape_markdown, pairs.headings)
    n_set = bool(view.side) + bool(view.part)
    with st.popover(f"Show · {n_set}" if n_set else "Show", icon=":material/tune:"):
        names = {"": "Both sides", "x": x_name, "y": y_name}
        st.radio("Items", **forms.options(names), **bound(view, "side", "map-side"))
        in_parts = forms.options({"": "All parts"} | {part: part for part in present})
        st.radio("Part of the split", **in_parts, **bound(view, "part", "map-part"))
        if view.drawing != DEFAULT_LAYOUT:
            _show_gap(view, placed.drawing)
        code.show_map(view, run)
        make = partial(positions_csv, placed, parts, pairs)
        forms.download("Positions as CSV", make, f"simviz-{view.drawing_name}.csv", key="map-csv")

    sides = np.repeat(["x", "y"], [len(placed.x_rows), len(placed.y_rows)])
    shown = (sides == view.side) | (view.side == "")
    return shown & is_in_part(labels, view.part) if view.part else shown


def positions_csv(placed: Placed, parts: tuple[Any, Any], pairs: PairSet) -> str:
    """Return the rows behind the map: where each item stands, and in which part it is."""
    lines = [["key", "side", "id", "label", "map_x", "map_y", "part"]]
    for side, of, part in zip(get_args(Side), (pairs.x, pairs.y), parts, strict=True):
        rows = placed.rows(side)
        items, points = of.take(rows), placed.points(side).tolist()
        cells = zip(items.ids, full_names(items), points, part[rows], strict=True)
        lines += [[f"{side}:{n}", side, n, text, *at, where] for n, text, at, where in cells]
    return csv_text(lines)


def _show_trust(view: View, drawing: JointMap, draw_again: Callable[[], None]) -> None:
    quality = drawing.quality
    with st.popover(
        "About this drawing" if quality is None else trust_level(quality),
        icon=":material/straighten:",
        type="tertiary",
    ):
        if quality is not None:
            _show_quality(view, quality)
            # By MDS and PCA every seed draws the same.
            if drawing.method in ("two-sided", "umap"):
                _show_stability(quality, draw_again)
        display.notes(drawing.notes)


def _show_quality(view: View, quality: Quality) -> None:
    st.markdown("**How far to trust this drawing**")
    kept = (
        ("other", quality.cross_overlap, quality.random_cross_overlap),
        ("same", quality.within_overlap, quality.random_within_overlap),
    )
    display.figures(
        (percent(share), f"of nearest items of the {side} side kept, chance {percent(chance)}")
        for side, share, chance in kept
    )
    if quality.mrr_space is not None and quality.mrr_map is not None:
        ratio = quality.mrr_map / quality.mrr_space if quality.mrr_space else 1.0
        on_map = f"MRR on the map: {percent(ratio)} of the model's"
        figures = {on_map: quality.mrr_map, "MRR in the model": quality.mrr_space}
        display.figures((f"{value:.2f}", what) for what, value in figures.items())
    figures = {
        "trustworthiness: what is drawn near is near in the model": quality.trustworthiness,
        "continuity: what is near in the model is drawn near": quality.continuity,
    }
    display.figures((f"{value:.2f}", what) for what, value in figures.items())
    text = (
        f"Neighbours are the {quality.n_neighbors} nearest in the model, across the sides and "
        "within a side."
    )
    if quality.mrr_space is not None:
        text += " MRR: every item of both sides is a query, those of training included."
    if quality.n_sampled < quality.n_points:
        text += f" Measured on {quality.n_sampled:,} of the {quality.n_points:,} items, a sample."
    display.quiet(text)
    st.toggle(
        "Mark misplaced items",
        help="A glow: items of the other side are drawn near that are far in the model. A ring: "
        "some that are near in the model are drawn far away.",
        **bound(view, "has_halos", "map-halos"),
    )


def _show_stability(quality: Quality, draw_again: Callable[[], None]) -> None:
    """Show how much of the drawing is chance, or offer to find out."""
    if quality.moved is None:
        label = f"Draw it with {N_SEEDS} other seeds"
        text = "Counts for each item in how many drawings it has other neighbours."
        forms.button(label, "map-seeds", draw_again, icon="casino", help=text)
        return
    steady, often = (quality.moved == 0).mean(), (quality.moved > N_SEEDS / 2).mean()
    kept = f"of items keep their neighbours with {N_SEEDS} other seeds"
    moved = f"have others in {N_SEEDS // 2 + 1} of {N_SEEDS} drawings or more"
    display.figures([(percent(steady), kept), (percent(often), moved)])


def _show_gap(view: View, drawing: JointMap) -> None:
    """Show how far apart the sides lie in the model, and ways to close the gap."""
    drawn, gap = drawing.gap_balanced.distance_ratio, drawing.gap.distance_ratio
    st.radio(
        f"Modality gap: {gap:.2f} in the model, {drawn:.2f} as drawn",
        list(_GAPS),
        format_func=lambda name: _GAPS[name][0],
        captions=[text for _, text in _GAPS.values()],
        help="Distance within a side over distance across the sides: 1 where both lie around one "
        "point, near 0 where they lie apart.",
        **bound(view, "balance", "map-gap"),
    )


def _show_sample(placed: Placed, pairs: PairSet, seed: int) -> None:
    """Say that a large data set is drawn in part, and how that part was chosen."""
    sides = zip((placed.x_rows, placed.y_rows), pairs.shape, pairs.nouns, strict=True)
    parts = [f"{len(rows):,} of {n:,} {name}" for rows, n, name in sides if len(rows) < n]
    if parts:
        display.quiet(
            f"Drawn: {' and '.join(parts)}, a random sample (seed {seed}). "
            "Searches still use all items."
        )
