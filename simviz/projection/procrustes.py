"""One drawing turned onto another, so that the eye can follow each item."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from simviz.projection._sides import FloatArray


def align(points: ArrayLike, onto: ArrayLike) -> FloatArray:
    """Turn, mirror, scale and shift a drawing to lie on another as well as it can.

    Parameters
    ----------
    points : array-like of shape (n, d)
        The drawing to move.
    onto : array-like of shape (n, d)
        The same items on the other.

    Returns
    -------
    ndarray of shape (n, d)
        The first drawing; distances within it keep their proportions.

    Raises
    ------
    ValueError
        If the shapes differ.

    References
    ----------
    Gower, J. C. (1975). Generalized Procrustes analysis. Psychometrika 40.

    Examples
    --------
    >>> square = np.array([[0, 0], [1, 0], [1, 1], [0, 1.0]])
    >>> turned = 3 * square @ np.array([[0, 1.0], [-1, 0]]) + 5
    >>> bool(np.allclose(align(turned, square), square))
    True
    """
    moved = np.asarray(points, dtype=np.float64)
    goal = np.asarray(onto, dtype=np.float64)
    if moved.shape != goal.shape:
        raise ValueError(
            f"Drawings of shape {moved.shape} and {goal.shape} cannot lie on one another: "
            "give the same items in the same order."
        )
    middle = goal.mean(axis=0)
    moved = moved - moved.mean(axis=0)
    U, s, Vt = np.linalg.svd(moved.T @ (goal - middle))
    size = float((moved**2).sum())
    return moved @ (U @ Vt) * (s.sum() / size if size > 0 else 1.0) + middle
