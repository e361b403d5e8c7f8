"""What the map shows: the visitor's choices, and the link that means them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import streamlit as st

from simviz.workbench.map import canvas
from simviz.workbench.shell import links, settings, state

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.store import RunInfo
    from simviz.store.run import Run

#: How far across and up from the middle of the map, in halves of its extent; and the zoom.
Place = tuple[float, float, float]
#: The whole map: what a link need not say.
WHOLE: Place = (0.0, 0.0, 1.0)
_FARTHEST = 3.0
_ZOOM = (0.5, 500.0)


def checked(told: object) -> Place | None:
    """A place out of what the browser told; None if it is none."""
    if not isinstance(told, list | tuple) or len(told) != 3:
        return None
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in told):
        return None
    across, up, zoom = (float(value) for value in told)
    if max(abs(across), abs(up)) > _FARTHEST or not _ZOOM[0] <= zoom <= _ZOOM[1]:
        return None
    return across, up, zoom


def parse(text: str | None) -> Place | None:
    """A place out of a link; None if it says nothing or nonsense."""
    try:
        return checked([float(value) for value in (text or "")[:60].split(",")])
    except ValueError:
        return None


def link(place: Place | None) -> dict[str, str]:
    """What a link says of a place; nothing for the whole map."""
    if place is None or place == WHOLE:
        return {}
    return {"at": ",".join(f"{value:.3f}".rstrip("0").rstrip(".") for value in place)}


Outline = tuple[tuple[float, float], ...]
#: What colours can mean beside columns of the data: the side, the part of the split, how soon an
#: item finds what belongs to it, and how similar its nearest is.
COLOURS = ("side", "part", "found", "score")
#: What is done about the gap between the sides: names in links and of drawings.
BALANCES = ("center", "none", "rank")
#: Ways to look for items by their text, by their name in links.
WAYS = {"t": "text", "p": "pattern"}
PARTS = ("train", "validation", "test", "left out")
#: The drawing that every run has from training.
FIRST_DRAWING = "mds-2"
_DRAWING = re.compile(r"(mds|umap|pca)-[23]")
_ITEM = re.compile(r"([xy])(\d{1,9})")
_CLOSED = re.compile(r"[sg]\d{1,3}")
#: Characters of typed texts, entries of the legend and corners of an outline that a link holds.
_LONGEST, _MOST_CLOSED, _MOST_CORNERS = 200, 12, 40


def item(told: str, pairs: PairSet) -> tuple[Side, int] | None:
    """An item out of its short id ("x7"); None if there is no such item."""
    found = _ITEM.fullmatch(told)
    if not found:
        return None
    side: Side = "x" if found[1] == "x" else "y"
    row = int(found[2])
    return (side, row) if row < len(pairs.x if side == "x" else pairs.y) else None


def take(view: View, told: Mapping[str, str], pairs: PairSet, columns: Sequence[str]) -> None:
    """Take over what a link says of the map; nonsense changes nothing."""
    drawing = _DRAWING.fullmatch(told.get("drawing", ""))
    if drawing:  # there were once drawings in three dimensions
        view.drawing = f"{drawing[1]}-2"
    if told.get("regions") in ("0", "1"):
        view.regions = told["regions"] == "1"
    if told.get("gap") in BALANCES:
        view.balance = told["gap"]
    if "halos" in told:
        view.has_halos = told["halos"] == "1"
    if "table" in told:
        view.has_table = told["table"] == "1"
    if "colour" in told:
        view.colour = _colour(told["colour"], columns) or view.colour
    if told.get("side") in ("x", "y"):
        view.side = cast(Side, told["side"])
    # Once this was called "part", which now says whose figures are shown.
    if told.get("part") in ("train", "left out"):
        view.part = told["part"]
    if told.get("only") in PARTS:
        view.part = told["only"]
    if told.get("dims", "").isascii() and told.get("dims", "")[:5].isdigit():
        view.dims = int(told["dims"][:5])
    if "sel" in told:
        view.item = item(told["sel"], pairs)
    asked = _typed(told.get("ask"))
    if asked is not None and asked[0] in ("x", "y") and view.item is None:
        view.query = cast(Side, asked[0]), asked[1]
    found = _typed(told.get("find"))
    if found is not None and found[0] in WAYS:
        view.find = WAYS[found[0]], found[1]
        view.set_n += 1
    if "hide" in told:
        view.closed = closed_panels(told["hide"].split(","))
        view.set_n += 1
    corners = _parse_outline(told.get("lasso", ""))
    if corners:
        view.outline, view.enclosed = corners, None
    place = parse(told.get("at"))
    if place is not None:
        view.at, view.at_n = place, view.at_n + 1


def own_texts(view: View, columns: Sequence[str]) -> dict[str, str]:
    """What a link says of the map beside whose eyes see it; what is usual goes unsaid."""
    told: dict[str, str | None] = {
        "drawing": None if view.drawing == FIRST_DRAWING else view.drawing,
        "sel": None if view.item is None else f"{view.item[0]}{view.item[1]}",
        "ask": None if view.query is None else f"{view.query[0]}:{view.query[1][:_LONGEST]}",
        "regions": None if view.regions is None else str(int(view.regions)),
        "gap": None if view.balance == BALANCES[0] else view.balance,
        "halos": "1" if view.has_halos else None,
        "table": "1" if view.has_table else None,
        "colour": None if view.colour == COLOURS[0] else _told_colour(view.colour, columns),
        "side": view.side or None,
        "only": view.part or None,
        "dims": None if view.dims is None else str(view.dims),
        "lasso": _told_outline(view.outline) if view.outline else None,
    }
    return {name: value for name, value in told.items() if value is not None} | client(view)


def client(view: View) -> dict[str, str]:
    """What of it only the browser knows at first: the camera, what was looked for, the legend."""
    told = link(view.at)
    if view.find is not None:
        way = next(short for short, name in WAYS.items() if name == view.find[0])
        told["find"] = f"{way}:{view.find[1][:_LONGEST]}"
    if view.closed:
        told["hide"] = ",".join(view.closed)
    return told


def closed_panels(told: Sequence[object]) -> tuple[str, ...]:
    """Entries of the legend that hide what they stand for, as far as they can be any."""
    known = [key for key in told if isinstance(key, str) and _CLOSED.fullmatch(key)]
    return tuple(dict.fromkeys(known))[:_MOST_CLOSED]


def outline(told: object) -> Outline:
    """Corners of what was drawn around items, in halves of the map's extent; none if nonsense."""
    if not isinstance(told, list | tuple) or not 3 <= len(told) <= _MOST_CORNERS:
        return ()
    corners = []
    for corner in told:
        if not isinstance(corner, list | tuple) or len(corner) != 2:
            return ()
        if not all(isinstance(v, int | float) and abs(v) <= 1_000 for v in corner):
            return ()
        corners.append((float(corner[0]), float(corner[1])))
    return tuple(corners)


