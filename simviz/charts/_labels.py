"""Where labels and pictures go so that none covers another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simviz.charts.colours import mix
from simviz.charts.style import Theme, clean_text, safe_text, text_width
from simviz.projection.regions import Region

if TYPE_CHECKING:
    import plotly.graph_objects as go

FloatArray = NDArray[np.float64]
_CELL = 48.0


@dataclass(frozen=True, slots=True)
class Frame:
    """The window through which a map is seen, at equal scale on both axes."""

    centre: tuple[float, float]
    scale: float
    width: float
    height: float

    @classmethod
    def around(cls, points: FloatArray, width: float, height: float, margin: float) -> Frame:
        """Fit all points into a window, `margin` pixels away from its border."""
        low, high = points.min(axis=0), points.max(axis=0)
        extent = high - low
        room = np.array([max(width - 2 * margin, 1.0), max(height - 2 * margin, 1.0)])
        wanted = extent > 0
        scale = float((room[wanted] / extent[wanted]).min()) if wanted.any() else 1.0
        centre = (low + high) / 2
        return cls((float(centre[0]), float(centre[1])), scale, width, height)

    def pixels(self, points: FloatArray) -> FloatArray:
        """Map coordinates to pixels from the top left."""
        moved = (points - np.array(self.centre)) * self.scale * np.array([1.0, -1.0])
        return moved + np.array([self.width / 2, self.height / 2])

    @property
    def x_range(self) -> list[float]:
        """Left and right border in map coordinates."""
        half = self.width / 2 / self.scale
        return [self.centre[0] - half, self.centre[0] + half]

    @property
    def y_range(self) -> list[float]:
        """Lower and upper border in map coordinates."""
        half = self.height / 2 / self.scale
        return [self.centre[1] - half, self.centre[1] + half]


class Occupancy:
    """Boxes already drawn in a window, and whether another one still fits."""

    def __init__(self, width: float, height: float) -> None:
        self._width, self._height = width, height
        self._cells: dict[tuple[int, int], list[tuple[float, float, float, float]]] = defaultdict(
            list
        )

    def claim(self, left: float, top: float, right: float, bottom: float) -> bool:
        """Take a box if it is free and inside; say whether it was taken."""
        if left < 0 or top < 0 or right > self._width or bottom > self._height:
            return False
        cells = [
            (i, j)
            for i in range(int(left // _CELL), int(right // _CELL) + 1)
            for j in range(int(top // _CELL), int(bottom // _CELL) + 1)
        ]
        for cell in cells:
            # Looking a cell up must not create it.
            for a, b, c, d in self._cells.get(cell, ()):
                if left < c and a < right and top < d and b < bottom:
                    return False
        for cell in cells:
            self._cells[cell].append((left, top, right, bottom))
        return True

    def claim_text(
        self, x: float, y: float, width: float, size: float, marker: float
    ) -> str | None:
        """Find room for a line of text beside the dot of its point."""
        # Where Plotly draws the line beside a marker.
        gap = marker / 1.6 + 1.0
        for position, left, top, bottom in (
            ("top center", x - width / 2, y - gap - 1.17 * size, y - gap),
            ("bottom center", x - width / 2, y + gap - 0.17 * size, y + gap + size),
            ("middle right", x + gap, y - 0.67 * size, y + 0.5 * size),
            ("middle left", x - gap - width, y - 0.67 * size, y + 0.5 * size),
        ):
            if self.claim(left - 2, top, left + width + 2, bottom):
                return position
        return None

    def claim_square(self, x: float, y: float, size: float) -> bool:
        """Take a square around a point if it is free."""
        half = size / 2
        return self.claim(x - half, y - half, x + half, y + half)


def spread_order(points: FloatArray, n: int) -> NDArray[np.intp]:
    """Indices of points such that any first few of them cover the whole map.

    Each next point is the one farthest from all before it (Gonzalez 1985), the first the one
    nearest to the centre. Points that coincide with earlier ones are left out.
    """
    if not len(points) or n < 1:
        return np.empty(0, dtype=np.intp)
    start = int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmin())
    order = [start]
    distance = ((points - points[start]) ** 2).sum(axis=1)
    while len(order) < min(n, len(points)):
        farthest = int(distance.argmax())
        if distance[farthest] <= 0:
            break
        order.append(farthest)
        np.minimum(distance, ((points - points[farthest]) ** 2).sum(axis=1), out=distance)
    return np.array(order, dtype=np.intp)


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
    """Give the weightiest regions room for their labels."""
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
    """Write the labels over the map."""
    if not placed:
        return
    figure.add_scatter(
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
