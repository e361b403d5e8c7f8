"""Blocked evaluation of anything that scores two sides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.callbacks import Callback
from simviz.evaluation._blocks import Blocks, bounds, n_items
from simviz.evaluation._counting import ColumnCounts, PooledCounts
from simviz.evaluation._judged import Queries, queries_of
from simviz.evaluation._late_columns import LateColumns, vectors_of
from simviz.evaluation._prepared import Counts, count, prepared
from simviz.evaluation.metrics import (
    DEFAULT_METRICS,
    NDCG,
    Metric,
    Pearson,
    Spearman,
    is_graded,
    parse_metric,
)
from simviz.evaluation.result import (
    DIRECTIONS,
    Direction,
    Evaluation,
    Pool,
    check_directions,
)
from simviz.evaluation.roc import Roc
from simviz.ranking import Ranking, rank_block, rank_listed
from simviz.relevance import Relevance

Side = TypeVar("Side")
Side_contra = TypeVar("Side_contra", contravariant=True)


class Scorer(Protocol[Side_contra]):
    """A model (its sides are matrices) or a pipeline (its sides are items).

    A scorer may also offer ``empty_share(x, y) -> (float, float)``: the share
    of each side's items that are all zeros to it; and ``prepared(x, y)``: both
    sides made ready by a method that ranks without comparing all pairs; and
    ``factors(x, y)``: vectors whose products are the similarities, or None.
    """

    def iter_similarity(
        self, x: Side_contra, y: Side_contra, /, *, block_size: int | None = None
    ) -> Iterator[NDArray[np.floating[Any]]]:
        """Similarities in blocks of rows, in order.

        Parameters
        ----------
        x, y : matrices or Items
            The two sides.
        block_size : int, optional
            Rows of a block.

        Yields
        ------
        ndarray of shape (b, n_y)
            The same numbers each time it is called.
        """


def evaluate(
    scorer: Scorer[Side],
    x: Side,
    y: Side,
    relevance: object = None,
    metrics: Iterable[Metric | str] | None = None,
    *,
    directions: Sequence[Direction] = DIRECTIONS,
    pool: Pool = "split",
    known: sp.sparray | None = None,
    block_size: int | None = None,
    callback: Callback | None = None,
) -> Evaluation:
    """Rank every item against the other side, in blocks of bounded memory.

    Parameters
    ----------
    scorer : Scorer
        A fitted model or pipeline.
    x, y : matrices or Items
        What the scorer's ``iter_similarity`` takes.
    relevance : Relevance or sparse matrix of shape (n_x, n_y), optional
        Judgments; row i belongs to row i when omitted.
    metrics : iterable of Metric or str, optional
        What to report; by default `DEFAULT_METRICS`, NDCG@10 where judgments
        are graded, and both correlations where they are scores. Ranks are
        kept, so the result can be asked for any other metric of ranks; the
        ROC is traced only if one of these needs it.
    directions : sequence of {"x2y", "y2x"}
        Which sides ask. The first is what the result tells where no
        direction is named.
    pool : {"split", "all", "judged"}, default="split"
        What a query is ranked against: every item given (called "all" if
        those are all of the dataset), or its judged candidates. Where
        unjudged pairs are ignored only judged ones can count, and the pool
        is "judged" whatever is asked. A query whose judged candidates are all
        relevant cannot fail, and counts in no metric of ranks.
    known : sparse array of shape (n_x, n_y), optional
        Pairs, such as those of training, that are neither candidates nor
        relevant wherever something is stored. They say nothing in a judged
        pool, where only judged pairs count.
    block_size : int, optional
        Rows of a block; the scorer chooses when omitted.
    callback : callable, optional
        See `simviz.callbacks`; steps are rows, those of all passes.

    Returns
    -------
    Evaluation
        Ranks of every query, the ROC, and metrics of both.

    Raises
    ------
    ValueError
        If a score is NaN, the shapes do not fit, or a setting is unknown.
    JobCancelled
        If the callback asked to stop.

    Notes
    -----
    The first pass ranks each row and notes the scores of the judged pairs;
    the second counts each column against those, and all pairs against the
    relevant ones. Both see the same blocks, so equal scores are recognised as
    ties to the last bit. Where scores are products of vectors and no metric
    looks at all pairs, one pass does: the judged scores are then known
    beforehand up to rounding, and what lies within that margin is compared
    when they are known to the last bit. Of a scorer that offers ``prepared`` (Jensen-Shannon
    similarity) the judged scores are known beforehand: one pass does, and
    none where no metric looks at all pairs.

    Examples
    --------
    >>> from simviz.evaluation import VectorScorer
    >>> Z = np.eye(3)
    >>> result = evaluate(VectorScorer(), Z, Z[[0, 1, 1]])  # nothing is like the third
    >>> [round(result.value("top-1", d), 3) for d in ("x2y", "y2x")]
    [0.611, 0.667]
    """
    check_directions(directions)
    if pool not in ("split", "all", "judged"):
        raise ValueError(f"pool must be 'split', 'all' or 'judged', got {pool!r}.")
    rel = Relevance.coerce(relevance, n_items(x), n_items(y))
    if 0 in rel.shape:
        raise ValueError(
            f"Got {rel.shape[0]} x and {rel.shape[1]} y items; bring at least one each."
        )
    if rel.unjudged == "ignore":
        pool = "judged"
    asked = _asked(metrics, rel)
    trace = any(metric.level == "roc" for metric in asked)
    backwards = "y2x" in directions
    left_out = None if known is None or pool == "judged" else _left_out(known, rel)
    if left_out is not None:
        rel = _without(rel, left_out)
    x_queries, y_queries = queries_of(rel, pool, left_out)
    ready = prepared(scorer, x, y) if left_out is None else None
    if ready is not None:
        x_counts, y_counts, score, roc = count(
            ready,
            x_queries,
            y_queries,
            backwards=backwards,
            trace=trace,
            block_size=block_size,
            callback=callback,
        )
    else:
        vectors = vectors_of(scorer, x, y) if left_out is None else None
        late = None
        if vectors is not None and backwards and not trace and pool != "judged":
            late = LateColumns(*vectors, y_queries)

        def compute() -> Iterable[NDArray[np.floating[Any]]]:
            if vectors is None:
                blocks = scorer.iter_similarity(x, y, block_size=block_size)
                return blocks if left_out is None else _lowered(blocks, left_out)
            P, Q = vectors
            return (P[a:b] @ Q.T for a, b in bounds(*rel.shape, block_size))

        two = pool != "judged" and (trace or backwards) and late is None
        blocks = Blocks(compute, rel.shape, n_passes=1 + two, callback=callback)
        x_counts, y_counts, score, roc = _count(
            blocks,
            x_queries,
            y_queries,
            backwards=backwards,
            trace=trace,
            late=late,
            n_known=0 if left_out is None else left_out.nnz,
        )
    rankings: dict[Direction, Ranking] = {}
    for direction in directions:
        if direction == "x2y":
            rankings["x2y"] = x_queries.ranking(*x_counts)
        elif y_counts is not None:
            rankings["y2x"] = y_queries.ranking(*y_counts)
    x_empty, y_empty = _empty_share(scorer, x, y)
    scored = rel.kind == "score"
    return Evaluation(
        rankings=rankings,
        pool=pool,
        metrics=asked,
        roc=roc,
        judged=rel.matrix.data if scored else None,
        predicted=score if scored or pool == "judged" else None,
        x_empty=x_empty,
        y_empty=y_empty,
    )


def _count(
    blocks: Blocks,
    x_queries: Queries,
    y_queries: Queries,
    *,
    backwards: bool,
    trace: bool,
    late: LateColumns | None,
    n_known: int,
) -> tuple[Counts, Counts | None, NDArray[np.float64], Roc | None]:
    """Counts of both sides, the scores of judged pairs and the ROC, in up to two passes."""
    above, tied, score = _rank_rows(blocks, x_queries, late)
    relevant = x_queries.grade > 0
    y_counts = roc = None
    if late is not None and late.is_exact:
        y_counts = late.ranks(score[y_queries.stored])
    elif x_queries.n_candidates is None:
        if backwards:
            y_counts = rank_listed(score[y_queries.stored], y_queries.indptr)
        roc = Roc.from_scores(score, relevant) if trace else None
    elif trace or backwards:
        columns = ColumnCounts(score[y_queries.stored], y_queries.indptr, blocks.dtype)
        pooled = PooledCounts(score[relevant], blocks.dtype)
        for _, block in blocks:
            if backwards:
                columns.add(block)
            if trace:
                pooled.add(block)
        y_counts = columns.ranks() if backwards else None
        roc = pooled.roc(n_known) if trace else None
    return (above, tied), y_counts, score, roc


def _rank_rows(
    blocks: Blocks, queries: Queries, late: LateColumns | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Above, tied and score of each judged pair, ranked within its row."""
    parts = []
    for start, block in blocks:
        ptr = queries.indptr[start : start + len(block) + 1]
        listed = queries.candidate[ptr[0] : ptr[-1]]
        against: Literal["all", "judged"] = "judged" if queries.n_candidates is None else "all"
        parts.append(rank_block(block, ptr - ptr[0], listed, against))
        if late is not None:
            late.add(block)
    above, tied, score = (np.concatenate(part) for part in zip(*parts, strict=True))
    return above, tied, score


