"""What the map shows: the visitor's choices, and the link that means them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

import numpy as np
import streamlit as st

from simviz._types import Side
from simviz.charts.canvas import unpack_bits
from simviz.data.description import telling_columns
from simviz.data.pairs import PairSet
from simviz.jobs.run_drawings import DEFAULT_LAYOUT, SHARES
from simviz.store.run import Run
from simviz.workbench.map import canvas
from simviz.workbench.shell import links, preferences, query_params, state

Item = tuple[Side, int]
#: How far across and up from the middle of the map, in halves of its extent; and the zoom.
Camera = tuple[float, float, float]
#: Corners of what was drawn around items, in halves of the map's extent.
Outline = tuple[tuple[float, float], ...]
#: The whole map: what a link need not say.
WHOLE_MAP: Camera = (0.0, 0.0, 1.0)
#: What each drawing is called, and what it keeps.
DRAWINGS = {
    "two-sided": (
        "Cross-side neighbours",
        "Neighbours on both sides: what a search finds stays near.",
    ),
    "umap": ("UMAP", "Neighbours among all items, whichever side they are of."),
    "mds": ("MDS", "Distances, large ones above all."),
    "pca": ("PCA", "The two directions in which the items differ most."),
}
#: What colours can mean beside columns of the data: the side, the part of the split, how soon an
#: item finds what belongs to it, how similar its nearest is, and how much a second model changes.
COLOURS = ("side", "part", "found", "score", "change")
#: What is done about the gap between the sides: names in links and of drawings.
BALANCES = ("center", "none", "rank")
#: Ways to look for items by their text, by their name in links.
WAYS = {"t": "text", "p": "pattern"}
PARTS = ("train", "validation", "test", "left out")
_FARTHEST, _MIN_ZOOM, _MAX_ZOOM = 3.0, 0.5, 500.0
_DRAWING = re.compile(rf"(two-sided|mds|umap|pca)-2(?:-({'|'.join(map(str, SHARES))}))?")
_CLOSED = re.compile(r"[sg]\d{1,3}")
#: Columns with the bins or groups that pass, as `column_codes` counts them.
_FILTER = re.compile(r"(\d:\d{1,2}(\.\d{1,2}){0,30};?){0,6}")
#: Characters of typed texts, entries of the legend and corners of an outline that a link holds.
_LONGEST, _MAX_CLOSED, _MAX_CORNERS = 200, 12, 40
_LONGEST_QUERY = 2_000


@dataclass(slots=True)
class View:
    """What the map shows."""

    dataset_id: str
    run_id: str | None = None
    beside: str = ""
    drawing: str = DEFAULT_LAYOUT
    across: int = SHARES[0]
    item: Item | None = None
    lost: str = ""
    regions: bool | None = None
    balance: str = BALANCES[0]
    has_halos: bool = False
    at: Camera | None = None
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
    filter: str = ""
    set_n: int = 0

    @property
    def drawing_name(self) -> str:
        """The name of the drawing, such as "umap-2-none" or "two-sided-2-50"."""
        if self.drawing == DEFAULT_LAYOUT:
            return self.drawing if self.across == SHARES[0] else f"{self.drawing}-{self.across}"
        return self.drawing if self.balance == BALANCES[0] else f"{self.drawing}-{self.balance}"

    def draw_by(self, method: str) -> None:
        """Take another kind of drawing; how the sides are moved together is no matter of one."""
        self.drawing = f"{method}-2"
        if self.drawing == DEFAULT_LAYOUT:
            self.balance = BALANCES[0]

    def put_beside(self, run_id: str) -> None:
        """Compare with another run, or with none; colours say what changed."""
        self.beside, self.dims = run_id, None
        self.colour = "change" if run_id else COLOURS[0]
        self.closed, self.set_n = (), self.set_n + 1

    def colour_by(self, colour: str) -> None:
        """Colour by something else; what was chosen is closed by no legend of other colours."""
        self.colour = colour
        if self.closed:
            self.closed, self.set_n = (), self.set_n + 1

    def select(self, item: Item | None) -> None:
        """Select an item, or nothing; a query gives way to it."""
        self.item, self.query = item, None

    def clear_region(self) -> None:
        """Enclose nothing any more."""
        self.enclosed, self.outline, self.outlined = (), (), ""


def current(dataset_id: str) -> View:
    """Return the view of this session on a data set; a new one for another data set."""
    view = st.session_state.get("map-view")
    if not isinstance(view, View) or view.dataset_id != dataset_id:
        view = st.session_state["map-view"] = View(dataset_id)
        for key in ("map-run", canvas.KEY, canvas.CAMERA_KEY):
            st.session_state.pop(key, None)
    return view


def bound(view: View, name: str, key: str) -> dict[str, Any]:
    """Tie a widget to a field of a view."""
    return driven(key, getattr(view, name), partial(setattr, view, name))


def driven(key: str, shown: Any, take: Callable[[Any], object]) -> dict[str, Any]:
    """Have a widget show a value, and something take what is chosen there."""
    st.session_state[key] = shown
    return {"key": key, "on_change": lambda: take(st.session_state[key])}


@state.cached(12)
def columns(pairs: PairSet) -> tuple[str, ...]:
    """Return the columns of the data that colours can mean."""
    return telling_columns(pairs.x, pairs.y)


def follow_link(view: View, pairs: PairSet) -> list[str]:
    """Take over what the visitor's address says; return jobs to await."""
    new_params = query_params.new_params()
    own = new_params.keys() - {"part", "direction"}  # which are followed where they are chosen
    if not own:
        return []
    view.lost = ""
    if new_params.keys() & {"run", "method"}:
        if (run := links.requested_run(view.dataset_id)) is not None:
            view.run_id = run.id
        elif jobs := links.requested_jobs():
            return jobs  # the link is followed again when the run is there
        else:
            view.lost = (
                "The run of this link is not here: it was deleted, or it is in another workspace."
            )
    apply_link(view, new_params, pairs, columns(pairs))
    for name in own:
        del new_params[name]
    return []


