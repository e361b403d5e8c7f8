"""What the map shows: the visitor's choices, and the link that means them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import streamlit as st

from pages._shared import asking, links, map_camera, map_canvas, map_link, parts, state
from pages._shared.map_link import BALANCES, FIRST_DRAWING

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.store import RunInfo
    from simviz.store.run import Run

Side = Literal["x", "y"]
Item = tuple[Side, int]
DRAWINGS = {"mds": "MDS", "umap": "UMAP", "pca": "PCA"}
_LONGEST_QUERY = 2_000
#: What of the link only the browser knows at first.
_OF_BROWSER = ("at", "find", "hide")
#: Parameters of the link that every page has.
_OF_ALL_PAGES = (parts.LINK, asking.LINK)


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
    outline : tuple of (across, up)
        What was drawn around items, in halves of the map's extent.
    enclosed : tuple of int, optional
        Rows of the drawing inside it, the y side after the x side; None while
        only the outline is known.
    outlined : str
        Digest of the places on which it was drawn; empty while that is not known.
    colour : str
        What colours mean, see `map_bar.pick_colour`.
    side, part : str
        Which items to show, empty for all.
    has_table : bool
        Whether the table of all items is shown.
    dims : int, optional
        Where the slider through the dimensions stands; None where it is closed.
    find : (str, str), optional
        How items were looked for, and by what.
    closed : tuple of str
        Entries of the legend that hide what they stand for.
    set_n : int
        Counts how often the link said what of these two the browser shows.
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
    outline: map_link.Outline = ()
    enclosed: tuple[int, ...] | None = ()
    outlined: str = ""
    colour: str = map_link.COLOURS[0]
    side: Literal["", "x", "y"] = ""
    part: str = ""
    has_table: bool = False
    dims: int | None = None
    find: tuple[str, str] | None = None
    closed: tuple[str, ...] = ()
    set_n: int = 0

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
        for key in ("map-link", "map-run", map_canvas.KEY, map_canvas.CAMERA_KEY):
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
    own = {name: value for name, value in asked.items() if name not in _OF_ALL_PAGES}
    if own == st.session_state.get("map-link"):
        return []
    st.session_state["map-link"] = own
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
    map_link.take(view, told, pairs, columns(pairs.digest, pairs))
    return []


def choose_run(view: View, infos: Sequence[RunInfo]) -> str:
    """The run to show: the chosen one while it is there, else the one looked at last."""
    known = [info.id for info in infos]
    if view.run_id not in known:
        before = st.session_state.get("run_ids") or []
        view.run_id = next((run_id for run_id in before if run_id in known), known[0])
    return view.run_id


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

    picked = map_canvas.news("picked")
    if picked is not None:
        key = picked.get("key")
        view.item = map_link.item(key, pairs) if isinstance(key, str) else None
        view.query = None
        if key is None:
            let_go(view)
    region = map_canvas.news("region")
    if region is not None:
        rows = rows_of_bits(map_canvas.unpacked(region.get("rows") or ""), n_drawn)
        view.enclosed, view.outlined = tuple(rows.tolist()), ""
        view.outline = map_link.outline(region.get("corners"))
    asked = map_canvas.news("asked")
    if asked is not None and asked.get("side") in ("x", "y"):
        text = str(asked.get("text", "")).strip()[:_LONGEST_QUERY]
        view.query = (asked["side"], text) if text else None
        view.item = None


def select(view: View, item: Item | None) -> None:
    """Select an item, or nothing; a query gives way to it."""
    view.item, view.query = item, None


def let_go(view: View) -> None:
    """Nothing is enclosed any more."""
    view.enclosed, view.outline, view.outlined = (), (), ""


def hear(view: View) -> None:
    """Let the link follow what the reader does on the map that needs no answer."""
    told = st.session_state.get(map_canvas.CAMERA_KEY) or {}
    place = map_camera.checked(told.get("at"))
    if place is not None:
        view.at = place
    done = told.get("set")
    if isinstance(done, dict):
        found = done.get("find")
        view.find = None
        if isinstance(found, list) and len(found) == 2 and found[0] in map_link.WAYS.values():
            text = str(found[1]).strip()[:_LONGEST_QUERY]
            view.find = (found[0], text) if text else None
        closed = done.get("closed")
        view.closed = map_link.closed(closed if isinstance(closed, list) else [])
    told_link = st.session_state.get("map-link")
    if isinstance(told_link, dict):
        link = {name: value for name, value in told_link.items() if name not in _OF_BROWSER}
        link |= map_link.client(view)
        if link != told_link:
            st.session_state["map-link"] = link
            kept = {name: v for name, v in st.query_params.items() if name in _OF_ALL_PAGES}
            st.query_params.from_dict(link | kept)


def write_link(view: View, run: Run, pairs: PairSet) -> dict[str, str]:
    """Put the view into the address; answer with what a published view says of it."""
    own = map_link.own(view, columns(pairs.digest, pairs))
    if state.share() is not None:
        base = {"share": st.query_params["share"]}
    else:
        base = links.demo_link(run) or {"data": view.dataset_id, "run": run.id}
    kept: dict[str, str] = {parts.LINK: parts.current(view.dataset_id)}
    direction = asking.current(view.dataset_id, pairs)
    if direction != asking.usual(view.dataset_id, pairs).direction:
        kept[asking.LINK] = direction
    if st.query_params.to_dict() != base | own | kept:
        st.query_params.from_dict(base | own | kept)
    st.session_state["map-link"] = base | own
    return own | kept


@st.cache_resource(show_spinner=False, max_entries=12)
def columns(digest: str, _pairs: PairSet) -> tuple[str, ...]:
    """Columns of the data that colours can mean."""
    from simviz.data.columns import telling_columns

    return telling_columns(_pairs.x, _pairs.y)
