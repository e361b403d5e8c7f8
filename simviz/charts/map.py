"""Both sides of a model on one map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz.charts._chart import Chart
from simviz.charts._labels import Frame, Occupancy, draw_regions, place_regions, spread_order
from simviz.charts.colours import Colouring, colorscale, colour_points, mix
from simviz.charts.pictures import data_uri
from simviz.charts.style import (
    GLYPH_FONT,
    Theme,
    ThemeName,
    apply_theme,
    clean_text,
    describe,
    is_glyph,
    safe_text,
    text_width,
)
from simviz.data.pairs import Items
from simviz.projection.joint import JointMap
from simviz.projection.regions import Region
from simviz.relevance import Relevance

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from simviz.projection.space import Neighbors

#: Most lines of a kind drawn from a highlighted item.
MAX_LINES = 60
#: What a drawing keeps, by how it was made.
KEPT = {
    "two-sided": "neighbours within and across the sides (two-sided)",
    "umap": "neighbourhoods of all points (UMAP)",
    "mds": "distances (MDS)",
    "pca": "main directions (PCA)",
}
#: Above so many points the dots are drawn by WebGL; below, as SVG, which never
#: runs out of contexts and prints sharply.
SVG_POINTS = 5000
MAX_LABELS = 250
LABEL_CHARACTERS = 26
GLYPH_SIZE = 18.0
#: Diameters that a label keeps off: its dot; the glyph of its partner.
DOT_ROOM, GLYPH_ROOM = 6.0, 20.0
LEGEND_HEIGHT = 34
_MARGIN = 24.0


class Side:
    """One side of a map with all its texts, and what of it has found room."""

    def __init__(
        self,
        name: Literal["x", "y"],
        title: str,
        items: Items,
        points: NDArray[np.float64],
        degree: NDArray[np.float64],
        colour: str,
        notes: Sequence[str] | None,
    ) -> None:
        if notes is not None and len(notes) != len(items):
            raise ValueError(
                f"There are {len(notes)} notes for {len(items)} items of the {name} side. "
                "Give one an item, empty where there is nothing to say."
            )
        self.name, self.title, self.items = name, title, items
        self.kind = safe_text(title, 40)
        self.points, self.degree, self.colour = points, degree, colour
        self.symbol = "circle" if name == "x" else "diamond"
        self.names = full_names(items)
        self.labels = self.names if name == "x" else [str(label) for label in items.labels]
        self.keys = [f"{name}:{i}" for i in items.ids]
        self.has_pictures = items.kind == "image"
        self.has_glyphs = name == "y" and not self.has_pictures and any(map(is_glyph, self.labels))
        self.hover_texts = [
            self._hover_text(row, "" if notes is None else notes[row]) for row in range(len(items))
        ]
        self.written: dict[int, tuple[str, float]] = {}
        self.pictured: list[int] = []

    def _hover_text(self, row: int, note: str) -> str:
        """What an item says when it is pointed at."""
        full, label, partners = self.names[row], self.labels[row], self.degree[row]
        head = safe_text(full, 90)
        if self.has_glyphs and label != full:
            head = f"{safe_text(label, 12)} {head}"
        text = f"<b>{head}</b><br>{self.kind}"
        if partners:
            text += f" · {partners:,.0f} relevant"
        return f"{text}<br>{safe_text(note, 120)}" if note else text

    def label_size(self, row: int) -> float:
        """Font size in pixels: what has many partners is written larger."""
        most = float(self.degree.max(initial=0.0))
        return 12.0 if most <= 1 else 11.0 + 4.0 * float(np.sqrt(self.degree[row] / most))

    def hover(self, rows: Sequence[int], texts: Sequence[str] | None = None) -> dict[str, Any]:
        """What points of some rows carry and say when they are pointed at."""
        return {
            "customdata": [self.keys[row] for row in rows],
            "hovertext": texts or [self.hover_texts[row] for row in rows],
            "hovertemplate": "%{hovertext}<extra></extra>",
        }


@dataclass(frozen=True, slots=True)
class Focus:
    """A highlighted item, and the rows of the other side that it is joined to."""

    side: Side
    row: int
    other: Side
    partners: NDArray[np.intp]
    nearest: NDArray[np.intp]
    scores: NDArray[np.float64]

    @property
    def joined(self) -> list[int]:
        """Both kinds, each row once, the nearest first."""
        return list(dict.fromkeys([*self.nearest.tolist(), *self.partners.tolist()]))


def map_figure(
    joint_map: JointMap,
    x_items: Items,
    y_items: Items,
    relevance: Relevance | sp.sparray | None = None,
    color_by: Literal["side"] | ArrayLike = "side",
    highlight: str | None = None,
    max_thumbnails: int = 300,
    theme: ThemeName | Theme = "light",
    *,
    neighbors: Neighbors | None = None,
    regions: Sequence[Region] = (),
    x_notes: Sequence[str] | None = None,
    y_notes: Sequence[str] | None = None,
    color_title: str = "",
    x_name: str = "x side",
    y_name: str = "y side",
    width: int = 1100,
    height: int = 760,
) -> go.Figure:
    """Draw a joint map: words as words, pictures as pictures, the rest as dots.

    Labels and pictures do not cover one another: those of items with many partners come first,
    pictures are spread over the whole map. What finds no room stays a dot, and tells its name when
    it is pointed at.

    Parameters
    ----------
    joint_map : JointMap
        Positions.
    x_items, y_items : Items
        The items in the order of the positions. On the y side the metadata column "label" is
        written in place of a text, and in place of the dot where it is a glyph.
    relevance : Relevance or sparse matrix of shape (n_x, n_y), optional
        What belongs together.
    color_by : "side" or array-like of shape (n_x + n_y,), default="side"
        Colour of the dots. Numbers make a scale (grey where not finite), anything else makes
        groups, the seven largest with a colour of their own.
    highlight : str, optional
        "x:ID" or "y:ID": this item is ringed and joined to its relevant partners.
    max_thumbnails : int, default=300
        Most pictures to show.
    theme : {"light", "dark"} or Theme, default="light"
        Look of the figure.
    neighbors : Neighbors, optional
        What `nearest_across` found for the highlighted item, to be joined to it too.
    regions : sequence of Region, optional
        Parts of the map by descending weight, as from `topic_regions`. As many as find room are
        written before all else.
    x_notes, y_notes : sequence of str, optional
        A further line of what each item says when it is pointed at.
    color_title : str, default=""
        What the values of `color_by` are.
    x_name, y_name : str
        What the items of a side are called, in the plural.
    width, height : int
        Size in pixels for which room is given. The figure itself adapts to its container.

    Returns
    -------
    plotly Figure
        Every point carries its stable id, "x:ID" or "y:ID", in `customdata`;
        ``layout.meta["alt"]`` describes the picture in words.

    Raises
    ------
    ValueError
        If lengths do not fit, or the highlighted item does not exist.

    Examples
    --------
    >>> from simviz.data.pairs import PairSet
    >>> from simviz.projection import joint_map
    >>> pairs = PairSet.from_texts(["heart", "car"], ["corazón", "coche"])
    >>> drawn = joint_map([[0.0, 1.0], [1.0, 0.0]], [[0.1, 1.0], [1.0, 0.2]])
    >>> figure = map_figure(drawn, pairs.x, pairs.y, pairs.relevance)
    >>> [key for trace in figure.data[:2] for key in trace.customdata]
    ['y:0', 'y:1', 'x:0', 'x:1']
    """
    chart = Chart(theme)
    look = chart.look
    judged = None if relevance is None else Relevance.coerce(relevance, len(x_items), len(y_items))
    _check_lengths(joint_map, x_items, y_items)
    degree = degrees(judged, len(x_items), len(y_items))
    sides = (
        Side("x", x_name, x_items, joint_map.x, degree[0], look.accent, x_notes),
        Side("y", y_name, y_items, joint_map.y, degree[1], look.second, y_notes),
    )
    focus = None if highlight is None else _find_focus(highlight, sides, judged, neighbors)
    colouring = colour_points(color_by, len(x_items), len(y_items), look)
    points = np.concatenate([side.points for side in sides])
    frame = Frame.around(points, width, height - LEGEND_HEIGHT, _MARGIN)
    room = Occupancy(frame.width, frame.height)
    labelled = place_regions(regions, frame, room)
    drawing = _Drawing(chart, sides, focus, colouring, frame, max_thumbnails)
    drawing.give_room(judged, room)
    for side in reversed(sides):
        drawing.add_dots(side)
    if focus is not None:
        drawing.add_links(focus)
    for side in reversed(sides):
        drawing.add_items(side)
    figure = chart.figure
    draw_regions(figure, labelled, look, is_behind=focus is not None)
    figure.update_xaxes(range=frame.x_range, visible=False)
    figure.update_yaxes(range=frame.y_range, visible=False, scaleanchor="x", scaleratio=1)
    apply_theme(figure, look)
    drawing.add_legend(safe_text(color_title, 40))
    figure.update_layout(
        margin={"l": 0, "r": 0, "t": LEGEND_HEIGHT, "b": 0},
        hovermode="closest",
        hoverdistance=24,
        dragmode="pan",
        # The reader's zoom survives while only the highlight changes.
        uirevision=joint_map.method,
    )
    return describe(figure, _alt(joint_map, sides, focus, [region for *_, region in labelled]))


def map_records(
    joint_map: JointMap, x_items: Items, y_items: Items
) -> list[dict[str, str | float]]:
    """List the rows behind a map, for a table or a file.

    Parameters
    ----------
    joint_map : JointMap
        Positions.
    x_items, y_items : Items
        The items in the order of the positions.

    Returns
    -------
    list of dict
        One row an item: ``key``, ``side``, ``id``, ``label``, ``map_x`` and ``map_y``.
    """
    _check_lengths(joint_map, x_items, y_items)
    rows: list[dict[str, str | float]] = []
    for side, items, points in (("x", x_items, joint_map.x), ("y", y_items, joint_map.y)):
        for item, name, point in zip(items.ids, full_names(items), points, strict=True):
            map_x, map_y = point.tolist()
            row = {"key": f"{side}:{item}", "side": side, "id": item, "label": name}
            rows.append(row | {"map_x": map_x, "map_y": map_y})
    return rows


def full_names(items: Items) -> list[str]:
    """What each item is called: its text, else its label."""
    named = items.content if items.kind in ("text", "keyword") else items.labels
    return [str(name) for name in named]


def degrees(
    relevance: Relevance | None, n_x: int, n_y: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Relevant partners of each item."""
    if relevance is None:
        return np.zeros(n_x), np.zeros(n_y)
    positives = relevance.positives
    return (
        np.diff(positives.indptr).astype(np.float64),
        np.bincount(positives.indices, minlength=n_y).astype(np.float64),
    )