def apply_link(
    view: View, params: Mapping[str, str], pairs: PairSet, columns: Sequence[str]
) -> None:
    """Take over what a link says of the map; nonsense changes nothing."""
    if drawing := _DRAWING.fullmatch(params.get("drawing", "")):
        view.drawing, view.across = f"{drawing[1]}-2", int(drawing[2] or SHARES[0])
    if params.get("regions") in ("", "0", "1"):
        view.regions = params["regions"] == "1" if params["regions"] else None
    if params.get("gap") in BALANCES:
        view.balance = params["gap"]
    if "halos" in params:
        view.has_halos = params["halos"] == "1"
    if "table" in params:
        view.has_table = params["table"] == "1"
    view.colour = _parse_colour(params.get("colour", ""), columns) or view.colour
    if re.fullmatch(r"[0-9a-f]{0,64}", beside := params.get("beside", "-")):
        view.beside = beside
    if params.get("side") in ("", "x", "y"):
        view.side = cast(Literal["", "x", "y"], params["side"])
    if params.get("only") in ("", *PARTS):
        view.part = params["only"]
    if re.fullmatch(r"[0-9]*", dims := params.get("dims", "-")[:5]):
        view.dims = int(dims) if dims else None
    if "sel" in params:
        view.item = links.linked_item(params["sel"], pairs)
    if "ask" in params:
        side, query = _parse_typed(params["ask"])
        is_query = side in ("x", "y") and view.item is None
        view.query = (cast(Side, side), query) if is_query else None
    if "find" in params:
        way, text = _parse_typed(params["find"])
        view.find, view.set_n = (WAYS[way], text) if way in WAYS else None, view.set_n + 1
    if "hide" in params:
        view.closed, view.set_n = valid_closed(params["hide"].split(",")), view.set_n + 1
    if (filters := params.get("filter")) is not None and filters == valid_filter(filters):
        view.filter, view.set_n = filters, view.set_n + 1
    if "lasso" in params:
        view.clear_region()
        corners = [_read_numbers(c) for c in params["lasso"][:1_000].split(";") if c]
        if outline := _valid_outline(corners):
            view.outline, view.enclosed = outline, None
    if (camera := parse_camera(params.get("at"))) is not None:
        view.at, view.at_n = camera, view.at_n + 1


