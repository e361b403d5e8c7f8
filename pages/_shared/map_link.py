"""What the link says of the map: whatever a reader set on it, in few and safe words.

Metadata columns and items are told by their position, never by their text. The
two texts that a reader typed, what was asked of the model and what was looked
for, are the only words of anybody in a link.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from pages._shared import map_camera

if TYPE_CHECKING:
    from pages._shared.map_state import View
    from simviz.data.pairs import PairSet

Side = Literal["x", "y"]
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
    """Take over what a link says of the map; nonsense changes nothing.

    Parameters
    ----------
    view : View
        Changed in place.
    told : mapping of str to str
        The parameters of the link.
    pairs : PairSet
        The data set.
    columns : sequence of str
        Its columns that colours can mean.
    """
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
        view.closed = closed(told["hide"].split(","))
        view.set_n += 1
    corners = _parse_outline(told.get("lasso", ""))
    if corners:
        view.outline, view.enclosed = corners, None
    place = map_camera.parse(told.get("at"))
    if place is not None:
        view.at, view.at_n = place, view.at_n + 1


def own(view: View, columns: Sequence[str]) -> dict[str, str]:
    """What a link says of the map beside whose eyes see it; what is usual goes unsaid.

    Parameters
    ----------
    view : View
        What the map shows.
    columns : sequence of str
        Columns of the data that colours can mean.

    Returns
    -------
    dict of str to str
        Parameters of the link, which `take` understands.
    """
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
    told = map_camera.link(view.at)
    if view.find is not None:
        way = next(short for short, name in WAYS.items() if name == view.find[0])
        told["find"] = f"{way}:{view.find[1][:_LONGEST]}"
    if view.closed:
        told["hide"] = ",".join(view.closed)
    return told


def closed(told: Sequence[object]) -> tuple[str, ...]:
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
    """Rows of points that lie inside an outline.

    Parameters
    ----------
    corners : sequence of (across, up)
        In halves of the larger extent of the points, from their middle.
    points : ndarray of shape (n, 2)
        All points of the map.

    Returns
    -------
    ndarray of int
        By the even–odd rule, as the map itself finds them.

    Examples
    --------
    >>> square = ((-0.6, -0.6), (0.6, -0.6), (0.6, 0.6), (-0.6, 0.6))
    >>> rows_inside(square, np.array([[-1.0, -1.0], [0.2, 0.1], [1.0, 1.0]])).tolist()
    [1]
    """
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
