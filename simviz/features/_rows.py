"""Rows of a feature matrix: their lengths, and which of them are empty."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Matrix = Any  # dense array or CSR matrix, (n, d)


def is_sparse(matrix: Matrix) -> bool:
    """Whether a matrix is a scipy sparse matrix or array."""
    return bool(sp.issparse(matrix))


def empty_share(matrix: Matrix) -> float:
    """Share of rows that hold nothing but zeros.

    Such an item has no known word, keyword or edge; every similarity to it is 0.

    Parameters
    ----------
    matrix : array or sparse matrix of shape (n, d)
        Features, one row an item.

    Returns
    -------
    float
        Between 0 and 1; 0 for a matrix without rows.

    Examples
    --------
    >>> empty_share(np.array([[1.0, 0.0], [0.0, 0.0]]))
    0.5
    """
    if is_sparse(matrix):
        filled = np.zeros(matrix.shape[0], dtype=np.bool_)
        entries = matrix.tocoo()
        filled[entries.row[entries.data != 0]] = True
    else:
        filled = (np.asarray(matrix) != 0).any(axis=1)
    return float(1 - filled.mean()) if len(filled) else 0.0


def normalize_rows(matrix: Matrix) -> Matrix:
    """Scale every row to length 1 in a new matrix; empty rows stay empty."""
    if is_sparse(matrix):
        counts = np.diff(matrix.indptr)
        rows = np.repeat(np.arange(matrix.shape[0]), counts)
        squares = np.square(matrix.data, dtype=np.float64)
        sums = np.bincount(rows, squares, minlength=matrix.shape[0])
        lengths = _divisors(sums.astype(np.float64))
        scaled = matrix.copy()
        scaled.data = (matrix.data / np.repeat(lengths, counts)).astype(matrix.dtype)
        return scaled
    lengths = _divisors(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    return (matrix / lengths[:, None]).astype(matrix.dtype)


def _divisors(squares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lengths from sums of squares; an empty row is divided by 1."""
    return np.where(squares > 0, np.sqrt(squares), 1.0)