def link_params(view: View, columns: Sequence[str]) -> dict[str, str]:
    """Return what a link says of the map beside the run."""
    is_best = view.drawing == DEFAULT_LAYOUT  # elsewhere the balance is said by itself
    return {
        "drawing": view.drawing_name if is_best else view.drawing,
        "beside": view.beside,
        "sel": "" if view.item is None else f"{view.item[0]}{view.item[1]}",
        "ask": "" if view.query is None else f"{view.query[0]}:{view.query[1][:_LONGEST]}",
        "regions": "" if view.regions is None else str(int(view.regions)),
        "gap": view.balance,
        "halos": str(int(view.has_halos)),
        "table": str(int(view.has_table)),
        "colour": _link_colour(view.colour, columns),
        "side": view.side,
        "only": view.part,
        "dims": "" if view.dims is None else str(view.dims),
        "lasso": ";".join(f"{x:.3f},{y:.3f}" for x, y in view.outline),
    } | _browser_params(view)


def _browser_params(view: View) -> dict[str, str]:
    """Return what only the browser knows at first: camera, what was looked for, the legend."""
    find = ""
    if view.find is not None:
        way = next(short for short, name in WAYS.items() if name == view.find[0])
        find = f"{way}:{view.find[1][:_LONGEST]}"
    at = ",".join(f"{value:.3f}".rstrip("0").rstrip(".") for value in view.at or WHOLE_MAP)
    return {"at": at, "find": find, "hide": ",".join(view.closed), "filter": view.filter}


def write_link(view: View, run: Run, pairs: PairSet) -> None:
    """Put the view into the address."""
    base = query_params.data(view.dataset_id)
    if "data" in base:
        base = links.demo_link(run) or base | {"run": run.id}
    shown = {
        "part": preferences.current_part(view.dataset_id),
        "direction": preferences.current_direction(view.dataset_id, pairs),
    }
    own = link_params(view, columns(pairs))
    query_params.replace(base | own | shown)
    selected = {view.dataset_id: own["sel"] or own["ask"]}
    if selected != st.session_state.get("map-told"):
        # For Search, once: what is asked there since is not taken back by a look at the map.
        st.session_state["map-selected"] = st.session_state["map-told"] = selected


def apply_canvas_events(view: View, pairs: PairSet, n_drawn: int) -> None:
    """Take over what was clicked, enclosed or asked on the map since the last run."""
    if (picked := canvas.new_event("picked")) is not None:
        key = picked.get("key")
        view.select(links.linked_item(key, pairs) if isinstance(key, str) else None)
        if key is None:
            view.clear_region()
    if (region := canvas.new_event("region")) is not None:
        rows = unpack_bits(canvas.unpacked(region.get("rows") or ""), n_drawn)
        view.enclosed, view.outlined = tuple(rows.tolist()), ""
        view.outline = _valid_outline(region.get("corners"))
    query = canvas.new_event("asked") or {}
    if query.get("side") in ("x", "y"):
        text = str(query.get("text", "")).strip()[:_LONGEST_QUERY]
        view.item, view.query = None, (query["side"], text) if text else None


