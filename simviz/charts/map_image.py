"""A drawing for a paper: dots, labels that are text, and a legend, as SVG or PNG."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from simviz.charts.canvas import colour_values, full_names, importance
from simviz.charts.dot_colours import group_items
from simviz.charts.style import LIGHT, is_glyph, safe_line
from simviz.charts.tables import template

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont, ImageFont

    from simviz.charts.drawing import Drawing

#: Points of an inch, size of letters, radius of a dot, and the space around it all.
_INCH, _LETTERS, _DOT, _MARGIN = 72.0, 7.0, 1.1, 8.0
#: Items that get a label at most, and letters of one.
_LABELS, _LETTERS_OF = 400, 32
_FONTS = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "Arial.ttf", "arial.ttf")


@dataclass(frozen=True, slots=True)
class Picture:
    """What stands where, in points from the upper left corner."""

    width: float
    height: float
    dots: list[tuple[float, float, int, str]]
    labels: list[tuple[float, float, str]]
    legend: list[tuple[float, dict[str, Any]]]


def laid_out(drawing: Drawing, color_by: str | ArrayLike, size: tuple[float, float]) -> Picture:
    """Place dots, as many labels as there is room for, and the legend; `size` in inches."""
    pairs, (width, height) = drawing.pairs, (_INCH * side for side in size)
    names, (values, title) = (pairs.x_name, pairs.y_name), colour_values(pairs, color_by)
    grouped = group_items(values, pairs.shape, LIGHT, names=names, title=title)
    points = np.concatenate([drawing.x, drawing.y])
    foot = _MARGIN + 2 * _LETTERS
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.array([width, height - foot]) - 2 * (_MARGIN + _DOT)
    scale = float((room / np.maximum(high - low, 1e-12)).min())
    middle = np.array([width / 2, (height - foot) / 2])
    at = middle + (points - (low + high) / 2) * [scale, -scale]
    n_x = len(pairs.x)
    side = (np.arange(len(at)) >= n_x).astype(int)
    group = side if grouped.index is None else grouped.index
    # In any order, or the one side would lie on the other.
    dots = [
        (float(at[i, 0]), float(at[i, 1]), int(side[i]), grouped.colours[group[i]])
        for i in np.random.default_rng(0).permutation(len(at))
    ]
    texts = [
        safe_line(name, _LETTERS_OF) for items in (pairs.x, pairs.y) for name in full_names(items)
    ]
    order = importance(pairs.x, pairs.y, drawing.x, drawing.y, pairs.relevance)
    labels: list[tuple[float, float, str]] = []
    taken = np.empty((0, 4))
    for i in order:
        if len(labels) == _LABELS:
            break
        text, (x, y) = texts[i], at[i]
        wide = _width(text)
        left = x + 2 * _DOT if x + wide + 2 * _DOT < width - 2 else x - wide - 2 * _DOT
        box = np.array([left - 1, y - 0.6 * _LETTERS, left + wide + 1, y + 0.6 * _LETTERS])
        apart = (taken[:, :2] >= box[2:]).any(axis=1) | (taken[:, 2:] <= box[:2]).any(axis=1)
        if text and not is_glyph(text) and left > 2 and apart.all():
            taken = np.vstack([taken, box])
            labels.append((float(left), float(y), text))
    legend, left = [], _MARGIN
    for entry in grouped.legend:
        if "scale" in entry:
            name = f"{entry['name']}: {entry['low']} to {entry['high']}"
            entry = {"name": name, "shape": "square", "colour": entry["scale"][-1]}
        legend.append((left, entry))
        left += _width(entry["name"]) + 4 * _LETTERS
    return Picture(width, height, dots, labels, [one for one in legend if one[0] < width - _INCH])


def svg(picture: Picture) -> str:
    """The picture as SVG: labels stay text, which can be searched and set anew."""
    look = {"ink": LIGHT.ink, "paper": LIGHT.paper, "letters": _LETTERS, "dot": _DOT}
    return template("simviz.charts", "printed.svg").render(
        picture=picture, foot=picture.height - _MARGIN, inch=_INCH, **look
    )


def png(picture: Picture, dpi: int) -> bytes:
    """The picture in pixels."""
    from PIL import Image, ImageDraw

    scale = dpi / _INCH
    size = round(picture.width * scale), round(picture.height * scale)
    # Drawn at twice the size: edges of dots are smooth.
    image = Image.new("RGB", (2 * size[0], 2 * size[1]), "white")
    pen, k = ImageDraw.Draw(image), 2 * scale
    for x, y, side, colour in picture.dots:
        _mark(pen, k * x, k * y, k * _DOT, "diamond" if side else "circle", colour)
    for left, entry in picture.legend:
        y = picture.height - _MARGIN
        _mark(pen, k * (left + 2), k * y, k * 2, entry["shape"], entry["colour"])
    font = _font(_LETTERS * k)
    texts = [*picture.labels]
    texts += [(x + 8, picture.height - _MARGIN, e["name"]) for x, e in picture.legend]
    for x, y, text in texts:
        pen.text((k * x, k * y), text, LIGHT.ink, font, "lm", stroke_width=k, stroke_fill="white")
    buffer = io.BytesIO()
    image.resize(size, Image.Resampling.LANCZOS).save(buffer, "PNG", dpi=(dpi, dpi))
    return buffer.getvalue()


def _mark(pen: Any, x: float, y: float, r: float, shape: str, colour: str) -> None:
    if shape == "circle":
        pen.ellipse((x - r, y - r, x + r, y + r), colour)
    elif shape == "square":
        pen.rectangle((x - r, y - r, x + r, y + r), colour)
    else:
        r *= 1.25
        pen.polygon([(x - r, y), (x, y - r), (x + r, y), (x, y + r)], colour)


@lru_cache(8)
def _font(size: float) -> FreeTypeFont | ImageFont:
    """A font of this computer with letters of many scripts, else that of Pillow."""
    from PIL import ImageFont

    for name in _FONTS:
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    return ImageFont.load_default(size)


def _width(text: str) -> float:
    """Points that a text takes, with some to spare: readers have other fonts."""
    return 1.06 * float(_font(10 * _LETTERS).getlength(text)) / 10
