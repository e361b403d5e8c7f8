"""Runs and judgments as TREC writes them, for trec_eval and its kin."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.data.items import Items
from simviz.data.pairs import PairSet
from simviz.evaluation.result import DIRECTIONS, Direction
from simviz.evaluation.scoring import Scorer
from simviz.relevance import Relevance

Block = NDArray[np.floating[Any]]
Ints = NDArray[np.int64]

#: Entries kept while answers to y items are gathered over blocks of x items.
_GATHERED = 2**23
#: Queries whose lines are one piece of text.
_LINES = 64
_BREAKING = ("Cc", "Cs", "Zs", "Zl", "Zp")


def trec_id(text: str) -> str:
    r"""An id without white space, different for different texts.

    Parameters
    ----------
    text : str
        An item's id, or anything else.

    Returns
    -------
    str
        The same text, with white space, control characters and the percent
        sign as in addresses (``%20`` for a space); ``%`` for an empty text.
        `urllib.parse.unquote` gives the text back.

    Examples
    --------
    >>> trec_id("icon-12"), trec_id("red heart"), trec_id("50%")
    ('icon-12', 'red%20heart', '50%25')
    """
    return "".join(_encoded(c) if _breaks(c) else c for c in text) or "%"


def trec_run(
    scorer: Scorer[Items],
    pairs: PairSet,
    *,
    direction: Direction = "x2y",
    k: int = 1_000,
    tag: str = "simviz",
    block_size: int | None = None,
) -> Iterator[str]:
    r"""The best answers to every query, in pieces of text.

    Parameters
    ----------
    scorer : Scorer
        A fitted pipeline.
    pairs : PairSet
        What it is tested on: the items of one side are the queries, all of
        the other side compete. Where pairs that are not listed are unknown,
        only a query's judged candidates do.
    direction : {"x2y", "y2x"}, default="x2y"
        Which side asks.
    k : int, default=1000
        Answers a query at most.
    tag : str, default="simviz"
        Name of the run, the last word of each line.
    block_size : int, optional
        Rows of x items scored at once; the scorer chooses when omitted.

    Yields
    ------
    str
        Lines ``query Q0 answer rank score tag``, the queries in their order.

    Raises
    ------
    ValueError
        If a score is NaN, or a setting means nothing.

    Notes
    -----
    Ids go through `trec_id`. Equal scores stand in the order of the items;
    programs that read the file sort by score and break ties by id, each in
    its way, where `simviz.evaluation.evaluate` takes the mean over all orders.
    trec_eval reads scores in single precision, so that scores closer than
    that are ties to it. At most 2²³ scores are held besides a block.

    Examples
    --------
    >>> from simviz.pipeline import default_pipeline
    >>> pairs = PairSet.from_texts(["red car", "blue sea"], ["red cars", "red blue sea"])
    >>> pipeline = default_pipeline("tfidf_cosine", pairs).fit(pairs)
    >>> for line in "".join(trec_run(pipeline, pairs, k=1)).splitlines():
    ...     print(*line.split()[:4])
    0 Q0 0 1
    1 Q0 1 1
    """
    _check_direction(direction)
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}.")
    asked, answered = (pairs.x, pairs.y) if direction == "x2y" else (pairs.y, pairs.x)
    queries, answers = (np.array([trec_id(i) for i in side.ids]) for side in (asked, answered))
    name = trec_id(tag)
    for start, found in _found(scorer, pairs, direction, k, block_size):
        for at in range(0, len(found), _LINES):
            piece = found[at : at + _LINES]
            yield "".join(
                f"{queries[start + at + row]} Q0 {answers[candidate]} {rank} {score} {name}\n"
                for row, (candidates, scores) in enumerate(piece)
                for rank, (candidate, score) in enumerate(
                    zip(candidates, scores.astype(str), strict=True), 1
                )
            )


def trec_qrels(pairs: PairSet, *, direction: Direction = "x2y") -> Iterator[str]:
    r"""The judgments, in pieces of text.

    Parameters
    ----------
    pairs : PairSet
        What a run is tested on.
    direction : {"x2y", "y2x"}, default="x2y"
        Which side asks.

    Yields
    ------
    str
        Lines ``query 0 answer grade``; judged not relevant is grade 0.

    Raises
    ------
    ValueError
        If judgments are scores, or a grade is no whole number.

    Notes
    -----
    A query without a relevant answer is left out, as
    `simviz.evaluation.evaluate` leaves it out of every mean.

    Examples
    --------
    >>> pairs = PairSet.from_texts(["red heart", "car"], ["corazón rojo", "coche"])
    >>> print("".join(trec_qrels(pairs)), end="")
    0 0 0 1
    1 0 1 1
    """
    _check_direction(direction)
    if reason := why_no_qrels(pairs.relevance):
        raise ValueError(reason)
    turned = direction == "y2x"
    asked, answered = (pairs.y, pairs.x) if turned else (pairs.x, pairs.y)
    matrix = (pairs.relevance.T if turned else pairs.relevance).matrix
    for query in range(matrix.shape[0]):
        stored = slice(matrix.indptr[query], matrix.indptr[query + 1])
        grades = matrix.data[stored]
        if not (grades > 0).any():
            continue
        name = trec_id(asked.ids[query])
        yield "".join(
            f"{name} 0 {trec_id(answered.ids[candidate])} {max(0, int(grade))}\n"
            for candidate, grade in zip(matrix.indices[stored], grades, strict=True)
        )


def why_no_qrels(relevance: Relevance) -> str:
    """Why judgments cannot be written as TREC's; empty if they can.

    Parameters
    ----------
    relevance : Relevance
        The judgments.

    Returns
    -------
    str
        A sentence that says what to do.
    """
    if relevance.kind == "score":
        return (
            "TREC judgments are grades, and these are real-valued scores. Read them as grades "
            "with a threshold first."
        )
    grades = relevance.matrix.data
    broken = grades[(grades > 0) & (grades != np.floor(grades))]
    if len(broken):
        return (
            f"TREC grades are whole numbers; found {broken[0]:g}. Multiply the grades so that "
            "all are whole."
        )
    return ""


Found = list[tuple[Ints, Block]]


def _found(
    scorer: Scorer[Items], pairs: PairSet, direction: Direction, k: int, block_size: int | None
) -> Iterator[tuple[int, Found]]:
    """First query of a block, and for each of its queries answers and scores, best first."""
    judged = pairs.relevance.unjudged == "ignore"
    relevance = pairs.relevance if direction == "x2y" else pairs.relevance.T
    if direction == "x2y":
        start = 0
        for block in scorer.iter_similarity(pairs.x, pairs.y, block_size=block_size):
            _refuse_nan(block)
            if judged:
                yield (
                    start,
                    [_best_listed(row, relevance, start + i, k) for i, row in enumerate(block)],
                )
            else:
                yield start, [_best(row, np.arange(len(row)), k) for row in block]
            start += len(block)
        return
    if judged:
        yield from _judged_by_column(scorer, pairs, relevance, k, block_size)
        return
    # Columns come apart over the blocks: the best of each so far are carried along.
    step = max(1, _GATHERED // (2 * min(k, len(pairs.x))))
    for first in range(0, len(pairs.y), step):
        columns = np.arange(first, min(first + step, len(pairs.y)))
        yield first, _best_columns(scorer, pairs, columns, k, block_size)


def _best_columns(
    scorer: Scorer[Items], pairs: PairSet, columns: Ints, k: int, block_size: int | None
) -> Found:
    """The best x items for some y items."""
    kept_rows: list[Ints] = [np.empty(0, dtype=np.int64)] * len(columns)
    kept_scores: list[Block] = [np.empty(0)] * len(columns)
    start = 0
    for block in scorer.iter_similarity(pairs.x, pairs.y.take(columns), block_size=block_size):
        _refuse_nan(block)
        here = np.arange(start, start + len(block))
        for j in range(len(columns)):
            rows = np.concatenate([kept_rows[j], here])
            scores = np.concatenate([kept_scores[j].astype(block.dtype), block[:, j]])
            kept_rows[j], kept_scores[j] = _best(scores, rows, k)
        start += len(block)
    return list(zip(kept_rows, kept_scores, strict=True))


def _judged_by_column(
    scorer: Scorer[Items], pairs: PairSet, turned: Relevance, k: int, block_size: int | None
) -> Iterator[tuple[int, Found]]:
    """Judged x items of every y item: as many scores as there are judgments."""
    matrix = pairs.relevance.matrix
    values = []
    start = 0
    for block in scorer.iter_similarity(pairs.x, pairs.y, block_size=block_size):
        _refuse_nan(block)
        ptr = matrix.indptr[start : start + len(block) + 1]
        row = np.repeat(np.arange(len(block)), np.diff(ptr))
        values.append(block[row, matrix.indices[ptr[0] : ptr[-1]]])
        start += len(block)
    scores = np.concatenate(values)
    x = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((x, matrix.indices))
    scores, x = scores[order], x[order]
    ptr = turned.matrix.indptr
    yield 0, [_best(scores[a:b], x[a:b], k) for a, b in itertools.pairwise(ptr)]


def _best(scores: Block, candidates: Ints, k: int) -> tuple[Ints, Block]:
    """The k best of ascending candidates; equal scores as they come."""
    if len(scores) > 4 * k:
        # All that reach the k-th best score: a partition alone would break ties at random.
        reached = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
        scores, candidates = scores[reached], candidates[reached]
    order = np.lexsort((candidates, -scores))[:k]
    return candidates[order], scores[order]


def _best_listed(row: Block, relevance: Relevance, query: int, k: int) -> tuple[Ints, Block]:
    matrix = relevance.matrix
    listed = np.sort(matrix.indices[matrix.indptr[query] : matrix.indptr[query + 1]])
    return _best(row[listed], listed.astype(np.int64), k)


def _refuse_nan(block: Block) -> None:
    if np.isnan(block).any():
        raise ValueError("A score is NaN. Check the model: every similarity must be a number.")


def _breaks(c: str) -> bool:
    return c in "%\ufeff" or c.isspace() or unicodedata.category(c) in _BREAKING


def _encoded(c: str) -> str:
    return "".join(f"%{byte:02X}" for byte in c.encode("utf-8", "surrogatepass"))


def _check_direction(direction: str) -> None:
    if direction not in DIRECTIONS:
        raise ValueError(f"direction must be 'x2y' or 'y2x', got {direction!r}.")
