"""The slim bar above the map: what is drawn, how, and what of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import streamlit as st

from pages._shared import compare_runs, map_link, map_state, plain, state
from pages._shared.compare_marks import plain as one_line
from pages._shared.map_state import DRAWINGS, View

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.jobs.placed import Placed
    from simviz.store import RunInfo

#: Pixels of the box with the names of runs, and characters that are read in it whole.
_WIDEST, _FITTING, _FITTING_NARROW = 225, 21, 17


def pick_run(view: View, infos: Sequence[RunInfo]) -> str:
    """Choose whose eyes to see with."""
    titles = compare_runs.label_runs(infos)
    st.session_state["map-run"] = map_state.choose_run(view, infos)
    longest = max(map(len, titles.values()))
    st.selectbox(
        "Seen by",
        list(titles),
        format_func=titles.__getitem__,
        key="map-run",
        label_visibility="collapsed",
        # As wide as the longest name needs, up to a limit.
        width="stretch" if state.is_narrow() else min(_WIDEST, max(160, 62 + 8 * longest)),
        on_change=_take_run,
        args=(view,),
    )
    return str(view.run_id)


def _take_run(view: View) -> None:
    view.run_id = st.session_state["map-run"]


def say_long_name(view: View, infos: Sequence[RunInfo]) -> None:
    """Write the name of the run out below the bar, where its box must cut it."""
    title = compare_runs.label_runs(infos)[str(view.run_id)]
    if len(title) > (_FITTING_NARROW if state.is_narrow() else _FITTING):
        plain.quiet(f"Seen by {title}")


def pick_drawing(view: View) -> None:
    """Choose how the space is made flat."""
    st.session_state["map-method"] = view.drawing.partition("-")[0]
    st.segmented_control(
        "Drawing",
        list(DRAWINGS),
        format_func=DRAWINGS.__getitem__,
        required=True,
        key="map-method",
        label_visibility="collapsed",
        help="MDS keeps distances, UMAP keeps neighbourhoods, PCA shows the main directions.",
        on_change=_take_drawing,
        args=(view,),
    )


def _take_drawing(view: View) -> None:
    view.drawing = f"{st.session_state['map-method']}-2"


def pick_colour(view: View, pairs: PairSet) -> str:
    """Choose what the colours mean: one of `COLOURS`, or a metadata column as "=name"."""
    choices = [
        *map_link.COLOURS,
        *(f"={name}" for name in map_state.columns(pairs.digest, pairs)),
    ]
    if view.colour not in choices:
        view.colour = choices[0]
    st.session_state["map-colour"] = view.colour
    st.selectbox(
        "Colour by",
        choices,
        format_func=lambda choice: choice.removeprefix("=")[:40],
        key="map-colour",
        label_visibility="collapsed",
        icon=":material/palette:",
        width=132,
        on_change=_take,
        args=(view, "colour"),
    )
    return view.colour


def _take(view: View, name: Literal["colour", "side", "part"]) -> None:
    """What was chosen is closed by no legend of other colours."""
    setattr(view, name, st.session_state[f"map-{name}"])
    if name == "colour" and view.closed:
        view.closed = ()
        view.set_n += 1


def pick_items(
    view: View, placed: Placed, parts: tuple[Any, Any], pairs: PairSet
) -> tuple[Any, Any]:
    """Choose which items to show, by side and part; answer with masks of the drawing."""
    from simviz.jobs.parts import is_in_part, parts_present

    named = [parts[0][placed.x_rows], parts[1][placed.y_rows]]
    present = parts_present(np.concatenate(named))
    if view.part not in present:
        view.part = ""
    names = {"": "Both sides", "x": one_line(pairs.x_name), "y": one_line(pairs.y_name)}
    n_set = bool(view.side) + bool(view.part)
    with st.popover(f"Show · {n_set}" if n_set else "Show", icon=":material/tune:"):
        st.session_state["map-side"], st.session_state["map-part"] = view.side, view.part
        st.radio(
            "Items",
            list(names),
            format_func=names.__getitem__,
            key="map-side",
            on_change=_take,
            args=(view, "side"),
        )
        st.radio(
            "Part of the split",
            ["", *present],
            format_func=lambda part: part or "All parts",
            key="map-part",
            on_change=_take,
            args=(view, "part"),
        )
        st.caption("What is selected is shown in any case, and so is what is nearest to it.")
        st.download_button(
            "Positions as CSV",
            lambda: positions_csv(placed, parts, pairs),
            file_name=f"simviz-{view.drawing}.csv",
            mime="text/csv",
            key="map-csv",
            on_click="ignore",
            icon=":material/download:",
            type="tertiary",
        )
    masks = []
    for side, labels in zip(("x", "y"), named, strict=True):
        keep = np.full(len(labels), view.side in ("", side))
        if view.part:
            keep &= is_in_part(labels, view.part)
        masks.append(keep)
    return masks[0], masks[1]


def positions_csv(placed: Placed, parts: tuple[Any, Any], pairs: PairSet) -> str:
    """The rows behind the map: who stands where, and in which part."""
    from simviz.charts import map_records
    from simviz.evaluation.tables import csv_text

    items = pairs.x.take(placed.x_rows), pairs.y.take(placed.y_rows)
    part = np.concatenate([parts[0][placed.x_rows], parts[1][placed.y_rows]])
    records = map_records(placed.drawing, *items)
    lines = [[*record.values(), where] for record, where in zip(records, part, strict=True)]
    return csv_text([[*records[0], "part"], *lines])
