"""What is asked: the visitor's own words or picture, or an item of the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st

from simviz._types import Side
from simviz.data.cells import items_named
from simviz.data.images import ImageError, make_sprite, resize_like
from simviz.data.pairs import Items, PairSet
from simviz.markdown import escape_markdown
from simviz.store.run import Part
from simviz.workbench.shell import display, forms, links, query_params, state

#: Items offered in a list; more would make every answer of the page heavy.
MAX_OFFERED = 3_000
LONGEST = 5_000  # characters of a query
_OWN, _ITEM, _SIDE = "search-own", "search-item", "search-side"
_OF = "search-of"


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked."""

    side: Side
    item: Items
    at: int | None = None


def choose(pairs: PairSet, part: Part, examples: Mapping[Side, int]) -> Query | None:
    """Let the visitor ask."""
    _follow_link(pairs, part, examples)
    side = _choose_side(pairs)
    items, name = (pairs.x, pairs.x_name) if side == "x" else (pairs.y, pairs.y_name)
    name = items_named(name)
    # Side by side they would be too narrow on a phone to read what they hold.
    is_row = not state.is_narrow()
    with st.container(horizontal=is_row, vertical_alignment="bottom", gap="small"):
        own = _own_query(items, side, name)
        at = _pick(items, side, name, labels_of(pairs.digest, side))
    # An item goes by its number; words of the visitor's own never are in the address.
    query_params.put(ask=None if own is not None or at is None else f"{side}{at}")
    if own is not None:
        same = () if own.kind == "image" else np.flatnonzero(items.content == own.content[0])
        return Query(side, own, int(same[0]) if len(same) else None)
    if at is None:
        display.quiet("Type a query, or choose one from the data.")
        return None
    return Query(side, items.take([at]), at)


def _follow_link(pairs: PairSet, part: Part, examples: Mapping[Side, int]) -> None:
    """Ask what a new link asks, else what was selected on the map; an example at first."""
    selected = st.session_state.pop("map-selected", {}).get(state.current_dataset_id(), "")
    of, before = (pairs.digest[:12], part), st.session_state.get(_OF, ("", ""))
    st.session_state[_OF] = of
    if of[0] != before[0]:
        for key in [k for k in st.session_state if str(k).startswith((_OWN, _ITEM))]:
            st.session_state.pop(key, None)
    if of != before:
        for side, at in examples.items():
            st.session_state[f"{_ITEM}-{side}"] = at
    requested = query_params.new_params().pop("ask", "") or selected
    side, _, text = selected.partition(":")
    if requested == selected and text and side in ("x", "y"):
        # Typed on the map: there the address says it.
        st.session_state[_SIDE], st.session_state[f"{_OWN}-{side}"] = side, text
        return
    if (linked := links.linked_item(requested, pairs)) is not None:
        side, at = linked
        st.session_state[_SIDE] = side
        st.session_state[f"{_ITEM}-{side}"] = at
        st.session_state.pop(f"{_OWN}-{side}", None)


def _choose_side(pairs: PairSet) -> Side:
    if pairs.x is pairs.y:
        return "x"
    x, y = map(escape_markdown, pairs.headings)
    labels = {"x": f"{x} → {y}", "y": f"{y} → {x}"}
    st.session_state.setdefault(_SIDE, "x")
    side: Side = forms.segmented("Query side", labels, _SIDE, persist_state="session")
    return side


def _own_query(items: Items, side: Side, name: str) -> Items | None:
    """Take something that need not be in the data."""
    key = f"{_OWN}-{side}"
    if items.kind in ("text", "keyword"):
        written: str = st.text_input(
            f"{escape_markdown(name).capitalize()} of your own",
            key=key,
            placeholder="Type and press Enter",
            max_chars=LONGEST,
            width="stretch",
            persist_state="session",
        )
        text = " ".join(written.split())
        return Items(["query"], [text], items.kind) if text else None
    if items.kind == "image":
        file = st.file_uploader(
            "A picture of your own", type=["png", "jpg", "jpeg", "webp", "bmp"], key=key
        )
        return None if file is None else _picture(file.getvalue(), items)
    return None


def _picture(data: bytes, like: Items) -> Items | None:
    try:
        pixels = resize_like(make_sprite(data), like.content)
    except ImageError as error:
        display.problem(f"The file {error}. Take a PNG, JPEG, WebP or BMP picture.")
        return None
    return Items(["query"], pixels[None], "image")


def _pick(items: Items, side: Side, name: str, labels: dict[int, str]) -> int | None:
    key = f"{_ITEM}-{side}"
    offered = list(range(min(len(items), MAX_OFFERED)))
    at = st.session_state.get(key)
    if at is not None and at not in offered:
        offered.append(at)

    def label(i: int) -> str:
        if i not in labels:
            labels[i] = display.item_label(items, i, 80)
        return labels[i]

    # What was typed stands before what was picked, until something is picked anew.
    position: int | None = st.selectbox(
        f"or one of the {len(items):,} {escape_markdown(name)}",
        offered,
        index=None,
        format_func=label,
        key=key,
        on_change=_clear_own,
        args=(side,),
        placeholder="Choose",
        width="stretch" if state.is_narrow() else 320,
        persist_state="session",
    )
    return position


def _clear_own(side: Side) -> None:
    if isinstance(st.session_state.get(f"{_OWN}-{side}"), str):
        st.session_state[f"{_OWN}-{side}"] = ""


@st.cache_resource(show_spinner=False, max_entries=12)
def labels_of(digest: str, side: Side) -> dict[int, str]:
    """Return what items are called in the list, as far as it was asked for."""
    return {}
