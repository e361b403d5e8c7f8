"""Other people's results: a TREC run or a table of scores, measured as ours are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data.collection import trec
from simviz.data.collection.judgments import id_columns, positions
from simviz.data.collection.vectors import read_matrices
from simviz.data.columnar import Columns
from simviz.data.headers import is_label_name
from simviz.data.items import Items
from simviz.data.labels import parse_labels
from simviz.data.limits import get_limits
from simviz.data.pairs import PairSet
from simviz.data.sources import Source, decode_text, gunzip, load_bytes, signature
from simviz.data.tables import Table, make_table, read_table
from simviz.data.wording import counted, shown
from simviz.evaluation.trec import trec_id
from simviz.exceptions import DatasetError
from simviz.features._known import KnownItems
from simviz.methods._imported import ImportedScores
from simviz.pipeline import PairPipeline

_COLUMNS = ("query", "Q0", "document", "rank", "score", "run")


@dataclass(frozen=True, slots=True, eq=False)
class ImportedRun:
    """Scores of another system between the items of a data set.

    Parameters
    ----------
    name : str
        Of the system, or the file.
    scores : csr_array of shape (n_x, n_y)
        Above 0 where there is a score, in the order that was given: the least
        stands above all pairs without one.
    notes : tuple of str
        What was done to read it.
    pipeline : PairPipeline
        The same scores, for whatever reads a trained pipeline.
    """

    name: str
    scores: sp.csr_array
    notes: tuple[str, ...]
    pipeline: PairPipeline


def read_run(source: Source, pairs: PairSet, name: str | None = None) -> ImportedRun:
    r"""Read what another system answered to the queries of a data set.

    Understood are a TREC run (query, Q0, document, rank, score, name; the
    score counts, as in trec_eval), a table with two columns of ids and one of
    scores, and a matrix of n_x × n_y scores (.npy, .npz, .mtx).

    Parameters
    ----------
    source : str, Path or bytes
        A path, or the content of a file.
    pairs : PairSet
        The data set. Items are known by their ids, also as `trec_id` writes
        them.
    name : str, optional
        File name, where bytes are given.

    Returns
    -------
    ImportedRun
        Give its pipeline to `simviz.evaluation.evaluate`.

    Raises
    ------
    DatasetError
        If it is no such file, names no pair of the data set, or a score is
        not a finite number.

    Examples
    --------
    >>> pairs = PairSet.from_texts(["heart", "car"], ["corazón", "coche"])
    >>> run = read_run(b"0 Q0 0 1 9.5 bm25\n0 Q0 1 2 3 bm25\n1 Q0 0 1 2 bm25\n", pairs, "a.run")
    >>> run.name, run.scores.nnz
    ('bm25', 3)
    >>> from simviz.evaluation import evaluate
    >>> evaluate(run.pipeline, pairs.x, pairs.y, metrics=["top-1"]).value("top-1", "x2y")
    0.5
    """
    name, data = gunzip(*load_bytes(source, name))
    title = PurePosixPath(name).stem or "run"
    if data.startswith(b"\x93NUMPY") or name.lower().endswith((".npz", ".mtx")):
        rows, columns, values = _of_matrix(name, data, pairs)
        notes = [f"{name}: a score for each of {counted(len(values), 'pair')}."]
    else:
        table, tag = _table(name, data)
        title = tag or title
        rows, columns, values, notes = _of_table(table, pairs)
    x_known, y_known = (KnownItems().fit(side.content) for side in (pairs.x, pairs.y))
    scores = _above_zero(rows, columns, values, pairs.relevance.shape)
    told, shared = _by_content(scores, pairs, x_known, y_known)
    pipeline = PairPipeline(ImportedScores(told), KnownItems(), KnownItems())
    pipeline.x_features_, pipeline.y_features_ = x_known, y_known
    pipeline.model_ = ImportedScores(told)
    pipeline.model_.n_features_in_ = told.shape[0]
    pipeline.model_.n_features_y_ = told.shape[1]
    n_asked = len(np.unique(rows))
    notes.append(
        f"{counted(len(values), 'score')} for {n_asked:,} of {len(pairs.x):,} x items; pairs "
        "without a score stand below all others, tied."
    )
    if shared:
        notes.append(
            f"{counted(shared, 'item equals', 'items equal')} another in all but the id; they "
            "share their highest scores."
        )
    return ImportedRun(title, scores, tuple(notes), pipeline)


def _of_matrix(
    name: str, data: bytes, pairs: PairSet
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Every entry of a dense matrix, or the stored ones of a sparse one."""
    matrices = read_matrices(name, data)
    shape = pairs.relevance.shape
    found = next((m for m in matrices.values() if m.shape == shape), None)
    if found is None:
        shapes = ", ".join(f"{m.shape[0]:,} × {m.shape[1]:,}" for m in matrices.values())
        raise DatasetError(
            f"{name} holds {shapes or 'no'} scores; the data set has {shape[0]:,} x and "
            f"{shape[1]:,} y items. Save one row an x item and one column a y item."
        )
    if sp.issparse(found):
        entries = found.tocoo()
        return entries.row, entries.col, entries.data.astype(np.float64)
    if found.size > get_limits().pairs:
        raise DatasetError(
            f"{name} holds {found.size:,} scores; the limit is {get_limits().pairs:,}. Keep the "
            "best answers of each query, as in a TREC run."
        )
    rows, columns = np.indices(shape)
    return rows.ravel(), columns.ravel(), found.astype(np.float64).ravel()


