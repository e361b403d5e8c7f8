"""The map in two dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simviz.charts._colouring import Colouring, mix
from simviz.charts._placing import Frame, Occupancy, spread_order
from simviz.charts._regions import draw_regions, place_regions
from simviz.charts._sides import Focus, Links, Side
from simviz.charts._thumbnails import data_uri
from simviz.charts.style import GLYPH_FONT, Theme
from simviz.charts.text import clean_text, safe_text, text_width
from simviz.projection.regions import Region
from simviz.relevance import Relevance

if TYPE_CHECKING:
    import plotly.graph_objects as go

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


def draw_flat(
    figure: go.Figure,
    sides: tuple[Side, Side],
    colouring: Colouring,
    focus: Focus | None,
    links: Links,
    look: Theme,
    *,
    relevance: Relevance | None,
    regions: Sequence[Region],
    max_thumbnails: int,
    width: int,
    height: int,
) -> list[Region]:
    """Add dots, pictures, labels and lines to a figure; answer with what regions found room."""
    frame = Frame.around(
        np.concatenate([side.points for side in sides]), width, height - LEGEND_HEIGHT, _MARGIN
    )
    picture_size = float(np.clip(width / 48, 20, 28))
    turns = _turns(sides, focus, links, relevance, max_thumbnails)
    room = Occupancy(frame.width, frame.height)
    placed = place_regions(regions, frame, room)
    _give_room(turns, sides, frame, room, picture_size, max_thumbnails)
    covered = _covered(sides, frame, picture_size)
    large = sum(len(side.items) for side in sides) > SVG_POINTS
    for side in reversed(sides):
        related = _related(side, focus, links)
        _draw_dots(
            figure, side, colouring, related, covered[side.name], frame, picture_size, large
        )
    if focus is not None:
        _draw_links(figure, focus, sides, links, look)
    for side in reversed(sides):
        related = _related(side, focus, links)
        if side.items.kind == "image":
            _draw_pictures(figure, side, related, frame, picture_size, look)
        elif side.has_glyphs:
            _draw_glyphs(figure, side, related, look)
        _draw_labels(figure, side, related, look)
    draw_regions(figure, placed, look, is_behind=focus is not None)
    figure.update_xaxes(range=frame.x_range, visible=False)
    figure.update_yaxes(range=frame.y_range, visible=False, scaleanchor="x", scaleratio=1)
    return [region for _, _, region in placed]


def label_size(side: Side, row: int) -> float:
    """Font size in pixels: what has many partners is written larger."""
    most = float(side.degree.max(initial=0.0))
    if most <= 1:
        return 12.0
    return 11.0 + 4.0 * float(np.sqrt(side.degree[row] / most))


def _related(side: Side, focus: Focus | None, links: Links) -> set[int] | None:
    """Rows of a side that a highlight is about; None without a highlight."""
    if focus is None:
        return None
    return {focus[1]} if focus[0] is side else set(links.all)


def _turns(
    sides: tuple[Side, Side],
    focus: Focus | None,
    links: Links,
    relevance: Relevance | None,
    max_thumbnails: int,
) -> Iterator[tuple[Side, int, bool]]:
    """Whose turn it is, and whether it is a word beside the glyph just before it.

    The highlight comes first, then both sides one after the other.
    """
    x, y = sides
    if focus is not None:
        side, row = focus
        other = y if side is x else x
        yield side, row, False
        yield from ((other, linked, False) for linked in links.all)
    first_partner: dict[int, int] = {}
    if relevance is not None and y.has_glyphs:
        # A glyph and its name make a pair that can be read: they take turns together.
        pairs = relevance.positives.tocoo()
        first_partner = dict(zip(pairs.col[::-1].tolist(), pairs.row[::-1].tolist(), strict=True))
    queues: list[list[list[tuple[Side, int, bool]]]] = []
    for side in sides:
        if side.items.kind == "image" or side.has_glyphs:
            # More than can be shown: many will find no room.
            wanted = 4 * max_thumbnails if side.items.kind == "image" else 2 * MAX_LABELS
            queue = [
                [(side, row, False)]
                + ([(x, first_partner[row], True)] if row in first_partner else [])
                for row in spread_order(side.points, wanted).tolist()
            ]
        else:
            lengths = np.array([len(label) for label in side.labels])
            order = np.lexsort((np.arange(len(lengths)), lengths, -side.degree))
            queue = [[(side, row, False)] for row in order.tolist()]
        queues.append(queue)
    if y.items.kind == "image" or y.has_glyphs:
        # Two pictures to a word.
        queues = [queues[0], queues[1][::2], queues[1][1::2]]
    for turns in chain.from_iterable(zip_longest(*queues)):
        yield from turns or ()


def _give_room(
    turns: Iterator[tuple[Side, int, bool]],
    sides: tuple[Side, Side],
    frame: Frame,
    room: Occupancy,
    picture_size: float,
    max_thumbnails: int,
) -> None:
    """Decide, one after the other, which items are written or pictured."""
    pixels = {side.name: frame.pixels(side.points) for side in sides}
    seen: set[tuple[str, int]] = set()
    for side, row, beside in turns:
        if (side.name, row) in seen:
            continue
        seen.add((side.name, row))
        x, y = pixels[side.name][row]
        if side.items.kind == "image":
            if len(side.pictured) < max_thumbnails and room.claim_square(x, y, picture_size + 2):
                side.pictured.append(row)
        elif side.has_glyphs:
            if len(side.pictured) < MAX_LABELS and room.claim_square(x, y, GLYPH_SIZE + 6):
                side.pictured.append(row)
        elif len(side.written) < MAX_LABELS:
            size = label_size(side, row)
            text = clean_text(side.labels[row], LABEL_CHARACTERS)
            for marker in (DOT_ROOM, GLYPH_ROOM) if beside else (DOT_ROOM,):
                place = room.claim_text(x, y, text_width(text, size), size, marker)
                if text and place is not None:
                    side.written[row] = (place, marker)
                    break


def _covered(
    sides: tuple[Side, Side], frame: Frame, picture_size: float
) -> dict[str, NDArray[np.bool_]]:
    """Which dots lie under a picture; pictures lie below all dots otherwise."""
    pictures = [frame.pixels(s.points)[s.pictured] for s in sides if s.items.kind == "image"]
    centres = np.concatenate(pictures) if pictures else np.empty((0, 2))
    covered: dict[str, NDArray[np.bool_]] = {}
    for side in sides:
        hidden = np.zeros(len(side.items), dtype=bool)
        points = frame.pixels(side.points)
        for centre in centres:
            hidden |= (np.abs(points - centre) < picture_size / 2).all(axis=1)
        covered[side.name] = hidden
    return covered


def _draw_dots(
    figure: go.Figure,
    side: Side,
    colouring: Colouring,
    related: set[int] | None,
    covered: NDArray[np.bool_],
    frame: Frame,
    picture_size: float,
    large: bool,
) -> None:
    """Every item of a side as a point: what is pictured is there, but unseen."""
    import plotly.graph_objects as go

    n = len(side.items)
    told_by_colour = colouring.limits is not None or bool(colouring.groups)
    # Pixels of the window for each dot: what is crowded is drawn finer and fainter.
    share = frame.width * frame.height / max(1, len(colouring.x) + len(colouring.y))
    size = np.full(n, float(np.interp(share, [60, 600], [3.0, 5.5])) + told_by_colour)
    opacity = np.full(
        n, 0.85 if told_by_colour else float(np.interp(share, [60, 900], [0.3, 0.6]))
    )
    if related is not None:
        opacity[:] = 0.13
        rows = sorted(related)
        opacity[rows], size[rows] = 1.0, 8.0
    opacity[covered] = 0.0
    size[side.pictured] = picture_size if side.items.kind == "image" else GLYPH_SIZE
    opacity[side.pictured] = 0.0
    points: dict[str, Any] = {
        "x": side.points[:, 0],
        "y": side.points[:, 1],
        "mode": "markers",
        "name": f"{safe_text(side.title, 40)} ({n:,})",
        "showlegend": False,
        "customdata": side.keys,
        "hovertext": side.hover_texts,
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": {
            "color": colouring.of(side.name),
            "symbol": side.symbol,
            "size": size,
            "opacity": opacity,
            "line": {"width": 0},
        },
    }
    figure.add_trace(go.Scattergl(points) if large else go.Scatter(points))


def _draw_links(
    figure: go.Figure, focus: Focus, sides: tuple[Side, Side], links: Links, look: Theme
) -> None:
    """Ring the highlighted item and join it to its partners and its nearest."""
    import plotly.graph_objects as go

    side, row = focus
    other = sides[1] if side is sides[0] else sides[0]
    centre = side.points[row]
    for rows, name, line in (
        (links.partners, "belongs together", {"color": look.muted, "width": 1.2, "dash": "dot"}),
        (links.nearest, "nearest in the model", {"color": look.accent, "width": 1.5}),
    ):
        if not len(rows):
            continue
        ends = other.points[rows]
        gaps = np.full(len(rows), np.nan)
        figure.add_trace(
            go.Scatter(
                x=np.column_stack([np.full(len(rows), centre[0]), ends[:, 0], gaps]).ravel(),
                y=np.column_stack([np.full(len(rows), centre[1]), ends[:, 1], gaps]).ravel(),
                mode="lines",
                line=line,
                name=f"{name} ({len(rows)})",
                hoverinfo="skip",
            )
        )
    if len(links.nearest):
        ends = other.points[links.nearest]
        names = other.hover_texts
        figure.add_trace(
            go.Scatter(
                x=ends[:, 0],
                y=ends[:, 1],
                mode="markers",
                marker={
                    "symbol": "circle-open",
                    "size": 15,
                    "color": look.accent,
                    "line": {"width": 1.5},
                },
                customdata=[other.keys[i] for i in links.nearest],
                hovertext=[
                    f"{names[i]}<br>similarity {score:.3f}"
                    for i, score in zip(links.nearest, links.scores, strict=True)
                ],
                hovertemplate="%{hovertext}<extra></extra>",
                showlegend=False,
            )
        )
    figure.add_trace(
        go.Scatter(
            x=[centre[0]],
            y=[centre[1]],
            mode="markers",
            marker={
                "symbol": "circle-open",
                "size": 20,
                "color": look.ink,
                "line": {"width": 2},
            },
            customdata=[side.keys[row]],
            hovertext=[side.hover_texts[row]],
            hovertemplate="%{hovertext}<extra></extra>",
            showlegend=False,
        )
    )


def _draw_pictures(
    figure: go.Figure,
    side: Side,
    related: set[int] | None,
    frame: Frame,
    picture_size: float,
    look: Theme,
) -> None:
    """Thumbnails, in the units of the map: they grow when it is zoomed."""
    extent = picture_size / frame.scale
    # Dots on a map are small already; pictures drawn in full ink would shout.
    ink = mix(look.ink, look.paper, 0.82)
    figure.update_layout(
        images=[
            {
                "source": data_uri(side.items.content[row], ink),
                "xref": "x",
                "yref": "y",
                "x": side.points[row, 0],
                "y": side.points[row, 1],
                "sizex": extent,
                "sizey": extent,
                "xanchor": "center",
                "yanchor": "middle",
                "layer": "below",
                "opacity": 1.0 if related is None or row in related else 0.15,
            }
            for row in side.pictured
        ]
    )


def _draw_glyphs(figure: go.Figure, side: Side, related: set[int] | None, look: Theme) -> None:
    """Labels that stand for their items, at their very place."""
    import plotly.graph_objects as go

    for rows, opacity in _parted(side.pictured, related):
        figure.add_trace(
            go.Scatter(
                x=side.points[rows, 0],
                y=side.points[rows, 1],
                mode="text",
                text=[safe_text(side.labels[row], 12) for row in rows],
                textfont={"family": GLYPH_FONT, "size": GLYPH_SIZE, "color": look.ink},
                opacity=opacity,
                hoverinfo="skip",
                showlegend=False,
            )
        )


def _draw_labels(figure: go.Figure, side: Side, related: set[int] | None, look: Theme) -> None:
    """Words beside their dots, with a halo of paper."""
    import plotly.graph_objects as go

    for rows, opacity in _parted(list(side.written), related):
        strong = related is not None and opacity == 1
        figure.add_trace(
            go.Scatter(
                x=side.points[rows, 0],
                y=side.points[rows, 1],
                mode="markers+text",
                marker={"size": [side.written[row][1] for row in rows], "opacity": 0.0},
                text=[safe_text(side.labels[row], LABEL_CHARACTERS) for row in rows],
                textposition=[side.written[row][0] for row in rows],
                textfont={
                    "size": [label_size(side, row) for row in rows],
                    "color": mix(side.colour, look.ink, 0.55),
                    "shadow": ", ".join([f"0 0 2px {look.paper}"] * 3),
                    "weight": 600 if strong else 400,
                },
                opacity=opacity,
                hoverinfo="skip",
                showlegend=False,
            )
        )


def _parted(rows: list[int], related: set[int] | None) -> list[tuple[list[int], float]]:
    """Rows with their opacity: those that a highlight is not about step back."""
    if related is None:
        return [(rows, 1.0)] if rows else []
    back = [row for row in rows if row not in related]
    front = [row for row in rows if row in related]
    return [(part, opacity) for part, opacity in ((back, 0.15), (front, 1.0)) if part]
