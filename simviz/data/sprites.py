"""Sprites: untrusted images re-encoded as small squares of pixels."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray

from simviz.data.limits import get_limits

SPRITE = 64
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
# Only decoders of common formats meet untrusted bytes.
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")


class ImageError(ValueError):
    """An image that cannot be used; the text completes "the file ..."."""


def make_sprite(data: bytes, size: int = SPRITE) -> NDArray[np.uint8]:
    """Decode an image and fit it into a white square, aspect kept.

    Parameters
    ----------
    data : bytes
        A PNG, JPEG, GIF (first frame), WebP or BMP file.
    size : int, default=64
        Side of the square in pixels.

    Returns
    -------
    array of uint8, shape (size, size, 3)
        RGB; transparent pixels are white.

    Raises
    ------
    ImageError
        If the bytes are no such image, are damaged, or hold too many pixels.

    Examples
    --------
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("RGBA", (10, 20), (255, 0, 0, 255)).save(file, "PNG")
    >>> sprite = make_sprite(file.getvalue())
    >>> sprite[32, 32].tolist(), sprite[32, 2].tolist()
    ([255, 0, 0], [255, 255, 255])
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            if image.width * image.height > get_limits().pixels:
                raise ImageError(f"has {image.width:,} × {image.height:,} pixels, too many")
            # A JPEG can be decoded at a fraction of its size.
            image.draft("RGB", (4 * size, 4 * size))
            upright = ImageOps.exif_transpose(image)
            if upright.mode.startswith("I"):
                # 16-bit greys would be clipped, not scaled.
                upright = Image.fromarray((np.asarray(upright) >> 8).astype(np.uint8))
            rgba = upright.convert("RGBA")
            paper = Image.new("RGBA", rgba.size, "white")
            paper.alpha_composite(rgba)
            square = ImageOps.pad(
                paper.convert("RGB"), (size, size), Image.Resampling.LANCZOS, "white"
            )
    except UnidentifiedImageError as error:
        raise ImageError("is no image, whatever its name says") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ImageError("has too many pixels") from error
    except ImageError:
        raise
    except Exception as error:  # decoders of images raise whatever they like
        raise ImageError("is damaged") from error
    return np.asarray(square, dtype=np.uint8)


def as_kept(sprite: NDArray[np.uint8], others: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """An image in the form that the images of a data set have.

    Parameters
    ----------
    sprite : array of uint8, shape (size, size, 3)
        As `make_sprite` answers.
    others : array of uint8, shape (n, height, width) or (n, height, width, 3)
        Those of the data set.

    Returns
    -------
    array of uint8, shape (height, width) or (height, width, 3)
        Of their size; in grey levels on a ground as theirs, where they have no
        colours.

    Examples
    --------
    >>> white = np.full((64, 64, 3), 255, dtype=np.uint8)
    >>> as_kept(white, np.zeros((2, 32, 32), dtype=np.uint8)).max()
    np.uint8(0)
    """
    from PIL import Image

    height, width = others.shape[1:3]
    image = Image.fromarray(sprite).resize((width, height), Image.Resampling.LANCZOS)
    if others.ndim == 4:
        return np.asarray(image, dtype=np.uint8)
    grey = np.asarray(image.convert("L"), dtype=np.uint8)
    is_white = len(others) > 0 and np.median(others[:, 0]) > 127
    return grey if is_white else 255 - grey
