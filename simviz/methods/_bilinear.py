"""Scores xᵀ W y with a whole matrix W: its size, its products."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import Matrix, RowScorer

MAX_ENTRIES = 2**27  # half a gigabyte of float32


def check_size(name: str, d_x: int, d_y: int, remedy: str) -> None:
    """Refuse a matrix of weights that would not fit into memory.

    Parameters
    ----------
    name : str
        What asks for it.
    d_x, d_y : int
        Widths of the two sides.
    remedy : str
        What else to do, as the end of a sentence.

    Raises
    ------
    ValueError
        If there would be more than `MAX_ENTRIES` weights.
    """
    if d_x * d_y > MAX_ENTRIES:
        raise ValueError(
            f"{name} learns a weight for every pair of features: {d_x:,} of X × {d_y:,} of y are "
            f"{d_x * d_y:,}, more than the {MAX_ENTRIES:,} that are held in memory. "
            "Keep fewer features (max_features of the features or of default_pipeline) or "
            f"{remedy}."
        )


def row_scorer(X: Matrix, W: NDArray[np.floating], Y: Matrix) -> RowScorer:
    """Blocks of X W Yᵀ.

    Parameters
    ----------
    X, Y : ndarray or CSR array of shape (n_x, d_x) and (n_y, d_y)
        Sides.
    W : ndarray of shape (d_x, d_y)
        Weights.

    Returns
    -------
    callable
        From a slice of rows to a dense block.
    """
    W = W.astype(X.dtype, copy=False)
    return lambda rows: np.asarray(Y @ np.asarray(X[rows] @ W).T).T


def pair_score(X: Matrix, W: NDArray[np.floating], Y: Matrix) -> NDArray[np.floating]:
    """Row-wise xᵀ W y.

    Parameters
    ----------
    X, Y : ndarray or CSR array of shape (n, d_x) and (n, d_y)
        Sides.
    W : ndarray of shape (d_x, d_y)
        Weights.

    Returns
    -------
    ndarray of shape (n,)
        Scores.
    """
    W = W.astype(X.dtype, copy=False)
    size = max(1, 2**24 // W.shape[1])
    parts = [np.empty(0, X.dtype)]
    for start in range(0, X.shape[0], size):
        rows = slice(start, start + size)
        P = np.asarray(X[rows] @ W)
        product = Y[rows].multiply(P) if sp.issparse(Y) else Y[rows] * P
        parts.append(np.asarray(product.sum(axis=1)).ravel())
    return np.concatenate(parts)
