"""What is asked: the visitor's own words or picture, or an item of the data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal

import numpy as np
import streamlit as st

from pages._shared import compare_items, plain, state
from pages._shared.compare_marks import plain as one_line

if TYPE_CHECKING:
    from pages._shared.map_final import Closed
    from simviz.data.items import Items
    from simviz.data.pairs import PairSet

Side = Literal["x", "y"]
_PLACE = re.compile(r"([xy])(\d{1,9})")
#: Items offered in a list; more would make every answer of the page heavy.
MOST_OFFERED = 3_000
LONGEST = 5_000  # characters of a query
_OWN, _ITEM, _SIDE = "search-own", "search-item", "search-side"


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked.

    Parameters
    ----------
    side : {"x", "y"}
        Side that it is of.
    item : Items
        The one item.
    at : int, optional
        Its position in the data; None for the visitor's own.
    """

    side: Side
    item: Items
    at: int | None = None


def choose(pairs: PairSet, first: int, closed: Closed) -> Query | None:
    """Let the visitor ask.

    Parameters
    ----------
    pairs : PairSet
        The data set.
    first : int
        Position of the x item to begin with.
    closed : Closed
        What may not be looked at yet, and so is neither offered nor recognised.

    Returns
    -------
    Query or None
        None where nothing is asked yet; the page has said so.
    """
    _follow_link(pairs, first, closed)
    side = _choose_side(pairs)
    items = pairs.x if side == "x" else pairs.y
    name = pairs.x_name if side == "x" else pairs.y_name
    # Side by side they would be too narrow on a phone to read what they hold.
    is_row = not state.is_narrow()
    with st.container(horizontal=is_row, vertical_alignment="bottom", gap="small"):
        own = _ask_own(items, side, name)
        at = _pick(items, side, name, closed, _labels(pairs.digest, side))
    if own is not None:
        _put_in_link(None)
        known = _known(items, own)
        return Query(
            side, own, known if known is not None and closed.allows(side, known) else None
        )
    if at is None:
        plain.quiet("Write something, or take an item of the data.")
        return None
    _put_in_link(f"{side}{at}")
    return Query(side, items.take([at]), at)


def _follow_link(pairs: PairSet, first: int, closed: Closed) -> None:
    """Ask what the link asks, and something at the first visit."""
    seen = state.share()
    asked = st.query_params.get("ask") or (dict(seen.view).get("ask", "") if seen else "")
    if asked and asked == st.session_state.get("search-written"):
        return
    found = _PLACE.fullmatch(asked)
    if found:
        side, row = found[1], int(found[2])
        is_there = row < len(pairs.x if side == "x" else pairs.y)
        if is_there and closed.allows("x" if side == "x" else "y", row):
            st.session_state[_SIDE] = side
            st.session_state[f"{_ITEM}-{side}"] = row
            st.session_state.pop(f"{_OWN}-{side}", None)
    of = st.session_state.get("search-data")
    if of != pairs.digest[:12]:
        st.session_state["search-data"] = pairs.digest[:12]
        for key in [k for k in st.session_state if str(k).startswith((_OWN, _ITEM))]:
            if not found or not str(key).startswith(_ITEM):
                st.session_state.pop(key, None)
        if not found:
            st.session_state[f"{_ITEM}-x"] = first


def _put_in_link(told: str | None) -> None:
    """The item is in the address by its number; words of the visitor's own never are."""
    st.session_state["search-written"] = told or ""
    if told is None:
        st.query_params.pop("ask", None)
    elif st.query_params.get("ask") != told:
        st.query_params["ask"] = told


def _choose_side(pairs: PairSet) -> Side:
    if pairs.x is pairs.y:
        return "x"
    x, y = map(one_line, (pairs.x_name, pairs.y_name))
    words = {"x": f"{x} → {y}", "y": f"{y} → {x}"}
    st.session_state.setdefault(_SIDE, "x")
    side: Side = st.segmented_control(
        "Who asks whom",
        list(words),
        format_func=words.__getitem__,
        key=_SIDE,
        required=True,
        label_visibility="collapsed",
        persist_state="session",
    )
    return side


def _ask_own(items: Items, side: Side, name: str) -> Items | None:
    """Something that need not be in the data."""
    key = f"{_OWN}-{side}"
    if items.kind in ("text", "keyword"):
        written: str = st.text_input(
            f"Ask with {one_line(name)} of your own",
            key=key,
            placeholder="Type and press Enter",
            max_chars=LONGEST,
            width="stretch",
            persist_state="session",
        )
        text = " ".join(written.split())
        return _item(text, items.kind) if text else None
    if items.kind == "image":
        given = st.file_uploader(
            "Ask with a picture of your own", type=["png", "jpg", "jpeg", "webp", "bmp"], key=key
        )
        return None if given is None else _picture(given.getvalue(), items)
    return None


def _item(content: str, kind: Literal["text", "keyword"]) -> Items:
    from simviz.data.items import Items

    return Items(["query"], [content], kind)


def _picture(data: bytes, like: Items) -> Items | None:
    """A picture as those of the data are kept."""
    from simviz.data.items import Items
    from simviz.data.sprites import ImageError, as_kept, make_sprite

    try:
        pixels = as_kept(make_sprite(data), like.content)
    except ImageError as error:
        plain.problem(f"The file {error}. Take a PNG, JPEG, WebP or BMP picture.")
        return None
    return Items(["query"], pixels[None], "image")


def _known(items: Items, own: Items) -> int | None:
    """Where the data hold the same text."""
    if own.kind == "image":
        return None
    found = np.flatnonzero(items.content == own.content[0])
    return int(found[0]) if len(found) else None


def _pick(
    items: Items, side: Side, name: str, closed: Closed, labels: dict[int, str]
) -> int | None:
    key = f"{_ITEM}-{side}"
    open_ones = (i for i in range(len(items)) if closed.allows(side, i))
    offered = list(islice(open_ones, MOST_OFFERED))
    at = st.session_state.get(key)
    if at is not None and not closed.allows(side, at):
        at = st.session_state[key] = None
    if at is not None and at not in offered:
        offered.append(at)
    # What was typed stands before what was picked, until something is picked anew.
    st.selectbox(
        f"or one of the {len(items) - closed.n_hidden(side):,} {one_line(name)}",
        offered,
        index=None,
        format_func=lambda i: labels.get(i) or labels.setdefault(i, _label(items, i)),
        key=key,
        on_change=_clear_own,
        args=(side,),
        placeholder="Choose",
        width="stretch" if state.is_narrow() else 320,
        persist_state="session",
    )
    chosen: int | None = st.session_state.get(key)
    return chosen


def _clear_own(side: Side) -> None:
    if isinstance(st.session_state.get(f"{_OWN}-{side}"), str):
        st.session_state[f"{_OWN}-{side}"] = ""


@st.cache_resource(show_spinner=False, max_entries=12)
def _labels(digest: str, side: Side) -> dict[int, str]:
    """What items of these data are called in the list, as far as it was asked for."""
    return {}


def _label(items: Items, at: int) -> str:
    glyph = compare_items.glyph(items, at)
    text = compare_items.text(items, at, 80)
    return f"{glyph} {text}" if glyph else text