def apply_browser_state(view: View) -> None:
    """Let the link follow what the reader does on the map that needs no answer."""
    heard = st.session_state.get(canvas.CAMERA_KEY) or {}
    view.at = _valid_camera(heard.get("at")) or view.at
    done = heard.get("set")
    if isinstance(done, dict):
        find, closed = done.get("find"), done.get("closed")
        view.find = None
        if isinstance(find, list) and len(find) == 2 and find[0] in WAYS.values():
            text = str(find[1]).strip()[:_LONGEST_QUERY]
            view.find = (find[0], text) if text else None
        view.closed = valid_closed(closed if isinstance(closed, list) else [])
        view.filter = valid_filter(done.get("filter"))
    query_params.put(**_browser_params(view))


def parse_camera(text: str | None) -> Camera | None:
    """Read a camera out of a link; None if it says nothing or nonsense."""
    return _valid_camera(_read_numbers((text or "")[:60]))


def _read_numbers(text: str) -> list[float]:
    """Return numbers with commas between them; none if there is anything else."""
    try:
        return [float(value) for value in text.split(",")]
    except ValueError:
        return []


def _valid_camera(value: object) -> Camera | None:
    numbers = _numbers(value, 3, _MAX_ZOOM)
    if numbers is None or max(map(abs, numbers[:2])) > _FARTHEST or numbers[2] < _MIN_ZOOM:
        return None
    return cast(Camera, numbers)


def _valid_outline(value: object) -> Outline:
    if not isinstance(value, list | tuple) or not 3 <= len(value) <= _MAX_CORNERS:
        return ()
    corners = tuple(_numbers(corner, 2, 1_000) for corner in value)
    return () if None in corners else cast(Outline, corners)


def _numbers(value: object, n: int, limit: float) -> tuple[float, ...] | None:
    """Return n numbers of no larger size; None for anything else."""
    if not isinstance(value, list | tuple) or len(value) != n:
        return None
    valid = all(isinstance(v, int | float) and abs(v) <= limit for v in value)
    return tuple(map(float, value)) if valid else None


def valid_closed(entries: Sequence[object]) -> tuple[str, ...]:
    """Return entries of the legend that hide what they stand for, as far as they can be any."""
    known = [key for key in entries if isinstance(key, str) and _CLOSED.fullmatch(key)]
    return tuple(dict.fromkeys(known))[:_MAX_CLOSED]


def valid_filter(text: object) -> str:
    """Return what a filter lets pass, as a link says it ("0:3.4;2:1"); nothing for nonsense."""
    return text if isinstance(text, str) and _FILTER.fullmatch(text) else ""


def _parse_typed(text: str) -> tuple[str, str]:
    """Return how and what was typed ("x:red heart"); two empty texts if nothing was."""
    way, _, typed = text.partition(":")
    typed = typed.strip()[:_LONGEST]
    return (way, typed) if typed else ("", "")


def _parse_colour(text: str, columns: Sequence[str]) -> str | None:
    if text in COLOURS:
        return text
    at = re.fullmatch(r"c([0-9]{1,4})", text[:5])
    return f"={columns[int(at[1])]}" if at and int(at[1]) < len(columns) else None


def _link_colour(colour: str, columns: Sequence[str]) -> str:
    name = colour.removeprefix("=")
    return f"c{columns.index(name)}" if name in columns and name != colour else colour


def rows_inside(corners: Outline, points: Any) -> Any:
    """Return the rows of points that lie inside an outline."""
    low, high = points.min(axis=0), points.max(axis=0)
    half = max(float((high - low).max()) / 2, 1e-9)
    across, up = ((points - (low + high) / 2) / half).T
    is_in = np.zeros(len(points), dtype=bool)
    for (x0, y0), (x1, y1) in zip(corners, (*corners[-1:], *corners[:-1]), strict=True):
        if y0 != y1:
            crosses = (y0 > up) != (y1 > up)
            is_in ^= crosses & (across < (x1 - x0) * (up - y0) / (y1 - y0) + x0)
    return np.flatnonzero(is_in)
