"""Small pictures inside a chart."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.charts.style import Theme, ThemeName, get_theme

if TYPE_CHECKING:
    from PIL import Image

#: Colour-blind-safe: blue speaks for, vermilion against.
FOR, AGAINST = "#3f7fbf", "#d1622b"
_LEVELS = 8
_STRONGEST = 0.62  # opacity behind a word that still reads well
_SHOWN = 168  # pixels of a picture


def data_uri(pixels: NDArray[np.uint8], ink: str, size: int = 64) -> str:
    """Encode a picture as a PNG inside an address."""
    # A drawing in grey levels on a plain white or black ground is drawn in the colour of the ink
    # on a transparent ground: it then belongs to the page, in a light theme and in a dark one.
    # Other pictures stay as they are.
    from PIL import Image

    ground = plain_ground(pixels)
    if ground is None:
        picture = Image.fromarray(pixels)
    else:
        picture = Image.new("RGBA", pixels.shape[::-1], ink)
        picture.putalpha(Image.fromarray(ink_strength(pixels, ground)))
    if max(picture.size) > size:
        picture.thumbnail((size, size), Image.Resampling.LANCZOS)
    return _address(picture)


def plain_ground(pixels: NDArray[np.uint8]) -> int | None:
    """Level of the ground if the picture is a drawing on plain white or black."""
    if pixels.ndim != 2 or not pixels.size:
        return None
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    # A photograph has grey levels, and would turn into its negative in the dark.
    if ((pixels > 8) & (pixels < 247)).mean() > 0.35:
        return None
    for shade in (255, 0):
        # Strokes may touch the border here and there.
        if (np.abs(border.astype(np.int16) - shade) <= 8).mean() >= 0.8:
            return shade
    return None


def ink_strength(pixels: NDArray[np.uint8], ground: int) -> NDArray[np.uint8]:
    """How far each pixel of a drawing is from its plain ground."""
    return np.abs(pixels.astype(np.int16) - ground).astype(np.uint8)


def highlighted(text: str, weights: ArrayLike) -> str:
    """A text with colour behind its characters, as HTML."""
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (len(text),):
        raise ValueError(f"{len(text)} characters need as many weights, got {values.shape}.")
    top = float(np.abs(values).max(initial=0.0))
    if not top:
        return escape(text)
    levels = np.rint(_LEVELS * values / top).astype(int)
    parts = []
    at = 0
    for level, run in groupby(levels.tolist()):
        size = len(list(run))
        piece, total = escape(text[at : at + size]), float(values[at : at + size].sum())
        at += size
        if level:
            colour = FOR if level > 0 else AGAINST
            share = 100 * _STRONGEST * abs(level) / _LEVELS
            piece = (
                f'<mark title="{total:+.3f}" style="background:'
                f'color-mix(in srgb, {colour} {share:.0f}%, transparent)">{piece}</mark>'
            )
        parts.append(piece)
    return "".join(parts)


def heat_picture(
    pixels: NDArray[np.uint8],
    effects: tuple[Sequence[tuple[int, ...]], NDArray[np.float64]] | None,
    theme: ThemeName | Theme = "light",
) -> str:
    """An image with colour over its patches, as the address of a PNG."""
    from PIL import Image, ImageColor

    look = get_theme(theme)
    ground = plain_ground(pixels)
    if ground is None:
        base = Image.fromarray(pixels).convert("RGB")
    else:
        base = Image.new("RGB", pixels.shape[::-1], look.paper)
        drawing = Image.fromarray(ink_strength(pixels, ground))
        base.paste(Image.new("RGB", base.size, look.ink), mask=drawing)
    size = (_SHOWN, _SHOWN)
    drawn = np.asarray(base.resize(size, Image.Resampling.LANCZOS), dtype=np.float64)
    if effects is not None and np.abs(effects[1]).max(initial=0.0) > 0:
        heat = np.zeros(pixels.shape[:2])
        for (top, left, bottom, right), effect in zip(*effects, strict=True):
            heat[top:bottom, left:right] = effect
        heat /= np.abs(heat).max()
        smooth = np.asarray(
            Image.fromarray(heat.astype(np.float32)).resize(size, Image.Resampling.BILINEAR)
        )[..., None]
        colour = np.where(smooth > 0, ImageColor.getrgb(FOR), ImageColor.getrgb(AGAINST))
        opacity = _STRONGEST * np.abs(smooth)
        drawn = (1 - opacity) * drawn + opacity * colour
    return _address(Image.fromarray(np.clip(drawn, 0, 255).astype(np.uint8)))


def _address(picture: Image.Image) -> str:
    file = io.BytesIO()
    picture.save(file, format="PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
