"""The map page: a slim bar, the map, and what is selected on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import streamlit as st

from pages._shared import (
    drawings,
    map_bar,
    map_drawer,
    map_empty,
    map_state,
    map_topics,
    map_window,
    plain,
    results,
    sharing,
    state,
)
from pages._shared.map_state import CHART, DRAWINGS, FIRST_DRAWING, View
from simviz.exceptions import StoreError

if TYPE_CHECKING:
    from simviz.data.items import Items
    from simviz.data.pairs import PairSet
    from simviz.jobs.placed import Placed
    from simviz.projection import Neighbors
    from simviz.projection.regions import Region
    from simviz.store import RunInfo

STYLE = """
<style>
.stMainBlockContainer { padding: 3.9rem 1.5rem 1rem; }
.st-key-map-bar { gap: .35rem .5rem; }
</style>
"""
#: Pixels for which room is given on the map; the figure itself follows its box.
WIDE, BESIDE_DRAWER, NARROW = (1060, 700), (780, 700), (380, 400)
CONFIG = {"modeBarButtonsToRemove": ["zoom2d", "pan2d", "autoScale2d", "select2d", "lasso2d"]}
_NEIGHBORS = 10


class About(NamedTuple):
    """What the map says of its regions, and of the items of both sides."""

    regions: Sequence[Region]
    notes: tuple[list[str], list[str]] | None

    def of(self, side: map_state.Side, rows: Any) -> list[str] | None:
        """The notes of some items of a side."""
        if self.notes is None:
            return None
        known = self.notes[0 if side == "x" else 1]
        return [known[row] for row in rows]


def show() -> None:
    """Draw the page, whatever there is to draw."""
    dataset_id = state.current_dataset_id()
    if dataset_id is None:
        map_empty.show_no_data()
        return
    try:
        with st.spinner("Reading the data"):
            pairs = state.dataset(dataset_id)
        infos = state.runs(dataset_id)
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
    st.html(STYLE)
    plain.style()
    map_state.follow_click(view, pairs)
    if view.lost:
        plain.problem(view.lost)
    bar = st.container(horizontal=True, vertical_alignment="center", gap="small", key="map-bar")
    with bar:
        run = state.run(map_bar.pick_run(view, infos))
        map_bar.pick_drawing(view)
    is_kept = drawings.ask(run, pairs, view.drawing, title(view.drawing))
    drawing = view.drawing if is_kept else FIRST_DRAWING
    placed = drawings.kept(run.id, drawing, run)
    parts = drawings.parts(run.id, run, pairs)
    with bar:
        colour = map_bar.pick_colour(pairs)
        is_labelled = map_topics.pick(view, run)
        map_bar.find(view, placed, pairs)
        masks = map_bar.pick_items(view, placed, parts, pairs)
        map_bar.show_trust(placed.drawing)
        sharing.show_button("map", [run], map_state.write_link(view, run))
    topics = map_topics.topics_of(run, pairs)
    about = About(
        map_topics.regions(run, drawing, placed, pairs, topics) if is_labelled else [],
        None if topics is None else map_topics.notes(run.id, topics),
    )
    colours = _colours(colour, pairs, parts)
    if view.item is None:
        _draw(view, pairs, placed.only(*masks), colours, colour, None, about)
        st.caption(_hint(placed))
        map_window.listen()
        return
    space = drawings.space(run.id, run, pairs)
    found = space.nearest(*view.item, _NEIGHBORS)
    left, right = st.columns([7, 3], gap="medium")
    with left:
        shown = placed.only(*_with_selection(masks, view, placed, found))
        _draw(view, pairs, shown, colours, colour, found, about)
    with right:
        map_drawer.show(view, pairs, space, found, placed, parts, topics, run)
    map_window.listen()


def title(drawing: str) -> str:
    """What a drawing is called, such as "UMAP in 3 dimensions"."""
    method, _, dimensions = drawing.partition("-")
    return DRAWINGS[method] + (" in 3 dimensions" if dimensions == "3" else "")


def _colours(choice: str, pairs: PairSet, parts: tuple[Any, Any]) -> Any:
    """One value an item of the x side and then the y side, or None for the side itself."""
    if choice == "side":
        return None
    if choice == "part":
        return np.concatenate(parts)
    from simviz.data.columns import joined_column

    return joined_column(pairs.x, pairs.y, choice.removeprefix("="))


def _with_selection(
    masks: tuple[Any, Any], view: View, placed: Placed, found: Neighbors
) -> tuple[Any, Any]:
    """What is selected is shown whatever is filtered, and so are its nearest."""
    if view.item is None:
        return masks
    wanted = {view.item[0]: [view.item[1]], found.side: found.index}
    x, y = (
        mask | np.isin(placed.rows(side), wanted[side])
        for side, mask in zip(("x", "y"), masks, strict=True)
    )
    return x, y


def _draw(
    view: View,
    pairs: PairSet,
    shown: Placed,
    colours: Any,
    colour: str,
    found: Neighbors | None,
    about: About,
) -> None:
    from simviz.charts import map_figure

    if not len(shown.x_rows) + len(shown.y_rows):
        st.info("Nothing is left to show. Loosen the filter above the map.")
        return
    narrow = state.is_narrow()
    width, height = NARROW if narrow else WIDE if found is None else BESIDE_DRAWER
    highlight = None
    if view.item is not None and shown.row_of(*view.item) is not None:
        side, row = view.item
        highlight = f"{side}:{(pairs.x if side == 'x' else pairs.y).ids[row]}"
    figure = map_figure(
        shown.drawing,
        _some(pairs.x, shown.x_rows),
        _some(pairs.y, shown.y_rows),
        pairs.relevance.take(shown.x_rows, shown.y_rows),
        "side"
        if colours is None
        else colours[np.concatenate([shown.x_rows, len(pairs.x) + shown.y_rows])],
        highlight,
        theme=state.theme(),
        neighbors=None if found is None or highlight is None else shown.place(found),
        regions=about.regions,
        x_notes=about.of("x", shown.x_rows),
        y_notes=about.of("y", shown.y_rows),
        color_title=colour.removeprefix("="),
        x_name=pairs.x_name,
        y_name=pairs.y_name,
        width=width,
        height=height,
    )
    if shown.drawing.n_dimensions == 2:
        point = None
        if view.item is not None and highlight is not None:
            positions = shown.drawing.x if view.item[0] == "x" else shown.drawing.y
            point = tuple(positions[shown.row_of(*view.item)].tolist())
        of = (view.dataset_id, view.run_id, shown.drawing.method)
        map_window.restore(figure, of, is_beside=found is not None, point=point)
    # A figure that is first drawn at another height keeps the ranges it had there.
    figure.update_layout(height=height, modebar={"orientation": "v"})
    if narrow:
        # The legend would grow into the map; the list below says the same.
        figure.update_traces(showlegend=False, selector={"mode": "lines"})
    st.plotly_chart(
        figure,
        theme=None,
        key=CHART,
        alt=str(figure.layout.meta["alt"]),
        config={**results.CHART_CONFIG, **CONFIG, "scrollZoom": not narrow},
        height=height,
        on_select="rerun",
        selection_mode="points",
    )


def _some(items: Items, rows: Any) -> Items:
    return items if len(rows) == len(items) else items.take(rows)


def _hint(placed: Placed) -> str:
    """What can be done here, in one line."""
    if placed.drawing.n_dimensions == 3:
        return "Drag to turn. In three dimensions items are selected by finding them above."
    return "Click a point, or find an item above, to see what the model finds nearest to it."