def rows_inside(corners: Outline, points: Any) -> Any:
    """Rows of points that lie inside an outline."""
    low, high = points.min(axis=0), points.max(axis=0)
    half = max(float((high - low).max()) / 2, 1e-9)
    across, up = ((points - (low + high) / 2) / half).T
    is_in = np.zeros(len(points), dtype=bool)
    for (x0, y0), (x1, y1) in zip(corners, (*corners[-1:], *corners[:-1]), strict=True):
        if y0 != y1:
            crosses = (y0 > up) != (y1 > up)
            is_in ^= crosses & (across < (x1 - x0) * (up - y0) / (y1 - y0) + x0)
    return np.flatnonzero(is_in)


def _typed(told: str | None) -> tuple[str, str] | None:
    """How and what was typed ("x:red heart"); None if nothing was."""
    way, sign, text = (told or "").partition(":")
    text = text.strip()[:_LONGEST]
    return (way, text) if sign and text else None


def _colour(told: str, columns: Sequence[str]) -> str | None:
    if told in COLOURS:
        return told
    at = told[1:5]
    if told[:1] == "c" and at.isascii() and at.isdigit() and int(at) < len(columns):
        return f"={columns[int(at)]}"
    return None


def _told_colour(colour: str, columns: Sequence[str]) -> str | None:
    if colour in COLOURS:
        return colour
    name = colour.removeprefix("=")
    return f"c{columns.index(name)}" if name in columns else None


def _parse_outline(told: str) -> Outline:
    try:
        pairs = [corner.split(",") for corner in told[:1_000].split(";") if corner]
        return outline([[float(value) for value in corner] for corner in pairs])
    except ValueError:
        return ()


def _told_outline(corners: Outline) -> str:
    return ";".join(f"{x:.3f},{y:.3f}" for x, y in corners)


