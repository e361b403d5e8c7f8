"""What the map shows: the visitor's choices, and the link that means them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import streamlit as st

from pages._shared import links, map_camera, map_canvas, state

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
#: What is done about the gap between the sides: names in links and of drawings.
BALANCES = ("center", "none", "rank")
_LONGEST_QUERY = 2_000
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
    balance : str
        One of `BALANCES`.
    has_halos : bool
        Whether single items show how far to trust their place.
    at : tuple of float, optional
        Where the reader looks; None for the whole map.
    at_n : int
        Counts how often the link said where to look: the map then follows.
    query : (side, str), optional
        What was asked of the model.
    enclosed : tuple of int
        Rows of the drawing that were enclosed, the y side after the x side.
    """

    dataset_id: str
    run_id: str | None = None
    drawing: str = FIRST_DRAWING
    item: Item | None = None
    lost: str = ""
    regions: bool | None = None
    balance: str = BALANCES[0]
    has_halos: bool = False
    at: map_camera.Place | None = None
    at_n: int = 0
    query: tuple[Side, str] | None = None
    enclosed: tuple[int, ...] = ()

    @property
    def kept_as(self) -> str:
        """The name of the drawing, such as "umap-2-none"."""
        return self.drawing if self.balance == BALANCES[0] else f"{self.drawing}-{self.balance}"


def current(dataset_id: str) -> View:
    """The view of this session on a data set; a new one for another data set."""
    view = st.session_state.get("map-view")
    if not isinstance(view, View) or view.dataset_id != dataset_id:
        view = View(dataset_id)
        st.session_state["map-view"] = view
        for key in ("map-link", "map-run", "map-clicked", map_canvas.KEY):
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
    if told.get("gap") in BALANCES:
        view.balance = told["gap"]
    if "halos" in told:
        view.has_halos = told["halos"] == "1"
    if "sel" in told:
        view.item = _item(told["sel"], pairs)
    place = map_camera.parse(told.get("at"))
    if place is not None:
        view.at, view.at_n = place, view.at_n + 1
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


def follow_canvas(view: View, pairs: PairSet, n_drawn: int) -> None:
    """Take over what was clicked, enclosed or asked on the map since the last run.

    Parameters
    ----------
    view : View
        Changed in place.
    pairs : PairSet
        Its data set.
    n_drawn : int
        Items of both sides on the map.
    """
    from simviz.charts.canvas import rows_of_bits

    picked = _news("picked")
    if picked is not None:
        key = picked.get("key")
        view.item = _item(key, pairs) if isinstance(key, str) else None
        view.query = None
        if key is None:
            view.enclosed = ()
    region = _news("region")
    if region is not None:
        rows = rows_of_bits(map_canvas.unpacked(region.get("rows") or ""), n_drawn)
        view.enclosed = tuple(rows.tolist())
    asked = _news("asked")
    if asked is not None and asked.get("side") in ("x", "y"):
        text = str(asked.get("text", "")).strip()[:_LONGEST_QUERY]
        view.query = (asked["side"], text) if text else None
        view.item = None


def _news(name: str) -> dict[str, object] | None:
    """What the map told under a name, once."""
    told = map_canvas.told(name)
    if not told or told.get("n") == st.session_state.get(f"map-heard-{name}"):
        return None
    st.session_state[f"map-heard-{name}"] = told.get("n")
    return told


def select(view: View, item: Item | None) -> None:
    """Select an item, or nothing; a query gives way to it."""
    view.item, view.query = item, None


def hear_camera(view: View) -> None:
    """Let the link follow the reader over the map."""
    told = st.session_state.get(map_canvas.CAMERA_KEY)
    place = map_camera.checked(told.get("at") if told else None)
    if place is None:
        return
    view.at = place
    told_link = st.session_state.get("map-link")
    if isinstance(told_link, dict):
        link = {name: value for name, value in told_link.items() if name != "at"}
        link |= map_camera.link(place)
        st.session_state["map-link"] = link
        st.query_params.from_dict(link)


def write_link(view: View, run: Run) -> dict[str, str]:
    """Put the view into the address; answer with what is about the map alone."""
    own = {} if view.drawing == FIRST_DRAWING else {"drawing": view.drawing}
    if view.item is not None:
        own["sel"] = f"{view.item[0]}{view.item[1]}"
    if view.regions is not None:
        own["regions"] = "1" if view.regions else "0"
    if view.balance != BALANCES[0]:
        own["gap"] = view.balance
    if view.has_halos:
        own["halos"] = "1"
    own |= map_camera.link(view.at)
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
