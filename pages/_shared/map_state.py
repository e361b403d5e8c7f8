"""What the map shows: the visitor's choices, and the link that means them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import streamlit as st

from pages._shared import links, state

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.store import RunInfo
    from simviz.store.run import Run

Side = Literal["x", "y"]
Item = tuple[Side, int]
DRAWINGS = {"mds": "MDS", "umap": "UMAP", "pca": "PCA"}
#: The drawing that every run has from training.
FIRST_DRAWING = "mds-2"
CHART = "map-chart"
_DRAWING = re.compile(r"(mds|umap|pca)-([23])")
_ITEM = re.compile(r"([xy])(\d{1,9})")


@dataclass(slots=True)
class View:
    """What the map shows.

    Parameters
    ----------
    dataset_id : str
        Of which data set.
    run_id : str, optional
        As seen by which run.
    drawing : str
        Method and dimensions, such as "mds-2".
    item : (side, int), optional
        The item that was selected, by its position in the data set.
    lost : str
        What of the link could not be followed.
    regions : bool, optional
        Whether regions are labelled; None where nobody chose.
    """

    dataset_id: str
    run_id: str | None = None
    drawing: str = FIRST_DRAWING
    item: Item | None = None
    lost: str = ""
    regions: bool | None = None


def current(dataset_id: str) -> View:
    """The view of this session on a data set; a new one for another data set."""
    view = st.session_state.get("map-view")
    if not isinstance(view, View) or view.dataset_id != dataset_id:
        view = View(dataset_id)
        st.session_state["map-view"] = view
        for key in ("map-link", "map-run", "map-clicked"):
            st.session_state.pop(key, None)
    return view


def follow_link(view: View, pairs: PairSet) -> list[str]:
    """Take over what the address says, unless the page itself wrote it there.

    Parameters
    ----------
    view : View
        Changed in place.
    pairs : PairSet
        Its data set.

    Returns
    -------
    list of str
        Jobs to wait for, where the link means a run that is being trained.
    """
    asked = st.query_params.to_dict()
    if asked == st.session_state.get("map-link"):
        return []
    st.session_state["map-link"] = asked
    view.lost = ""
    seen = state.share()
    told = (dict(seen.view) if seen else {}) | asked
    if "run" in asked or "method" in asked:
        wanted = links.wanted_run(view.dataset_id)
        if wanted is not None:
            view.run_id = wanted.id
        elif links.wanted_jobs():
            # The link is followed again when the run is there.
            st.session_state.pop("map-link")
            return links.wanted_jobs()
        else:
            view.lost = (
                "The run of this link is not here: it was deleted, or it is in another workspace."
            )
    if _DRAWING.fullmatch(told.get("drawing", "")):
        view.drawing = told["drawing"]
    if told.get("regions") in ("0", "1"):
        view.regions = told["regions"] == "1"
    if "sel" in told:
        view.item = _item(told["sel"], pairs)
    return []


def choose_run(view: View, infos: Sequence[RunInfo]) -> str:
    """The run to show: the chosen one while it is there, else the one looked at last."""
    known = [info.id for info in infos]
    if view.run_id not in known:
        before = st.session_state.get("run_ids") or []
        view.run_id = next((run_id for run_id in before if run_id in known), known[0])
    return view.run_id


def follow_click(view: View, pairs: PairSet) -> None:
    """Select what was clicked since the last run of the page.

    What was clicked is told by the stable id of the point; the position of a
    point within its trace means nothing once the figure has changed.
    """
    event = st.session_state.get(CHART) or {}
    points = (event.get("selection") or {}).get("points") or [{}]
    told = points[0].get("customdata")
    key = told[0] if isinstance(told, list) and told else told
    if key == st.session_state.get("map-clicked"):
        return
    st.session_state["map-clicked"] = key
    if isinstance(key, str) and key[:2] in ("x:", "y:"):
        side: Side = "x" if key[0] == "x" else "y"
        items = pairs.x if side == "x" else pairs.y
        found = (items.ids == key[2:]).nonzero()[0]
        if len(found):
            view.item = side, int(found[0])


def write_link(view: View, run: Run) -> dict[str, str]:
    """Put the view into the address; answer with what is about the map alone."""
    own = {} if view.drawing == FIRST_DRAWING else {"drawing": view.drawing}
    if view.item is not None:
        own["sel"] = f"{view.item[0]}{view.item[1]}"
    if view.regions is not None:
        own["regions"] = "1" if view.regions else "0"
    if state.share() is not None:
        base = {"share": st.query_params["share"]}
    else:
        base = links.demo_link(run) or {"data": view.dataset_id, "run": run.id}
    if st.query_params.to_dict() != base | own:
        st.query_params.from_dict(base | own)
    st.session_state["map-link"] = base | own
    return own


def _item(told: str, pairs: PairSet) -> Item | None:
    found = _ITEM.fullmatch(told)
    if not found:
        return None
    side: Side = "x" if found[1] == "x" else "y"
    row = int(found[2])
    return (side, row) if row < len(pairs.x if side == "x" else pairs.y) else None
