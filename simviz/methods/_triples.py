"""Triples of a query, an item relevant to it, and one that is not: drawing them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import Matrix
from simviz.relevance import Relevance

Triples = NDArray[np.int32]
Rows = tuple[Any, Any, Any, Any]

_LINE = 64  # bytes


class TripleSource:
    """Draws triples: from judgments, or from a list of them.

    Parameters
    ----------
    relevance : Relevance
        Judgments. Others are drawn from all items that are not relevant where
        unjudged pairs are negative, else from those judged not relevant.
    links : bool
        Whether both sides are the same items: then none is drawn with itself.
    given : ndarray of int of shape (n, 3), optional
        Triples to draw from, uniformly, in place of the judgments.
    group : int
        Others that are drawn for a pair at a time.
    name : str
        Method named in the error.

    Raises
    ------
    ValueError
        If the judgments are of one sign.
    """

    def __init__(
        self,
        relevance: Relevance,
        *,
        links: bool,
        given: Triples | None = None,
        group: int = 1,
        name: str = "SSI",
    ) -> None:
        self.given, self.group = given, group if given is None else 1
        positives = relevance.positives
        self.judged = relevance.unjudged == "ignore"
        if given is None and not (positives.nnz and (relevance.negatives.nnz or not self.judged)):
            raise ValueError(
                f"{name} compares relevant with other items; got {positives.nnz} relevant and "
                f"{relevance.negatives.nnz} judged not relevant. "
                "Bring both, or set unjudged='negative'."
            )
        rows = np.repeat(np.arange(positives.shape[0]), np.diff(positives.indptr))
        columns = positives.indices
        listed = relevance.negatives if self.judged else positives
        if links:
            apart = rows != columns
            rows, columns = rows[apart], columns[apart]
            itself = sp.eye_array(*positives.shape, format="csr")
            listed = listed - listed.multiply(itself) if self.judged else listed + itself
            listed = sp.csr_array(listed)
            listed.eliminate_zeros()
        listed.sort_indices()
        self.n_y = positives.shape[1]
        counts = np.diff(listed.indptr)[rows]
        usable = counts > 0 if self.judged else counts < self.n_y
        self.queries = rows[usable].astype(np.int32)
        self.relevant = columns[usable].astype(np.int32)
        self.ptr, self.listed = listed.indptr, listed.indices

    def __len__(self) -> int:
        return len(self.queries if self.given is None else self.given)

    def draw(self, n: int, seed: int) -> Triples:
        """Draw triples (query, relevant item, other item).

        Parameters
        ----------
        n : int
            How many.
        seed : int
            The same triples for the same seed.

        Returns
        -------
        ndarray of int32, shape (n, 3)
            None at all where everything is relevant.
        """
        if not len(self):
            return np.empty((0, 3), np.int32)
        if self.given is not None:
            return self.given[np.random.default_rng(seed).integers(len(self.given), size=n)]
        from simviz.methods._triple_kernels import draw

        triples = np.empty((n, 3), np.int32)
        draw(self.queries, self.relevant, self.ptr, self.listed, self.judged, self.n_y,
             self.group, triples, seed)  # fmt: skip
        return triples


def rows_of(Z: Matrix) -> Rows:
    """The rows of a matrix as the kernels read them, without a copy.

    Parameters
    ----------
    Z : ndarray or CSR array of shape (n, d)
        One side.

    Returns
    -------
    ptr, first, idx, val : ndarray
        See `simviz.methods._triple_kernels`.
    """
    if sp.issparse(Z):
        ptr = Z.indptr.astype(np.int64)
        return ptr, ptr, Z.indices, Z.data
    n, d = Z.shape
    ptr = np.arange(n + 1, dtype=np.int64) * d
    return (
        ptr,
        np.zeros(n, np.int64),
        np.arange(d, dtype=np.int32),
        np.ascontiguousarray(Z).ravel(),
    )


def aligned(A: NDArray[Any]) -> NDArray[Any]:
    """A copy whose rows begin and end with cache lines, behind its columns zeros.

    Parameters
    ----------
    A : ndarray of shape (d, N)
        Factors that steps add rows of, one by one.

    Returns
    -------
    ndarray of shape (d, N or some more)
        Steps leave the zeros as they are.
    """
    d, n = A.shape
    per_line = _LINE // A.itemsize
    width = -(-n // per_line) * per_line
    raw = np.empty(d * width * A.itemsize + _LINE, np.uint8)
    shift = -raw.ctypes.data % _LINE
    copy = raw[shift : shift + d * width * A.itemsize].view(A.dtype).reshape(d, width)
    copy[:, :n], copy[:, n:] = A, 0
    return copy


def filled(Z: Matrix) -> float:
    """Entries of a row that are not zero, on average.

    Parameters
    ----------
    Z : ndarray or CSR array of shape (n, d)
        One side.

    Returns
    -------
    float
        Between 0 and d.
    """
    return float(np.count_nonzero(Z.data if sp.issparse(Z) else Z)) / Z.shape[0]


def same_items(X: Matrix, Y: Matrix) -> bool:
    """Whether both sides hold the same rows in the same order.

    Parameters
    ----------
    X, Y : ndarray or CSR array
        Sides.

    Returns
    -------
    bool
        True for links between the items of one collection.
    """
    if X is Y or X.shape != Y.shape or sp.issparse(X) != sp.issparse(Y):
        return X is Y
    if not sp.issparse(X):
        return bool((X == Y).all())
    return X.nnz == Y.nnz and all(
        bool((getattr(X, part) == getattr(Y, part)).all())
        for part in ("indptr", "indices", "data")
    )
