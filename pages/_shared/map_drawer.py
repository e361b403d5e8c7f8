"""What is selected on the map, and what the model finds nearest to it."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages._shared import map_state, map_topics, plain, state
from pages._shared.map_state import Side, View
from simviz.markdown import escape_markdown

if TYPE_CHECKING:
    from simviz.data.items import Items
    from simviz.data.pairs import PairSet
    from simviz.jobs.placed import Placed
    from simviz.jobs.space import ModelSpace
    from simviz.jobs.topics import RunTopics
    from simviz.projection import Neighbors
    from simviz.store.run import Run

_LONGEST = 600  # characters of a text that is read in the drawer
STYLE = """
<style>
.st-key-map-drawer { gap: .5rem; }
.st-key-map-nearest { gap: 0; }
[class*="st-key-map-near-"] { flex-wrap: nowrap; }
[class*="st-key-map-near-"] > div { min-width: 0; }
[class*="st-key-map-near-"] > div:last-child { flex: none; }
[class*="st-key-map-near-"] button { padding: .1rem 0; min-height: 0; text-align: left;
  justify-content: flex-start; }
[class*="st-key-map-near-"] button > div { justify-content: flex-start; width: 100%; }
.sv-near { display: flex; align-items: center; gap: .45rem; font-size: .875rem; }
.sv-near img { width: 26px; height: 26px; object-fit: contain; }
.sv-score { white-space: nowrap; font-variant-numeric: tabular-nums; opacity: .75;
  font-size: .875rem; }
.sv-shot { width: 72px; height: 72px; object-fit: contain; }
.sv-read { max-height: 11rem; overflow-y: auto; overflow-wrap: anywhere; margin: 0;
  font-family: 'Iowan Old Style', 'Palatino Linotype', Palatino, Georgia, serif;
  font-size: 1.15rem; line-height: 1.45; white-space: pre-line; }
