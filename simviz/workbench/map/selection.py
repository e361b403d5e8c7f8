"""What is selected on the map, and what the model finds nearest to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from simviz.markdown import escape_markdown
from simviz.workbench.map import choices, topics as map_topics
from simviz.workbench.map.choices import Side, View
from simviz.workbench.shell import display, drawings, state

if TYPE_CHECKING:
    import pandas as pd

    from simviz.charts.colours import Grouping
    from simviz.data.items import Items
    from simviz.data.pairs import PairSet
    from simviz.explain.topics import RunTopics
    from simviz.projection import Neighbors, Spot
    from simviz.projection.drawing import Found, Placed
    from simviz.projection.space import ModelSpace, Space
    from simviz.store.run import Run
    from simviz.workbench.map.view import Scene

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
            display.quiet(_why_nothing(space, view.item, _side(pairs, found.side)[1]))
            return
        side, row = view.item
        belongs = relevant(pairs, side, row)
        show_list(view, pairs, found, belongs, placed.kept_near(row, found))
        _show_caption(view, pairs, space, found, placed, belongs)


def _why_nothing(space: ModelSpace, item: choices.Item, name: str) -> str:
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
        display.quiet(f"{name} · {part}{'' if ' ' in part else ' part'}")
        st.button(
            "Close",
            key="map-close",
            on_click=choices.select,
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
    """List what a model finds nearest, each to be selected."""
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
                    on_click=choices.select,
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
        display.quiet(
            "It is not in the sample that is drawn: on the map it stands in the middle of the "
            "drawn items that are nearest to it."
        )
    display.quiet(
        f"{where} The drawing keeps {n_kept} of these {len(found)} near; ↗ marks those it moved "
        "away."
    )
    if len(belongs) == 1:
        display.quiet("✓ belongs to it." if n_met else "What belongs to it is not in this list.")
    elif belongs:
        display.quiet(f"✓ belongs to it: {n_met} of its {len(belongs):,} {name} are in this list.")


def _side(pairs: PairSet, side: Side) -> tuple[Items, str]:
    return (pairs.x, pairs.x_name) if side == "x" else (pairs.y, pairs.y_name)


def relevant(pairs: PairSet, side: Side, row: int) -> set[int]:
    """What belongs to an item, by position on the other side."""
    relevance = pairs.relevance if side == "x" else pairs.relevance.T
    return set(relevance.positives[[row]].indices.tolist())


def text_of(items: Items, row: int, limit: int = _LONGEST) -> str:
    """What an item says: its text, with its glyph before it, else its id."""
    from simviz.charts.style import clean_text, is_glyph

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
    from simviz.charts.pictures import data_uri

    return data_uri(np.frombuffer(pixels, dtype=np.uint8).reshape(shape), ink)


_TITLES = {"score": "similarity to the nearest", "found": "found", "part": "part"}


def colour_values(scene: Scene) -> Any:
    """A value for each item of the drawing, the x side first; None for the side itself."""
    pairs, placed = scene.pairs, scene.placed
    if scene.colour == "side":
        return None
    if scene.colour == "found":
        return found(scene).groups
    if scene.colour == "score":
        return found(scene).scores
    rows = np.concatenate([placed.x_rows, len(pairs.x) + placed.y_rows])
    if scene.colour == "part":
        return np.concatenate(scene.parts)[rows]
    from simviz.data.metadata import joined_column

    return joined_column(pairs.x, pairs.y, scene.colour.removeprefix("="))[rows]


def colour_title(scene: Scene) -> str:
    """What the values are."""
    return _TITLES.get(scene.colour, scene.colour.removeprefix("="))


def grouping(scene: Scene) -> Grouping:
    """Colours of the items of a drawing, and their legend."""
    return _grouping(scene.run.id, scene.items.digest, scene.colour, state.theme(), scene)


@st.cache_resource(show_spinner=False, max_entries=12)
def _grouping(run_id: str, items: str, colour: str, theme: str, _scene: Scene) -> Grouping:
    from simviz.charts.colours import group_items
    from simviz.charts.style import get_theme
    from simviz.projection.drawing import GROUPS

    told = colour_values(_scene)
    placed, pairs = _scene.placed, _scene.pairs
    return group_items(
        "side" if told is None else told,
        (len(placed.x_rows), len(placed.y_rows)),
        get_theme("dark" if theme == "dark" else "light"),
        names=(pairs.x_name, pairs.y_name),
        title=colour_title(_scene),
        order=GROUPS if colour == "found" else None,
    )


def found(scene: Scene) -> Found:
    """How well every item on the drawing finds what belongs to it."""
    return _found(scene.run.id, scene.items.digest, scene)


@st.cache_resource(show_spinner=False, max_entries=6)
def _found(run_id: str, items: str, _scene: Scene) -> Found:
    from simviz.projection.drawing import find_all

    return find_all(drawings.pipeline(run_id, _scene.run), _scene.pairs, _scene.placed)


_TEXT = 300


def show_twin_switch(view: View) -> None:
    """A switch for the table of all that is on the map."""
    st.session_state["map-table"] = view.has_table
    st.toggle(
        "Table",
        key="map-table",
        help="All items on the map as a table.",
        on_change=_take_table,
        args=(view,),
    )


def _take_table(view: View) -> None:
    view.has_table = st.session_state["map-table"]


def find_enclosed(view: View, scene: Scene) -> None:
    """Which items lie inside the outline that a link brought; on another drawing, none do."""
    drawn = scene.places.digest
    if view.enclosed is not None:
        if view.enclosed and view.outlined not in ("", drawn):
            choices.let_go(view)
        view.outlined = drawn if view.enclosed else ""
        return
    view.outlined = drawn
    points = np.concatenate([scene.placed.drawing.x, scene.placed.drawing.y])
    shown = np.concatenate(scene.masks)
    index = grouping(scene).index
    for key in view.closed:
        if key[0] == "s":
            shown &= (np.arange(len(shown)) >= scene.n_x) != (key == "s1")
        elif index is not None:
            shown &= index != int(key[1:])
    inside = choices.rows_inside(view.outline, points)
    view.enclosed = tuple(inside[shown[inside]].tolist())


def show_region(view: View, scene: Scene) -> None:
    """Show the items that were enclosed, else, where it is asked for, all of them."""
    shown = np.flatnonzero(np.concatenate(scene.masks))
    if view.enclosed:
        rows = np.array([row for row in view.enclosed if row < len(np.concatenate(scene.masks))])
        _show_enclosed(view, scene, rows)
    elif view.has_table:
        _show_table(scene, shown, "map-all")


def _show_enclosed(view: View, scene: Scene, rows: Any) -> None:
    n_x = int((rows < scene.n_x).sum())
    pairs = scene.pairs
    with st.container(key="map-enclosed"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{len(rows):,} items enclosed**")
            display.quiet(f"{n_x:,} {pairs.x_name} · {len(rows) - n_x:,} {pairs.y_name}")
            st.button(
                "Let go",
                key="map-let-go",
                on_click=choices.let_go,
                args=(view,),
                type="tertiary",
                icon=":material/close:",
            )
        told = found(scene)
        figures = _figures(scene, rows, told)
        if figures:
            display.figures(figures)
            display.quiet(
                "MRR of the enclosed items over all others on the map of the other side, those "
                "of training included."
            )
        _show_table(scene, rows, "map-enclosed-table", told)


def _figures(scene: Scene, rows: Any, told: Found) -> list[tuple[str, str]]:
    """MRR of what is enclosed and of all, from each side that can ask."""
    made = []
    names = scene.pairs.x_name, scene.pairs.y_name
    for values, own, name in (
        (told.x, rows[rows < scene.n_x], names[0]),
        (told.y, rows[rows >= scene.n_x] - scene.n_x, names[1]),
    ):
        asked = values[own]
        asked = asked[~np.isnan(asked)]
        if len(asked):
            every = values[~np.isnan(values)].mean()
            words = f"MRR of {len(asked):,} {name} (all: {every:.2f})"
            made.append((f"{asked.mean():.2f}", words))
    return made


def _show_table(scene: Scene, rows: Any, key: str, told: Found | None = None) -> None:
    table = region_frame(scene, rows, told)
    st.dataframe(
        table.drop(columns=["key"]),
        key=key,
        hide_index=True,
        height=min(360, 38 + 35 * len(table)),
        on_select=lambda: _pick(key, table["key"].tolist()),
        selection_mode="single-row",
        column_config={
            "found": st.column_config.NumberColumn(
                "1 / rank", format="%.2f", help="Reciprocal rank of the first that belongs to it."
            )
        },
    )
    st.download_button(
        "These items as CSV",
        lambda: region_csv(scene, rows, told),
        file_name="simviz-map-items.csv",
        mime="text/csv",
        key=f"{key}-csv",
        on_click="ignore",
        icon=":material/download:",
        type="tertiary",
    )


def _pick(key: str, keys: list[str]) -> None:
    """A row of the table is selected as its point on the map would be."""
    rows = st.session_state[key].selection.rows
    view = st.session_state.get("map-view")
    if rows and isinstance(view, View):
        side: choices.Side = "x" if keys[rows[0]][0] == "x" else "y"
        choices.select(view, (side, int(keys[rows[0]][1:])))


def region_frame(scene: Scene, rows: Any, told: Found | None = None) -> pd.DataFrame:
    """Items as a table: side, id, text, part of the split and the columns of the data."""
    import pandas as pd

    from simviz.charts.style import safe_line

    pairs, placed = scene.pairs, scene.placed
    tables = []
    rows = np.asarray(rows, dtype=np.intp)
    for side, items, name, drawn, part in (
        ("x", pairs.x, pairs.x_name, placed.x_rows, scene.parts[0]),
        ("y", pairs.y, pairs.y_name, placed.y_rows, scene.parts[1]),
    ):
        shift = 0 if side == "x" else scene.n_x
        own = rows[(rows >= shift) & (rows < shift + len(drawn))] - shift
        index = drawn[own]
        texts = items.content if items.kind in ("text", "keyword") else items.labels
        columns = {
            "key": [f"{side}{i}" for i in index],
            "side": [name] * len(index),
            "id": [str(items.ids[i]) for i in index],
            "text": [safe_line(texts[i], _TEXT) for i in index],
            "part": [str(part[i]) for i in index],
        }
        if told is not None:
            columns["found"] = (told.x if side == "x" else told.y)[own]
        for column, values in items.metadata.items():
            if column != "label":
                told_values = (values[i] for i in index)
                columns.setdefault(column, ["" if v is None else str(v) for v in told_values])
        tables.append(pd.DataFrame(columns))
    joined = pd.concat([table for table in tables if len(table)] or tables, ignore_index=True)
    # One side may have columns that the other has not.
    texts = [name for name in joined.columns if name != "found"]
    return joined.fillna(dict.fromkeys(texts, ""))


def region_csv(scene: Scene, rows: Any, told: Found | None = None) -> str:
    """The same table as a file, safe to open in a spreadsheet."""
    from simviz.evaluation.tables import csv_text

    table = region_frame(scene, rows, told).drop(columns=["key"])
    lines = [
        ["" if value is None or value != value else value for value in line]
        for line in table.itertuples(index=False)
    ]
    return csv_text([list(table.columns), *lines])


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a model says to a query."""

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
    from simviz.projection import Neighbors, place_among
    from simviz.projection.space import ranked

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


def show_asked(view: View, answer: Answer, pairs: PairSet, placed: Placed) -> None:
    """List what the model finds nearest to the query."""
    st.html(STYLE)
    name = pairs.x_name if answer.side == "x" else pairs.y_name
    with st.container(key="map-drawer"):
        with st.container(horizontal=True, vertical_alignment="center"):
            display.quiet(f"Asked as {name}")
            st.button(
                "Close",
                key="map-close",
                on_click=_close,
                args=(view,),
                type="tertiary",
                icon=":material/close:",
            )
        show_text(answer.text)
        if not len(answer.found):
            display.quiet(
                "The model knows nothing in this query: no word or part of it was in the "
                "training part. So it has no place on the map."
            )
            return
        show_list(view, pairs, answer.found, set(), None)
        display.quiet(
            "Nearest by the model's own scores. On the map the query stands in the middle of "
            "these, the nearest weighing most; the dashed circle says how far apart they lie."
        )


def _close(view: View) -> None:
    choices.select(view, None)
