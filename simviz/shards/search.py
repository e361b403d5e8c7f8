"""The nearest items among many, found by looking at every one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.exceptions import StoreError
from simviz.shards.vectors import VectorShards

Reals = NDArray[np.float32]
Positions = NDArray[np.int64]

#: Queries that are compared at a time, scores of them (32 MB), and rows, least and most.
_QUERIES, _ENTRIES, _ROWS, _MOST_ROWS = 1024, 2**23, 2**13, 2**16
#: Vectors (of float64) that are multiplied one by one at a time: some 32 MB.
_LISTED = 2**22


@dataclass(frozen=True, slots=True, eq=False)
class Neighbors:
    """What was found for each query, best first.

    Parameters
    ----------
    positions : ndarray of int64, shape (n_queries, k)
        Numbers of items over all shards; -1 where nothing more was found.
    scores : ndarray of float32, shape (n_queries, k)
        Inner products with the stored vectors, -inf where nothing was found.
        Equal scores stand in the order of positions.
    """

    positions: Positions
    scores: Reals

    def ids(self, vectors: VectorShards) -> list[list[str]]:
        """What was found by id; by position in decimal where items have none.

        Parameters
        ----------
        vectors : VectorShards
            Those that were searched.

        Returns
        -------
        list of list of str
            One list a query, without places where nothing was found.
        """
        told = []
        for row in self.positions:
            found = row[row >= 0]
            ids = vectors.ids_at(found)
            told.append([str(p) for p in found.tolist()] if ids is None else ids)
        return told


def exact_search(vectors: VectorShards, queries: ArrayLike, k: int = 10) -> Neighbors:
    """The k nearest items of each query, by comparing it with all.

    Blocks of a shard are multiplied with blocks of queries, and of each only
    what may belong to the best is looked at. Memory does not grow with the
    number of items.

    Parameters
    ----------
    vectors : VectorShards
        The items.
    queries : array-like of shape (n_queries, n_components)
        Vectors of the other side, see `simviz.shards.embed`; one query may be
        given as a vector.
    k : int, default=10
        Items wanted; fewer are found where there are not as many.

    Returns
    -------
    Neighbors
        With min(k, n_items) columns.

    Raises
    ------
    ValueError
        If queries are not finite or of another width, or k is below 1.
    StoreError
        If a shard cannot be read or holds NaN.

    Notes
    -----
    Sums of float32 depend in their last digits on the shape of the blocks
    that a library multiplies. Items are therefore chosen with a margin above
    the largest possible error, and scores computed once more in float64, each
    alike, and rounded to float32: equal vectors tie, and of those that tie the
    first ones are taken, however the shards are cut.

    Examples
    --------
    >>> import tempfile
    >>> from simviz.methods import get_method
    >>> from simviz.shards import embed, write_vectors
    >>> model = get_method("cca")(3).fit(np.eye(4), np.eye(4))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     vectors = write_vectors(model, np.eye(4), folder, "y")
    ...     exact_search(vectors, embed(model, np.eye(4), "x"), k=1).positions.ravel()
    array([0, 1, 2, 3])
    """
    Q = as_queries(vectors, queries, k)
    k = min(k, vectors.n_items)
    chunks = [_search(vectors, Q[i : i + _QUERIES], k) for i in range(0, len(Q), _QUERIES)]
    if not chunks:
        return Neighbors(np.empty((0, k), np.int64), np.empty((0, k), np.float32))
    positions, scores = (np.concatenate(part) for part in zip(*chunks, strict=True))
    return Neighbors(positions, scores)


def as_queries(vectors: VectorShards, queries: ArrayLike, k: int) -> Reals:
    """Queries as a matrix that fits to the vectors; see `exact_search`."""
    Q = np.atleast_2d(np.ascontiguousarray(queries, dtype=np.float32))
    if Q.ndim != 2 or Q.shape[1] != vectors.n_components:
        raise ValueError(
            f"Queries are vectors of {vectors.n_components} dimensions, as the items are; got "
            f"shape {Q.shape}. Embed them by the model that the items were embedded by."
        )
    if not np.isfinite(Q).all():
        raise ValueError("Queries must be finite, but some hold NaN or infinity.")
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}.")
    return Q


def rescored(Q: Reals, query: Positions, rows: NDArray[Any], block: NDArray[Any]) -> Reals:
    """Scores of listed pairs, each computed alike: products and sum in float64.

    Parameters
    ----------
    Q : ndarray of shape (n_queries, k)
        Queries.
    query, rows : ndarray of int, shape (n,)
        Query of each pair, and its row in `block`.
    block : ndarray of shape (n_rows, k)
        Vectors.

    Returns
    -------
    ndarray of float32, shape (n,)
        Rounded at the end.
    """
    scores = np.empty(len(query), dtype=np.float32)
    step = max(1, _LISTED // Q.shape[1])
    for start in range(0, len(query), step):
        own = slice(start, start + step)
        a, b = Q[query[own]].astype(np.float64), block[rows[own]].astype(np.float64)
        np.multiply(a, b, out=a)
        scores[own] = a.sum(axis=1)
    return scores


def best(query: Positions, positions: Positions, scores: Reals, n: int, k: int) -> Neighbors:
    """The k best of listed pairs for each of n queries, lower positions first where they tie."""
    order = np.lexsort((positions, -scores, query))
    query = query[order]
    first = np.searchsorted(query, np.arange(n))
    place = np.arange(len(query)) - first[query]
    kept = place < k
    found = Neighbors(np.full((n, k), -1), np.full((n, k), -np.inf, dtype=np.float32))
    found.positions[query[kept], place[kept]] = positions[order[kept]]
    found.scores[query[kept], place[kept]] = scores[order[kept]]
    return found


def _blocks(vectors: VectorShards, n_rows: int) -> Iterator[tuple[int, Reals]]:
    """Position of the first row, and rows that fit into memory."""
    for i in range(len(vectors)):
        shard = vectors[i]
        for row in range(0, len(shard), n_rows):
            block = shard[row : row + n_rows]
            yield int(vectors.starts[i]) + row, np.asarray(block, dtype=np.float32)


def _search(vectors: VectorShards, Q: Reals, k: int) -> tuple[Positions, Reals]:
    """The best of one block of queries."""
    n = len(Q)
    # n·u·‖q‖·‖y‖ bounds the rounding of a sum of n products (Higham 2002, section 3.1). Twice
    # that also covers lengths that were noted before vectors were rounded to float16.
    lengths = np.sqrt(np.einsum("ik,ik->i", Q, Q, dtype=np.float64))
    error = np.finfo(np.float32).eps * (Q.shape[1] + 2)
    margin = (2 * error * lengths * vectors.longest + np.finfo(np.float32).tiny)[:, None]
    found = Neighbors(np.full((n, k), -1), np.full((n, k), -np.inf, dtype=np.float32))
    known = lengths > 0
    for start, block in _blocks(vectors, int(np.clip(_ENTRIES // n, _ROWS, _MOST_ROWS))):
        S = Q @ block.T
        if not np.isfinite(block if S.size > block.size else S).all():
            raise StoreError(
                f"The vectors in {vectors.folder} hold NaN or infinity after item {start:,}. "
                "Write the folder again."
            )
        least = np.where(known[:, None], found.scores[:, -1:] - margin, np.inf)
        chosen = S >= least
        many = np.flatnonzero(np.count_nonzero(chosen, axis=1) > 2 * k)
        if len(many) and len(block) > k:
            # k of the block are at least as good as its k-th, so that others need not be seen.
            kth = np.partition(S[many], len(block) - k, axis=1)[:, len(block) - k, None]
            chosen[many] &= S[many] >= kth - 2 * margin[many]
        query, row = np.nonzero(chosen)
        if not len(query):
            continue
        old = np.nonzero(found.positions >= 0)
        found = best(
            np.r_[old[0], query],
            np.r_[found.positions[old], row + start],
            np.r_[found.scores[old], rescored(Q, query, row, block)],
            n,
            k,
        )
    # Zeros score 0 with everything.
    found.positions[~known], found.scores[~known] = np.arange(k), 0
    return found.positions, found.scores