def _check_lengths(joint_map: JointMap, x_items: Items, y_items: Items) -> None:
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


def _find_focus(
    key: str,
    sides: tuple[Side, Side],
    relevance: Relevance | None,
    neighbors: Neighbors | None,
) -> Focus:
    """Find a highlighted item by its stable id, and what it is joined to, the best first."""
    side = next((side for side in sides if key in side.keys), None)
    if side is None:
        raise ValueError(
            f"There is no item {key!r} on this map. Highlight an item as 'x:ID' or 'y:ID'."
        )
    row = side.keys.index(key)
    partners = nearest = np.empty(0, dtype=np.intp)
    scores = np.empty(0)
    if relevance is not None:
        grades = (relevance if side.name == "x" else relevance.T).positives[[row]]
        best = np.argsort(-grades.data, kind="stable")[:MAX_LINES]
        partners = grades.indices[best].astype(np.intp)
    if neighbors is not None:
        if neighbors.side == side.name:
            raise ValueError(
                f"The neighbours are of the {side.name} side, as the highlighted item is. "
                "Give those of the other side."
            )
        nearest, scores = neighbors.index[:MAX_LINES], neighbors.scores[:MAX_LINES]
    other = sides[1] if side is sides[0] else sides[0]
    return Focus(side, row, other, partners, nearest, scores)


