"""Rows of dense and sparse matrices alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Matrix = Any  # CSR array or ndarray of shape (n, d)


def unit_rows(Z: Matrix) -> Matrix:
    """Rows scaled to Euclidean length 1; rows of zeros stay zero.

    Parameters
    ----------
    Z : ndarray or CSR array of shape (n, k)
        Vectors.

    Returns
    -------
    ndarray or CSR array of shape (n, k)
        Same kind and floating type.
    """
    if sp.issparse(Z):
        squares = np.asarray(Z.multiply(Z).sum(axis=1), dtype=np.float64).ravel()
    else:
        squares = np.einsum("ik,ik->i", Z, Z, dtype=np.float64)
    norms = np.sqrt(squares)
    # Below the smallest normal number of the type the inverse would overflow.
    known = norms > np.finfo(Z.dtype).tiny
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=known).astype(Z.dtype)
    if sp.issparse(Z):
        return sp.csr_array(sp.diags_array(scale, dtype=Z.dtype) @ Z)
    return Z * scale[:, None]


def nonzero_rows(X: Matrix) -> NDArray[np.bool_]:
    """Which rows hold anything but zeros.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Rows to look at.

    Returns
    -------
    ndarray of bool, shape (n,)
        False for an empty row.
    """
    if sp.issparse(X):
        return np.asarray(abs(X).sum(axis=1)).ravel() > 0
    return (X != 0).any(axis=1)
