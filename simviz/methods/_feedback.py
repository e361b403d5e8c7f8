"""Which documents feed a query, and which of their terms."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def same_rows(Q: sp.csr_array, D: sp.csr_array) -> sp.csr_array:
    """Which documents equal which queries, feature by feature.

    Parameters
    ----------
    Q, D : CSR array of shape (n_q, d) and (n_d, d)
        Rows without stored zeros, sorted, of one floating type.

    Returns
    -------
    CSR array of bool, shape (n_q, n_d)
        True where both rows are the same and not empty.
    """
    at: dict[tuple[bytes, bytes], list[int]] = {}
    for row, key in enumerate(_keys(D)):
        at.setdefault(key, []).append(row)
    found = [at.get(key, []) if key[0] else [] for key in _keys(Q)]
    indptr = np.concatenate([[0], np.cumsum([len(rows) for rows in found], dtype=np.int64)])
    indices = np.array([row for rows in found for row in rows], dtype=np.int64)
    return sp.csr_array(
        (np.ones(len(indices), dtype=bool), indices, indptr), shape=(Q.shape[0], D.shape[0])
    )


def _keys(rows: sp.csr_array) -> list[tuple[bytes, bytes]]:
    ptr = rows.indptr.tolist()
    indices = rows.indices.astype(np.int64, copy=False)
    return [(indices[a:b].tobytes(), rows.data[a:b].tobytes()) for a, b in pairwise(ptr)]


def share_of_feedback(scores: NDArray[Any], own: sp.csr_array, n_feedback: int) -> sp.csr_array:
    """How much each document feeds each query.

    Parameters
    ----------
    scores : ndarray of shape (b, n_d)
        Similarity of the documents to each query.
    own : CSR array of bool, shape (b, n_d)
        Documents that are the query itself.
    n_feedback : int
        Documents that feed a query at most.

    Returns
    -------
    CSR array of float64, shape (b, n_d)
        Rows that sum to 1, or to 0 where no document scores above 0. Those
        level at the last place share what is left of the places.
    """
    told = np.where(np.asarray(scores) > 0, scores, 0)
    rows = np.repeat(np.arange(len(told)), np.diff(own.indptr))
    told[rows, own.indices] = 0
    n = told.shape[1]
    last = n - min(n_feedback, n)
    # The score at the last place; 0 where fewer documents can feed.
    limit = np.partition(told, last, axis=1)[:, last]
    row, column = np.nonzero((told > 0) & (told >= limit[:, None]))
    is_level = told[row, column] == limit[row]
    n_level = np.bincount(row[is_level], minlength=len(told))
    n_above = np.bincount(row[~is_level], minlength=len(told))
    places = np.minimum(n_feedback, n_above + n_level)
    share = np.ones(len(row))
    share[is_level] = ((places - n_above) / np.maximum(n_level, 1))[row[is_level]]
    return sp.csr_array((share / places[row], (row, column)), shape=told.shape)


def heaviest_terms(rows: sp.csr_array, n_terms: int | None) -> sp.csr_array:
    """The terms of largest absolute weight in each row.

    Parameters
    ----------
    rows : CSR array of shape (b, d)
        Weighted terms.
    n_terms : int or None
        Terms kept of a row, of equal ones the first; None keeps all.

    Returns
    -------
    CSR array of shape (b, d)
        Of the same type.
    """
    if n_terms is None or not rows.nnz:
        return rows
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((rows.indices, -np.abs(rows.data), row))
    place = np.arange(rows.nnz) - rows.indptr[row]
    kept = np.sort(order[place < n_terms])
    return sp.csr_array((rows.data[kept], (row[kept], rows.indices[kept])), shape=rows.shape)
