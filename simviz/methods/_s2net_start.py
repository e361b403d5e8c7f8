"""Where S2Net starts from: another linear method, or noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.base import Matrix
from simviz.methods._initial_model import initial_model
from simviz.methods._s2net_network import parts
from simviz.relevance import Relevance

Array = NDArray[np.floating]


def start_parameters(
    model: Any, X: Matrix, Y: Matrix, relevance: Relevance, notify: Any, rng: Any
) -> Array:
    """Where to start, scaled such that vectors have length 1 on average.

    Parameters
    ----------
    model : S2Net
        Its parameters say where.
    X, Y : array or CSR
        Training items.
    relevance : Relevance
        Training judgments.
    notify : callable
        Callback of the method that is fitted first.
    rng : RandomState
        Noise.

    Returns
    -------
    ndarray of shape (d_x + d_y + 2, k) or (d_x + 2, k) where one matrix is shared
        Parameters, see `simviz.methods._s2net_network.parts`.
    """
    if isinstance(model.init, str) and model.init == "random":
        A, B = (rng.standard_normal((Z.shape[1], model.n_components)) for Z in (X, Y))
        a = b = np.zeros(model.n_components)
    else:
        linear = initial_model(model, (X, Y, relevance), notify, shared=model.shared)
        A, B = linear.x_projection_, linear.y_projection_
        a, b = (
            np.zeros(A.shape[1]) if offset is None else -offset
            for offset in (linear.x_offset_, linear.y_offset_)
        )
    if model.shared:
        A = B = (A + B) / 2
    theta = np.vstack([A, *(() if model.shared else (B,)), a, b]).astype(X.dtype)
    rescale(theta, theta, X, Y, model.shared)
    return theta


def rescale(theta: Array, like: Array, X: Matrix, Y: Matrix, shared: bool) -> None:
    """Divide parameters, in place, by the mean length of the vectors that others give.

    Parameters
    ----------
    theta : ndarray of shape (d, k)
        Parameters to divide.
    like : ndarray of shape (d, j)
        Parameters whose vectors should have mean length 1.
    X, Y : array or CSR
        Items.
    shared : bool
        Whether one matrix serves both sides, which then keep one scale.
    """
    A, a, B, b = parts(like, X.shape[1], shared)
    x, y = _mean_length(X, A, a), _mean_length(Y, B, b)
    if shared:
        theta /= theta.dtype.type((x + y) / 2)
        return
    for part, length in zip(parts(theta, X.shape[1], shared), (x, x, y, y), strict=True):
        part /= theta.dtype.type(length)


def widened(start: Array, learned: Array | None, data: tuple[Any, ...], shared: bool) -> Array:
    """Learned columns, and further ones of the start on the same scale.

    Parameters
    ----------
    start : ndarray of shape (d, k)
        Parameters of as many components as wanted, all of the start.
    learned : ndarray of shape (d, j), optional
        What became of the first of them, j < k.
    data : tuple
        Items of both sides, and judgments.
    shared : bool
        Whether one matrix serves both sides.

    Returns
    -------
    ndarray of shape (d, k)
        Parameters to start from.
    """
    theta = start.copy()
    j = start.shape[1] if learned is None else learned.shape[1]
    # Learning began with vectors of mean length 1 in the columns there were.
    rescale(theta, start[:, :j], data[0], data[1], shared)
    if learned is not None:
        theta[:, :j] = learned
    return theta


def _mean_length(Z: Matrix, A: Array, bias: Array) -> float:
    """Mean length of the vectors of some thousand items."""
    step = max(1, Z.shape[0] // 4096)
    G = np.asarray(Z[::step] @ A.astype(Z.dtype)) + bias
    return float(np.linalg.norm(G, axis=1).mean()) or 1.0
