"""Judgments between items that are known by their ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from simviz.data.coded import Codes, as_cells
from simviz.data.collection import trec
from simviz.data.columnar import Columns
from simviz.data.headers import is_label_name
from simviz.data.label_columns import known_words, said_of_unread
from simviz.data.labels import Labels, parse_labels
from simviz.data.readers import not_judged
from simviz.data.result import LeftOut
from simviz.data.roles import Roles
from simviz.data.sources import decode_text, signature
from simviz.data.tables import Table, make_table, read_table
from simviz.data.wording import counted, shown
from simviz.exceptions import DatasetError
from simviz.relevance import Kind

Index = Mapping[str, int]
_COLUMNS = ("query", "iteration", "document", "grade")
_IDS = ("query", "document")


@dataclass(slots=True)
class Judgments:
    """Pairs of positions with their values.

    Parameters
    ----------
    x, y : array of int
        Positions of the items.
    values : array of float or None
        Grades or scores; None where all listed pairs belong together.
    kind : {"grade", "score"}
        Of the values.
    table : Table
        The file.
    roles : Roles
        Which column is which.
    left_out : list of LeftOut
        Rows that name no item.
    notes : list of str
        What was done.
    """

    x: Codes
    y: Codes
    values: NDArray[np.float64] | None
    kind: Kind
    table: Table
    roles: Roles
    left_out: list[LeftOut]
    notes: list[str]


def read_judgments(
    path: str,
    data: bytes,
    x: Index,
    y: Index,
    threshold: float | None = None,
    labels: Labels | None = None,
) -> Judgments:
    """Read a list of judgments: TREC's qrels, or a table with two columns of ids.

    Parameters
    ----------
    path : str
        Name of the file.
    data : bytes
        Its content.
    x, y : mapping of str to int
        Positions of the items of both sides by their ids.
    threshold : float, optional
        From which score on a pair is relevant.
    labels : mapping of str to float or None, optional
        What words mean.

    Returns
    -------
    Judgments
        Of pairs whose ids are known.

    Raises
    ------
    DatasetError
        If no row names an item of both sides.
    """
    table = read_judgment_table(path, data, x)
    is_trec = tuple(table.columns) == _COLUMNS
    x_column, y_column = id_columns(table, x, y, _IDS if is_trec else ())
    free = [c for c in table.columns if c not in (x_column, y_column, "iteration")]
    label = _label_column(table, free, labels or {})
    x_at, y_at = (positions(table, c, index) for c, index in ((x_column, x), (y_column, y)))
    known = (x_at >= 0) & (y_at >= 0)
    left_out = [
        LeftOut(
            int(table.rows[row]),
            "no x item has that id" if x_at[row] < 0 else "no y item has that id",
        )
        for row in np.flatnonzero(~known)
    ]
    rows = np.flatnonzero(known)
    notes = list(table.notes)
    if left_out:
        notes.append(
            f"{counted(len(left_out), 'row')} of {table.name} left out: they name items that are "
            f"not there ({table.named(np.flatnonzero(~known))})."
        )
    if not len(rows):
        raise DatasetError(
            f"{table.name}: no row names an item of both sides ({table.place(0)}: "
            f"{shown(table.columns[x_column][0])}, {shown(table.columns[y_column][0])}). The "
            "ids must be those of the item files."
        )
    roles = Roles(
        x=x_column,
        y=y_column,
        label=label,
        threshold=threshold,
        labels=labels or {},
        reasons={"x": "its cells are ids of x items", "y": "its cells are ids of y items"},
    )
    values: NDArray[np.float64] | None = None
    kind: Kind = "grade"
    if label is None:
        notes += said_of_unread(table, [c for c in table.columns if c not in free])
    else:
        values, kind, more = parse_labels(table, label, rows, None, threshold, labels)
        notes += more
        judged = ~np.isnan(values)
        left_out += not_judged(table, label, rows[~judged])
        rows, values = rows[judged], values[judged]
    return Judgments(x_at[rows], y_at[rows], values, kind, table, roles, left_out, notes)


def read_judgment_table(path: str, data: bytes, x: Index) -> Table:
    """A file of judgments as a table, with a header or without.

    Parameters
    ----------
    path : str
        Name of the file.
    data : bytes
        Its content.
    x : mapping of str to int
        Ids of x items: a first line that begins with one is no header.

    Returns
    -------
    Table
        TREC's columns are called query, iteration, document and grade.

    Raises
    ------
    DatasetError
        If it is no such file.
    """
    name = PurePosixPath(path).name
    if signature(data) is None:
        text, notes = decode_text(name, data)
        if trec.looks_like_qrels(text):
            rows, cells = [], []
            for line, fields in trec.iter_fields(name, text, (4,), "a judgment"):
                rows.append(line)
                cells.append(fields)
            columns = zip(*cells, strict=True)
            named = {c: as_cells(list(v)) for c, v in zip(_COLUMNS, columns, strict=True)}
            whole = Columns({k: list(v) for k, v in named.items()}, {}, list(_COLUMNS), rows)
            return make_table(name, whole, "line", notes=notes)
    table = read_table(data, name)
    if table.delimiter and next(iter(table.columns)) in x:
        return read_table(data, name, header=False)
    return table


def positions(table: Table, column: str, index: Index) -> Codes:
    """Position of the item that each cell names.

    Parameters
    ----------
    table : Table
        The file.
    column : str
        With ids.
    index : mapping of str to int
        Positions by id.

    Returns
    -------
    array of int, shape (n_rows,)
        -1 where there is no such item.
    """
    coded = table.coded(column)
    at = np.array([index.get(word.strip(), -1) for word in coded.words], dtype=np.intp)
    return at[coded.codes]


def id_columns(table: Table, x: Index, y: Index, among: Sequence[str] = ()) -> tuple[str, str]:
    """The columns whose cells are ids of a side.

    Parameters
    ----------
    table : Table
        The file.
    x, y : mapping of str to int
        Positions by id.
    among : sequence of str, optional
        The columns to choose from, where that is known.

    Returns
    -------
    x_column, y_column : str
        In the order of the file where both sides share ids.
    """
    columns = [c for c in among or table.columns if c not in table.vectors]
    # Grades are small numbers, as are many ids.
    others = [c for c in columns if not is_label_name(c)]
    columns = others if len(others) > 1 else columns
    shares = {
        side: {c: float((positions(table, c, index) >= 0).mean()) for c in columns}
        for side, index in (("x", x), ("y", y))
    }
    best = max(
        ((a, b) for a in columns for b in columns if a != b),
        key=lambda pair: (
            round(min(shares["x"][pair[0]], shares["y"][pair[1]]), 3),
            round(shares["x"][pair[0]] + shares["y"][pair[1]], 3),
            -columns.index(pair[0]),
        ),
    )
    return best


def _label_column(table: Table, free: Sequence[str], labels: Labels) -> str | None:
    """A column named like a judgment, else the only one with numbers, else one with words."""
    named = [c for c in free if is_label_name(c) and c not in table.vectors]
    numbers = [c for c in free if table.kinds[c] == "number"]
    words = [c for c in free if known_words(table, c, labels)]
    if named:
        return named[0]
    return numbers[0] if len(numbers) == 1 else next(iter(words), None)
