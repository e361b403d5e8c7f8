"""Metadata: columns that say something about the items of one side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.data.cells import Codes, are_numbers, counted, is_missing, shown
from simviz.data.columns import SPLIT_WORDS, Roles
from simviz.data.items import Items
from simviz.data.splitting import PARTS
from simviz.data.tables import Table
from simviz.exceptions import DatasetError

#: The item of each row, and the first row of each item.
Grouping = tuple[Codes, Codes]
Metadata = dict[str, dict[str, NDArray[Any]]]

_PARTS = (*PARTS, "")
#: A split column may contradict itself for this share of the items.
_TOLERATED = 0.1


def attach(
    table: Table, roles: Roles, rows: Codes, sides: Mapping[str, Grouping]
) -> tuple[Metadata, list[str]]:
    """Give each column to the sides whose items it follows from."""
    # A column follows from an item when all rows of the item agree. The split column is stored
    # as "split" and the group column as "group". Where a few items stand in several parts of a
    # split (a leak in the file), they count as train rather than test.
    metadata: Metadata = {"x": {}, "y": {}}
    notes: list[str] = []
    if roles.split is not None:
        notes += _attach_split(table, roles.split, rows, sides, metadata)
    both = ("x", "y")
    wanted: list[tuple[str, str, tuple[str, ...]]] = [
        *((c, _short(c, "x"), ("x",)) for c in roles.x_metadata),
        *((c, _short(c, "y"), ("y",)) for c in roles.y_metadata),
        *((c, "group", both) for c in (roles.group,) if c is not None),
        *(
            (c, c, both)
            for c in table.columns
            if c not in roles.used() and table.kinds[c] != "empty"
        ),
    ]
    for column, name, candidates in wanted:
        cells = table.column(column)[rows]
        codes = table.factorize(column).codes[rows]
        candidates = tuple(side for side in candidates if side in sides)
        if not candidates or column in table.vectors:
            continue
        differing = {side: _differing(codes, sides[side]) for side in candidates}
        for side in candidates:
            if not len(differing[side]):
                unique = name if name not in metadata[side] else column
                metadata[side][unique] = typed(cells[sides[side][1]], column == roles.group)
        if all(len(rows_) for rows_ in differing.values()):
            codes_of, first = sides[candidates[0]]
            here = int(differing[candidates[0]][0])
            there = int(first[codes_of[here]])
            notes.append(
                f"Column {shown(column)} was dropped: one item has several values there "
                f"({shown(cells[there])} in {table.unit} {table.rows[rows[there]]}, "
                f"{shown(cells[here])} in {table.unit} {table.rows[rows[here]]})."
            )
    return metadata, notes


def _attach_split(
    table: Table,
    column: str,
    rows: Codes,
    sides: Mapping[str, Grouping],
    metadata: Metadata,
) -> list[str]:
    """Store the parts of a split on the sides that they follow from, or nearly."""
    ranks = _split_ranks(table, column, rows)
    moved = {s: np.unique(g[0][_differing(ranks, g)]) for s, g in sides.items()}
    exact = [s for s in sides if not len(moved[s])]
    near = [s for s, g in sides.items() if len(moved[s]) <= _TOLERATED * len(g[1])]
    notes: list[str] = []
    for side in exact or near:
        codes, first = sides[side]
        earliest = np.full(len(first), len(_PARTS) - 1)
        np.minimum.at(earliest, codes, ranks)
        metadata[side]["split"] = np.array([_PARTS[r] for r in earliest], dtype=object)
        if len(moved[side]):
            n = counted(len(moved[side]), f"{side} item stands", f"{side} items stand")
            notes.append(
                f"{n} in several parts of column {shown(column)}, which would leak; they count "
                "as train rather than validation, as validation rather than test."
            )
    if not exact and not near:
        notes.append(
            f"Column {shown(column)} of {table.name} was dropped: too many items of both sides "
            "stand in several of its parts, so it cannot split them without a leak. Split by x, "
            "y or pair instead."
        )
    return notes


def _differing(cells: NDArray[Any], grouping: Grouping) -> Codes:
    """Rows whose cell is not that of their item's first row."""
    codes, first = grouping
    return np.flatnonzero(cells != cells[first][codes])


def _short(column: str, side: str) -> str:
    """A metadata name without its side: x_lang is the lang of an x item."""
    prefix = f"{side}_"
    return column[len(prefix) :] if column.lower().startswith(prefix) else column


def _split_ranks(table: Table, column: str, rows: Codes) -> Codes:
    """The part of each row by its place in a split, train first."""
    factorized = table.factorize(column)
    parts = [SPLIT_WORDS.get(c.strip().lower(), "") for c in factorized.uniques]
    wrong = factorized.where(lambda c: c.strip().lower() not in SPLIT_WORDS and not is_missing(c))
    if wrong[rows].any():
        at = rows[int(np.argmax(wrong[rows]))]
        raise DatasetError(
            f"{table.place(at, column)}: {shown(table.columns[column][at])} is no part of a "
            "split. Write train, validation or test, or do not use the column as the split."
        )
    return np.array([_PARTS.index(part) for part in parts], dtype=np.intp)[factorized.codes[rows]]


def typed(cells: NDArray[np.object_], as_text: bool) -> NDArray[Any]:
    """Metadata as whole numbers, numbers, or trimmed text."""
    if not as_text and are_numbers(cells):  # type: ignore[arg-type]
        values = np.array([np.nan if is_missing(c) else float(c) for c in cells])
        whole = np.isfinite(values).all() and (values == np.round(values)).all()
        return values.astype(np.int64) if whole and np.abs(values).max() < 2**53 else values
    return np.array([c.strip() for c in cells], dtype=object)


#: What stands for a missing value in a column of groups.
MISSING = "–"


def telling_columns(x: Items, y: Items) -> tuple[str, ...]:
    """Columns by which the items of a map may be coloured."""
    names = sorted({*x.metadata, *y.metadata})
    return tuple(name for name in names if _tells(joined_column(x, y, name)))


def joined_column(x: Items, y: Items, name: str) -> NDArray[Any]:
    """The values of a column for the x items and then the y items."""
    columns = [side.metadata.get(name) for side in (x, y)]
    present = [column for column in columns if column is not None]
    if not present:
        raise KeyError(name)
    if all(column.dtype.kind in "iuf" for column in present):
        return np.concatenate(
            [
                np.full(len(side), np.nan) if column is None else column.astype(np.float64)
                for side, column in zip((x, y), columns, strict=True)
            ]
        )
    return np.array(
        [
            MISSING if value is None or value != value else str(value)
            for side, column in zip((x, y), columns, strict=True)
            for value in ([None] * len(side) if column is None else column)
        ],
        dtype=object,
    )


def _tells(values: NDArray[Any]) -> bool:
    """Whether colours would say anything: neither one value nor all different."""
    if values.dtype.kind == "f":
        return len(np.unique(values[np.isfinite(values)])) > 1
    known = values[values != MISSING]
    return 1 < len(np.unique(known.astype(str))) <= len(known) / 2
