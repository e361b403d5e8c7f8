"""Images as histograms of edges, light and colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from simviz.base.stored import Declared, Equal, OneOf
from simviz.features._base import Transformer
from simviz.params import interval, options

CLIP = 0.2  # Dalal and Triggs, section 6.4: L2-Hys
FLAT = 1e-4  # of full scale: below it there is no edge, only rounding

Floats = NDArray[np.float32]

Pixels = NDArray[np.uint8]

COLOR_LEVELS = 4  # of red, green and blue: 64 colours
TINT = 16  # grey levels by which channels must differ to be colour rather than noise
LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # Rec. 601
BLOCK_VALUES = 2**22  # pixel values worked on at once, 16 MB in float32
BLOCK_IMAGES = 64


def area_weights(n_pixels: int, n_cells: int) -> Floats:
    """Weights that average pixels over equal cells, of shape (n_cells, n_pixels)."""
    # Cells may cut pixels, and may be smaller than a pixel.
    edges = np.linspace(0, n_pixels, n_cells + 1)
    start = np.arange(n_pixels)
    overlap = np.minimum(start + 1, edges[1:, None]) - np.maximum(start, edges[:-1, None])
    return (np.clip(overlap, 0, None) * (n_cells / n_pixels)).astype(np.float32)


def tent_weights(n_pixels: int, n_cells: int) -> Floats:
    """Weights that share pixels between the two nearest cells, (n_cells, n_pixels)."""
    width = n_pixels / n_cells
    centres = (np.arange(n_cells) + 0.5) * width - 0.5
    distance = np.abs(np.arange(n_pixels) - centres[:, None]) / width
    return np.clip(1 - distance, 0, None).astype(np.float32)


def oriented_energy(images: Floats, orientations: int, signed: bool) -> Floats:
    """Gradient magnitude of each pixel, shared between the two nearest orientations."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="edge")
    dx = padded[:, :, 1:-1, 2:] - padded[:, :, 1:-1, :-2]
    dy = padded[:, :, 2:, 1:-1] - padded[:, :, :-2, 1:-1]
    if images.shape[1] > 1:
        strongest = (dx**2 + dy**2).argmax(axis=1)[:, None]
        dx = np.take_along_axis(dx, strongest, axis=1)
        dy = np.take_along_axis(dy, strongest, axis=1)
    dx, dy = dx[:, 0], dy[:, 0]
    magnitude = np.hypot(dx, dy)
    # Blocks are normalised: without this, rounding would look like edges.
    magnitude[magnitude < FLAT] = 0
    period = 2 * np.pi if signed else np.pi
    position = np.arctan2(dy, dx) * (orientations / period)
    lower = np.floor(position)
    share = (position - lower) * magnitude
    rest = magnitude - share
    low = lower.astype(np.int64) % orientations
    high = (low + 1) % orientations
    energy = np.empty((len(images), orientations, *magnitude.shape[1:]), dtype=np.float32)
    for bin_ in range(orientations):
        energy[:, bin_] = np.where(low == bin_, rest, 0)
        energy[:, bin_] += np.where(high == bin_, share, 0)
    return energy


