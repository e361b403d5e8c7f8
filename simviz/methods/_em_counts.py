"""Counts of words, by items and by words, of the form that kernels read."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.floating]
Index = NDArray[np.integer]


class Counts:
    """Counts of one side by items, of the form that kernels read.

    Parameters
    ----------
    C : array or CSR of shape (n, V)
        Counts; never changed.
    known : ndarray of bool, shape (V,), optional
        Words that count; others are left out.
    dtype : type, optional
        Floating type of the values; that of `C` by default.

    Attributes
    ----------
    ptr, idx, val : ndarray
        Limits of the rows, columns and values of the non-zeros.
    totals : ndarray of float64, shape (n,)
        Sum of each row.
    """

    def __init__(self, C: Any, known: Any = None, dtype: Any = None) -> None:
        self.matrix = self._clean(C, known, dtype or C.dtype)
        self.ptr = self.matrix.indptr.astype(np.int64)
        self.idx = self.matrix.indices.astype(np.int32)
        self.val = self.matrix.data
        self.totals = np.asarray(self.matrix.sum(axis=1, dtype=np.float64)).ravel()

    @staticmethod
    def _clean(C: Any, known: Any, dtype: Any) -> sp.csr_array:
        C = sp.csr_array(C, dtype=dtype, copy=True)
        C.sum_duplicates()
        if known is not None:
            C.data[~known[C.indices]] = 0
        C.eliminate_zeros()
        return C

    @property
    def rows(self) -> tuple[Any, Any, Any]:
        """Limits, columns and values."""
        return self.ptr, self.idx, self.val

    @property
    def lengths(self) -> Index:
        """Non-zeros of each row."""
        return np.diff(self.ptr)


class Side(Counts):
    """Counts of one side, by items and by words, and the units its items are in.

    Parameters
    ----------
    C : array or CSR of shape (n, V)
        Counts.
    items : ndarray of int, shape (n_units,)
        The item of each unit: an item may be in several, or in none.
    weights : ndarray of shape (n_units,)
        How much each unit counts.

    Attributes
    ----------
    columns : tuple of ndarray
        For each word the units it occurs in and weighted counts, as limits,
        units and values, where each item is in one unit. Else limits, items
        and counts, and how to come from items to units and their weights.
    """

    def __init__(self, C: Any, items: Index, weights: Array) -> None:
        super().__init__(C)
        self.items = items.astype(np.int64)
        order = np.argsort(items, kind="stable")
        self.units = order.astype(np.int64)
        n_items = self.matrix.shape[0]
        self.unit_ptr = np.searchsorted(items[order], np.arange(n_items + 1)).astype(np.int64)
        self.weights = weights.astype(self.val.dtype)
        columns = sp.csr_array(self.matrix.T)
        columns.sort_indices()
        degrees = np.diff(self.unit_ptr)
        limits, inside, values = columns.indptr.astype(np.int64), columns.indices, columns.data
        self.columns: tuple[Any, ...]
        if (degrees == 1).all():
            units = self.units[inside]
            self.columns = limits, units.astype(np.int32), values * self.weights[units]
        else:
            through = self.unit_ptr, self.units, self.weights
            self.columns = limits, inside.astype(np.int32), values, *through
        # Words that occur in a unit at all: what there is to learn about.
        used = np.bincount(items, weights, minlength=n_items)
        self.word_totals = np.asarray(used @ self.matrix.astype(np.float64)).ravel()
        self.unit_work = self.lengths[self.items]
        meets = np.concatenate([[0], np.cumsum(degrees[inside])])
        self.word_work = np.diff(meets[limits])