</style>
"""


def show(
    view: View,
    pairs: PairSet,
    space: ModelSpace,
    found: Neighbors,
    placed: Placed,
    parts: tuple[Any, Any],
    topics: RunTopics | None,
    run: Run,
) -> None:
    """Show the selected item, then its nearest of the other side."""
    if view.item is None:
        return
    st.html(STYLE)
    with st.container(key="map-drawer"):
        _show_item(view, pairs, parts)
        if topics is not None:
            map_topics.show_item(topics, view.item, run)
        if not len(found):
            plain.quiet(_why_nothing(space, view.item, _side(pairs, found.side)[1]))
            return
        side, row = view.item
        belongs = relevant(pairs, side, row)
        show_list(view, pairs, found, belongs, placed.kept_near(row, found))
        _show_caption(view, pairs, space, found, placed, belongs)


def _why_nothing(space: ModelSpace, item: map_state.Item, name: str) -> str:
    if space.knows(*item):
        return f"The model finds nothing in common with any of the {name}: all scores are 0."
    return (
        "The model knows nothing in this item: no word or feature of it was in the training "
        "part. So nothing is near it."
    )


def _show_item(view: View, pairs: PairSet, parts: tuple[Any, Any]) -> None:
    side, row = view.item or ("x", 0)
    items, name = _side(pairs, side)
    part = str(parts[0 if side == "x" else 1][row])
    with st.container(horizontal=True, vertical_alignment="center"):
        plain.quiet(f"{name} · {part}{'' if ' ' in part else ' part'}")
        st.button(
            "Close",
            key="map-close",
            on_click=map_state.select,
            args=(view, None),
            type="tertiary",
            icon=":material/close:",
        )
    picture = _picture(items, row, "sv-shot")
    if picture:
        st.html(picture)
    show_text(text_of(items, row))


def show_text(text: str) -> None:
    """What is looked at, in full."""
    st.html(f'<p class="sv-read" dir="auto">{escape(text)}</p>')


def show_list(
    view: View, pairs: PairSet, found: Neighbors, belongs: set[int], kept: Any | None
) -> None:
    """List what a model finds nearest, each to be selected.

    Parameters
    ----------
    view : View
        Changed when one is selected.
    pairs : PairSet
        The data set.
    found : Neighbors
        By their positions in it, best first.
    belongs : set of int
        Those that are right.
    kept : ndarray of bool, optional
        Which of them the drawing keeps near; None where that means nothing.
    """
    others, name = _side(pairs, found.side)
    st.markdown(f"**Nearest {escape_markdown(name)}**")
    with st.container(key="map-nearest"):
        for place, (other, score) in enumerate(zip(found.index, found.scores, strict=True)):
            with st.container(
                horizontal=True, vertical_alignment="center", gap="small", key=f"map-near-{place}"
            ):
                picture = _picture(others, int(other), "")
                if picture:
                    st.html(f'<span class="sv-near">{picture}</span>', width=30)
                st.button(
                    escape_markdown(text_of(others, int(other), 60)),
                    key=f"map-go-{place}",
                    on_click=map_state.select,
                    args=(view, (found.side, int(other))),
                    type="tertiary",
                    width="stretch",
                )
                mark = " ✓" if int(other) in belongs else ""
                far = "" if kept is None or kept[place] else " ↗"
                st.html(f'<span class="sv-score">{score:.2f}{mark}{far}</span>', width="content")


def _show_caption(
    view: View,
    pairs: PairSet,
    space: ModelSpace,
    found: Neighbors,
    placed: Placed,
    belongs: set[int],
) -> None:
    _, row = view.item or ("x", 0)
    _, name = _side(pairs, found.side)
    n_kept = int(placed.kept_near(row, found).sum())
    where = (
        f"Nearest in the model's {space.n_dimensions:,} dimensions, not on this drawing."
        if space.n_dimensions
        else "Nearest by the model's own scores, not on this drawing."
    )
    n_met = sum(int(other) in belongs for other in found.index)
    if placed.row_of(*(view.item or ("x", 0))) is None:
        plain.quiet(
            "It is not in the sample that is drawn: on the map it stands in the middle of the "
            "drawn items that are nearest to it."
        )
    plain.quiet(
        f"{where} The drawing keeps {n_kept} of these {len(found)} near; ↗ marks those it moved "
        "away."
    )
    if len(belongs) == 1:
        plain.quiet("✓ belongs to it." if n_met else "What belongs to it is not in this list.")
    elif belongs:
        plain.quiet(f"✓ belongs to it: {n_met} of its {len(belongs):,} {name} are in this list.")


def _side(pairs: PairSet, side: Side) -> tuple[Items, str]:
    return (pairs.x, pairs.x_name) if side == "x" else (pairs.y, pairs.y_name)


def relevant(pairs: PairSet, side: Side, row: int) -> set[int]:
    """What belongs to an item, by position on the other side."""
    relevance = pairs.relevance if side == "x" else pairs.relevance.T
    return set(relevance.positives[[row]].indices.tolist())


def text_of(items: Items, row: int, limit: int = _LONGEST) -> str:
    """What an item says: its text, with its glyph before it, else its id."""
    from simviz.charts.text import clean_text, is_glyph

    text = items.content[row] if items.kind in ("text", "keyword") else items.labels[row]
    label = str(items.metadata["label"][row]) if "label" in items.metadata else ""
    glyph = f"{label} " if is_glyph(label) and label != text else ""
    return glyph + clean_text(text, limit)


def _picture(items: Items, row: int, style: str) -> str:
    """An image as markup; empty for other kinds."""
    if items.kind != "image":
        return ""
    from simviz.charts.style import get_theme

    pixels = items.content[row]
    source = _source(pixels.tobytes(), pixels.shape, get_theme(state.theme()).ink)
    alt = escape(text_of(items, row, 60), quote=True)
    return f'<img class="{style}" src="{source}" alt="{alt}">'


@lru_cache(maxsize=4096)
def _source(pixels: bytes, shape: tuple[int, ...], ink: str) -> str:
    """A picture as an address; the same ones come up again and again as neighbours."""
    from simviz.charts._thumbnails import data_uri

    return data_uri(np.frombuffer(pixels, dtype=np.uint8).reshape(shape), ink)
