"""Checks and block arithmetic that every projection shares."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz._blas import eigh

FloatArray = NDArray[np.float64]
#: Largest block of distances held at once, in bytes.
BLOCK_BYTES = 16_000_000


def check_sides(x_vectors: ArrayLike, y_vectors: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Both sides as finite float64 matrices of one width."""
    sides = []
    for name, vectors in (("x", x_vectors), ("y", y_vectors)):
        if sp.issparse(vectors):
            raise ValueError(
                f"{name}_vectors is sparse; a map needs dense coordinates. "
                "Reduce it first, for instance with simviz.projection.unfold."
            )
        side = np.asarray(vectors, dtype=np.float64)
        if side.ndim != 2 or not side.shape[0]:
            raise ValueError(
                f"{name}_vectors must have one row per item and one column per dimension, "
                f"with at least one row; got shape {side.shape}."
            )
        if not np.isfinite(side).all():
            row = int(np.flatnonzero(~np.isfinite(side).all(axis=1))[0])
            raise ValueError(
                f"{name}_vectors must be finite; row {row} holds NaN or infinity. "
                "Set empty items to a row of zeros."
            )
        sides.append(side)
    x, y = sides
    if x.shape[1] != y.shape[1]:
        raise ValueError(
            f"Both sides must lie in one space; x_vectors has {x.shape[1]} columns, "
            f"y_vectors has {y.shape[1]}. Give the model's projections, not its inputs."
        )
    return x, y


def centred(points: FloatArray) -> FloatArray:
    """Points around their mean; all zeros if they differ by rounding only."""
    moved = points - points.mean(axis=0)
    rounding = 8 * np.finfo(np.float64).eps * np.abs(points).max(initial=0.0)
    if np.abs(moved).max(initial=0.0) <= rounding:
        moved[:] = 0.0
    return moved


def distance_blocks(
    points: FloatArray, rows: NDArray[np.intp]
) -> Iterator[tuple[NDArray[np.intp], FloatArray]]:
    """Squared Euclidean distances from some rows to all points, block by block."""
    norms = np.einsum("ij,ij->i", points, points)
    size = max(1, BLOCK_BYTES // (8 * len(points)))
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        squared = points[block] @ points.T
        squared *= -2.0
        squared += norms
        squared += norms[block, None]
        np.maximum(squared, 0.0, out=squared)
        squared[np.arange(len(block)), block] = np.inf
        yield block, squared


def principal_axes(covariance: FloatArray, n_axes: int) -> FloatArray:
    """Leading eigenvectors of a covariance, strongest first, signs fixed."""
    # An axis along which nothing varies is returned as zeros, and so is every axis beyond the
    # width of the space: the map is then flat there.
    k = len(covariance)
    axes = np.zeros((k, n_axes))
    n = min(n_axes, k)
    if not n or not covariance.any():
        return axes
    values, vectors = eigh(covariance)
    values, vectors = values[::-1][:n], vectors[:, ::-1][:, :n]
    vectors = vectors * np.where(
        vectors[np.abs(vectors).argmax(axis=0), np.arange(n)] < 0, -1.0, 1.0
    )
    real = values > k * np.finfo(np.float64).eps * max(values[0], 0.0)
    axes[:, :n][:, real] = vectors[:, real]
    return axes
