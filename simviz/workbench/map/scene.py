"""The map and what lies beside and below it: all that a click changes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from simviz._types import Side
from simviz.charts.canvas import (
    FILTERS,
    Part,
    column_codes,
    importance,
    map_alt,
    mark_legend,
    pack_bits,
    pack_items,
    pack_nearest,
    pack_places,
    theme_colours,
)
from simviz.charts.dot_colours import Grouping, group_items
from simviz.charts.drawing import CHANGED
from simviz.charts.style import ThemeName, clean_text, get_theme
from simviz.data.description import paired_column, telling_columns
from simviz.data.pairs import PairSet
from simviz.jobs.run_drawings import QUICK_LAYOUT
from simviz.projection import JointMap, Quality
from simviz.projection.pipeline_map import GROUPS, ItemRanks, Placed, nearest_of_all, rank_items
from simviz.store.run import Run
from simviz.workbench.map import canvas, dimensions, selection, topics as map_topics, two_models
from simviz.workbench.map.selection import Answer
from simviz.workbench.map.view import View, apply_canvas_events, bound, write_link
from simviz.workbench.shell import drawings, sharing, state, what_if

_PARTNERS, _LONGEST_LINE = 60, 34
#: Seconds by which the map goes ahead of the list beside it. A browser draws in one go what
#: arrives within a hundredth of a second, and the list takes it several times as long as the map.
_AHEAD = 0.025
#: Shares of the worst possible from which on a halo is faint, clear and strong.
_HALO_LEVELS = (0.1, 0.25, 0.4)
_COLOUR_TITLES = {"score": "similarity to the nearest", "change": CHANGED}


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What is drawn, before anything on it is selected."""

    run: Run
    pairs: PairSet
    placed: Placed
    shown: NDArray[np.bool_]
    items: Part
    places: Part
    drawing: str
    colour: str
    regions: map_topics.Tiers
    compared: two_models.Compared | None = None

    @property
    def n_x(self) -> int:
        """Items of the x side that are drawn; those of the y side follow them."""
        return len(self.placed.x_rows)

    @property
    def points(self) -> Any:
        """Where each item stands, the x side first."""
        return np.concatenate([self.placed.drawing.x, self.placed.drawing.y])

    @property
    def parts(self) -> tuple[Any, Any]:
        """The part of the split of each item of both sides of the data set."""
        return drawings.parts(self.run, self.pairs)

    def by_side(self, rows: Any) -> tuple[Any, Any]:
        """Return rows of both sides as rows of the x side and rows of the y side."""
        is_x = rows < self.n_x
        return rows[is_x], rows[~is_x] - self.n_x

    def joint(self, side: Side, rows: Any) -> list[int]:
        """Return rows of one side of the drawing as rows of both."""
        shift = 0 if side == "x" else self.n_x
        return [int(row) + shift for row in rows]

    def passing(self, filters: str) -> NDArray[np.bool_]:
        """Return which items a filter of the browser lets pass."""
        passes = np.ones(len(self.shown), dtype=bool)
        columns = [*filter_columns(self.pairs, self.placed).items()]
        for entry in filter(None, filters.split(";")):
            at, _, value = entry.partition(":")
            if int(at) < len(columns):
                name, values = columns[int(at)]
                passes &= np.isin(column_codes(values, name)[1], [*map(int, value.split("."))])
        return passes

    def ranks(self) -> ItemRanks:
        """Return how well every item on the drawing finds what belongs to it."""
        return _ranks(self.run, self.items.digest, self)

    def grouping(self) -> Grouping:
        """Return the colours of the items, and their legend."""
        return _grouping(
            self.run, self.items.digest, self.colour, state.theme(), self.compared, self
        )


@state.cached(6)
def _ranks(run: Run, items: str, _scene: Scene) -> ItemRanks:
    return rank_items(drawings.pipeline(run), _scene.pairs, _scene.placed)


@state.cached(12)
def _grouping(
    run: Run,
    items: str,
    colour: str,
    theme: ThemeName,
    compared: two_models.Compared | None,
    _scene: Scene,
) -> Grouping:
    return group_items(
        _colour_values(_scene),
        (_scene.n_x, len(_scene.placed.y_rows)),
        get_theme(theme),
        names=_scene.pairs.headings,
        title=_COLOUR_TITLES.get(colour, colour.removeprefix("=")),
        order=GROUPS if colour == "found" else None,
    )


def _colour_values(scene: Scene) -> Any:
    """Return a value for each item of the drawing, the x side first; "side" for the side."""
    pairs, placed = scene.pairs, scene.placed
    if scene.colour == "side":
        return "side"
    if scene.compared is not None and scene.colour == "change":
        return scene.compared.changed
    if scene.colour == "found":
        return scene.ranks().groups
    if scene.colour == "score":
        return scene.ranks().scores
    rows = _joined_rows(pairs, placed)
    if scene.colour == "part":
        return np.concatenate(scene.parts)[rows]
    return paired_column(pairs, scene.colour.removeprefix("="))[rows]


