"""All pictures of a side on one sheet, so that they travel and are drawn as one."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray

from simviz.charts._thumbnails import plain_ground

#: Pixels of a sheet at most: beyond, its cells become smaller.
_MOST_PIXELS = 12_000_000
_LARGEST, _SMALLEST = 64, 16


def make_sheet(pixels: NDArray[np.uint8]) -> tuple[bytes, dict[str, int | bool]]:
    """Lay pictures out in rows of equal cells.

    Drawings in grey levels on a plain ground become ink on a transparent
    ground: who draws them chooses the ink. Other pictures stay as they are.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (n, h, w) or (n, h, w, 3)
        The pictures, at least one.

    Returns
    -------
    png : bytes
        The sheet.
    layout : dict
        ``cell`` (side of a cell in pixels), ``columns`` (cells a row) and
        ``is_ink`` (whether the sheet holds strengths of ink only).

    Examples
    --------
    >>> png, layout = make_sheet(np.full((5, 16, 16), 255, dtype=np.uint8))
    >>> layout
    {'cell': 16, 'columns': 3, 'is_ink': True}
    """
    from PIL import Image

    n, height, width = pixels.shape[:3]
    fitting = int(np.sqrt(_MOST_PIXELS / n))
    cell = max(_SMALLEST, min(_LARGEST, max(height, width), fitting))
    columns = max(1, int(np.ceil(np.sqrt(n))))
    grounds = [plain_ground(picture) for picture in pixels] if pixels.ndim == 3 else [None]
    is_ink = all(ground is not None for ground in grounds)
    rows = -(-n // columns)
    sheet = Image.new("L" if is_ink else "RGBA", (columns * cell, rows * cell))
    for k, picture in enumerate(pixels):
        if is_ink:
            strength = np.abs(picture.astype(np.int16) - grounds[k]).astype(np.uint8)
            image = Image.fromarray(strength)
        else:
            image = Image.fromarray(picture).convert("RGBA")
        if max(image.size) != cell:
            scale = cell / max(image.size)
            size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
            image = image.resize(size, Image.Resampling.LANCZOS)
        left = (k % columns) * cell + (cell - image.width) // 2
        sheet.paste(image, (left, (k // columns) * cell + (cell - image.height) // 2))
    if is_ink:
        blank = Image.new("L", sheet.size)
        sheet = Image.merge("LA", (blank, sheet))
    buffer = io.BytesIO()
    sheet.save(buffer, format="PNG", compress_level=3)
    return buffer.getvalue(), {"cell": cell, "columns": columns, "is_ink": is_ink}
