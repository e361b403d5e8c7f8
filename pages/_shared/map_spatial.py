"""The map in three dimensions, which the reader turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages._shared import (
    code_view,
    drawings,
    map_colours,
    map_drawer,
    map_final,
    map_region,
    map_stage,
    map_state,
    results,
    sharing,
    state,
)
from pages._shared.map_state import CHART, View

if TYPE_CHECKING:
    from pages._shared.map_stage import Scene
    from simviz.data.items import Items
    from simviz.projection import Neighbors

_HEIGHT, _NARROW_HEIGHT = 660, 400


def show(view: View, scene: Scene) -> None:
    """Draw the map, and what is known of what is selected on it."""
    map_region.find_enclosed(view, scene)
    own = map_state.write_link(view, scene.run, scene.pairs)
    found = None
    if view.item is not None:
        space = drawings.space(scene.run.id, scene.run, scene.pairs)
        found = map_stage.nearest(space, view.item, scene.closed)
    with st.container(key="map-stage"):
        left, right = st.columns([7, 3], gap="medium")
        with left:
            _draw(view, scene, found)
            with st.container(horizontal=True, vertical_alignment="center", key="map-below"):
                told = map_final.published(scene.closed, view.dataset_id)
                sharing.show_button("map", [scene.run], own | told)
                code_view.show_map(view, scene.run)
                map_region.show_twin_switch(view)
                st.caption(
                    "Drag to turn. In three dimensions items are selected by finding them above."
                )
        with right:
            if found is not None:
                map_drawer.show(
                    view,
                    scene.pairs,
                    space,
                    found,
                    scene.placed,
                    scene.parts,
                    scene.topics,
                    scene.run,
                    scene.closed,
                )
    map_region.show(view, scene)


def _draw(view: View, scene: Scene, found: Neighbors | None) -> None:
    from simviz.charts import map_figure

    pairs, placed = scene.pairs, scene.placed
    masks = _with_selection(view, scene, found)
    shown = placed.only(*masks)
    values = map_colours.values(scene)
    highlight = None
    if view.item is not None and shown.row_of(*view.item) is not None:
        side, row = view.item
        highlight = f"{side}:{(pairs.x if side == 'x' else pairs.y).ids[row]}"
    narrow = state.is_narrow()
    height = _NARROW_HEIGHT if narrow else _HEIGHT
    figure = map_figure(
        shown.drawing,
        _some(pairs.x, shown.x_rows),
        _some(pairs.y, shown.y_rows),
        pairs.relevance.take(shown.x_rows, shown.y_rows),
        "side" if values is None else values[np.concatenate(masks)],
        highlight,
        theme=state.theme(),
        neighbors=None if found is None or highlight is None else shown.place(found),
        x_notes=None if scene.notes is None else [scene.notes[0][row] for row in shown.x_rows],
        y_notes=None if scene.notes is None else [scene.notes[1][row] for row in shown.y_rows],
        color_title=map_colours.title(scene),
        x_name=pairs.x_name,
        y_name=pairs.y_name,
        height=height,
    )
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
        config={**results.CHART_CONFIG, "scrollZoom": not narrow},
        height=height,
        on_select="rerun",
        selection_mode="points",
    )


def _with_selection(view: View, scene: Scene, found: Neighbors | None) -> tuple[Any, Any]:
    """What is selected is shown whatever is filtered, and so are its nearest."""
    if view.item is None or found is None:
        return scene.masks
    wanted = {view.item[0]: [view.item[1]], found.side: found.index}
    x, y = (
        mask | np.isin(scene.placed.rows(side), wanted[side])
        for side, mask in zip(("x", "y"), scene.masks, strict=True)
    )
    return x, y


def _some(items: Items, rows: Any) -> Items:
    return items if len(rows) == len(items) else items.take(rows)