@dataclass(frozen=True, slots=True)
class _Drawing:
    """A map that is being drawn."""

    chart: Chart
    sides: tuple[Side, Side]
    focus: Focus | None
    colouring: Colouring
    frame: Frame
    max_thumbnails: int

    @property
    def picture_size(self) -> float:
        """Side of a picture in pixels."""
        return float(np.clip(self.frame.width / 48, 20, 28))

    def related(self, side: Side) -> set[int] | None:
        """Rows of a side that the highlight is about; None without a highlight."""
        if self.focus is None:
            return None
        return {self.focus.row} if self.focus.side is side else set(self.focus.joined)

    def give_room(self, relevance: Relevance | None, room: Occupancy) -> None:
        """Decide, one after the other, which items are written or pictured."""
        pixels = {side.name: self.frame.pixels(side.points) for side in self.sides}
        seen: set[tuple[str, int]] = set()
        for side, row, beside in self._in_order(relevance):
            if (side.name, row) in seen:
                continue
            seen.add((side.name, row))
            x, y = pixels[side.name][row]
            if side.has_pictures or side.has_glyphs:
                most, size = (
                    (self.max_thumbnails, self.picture_size + 2)
                    if side.has_pictures
                    else (MAX_LABELS, GLYPH_SIZE + 6)
                )
                if len(side.pictured) < most and room.claim_square(x, y, size):
                    side.pictured.append(row)
            elif len(side.written) < MAX_LABELS:
                size = side.label_size(row)
                text = clean_text(side.labels[row], LABEL_CHARACTERS)
                for marker in (DOT_ROOM, GLYPH_ROOM) if beside else (DOT_ROOM,):
                    place = room.claim_text(x, y, text_width(text, size), size, marker)
                    if text and place is not None:
                        side.written[row] = (place, marker)
                        break

    def _in_order(self, relevance: Relevance | None) -> Iterator[tuple[Side, int, bool]]:
        """Items in the order of getting room; whether each is a word beside the glyph before."""
        # The highlight comes first, then both sides in turns.
        x, y = self.sides
        if self.focus is not None:
            yield self.focus.side, self.focus.row, False
            yield from ((self.focus.other, row, False) for row in self.focus.joined)
        partner: dict[int, int] = {}
        if relevance is not None and y.has_glyphs:
            # A glyph and its name make a pair that can be read: they take turns together.
            pairs = relevance.positives.tocoo()
            partner = dict(zip(pairs.col[::-1].tolist(), pairs.row[::-1].tolist(), strict=True))
        queues: list[list[list[tuple[Side, int, bool]]]] = []
        for side in self.sides:
            if side.has_pictures or side.has_glyphs:
                # More than can be shown: many will find no room.
                wanted = 4 * self.max_thumbnails if side.has_pictures else 2 * MAX_LABELS
                rows = spread_order(side.points, wanted)
            else:
                lengths = np.array([len(label) for label in side.labels])
                rows = np.lexsort((np.arange(len(lengths)), lengths, -side.degree))
            words = partner if side is y else {}
            queues.append(
                [
                    [(side, row, False), *([(x, words[row], True)] if row in words else [])]
                    for row in rows.tolist()
                ]
            )
        if y.has_pictures or y.has_glyphs:
            # Two pictures to a word.
            queues = [queues[0], queues[1][::2], queues[1][1::2]]
        for items in chain.from_iterable(zip_longest(*queues)):
            yield from items or ()

    def _covered(self, side: Side) -> NDArray[np.bool_]:
        """Which dots of a side lie under a picture; pictures lie below all dots otherwise."""
        hidden = np.zeros(len(side.items), dtype=bool)
        points = self.frame.pixels(side.points)
        for pictured in self.sides:
            if pictured.has_pictures:
                for centre in self.frame.pixels(pictured.points)[pictured.pictured]:
                    hidden |= (np.abs(points - centre) < self.picture_size / 2).all(axis=1)
        return hidden

    def add_dots(self, side: Side) -> None:
        """Draw every item of a side as a point: what is pictured is there, but unseen."""
        n, n_all = len(side.items), sum(len(side.items) for side in self.sides)
        is_coloured = not self.colouring.is_by_side
        # Pixels of the window for each dot: what is crowded is drawn finer and fainter.
        share = self.frame.width * self.frame.height / max(1, n_all)
        size = np.full(n, float(np.interp(share, [60, 600], [3.0, 5.5])) + is_coloured)
        faint = float(np.interp(share, [60, 900], [0.3, 0.6]))
        opacity = np.full(n, 0.85 if is_coloured else faint)
        related = self.related(side)
        if related is not None:
            opacity[:] = 0.13
            rows = sorted(related)
            opacity[rows], size[rows] = 1.0, 8.0
        opacity[self._covered(side)] = 0.0
        size[side.pictured] = self.picture_size if side.has_pictures else GLYPH_SIZE
        opacity[side.pictured] = 0.0
        figure, colours = self.chart.figure, self.colouring.colours
        add = figure.add_scattergl if n_all > SVG_POINTS else figure.add_scatter
        add(
            x=side.points[:, 0],
            y=side.points[:, 1],
            mode="markers",
            name=f"{side.kind} ({n:,})",
            showlegend=False,
            marker={
                "color": colours[:n] if side is self.sides[0] else colours[n_all - n :],
                "symbol": side.symbol,
                "size": size,
                "opacity": opacity,
                "line": {"width": 0},
            },
            **side.hover(range(n)),
        )

    def add_links(self, focus: Focus) -> None:
        """Ring the highlighted item and join it to its partners and its nearest."""
        look = self.chart.look
        side, row, other = focus.side, focus.row, focus.other
        for rows, name, line in (
            (
                focus.partners,
                "belongs together",
                {"color": look.muted, "width": 1.2, "dash": "dot"},
            ),
            (focus.nearest, "nearest in the model", {"color": look.accent, "width": 1.5}),
        ):
            if len(rows):
                # Each line there, with a gap after it.
                lines = np.full((len(rows), 3, 2), np.nan)
                lines[:, 0], lines[:, 1] = side.points[row], other.points[rows]
                self.chart.figure.add_scatter(
                    x=lines[:, :, 0].ravel(),
                    y=lines[:, :, 1].ravel(),
                    mode="lines",
                    line=line,
                    name=f"{name} ({len(rows)})",
                    hoverinfo="skip",
                )
        if len(focus.nearest):
            texts = [
                f"{other.hover_texts[i]}<br>similarity {score:.3f}"
                for i, score in zip(focus.nearest, focus.scores, strict=True)
            ]
            hover = other.hover(focus.nearest.tolist(), texts)
            x, y = other.points[focus.nearest].T
            self.chart.ring(look.accent, x, y, 15, 1.5, **hover)
        x, y = side.points[row]
        self.chart.ring(look.ink, [x], [y], 20, 2, **side.hover([row]))

    def add_items(self, side: Side) -> None:
        """Draw what of a side has found room: pictures or glyphs, and labels beside dots."""
        look, related = self.chart.look, self.related(side)
        if side.has_pictures:
            self._add_pictures(side, related)
        elif side.has_glyphs:
            for rows, opacity in _parted(side.pictured, related):
                self._add_text(
                    side,
                    rows,
                    12,
                    mode="text",
                    textfont={"family": GLYPH_FONT, "size": GLYPH_SIZE, "color": look.ink},
                    opacity=opacity,
                )
        for rows, opacity in _parted(list(side.written), related):
            self._add_text(
                side,
                rows,
                LABEL_CHARACTERS,
                mode="markers+text",
                marker={"size": [side.written[row][1] for row in rows], "opacity": 0.0},
                textposition=[side.written[row][0] for row in rows],
                textfont={
                    "size": [side.label_size(row) for row in rows],
                    "color": mix(side.colour, look.ink, 0.55),
                    # A halo of paper.
                    "shadow": ", ".join([f"0 0 2px {look.paper}"] * 3),
                    "weight": 600 if related is not None and opacity == 1 else 400,
                },
                opacity=opacity,
            )

    def _add_text(self, side: Side, rows: list[int], limit: int, **more: object) -> None:
        self.chart.figure.add_scatter(
            x=side.points[rows, 0],
            y=side.points[rows, 1],
            text=[safe_text(side.labels[row], limit) for row in rows],
            hoverinfo="skip",
            showlegend=False,
            **more,
        )

    def _add_pictures(self, side: Side, related: set[int] | None) -> None:
        """Draw thumbnails, in the units of the map: they grow when it is zoomed."""
        extent = self.picture_size / self.frame.scale
        # Dots on a map are small already; pictures drawn in full ink would shout.
        ink = mix(self.chart.look.ink, self.chart.look.paper, 0.82)
        common = {"xref": "x", "yref": "y", "xanchor": "center", "yanchor": "middle",
                  "sizex": extent, "sizey": extent, "layer": "below"}  # fmt: skip
        self.chart.figure.update_layout(
            images=[
                {
                    **common,
                    "source": data_uri(side.items.content[row], ink),
                    "x": side.points[row, 0],
                    "y": side.points[row, 1],
                    "opacity": 1.0 if related is None or row in related else 0.15,
                }
                for row in side.pictured
            ]
        )

    def add_legend(self, title: str) -> None:
        """Add an entry a side and a group, by traces that draw nothing themselves."""
        # The dots' own entries would show their size and opacity, which differ.
        look, colouring, figure = self.chart.look, self.colouring, self.chart.figure
        entries = [
            (
                f"{side.kind} ({len(side.items):,})",
                side.colour if colouring.is_by_side else look.muted,
                side.symbol,
            )
            for side in self.sides
        ]
        entries += [(group, colour, "square") for group, colour in colouring.groups]
        nowhere: dict[str, Any] = {"x": [None], "y": [None], "mode": "markers"}
        for name, colour, symbol in entries:
            marker = {"color": colour, "symbol": symbol, "size": 9}
            figure.add_scatter(**nowhere, name=name, marker=marker, hoverinfo="skip")
        if colouring.limits is not None:
            low, high = colouring.limits
            marker = {
                "symbol": "square",
                "size": 9,
                "color": [low],
                "cmin": low,
                "cmax": high if high > low else low + 1,
                "colorscale": colorscale(look.scale),
                "showscale": True,
                "colorbar": {
                    "title": {"text": title, "side": "right", "font": {"size": 12}},
                    "thickness": 8,
                    "len": 0.4,
                    "outlinewidth": 0,
                    "x": 1.0,
                    "xanchor": "right",
                    "tickfont": {"size": 11, "color": look.muted},
                },
            }
            figure.add_scatter(
                **nowhere, name=title, marker=marker, hoverinfo="skip", showlegend=False
            )
        figure.update_layout(
            legend={
                "orientation": "h",
                "x": 0.0,
                "y": 1.0,
                "yanchor": "bottom",
                "itemclick": False,
                "itemdoubleclick": False,
            }
        )


