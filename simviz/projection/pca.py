"""Principal components that weigh both sides alike."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from simviz.projection._sides import FloatArray, centred, check_sides, principal_axes


def pca_map(
    x_vectors: ArrayLike,
    y_vectors: ArrayLike,
    fit_on: Literal["both", "x", "y"] = "both",
) -> tuple[FloatArray, FloatArray]:
    """Positions along the axes on which items of one side differ most.

    This is where it departs from `mds_map`, which looks at all points as one
    cloud: there a large side outweighs a small one, and an offset between
    the sides can take a whole axis. Here the axes come from the mean of the
    two covariances *within* a side, or from one side alone, the other being
    projected into it (queries into the space of the documents). The sides
    are still placed where they are: an offset is drawn as far as it lies
    along these axes.

    Parameters
    ----------
    x_vectors, y_vectors : array-like of shape (n_x, k) and (n_y, k)
        Coordinates of both sides in the model's space.
    fit_on : {"both", "x", "y"}, default="both"
        Whose variation the axes show.

    Returns
    -------
    x, y : ndarray of shape (n_x, 2) and (n_y, 2)
        Positions, with the mean of what was fitted at the origin. Directions
        that the data lack are zeros.

    Raises
    ------
    ValueError
        If the sides do not lie in one space, or `fit_on` is unknown.

    Examples
    --------
    >>> x, y = pca_map([[0, 9.0], [2, 9]], [[0, 0.0], [2, 0], [4, 0]])  # 9 apart, across the axis
    >>> np.abs(x[1] - x[0]).round(6).tolist()
    [2.0, 0.0]
    """
    if fit_on not in ("both", "x", "y"):
        raise ValueError(f"fit_on must be 'both', 'x' or 'y', got {fit_on!r}.")
    x, y = check_sides(x_vectors, y_vectors)
    fitted = [side for name, side in (("x", x), ("y", y)) if fit_on in (name, "both")]
    covariance = np.zeros((x.shape[1], x.shape[1]))
    for side in fitted:
        spread = centred(side)
        covariance += spread.T @ spread / len(side)
    axes = principal_axes(covariance, 2)
    origin = np.mean([side.mean(axis=0) for side in fitted], axis=0)
    return (x - origin) @ axes, (y - origin) @ axes
