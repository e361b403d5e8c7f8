"""Blocked evaluation of anything that scores two sides, and scorers to compare with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz._types import Ints, Reals, SideT_contra
from simviz.callbacks import Callback
from simviz.data.pairs import Items, PairSet, as_pairs
from simviz.evaluation._blocks import (
    Blocks,
    ColumnCounts,
    PooledCounts,
    Queries,
    as_vectors,
    bounds,
    n_items,
    queries_of,
    report,
    similarities,
    vectors_of,
)
from simviz.evaluation.metrics import (
    DEFAULT_METRICS,
    NDCG,
    Metric,
    Pearson,
    Spearman,
    check_choice,
    is_graded,
    parse_metric,
)
from simviz.evaluation.result import DIRECTIONS, Direction, Evaluation, Pool, check_directions
from simviz.evaluation.roc import Roc
from simviz.ranking import Ranking, rank_block, rank_listed
from simviz.relevance import Relevance

if TYPE_CHECKING:
    from simviz.base._jensen_shannon import JensenShannon
    from simviz.data.splitting import Split

Values = NDArray[np.floating[Any]]
Counts = tuple[Ints, Ints]


class Scorer(Protocol[SideT_contra]):
    """A model (its sides are matrices) or a pipeline (its sides are items).

    A scorer may also offer ``empty_share(x, y) -> (float, float)``: the share
    of each side's items that are all zeros to it; likewise ``unknown_share``, the
    share of their terms that training did not show; and ``prepared(x, y)``: both
    sides made ready by a method that ranks without comparing all pairs; and
    ``factors(x, y)``: vectors whose products are the similarities, or None.
    """

    def iter_similarity(
        self, x: SideT_contra, y: SideT_contra, /, *, block_size: int | None = None
    ) -> Iterator[Values]:
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
    scorer: Scorer[Any],
    x: Any,
    y: Any = None,
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
        What the scorer's ``iter_similarity`` takes; or a `PairSet` in place of both
        and of the judgments.
    relevance : Relevance or sparse matrix of shape (n_x, n_y), optional
        Judgments; row i belongs to row i when omitted.
    metrics : iterable of Metric or str, optional
        What to report; by default `DEFAULT_METRICS`, NDCG@10 where judgments are graded, and both
        correlations where they are scores. Ranks are kept, so the result can be asked for any
        other metric of ranks; the ROC is traced only if one of these needs it.
    directions : sequence of {"x2y", "y2x"}
        Which sides ask. The first is what the result tells where no direction is named.
    pool : {"split", "all", "judged"}, default="split"
        What a query is ranked against: every item given (called "all" if those are all of the
        dataset), or its judged candidates. Where unjudged pairs are ignored only judged ones can
        count, and the pool is "judged" whatever is asked. A query whose judged candidates are all
        relevant cannot fail, and counts in no metric of ranks.
    known : sparse array of shape (n_x, n_y), optional
        Pairs, such as those of training, that are neither candidates nor relevant wherever
        something is stored. They say nothing in a judged pool, where only judged pairs count.
    block_size : int, optional
        Rows of a block; the scorer chooses when omitted.
    callback : callable, optional
        See `simviz.callbacks`; steps are rows, those of all passes.

    Returns
    -------
    Evaluation

    Raises
    ------
    ValueError
        If a score is NaN, the shapes do not fit, or a setting is unknown.

    Notes
    -----
    Two passes see the same blocks, so that ties are recognised to the last bit: rows are ranked,
    then columns and all pairs are counted against the scores of the judged pairs. One pass does
    where no metric looks at all pairs and scores are products of vectors, or where the scorer
    offers ``prepared`` (Jensen-Shannon similarity); if it does and no metric does, none.

    Examples
    --------
    >>> from simviz.evaluation import VectorScorer
    >>> Z = np.eye(3)
    >>> result = evaluate(VectorScorer(), Z, Z[[0, 1, 1]])  # nothing is like the third
    >>> [round(result.value("top-1", d), 3) for d in ("x2y", "y2x")]
    [0.611, 0.667]
    """
    check_directions(directions)
    check_choice("pool", pool, ("split", "all", "judged"))
    if y is None and relevance is None:
        pairs = as_pairs(x)
        x, y, relevance = pairs.x, pairs.y, pairs.relevance
    elif y is None or isinstance(x, PairSet):
        raise ValueError(
            "A PairSet brings both sides and their judgments. Give it alone, or the two sides "
            "apart."
        )
    rel = Relevance.coerce(relevance, n_items(x), n_items(y))
    if 0 in rel.shape:
        raise ValueError(
            f"Got {rel.shape[0]} x and {rel.shape[1]} y items; bring at least one each."
        )
    if rel.unjudged == "ignore":
        pool = "judged"
    parsed = _metrics_of(metrics, rel)
    trace = any(metric.level == "roc" for metric in parsed)
    backwards = "y2x" in directions
    left_out = None if known is None or pool == "judged" else _left_out(known, rel)
    if left_out is not None:
        rel = _without(rel, left_out)
    x_queries, y_queries = queries_of(rel, pool, left_out)
    prepare = getattr(scorer, "prepared", None) if left_out is None else None
    ready: JensenShannon | None = None if prepare is None else prepare(x, y)
    roc = None
    if ready is not None and (pool == "judged" or not trace):
        asked = x_queries, y_queries, backwards
        x_counts, y_counts, score = _count_prepared(ready, *asked, block_size, callback)
        if trace:
            roc = Roc.from_scores(score, x_queries.grade > 0)
    else:
        vectors = vectors_of(scorer, x, y) if left_out is None and ready is None else None
        known_score: Reals | None = None
        columns = None
        if ready is not None:
            known_score = ready.listed(x_queries.indptr, x_queries.candidate).astype(np.float64)
        elif vectors is not None and backwards and not trace and pool != "judged":
            columns = ColumnCounts.of_products(*vectors, y_queries)

        def compute() -> Iterable[Values]:
            if ready is not None:
                return ready.iter_similarity(block_size)
            blocks = similarities(scorer, x, y, vectors, block_size)
            return blocks if left_out is None else _lowered(blocks, left_out)

        needs_known = pool != "judged" and (trace or backwards)
        n_passes = 2 if needs_known and known_score is None and columns is None else 1
        blocks = Blocks(compute, rel.shape, n_passes, callback)
        n_known = 0 if left_out is None else left_out.nnz
        x_counts, y_counts, score, roc = _count_blocks(
            blocks, x_queries, y_queries, backwards, trace, n_known, known_score, columns
        )
    rankings: dict[Direction, Ranking] = {}
    for direction in directions:
        if direction == "x2y":
            rankings["x2y"] = x_queries.ranking(*x_counts)
        elif y_counts is not None:
            rankings["y2x"] = y_queries.ranking(*y_counts)
    unknown_share = getattr(scorer, "unknown_share", None)
    unknown = (None, None) if unknown_share is None else unknown_share(x, y)
    x_empty, y_empty = _empty_share(scorer, x, y)
    judged = rel.matrix.data if rel.kind == "score" else None
    predicted = score if rel.kind == "score" or pool == "judged" else None
    return Evaluation(
        rankings,
        pool,
        parsed,
        roc,
        judged,
        predicted,
        x_empty=x_empty,
        y_empty=y_empty,
        x_unknown=unknown[0],
        y_unknown=unknown[1],
    )


