"""Coordinates for models that only say how similar two items are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.projection._sides import FloatArray

#: Largest table of similarities that is held, in bytes.
MAX_BYTES = 2_000_000_000


def unfold(
    similarities: ArrayLike | Iterable[NDArray[np.floating]],
    n_components: int = 50,
    random_state: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """Place both sides so that inner products follow their similarities.

    The table S of similarities is centred in rows and columns, so that an
    item that is similar to everything gains nothing by it, and decomposed:
    J S J ≈ U Σ Vᵀ gives the x side as U Σ^½ and the y side as V Σ^½. Both
    sides are then scaled alike, and ``x @ y.T`` is the best approximation of
    the centred table with so many dimensions.

    Only similarities across the sides are known. Distances *within* a side
    are a consequence (two items are near if the other side sees them alike),
    and a map drawn from this should say so.

    Parameters
    ----------
    similarities : array-like of shape (n_x, n_y), or iterator of row blocks
        Larger is closer. Blocks, such as ``model.iter_similarity`` yields
        them, are gathered in single precision.
    n_components : int, default=50
        Dimensions wanted; capped at the rank that the table can have.
    random_state : int, default=0
        Seed of the start vector of the Lanczos iterations.

    Returns
    -------
    x_vectors, y_vectors : ndarray of shape (n_x, k) and (n_y, k)
        Coordinates in one space, strongest dimension first, signs fixed.

    Raises
    ------
    ValueError
        If the table is not two-dimensional, not finite, or larger than 2 GB.

    References
    ----------
    Heiser, W. J., Meulman, J. (1983). Analyzing rectangular tables by joint
    and constrained multidimensional scaling. Journal of Econometrics 22.

    Examples
    --------
    >>> x, y = unfold([[2.0, 1.0], [1.0, 2.0]], n_components=1)
    >>> (x @ y.T).round(6).tolist()  # [[2, 1], [1, 2]] after centring
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    if n_components < 1:
        raise ValueError(f"n_components must be at least 1, got {n_components}.")
    table = _gather(similarities)
    # Means in double precision: a float32 sum over a long column drifts.
    rows = table.mean(axis=1, dtype=np.float64)
    columns = table.mean(axis=0, dtype=np.float64)
    largest = float(np.abs(table).max())
    table -= rows[:, None].astype(table.dtype)
    table -= (columns - columns.mean())[None, :].astype(table.dtype)
    # What is left of a constant table is rounding, not structure.
    if float(np.abs(table).max()) <= 16 * np.finfo(table.dtype).eps * largest:
        table[:] = 0.0
    k = max(1, min(n_components, min(table.shape) - 1))
    left, values, right = _svd(table, k, random_state)
    signs = np.where(left[np.abs(left).argmax(axis=0), np.arange(k)] < 0, -1.0, 1.0)
    weights = np.sqrt(values) * signs
    return left * weights, right * weights


def _gather(similarities: ArrayLike | Iterable[NDArray[np.floating]]) -> NDArray[np.floating]:
    """Copy an array, or blocks of rows, into one table of our own."""
    blocks: list[NDArray[np.float32]] = []
    if isinstance(similarities, Iterator) or (
        isinstance(similarities, list | tuple) and similarities and np.ndim(similarities[0]) == 2
    ):
        size = 0
        for block in similarities:
            blocks.append(np.asarray(block, dtype=np.float32))
            size += blocks[-1].nbytes
            if size > MAX_BYTES:
                raise ValueError(
                    f"The table of similarities exceeds {MAX_BYTES / 1e9:.0f} GB. "
                    "Draw a sample of the items instead."
                )
        table: NDArray[np.floating] = np.concatenate(blocks) if blocks else np.empty((0, 0))
    else:
        given = np.asarray(similarities)
        table = given.astype(np.float32 if given.dtype == np.float32 else np.float64)
    if table.ndim != 2 or not table.size:
        raise ValueError(
            "Similarities are a table with one row per x item and one column per y item; "
            f"got shape {table.shape}."
        )
    if not np.isfinite(table).all():
        raise ValueError("Similarities must be finite; found NaN or infinity.")
    return table


def _svd(
    table: NDArray[np.floating], k: int, random_state: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Find the k largest singular triplets, largest first."""
    from scipy.sparse.linalg import svds

    if not table.any():
        return np.zeros((table.shape[0], k)), np.zeros(k), np.zeros((table.shape[1], k))
    if min(table.shape) <= max(200, 3 * k):
        u, s, vt = np.linalg.svd(table.astype(np.float64), full_matrices=False)
    else:
        start = np.random.RandomState(random_state).uniform(-1, 1, min(table.shape))
        u, s, vt = svds(table, k=k, v0=start.astype(table.dtype), solver="arpack")
        u, s, vt = u[:, ::-1], s[::-1], vt[::-1]
    return (
        u[:, :k].astype(np.float64),
        np.maximum(s[:k], 0.0).astype(np.float64),
        vt[:k].T.astype(np.float64),
    )
