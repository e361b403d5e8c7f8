"""The map and what lies beside and below it: all that a click changes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from simviz.charts.canvas import Part, bits, importance, map_alt, pack_items, pack_places
from simviz.charts.colours import Grouping, group_items, mix
from simviz.charts.style import clean_text, get_theme
from simviz.data.description import joined_column
from simviz.data.pairs import PairSet
from simviz.explain.topics import RunTopics
from simviz.projection import Neighbors, Quality, Spot, place_among
from simviz.projection.drawing import GROUPS, Found, Placed, find_all
from simviz.projection.space import Space, ranked
from simviz.store.run import Run
from simviz.workbench.map import canvas, dimensions, selection, topics as map_topics
from simviz.workbench.map.view import Item, Side, View, follow_canvas, write_link
from simviz.workbench.shell import code, drawings, links, state

NEIGHBORS, _PARTNERS, _LONGEST_LINE = 10, 60, 34
#: Seconds by which the map goes ahead of the list beside it. A browser draws in one go what
#: arrives within a hundredth of a second, and the list takes it several times as long as the map.
_AHEAD = 0.025
#: Shares of the worst possible from which on a halo is faint, clear and strong.
_HALO_LEVELS = (0.1, 0.25, 0.4)
_COLOUR_TITLES = {"score": "similarity to the nearest"}


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What is drawn, before anything on it is selected."""

    run: Run
    pairs: PairSet
    placed: Placed
    parts: tuple[Any, Any]
    masks: tuple[Any, Any]
    items: Part
    places: Part
    colour: str
    regions: Sequence[Any]
    topics: RunTopics | None

    @property
    def n_x(self) -> int:
        """Items of the x side that are drawn; those of the y side follow them."""
        return len(self.placed.x_rows)

    @property
    def shown(self) -> Any:
        """Whether each item is shown, the x side first."""
        return np.concatenate(self.masks)

    @property
    def points(self) -> Any:
        """Where each item stands, the x side first."""
        return np.concatenate([self.placed.drawing.x, self.placed.drawing.y])

    def joint(self, side: Side, rows: Any) -> list[int]:
        """Return rows of one side of the drawing as rows of both."""
        shift = 0 if side == "x" else self.n_x
        return [int(row) + shift for row in rows]

    def found(self) -> Found:
        """Return how well every item on the drawing finds what belongs to it."""
        return _found(self.run.id, self.items.digest, self)

    def grouping(self) -> Grouping:
        """Return the colours of the items, and their legend."""
        return _grouping(self.run.id, self.items.digest, self.colour, state.theme(), self)


@st.cache_resource(show_spinner=False, max_entries=6)
def _found(run_id: str, items: str, _scene: Scene) -> Found:
    return find_all(drawings.pipeline(_scene.run), _scene.pairs, _scene.placed)


@st.cache_resource(show_spinner=False, max_entries=12)
def _grouping(run_id: str, items: str, colour: str, theme: str, _scene: Scene) -> Grouping:
    pairs, placed = _scene.pairs, _scene.placed
    return group_items(
        _colour_values(_scene),
        (len(placed.x_rows), len(placed.y_rows)),
        get_theme("dark" if theme == "dark" else "light"),
        names=(pairs.x_name, pairs.y_name),
        title=_COLOUR_TITLES.get(colour, colour.removeprefix("=")),
        order=GROUPS if colour == "found" else None,
    )


def _colour_values(scene: Scene) -> Any:
    """Return a value for each item of the drawing, the x side first; "side" for the side."""
    pairs, placed = scene.pairs, scene.placed
    if scene.colour == "side":
        return "side"
    if scene.colour == "found":
        return scene.found().groups
    if scene.colour == "score":
        return scene.found().scores
    rows = np.concatenate([placed.x_rows, len(pairs.x) + placed.y_rows])
    if scene.colour == "part":
        return np.concatenate(scene.parts)[rows]
    return joined_column(pairs.x, pairs.y, scene.colour.removeprefix("="))[rows]


def scene_of(
    run: Run,
    pairs: PairSet,
    drawing: str,
    masks: tuple[Any, Any],
    colour: str = "side",
    is_labelled: bool = False,
) -> Scene:
    """Return all of a drawing that is the same whatever is selected."""
    placed, parts = drawings.kept(run, drawing), drawings.parts(run, pairs)
    topics = map_topics.topics_of(run, pairs)
    rows = np.concatenate([placed.x_rows, [-1], placed.y_rows]).astype(np.int64)
    items_key = f"{pairs.digest}-{hashlib.blake2b(rows.tobytes(), digest_size=8).hexdigest()}"
    regions = map_topics.regions(run.id, drawing, placed, pairs, topics) if is_labelled else []
    return Scene(
        run=run,
        pairs=pairs,
        placed=placed,
        parts=parts,
        masks=masks,
        items=_items_part(items_key, placed, pairs),
        places=_places_part(run.id, drawing, placed, pairs, parts, topics),
        colour=colour,
        regions=regions,
        topics=topics,
    )


