r"""Maximise a sum of distances while a sum of squared distances is bounded.

With the scatter S of similar pairs and :math:`A = R^{-\top} C R^{-1}`,
:math:`S = R R^\top`, Xing's problem [1]_ is

.. math:: \max_C f(C) = \tfrac1n \sum_d \sqrt{d^\top C d}, \qquad
          C \succeq 0, \; \mathrm{tr}\, C = 1,

over the differences :math:`d = R^{-1}(x - y)` of dissimilar pairs. The nearest
matrix of that set is found from one eigendecomposition: the eigenvalues go to
the nearest point of the simplex. So each projection is exact, where
alternating between the half-space and the cone only comes near. As f is
concave and of degree ½, no C exceeds :math:`f/2 + \lambda_{\max}(\nabla f)`,
which tells how far from the maximum a C can be.

References
----------
.. [1] E. P. Xing, A. Y. Ng, M. I. Jordan and S. Russell. "Distance metric
   learning, with application to clustering with side-information." NIPS, 2002.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

_SMALLEST = 1e-12  # of the mean: squared distances below it would have endless slopes
_LONGER, _SHORTEST = 1.5, 1e-30  # growth of a step from one to the next, and what is none


class FullMatrix:
    """C is any positive semidefinite matrix of trace 1.

    Parameters
    ----------
    differences : ndarray of shape (n, r)
        Whitened differences of dissimilar pairs.
    """

    def __init__(self, differences: Reals) -> None:
        self.differences = differences
        r = differences.shape[1]
        self.start: Reals = np.eye(r) / r

    def squares(self, C: Reals) -> Reals:
        """Squared distances, at least 0."""
        return np.maximum(np.einsum("ij,ij->i", self.differences @ C, self.differences), 0)

    def gradient(self, squares: Reals) -> Reals:
        """Derivative of the mean distance by C."""
        weighted = self.differences * _slopes(squares)[:, None]
        return np.asarray(weighted.T @ self.differences)

    def nearest(self, C: Reals) -> Reals:
        """The nearest matrix of the set."""
        values, U = np.linalg.eigh((C + C.T) / 2)
        return np.asarray((U * nearest_of_simplex(values)) @ U.T)

    def steepest(self, gradient: Reals) -> float:
        """The largest inner product of a matrix of the set with the gradient."""
        return float(np.linalg.eigvalsh(gradient)[-1])


class DiagonalMatrix:
    """C is diagonal, given as the vector of its entries.

    Parameters
    ----------
    differences : ndarray of shape (n, r)
        Whitened differences of dissimilar pairs.
    """

    def __init__(self, differences: Reals) -> None:
        self.squared = differences**2
        r = differences.shape[1]
        self.start: Reals = np.full(r, 1 / r)

    def squares(self, C: Reals) -> Reals:
        """Squared distances, at least 0."""
        return np.asarray(self.squared @ C)

    def gradient(self, squares: Reals) -> Reals:
        """Derivative of the mean distance by C."""
        return np.asarray(_slopes(squares) @ self.squared)

    def nearest(self, C: Reals) -> Reals:
        """The nearest vector of the set."""
        return nearest_of_simplex(C)

    def steepest(self, gradient: Reals) -> float:
        """The largest inner product of a vector of the set with the gradient."""
        return float(gradient.max())


def ascend(problem: Any) -> Iterator[tuple[Reals, float, float]]:
    """Go up by accelerated projected gradients, for as long as steps can be taken.

    Parameters
    ----------
    problem : FullMatrix or DiagonalMatrix
        What is maximised, and over which set.

    Yields
    ------
    C : ndarray
        Never worse than the one before.
    value : float
        Mean distance f(C).
    gap : float
        By what share of it f may still rise, at most.
    """
    C = Z = problem.start
    squares = z_squares = problem.squares(C)
    value = z_value = _mean_root(squares)
    gap, momentum, step = np.inf, 1.0, 1.0
    while value > 0:
        gradient = problem.gradient(z_squares)
        step *= _LONGER
        while True:
            new = problem.nearest(Z + step * gradient)
            new_squares = problem.squares(new)
            new_value, moved = _mean_root(new_squares), new - Z
            promised = z_value + np.sum(gradient * moved) - np.sum(moved**2) / (2 * step)
            if new_value >= promised - 1e-15 * abs(z_value):
                break
            step /= 2
            if step < _SHORTEST:
                return
        if new_value < value:
            if Z is C:
                return
            # Carried too far: start again from the best without momentum.
            Z, z_squares, z_value, momentum = C, squares, value, 1.0
            continue
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        Z = problem.nearest(new + (momentum - 1) / following * (new - C))
        C, squares, value, momentum = new, new_squares, new_value, following
        z_squares = problem.squares(Z)
        z_value = _mean_root(z_squares)
        gap = problem.steepest(problem.gradient(squares)) / value - 0.5
        yield C, value, gap


def nearest_of_simplex(v: Reals) -> Reals:
    """The nearest vector of entries that are at least 0 and sum to 1.

    Parameters
    ----------
    v : ndarray of shape (r,)
        Any vector.

    Returns
    -------
    ndarray of shape (r,)
        ``max(v - t, 0)`` for the one t that makes the sum 1.

    Examples
    --------
    >>> nearest_of_simplex(np.array([0.9, 0.5, -1.0]))
    array([0.7, 0.3, 0. ])
    """
    v = v - v.max()  # moves t by as much; beside a number like 1e30 a sum of 1 is nothing
    largest = np.sort(v)[::-1]
    excess = (np.cumsum(largest) - 1) / np.arange(1, len(v) + 1)
    t = excess[np.flatnonzero(largest > excess)[-1]]
    return np.maximum(v - t, 0)


def _mean_root(squares: Reals) -> float:
    return float(np.sqrt(squares).mean()) if len(squares) else 0.0


def _slopes(squares: Reals) -> Reals:
    """Derivative of the mean root by each of the squares."""
    return 0.5 / np.sqrt(np.maximum(squares, _SMALLEST * squares.mean())) / len(squares)