def _count_prepared(
    sides: JensenShannon,
    x_queries: Queries,
    y_queries: Queries,
    backwards: bool,
    block_size: int | None,
    callback: Callback | None,
) -> tuple[Counts, Counts | None, Reals]:
    """Counts of both sides and the scores of judged pairs, without comparing all pairs."""
    score = sides.listed(x_queries.indptr, x_queries.candidate).astype(np.float64)
    both = (x_queries, y_queries) if backwards else (x_queries,)
    if x_queries.n_candidates is None:
        counts = [rank_listed(score[queries.stored], queries.indptr) for queries in both]
        report(callback, len(x_queries), len(x_queries))
    else:
        counts = []
        before, total = 0, sum(map(len, both))
        for queries in both:
            parts = []
            wide = queries.n_candidates if isinstance(queries.n_candidates, int) else 1
            for start, stop in bounds(len(queries), wide or 1, block_size):
                part = queries.part(start, stop)
                rows = slice(start, stop), part.indptr, part.candidate
                parts.append(sides.rank_rows(*rows, backwards=queries is y_queries)[:2])
                report(callback, before + stop, total)
            before += len(queries)
            above, tied = (np.concatenate(part) for part in zip(*parts, strict=True))
            counts.append((above, tied))
    return counts[0], counts[1] if backwards else None, score


