"""What is selected on the map: an item, a query or a region, and what the model finds."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from simviz._types import Side
from simviz.charts.canvas import pack_bits
from simviz.charts.style import clean_text, safe_line
from simviz.data.cells import items_named
from simviz.data.pairs import Items, PairSet
from simviz.data.splitting import is_in_part
from simviz.evaluation.tables import csv_text
from simviz.markdown import escape_markdown
from simviz.projection import Neighbors, Spot
from simviz.projection.pipeline_map import ItemRanks, Space, ranked
from simviz.projection.quality import N_SEEDS
from simviz.workbench.map import canvas, topics as map_topics
from simviz.workbench.map.view import View, rows_inside
from simviz.workbench.search import why
from simviz.workbench.shell import (
    display,
    drawings,
    forms,
    frame,
    query_params,
    runs,
    state,
    what_if,
)

if TYPE_CHECKING:
    import pandas as pd

    from simviz.workbench.map.scene import Scene

#: Neighbours in the list, characters of a text that is read, and of one in a table.
_NEIGHBORS, _LONGEST, _LONGEST_CELL = 10, 600, 300


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a model finds nearest, and where that is; what is not drawn has a spot, no row."""

    side: Side
    item: int | None
    text: str
    space: Space
    neighbors: Neighbors
    belongs: Collection[int]
    drawn: int | None
    near: Neighbors
    spot: Spot | None


def query_of(view: View, scene: Scene, space: Space) -> Answer | None:
    """Ask a model for what is nearest to what is selected; None where it cannot be read."""
    pairs, placed = scene.pairs, scene.placed
    item = drawn = None
    belongs: set[int] = set()
    if view.item is not None:
        side, item = view.item
        items = _side(pairs, side)[0]
        relevance = pairs.relevance if side == "x" else pairs.relevance.T
        text = display.item_label(items, item, _LONGEST)
        belongs = set(relevance.positives[[item]].indices.tolist())
        neighbors = space.nearest(side, item, _NEIGHBORS)
        near, drawn = placed.place(neighbors), placed.row_of(side, item)
        if drawn is None:
            scores = space.scores(side, items.take([item]))
    else:
        side, text = view.query or ("x", "")
        items = _side(pairs, side)[0]
        if items.kind not in ("text", "keyword"):
            return None
        scores = space.scores(side, Items(["query"], [text], items.kind))
        neighbors = ranked(scores, side, _NEIGHBORS if scores.any() else 0)
    spot = None
    if drawn is None:
        scores = scores[placed.rows(neighbors.side)]
        near = ranked(scores, side, _NEIGHBORS if scores.any() else 0)
        spot = placed.spot(side, scores) if len(near) else None
    return Answer(side, item, text, space, neighbors, belongs, drawn, near, spot)


def show_answer(view: View, scene: Scene, answer: Answer) -> None:
    """Show what is selected, then what the model finds nearest to it on the other side."""
    pairs, item, neighbors = scene.pairs, answer.item, answer.neighbors
    items, caption = _side(pairs, answer.side)[0], pairs.nouns["xy".index(answer.side)]
    if item is None:
        caption = f"Query, read as one of the {caption}"
    else:
        part = str(scene.parts["xy".index(answer.side)][item])
        caption = f"{caption} · {part}{'' if ' ' in part else ' part'}"
    with st.container(key="map-answer"):
        with st.container(horizontal=True, vertical_alignment="center"):
            display.quiet(caption)
            forms.quiet_button("Clear", "map-close", view.select, None, icon="close")
        if item is not None and (picture := display.item_picture(items, item, 64)):
            alt = escape(display.item_label(items, item, 60))
            st.html(f'<img class="sv-shot" src="{picture}" alt="{alt}">')
        st.html(f'<p class="sv-read" dir="auto">{escape(answer.text)}</p>')
        is_preserved = None
        if item is not None:
            map_topics.show_item((answer.side, item), scene.run, pairs)
            if len(neighbors):
                is_preserved = scene.placed.neighbor_preservation(item, neighbors)
        if len(neighbors):
            _show_list(scene, answer, is_preserved)
        _show_ways(view, scene, answer)
        for sentence in _sentences(scene, answer, is_preserved):
            display.quiet(sentence)