def _joined_rows(pairs: PairSet, placed: Placed) -> NDArray[np.intp]:
    return np.concatenate([placed.x_rows, len(pairs.x) + placed.y_rows])


def scene_of(
    run: Run,
    pairs: PairSet,
    drawing: str,
    shown: NDArray[np.bool_] | None = None,
    colour: str = "side",
    is_labelled: bool = False,
) -> Scene:
    """Return all of a drawing that is the same whatever is selected."""
    placed = drawings.stored_drawing(run, drawing)
    rows = _joined_rows(pairs, placed)
    return Scene(
        run=run,
        pairs=pairs,
        placed=placed,
        shown=np.ones(len(rows), dtype=bool) if shown is None else shown,
        items=_items_part(pairs, rows.tobytes(), placed),
        places=places_part(run, pairs, drawing),
        drawing=drawing,
        colour=colour,
        regions=map_topics.regions(run, pairs, drawing) if is_labelled else [],
    )


@state.cached(4)
def _items_part(pairs: PairSet, rows: bytes, _placed: Placed) -> Part:
    """Return the items as the browser keeps them, whatever drawing they are on."""
    at, columns = (_placed.x_rows, _placed.y_rows), filter_columns(pairs, _placed)
    drawn = pairs.x.take(at[0]), pairs.y.take(at[1])
    return pack_items(*drawn, pairs.headings, rows=at, columns=columns)


def filter_columns(pairs: PairSet, placed: Placed) -> dict[str, Any]:
    """Return the columns that can be filtered by, each with a value an item of a drawing."""
    rows, names = _joined_rows(pairs, placed), telling_columns(pairs.x, pairs.y)[:FILTERS]
    return {name: paired_column(pairs, name)[rows] for name in names}


@state.cached(6)
def nearest_part(
    run: Run, pairs: PairSet, drawing: str, places: Part | None = None
) -> Part | None:
    """Return what a run finds nearest to each item of a drawing; None where it takes too long."""
    placed = drawings.stored_drawing(run, drawing)
    neighbors = nearest_of_all(drawings.pipeline(run), pairs, placed)
    of = places or places_part(run, pairs, drawing)
    return None if neighbors is None else pack_nearest(neighbors, of)


@state.cached(8)
def places_part(run: Run, pairs: PairSet, drawing: str) -> Part:
    """Return where the items of a drawing stand, and what the run says of them."""
    placed = drawings.stored_drawing(run, drawing)
    rows, x, y = (placed.x_rows, placed.y_rows), placed.drawing.x, placed.drawing.y
    drawn = pairs.take(*rows)
    order = importance(drawn.x, drawn.y, x, y, drawn.relevance)
    notes = map_topics.notes(run, pairs)
    both = None if notes is None else [s[i] for s, at in zip(notes, rows, strict=True) for i in at]
    parts = [part[at] for part, at in zip(drawings.parts(run, pairs), rows, strict=True)]
    return pack_places(x, y, order, parts=np.concatenate(parts), notes=both)


@st.fragment
def show(view: View, scene: Scene) -> None:
    """Draw the map, and what is known of what is selected on it."""
    run = first = scene.run
    pairs = scene.pairs
    apply_canvas_events(view, pairs, len(scene.points))
    k = dimensions.selected_dimension(view, run)
    if dimensions.is_open(view, run) and scene.placed.drawing.method == "two-sided":
        # A slide from cut to cut must be quick: it goes by distances, from first to last.
        labelled = bool(scene.regions)
        scene = scene_of(run, pairs, QUICK_LAYOUT, scene.shown, scene.colour, labelled)
        canvas.send(scene.places, "uncut")
    if k is not None:
        scene = dimensions.cut(scene, k)
    both = scene.compared
    if both is not None and two_models.is_turned(both):
        scene = two_models.turned(scene, both, places_part(both.second, pairs, scene.drawing))
        nearest = nearest_part(scene.run, pairs, scene.drawing, scene.places)
        canvas.send(nearest, "nearest-turned")
    selection.find_enclosed(view, scene)
    write_link(view, run, pairs)
    run = scene.run
    answer = None
    if view.item is not None or view.query is not None:
        space = drawings.space(run, pairs) if k is None else dimensions.space(run, pairs, k)
        answer = selection.query_of(view, scene, space)
    with st.container(key="map-stage"):
        left, right = st.columns([7, 3], gap="medium")
        with left:
            canvas.show(data(view, scene, answer))
            if answer is not None:
                time.sleep(_AHEAD)
            with st.container(horizontal=True, vertical_alignment="center", key="map-below"):
                sharing.show_button("map", [first])
                text = "A list of all items, with histograms to filter them."
                st.toggle("Items", help=text, **bound(view, "has_table", "map-table"))
                if scene.compared is None:
                    dimensions.show_switch(view, run)
        is_open = dimensions.is_open(view, run) or what_if.is_marked(run)
        is_open |= scene.compared is not None
        if answer is not None or view.enclosed or view.has_table or is_open:
            with right, st.container(key="map-drawer"):
                dimensions.show(view, scene)
                with st.container(key="map-two"):
                    two_models.show(scene)
                if answer is not None:
                    selection.show_answer(view, scene, answer)
                selection.show_marks(view, scene, answer)
                selection.show_region(view, scene)
                two_models.show_file(scene)


