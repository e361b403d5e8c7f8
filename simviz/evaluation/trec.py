"""Runs and judgments as TREC writes them, for trec_eval and its kin."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz._types import Ints, Reals
from simviz.data.cells import counted, shown
from simviz.data.collection import judgments
from simviz.data.collection.files import read_matrices
from simviz.data.collection.judgments import RUN_COLUMNS, id_columns, merge_repeated, positions
from simviz.data.limits import get_limits
from simviz.data.pairs import Items, PairSet
from simviz.data.roles import parse_labels
from simviz.data.sources import Source, decode_text, gunzip, load_bytes, signature
from simviz.data.tables import Table, read_table
from simviz.evaluation._blocks import queries_of
from simviz.evaluation.result import DIRECTIONS, Direction, check_directions
from simviz.evaluation.scoring import Scorer
from simviz.exceptions import DatasetError
from simviz.features.keywords import KnownItems
from simviz.methods._imported import ImportedScores
from simviz.pipeline import PairPipeline
from simviz.relevance import Relevance

Block = NDArray[np.floating[Any]]
#: Answers to each query and their scores.
BestRows = list[tuple[Ints, Block]]

#: Entries kept while answers to y items are gathered over blocks of x items.
GATHERED = 2**23
#: Queries whose lines are one piece of text.
_LINES = 64
_BREAKING = ("Cc", "Cs", "Zs", "Zl", "Zp")


def trec_id(text: str) -> str:
    r"""An id without white space, different for different texts."""

    def encoded(c: str) -> str:
        if not (c in "%\ufeff" or c.isspace() or unicodedata.category(c) in _BREAKING):
            return c
        return "".join(f"%{byte:02X}" for byte in c.encode("utf-8", "surrogatepass"))

    return "".join(map(encoded, text)) or "%"


def trec_run(
    scorer: Scorer[Items],
    pairs: PairSet,
    *,
    direction: Direction = "x2y",
    k: int = 1_000,
    tag: str = "simviz",
    block_size: int | None = None,
) -> Iterator[str]:
    r"""The best answers to every query, in pieces of text."""
    # Ids go through `trec_id`. Equal scores stand in the order of the items; programs that read
    # the file sort by score and break ties by id, each in its way, where
    # `simviz.evaluation.evaluate` takes the mean over all orders. trec_eval reads scores in
    # single precision, so that scores closer than that are ties to it. At most 2²³ scores are
    # held besides a block.
    check_directions([direction])
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}.")
    query_items, documents = (pairs.x, pairs.y) if direction == "x2y" else (pairs.y, pairs.x)
    sides = query_items, documents
    queries, answers = (np.array([trec_id(i) for i in side.ids]) for side in sides)
    name = trec_id(tag)
    for start, block in _best_blocks(scorer, pairs, direction, k, block_size):
        for at in range(0, len(block), _LINES):
            piece = block[at : at + _LINES]
            yield "".join(
                f"{queries[start + at + row]} Q0 {answers[candidate]} {rank} {score} {name}\n"
                for row, (candidates, scores) in enumerate(piece)
                for rank, (candidate, score) in enumerate(
                    zip(candidates, scores.astype(str), strict=True), 1
                )
            )


def trec_qrels(pairs: PairSet, *, direction: Direction = "x2y") -> Iterator[str]:
    r"""The judgments, in pieces of text."""
    # A query without a relevant answer is left out, as `simviz.evaluation.evaluate` leaves it
    # out of every mean.
    check_directions([direction])
    if reason := why_no_qrels(pairs.relevance):
        raise ValueError(reason)
    turned = direction == "y2x"
    queries, documents = (pairs.y, pairs.x) if turned else (pairs.x, pairs.y)
    matrix = (pairs.relevance.T if turned else pairs.relevance).matrix
    for query in range(matrix.shape[0]):
        stored = slice(matrix.indptr[query], matrix.indptr[query + 1])
        grades = matrix.data[stored]
        if not (grades > 0).any():
            continue
        name = trec_id(queries.ids[query])
        yield "".join(
            f"{name} 0 {trec_id(documents.ids[candidate])} {max(0, int(grade))}\n"
            for candidate, grade in zip(matrix.indices[stored], grades, strict=True)
        )


def why_no_qrels(relevance: Relevance) -> str:
    """Why judgments cannot be written as TREC's; empty if they can."""
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