def _sentences(scene: Scene, answer: Answer, is_preserved: Any | None) -> Iterator[str]:
    """Say how to read the list, or why there is none."""
    neighbors, belongs, space = answer.neighbors, answer.belongs, answer.space
    name = _side(scene.pairs, neighbors.side)[1]
    if answer.item is None:
        yield (
            "Nearest by the model's scores. The dashed circle shows how far apart they are drawn."
            if len(neighbors)
            else "The model cannot answer this query: no word or part of it occurs in the "
            "training part."
        )
        return
    if is_preserved is None:
        yield (
            f"The model finds nothing in common with any of the {name}: all scores are 0."
            if space.is_known(answer.side, answer.item)
            else "The model cannot place this item: no word or feature of it occurs in the "
            "training part."
        )
        return
    if answer.drawn is None:
        yield (
            "This item is not in the sample that is drawn; its mark stands among the drawn items "
            "that are nearest to it."
        )
    by = "by the model's own scores"
    if space.n_dimensions:
        by = f"in the model's {space.n_dimensions:,} dimensions"
    yield (
        f"Nearest {by}, whatever the drawing shows: it has {int(is_preserved.sum())} of these "
        f"{len(neighbors)} near, and ↗ marks those that it has farther away."
    )
    quality = scene.placed.drawing.quality
    if quality is not None and quality.moved is not None and answer.drawn is not None:
        times = int(quality.moved[scene.joint(answer.side, [answer.drawn])[0]])
        where = f"Has other neighbours in {times}" if times else "Has the same neighbours in all"
        yield f"{where} of {N_SEEDS} drawings with other seeds."
    n_met = sum(int(other) in belongs for other in neighbors.index)
    if len(belongs) == 1:
        yield "✓ marks its match in the data." if n_met else "Its match is not in this list."
    elif belongs:
        yield f"✓ marks its matches in the data: {n_met} of {len(belongs):,} are in this list."


def _show_list(scene: Scene, answer: Answer, is_preserved: Any | None) -> None:
    neighbors = answer.neighbors
    others, name = _side(scene.pairs, neighbors.side)
    drawn = {int(at): row for row, at in enumerate(scene.placed.rows(neighbors.side))}
    entries = []
    found = zip(neighbors.index.tolist(), neighbors.scores, strict=True)
    for place, (other, score) in enumerate(found):
        mark = " ✓" if other in answer.belongs else ""
        far = "" if is_preserved is None or is_preserved[place] else " ↗"
        row = scene.joint(neighbors.side, [drawn[other]])[0] if other in drawn else -1
        note = f"{score:.2f}{mark}{far}"
        text = display.item_label(others, other, 120)
        entries.append([row, f"{neighbors.side}{other}", text, note])
    title = f"Nearest {name}"
    st.markdown(f"**{escape_markdown(title)}**")
    canvas.show_rows({"title": title, "entries": entries, "filters": False}, "map-nearest")


def _show_ways(view: View, scene: Scene, answer: Answer) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="map-ways"):
        # Of a cut of the model's dimensions, nothing is explained.
        if len(answer.neighbors) and view.dims is None:
            if forms.quiet_button("Why", "map-why", icon="help"):
                _explain(scene, answer)
        if not st.context.is_embedded:
            where = query_params.data(scene.run.info.dataset_id)
            if answer.item is not None:
                where["ask"] = f"{answer.side}{answer.item}"
            frame.page_link("pages/search.py", "Search this", ":material/search:", **where)


def show_marks(view: View, scene: Scene, answer: Answer | None) -> None:
    """Let one of what is nearest be marked as what belongs, or does not."""
    run, pair = scene.run, None
    is_cut = view.dims is not None and not what_if.is_marked(run)
    if is_cut or run.info.is_imported or state.share() is not None:
        return
    if answer is not None and answer.item is not None and len(answer.neighbors):
        side, near = answer.neighbors.side, answer.neighbors.index.tolist()
        others = _side(scene.pairs, side)[0]
        # The first that may be marked; of methods that learn from rejected pairs, an item whose
        # only match is taken away would teach nothing.
        is_learned = is_in_part(scene.parts["xy".index(side)][near], "train")
        is_paired = drawings.pipeline(run).model.tags.uses == "paired"
        allowed = (n for n, at in enumerate(near) if is_paired or at not in answer.belongs)
        candidate = st.selectbox(
            "What if it belonged, or did not?",
            near,
            next((n for n in allowed if is_learned[n]), 0),
            format_func=lambda at: display.item_label(others, at, 80),
            key=f"map-mark-of-{answer.side}{answer.item}",
        )
        pair = (answer.item, candidate) if answer.side == "x" else (candidate, answer.item)
    what_if.show(run, what_if.title(run, runs.run_title(run.info)), scene.pairs, pair)


@st.dialog("Why", width="medium")
def _explain(scene: Scene, answer: Answer) -> None:
    """Explain one of the nearest, the first unless another is chosen."""
    run, pairs, neighbors = scene.run, scene.pairs, answer.neighbors
    label = runs.run_title(run.info)
    own, others = _side(pairs, answer.side)[0], _side(pairs, neighbors.side)[0]
    candidate = st.selectbox(
        f"{escape_markdown(label)} answers “{escape_markdown(clean_text(answer.text, 60))}” with",
        neighbors.index.tolist(),
        format_func=lambda at: display.item_label(others, at, 80),
        key="map-why-of",
    )
    item = Items(["query"], [answer.text], own.kind)
    if answer.item is not None:
        item = own.take([answer.item])
    why.show(run, label, pairs, answer.side, item, candidate)