def _parted(rows: list[int], related: set[int] | None) -> list[tuple[list[int], float]]:
    """Rows with their opacity: those that a highlight is not about step back."""
    if related is None:
        return [(rows, 1.0)] if rows else []
    back = [row for row in rows if row not in related]
    front = [row for row in rows if row in related]
    return [(part, opacity) for part, opacity in ((back, 0.15), (front, 1.0)) if part]


def _alt(
    joint_map: JointMap, sides: tuple[Side, Side], focus: Focus | None, named: Sequence[Region]
) -> str:
    """Describe the picture in words."""
    x, y = sides
    text = (
        f"Map of {len(x.items):,} {x.title} and {len(y.items):,} {y.title}, drawn to keep "
        f"{KEPT[joint_map.method]}."
    )
    shown = [
        f"{len(rows):,} {side.title} {verb}"
        for side in sides
        for rows, verb in ((side.written, "are written"), (side.pictured, "are shown as pictures"))
        if rows
    ]
    if shown:
        text += f" {'; '.join(shown)}; the others are dots."
    if named:
        names = "; ".join(clean_text(region.lines[0], 40) for region in named)
        text += f" Regions are about: {names}."
    if focus is not None:
        other = focus.other
        parts = [f"“{clean_text(focus.side.names[focus.row], 60)}” is highlighted"]
        if len(focus.partners):
            parts.append(f"joined to {len(focus.partners)} {other.title} that belong to it")
        if len(focus.nearest):
            near = ", ".join(clean_text(other.names[i], 30) for i in focus.nearest[:5])
            parts.append(f"nearest to it in the model: {near}")
        text += f" {'; '.join(parts)}."
    if joint_map.quality is not None:
        text += f" {joint_map.quality.describe()}"
    return text
