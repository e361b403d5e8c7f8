"""Topics on the map: labels of its regions, and what an item is about."""

from __future__ import annotations

from dataclasses import replace
from html import escape

import numpy as np
import streamlit as st

from simviz._types import Side
from simviz.data import PairSet
from simviz.explain.topics import RunTopics, has_topics
from simviz.projection import topic_regions, word_regions
from simviz.projection.regions import Region
from simviz.store.run import Run
from simviz.workbench.compare import topics
from simviz.workbench.map.view import Item, View, driven
from simviz.workbench.shell import drawings, state
from simviz.workbench.shell.frame import page_link

#: Topics of an item that are told when it is pointed at, and when it is selected.
_HOVERED, _SELECTED = 3, 4
#: Fewer items are not grouped, and a region has so many on average at least.
_FEWEST, _FEWEST_EACH = 60, 12
#: Regions of each tier, with the first and the last level of zoom at which they are named; a
#: level doubles the area. Topics are as they are, and named from afar.
_TIERS, _TOPICAL = ((14, 0, 2), (26, 3, 5), (64, 6, 9)), (0, 6)
#: Partners that are read to say what a picture is about.
_PARTNERS = 20
Tiers = list[tuple[int, int, int, Region]]


def topics_of(run: Run, pairs: PairSet) -> RunTopics | None:
    """The topics of a run; None where its method has none."""
    return topics.topics_of(run, pairs) if has_topics(run.info.method) else None


def choose_labels(view: View, run: Run) -> bool:
    """Choose whether regions of the map are labelled."""
    is_on = view.regions is not False
    name = "Topics" if has_topics(run.info.method) else "Regions"
    st.pills(
        "Labels of regions",
        [name],
        selection_mode="multi",
        **driven("map-regions", [name] * is_on, lambda on: setattr(view, "regions", bool(on))),
        label_visibility="collapsed",
    )
    return is_on


@state.cached(12)
def regions(run: Run, pairs: PairSet, drawing: str) -> Tiers:
    """Return parts of a drawing and what they are about, coarse ones for afar, fine for near."""
    placed, topics = drawings.stored_drawing(run, drawing), topics_of(run, pairs)
    x_rows, y_rows, x, y = placed.x_rows, placed.y_rows, placed.drawing.x, placed.drawing.y
    if topics is not None:
        topical = topic_regions(
            np.concatenate([x, y]),
            np.concatenate([topics.x_theta[x_rows], topics.y_theta[y_rows]]),
            [_lines(topics, topic) for topic in range(topics.x_theta.shape[1])],
        )
        return [(0, *_TOPICAL, region) for region in topical]
    n = len(x) + len(y)
    if n < _FEWEST:
        return []
    read = [(x, _texts(pairs, x_rows)), (y, _texts(pairs.swap(), y_rows))]
    return [
        # Sides that say the same say it once.
        (tier, first, last, replace(region, lines=tuple(dict.fromkeys(region.lines))))
        for tier, (n_regions, first, last) in enumerate(_TIERS)
        for region in word_regions(read, min(n_regions, n // _FEWEST_EACH))
    ]


def _texts(pairs: PairSet, rows: np.ndarray) -> list[str] | None:
    """What items of the x side say; of pictures, what the words say that belong to them."""
    if pairs.x.kind in ("text", "keyword"):
        return [str(pairs.x.content[row]) for row in rows]
    if pairs.y.kind not in ("text", "keyword"):
        return None
    partners = np.split(pairs.relevance.positives.indices, pairs.relevance.positives.indptr[1:-1])
    return [" ".join(map(str, pairs.y.content[partners[row][:_PARTNERS]])) for row in rows]


def _lines(topics: RunTopics, topic: int) -> tuple[str, ...]:
    """A topic in two terms of each side; sides that say the same say it once."""
    x, y = (topics.label(topic, 2, side) for side in ("x", "y"))
    return (x,) if x == y else (x, y)


@state.cached(6)
def notes(run: Run, pairs: PairSet) -> tuple[list[str], list[str]] | None:
    """What the items of both sides are mostly about, in a line each; None without topics."""
    run_topics = topics_of(run, pairs)
    if run_topics is None:
        return None
    labels = [run_topics.label(topic) for topic in range(run_topics.x_theta.shape[1])]

    def note(side: Side, item: int) -> str:
        leading = run_topics.leading(side, item, _HOVERED)
        return " · ".join(f"{labels[topic]} {100 * share:.0f} %" for topic, share in leading)

    n_x, n_y = len(run_topics.x_theta), len(run_topics.y_theta)
    return [note("x", i) for i in range(n_x)], [note("y", i) for i in range(n_y)]


def show_item(item: Item, run: Run, pairs: PairSet) -> None:
    """Draw what an item is about as bars, where the run has topics."""
    run_topics = topics_of(run, pairs)
    leading = [] if run_topics is None else run_topics.leading(*item, _SELECTED)
    if run_topics is None or not leading:
        return
    lines = [
        f'<tr><td dir="auto">{escape(run_topics.label(topic, 4, item[0]))}'
        f'<i style="width:{100 * share:.0f}%"></i></td><td>{100 * share:.0f} %</td></tr>'
        for topic, share in leading
    ]
    rest = 1 - sum(share for _, share in leading)
    if round(100 * rest) > 0:
        lines.append(f"<tr><td>other topics</td><td>{100 * rest:.0f} %</td></tr>")
    body = f"<tbody>{''.join(lines)}</tbody>"
    st.html(f'<table class="sv-about"><caption>Topics</caption>{body}</table>')
    if state.share() is None:
        where = {"data": run.info.dataset_id, "runs": run.id, "tab": "topics"}
        page_link("pages/compare.py", "All topics", ":material/list:", **where)