def _side(pairs: PairSet, side: Side) -> tuple[Items, str]:
    items, name = (pairs.x, pairs.x_name) if side == "x" else (pairs.y, pairs.y_name)
    return items, items_named(name)


def find_enclosed(view: View, scene: Scene) -> None:
    """Find the items inside the outline that a link brought; on another drawing, none."""
    drawn = scene.places.digest
    if view.enclosed is not None:
        if view.enclosed and view.outlined not in ("", drawn):
            view.clear_region()
        view.outlined = drawn if view.enclosed else ""
        return
    view.outlined = drawn
    shown, index = scene.shown.copy(), scene.grouping().index
    for key in view.closed:
        if key[0] == "s":
            shown &= (np.arange(len(shown)) >= scene.n_x) != (key == "s1")
        elif index is not None:
            shown &= index != int(key[1:])
    inside = rows_inside(view.outline, scene.points)
    view.enclosed = tuple(inside[shown[inside]].tolist())


def show_region(view: View, scene: Scene) -> None:
    """Show the items that were enclosed, else, where it is asked for, all of them."""
    if not view.enclosed:
        if view.has_table:
            _list_items(view, scene, np.flatnonzero(scene.shown))
        return
    rows = np.array([row for row in view.enclosed if row < len(scene.shown)])
    pairs, (x_rows, y_rows) = scene.pairs, scene.by_side(rows)
    st.markdown(f"**{len(rows):,} items enclosed**")
    display.quiet(f"{len(x_rows):,} {pairs.nouns[0]} · {len(y_rows):,} {pairs.nouns[1]}")
    ranks, figures = scene.ranks(), []
    # The MRR of what is enclosed and of all, from each side that can ask.
    for values, own, name in zip((ranks.x, ranks.y), (x_rows, y_rows), pairs.nouns, strict=True):
        if n := np.isfinite(values[own]).sum():
            text = f"MRR of {n:,} {name} (all: {np.nanmean(values):.2f})"
            figures.append((f"{np.nanmean(values[own]):.2f}", text))
    if figures:
        display.figures(figures)
    forms.quiet_button("Clear", "map-let-go", view.clear_region, icon="close")
    _list_items(view, scene, rows, ranks)


def _list_items(view: View, scene: Scene, rows: Any, ranks: ItemRanks | None = None) -> None:
    is_listed = np.isin(np.arange(len(scene.shown)), rows)
    neighbors = None if ranks is None else np.concatenate([ranks.x, ranks.y])[np.sort(rows)]
    listed = {
        "title": "Items enclosed" if view.enclosed else "Items on the map",
        "rows": canvas.packed(pack_bits(is_listed)),
        "found": None if neighbors is None else canvas.packed(neighbors.astype("<f4").tobytes()),
        "filters": True,
    }
    canvas.show_rows(listed, "map-items")
    make = partial(items_csv, view, scene, rows, ranks)
    forms.download("These items as CSV", make, "simviz-map-items.csv", key="map-items-csv")


def items_csv(view: View, scene: Scene, rows: Any, ranks: ItemRanks | None = None) -> str:
    """Return the items that pass the filter as a file, safe to open in a spreadsheet."""
    table = _table(scene, rows[scene.passing(view.filter)[rows]], ranks)
    cells = table.astype(object).where(table.notna(), "").values.tolist()
    return csv_text([list(table.columns), *cells])


def _table(scene: Scene, rows: Any, ranks: ItemRanks | None) -> pd.DataFrame:
    """Return items as a table: side, id, text, part of the split and columns of the data."""
    import pandas as pd

    pairs, placed = scene.pairs, scene.placed
    tables = []
    x_own, y_own = scene.by_side(np.asarray(rows, dtype=np.intp))
    for side, items, name, index, part in (
        ("x", pairs.x, pairs.x_name, placed.x_rows[x_own], scene.parts[0]),
        ("y", pairs.y, pairs.y_name, placed.y_rows[y_own], scene.parts[1]),
    ):
        texts = items.content if items.kind in ("text", "keyword") else items.labels
        columns: dict[str, Any] = {
            "side": name,
            "id": items.ids[index],
            "text": [safe_line(texts[i], _LONGEST_CELL) for i in index],
            "part": part[index],
        }
        if ranks is not None:
            columns["found"] = ranks.x[x_own] if side == "x" else ranks.y[y_own]
        for column, values in items.metadata.items():
            if column != "label":
                cells = ("" if values[i] is None else str(values[i]) for i in index)
                columns.setdefault(column, list(cells))
        tables.append(pd.DataFrame(columns))
    joined = pd.concat([table for table in tables if len(table)] or tables, ignore_index=True)
    # One side may have columns that the other has not.
    texts = [name for name in joined.columns if name != "found"]
    return joined.fillna(dict.fromkeys(texts, ""))
