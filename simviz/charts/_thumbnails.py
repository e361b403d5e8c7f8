"""Small pictures inside a chart."""

from __future__ import annotations

import base64
import io

import numpy as np
from numpy.typing import NDArray


def data_uri(pixels: NDArray[np.uint8], ink: str, size: int = 64) -> str:
    """Encode a picture as a PNG inside an address.

    A drawing in grey levels on a plain white or black ground is drawn in the
    colour of the ink on a transparent ground: it then belongs to the page, in
    a light theme and in a dark one. Other pictures stay as they are.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (h, w) or (h, w, 3)
        The picture.
    ink : str
        Colour as "#rrggbb".
    size : int, default=64
        Longest side in the result; pictures are only ever made smaller.

    Returns
    -------
    str
        ``data:image/png;base64,...``
    """
    from PIL import Image

    ground = plain_ground(pixels)
    if ground is None:
        picture = Image.fromarray(pixels)
    else:
        strength = np.abs(pixels.astype(np.int16) - ground).astype(np.uint8)
        picture = Image.new("RGBA", strength.shape[::-1], ink)
        picture.putalpha(Image.fromarray(strength))
    if max(picture.size) > size:
        picture.thumbnail((size, size), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def plain_ground(pixels: NDArray[np.uint8]) -> int | None:
    """Level of the ground if the picture is a drawing on plain white or black."""
    if pixels.ndim != 2 or not pixels.size:
        return None
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    # A photograph has grey levels, and would turn into its negative in the dark.
    if ((pixels > 8) & (pixels < 247)).mean() > 0.35:
        return None
    for level in (255, 0):
        # Strokes may touch the border here and there.
        if (np.abs(border.astype(np.int16) - level) <= 8).mean() >= 0.8:
            return level
    return None