def block_histograms(energy: Floats, cell_size: int) -> Floats:
    """Cell histograms in overlapping blocks of 2 by 2 cells, each normalised by L2-Hys."""
    n, _, height, width = energy.shape
    rows = tent_weights(height, max(height // cell_size, 1))
    columns = tent_weights(width, max(width // cell_size, 1))
    cells = (rows @ energy @ columns.T).transpose(0, 2, 3, 1)
    n_rows, n_columns = cells.shape[1:3]
    # A single row or column of cells is a block of its own.
    deep, broad = min(n_rows, 2), min(n_columns, 2)
    shifted = [
        cells[:, i : n_rows - deep + 1 + i, j : n_columns - broad + 1 + j]
        for i, j in np.ndindex(deep, broad)
    ]
    clipped = np.minimum(unit(np.concatenate(shifted, axis=-1)), np.float32(CLIP))
    return unit(clipped).reshape(n, -1)


def unit(values: Floats) -> Floats:
    """Scale along the last axis to length 1; zeros stay zeros."""
    lengths = np.sqrt(np.einsum("...i,...i->...", values, values))[..., None]
    lengths[lengths == 0] = 1
    return values / lengths


@dataclass(eq=False, repr=False)
class ImageDescriptor(Transformer):
    """Oriented gradients at several scales, a grid of light, and colours.

    Images are brought to one size; then each of these parts is scaled to
    length 1, and so is the whole row. No value is negative.

    - For each cell size, histograms of oriented gradients in overlapping
      blocks of 2 × 2 cells.
    - How much lighter, and how much darker, than the image's mean each cell of
      a coarse grid is.
    - Where there is colour, the square root of the share of each of 64 colours.

    Parameters
    ----------
    cell_sizes : tuple of int, default=(8, 16)
        Pixels a cell of the gradient histograms, one part each.
    orientations : int, default=9
        Directions that are told apart.
    signed : bool, default=False
        Whether the gradient of a dark shape on light differs from that of a
        light shape on dark; then directions go round the full circle.
    intensity : int, default=8
        Rows and columns of the grid of light; 0 leaves it out.
    color : {"auto"} or bool, default="auto"
        Whether colours count; "auto" says yes if a training image has any.
    size : int, default=64
        Pixels to which both sides of an image are brought by averaging.

    Attributes
    ----------
    color_ : bool
        Whether colours count.
    part_sizes_ : dict of str to int
        Number of columns of each part, in order.

    Raises
    ------
    ValueError
        From `fit`, if a parameter is out of range; from both, if images are
        not a uint8 array (n, height, width) or (n, height, width, 3).

    Notes
    -----
    Orientations are centred on the axes, and pixels are shared between
    neighbouring cells and orientations. There is no Gaussian window over a block.

    References
    ----------
    Dalal, N. and Triggs, B. (2005). Histograms of oriented gradients for human
    detection. CVPR, 886-893.

    Examples
    --------
    >>> images = np.zeros((3, 64, 64), dtype=np.uint8)
    >>> images[0, :, 32:] = images[1, :, 40:] = images[2, 32:] = 255  # edges: |, |, -
    >>> rows = ImageDescriptor().fit_transform(images)
    >>> rows.shape
    (3, 2216)
    >>> (rows[0] @ rows[1:].T).round(2)
    array([0.75, 0.17], dtype=float32)
    """

    _stored: ClassVar[Declared] = {
        "color_": OneOf((True, False)),
        "part_sizes_": lambda features: Equal(features._part_sizes(), "columns"),
    }

    _parameter_constraints = {  # noqa: RUF012 -- scikit-learn's name and shape for it
        "cell_sizes": [tuple, list],
        "orientations": [interval(Integral, 2, 36)],
        "signed": ["boolean"],
        "intensity": [interval(Integral, 0, 64)],
        "color": [options("auto"), "boolean"],
        "size": [interval(Integral, 8, 256)],
    }

    cell_sizes: Sequence[int] = (8, 16)
    orientations: int = 9
    signed: bool = False
    intensity: int = 8
    color: str | bool = "auto"
    size: int = 64

    def _check(self, X: Any) -> Pixels:
        return check_images(X, "ImageDescriptor")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        sizes = list(self.cell_sizes)
        if len(set(sizes)) != len(sizes) or not all(
            isinstance(c, int | np.integer) and 2 <= c <= self.size for c in sizes
        ):
            raise ValueError(
                f"cell_sizes are different whole numbers from 2 to size={self.size}, "
                f"got {self.cell_sizes!r}."
            )

    def _fit(self, images: Pixels) -> None:
        self.color_ = _has_color(images) if self.color == "auto" else bool(self.color)
        if not (self.cell_sizes or self.intensity or self.color_):
            raise ValueError(
                "Nothing is left to describe an image by. "
                "Give at least one cell size, intensity=8 or color=True."
            )
        self.part_sizes_ = self._part_sizes()

    def _part_sizes(self) -> dict[str, int]:
        nothing = np.zeros((1, self.size, self.size), dtype=np.uint8)
        return {k: int(v.shape[1]) for k, v in self._parts(nothing).items()}

    def _transform(self, images: Pixels) -> NDArray[np.float32]:
        rows = np.empty((len(images), sum(self.part_sizes_.values())), dtype=np.float32)
        for block in _blocks(images):
            parts = self._parts(images[block])
            rows[block] = unit(np.concatenate([unit(part) for part in parts.values()], axis=1))
        return rows

    def _names(self) -> list[str]:
        return [f"{part}_{i}" for part, n in self.part_sizes_.items() for i in range(n)]

    def _parts(self, images: Pixels) -> dict[str, NDArray[np.float32]]:
        """Describe one block of images, part by part."""
        channels = self._channels(images)
        is_grey = channels.shape[1] == 1
        grey = channels if is_grey else np.tensordot(channels, LUMA, axes=(1, 0))[:, None]
        parts = {}
        if len(self.cell_sizes):
            energy = oriented_energy(channels, self.orientations, self.signed)
            for cell_size in self.cell_sizes:
                parts[f"gradient{cell_size}"] = block_histograms(energy, cell_size)
        if self.intensity:
            weights = area_weights(self.size, self.intensity)
            grid = (weights @ grey[:, 0] @ weights.T).reshape(len(grey), -1)
            grid -= grid.mean(axis=1, keepdims=True)
            # Rounding of the mean must not pass for light in an image of one grey.
            grid[np.abs(grid) < FLAT] = 0
            parts["light"] = np.concatenate([np.maximum(grid, 0), np.maximum(-grid, 0)], axis=1)
        if self.color_:
            parts["color"] = _color_shares(channels)
        return parts

    def _channels(self, images: Pixels) -> NDArray[np.float32]:
        """Channels that count, from 0 to 1, at the common size: (n, 1 or 3, size, size)."""
        values = images.astype(np.float32) / np.float32(255)
        if values.ndim == 4:
            values = values.transpose(0, 3, 1, 2) if self.color_ else (values @ LUMA)[:, None]
        else:
            values = np.repeat(values[:, None], 3 if self.color_ else 1, axis=1)
        height, width = values.shape[2:]
        if (height, width) != (self.size, self.size):
            rows, columns = area_weights(height, self.size), area_weights(width, self.size)
            values = rows @ values @ columns.T
        return values.astype(np.float32, copy=False)


def check_images(images: Any, owner: str) -> Pixels:
    """Refuse what is not a stack of images."""
    pixels = np.asarray(images)
    if (
        pixels.dtype != np.uint8
        or pixels.ndim not in (3, 4)
        or (pixels.ndim == 4 and pixels.shape[3] != 3)
        or 0 in pixels.shape[1:]
    ):
        raise ValueError(
            f"{owner} takes a uint8 array (n, height, width) or (n, height, width, 3), "
            f"got {pixels.dtype} of shape {pixels.shape}. "
            "Put a single image in a stack: image[np.newaxis]."
        )
    return pixels


def _blocks(images: Pixels) -> Iterator[slice]:
    """Slices of images that together hold a bounded number of pixels."""
    step = min(max(BLOCK_VALUES // int(np.prod(images.shape[1:])), 1), BLOCK_IMAGES)
    for start in range(0, len(images), step):
        yield slice(start, start + step)


def _has_color(images: Pixels) -> bool:
    """Whether the channels of any pixel differ by more than noise."""
    return images.ndim == 4 and any(
        bool((np.ptp(images[block], axis=3) > TINT).any()) for block in _blocks(images)
    )


def _color_shares(channels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Square roots of the shares of the colours; their product is the Hellinger affinity."""
    levels = np.clip((channels * COLOR_LEVELS).astype(np.int64), 0, COLOR_LEVELS - 1)
    bins = (levels[:, 0] * COLOR_LEVELS + levels[:, 1]) * COLOR_LEVELS + levels[:, 2]
    n, n_bins = len(channels), COLOR_LEVELS**3
    flat = (bins.reshape(n, -1) + np.arange(n)[:, None] * n_bins).ravel()
    counts = np.bincount(flat, minlength=n * n_bins).reshape(n, n_bins)
    return np.sqrt(counts / bins[0].size).astype(np.float32)
