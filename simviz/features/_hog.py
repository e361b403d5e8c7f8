"""Histograms of oriented gradients, for many images at once.

Every step that sums over pixels is a product with a small matrix of weights,
one for rows and one for columns, so a block of images is a few products.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CLIP = 0.2  # Dalal and Triggs, section 6.4: L2-Hys
FLAT = 1e-4  # of full scale: below it there is no edge, only rounding

Floats = NDArray[np.float32]


def area_weights(n_pixels: int, n_cells: int) -> Floats:
    """Weights that average pixels over equal cells, of shape (n_cells, n_pixels).

    Cells may cut pixels, and may be smaller than a pixel.
    """
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
    """Gradient magnitude of each pixel, shared between the two nearest orientations.

    Parameters
    ----------
    images : ndarray of shape (n, c, height, width)
        The channel with the strongest gradient counts at each pixel.
    orientations : int
        Number of orientations, the first of them along the x axis.
    signed : bool
        Whether dark-to-light and light-to-dark differ.

    Returns
    -------
    ndarray of float32, shape (n, orientations, height, width)
        Energies, at least 0.
    """
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
    """Cell histograms in overlapping blocks of 2 by 2 cells, each normalised by L2-Hys.

    Parameters
    ----------
    energy : ndarray of shape (n, orientations, height, width)
        Result of `oriented_energy`.
    cell_size : int
        Pixels a cell; pixels that are left over widen all cells a little.

    Returns
    -------
    ndarray of float32, shape (n, d)
        Histograms of all blocks, at least 0.
    """
    n, _, height, width = energy.shape
    rows = tent_weights(height, max(height // cell_size, 1))
    columns = tent_weights(width, max(width // cell_size, 1))
    cells = (rows @ energy @ columns.T).transpose(0, 2, 3, 1)
    n_rows, n_columns = cells.shape[1:3]
    # A single row or column of cells is a block of its own.
    deep, broad = min(n_rows, 2), min(n_columns, 2)
    blocks = np.concatenate(
        [
            cells[:, i : n_rows - deep + 1 + i, j : n_columns - broad + 1 + j]
            for i in range(deep)
            for j in range(broad)
        ],
        axis=-1,
    )
    clipped = np.minimum(unit(blocks), np.float32(CLIP))
    return unit(clipped).reshape(n, -1)


def unit(values: Floats) -> Floats:
    """Scale along the last axis to length 1; zeros stay zeros."""
    lengths = np.sqrt(np.einsum("...i,...i->...", values, values))[..., None]
    lengths[lengths == 0] = 1
    return values / lengths