def show_alone(
    run: Run, pairs: PairSet, where: Mapping[str, str], key: str, *, is_labelled: bool = False
) -> JointMap:
    """Draw the best kept map of a run; what is pressed on it is opened on the page of the map."""
    picked = canvas.new_event("picked", key)
    if picked is not None and picked.get("key"):
        st.switch_page("pages/map.py", query_params={**where, "sel": str(picked["key"])})
    drawing = str(drawings.best_stored(run))
    scene = scene_of(run, pairs, drawing, is_labelled=is_labelled)
    st.html(canvas.STYLE)
    canvas.send(scene.items, "items")
    canvas.send(scene.places, "places")
    if is_labelled:
        canvas.send(nearest_part(run, pairs, drawing), "nearest")
    alt = map_alt(scene.placed.drawing, pairs.nouns)
    more = {"asked": [], "scrolls": True, "cover": is_labelled, "alt": alt}
    canvas.show(data(View(run.info.dataset_id, run.id), scene) | more, key)
    return scene.placed.drawing


def data(view: View, scene: Scene, answer: Answer | None = None) -> dict[str, Any]:
    """Return what the canvas is sent, beside what it keeps."""
    pairs, placed = scene.pairs, scene.placed
    grouping = scene.grouping()
    selected, spot = _selected(scene, answer)
    shown, hidden = scene.shown.copy(), None
    if not shown.all():
        if selected is not None:
            # What is selected is shown whatever is filtered, and so are its nearest.
            shown[[selected["item"], *(row for row, _, _ in selected["nearest"])]] = True
        hidden = canvas.packed(pack_bits(~shown))
    halos = None
    if view.has_halos and placed.drawing.quality is not None:
        halos = _halos(placed.drawing.quality, len(shown))
    look = theme_colours(get_theme(state.theme()))
    return {
        "items": scene.items.digest,
        "places": scene.places.digest,
        # New places of a run whose marks are others leave a trace, and those of one of two runs.
        "marks": [*two_models.pair(scene), scene.run.id, *getattr(scene.run, "marks", ())],
        "look": look,
        "colours": list(grouping.colours),
        "groups": None if grouping.index is None else canvas.packed(grouping.index.tobytes()),
        "legend": [*grouping.legend, *mark_legend(look, halos, selected, spot)],
        "hidden": hidden,
        "halos": halos,
        "regions": [
            [tier, first, last, *region.point, [_short(line) for line in region.lines]]
            for tier, first, last, region in scene.regions
        ],
        "selected": selected,
        "query": spot,
        "region": [list(corner) for corner in view.outline] if view.enclosed else None,
        "camera": {"at": None if view.at is None else list(view.at), "n": view.at_n},
        "set": {
            "find": None if view.find is None else list(view.find),
            "closed": list(view.closed),
            "filter": view.filter,
            "n": view.set_n,
        },
        "asked": [
            {"side": side, "name": name}
            for side, items, name in zip("xy", (pairs.x, pairs.y), pairs.headings, strict=True)
            if items.kind in ("text", "keyword")
        ],
        "typed": None if view.query is None else list(view.query),
        "answered": canvas.last_heard("asked"),
        "narrow": state.is_narrow(),
        "scrolls": False,
        "alt": f"{map_alt(placed.drawing, pairs.nouns)} The list beside the map says the same.",
    }


def _selected(
    scene: Scene, answer: Answer | None
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return the selected item, else what is not on the drawing, with what is near on it."""
    if answer is None or (answer.drawn is None and answer.spot is None):
        return None, None
    near = answer.near
    rows = scene.placed.rows(near.side)
    is_partner = np.isin(rows, sorted(answer.belongs))
    joint, belong = scene.joint(near.side, near.index), is_partner[near.index].tolist()
    nearest = zip(joint, near.scores.tolist(), belong, strict=True)
    partners = scene.joint(near.side, np.flatnonzero(is_partner)[:_PARTNERS])
    related = {"nearest": [list(one) for one in nearest], "partners": partners}
    if answer.spot is None:
        return {"item": scene.joint(answer.side, [answer.drawn])[0], **related}, None
    x, y = answer.spot.point
    text = answer.text[:40] + "…" * (len(answer.text) > 40)
    text = text if answer.item is None else _short(answer.text)
    return None, {"text": text, "x": x, "y": y, "spread": answer.spot.spread, **related}


def _halos(quality: Quality, n_items: int) -> dict[str, str]:
    """Return the strength of both halos of each item, from 0 (none) to 3."""
    halos = {}
    across = quality.false_across, quality.missing_across
    for name, values in zip(("false", "missing"), across, strict=True):
        strength = np.zeros(n_items, dtype=np.uint8)
        strength[quality.sample] = np.searchsorted(_HALO_LEVELS, values, side="right")
        halos[name] = canvas.packed(strength.tobytes())
    return halos


def _short(line: str) -> str:
    return clean_text(line, _LONGEST_LINE)
