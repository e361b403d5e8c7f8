"""Reading back the long form that simviz writes, to the same digest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.data.cells import parse_number
from simviz.data.items import Items
from simviz.data.longform import Header, MetadataColumn, Side
from simviz.data.pairs import PairSet
from simviz.data.tables import Table
from simviz.data.wording import shown
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance


def from_long_form(table: Table, header: Header) -> PairSet:
    """Rebuild the pairs that `simviz.data.write_pairs` wrote.

    Cells are taken as they stand. A row with one id declares an item of that
    side; a row with two is a judgment.

    Parameters
    ----------
    table : Table
        The file.
    header : Header
        What its columns mean.

    Returns
    -------
    PairSet
        With the digest of the pairs that were written.

    Raises
    ------
    DatasetError
        If an edit of the file broke it; names the row and the column.
    """
    id_x, text_x, id_y, text_y, value = list(table.columns)[:5]
    x_index, x_rows = _declared(table, id_x, text_x)
    y_index, y_rows = _declared(table, id_y, text_y)
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    cells = zip(table.columns[id_x], table.columns[id_y], table.columns[value], strict=True)
    for row, (x, y, cell) in enumerate(cells):
        if not x or not y:
            continue
        number = _value(cell, header.kind)
        if number is None:
            raise DatasetError(
                f"{table.place(row, value)}: {shown(cell)} is not a {header.kind}. Write a number"
                + (" other than 0 (-1: judged not relevant)." if header.kind == "grade" else ".")
            )
        rows.append(x_index[x])
        columns.append(y_index[y])
        values.append(number)
    relevance = Relevance.from_pairs(
        rows,
        columns,
        values,
        shape=(len(x_rows), len(y_rows)),
        unjudged=header.unjudged,
        kind=header.kind,
        threshold=header.threshold,
    )
    sides = []
    for side, index, first, text, kind in (
        ("x", x_index, x_rows, text_x, header.x_kind),
        ("y", y_index, y_rows, text_y, header.y_kind),
    ):
        metadata = {m.name: _restore(table, m, first) for m in header.metadata if m.side == side}
        sides.append(
            Items(np.array(list(index), dtype=object), table.columns[text][first], kind, metadata)
        )
    return PairSet(sides[0], sides[1], relevance, name=table.name.rsplit(".", 1)[0] or "pairs")


def _declared(
    table: Table, id_column: str, text_column: str
) -> tuple[dict[str, int], NDArray[np.intp]]:
    """Items by id in order of appearance, with the first row of each."""
    index: dict[str, int] = {}
    first: list[int] = []
    texts = table.columns[text_column]
    for row, (key, text) in enumerate(zip(table.columns[id_column], texts, strict=True)):
        if not key:
            continue
        if key not in index:
            index[key] = len(first)
            first.append(row)
        elif texts[first[index[key]]] != text:
            raise DatasetError(
                f"{table.place(row, text_column)}: id {shown(key)} stands for {shown(text)} here "
                f"and for {shown(texts[first[index[key]]])} in {table.unit} "
                f"{table.rows[first[index[key]]]}. Give one of them another id."
            )
    return index, np.array(first, dtype=np.intp)


def _value(cell: str, kind: str) -> float | None:
    """A grade or score, or None where the cell holds none."""
    number = parse_number(cell)
    if number is None or not np.isfinite(number) or (kind == "grade" and number == 0):
        return None
    return number


def _restore(table: Table, column: MetadataColumn, first: NDArray[np.intp]) -> NDArray[Any]:
    """A metadata column with the type that it was written with."""
    side: Side = column.side
    cells = table.columns[str(column)][first]
    if column.dtype == "text":
        return cells
    dtype = np.dtype(column.dtype)
    restored = np.empty(len(cells), dtype=dtype)
    for i, cell in enumerate(cells):
        try:
            if dtype.kind == "b":
                restored[i] = {"true": True, "false": False}[cell.lower()]
            elif dtype.kind == "f":
                restored[i] = float(cell or "nan")
            else:
                restored[i] = int(cell)
        except (ValueError, KeyError, OverflowError) as error:
            raise DatasetError(
                f"{table.place(first[i], str(column))}: {shown(cell)} does not fit the "
                f"{side} metadata {shown(column.name)} of type {dtype}. Write a matching value."
            ) from error
    return restored
