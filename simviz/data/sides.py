"""The distinct items of a side: by id, else by what they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.data.coded import Codes, as_cells, encoded, renumbered
from simviz.data.items import ItemKind
from simviz.data.result import LeftOut
from simviz.data.tables import Table
from simviz.data.wording import shown
from simviz.exceptions import DatasetError


@dataclass(frozen=True, slots=True, eq=False)
class Distinct:
    """The items of a side, without what describes them.

    Parameters
    ----------
    codes : array of int, shape (n_rows,)
        The item of each row in use.
    first : array of int, shape (n_items,)
        Where each item appears first, as a position in the rows in use.
    ids : object array of str, shape (n_items,)
        Their ids.
    content : object array of str, or array of shape (n_items, d)
        What they are.
    kind : {"text", "vector"}
        Of the content.
    """

    codes: Codes
    first: Codes
    ids: NDArray[np.object_]
    content: NDArray[Any]
    kind: ItemKind


def complete_rows(table: Table, columns: Sequence[str]) -> tuple[Codes, list[LeftOut]]:
    """Rows with something on both sides, and the others with the reason.

    Parameters
    ----------
    table : Table
        The file.
    columns : sequence of two str
        Those of the x side and the y side.

    Returns
    -------
    rows : array of int
        Positions in the table.
    left_out : list of LeftOut
        The other rows, in order.

    Raises
    ------
    DatasetError
        If no row is complete.
    """
    empty = [
        np.zeros(len(table), dtype=bool)
        if column in table.vectors
        else table.coded(column).where(_is_blank)
        for column in columns
    ]
    left_out = []
    for row in np.flatnonzero(empty[0] | empty[1]):
        reason = "the x side is empty" if empty[0][row] else "the y side is empty"
        reason = "both sides are empty" if empty[0][row] and empty[1][row] else reason
        left_out.append(LeftOut(int(table.rows[row]), reason))
    rows = np.flatnonzero(~(empty[0] | empty[1]))
    if not len(rows):
        raise DatasetError(
            f"{table.name}: no row has text in both column {shown(columns[0])} and column "
            f"{shown(columns[1])}. Choose other columns for the two sides, or fill them."
        )
    return rows, left_out


def distinct_items(table: Table, column: str, id_column: str | None, rows: Codes) -> Distinct:
    """The distinct items of a side in order of appearance.

    Parameters
    ----------
    table : Table
        The file.
    column : str
        With what the items are.
    id_column : str or None
        With their ids; the content tells them apart if None.
    rows : array of int
        The rows in use.

    Returns
    -------
    Distinct
        Texts without surrounding spaces.

    Raises
    ------
    DatasetError
        If an id is empty, or stands for two things.
    """
    if column in table.vectors:
        return _distinct_vectors(table, column, id_column, rows)
    texts = table.coded(column).map(str.strip)
    if id_column is None or id_column == column:
        codes, first = renumbered(texts.codes[rows])
        content = texts.words[texts.codes[rows][first]]
        ids = content if id_column else as_cells([str(i) for i in range(len(first))])
        return Distinct(codes, first, ids, content, "text")
    codes, first, ids = _by_id(table, id_column, rows)
    of_row = texts.codes[rows]
    differing = np.flatnonzero(of_row != of_row[first][codes])
    if len(differing):
        i = int(differing[0])
        there = int(first[codes[i]])
        raise DatasetError(
            f"{table.place(rows[i], column)}: id {shown(ids[codes[i]])} stands for "
            f"{shown(texts.words[of_row[i]])} here and for {shown(texts.words[of_row[there]])} "
            f"in {table.unit} {table.rows[rows[there]]}. Give one of them another id, or do not "
            f"use {shown(id_column)} as the id."
        )
    return Distinct(codes, first, ids, texts.words[of_row[first]], "text")


def _by_id(table: Table, id_column: str, rows: Codes) -> tuple[Codes, Codes, NDArray[np.object_]]:
    """Items by their id: that of each row, where each appears first, and the ids."""
    keys = table.coded(id_column).map(str.strip)
    of_row = keys.codes[rows]
    empty = keys.where(_is_blank)[rows]
    if empty.any():
        raise DatasetError(
            f"{table.place(rows[int(np.argmax(empty))], id_column)} is empty. Fill it, or do not "
            f"use {shown(id_column)} as the id: then items are told apart by their text."
        )
    codes, first = renumbered(of_row)
    return codes, first, keys.words[of_row[first]]


def _distinct_vectors(table: Table, column: str, id_column: str | None, rows: Codes) -> Distinct:
    matrix = table.vectors[column][rows]
    if not np.isfinite(matrix).all():
        bad = int(np.argmax(~np.isfinite(matrix).all(axis=1)))
        raise DatasetError(
            f"{table.place(rows[bad], column)} holds a number that is not finite. Drop the row, "
            "or fill it."
        )
    if id_column is not None and id_column != column:
        codes, first, ids = _by_id(table, id_column, rows)
        differing = (matrix != matrix[first][codes]).any(axis=1)
        if differing.any():
            at = int(np.argmax(differing))
            raise DatasetError(
                f"{table.place(rows[at], column)}: id {shown(ids[codes[at]])} stands for another "
                f"vector here than in {table.unit} {table.rows[rows[int(first[codes[at]])]]}. "
                f"Give one of them another id, or do not use {shown(id_column)} as the id."
            )
    else:
        # Minus zero is zero; equal rows are equal bytes then.
        plain = np.ascontiguousarray(matrix + 0.0)
        keys = as_cells([row.tobytes() for row in plain])
        codes, first = renumbered(encoded(keys).codes)
        ids = as_cells([str(i) for i in range(len(first))])
    return Distinct(codes, first, ids, matrix[first], "vector")


def _is_blank(cell: str) -> bool:
    return not cell.strip()
