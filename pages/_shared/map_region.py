"""Items that were enclosed on the map, and the table that says what the map shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages._shared import map_colours, map_link, map_state, plain
from pages._shared.map_state import View

if TYPE_CHECKING:
    import pandas as pd

    from pages._shared.map_stage import Scene
    from simviz.jobs.found import Found

_TEXT = 300


def show_twin_switch(view: View) -> None:
    """A switch for the table of all that is on the map."""
    st.session_state["map-table"] = view.has_table
    st.toggle(
        "Table",
        key="map-table",
        help="All items on the map as a table.",
        on_change=_take_table,
        args=(view,),
    )


def _take_table(view: View) -> None:
    view.has_table = st.session_state["map-table"]


def find_enclosed(view: View, scene: Scene) -> None:
    """Which items lie inside the outline that a link brought; on another drawing, none do."""
    drawn = scene.places.digest
    if view.enclosed is not None:
        if view.enclosed and view.outlined not in ("", drawn):
            map_state.let_go(view)
        view.outlined = drawn if view.enclosed else ""
        return
    view.outlined = drawn
    points = np.concatenate([scene.placed.drawing.x, scene.placed.drawing.y])
    shown = np.concatenate(scene.masks)
    index = map_colours.grouping(scene).index
    for key in view.closed:
        if key[0] == "s":
            shown &= (np.arange(len(shown)) >= scene.n_x) != (key == "s1")
        elif index is not None:
            shown &= index != int(key[1:])
    inside = map_link.rows_inside(view.outline, points)
    view.enclosed = tuple(inside[shown[inside]].tolist())


def show(view: View, scene: Scene) -> None:
    """Show the items that were enclosed, else, where it is asked for, all of them."""
    shown = np.flatnonzero(np.concatenate(scene.masks))
    if view.enclosed:
        rows = np.array([row for row in view.enclosed if row < len(np.concatenate(scene.masks))])
        _show_enclosed(view, scene, rows)
    elif view.has_table:
        _show_table(scene, shown, "map-all")


def _show_enclosed(view: View, scene: Scene, rows: Any) -> None:
    n_x = int((rows < scene.n_x).sum())
    pairs = scene.pairs
    with st.container(key="map-enclosed"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{len(rows):,} items enclosed**")
            plain.quiet(f"{n_x:,} {pairs.x_name} · {len(rows) - n_x:,} {pairs.y_name}")
            st.button(
                "Let go",
                key="map-let-go",
                on_click=map_state.let_go,
                args=(view,),
                type="tertiary",
                icon=":material/close:",
            )
        told = map_colours.found(scene)
        figures = _figures(scene, rows, told)
        if figures:
            plain.figures(figures)
            plain.quiet(
                "MRR of the enclosed items over all others on the map of the other side, those "
                "of training included."
            )
        _show_table(scene, rows, "map-enclosed-table", told)


def _figures(scene: Scene, rows: Any, told: Found) -> list[tuple[str, str]]:
    """MRR of what is enclosed and of all, from each side that can ask."""
    made = []
    names = scene.pairs.x_name, scene.pairs.y_name
    for values, own, name in (
        (told.x, rows[rows < scene.n_x], names[0]),
        (told.y, rows[rows >= scene.n_x] - scene.n_x, names[1]),
    ):
        asked = values[own]
        asked = asked[~np.isnan(asked)]
        if len(asked):
            every = values[~np.isnan(values)].mean()
            words = f"MRR of {len(asked):,} {name} (all: {every:.2f})"
            made.append((f"{asked.mean():.2f}", words))
    return made


def _show_table(scene: Scene, rows: Any, key: str, told: Found | None = None) -> None:
    table = frame(scene, rows, told)
    st.dataframe(
        table.drop(columns=["key"]),
        key=key,
        hide_index=True,
        height=min(360, 38 + 35 * len(table)),
        on_select=lambda: _pick(key, table["key"].tolist()),
        selection_mode="single-row",
        column_config={
            "found": st.column_config.NumberColumn(
                "1 / rank", format="%.2f", help="Reciprocal rank of the first that belongs to it."
            )
        },
    )
    st.download_button(
        "These items as CSV",
        lambda: csv_of(scene, rows, told),
        file_name="simviz-map-items.csv",
        mime="text/csv",
        key=f"{key}-csv",
        on_click="ignore",
        icon=":material/download:",
        type="tertiary",
    )


def _pick(key: str, keys: list[str]) -> None:
    """A row of the table is selected as its point on the map would be."""
    rows = st.session_state[key].selection.rows
    view = st.session_state.get("map-view")
    if rows and isinstance(view, View):
        side: map_state.Side = "x" if keys[rows[0]][0] == "x" else "y"
        map_state.select(view, (side, int(keys[rows[0]][1:])))


def frame(scene: Scene, rows: Any, told: Found | None = None) -> pd.DataFrame:
    """Items as a table: side, id, text, part of the split and the columns of the data.

    Parameters
    ----------
    scene : Scene
        What is drawn.
    rows : ndarray of int
        Items of the drawing, the y side after the x side.
    told : Found, optional
        Adds how soon each finds what belongs to it.

    Returns
    -------
    DataFrame
        One row an item, with its key ("x7": the eighth item of the x side).
    """
    import pandas as pd

    from simviz.charts.text import safe_line

    pairs, placed = scene.pairs, scene.placed
    tables = []
    rows = np.asarray(rows, dtype=np.intp)
    for side, items, name, drawn, part in (
        ("x", pairs.x, pairs.x_name, placed.x_rows, scene.parts[0]),
        ("y", pairs.y, pairs.y_name, placed.y_rows, scene.parts[1]),
    ):
        shift = 0 if side == "x" else scene.n_x
        own = rows[(rows >= shift) & (rows < shift + len(drawn))] - shift
        index = drawn[own]
        texts = items.content if items.kind in ("text", "keyword") else items.labels
        columns = {
            "key": [f"{side}{i}" for i in index],
            "side": [name] * len(index),
            "id": [str(items.ids[i]) for i in index],
            "text": [safe_line(texts[i], _TEXT) for i in index],
            "part": [str(part[i]) for i in index],
        }
        if told is not None:
            columns["found"] = (told.x if side == "x" else told.y)[own]
        for column, values in items.metadata.items():
            if column != "label":
                told_values = (values[i] for i in index)
                columns.setdefault(column, ["" if v is None else str(v) for v in told_values])
        tables.append(pd.DataFrame(columns))
    joined = pd.concat([table for table in tables if len(table)] or tables, ignore_index=True)
    # One side may have columns that the other has not.
    texts = [name for name in joined.columns if name != "found"]
    return joined.fillna(dict.fromkeys(texts, ""))


def csv_of(scene: Scene, rows: Any, told: Found | None = None) -> str:
    """The same table as a file, safe to open in a spreadsheet."""
    from simviz.evaluation.tables import csv_text

    table = frame(scene, rows, told).drop(columns=["key"])
    lines = [
        ["" if value is None or value != value else value for value in line]
        for line in table.itertuples(index=False)
    ]
    return csv_text([list(table.columns), *lines])