def _count_blocks(
    blocks: Blocks,
    x_queries: Queries,
    y_queries: Queries,
    backwards: bool,
    trace: bool,
    n_known: int,
    score: Reals | None,
    columns: ColumnCounts | None,
) -> tuple[Counts, Counts | None, Reals, Roc | None]:
    """Counts of both sides, the scores of judged pairs and the ROC, in up to two passes."""
    # Columns and the ROC are counted in the first pass if the scores of the judged pairs are
    # known beforehand (`score`), or known well enough (`columns`); else in a second one.
    relevant = x_queries.grade > 0
    pool: Literal["all", "judged"] = "judged" if x_queries.n_candidates is None else "all"
    pooled = None

    def count_known(score: Reals) -> tuple[ColumnCounts | None, PooledCounts | None]:
        by_column = ColumnCounts(score[y_queries.stored], y_queries) if backwards else None
        return by_column, PooledCounts(score[relevant]) if trace else None

    if score is not None:
        columns, pooled = count_known(score)
    parts = []
    for start, block in blocks:
        part = x_queries.part(start, start + len(block))
        parts.append(rank_block(block, part.indptr, part.candidate, pool))
        for counts in (columns, pooled):
            if counts is not None:
                counts.add(block)
    above, tied, score = (np.concatenate(part) for part in zip(*parts, strict=True))
    if pool == "judged":
        back = rank_listed(score[y_queries.stored], y_queries.indptr) if backwards else None
        return (above, tied), back, score, Roc.from_scores(score, relevant) if trace else None
    columns_wait = backwards and (columns is None or not columns.is_exact)
    if columns_wait or (trace and pooled is None):
        columns, pooled = count_known(score)
        for _, block in blocks:
            for counts in (columns, pooled):
                if counts is not None:
                    counts.add(block)
    back = None if columns is None else columns.ranks(score[y_queries.stored])
    return (above, tied), back, score, None if pooled is None else pooled.roc(n_known)


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
    judged, taken = relevance.matrix.tocoo(), known.tocoo()
    n_y = relevance.shape[1]
    cells = (pairs.row.astype(np.int64) * n_y + pairs.col for pairs in (judged, taken))
    stays = ~np.isin(*cells)
    remaining = (judged.data[stays], (judged.row[stays], judged.col[stays]))
    return replace(relevance, matrix=sp.csr_array(remaining, shape=relevance.shape))


def _lowered(blocks: Iterable[Values], known: sp.csr_array) -> Iterator[Values]:
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


def _metrics_of(
    metrics: Iterable[Metric | str] | None, relevance: Relevance
) -> tuple[Metric, ...]:
    if metrics is None:
        graded = (NDCG(10),) if is_graded(relevance) else ()
        scores = (Spearman(), Pearson()) if relevance.kind == "score" else ()
        return DEFAULT_METRICS + graded + scores
    return tuple(parse_metric(m) for m in metrics)


def _empty_share(scorer: object, x: object, y: object) -> tuple[float | None, float | None]:
    empty_share = getattr(scorer, "empty_share", None)
    if empty_share is not None:
        x_empty, y_empty = empty_share(x, y)
        return float(x_empty), float(y_empty)
    return _zero_rows(x), _zero_rows(y)