Side = Literal["x", "y"]
Item = tuple[Side, int]
DRAWINGS = {"mds": "MDS", "umap": "UMAP", "pca": "PCA"}
_LONGEST_QUERY = 2_000
#: What of the link only the browser knows at first.
_OF_BROWSER = ("at", "find", "hide")
#: Parameters of the link that every page has.
_OF_ALL_PAGES = (settings.PART_LINK, settings.DIRECTION_LINK)


@dataclass(slots=True)
class View:
    """What the map shows."""

    dataset_id: str
    run_id: str | None = None
    drawing: str = FIRST_DRAWING
    item: Item | None = None
    lost: str = ""
    regions: bool | None = None
    balance: str = BALANCES[0]
    has_halos: bool = False
    at: Place | None = None
    at_n: int = 0
    query: tuple[Side, str] | None = None
    outline: Outline = ()
    enclosed: tuple[int, ...] | None = ()
    outlined: str = ""
    colour: str = COLOURS[0]
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
        for key in ("map-link", "map-run", canvas.KEY, canvas.CAMERA_KEY):
            st.session_state.pop(key, None)
    return view


def follow_link(view: View, pairs: PairSet) -> list[str]:
    """Take over what the address says, unless the page itself wrote it there."""
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
    take(view, told, pairs, columns(pairs.digest, pairs))
    return []


def choose_run(view: View, infos: Sequence[RunInfo]) -> str:
    """The run to show: the chosen one while it is there, else the one looked at last."""
    known = [info.id for info in infos]
    if view.run_id not in known:
        before = st.session_state.get("run_ids") or []
        view.run_id = next((run_id for run_id in before if run_id in known), known[0])
    return view.run_id


def follow_canvas(view: View, pairs: PairSet, n_drawn: int) -> None:
    """Take over what was clicked, enclosed or asked on the map since the last run."""
    from simviz.charts.canvas import rows_of_bits

    picked = canvas.news("picked")
    if picked is not None:
        key = picked.get("key")
        view.item = item(key, pairs) if isinstance(key, str) else None
        view.query = None
        if key is None:
            let_go(view)
    region = canvas.news("region")
    if region is not None:
        rows = rows_of_bits(canvas.unpacked(region.get("rows") or ""), n_drawn)
        view.enclosed, view.outlined = tuple(rows.tolist()), ""
        view.outline = outline(region.get("corners"))
    asked = canvas.news("asked")
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
    told = st.session_state.get(canvas.CAMERA_KEY) or {}
    place = checked(told.get("at"))
    if place is not None:
        view.at = place
    done = told.get("set")
    if isinstance(done, dict):
        found = done.get("find")
        view.find = None
        if isinstance(found, list) and len(found) == 2 and found[0] in WAYS.values():
            text = str(found[1]).strip()[:_LONGEST_QUERY]
            view.find = (found[0], text) if text else None
        closed = done.get("closed")
        view.closed = closed_panels(closed if isinstance(closed, list) else [])
    told_link = st.session_state.get("map-link")
    if isinstance(told_link, dict):
        link = {name: value for name, value in told_link.items() if name not in _OF_BROWSER}
        link |= client(view)
        if link != told_link:
            st.session_state["map-link"] = link
            kept = {name: v for name, v in st.query_params.items() if name in _OF_ALL_PAGES}
            st.query_params.from_dict(link | kept)


def write_link(view: View, run: Run, pairs: PairSet) -> dict[str, str]:
    """Put the view into the address; answer with what a published view says of it."""
    own = own_texts(view, columns(pairs.digest, pairs))
    if state.share() is not None:
        base = {"share": st.query_params["share"]}
    else:
        base = links.demo_link(run) or {"data": view.dataset_id, "run": run.id}
    kept: dict[str, str] = {settings.PART_LINK: settings.current_part(view.dataset_id)}
    direction = settings.current_direction(view.dataset_id, pairs)
    if direction != settings.usual_direction(view.dataset_id, pairs).direction:
        kept[settings.DIRECTION_LINK] = direction
    if st.query_params.to_dict() != base | own | kept:
        st.query_params.from_dict(base | own | kept)
    st.session_state["map-link"] = base | own
    return own | kept


@st.cache_resource(show_spinner=False, max_entries=12)
def columns(digest: str, _pairs: PairSet) -> tuple[str, ...]:
    """Columns of the data that colours can mean."""
    from simviz.data.metadata import telling_columns

    return telling_columns(_pairs.x, _pairs.y)
