"""Classical multidimensional scaling of both sides, in closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from simviz.projection._sides import FloatArray, centred, check_sides, principal_axes


def mds_map(x_vectors: ArrayLike, y_vectors: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Positions whose distances follow the model's Euclidean distances best.

    Classical scaling doubly centres the matrix of squared distances and takes
    its leading eigenvectors. For Euclidean distances that matrix is the Gram
    matrix of the centred points, so the same positions come from a principal
    component analysis of both sides together: exact, and without any matrix
    of n × n distances.

    Parameters
    ----------
    x_vectors, y_vectors : array-like of shape (n_x, k) and (n_y, k)
        Coordinates of both sides in the model's space.

    Returns
    -------
    x, y : ndarray of shape (n_x, 2) and (n_y, 2)
        Positions, centred at the mean of all points, in units of the model's
        distance, strongest direction first, signs fixed. Directions that the
        data lack are zeros.

    Raises
    ------
    ValueError
        If the sides do not lie in one space or are not finite.

    References
    ----------
    Torgerson, W. S. (1952). Multidimensional scaling: I. Theory and method.
    Psychometrika 17.

    Examples
    --------
    >>> x, y = mds_map([[0.0, 0.0], [3.0, 0.0]], [[0.0, 4.0], [3.0, 4.0]])
    >>> float(np.linalg.norm(x[0] - y[1]).round(6))  # the diagonal of a 3 × 4 rectangle
    5.0
    """
    x, y = check_sides(x_vectors, y_vectors)
    points = centred(np.concatenate([x, y]))
    n, k = points.shape
    if k <= n:
        positions = points @ principal_axes(points.T @ points, 2)
    else:
        # Fewer points than dimensions: the same directions from the Gram matrix.
        left = principal_axes(points @ points.T, 2)
        positions = left * np.linalg.norm(points.T @ left, axis=0)
    return positions[: len(x)], positions[len(x) :]