def _zero_rows(side: object) -> float | None:
    from simviz.base import nonzero_rows

    if not sp.issparse(side) and not (isinstance(side, np.ndarray) and side.ndim == 2):
        return None
    filled = nonzero_rows(side)
    return float((~filled).mean()) if len(filled) else None


def evaluate_part(
    scorer: Scorer[Items],
    pairs: PairSet,
    parts: Split,
    part: Literal["validation", "test"] = "test",
    metrics: Iterable[Metric | str] | None = None,
    *,
    pool: Literal["split", "all"] = "split",
    directions: Sequence[Direction] = DIRECTIONS,
    callback: Callback | None = None,
) -> Evaluation:
    """Rank the queries of a held-out part.

    Parameters
    ----------
    scorer : Scorer
        A fitted pipeline.
    pairs : PairSet
        The whole data set.
    parts : Split
        Of `pairs`, as `simviz.data.splitting` gives it.
    part : {"validation", "test"}, default="test"
        Whose items ask.
    metrics : iterable of Metric or str, optional
        See `evaluate`.
    pool : {"split", "all"}, default="split"
        What a query is ranked against: the items of the part, among them all of a side that the
        split does not divide; or all items of the data set, whose known training pairs are neither
        candidates nor relevant. Judged candidates only, where unlisted pairs are unknown.
    directions, callback : optional
        As in `evaluate`; steps are those of each direction by itself.

    Returns
    -------
    Evaluation
        Against all items, the ROC is that of the queries of the first direction.

    Raises
    ------
    ValueError
        If a score is NaN or a setting is unknown.

    Examples
    --------
    >>> from simviz import default_pipeline
    >>> from simviz.data import PairSet, split
    >>> words = [f"word {i}" for i in range(50)]
    >>> pairs = PairSet.from_texts(words, words)
    >>> parts = split(pairs)
    >>> pipeline = default_pipeline("bm25", parts.train).fit(parts.train)
    >>> for pool in ("split", "all"):
    ...     result = evaluate_part(pipeline, pairs, parts, pool=pool)
    ...     print(result.pool, result.rankings["x2y"].n_candidates[0])
    split 10
    all 50
    """
    check_directions(directions)
    if part not in ("validation", "test") or pool not in ("split", "all"):
        raise ValueError(
            f"part is 'validation' or 'test' and pool 'split' or 'all'; got {part!r}, {pool!r}."
        )
    held_out: PairSet = getattr(parts, part)
    how: dict[str, Any] = {"metrics": metrics, "callback": callback}
    if pool == "split" or pairs.relevance.unjudged == "ignore":
        return evaluate(scorer, held_out, directions=directions, **how)
    learned = _positions(parts, pairs)
    results = []
    for direction in directions:
        x = parts.x_index[part] if direction == "x2y" else None
        y = parts.y_index[part] if direction == "y2x" else None
        known = learned if x is None else learned[x]
        known = known if y is None else known[:, y]
        how |= {"directions": (direction,), "pool": "all", "known": known}
        results.append(evaluate(scorer, pairs.take(x, y), **how))
    rankings = {d: one.rankings[d] for d, one in zip(directions, results, strict=True)}
    return replace(results[0], rankings=rankings)


def _positions(parts: Split, pairs: PairSet) -> sp.csr_array:
    """Relevant pairs of training, as positions in the whole."""
    learned = parts.train.relevance.positives.tocoo()
    x, y = parts.x_index["train"], parts.y_index["train"]
    at = (x[learned.row], y[learned.col])
    return sp.csr_array((learned.data != 0, at), shape=pairs.relevance.shape)