def _best_blocks(
    scorer: Scorer[Items], pairs: PairSet, direction: Direction, k: int, block_size: int | None
) -> Iterator[tuple[int, BestRows]]:
    """First query of a block, and for each of its queries answers and scores, best first."""

    def blocks(y: Items) -> Iterator[tuple[int, Block]]:
        start = 0
        for block in scorer.iter_similarity(pairs.x, y, block_size=block_size):
            if np.isnan(block).any():
                raise ValueError(
                    "A score is NaN. Check the model: every similarity must be a number."
                )
            yield start, block
            start += len(block)

    if pairs.relevance.unjudged == "ignore":
        # As many scores as there are judgments: all are gathered.
        both = queries_of(pairs.relevance, "judged")
        gathered = []
        for start, block in blocks(pairs.y):
            part = both[0].part(start, start + len(block))
            gathered.append(block[part.query, part.candidate])
        queries = both[DIRECTIONS.index(direction)]
        scores = np.concatenate(gathered)[queries.stored]
        limits = itertools.pairwise(queries.indptr)
        yield 0, [_best(scores[a:b], queries.candidate[a:b], k) for a, b in limits]
    elif direction == "x2y":
        for start, block in blocks(pairs.y):
            yield start, [_best(row, np.arange(len(row)), k) for row in block]
    else:
        # Columns come apart over the blocks: the best of each so far are kept.
        step = max(1, GATHERED // (2 * min(k, len(pairs.x))))
        for first in range(0, len(pairs.y), step):
            columns = np.arange(first, min(first + step, len(pairs.y)))
            best: BestRows = [(np.empty(0, dtype=np.int64), np.empty(0))] * len(columns)
            for start, block in blocks(pairs.y.take(columns)):
                here = np.arange(start, start + len(block))
                for j, (rows, values) in enumerate(best):
                    joined = np.concatenate([values.astype(block.dtype), block[:, j]])
                    best[j] = _best(joined, np.concatenate([rows, here]), k)
            yield first, best


def _best(scores: Block, candidates: Ints, k: int) -> tuple[Ints, Block]:
    """The k best of ascending candidates; equal scores as they come."""
    if len(scores) > 4 * k:
        # All that reach the k-th best score: a partition alone would break ties at random.
        is_best = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
        scores, candidates = scores[is_best], candidates[is_best]
    order = np.lexsort((candidates, -scores))[:k]
    return candidates[order], scores[order]


@dataclass(frozen=True, slots=True, eq=False)
class ImportedRun:
    """Scores of another system between the items of a data set.

    Parameters
    ----------
    name : str
        What the run calls itself, else the name of its file.
    scores : sparse array of shape (n_x, n_y)
        In the same order, all above 0.
    notes : tuple of str
        What was read, and what was left out.
    pipeline : PairPipeline
        Answers as the other system did; all that is done with ours works with it.
    """

    name: str
    scores: sp.csr_array
    notes: tuple[str, ...]
    pipeline: PairPipeline


def read_run(
    source: Source | NDArray[Any] | sp.sparray, pairs: PairSet, name: str | None = None
) -> ImportedRun:
    """Read what another system answered to the queries of a data set.

    Parameters
    ----------
    source : str, Path, bytes, file or matrix of shape (n_x, n_y)
        A TREC run, whose scores count, as in trec_eval; a table with two columns of
        ids and one of scores; or a matrix of scores (.npy, .npz, .mtx, or itself).
    pairs : PairSet
        The data set, whose ids the run names.
    name : str, optional
        Name of the file or the matrix, where `source` has none.

    Returns
    -------
    ImportedRun
        To be compared by `simviz.compare`; its ``pipeline`` is measured and drawn as
        ours are. Pairs without a score stand below all others, tied.

    Raises
    ------
    DatasetError
        If the file holds no scores of these items.
    """
    matrices: Mapping[str, Any] = {}
    if isinstance(source, np.ndarray) or sp.issparse(source):
        name = title = name or "scores"
        matrices = {name: source}
    else:
        name, data = gunzip(*load_bytes(source, name))
        title = PurePosixPath(name).stem or "run"
        if data.startswith(b"\x93NUMPY") or name.lower().endswith((".npz", ".mtx")):
            matrices = read_matrices(name, data)
        else:
            table, tag = _table(name, data)
            title = tag or title
            rows, columns, values, notes = _of_table(table, pairs)
    if matrices:
        rows, columns, values = _of_matrix(name, matrices, pairs)
        notes = [f"{name}: a score for each of {counted(len(values), 'pair')}."]
    x_known, y_known = (KnownItems().fit(side.content) for side in (pairs.x, pairs.y))
    scores = _above_zero(rows, columns, values, pairs.relevance.shape)
    by_content, shared = _by_content(scores, pairs, x_known, y_known)
    pipeline = PairPipeline(ImportedScores(by_content), KnownItems(), KnownItems())
    pipeline.x_features_, pipeline.y_features_ = x_known, y_known
    pipeline.model_ = ImportedScores(by_content)
    pipeline.model_.n_features_in_ = by_content.shape[0]
    pipeline.model_.n_features_y_ = by_content.shape[1]
    n_queries = len(np.unique(rows))
    notes.append(
        f"{counted(len(values), 'score')} for {n_queries:,} of {len(pairs.x):,} x items; pairs "
        "without a score stand below all others, tied."
    )
    if shared:
        notes.append(
            f"{counted(shared, 'item equals', 'items equal')} another in all but the id; they "
            "share their highest scores."
        )
    return ImportedRun(title, scores, tuple(notes), pipeline)


def _of_matrix(name: str, matrices: Mapping[str, Any], pairs: PairSet) -> tuple[Ints, Ints, Reals]:
    shape = pairs.relevance.shape
    matrix = next((m for m in matrices.values() if m.shape == shape), None)
    if matrix is None:
        shapes = ", ".join(f"{m.shape[0]:,} × {m.shape[1]:,}" for m in matrices.values())
        raise DatasetError(
            f"{name} holds {shapes or 'no'} scores; the data set has {shape[0]:,} x and "
            f"{shape[1]:,} y items. Save one row an x item and one column a y item."
        )
    if sp.issparse(matrix):
        entries = matrix.tocoo()
        return entries.row, entries.col, entries.data.astype(np.float64)
    if matrix.size > get_limits().pairs:
        raise DatasetError(
            f"{name} holds {matrix.size:,} scores; the limit is {get_limits().pairs:,}. Keep the "
            "best answers of each query, as in a TREC run."
        )
    rows, columns = np.indices(shape)
    return rows.ravel(), columns.ravel(), matrix.astype(np.float64).ravel()


def _table(name: str, data: bytes) -> tuple[Table, str]:
    """A run as a table, and what it calls itself."""
    if signature(data) is None:
        text, notes = decode_text(name, data)
        if judgments.looks_like_run(text):
            table = judgments.read_run_lines(name, text, notes)
            return table, table["run"][0]
    return read_table(data, name), ""


def _of_table(table: Table, pairs: PairSet) -> tuple[Ints, Ints, Reals, list[str]]:
    x, y = _index(pairs.x), _index(pairs.y)
    is_trec = tuple(table.frame) == RUN_COLUMNS
    x_column, y_column = id_columns(table, x, y, ("query", "document") if is_trec else ())
    free = [c for c in table.frame if c not in (x_column, y_column, *RUN_COLUMNS[1:4:2])]
    column = judgments.score_column(table, free)
    if column is None:
        raise DatasetError(
            f"{table.name} has no column with scores beside {shown(x_column)} and "
            f"{shown(y_column)}. Name it 'score'."
        )
    at = [positions(table, c, index) for c, index in ((x_column, x), (y_column, y))]
    known = np.flatnonzero((at[0] >= 0) & (at[1] >= 0))
    if not len(known):
        raise DatasetError(
            f"{table.name}: no row names an x and a y item of these data ({table.place(0)}: "
            f"{shown(table[x_column][0])}, {shown(table[y_column][0])}). "
            "The ids must be those of the data set."
        )
    values, _, _ = parse_labels(table, column, known, "score")
    is_scored = ~np.isnan(values)
    known, values = known[is_scored], values[is_scored]
    notes = [*table.notes, f"Scores are read from column {shown(column)}."]
    pair = at[0][known] * len(pairs.y) + at[1][known]
    rows, repeated = merge_repeated(
        pair, values, "score", table.name, lambda entry: table.place(int(known[entry]))
    )
    if len(known) < len(table):
        notes.append(
            f"{counted(len(table) - len(known), 'row')} of {table.name} left out: they name items "
            "that are not in these data, or hold no score."
        )
    notes += filter(None, [repeated])
    known, values = known[rows], values[rows]
    return at[0][known], at[1][known], values, notes


def _index(items: Items) -> dict[str, int]:
    """Positions by id, and by the id as TREC's files can hold it."""
    own = {key: i for i, key in enumerate(items.ids)}
    return {trec_id(key): i for key, i in own.items()} | own


def _above_zero(rows: Ints, columns: Ints, values: Reals, shape: tuple[int, int]) -> sp.csr_array:
    """Scores in the same order, all above 0."""
    lowest, highest = float(values.min()), float(values.max())
    # Where all are alike, each is 1.
    least = (highest - lowest) / 1_000 if highest > lowest else 1.0
    raised = values - lowest + least
    return Relevance.from_pairs(rows, columns, raised, shape=shape, kind="score").matrix


def _by_content(
    scores: sp.csr_array, pairs: PairSet, x: KnownItems, y: KnownItems
) -> tuple[sp.csr_array, int]:
    """Scores by what items are, and how many items are another but for the id."""
    entries = scores.tocoo()
    rows, columns = x.columns(pairs.x.content), y.columns(pairs.y.content)
    shape = len(x.keys_), len(y.keys_)
    shared = len(pairs.x) + len(pairs.y) - sum(shape)
    if not shared:
        return scores, 0
    at = rows[entries.row], columns[entries.col], entries.data
    return Relevance.from_pairs(*at, shape=shape, kind="score").matrix, shared
