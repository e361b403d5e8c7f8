"""Evaluation of what can list similarities, and rank by them, without all pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simviz.callbacks import Callback
from simviz.evaluation._blocks import Blocks, bounds, report
from simviz.evaluation._counting import ColumnCounts, PooledCounts
from simviz.evaluation._judged import Queries
from simviz.evaluation.roc import Roc
from simviz.ranking import rank_block, rank_listed

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Values = NDArray[np.floating[Any]]
Counts = tuple[Ints, Ints]


class Prepared(Protocol):
    """Two sides made ready: see `simviz.base.TopicSimilarity.prepared`."""

    def iter_similarity(self, block_size: int | None = None) -> Iterator[Values]:
        """All similarities in blocks of rows."""

    def listed(self, indptr: Ints, indices: Ints) -> Values:
        """Those of some pairs, the very same numbers."""

    def rank_rows(
        self, rows: slice, indptr: Ints, indices: Ints, *, backwards: bool = False
    ) -> tuple[Ints, Ints, Reals]:
        """Above, tied and score of what some queries list; y items ask where `backwards`."""


def prepared(scorer: object, x: object, y: object) -> Prepared | None:
    """Both sides made ready, if the scorer has a way of its own to rank them."""
    prepare = getattr(scorer, "prepared", None)
    made: Prepared | None = None if prepare is None else prepare(x, y)
    return made


def count(
    sides: Prepared,
    x_queries: Queries,
    y_queries: Queries,
    *,
    backwards: bool,
    trace: bool,
    block_size: int | None,
    callback: Callback | None,
) -> tuple[Counts, Counts | None, Reals, Roc | None]:
    """Rank the judged pairs from both sides, and trace the ROC.

    Parameters
    ----------
    sides : Prepared
        What scores.
    x_queries, y_queries : Queries
        The judged pairs.
    backwards, trace : bool
        Whether y items ask too, and whether the ROC is wanted.
    block_size : int or None
        Rows of a block.
    callback : callable or None
        See `simviz.callbacks`; steps are queries, or rows of the one pass
        that the ROC takes.

    Returns
    -------
    x_counts, y_counts : tuple of (above, tied)
        For the judged pairs as each side sees them; None for a side that
        does not ask.
    score : ndarray of float64
        Similarity of each judged pair.
    roc : Roc or None
        Over all pairs, or the judged ones in a judged pool.
    """
    told = sides.listed(x_queries.indptr, x_queries.candidate)
    score = told.astype(np.float64)
    relevant = x_queries.grade > 0
    n_x, n_y = len(x_queries.indptr) - 1, len(y_queries.indptr) - 1
    if x_queries.n_candidates is None:
        x_counts = rank_listed(score, x_queries.indptr)
        y_counts = rank_listed(score[y_queries.stored], y_queries.indptr) if backwards else None
        report(callback, n_x, n_x)
        return x_counts, y_counts, score, Roc.from_scores(score, relevant) if trace else None
    if not trace:
        total = n_x + n_y if backwards else n_x
        x_counts = _ranks(sides, x_queries, False, block_size, _after(0, total, callback))
        y_counts = None
        if backwards:
            y_counts = _ranks(sides, y_queries, True, block_size, _after(n_x, total, callback))
        return x_counts, y_counts, score, None
    # The ROC wants every pair; as the judged scores are known, all is counted in one pass.
    columns = ColumnCounts(score[y_queries.stored], y_queries.indptr, told.dtype)
    pooled = PooledCounts(score[relevant], told.dtype)
    rows = []
    passes = Blocks(lambda: sides.iter_similarity(block_size), (n_x, n_y), 1, callback)
    for start, block in passes:
        ptr = x_queries.indptr[start : start + len(block) + 1]
        rows.append(rank_block(block, ptr - ptr[0], x_queries.candidate[ptr[0] : ptr[-1]])[:2])
        if backwards:
            columns.add(block)
        pooled.add(block)
    return _joined(rows), columns.ranks() if backwards else None, score, pooled.roc()


def _ranks(
    sides: Prepared,
    queries: Queries,
    backwards: bool,
    block_size: int | None,
    tell: Callable[[int], None],
) -> Counts:
    """Above and tied of the judged pairs of one side's queries, block by block."""
    parts = []
    size = queries.n_candidates
    wide = size if isinstance(size, int) else 1
    for start, stop in bounds(len(queries.indptr) - 1, wide or 1, block_size):
        ptr = queries.indptr[start : stop + 1]
        listed = queries.candidate[ptr[0] : ptr[-1]]
        found = sides.rank_rows(slice(start, stop), ptr - ptr[0], listed, backwards=backwards)
        parts.append(found[:2])
        tell(stop)
    return _joined(parts)


def _after(before: int, total: int, callback: Callback | None) -> Callable[[int], None]:
    """Progress of a later part of the work."""
    return lambda done: report(callback, before + done, total)


def _joined(parts: Sequence[Counts]) -> Counts:
    above, tied = (np.concatenate(part) for part in zip(*parts, strict=True))
    return above, tied