@st.cache_resource(show_spinner=False, max_entries=4)
def _items_part(key: str, _placed: Placed, _pairs: PairSet) -> Part:
    """Return the items as the browser keeps them; the key says which data set and items."""
    return pack_items(
        _pairs.x.take(_placed.x_rows),
        _pairs.y.take(_placed.y_rows),
        x_rows=_placed.x_rows,
        y_rows=_placed.y_rows,
        x_name=_pairs.x_name,
        y_name=_pairs.y_name,
    )


@st.cache_resource(show_spinner=False, max_entries=8)
def _places_part(
    run_id: str,
    drawing: str,
    _placed: Placed,
    _pairs: PairSet,
    _parts: tuple[Any, Any],
    _topics: RunTopics | None,
) -> Part:
    """Return where the items of a drawing stand, and what the run says of them."""
    x_rows, y_rows = _placed.x_rows, _placed.y_rows
    x, y = _placed.drawing.x, _placed.drawing.y
    relevance = _pairs.relevance.take(x_rows, y_rows)
    order = importance(_pairs.x.take(x_rows), _pairs.y.take(y_rows), x, y, relevance)
    notes = None
    if _topics is not None:
        x_notes, y_notes = map_topics.notes(run_id, _topics)
        notes = [x_notes[row] for row in x_rows] + [y_notes[row] for row in y_rows]
    parts = np.concatenate([_parts[0][x_rows], _parts[1][y_rows]])
    return pack_places(x, y, order, parts=parts, notes=notes)


@st.fragment
def show(view: View, scene: Scene) -> None:
    """Draw the map, and what is known of what is selected on it."""
    run, pairs = scene.run, scene.pairs
    follow_canvas(view, pairs, len(scene.points))
    k = dimensions.chosen(view, run)
    if k is not None:
        scene = dimensions.cut(scene, k)
    selection.find_enclosed(view, scene)
    own = write_link(view, run, pairs)
    space: Space | None = None
    found, answer, spot = None, None, None
    if view.item is not None or view.query is not None:
        space = drawings.space(run, pairs) if k is None else dimensions.space(scene, k)
    if space is not None and view.item is not None:
        found = space.nearest(*view.item, NEIGHBORS)
        spot = _undrawn(view.item, space, scene)
    elif space is not None and view.query is not None:
        answer = selection.ask(view.query, space, pairs, scene.placed, NEIGHBORS)
        if answer is not None and answer.spot is not None:
            text = answer.text[:40] + ("…" if len(answer.text) > 40 else "")
            near = scene.placed.place(answer.found)
            spot = _spot_data(text, answer.spot, near, scene)
    with st.container(key="map-stage"):
        left, right = st.columns([7, 3], gap="medium")
        with left:
            canvas.show(data(view, scene, found, spot))
            if space is not None:
                time.sleep(_AHEAD)
            with st.container(horizontal=True, vertical_alignment="center", key="map-below"):
                links.show_button("map", [run], own)
                code.show_map(view, run)
                selection.show_table_switch(view)
                dimensions.show_switch(view, run)
        with right:
            if found is not None and space is not None:
                selection.show_item(view, scene, space, found)
            elif answer is not None:
                selection.show_answer(view, answer, pairs)
    dimensions.show(view, scene)
    selection.show_region(view, scene)


