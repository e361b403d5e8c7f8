"""Which pairs a batch compares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from simviz.relevance import Relevance

Index = NDArray[np.int64]

_FEWEST, _SMALLEST = 8, 64  # batches of a pass, unless they were smaller than this
_PARTNERS = 3  # of a query in one batch, where it has so many
_MOST_OFTEN = 8  # a query is read in a pass
_NEAR = 8  # queries that stand together in a batch of near groups
_BLOCK = 1024


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts of both sides, and which of their pairs count.

    Parameters
    ----------
    x, y : ndarray of int64, shape (n_x,) and (n_y,)
        Items.
    positive, negative : ndarray of float, shape (n_x, n_y)
        Weights of pairs.
    """

    x: Index
    y: Index
    positive: NDArray[np.floating]
    negative: NDArray[np.floating]


class Batches:
    """Batches of pairs whose other items are negatives of one another.

    Parameters
    ----------
    relevance : Relevance
        Training judgments.
    texts : tuple of ndarray or None
        Number of the text of each item of either side, where both sides are
        read by one network: a text says nothing when compared with itself,
        and one that is an item of both sides is compared as both.
    size : int
        Texts of a batch, about; fewer where there would be few batches.
    n_negatives : int or None
        Negative pairs drawn for each positive one; None for all of the batch.
    rng : RandomState
        Draws.
    """

    def __init__(
        self,
        relevance: Relevance,
        texts: tuple[Index, Index] | None,
        size: int,
        n_negatives: int | None,
        rng: Any,
    ) -> None:
        self.texts, self.n_negatives, self.rng = texts, n_negatives, rng
        self.positives = relevance.positives
        self.judged = relevance.negatives if relevance.unjudged == "ignore" else None
        pairs = self.positives.tocoo()
        self.pairs = np.stack([pairs.row, pairs.col], axis=1).astype(np.int64)
        self.alone = False  # whether no text has any partner but itself
        if texts is not None:
            other = texts[0][self.pairs[:, 0]] != texts[1][self.pairs[:, 1]]
            self.alone = not other.any()
            self.pairs = self.pairs if self.alone else self.pairs[other]
            n = 1 + max(int(side.max()) for side in texts)
            self.item_of = [_item_of(side, n) for side in texts]
        counts = np.bincount(self.pairs[:, 0], minlength=relevance.shape[0])
        self.starts = np.concatenate([[0], np.cumsum(counts)])
        queries = np.flatnonzero(counts)
        self.queries = np.repeat(queries, _readings(self.positives)[queries])
        n_texts = len(queries) + len(np.unique(self.pairs[:, 1]))
        if self.judged is not None:
            wrong = self.judged.tocoo()
            self.wrong = np.stack([wrong.row, wrong.col], axis=1).astype(np.int64)
            ratio = len(self.wrong) if n_negatives is None else n_negatives
            self.n_wrong = min(len(self.wrong), max(1, ratio * len(self.pairs)))
            n_texts = 2 * (len(self.pairs) + self.n_wrong)
        elif texts is not None:
            n_texts = len(np.unique(np.r_[texts[0][queries], texts[1][self.pairs[:, 1]]]))
        self.size = min(size, max(_SMALLEST, n_texts // _FEWEST))
        self.n = max(1, n_texts // self.size)

    def epoch(self, near: NDArray[np.floating] | None = None) -> Iterator[Batch]:
        """Read every query about once, or go through judged pairs.

        A query whose best grade is some times the usual one is read as often.

        Parameters
        ----------
        near : ndarray of shape (n_x, k), optional
            Unit vectors of the x items: those with near ones then stand in one
            batch with them.

        Yields
        ------
        Batch
            In a new order.
        """
        for x, y in self._judged() if self.judged is not None else self._groups(near):
            yield self._batch(np.unique(x), np.unique(y))

    def _judged(self) -> Iterator[tuple[Index, Index]]:
        chosen = self.wrong[self.rng.permutation(len(self.wrong))[: self.n_wrong]]
        both = np.concatenate([self.pairs, chosen])
        for part in np.array_split(both[self.rng.permutation(len(both))], self.n):
            yield part[:, 0], part[:, 1]

    def _groups(self, near: NDArray[np.floating] | None) -> Iterator[tuple[Index, Index]]:
        """Queries with some partners each, until a batch is full."""
        queries = self.rng.permutation(self.queries)
        if near is not None:
            queries = together(queries, near[queries], self.rng)
        read = np.zeros(self.positives.shape[0], dtype=bool)
        x: list[int] = []
        y: list[Index] = []
        n, told = 0, False
        for query in queries:
            if read[query]:
                continue
            partners = self._partners(query)
            if self.texts is not None:
                # A partner that is a query itself is compared as one, too.
                also = self.item_of[0][self.texts[1][partners]]
                read[also[also >= 0]] = True
            x.append(query)
            y.append(partners)
            n += 1 + len(partners)
            if n >= self.size:
                yield np.array(x), np.concatenate(y)
                x, y, n, told = [], [], 0, True
        # A few that are left over have hardly any negatives; the next pass has them.
        if x and (not told or n > self.size // 2):
            yield np.array(x), np.concatenate(y)

    def _partners(self, query: int) -> Index:
        start, stop = self.starts[query], self.starts[query + 1]
        if stop - start <= _PARTNERS:
            return self.pairs[start:stop, 1]
        drawn = start + self.rng.random_sample(_PARTNERS) * (stop - start)
        return np.unique(self.pairs[drawn.astype(np.int64), 1])

    def _batch(self, x: Index, y: Index) -> Batch:
        same = None
        if self.texts is not None:
            read = np.unique(np.concatenate([self.texts[0][x], self.texts[1][y]]))
            x, y = (np.union1d(side, of[read][of[read] >= 0]) for side, of in
                    zip((x, y), self.item_of, strict=True))  # fmt: skip
            same = np.equal.outer(self.texts[0][x], self.texts[1][y])
        positive = self.positives[x][:, y].toarray() > 0
        if self.judged is None:
            negative = ~positive
        else:
            negative = self.judged[x][:, y].toarray() > 0
        if same is not None:
            negative &= ~same
            positive &= ~same | self.alone
        weights = negative.astype(np.float32)
        if self.n_negatives is not None and (n := negative.sum()):
            share = self.n_negatives * positive.sum() / n
            if share < 1:
                weights *= self.rng.random_sample(weights.shape) < share
        return Batch(x, y, positive.astype(np.float32), weights)


def _readings(positives: sp.csr_array) -> Index:
    """How often each query is read in a pass."""
    usual = np.median(positives.data) if positives.nnz else 1.0
    best = positives.max(axis=1).toarray().ravel()
    return np.clip(np.rint(best / usual), 1, _MOST_OFTEN).astype(np.int64)


def _item_of(texts: Index, n: int) -> Index:
    """An item with each text; −1 for none."""
    found = np.full(n, -1, dtype=np.int64)
    found[texts] = np.arange(len(texts))
    return found


def together(queries: Index, near: NDArray[np.floating], rng: Any) -> Index:
    """Reorder queries so that each is followed by near ones.

    Parameters
    ----------
    queries : ndarray of int64, shape (n,)
        In random order.
    near : ndarray of shape (n, k)
        Their unit vectors.
    rng : RandomState
        Draws the order of the bunches.

    Returns
    -------
    ndarray of int64, shape (n,)
        The same queries.
    """
    n = len(queries)
    n_near = min(n, 4 * _NEAR)
    neighbors = np.empty((n, n_near), dtype=np.int64)
    for start in range(0, n, _BLOCK):
        block = -(near[start : start + _BLOCK] @ near.T)
        neighbors[start : start + _BLOCK] = np.argpartition(block, n_near - 1, axis=1)[:, :n_near]
    left = np.ones(n, dtype=bool)
    bunches = []
    for seed in range(n):
        if left[seed]:
            left[seed] = False
            free = neighbors[seed][left[neighbors[seed]]]
            others = free[np.argsort(-(near[free] @ near[seed]))][: _NEAR - 1]
            left[others] = False
            bunches.append(np.concatenate([[seed], others]))
    return queries[np.concatenate([bunches[i] for i in rng.permutation(len(bunches))])]


def hold_out_groups(
    relevance: Relevance, texts: tuple[Index, Index], fraction: float, rng: Any
) -> tuple[Index, Index, Index, Index] | None:
    """Divide groups of texts into those to learn from and those to watch.

    Parameters
    ----------
    relevance : Relevance
        Judgments.
    texts : tuple of ndarray
        Number of the text of each item of either side.
    fraction : float
        Share of the queries to hold out.
    rng : RandomState
        Draws groups.

    Returns
    -------
    tuple or None
        Rows and columns to learn from, rows and columns to watch; None where
        the sides have few texts in common, or there are few groups.
    """
    x, y = texts
    if np.isin(y, x).mean() < 0.5:
        return None
    pairs = relevance.positives.tocoo()
    n = 1 + max(int(x.max()), int(y.max()))
    graph = sp.coo_array((np.ones(pairs.nnz), (x[pairs.row], y[pairs.col])), shape=(n, n))
    group = connected_components(graph, directed=False)[1]
    sizes = np.bincount(group[x], minlength=group.max() + 1)
    if sizes.max() > len(x) / 4 or (sizes > 1).sum() < 20:
        return None
    order = rng.permutation(len(sizes))
    held = np.zeros(len(sizes), dtype=bool)
    held[order[np.cumsum(sizes[order]) <= fraction * len(x)]] = True
    if held[group[x]].sum() < 20:
        return None
    rows, columns = held[group[x]], held[group[y]]
    return tuple(np.flatnonzero(part) for part in (~rows, ~columns, rows, columns))  # type: ignore[return-value]