def _table(name: str, data: bytes) -> tuple[Table, str]:
    """A run as a table, and what it calls itself."""
    if signature(data) is None:
        text, notes = decode_text(name, data)
        if trec.looks_like_run(text):
            rows, cells = [], []
            for line, fields in trec.iter_fields(name, text, (5, 6), "a line of a run"):
                rows.append(line)
                cells.append([*fields, ""][:6])
            columns = dict(zip(_COLUMNS, map(list, zip(*cells, strict=True)), strict=True))
            whole = Columns(dict(columns), {}, list(_COLUMNS), rows)
            return make_table(name, whole, "line", notes=notes), columns["run"][0]
    return read_table(data, name), ""


def _of_table(
    table: Table, pairs: PairSet
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], list[str]]:
    """Positions and scores of the rows that name a pair of the data set."""
    x, y = _index(pairs.x), _index(pairs.y)
    is_trec = tuple(table.columns) == _COLUMNS
    x_column, y_column = id_columns(table, x, y, ("query", "document") if is_trec else ())
    free = [c for c in table.columns if c not in (x_column, y_column, *_COLUMNS[1:4:2])]
    named = [c for c in free if is_label_name(c)]
    column = next(iter([*named, *(c for c in free if table.kinds[c] == "number")]), None)
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
            f"{shown(table.columns[x_column][0])}, {shown(table.columns[y_column][0])}). "
            "The ids must be those of the data set."
        )
    values, _, _ = parse_labels(table, column, known, "score")
    given = ~np.isnan(values)
    known, values = known[given], values[given]
    notes = [*table.notes, f"Scores are read from column {shown(column)}."]
    if len(known) < len(table):
        notes.append(
            f"{counted(len(table) - len(known), 'row')} of {table.name} left out: they name items "
            "that are not in these data, or hold no score."
        )
    return at[0][known], at[1][known], values, notes


def _index(items: Items) -> dict[str, int]:
    """Positions by id, and by the id as TREC's files can hold it."""
    own = {key: i for i, key in enumerate(items.ids)}
    return {trec_id(key): i for key, i in own.items()} | own


def _above_zero(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    values: NDArray[np.float64],
    shape: tuple[int, int],
) -> sp.csr_array:
    """Scores in the same order, all above 0; of several for a pair the highest."""
    least, most = float(values.min()), float(values.max())
    raised = values - least + (most - least) / 1_000 if most > least else np.ones(len(values))
    order = np.lexsort((-raised, columns, rows))
    rows, columns, raised = rows[order], columns[order], raised[order]
    first = np.r_[True, (np.diff(rows) != 0) | (np.diff(columns) != 0)]
    return sp.csr_array((raised[first], (rows[first], columns[first])), shape=shape)


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
    at, to, value = rows[entries.row], columns[entries.col], entries.data
    order = np.lexsort((-value, to, at))
    at, to, value = at[order], to[order], value[order]
    first = np.r_[True, (np.diff(at) != 0) | (np.diff(to) != 0)]
    return sp.csr_array((value[first], (at[first], to[first])), shape=shape), shared
