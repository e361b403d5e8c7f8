"""A query that is no item: where it falls on the map, and what the model finds for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from pages._shared import map_drawer, map_state, plain
from pages._shared.map_state import Side, View

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.jobs.blend_space import Space
    from simviz.jobs.placed import Placed
    from simviz.projection import Neighbors, Spot


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a model says to a query.

    Parameters
    ----------
    side : {"x", "y"}
        Side that the query was read as.
    text : str
        The query.
    found : Neighbors
        The nearest of the other side, by their positions in the data set.
    spot : Spot, optional
        Where it falls on the map; None where the model knows nothing in it,
        or nothing near it is drawn.
    """

    side: Side
    text: str
    found: Neighbors
    spot: Spot | None


def sides(pairs: PairSet) -> list[dict[str, str]]:
    """The sides on which a query can be typed."""
    return [
        {"side": side, "name": name}
        for side, items, name in (("x", pairs.x, pairs.x_name), ("y", pairs.y, pairs.y_name))
        if items.kind in ("text", "keyword")
    ]


def ask(
    query: tuple[Side, str], space: Space, pairs: PairSet, placed: Placed, k: int
) -> Answer | None:
    """Ask a model for what is nearest to a query; None where the query cannot be read."""
    from simviz.data.items import Items
    from simviz.jobs.space import ranked
    from simviz.projection import Neighbors, place_among

    side, text = query
    items = pairs.x if side == "x" else pairs.y
    if items.kind not in ("text", "keyword"):
        return None
    scores = space.scores(side, Items(["query"], [text], items.kind))
    found = ranked(scores, side, k)
    if not scores.any():
        return Answer(side, text, Neighbors(found.side, found.index[:0], found.scores[:0]), None)
    near = placed.place(found)
    points = placed.drawing.x if near.side == "x" else placed.drawing.y
    spot = place_among(points[near.index], near.scores) if len(near) else None
    return Answer(side, text, found, spot)


def show(view: View, answer: Answer, pairs: PairSet, placed: Placed) -> None:
    """List what the model finds nearest to the query."""
    st.html(map_drawer.STYLE)
    name = pairs.x_name if answer.side == "x" else pairs.y_name
    with st.container(key="map-drawer"):
        with st.container(horizontal=True, vertical_alignment="center"):
            plain.quiet(f"Asked as {name}")
            st.button(
                "Close",
                key="map-close",
                on_click=_close,
                args=(view,),
                type="tertiary",
                icon=":material/close:",
            )
        map_drawer.show_text(answer.text)
        if not len(answer.found):
            plain.quiet(
                "The model knows nothing in this query: no word or part of it was in the "
                "training part. So it has no place on the map."
            )
            return
        map_drawer.show_list(view, pairs, answer.found, set(), None)
        plain.quiet(
            "Nearest by the model's own scores. On the map the query stands in the middle of "
            "these, the nearest weighing most; the dashed circle says how far apart they lie."
        )


def _close(view: View) -> None:
    map_state.select(view, None)
