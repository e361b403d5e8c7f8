"""The map of a run on another page: to look at, each item a way to the page of the map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages._shared import drawings, map_canvas, map_stage
from pages._shared.map_link import FIRST_DRAWING
from pages._shared.map_state import View

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.store.run import Run

KEY = "map-alone"


def show(run: Run, pairs: PairSet) -> None:
    """Draw both sides as a run sees them; what is clicked is opened on the map.

    Parameters
    ----------
    run : Run
        Whose eyes to see with.
    pairs : PairSet
        Its data set.
    """
    from simviz.charts.canvas import map_alt

    picked = map_canvas.news("picked", KEY)
    if picked is not None and picked.get("key"):
        where = {"data": run.info.dataset_id, "run": run.id, "sel": str(picked["key"])}
        st.switch_page("pages/map.py", query_params=where)
    placed = drawings.kept(run.id, FIRST_DRAWING, run)
    masks = np.ones(len(placed.x_rows), dtype=bool), np.ones(len(placed.y_rows), dtype=bool)
    scene = map_stage.scene_of(run, pairs, FIRST_DRAWING, masks)
    st.html(map_canvas.STYLE)
    map_canvas.send(scene.items, "items")
    map_canvas.send(scene.places, "places")
    told = map_stage.data(View(run.info.dataset_id, run.id), scene)
    alt = map_alt(placed.drawing, (pairs.x_name, pairs.y_name))
    map_canvas.show(told | {"asked": [], "scrolls": True, "alt": alt}, KEY)
    if placed.drawing.quality is not None:
        st.caption(
            f"{placed.drawing.quality.describe()} {' '.join(placed.drawing.notes)} "
            "Press an item to open it on the map."
        )
