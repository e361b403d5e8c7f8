"""The map page: a slim bar, the map, and what is selected on it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from pages._shared import (
    drawings,
    map_bar,
    map_canvas,
    map_empty,
    map_stage,
    map_state,
    map_topics,
    map_trust,
    plain,
    runs_metric,
    state,
)
from pages._shared.map_state import DRAWINGS, FIRST_DRAWING, View
from simviz.exceptions import StoreError

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.store import RunInfo

STYLE = """
<style>
.stMainBlockContainer { padding: 3.9rem 1.5rem 1rem; }
.st-key-map-bar { gap: .35rem .5rem; }
.st-key-map-run input { text-overflow: ellipsis; }
[role="listbox"][aria-label="Seen by"] [role="option"] { display: block; height: auto;
  min-height: 2.2rem; flex: none; }
[role="listbox"][aria-label="Seen by"] [role="option"] > div { display: block; height: auto;
  white-space: normal; overflow-wrap: anywhere; line-height: 1.35; padding-block: .3rem; }
@media (max-width: 640px) {
  .st-key-map-bar button { padding-inline: .55rem; }
  .st-key-map-bar [data-testid="stPopoverButton"][kind="tertiary"] { padding-inline: .15rem; }
}
.stMainBlockContainer div:has(> .st-key-map-progress:empty) { display: none; }
/* Nothing is selected: the map has the whole width, in the place that it keeps. */
.st-key-map-stage .stColumn:last-child:not(:has(.st-key-map-drawer)) { display: none; }
.st-key-map-said { gap: .1rem; }
.stMainBlockContainer div:has(> .st-key-map-said:empty) { display: none; }
.st-key-map-below { gap: .5rem 1rem; }
</style>
"""


def show() -> None:
    """Draw the page, whatever there is to draw."""
    dataset_id = state.current_dataset_id()
    if dataset_id is None:
        map_empty.show_no_data()
        return
    try:
        with st.spinner("Reading the data"):
            pairs = state.dataset(dataset_id)
        infos = runs_metric.best_first(dataset_id, pairs, state.runs(dataset_id))
    except StoreError as error:
        map_empty.show_unknown(str(error))
        return
    view = map_state.current(dataset_id)
    awaited = map_state.follow_link(view, pairs)
    if awaited or not infos:
        map_empty.show_untrained(dataset_id, awaited)
        return
    _show_map(view, pairs, infos)


def _show_map(view: View, pairs: PairSet, infos: Sequence[RunInfo]) -> None:
    """Everything on the page once there is a run."""
    st.html(STYLE + map_canvas.STYLE)
    plain.style()
    if view.lost:
        plain.problem(view.lost)
    bar = st.container(horizontal=True, vertical_alignment="center", gap="small", key="map-bar")
    with bar:
        run = state.run(map_bar.pick_run(view, infos))
        map_bar.pick_drawing(view)
    said = st.container(key="map-said")
    # A place of its own: what comes and goes there must not move the map, which would begin anew.
    with st.container(key="map-progress"):
        is_kept = drawings.ask(run, pairs, view.kept_as, DRAWINGS[view.drawing.partition("-")[0]])
    drawing = view.kept_as if is_kept else FIRST_DRAWING
    placed = drawings.kept(run.id, drawing, run)
    parts = drawings.parts(run.id, run, pairs)
    with bar:
        colour = map_bar.pick_colour(view, pairs)
        is_labelled = map_topics.pick(view, run)
        masks = map_bar.pick_items(view, placed, parts, pairs)
        map_trust.show(view, placed.drawing)
        map_trust.show_gap(view, placed.drawing)
    with said:
        map_bar.say_long_name(view, infos)
        map_empty.say_sample(placed, pairs, int(run.spec["split"]["seed"]))
    if not any(mask.any() for mask in masks):
        st.info("Nothing is left to show. Loosen the filter above the map.")
        return
    scene = map_stage.scene_of(run, pairs, drawing, masks, colour, is_labelled)
    map_canvas.send(scene.items, "items")
    map_canvas.send(scene.places, "places")
    map_stage.show(view, scene)
    map_canvas.listen(partial(map_state.hear, view))
    # While the reader looks, what the first click will ask for is made ready.
    drawings.space(run.id, run, pairs)
