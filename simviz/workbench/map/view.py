"""The map and what lies beside and below it: all that a click changes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from simviz.workbench.map import (
    canvas,
    choices,
    dimensions,
    selection,
    topics as map_topics,
    trust,
)
from simviz.workbench.map.choices import View
from simviz.workbench.shell import code, drawings, links, state

if TYPE_CHECKING:
    from simviz.charts.canvas import Part
    from simviz.data.pairs import PairSet
    from simviz.explain.topics import RunTopics
    from simviz.projection import Neighbors
    from simviz.projection.drawing import Placed
    from simviz.projection.space import Space
    from simviz.store.run import Run

NEIGHBORS, _PARTNERS, _REGION_CHARACTERS = 10, 60, 34
#: Seconds by which the map goes ahead of the list beside it. A browser draws in one go what
#: arrives within a hundredth of a second, and the list takes it several times as long as the map.
_AHEAD = 0.025


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

    def joint(self, side: choices.Side, rows: Any) -> list[int]:
        """Rows of one side of the drawing as rows of both."""
        shift = 0 if side == "x" else self.n_x
        return [int(row) + shift for row in rows]


@st.cache_resource(show_spinner=False, max_entries=4)
def _items_part(key: str, _placed: Placed, _pairs: PairSet) -> Part:
    """The items of a drawing as the browser keeps them; the key says which data set and items."""
    from simviz.charts.canvas import pack_items

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
    _notes: tuple[list[str], list[str]] | None,
) -> Part:
    """Where the items of a drawing stand, and what the run says of them."""
    from simviz.charts.canvas import importance, pack_places

    x_rows, y_rows = _placed.x_rows, _placed.y_rows
    order = importance(
        _pairs.x.take(x_rows),
        _pairs.y.take(y_rows),
        _placed.drawing.x,
        _placed.drawing.y,
        _pairs.relevance.take(x_rows, y_rows),
    )
    notes = None
    if _notes is not None:
        notes = [_notes[0][row] for row in x_rows] + [_notes[1][row] for row in y_rows]
    parts = np.concatenate([_parts[0][x_rows], _parts[1][y_rows]])
    return pack_places(_placed.drawing.x, _placed.drawing.y, order, parts=parts, notes=notes)


def _rows_key(pairs_digest: str, placed: Placed) -> str:
    """Which items of which data set a drawing shows."""
    import hashlib

    rows = np.concatenate([placed.x_rows, [-1], placed.y_rows]).astype(np.int64)
    return f"{pairs_digest}-{hashlib.blake2b(rows.tobytes(), digest_size=8).hexdigest()}"


def scene_of(
    run: Run,
    pairs: PairSet,
    drawing: str,
    masks: tuple[Any, Any],
    colour: str = "side",
    is_labelled: bool = False,
) -> Scene:
    """All of a drawing that is the same whatever is selected."""
    placed, parts = drawings.kept(run.id, drawing, run), drawings.parts(run.id, run, pairs)
    topics = map_topics.topics_of(run, pairs)
    notes = None if topics is None else map_topics.notes(run.id, topics)
    regions = map_topics.regions(run, drawing, placed, pairs, topics) if is_labelled else []
    return Scene(
        run=run,
        pairs=pairs,
        placed=placed,
        parts=parts,
        masks=masks,
        items=_items_part(_rows_key(pairs.digest, placed), placed, pairs),
        places=_places_part(run.id, drawing, placed, pairs, parts, notes),
        colour=colour,
        regions=regions,
        topics=topics,
    )


@st.fragment
def show(view: View, scene: Scene) -> None:
    """Draw the map, and what is known of what is selected on it."""
    pairs = scene.pairs
    choices.follow_canvas(view, pairs, scene.n_x + len(scene.placed.y_rows))
    k = dimensions.chosen(view, scene)
    if k is not None:
        scene = dimensions.cut(scene, k)
    selection.find_enclosed(view, scene)
    own = choices.write_link(view, scene.run, pairs)
    placed = scene.placed
    space: Space | None = None
    if view.item is not None or view.query is not None:
        space = (
            drawings.space(scene.run.id, scene.run, pairs)
            if k is None
            else dimensions.space(scene, k)
        )
    found = None
    if view.item is not None and space is not None:
        found = space.nearest(*view.item, NEIGHBORS)
    answer = None
    if view.query is not None and space is not None:
        answer = selection.ask(view.query, space, pairs, placed, NEIGHBORS)
    with st.container(key="map-stage"):
        left, right = st.columns([7, 3], gap="medium")
        with left:
            spot = None if answer is None else _asked(answer, scene)
            if view.item is not None and space is not None:
                spot = _undrawn(view.item, space, scene)
            canvas.show(data(view, scene, found, spot))
            if space is not None:
                time.sleep(_AHEAD)
            with st.container(horizontal=True, vertical_alignment="center", key="map-below"):
                links.show_button("map", [scene.run], own)
                code.show_map(view, scene.run)
                selection.show_twin_switch(view)
                dimensions.show_switch(view, scene)
        with right:
            if found is not None and space is not None:
                selection.show(
                    view, pairs, space, found, placed, scene.parts, scene.topics, scene.run
                )
            elif answer is not None:
                selection.show_asked(view, answer, pairs, placed)
    dimensions.show(view, scene)
    selection.show_region(view, scene)


def data(
    view: View,
    scene: Scene,
    found: Neighbors | None = None,
    spot: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """What the canvas is told, beside what it keeps."""
    from simviz.charts.canvas import bits, map_alt

    pairs, placed = scene.pairs, scene.placed
    grouping = selection.grouping(scene)
    selected = _selected(view, scene, found)
    hidden = None
    if not (scene.masks[0].all() and scene.masks[1].all()):
        shown = np.concatenate(scene.masks)
        if selected is not None:
            # What is selected is shown whatever is filtered, and so are its nearest.
            shown[[selected["item"], *(row for row, _, _ in selected["nearest"])]] = True
        hidden = canvas.packed(bits(~shown))
    look, names = _look(), (pairs.x_name, pairs.y_name)
    halos = None
    if view.has_halos and placed.drawing.quality is not None:
        strengths = trust.halos(placed.drawing.quality, len(np.concatenate(scene.masks)))
        halos = {name: canvas.packed(told.tobytes()) for name, told in strengths.items()}
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
        "asked": selection.sides(pairs),
        "typed": None if view.query is None else list(view.query),
        "narrow": state.is_narrow(),
        "low": dimensions.is_open(view, scene),
        "scrolls": False,
        "alt": f"{map_alt(placed.drawing, names)} A table below the map says the same.",
    }


def _selected(view: View, scene: Scene, found: Neighbors | None) -> dict[str, Any] | None:
    """The selected item with its nearest and what belongs to it, as rows of the drawing."""
    if view.item is None or found is None:
        return None
    side, item = view.item
    row = scene.placed.row_of(side, item)
    if row is None:
        return None
    belongs = selection.relevant(scene.pairs, side, item)
    near = _near(scene, found, belongs)
    rows = scene.placed.rows(found.side)
    drawn = np.searchsorted(rows, [i for i in sorted(belongs) if i in rows])[:_PARTNERS]
    return {
        "item": scene.joint(side, [row])[0],
        "nearest": near,
        "partners": scene.joint(found.side, drawn),
    }


def _near(scene: Scene, found: Neighbors, belongs: set[int]) -> list[list[Any]]:
    """Neighbours that are drawn: row, score, and whether they belong."""
    placed = scene.placed.place(found)
    rows = scene.placed.rows(found.side)
    return [
        [joint, float(score), int(rows[row]) in belongs]
        for joint, row, score in zip(
            scene.joint(found.side, placed.index), placed.index, placed.scores, strict=True
        )
    ]


def _asked(answer: selection.Answer, scene: Scene) -> dict[str, Any] | None:
    if answer.spot is None:
        return None
    return {
        "text": answer.text[:40] + ("…" if len(answer.text) > 40 else ""),
        "x": answer.spot.point[0],
        "y": answer.spot.point[1],
        "spread": answer.spot.spread,
        "nearest": _near(scene, answer.found, set()),
        "partners": [],
    }


def _undrawn(item: choices.Item, space: Space, scene: Scene) -> dict[str, Any] | None:
    """A selected item that the sample left out, among its nearest that are drawn."""
    from simviz.projection import place_among
    from simviz.projection.space import ranked

    side, row = item
    placed, pairs = scene.placed, scene.pairs
    if placed.row_of(side, row) is not None:
        return None
    own = pairs.x if side == "x" else pairs.y
    other: choices.Side = "y" if side == "x" else "x"
    rows = placed.rows(other)
    near = ranked(space.scores(side, own.take([row]))[rows], side, NEIGHBORS)
    if not len(near) or not near.scores.any():
        return None
    points = placed.drawing.x if other == "x" else placed.drawing.y
    spot = place_among(points[near.index], near.scores)
    belongs = selection.relevant(pairs, side, row)
    return {
        "text": _short(selection.text_of(own, row)),
        "x": spot.point[0],
        "y": spot.point[1],
        "spread": spot.spread,
        "nearest": [
            [joint, float(score), int(rows[at]) in belongs]
            for joint, at, score in zip(
                scene.joint(other, near.index), near.index, near.scores, strict=True
            )
        ],
        "partners": scene.joint(other, np.flatnonzero(np.isin(rows, sorted(belongs)))[:_PARTNERS]),
    }


def _look() -> dict[str, Any]:
    """Colours of the theme, by what they are for."""
    from simviz.charts.colours import mix
    from simviz.charts.style import get_theme

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
    """What marks mean that are on the map just now, a sentence each."""
    marks = []
    if selected is not None or spot is not None:
        marks.append({"shape": "line", "colour": look["ink"], "name": "nearest in the model"})
    if selected is not None:
        marks.append({"shape": "dashes", "colour": look["right"], "name": "belongs to it"})
    if halos is not None:
        marks += [
            {
                "shape": "glow",
                "colour": look["false"],
                "name": "False neighbours: some drawn near it are far from it in the model.",
            },
            {
                "shape": "ring",
                "colour": look["missing"],
                "name": "Missing neighbours: some near it in the model are drawn far away.",
            },
        ]
    return marks


def _short(line: str) -> str:
    from simviz.charts.style import clean_text

    return clean_text(line, _REGION_CHARACTERS)
