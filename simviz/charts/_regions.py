"""What regions of a map are about, written across it where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from simviz.charts._colouring import mix
from simviz.charts._placing import Frame, Occupancy
from simviz.charts.style import Theme
from simviz.charts.text import clean_text, safe_text, text_width
from simviz.projection.regions import Region

if TYPE_CHECKING:
    import plotly.graph_objects as go

_FACE = "'Iowan Old Style', 'Palatino Linotype', Palatino, 'Book Antiqua', Georgia, serif"
#: Font sizes of the first line and of those below it, and how lines follow one another.
_SIZES, _LEADING = (16.0, 13.0), 1.3
_CHARACTERS = 34
#: Pixels of the map for each label, and how many there may be at least and at most.
_SHARE, _FEWEST, _MOST = 45_000, 4, 16
#: Where a label goes that finds its place taken, in its own widths and heights.
_MOVES = ((0, 0), (0, -0.6), (0, 0.6), (-0.35, 0), (0.35, 0), (0, -1.2), (0, 1.2))


def place_regions(
    regions: Sequence[Region], frame: Frame, room: Occupancy
) -> list[tuple[float, float, Region]]:
    """Give the weightiest regions room for their labels.

    Parameters
    ----------
    regions : sequence of Region
        By descending weight.
    frame : Frame
        The window.
    room : Occupancy
        What is taken already; the labels take theirs.

    Returns
    -------
    list of (x, y, Region)
        Those that found room, with the middle of the label in map coordinates.
    """
    limit = int(np.clip(frame.width * frame.height / _SHARE, _FEWEST, _MOST))
    placed: list[tuple[float, float, Region]] = []
    for region in regions:
        if len(placed) == limit:
            break
        width, height = _extent(region)
        x, y = frame.pixels(np.array([region.point]))[0].tolist()
        for across, down in _MOVES:
            left, top = x + (across - 0.5) * width, y + (down - 0.5) * height
            if room.claim(left - 4, top - 2, left + width + 4, top + height + 2):
                moved = across * width / frame.scale, down * height / frame.scale
                placed.append((region.point[0] + moved[0], region.point[1] - moved[1], region))
                break
    return placed


def draw_regions(
    figure: go.Figure,
    placed: Sequence[tuple[float, float, Region]],
    look: Theme,
    *,
    is_behind: bool,
) -> None:
    """Write the labels over the map.

    Parameters
    ----------
    figure : plotly Figure
        Added to.
    placed : sequence of (x, y, Region)
        From `place_regions`.
    look : Theme
        Colours.
    is_behind : bool
        Whether they step back, because something else is looked at.
    """
    import plotly.graph_objects as go

    if not placed:
        return
    figure.add_trace(
        go.Scatter(
            x=[x for x, _, _ in placed],
            y=[y for _, y, _ in placed],
            mode="text",
            text=[_markup(region, look) for _, _, region in placed],
            textfont={
                "family": _FACE,
                "size": _SIZES[0],
                "color": look.ink,
                "weight": 600,
                # Thick enough to be read where dots are dense.
                "shadow": ", ".join([f"0 0 2px {look.paper}"] * 4 + [f"0 0 5px {look.paper}"] * 4),
            },
            opacity=0.25 if is_behind else 1.0,
            hoverinfo="skip",
            showlegend=False,
            name="regions",
        )
    )


def _extent(region: Region) -> tuple[float, float]:
    """Width and height of a label in pixels."""
    lines = [clean_text(line, _CHARACTERS) for line in region.lines]
    sizes = [_SIZES[min(i, 1)] for i in range(len(lines))]
    # Strong letters with serifs are about as wide as plain ones without.
    width = max(text_width(line, size) for line, size in zip(lines, sizes, strict=True))
    return width, _LEADING * sum(sizes)


def _markup(region: Region, look: Theme) -> str:
    first, *others = (safe_text(line, _CHARACTERS) for line in region.lines)
    style = f"font-size:{_SIZES[1]:.0f}px;color:{mix(look.second, look.ink, 0.55)}"
    return "<br>".join([first, *(f'<span style="{style}">{line}</span>' for line in others)])
