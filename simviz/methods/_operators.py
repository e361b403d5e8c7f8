"""Matrices that are known by their products, and data seen as such a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz._blas import add_product
from simviz.methods._products import Products, dense_product

Array = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Operator:
    """A matrix known by its products.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns (m, n).
    matmat : callable
        Block (n, b) to block (m, b).
    rmatmat : callable
        Block (m, b) to block (n, b), with the transpose.
    gram : callable, optional
        Takes a floating type and gives A Aᵀ of shape (m, m) in it, where there
        is a shorter way than products.
    rgram : callable, optional
        Aᵀ A of shape (n, n), likewise.
    dtype : type, default=float64
        Precision in which products are taken.
    """

    shape: tuple[int, int]
    matmat: Callable[[Array], Array]
    rmatmat: Callable[[Array], Array]
    gram: Callable[[Any], Array] | None = None
    rgram: Callable[[Any], Array] | None = None
    dtype: Any = np.float64

    @property
    def T(self) -> Operator:  # noqa: N802 -- as numpy names a transpose
        """The transposed operator."""
        return Operator(
            self.shape[::-1], self.rmatmat, self.matmat, self.rgram, self.gram, self.dtype
        )


def matrix_operator(C: Array) -> Operator:
    """A dense matrix.

    Parameters
    ----------
    C : ndarray of shape (m, n)
        The matrix.

    Returns
    -------
    Operator
        Of the same shape.
    """
    return Operator(
        C.shape,
        lambda B: C @ B,
        lambda B: C.T @ B,
        lambda dtype: C.astype(dtype) @ C.T.astype(dtype),
        lambda dtype: C.T.astype(dtype) @ C.astype(dtype),
        C.dtype,
    )


def rows_operator(Z: Any, weights: Array | None = None, groups: Sequence[slice] = ()) -> Operator:
    """Data as diag(√weights)(Z − means), sparse data staying sparse.

    Parameters
    ----------
    Z : array or CSR of shape (n, d)
        Data.
    weights : ndarray of shape (n,), optional
        Row weights; None are ones.
    groups : sequence of slice, optional
        Rows that are centred together, each group about its own weighted
        mean; without any nothing is centred.

    Returns
    -------
    Operator
        Of shape (n, d).
    """
    products = Products(Z)
    Z = products.X
    n = products.shape[0]
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    root = np.sqrt(w)[:, None]
    by_weight = sp.diags_array(w)
    means = group_means(Z, w, groups)

    def matmat(B: Array) -> Array:
        out = products.matmat(B)
        for rows, mean in zip(groups, means, strict=True):
            out[rows] -= mean.astype(B.dtype) @ B
        return out if weights is None else out * root.astype(B.dtype)

    def rmatmat(C: Array) -> Array:
        if weights is not None:
            C = C * root.astype(C.dtype)
        out = products.rmatmat(C)
        for rows, mean in zip(groups, means, strict=True):
            out -= np.outer(mean, C[rows].sum(axis=0)).astype(C.dtype)
        return out

    def gram(dtype: Any) -> Array:
        K = dense_product(Z, products.transpose, dtype)
        for rows in groups:
            share = (w[rows] / w[rows].sum()).astype(dtype)
            K[rows] -= share @ K[rows]
            K[:, rows] -= (K[:, rows] @ share)[:, None]
        if weights is not None:
            K *= root.astype(dtype)
            K *= root.astype(dtype).T
        return K

    def rgram(dtype: Any) -> Array:
        if sp.issparse(Z):
            left = products.transpose if weights is None else products.transpose @ by_weight
            C = dense_product(left, Z, dtype)
        else:
            # A matrix times its own transpose is half the work to BLAS.
            scaled = Z.astype(dtype) if weights is None else Z * root.astype(dtype)
            C = scaled.T @ scaled
        if groups:
            M = np.array(means)
            sums = np.array([w[rows].sum() for rows in groups])
            # Into C itself: it may be the largest thing in memory.
            add_product(C, M.T * sums, M, -1.0)
        return C

    return Operator(products.shape, matmat, rmatmat, gram, rgram, products.dtype)


def group_means(Z: Any, weights: Array, groups: Sequence[slice]) -> list[Array]:
    """Weighted mean of each group of rows.

    Parameters
    ----------
    Z : array or CSR of shape (n, d)
        Data.
    weights : ndarray of shape (n,)
        Row weights.
    groups : sequence of slice
        Rows that belong together.

    Returns
    -------
    list of ndarray of shape (d,)
        In float64; zeros for a group without weight.
    """
    return [
        np.asarray(weights[rows] @ Z[rows], dtype=np.float64).ravel()
        / max(weights[rows].sum(), np.finfo(np.float64).tiny)
        for rows in groups
    ]