@dataclass(frozen=True)
class ChanceScorer(Scorer[object]):
    """Scores every pair alike: what a metric gives without knowing anything.

    Metrics expect random orders of ties, so the result is chance exactly, not one draw of it.

    Examples
    --------
    >>> from simviz.evaluation import evaluate
    >>> evaluate(ChanceScorer(), np.eye(4), np.eye(4)).value("top-1")
    0.25
    """

    def iter_similarity(
        self, x: object, y: object, /, *, block_size: int | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """Blocks of zeros."""
        for start, stop in bounds(n_items(x), n_items(y), block_size):
            yield np.zeros((stop - start, n_items(y)))


class PopularityScorer(Scorer[Items]):
    """Scores a candidate by how many partners it had in training.

    The answer is the same for every query: what a metric gives for knowing the popular items only.
    Items are recognised by their ids; unknown ones count 0. A pair scores the sum of both counts,
    of which the query's own part never changes its ranking, so both directions get their baseline.

    Parameters
    ----------
    pairs : PairSet
        Training pairs.

    Examples
    --------
    >>> from simviz.data.pairs import PairSet
    >>> pairs = PairSet.from_texts(["a", "b"], ["c", "d"])
    >>> next(PopularityScorer(pairs).iter_similarity(pairs.x, pairs.y))
    array([[2., 2.],
           [2., 2.]])
    """

    def __init__(self, pairs: PairSet) -> None:
        pairs = as_pairs(pairs)
        positives = pairs.relevance.positives
        by_row = np.diff(positives.indptr)
        by_column = np.bincount(positives.indices, minlength=positives.shape[1])
        self._x_counts = dict(zip(pairs.x.ids, by_row.tolist(), strict=True))
        self._y_counts = dict(zip(pairs.y.ids, by_column.tolist(), strict=True))

    def iter_similarity(
        self, x: Items, y: Items, /, *, block_size: int | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """Count of the x item plus count of the y item, in blocks of rows."""
        x_counts = np.array([self._x_counts.get(i, 0) for i in x.ids], dtype=np.float64)
        y_counts = np.array([self._y_counts.get(i, 0) for i in y.ids], dtype=np.float64)
        for start, stop in bounds(len(x), len(y), block_size):
            yield x_counts[start:stop, None] + y_counts


@dataclass(frozen=True)
class VectorScorer(Scorer[Values]):
    """Compares vectors that are already there, from any model.

    Parameters
    ----------
    similarity : {"cosine", "dot"}, default="cosine"
        Zero vectors score 0 against everything.

    Raises
    ------
    ValueError
        If there is no such similarity, or the methods are given no matrices of one width.

    Examples
    --------
    >>> Z = np.array([[3.0, 4.0], [0.0, 0.0]])
    >>> next(VectorScorer().iter_similarity(Z, np.eye(2)))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    similarity: Literal["cosine", "dot"] = "cosine"

    def __post_init__(self) -> None:
        if self.similarity not in ("cosine", "dot"):
            raise ValueError(f"similarity must be 'cosine' or 'dot', got {self.similarity!r}.")

    def iter_similarity(
        self, x: Values, y: Values, /, *, block_size: int | None = None
    ) -> Iterator[Values]:
        """Cosines or dot products of the rows of two matrices, in blocks of rows."""
        X, Y = self.factors(x, y)
        for start, stop in bounds(len(X), len(Y), block_size):
            yield X[start:stop] @ Y.T

    def factors(self, x: Values, y: Values) -> tuple[Values, Values]:
        """Vectors whose products are the similarities.

        Parameters
        ----------
        x, y : ndarray of shape (n_x, k) and (n_y, k)
            Vectors, one row an item.

        Returns
        -------
        tuple of ndarrays of shape (n_x, k) and (n_y, k)
            Of length 1, or 0, for cosines.
        """
        X, Y = as_vectors(x), as_vectors(y)
        if X.shape[1] != Y.shape[1]:
            raise ValueError(
                f"Vectors of one width are compared; those of x have {X.shape[1]:,} numbers, "
                f"those of y {Y.shape[1]:,}. Take both from one encoder."
            )
        if self.similarity == "dot":
            return X, Y
        from simviz.base import unit_rows

        return unit_rows(X), unit_rows(Y)
