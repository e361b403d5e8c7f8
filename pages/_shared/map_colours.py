"""What the colours of the map mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages._shared import drawings, state

if TYPE_CHECKING:
    from pages._shared.map_stage import Scene
    from simviz.charts.grouping import Grouping
    from simviz.jobs.found import Found

_TITLES = {"score": "similarity to the nearest", "found": "found", "part": "part"}


def values(scene: Scene) -> Any:
    """A value for each item of the drawing, the x side first; None for the side itself."""
    pairs, placed = scene.pairs, scene.placed
    if scene.colour == "side":
        return None
    if scene.colour == "found":
        return found(scene).groups
    if scene.colour == "score":
        return found(scene).scores
    rows = np.concatenate([placed.x_rows, len(pairs.x) + placed.y_rows])
    if scene.colour == "part":
        return np.concatenate(scene.parts)[rows]
    from simviz.data.columns import joined_column

    return joined_column(pairs.x, pairs.y, scene.colour.removeprefix("="))[rows]


def title(scene: Scene) -> str:
    """What the values are."""
    return _TITLES.get(scene.colour, scene.colour.removeprefix("="))


def grouping(scene: Scene) -> Grouping:
    """Colours of the items of a drawing, and their legend."""
    return _grouping(scene.run.id, scene.items.digest, scene.colour, state.theme(), scene)


@st.cache_resource(show_spinner=False, max_entries=12)
def _grouping(run_id: str, items: str, colour: str, theme: str, _scene: Scene) -> Grouping:
    from simviz.charts.grouping import group_items
    from simviz.charts.style import get_theme
    from simviz.jobs.found import GROUPS

    told = values(_scene)
    placed, pairs = _scene.placed, _scene.pairs
    return group_items(
        "side" if told is None else told,
        (len(placed.x_rows), len(placed.y_rows)),
        get_theme("dark" if theme == "dark" else "light"),
        names=(pairs.x_name, pairs.y_name),
        title=title(_scene),
        order=GROUPS if colour == "found" else None,
    )


def found(scene: Scene) -> Found:
    """How well every item on the drawing finds what belongs to it."""
    return _found(scene.run.id, scene.items.digest, scene)


@st.cache_resource(show_spinner=False, max_entries=6)
def _found(run_id: str, items: str, _scene: Scene) -> Found:
    from simviz.jobs.found import find_all

    return find_all(drawings.pipeline(run_id, _scene.run), _scene.pairs, _scene.placed)