def data(
    view: View,
    scene: Scene,
    found: Neighbors | None = None,
    spot: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what the canvas is sent, beside what it keeps."""
    pairs, placed = scene.pairs, scene.placed
    grouping = scene.grouping()
    selected = _selected(view, scene, found)
    shown, hidden = scene.shown, None
    if not shown.all():
        if selected is not None:
            # What is selected is shown whatever is filtered, and so are its nearest.
            shown[[selected["item"], *(row for row, _, _ in selected["nearest"])]] = True
        hidden = canvas.packed(bits(~shown))
    halos = None
    if view.has_halos and placed.drawing.quality is not None:
        halos = _halos(placed.drawing.quality, len(shown))
    look = _look()
    return {
        "items": scene.items.digest,
        "places": scene.places.digest,
        "look": look,
        "colours": list(grouping.colours),
        "groups": None if grouping.index is None else canvas.packed(grouping.index.tobytes()),
        "legend": [*grouping.legend, *_marks(look, halos, selected, spot)],
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
            "n": view.set_n,
        },
        "asked": [
            {"side": side, "name": name}
            for side, items, name in (("x", pairs.x, pairs.x_name), ("y", pairs.y, pairs.y_name))
            if items.kind in ("text", "keyword")
        ],
        "typed": None if view.query is None else list(view.query),
        "narrow": state.is_narrow(),
        "low": dimensions.is_open(view, scene.run),
        "scrolls": False,
        "alt": f"{map_alt(placed.drawing, (pairs.x_name, pairs.y_name))} "
        "A table below the map says the same.",
    }


def _selected(view: View, scene: Scene, found: Neighbors | None) -> dict[str, Any] | None:
    """Return the selected item with its nearest and what belongs to it, as rows on the map."""
    if view.item is None or found is None:
        return None
    side, item = view.item
    row = scene.placed.row_of(side, item)
    if row is None:
        return None
    belongs = selection.relevant(scene.pairs, side, item)
    return {
        "item": scene.joint(side, [row])[0],
        "nearest": _near(scene, scene.placed.place(found), belongs),
        "partners": _partners(scene, found.side, belongs),
    }


def _undrawn(item: Item, space: Space, scene: Scene) -> dict[str, Any] | None:
    """Return a selected item that the sample left out, among its nearest that are drawn."""
    side, row = item
    if scene.placed.row_of(side, row) is not None:
        return None
    own = scene.pairs.x if side == "x" else scene.pairs.y
    other: Side = "y" if side == "x" else "x"
    scores = space.scores(side, own.take([row]))[scene.placed.rows(other)]
    near = ranked(scores, side, NEIGHBORS)
    if not len(near) or not near.scores.any():
        return None
    points = scene.placed.drawing.x if other == "x" else scene.placed.drawing.y
    spot = place_among(points[near.index], near.scores)
    belongs = selection.relevant(scene.pairs, side, row)
    return _spot_data(_short(selection.text_of(own, row)), spot, near, scene, belongs)


def _spot_data(
    text: str, spot: Spot, near: Neighbors, scene: Scene, belongs: Collection[int] = ()
) -> dict[str, Any]:
    """Return something that is not on the drawing, with its nearest that are."""
    return {
        "text": text,
        "x": spot.point[0],
        "y": spot.point[1],
        "spread": spot.spread,
        "nearest": _near(scene, near, belongs),
        "partners": _partners(scene, near.side, belongs),
    }


def _near(scene: Scene, near: Neighbors, belongs: Collection[int]) -> list[list[Any]]:
    """Return neighbours on the drawing: row, score, and whether they belong."""
    rows = scene.placed.rows(near.side)
    joint = scene.joint(near.side, near.index)
    return [
        [row, float(score), int(rows[at]) in belongs]
        for row, at, score in zip(joint, near.index, near.scores, strict=True)
    ]


def _partners(scene: Scene, side: Side, belongs: Collection[int]) -> list[int]:
    is_partner = np.isin(scene.placed.rows(side), sorted(belongs))
    return scene.joint(side, np.flatnonzero(is_partner)[:_PARTNERS])


def _halos(quality: Quality, n_items: int) -> dict[str, str]:
    """Return the strength of both halos of each item, from 0 (none) to 3."""
    halos = {}
    for name, values in (
        ("false", quality.false_neighbors),
        ("missing", quality.missing_neighbors),
    ):
        strength = np.zeros(n_items, dtype=np.uint8)
        strength[quality.sample] = np.searchsorted(_HALO_LEVELS, values, side="right")
        halos[name] = canvas.packed(strength.tobytes())
    return halos


def _look() -> dict[str, Any]:
    """Return the colours of the theme by what they are for."""
    theme = get_theme(state.theme())
    return {
        "name": theme.name,
        "paper": theme.paper,
        "ink": theme.ink,
        "soft": mix(theme.ink, theme.muted, 0.6),
        "muted": theme.muted,
        "faint": theme.faint,
        "accent": theme.accent,
        "right": theme.palette[2],
        "false": theme.palette[3],
        "missing": theme.palette[4],
        "dim": 0.2,
    }


def _marks(
    look: dict[str, Any], halos: object, selected: object, spot: object
) -> list[dict[str, Any]]:
    """Return what marks mean that are on the map just now, a sentence each."""
    false_words = "False neighbours: some drawn near it are far from it in the model."
    missing_words = "Missing neighbours: some near it in the model are drawn far away."
    marks = [
        (selected or spot, "line", "ink", "nearest in the model"),
        (selected, "dashes", "right", "belongs to it"),
        (halos, "glow", "false", false_words),
        (halos, "ring", "missing", missing_words),
    ]
    return [
        {"shape": shape, "colour": look[colour], "name": name}
        for there, shape, colour, name in marks
        if there is not None
    ]


def _short(line: str) -> str:
    return clean_text(line, _LONGEST_LINE)