def _left_out(known: sp.sparray, relevance: Relevance) -> sp.csr_array:
    """Pairs that are no candidates, each once."""
    if known.shape != relevance.shape:
        raise ValueError(
            f"known has the shape {known.shape}, the judgments {relevance.shape}. "
            "Bring one row an x item and one column a y item."
        )
    pairs = sp.csr_array(known, copy=True)
    pairs.sum_duplicates()
    return pairs


def _without(relevance: Relevance, known: sp.csr_array) -> Relevance:
    """Judgments but for those on known pairs."""
    judged = relevance.matrix.tocoo()
    n_y = relevance.shape[1]
    taken = known.tocoo()
    stays = ~np.isin(
        judged.row.astype(np.int64) * n_y + judged.col,
        taken.row.astype(np.int64) * n_y + taken.col,
    )
    kept = (judged.data[stays], (judged.row[stays], judged.col[stays]))
    return replace(relevance, matrix=sp.csr_array(kept, shape=relevance.shape))


def _lowered(
    blocks: Iterable[NDArray[np.floating[Any]]], known: sp.csr_array
) -> Iterator[NDArray[np.floating[Any]]]:
    """Scores with known pairs below everything."""
    start = 0
    for block in blocks:
        stop = start + len(block)
        ptr = known.indptr[start : stop + 1]
        scores = np.array(block, dtype=None if block.dtype.kind == "f" else np.float64)
        rows = np.repeat(np.arange(stop - start), np.diff(ptr))
        scores[rows, known.indices[ptr[0] : ptr[-1]]] = -np.inf
        yield scores
        start = stop


def _asked(metrics: Iterable[Metric | str] | None, relevance: Relevance) -> tuple[Metric, ...]:
    if metrics is None:
        graded = (NDCG(10),) if is_graded(relevance) else ()
        scores = (Spearman(), Pearson()) if relevance.kind == "score" else ()
        return DEFAULT_METRICS + graded + scores
    return tuple(parse_metric(m) if isinstance(m, str) else m for m in metrics)


def _empty_share(scorer: object, x: object, y: object) -> tuple[float | None, float | None]:
    """Share of items without any feature, if the scorer tells or the sides are matrices."""
    tell = getattr(scorer, "empty_share", None)
    if tell is not None:
        x_empty, y_empty = tell(x, y)
        return float(x_empty), float(y_empty)
    return _zero_rows(x), _zero_rows(y)


def _zero_rows(side: object) -> float | None:
    if sp.issparse(side):
        matrix = sp.csr_array(side)
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        filled = np.bincount(rows[matrix.data != 0], minlength=matrix.shape[0]) > 0
    elif isinstance(side, np.ndarray) and side.ndim == 2:
        filled = (side != 0).any(axis=1)
    else:
        return None
    return float((~filled).mean()) if len(filled) else None
