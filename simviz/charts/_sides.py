"""The two sides of a map as they are drawn, and what joins them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simviz.charts.style import Theme
from simviz.charts.text import is_glyph, safe_text
from simviz.data.items import Items
from simviz.projection.joint import JointMap
from simviz.projection.nearest import Neighbors
from simviz.relevance import Relevance

#: Most lines of a kind drawn from a highlighted item.
MAX_LINES = 60


@dataclass(slots=True)
class Side:
    """One side of a map, and what of it has found room.

    Parameters
    ----------
    name : {"x", "y"}
        Which side.
    title : str
        What its items are called, in the plural.
    items : Items
        The items.
    points : ndarray of shape (n, d)
        Their positions.
    colour, symbol : str
        Of its dots.
    labels : list of str
        What may be written for each item, not escaped.
    keys : list of str
        Stable ids: "x:ID".
    hover_texts : list of str
        What each item says when it is pointed at, escaped.
    has_glyphs : bool
        Whether labels are pictures in themselves and take the place of dots.
    degree : ndarray of shape (n,)
        Relevant partners of each item.
    written : dict of int to (str, float)
        Items whose label is drawn, with its place beside the point and the
        diameter of what it keeps off.
    pictured : list of int
        Items whose picture or glyph is drawn in place of the dot.
    """

    name: Literal["x", "y"]
    title: str
    items: Items
    points: NDArray[np.float64]
    colour: str
    symbol: str
    labels: list[str]
    keys: list[str]
    hover_texts: list[str]
    has_glyphs: bool
    degree: NDArray[np.float64]
    written: dict[int, tuple[str, float]] = field(default_factory=dict)
    pictured: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Links:
    """Rows of the other side that a highlighted item is joined to.

    Parameters
    ----------
    partners : ndarray of int
        What belongs to it.
    nearest : ndarray of int
        What the model finds nearest.
    scores : ndarray of float
        Similarity of each of the nearest.
    """

    partners: NDArray[np.intp]
    nearest: NDArray[np.intp]
    scores: NDArray[np.float64]

    @property
    def all(self) -> list[int]:
        """Both kinds, each row once, the nearest first."""
        return list(dict.fromkeys([*self.nearest.tolist(), *self.partners.tolist()]))


Focus = tuple[Side, int]


def full_names(items: Items) -> list[str]:
    """What each item is called: its text, else its label."""
    named = items.content if items.kind in ("text", "keyword") else items.labels
    return [str(name) for name in named]


def make_sides(
    joint_map: JointMap,
    x_items: Items,
    y_items: Items,
    relevance: Relevance | None,
    titles: tuple[str, str],
    look: Theme,
) -> tuple[Side, Side]:
    """Gather what is known of both sides.

    Raises
    ------
    ValueError
        If the map was made from other items.
    """
    check_lengths(joint_map, x_items, y_items)
    degrees = [np.zeros(len(x_items)), np.zeros(len(y_items))]
    if relevance is not None:
        positives = relevance.positives
        degrees[0] = np.diff(positives.indptr).astype(np.float64)
        degrees[1] = np.bincount(positives.indices, minlength=len(y_items)).astype(np.float64)
    return (
        _side("x", titles[0], x_items, joint_map.x, degrees[0], look.accent),
        _side("y", titles[1], y_items, joint_map.y, degrees[1], look.second),
    )


def _side(
    name: Literal["x", "y"],
    title: str,
    items: Items,
    points: NDArray[np.float64],
    degree: NDArray[np.float64],
    colour: str,
) -> Side:
    """Gather one side with all its texts."""
    names = full_names(items)
    labels = names if name == "x" else [str(label) for label in items.labels]
    glyphs = name == "y" and items.kind != "image" and any(map(is_glyph, labels))
    kind = safe_text(title, 40)
    texts = []
    for full, label, partners in zip(names, labels, degree, strict=True):
        head = safe_text(full, 90)
        if glyphs and label != full:
            head = f"{safe_text(label, 12)} {head}"
        tail = f" · {partners:,.0f} relevant" if partners else ""
        texts.append(f"<b>{head}</b><br>{kind}{tail}")
    return Side(
        name=name,
        title=title,
        items=items,
        points=points,
        colour=colour,
        symbol="circle" if name == "x" else "diamond",
        labels=labels,
        keys=[f"{name}:{i}" for i in items.ids],
        hover_texts=texts,
        has_glyphs=glyphs,
        degree=degree,
    )


def add_notes(side: Side, notes: Sequence[str] | None) -> None:
    """Give each item a further line to say when it is pointed at.

    Raises
    ------
    ValueError
        If there is not one for each item.
    """
    if notes is None:
        return
    if len(notes) != len(side.items):
        raise ValueError(
            f"There are {len(notes)} notes for {len(side.items)} items of the {side.name} side. "
            "Give one an item, empty where there is nothing to say."
        )
    side.hover_texts = [
        f"{text}<br>{safe_text(note, 120)}" if note else text
        for text, note in zip(side.hover_texts, notes, strict=True)
    ]


def check_lengths(joint_map: JointMap, x_items: Items, y_items: Items) -> None:
    """Refuse items that a map was not made from, and maps that are not flat."""
    if joint_map.x.shape[1] != 2:
        raise ValueError(
            f"A map has two coordinates an item, but this one has {joint_map.x.shape[1]}. "
            "Draw it again by joint_map."
        )
    if (len(joint_map.x), len(joint_map.y)) != (len(x_items), len(y_items)):
        raise ValueError(
            f"The map places {len(joint_map.x)} x and {len(joint_map.y)} y items, but got "
            f"{len(x_items)} and {len(y_items)}. Give the items it was made from."
        )


def find_focus(key: str, sides: tuple[Side, Side]) -> Focus:
    """Find a highlighted item by its stable id.

    Raises
    ------
    ValueError
        If there is none.
    """
    for side in sides:
        if key in side.keys:
            return side, side.keys.index(key)
    raise ValueError(
        f"There is no item {key!r} on this map. Highlight an item as 'x:ID' or 'y:ID'."
    )


def find_links(
    focus: Focus | None, relevance: Relevance | None, neighbors: Neighbors | None
) -> Links:
    """Gather what a highlighted item is joined to, the best first.

    Raises
    ------
    ValueError
        If the neighbours are of the item's own side.
    """
    nothing = np.empty(0, dtype=np.intp)
    if focus is None:
        return Links(nothing, nothing, np.empty(0))
    side, row = focus
    partners = nothing
    if relevance is not None:
        grades = (relevance if side.name == "x" else relevance.T).positives[[row]]
        best = np.argsort(-grades.data, kind="stable")[:MAX_LINES]
        partners = grades.indices[best].astype(np.intp)
    if neighbors is None:
        return Links(partners, nothing, np.empty(0))
    if neighbors.side == side.name:
        raise ValueError(
            f"The neighbours are of the {side.name} side, as the highlighted item is. "
            "Give those of the other side."
        )
    return Links(partners, neighbors.index[:MAX_LINES], neighbors.scores[:MAX_LINES])
