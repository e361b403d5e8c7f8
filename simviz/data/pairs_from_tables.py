"""From a table to pairs: distinct items, merged judgments, notes on what was done."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data.cells import (
    Codes,
    Note,
    are_numbers,
    as_cells,
    as_text,
    counted,
    did_you_mean,
    factorize,
    is_missing,
    release_unused,
    shown,
)
from simviz.data.limits import get_limits, report_progress
from simviz.data.pairs import GROUP_SEPARATOR, Items, PairSet, Space, as_pairs
from simviz.data.roles import (
    SPLIT_WORDS,
    ColumnRoles,
    Labels,
    guess_roles,
    named_roles,
    parse_labels,
    unread_notes,
)
from simviz.data.sources import Source
from simviz.data.splitting import PARTS
from simviz.data.tables import Table, items_by_id, read_table, table_from_frame
from simviz.data.writers import from_long_form, parse_header
from simviz.exceptions import DatasetError
from simviz.relevance import Kind, Relevance, Unjudged

#: Texts with the names of their groups.
Grouped = Mapping[str, Sequence[str]]
#: The item of each row, and the first row of each item.
Grouping = tuple[Codes, Codes]
Metadata = dict[str, dict[str, NDArray[Any]]]

_PARTS = (*PARTS, "")
_UNLISTED: Mapping[Unjudged, str] = {
    "negative": "Every pair that is not listed counts as not relevant.",
    "ignore": "Pairs that are not listed count as unknown: only judged pairs are used.",
}
#: A split column may contradict itself for this share of the items.
_MAX_IN_SEVERAL = 0.1


class SkippedRow(NamedTuple):
    """A row that is not in the pairs, and why.

    Parameters
    ----------
    row : int
        Its number in the file.
    reason : str
        A sentence.
    """

    row: int
    reason: str


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class ReadResult:
    """Pairs with an account of how they were read.

    Parameters
    ----------
    pairs : PairSet
        What was read.
    notes : tuple of Note
        What was guessed, mended, merged or dropped, in plain words.
    table : Table
        The file as it was read, for a preview.
    roles : ColumnRoles
        The roles that were used.
    disputed : ndarray of int, shape (n, 2), optional
        Pairs, by x and y item, that one row judges relevant and another not.
    parts : mapping of str to tuple of str
        Of several files, as `read_collection` takes them: which file or column
        was taken, and after it all that can be.
    """

    pairs: PairSet
    notes: tuple[Note, ...]
    table: Table
    roles: ColumnRoles
    disputed: NDArray[np.intp] | None = None
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def left_out(self) -> tuple[SkippedRow, ...]:
        """Rows that are not in the pairs, in the order of the file."""
        skipped = (zip(note.rows, note.reasons, strict=False) for note in self.notes)
        return tuple(sorted(SkippedRow(*one) for rows in skipped for one in rows))


def complete_rows(table: Table, columns: Sequence[str]) -> tuple[Codes, list[Note]]:
    """Rows with something on both sides, and notes of the others."""
    x, y = map(table.blank, columns)
    reasons = {
        "both sides are empty": x & y,
        "the x side is empty": x & ~y,
        "the y side is empty": y & ~x,
    }
    rows, left_out = np.flatnonzero(~(x | y)), _left_out(table, reasons)
    if not len(rows):
        raise DatasetError(
            f"{table.name}: no row has text in both column {shown(columns[0])} and column "
            f"{shown(columns[1])}. Choose other columns for the two sides, or fill them."
        )
    return rows, left_out


def distinct_items(
    table: Table, column: str, id_column: str | None, rows: Codes
) -> tuple[Grouping, Any, Any]:
    """The distinct items of a side in order of appearance: rows, ids if given, content."""
    is_vector = column in table.vectors
    values: Any = table.vectors[column] if is_vector else table.stripped(column)
    if len(rows) < len(table):
        values = values[rows]
    if is_vector and not (finite := np.isfinite(values).all(axis=1)).all():
        raise DatasetError(
            f"{table.place(rows[int(np.argmin(finite))], column)} holds a number that is not "
            "finite. Drop the row, or fill it."
        )
    ids = None
    if id_column is None:
        keys = values
        if is_vector:  # minus zero is zero; equal rows are equal bytes then
            keys = as_cells([row.tobytes() for row in np.ascontiguousarray(values + 0.0)])
        grouping = factorize(keys)[:2]
    else:
        ids = table.stripped(id_column)[rows]
        otherwise = f", or do not use {shown(id_column)} as the id"
        if (ids == "").any():
            raise DatasetError(
                f"{table.place(rows[int(np.argmax(ids == ''))], id_column)} is empty. Fill it"
                f"{otherwise}: then items are told apart by their text."
            )
        grouping, ids = items_by_id(table, column, rows, ids, values, otherwise)
    release_unused()
    return grouping, ids, values if len(grouping[1]) == len(values) else values[grouping[1]]


def _make_items(sides: Sequence[tuple[Any, Any, Mapping[str, NDArray[Any]]]]) -> list[Items]:
    """Items of ids, content and metadata; those without ids are numbered."""
    # What Arrow holds becomes Python's strings, which take several times as much, last.
    n_numbered = max((len(content) for ids, content, _ in sides if ids is None), default=0)
    numbers = as_cells([str(i) for i in range(n_numbered)])
    numbers.flags.writeable = False
    return [
        Items(
            numbers[: len(content)] if ids is None else ids,
            content if isinstance(content, np.ndarray) else content.to_numpy(dtype=object),
            "vector" if isinstance(content, np.ndarray) else "text",
            metadata,
        )
        for ids, content, metadata in sides
    ]


def read_pairs(
    source: Source,
    name: str | None = None,
    roles: ColumnRoles | None = None,
    *,
    labels: Labels | None = None,
    header: bool = True,
) -> ReadResult:
    r"""Read pairs from one table in one call, in any format of `read_table`.

    A row is a pair that belongs together; a judgment with a grade, a score, or
    a word; an item with its group; or a triplet of an anchor, what belongs to
    it and what does not. Items are texts, or lists of numbers.

    Parameters
    ----------
    source : str, Path or bytes
        A path, or the content of a file.
    name : str, optional
        File name, where bytes are given.
    roles : ColumnRoles, optional
        Which column is which; guessed when omitted.
    labels : mapping of str to float or None, optional
        What words in the label column mean, as ``{"fits": 1, "no way": 0}``; None
        for not judged. Scales such as same, subset, disjoint are known.
    header : bool, default=True
        Whether the first line of delimited text, or row of a sheet, names the columns.

    Returns
    -------
    ReadResult
        The pairs, notes in plain words, rows left out, the table and roles.

    Raises
    ------
    DatasetError
        If it cannot be understood; names the file, row, column and remedy.

    Examples
    --------
    >>> result = read_pairs(b"query,document,label\na,b,1\na,c,0\n,d,1\n", "q.csv")
    >>> result.pairs.relevance
    Relevance(1 × 2, 1 relevant, 1 judged not relevant, unjudged='ignore', kind='grade')
    >>> result.left_out
    (SkippedRow(row=4, reason='the x side is empty'),)
    """
    table = read_table(source, name, header=header)
    return to_pairs(table, roles_with(table, roles, labels))


def from_frame(
    frame: Any = None,
    roles: ColumnRoles | None = None,
    *,
    x: Any = None,
    y: Any = None,
    label: Any = None,
    x_id: str | None = None,
    y_id: str | None = None,
    split: str | None = None,
    group: str | None = None,
    labels: Labels | None = None,
    unjudged: Unjudged | None = None,
    space: Space | None = None,
    name: str = "frame",
) -> ReadResult:
    """Pairs from a data frame of any library, or from lists and arrays.

    Parameters
    ----------
    frame : data frame, optional
        Anything with the Arrow C stream (pandas, polars, pyarrow, DuckDB) or the
        interchange protocol; a Hugging Face ``Dataset`` or ``DatasetDict``; a
        mapping of column names to lists or arrays.
    roles : ColumnRoles, optional
        Which column is which; guessed when omitted.
    x, y, label : str or sequence, optional
        Columns of the two sides and of the judgments. Without a frame, their
        cells: texts, or a matrix of vectors a side. Guessed when omitted.
    x_id, y_id, split, group : str, optional
        Further columns, as in `simviz.data.ColumnRoles`; guessed when omitted.
    labels : mapping of str to float or None, optional
        What words in the label column mean, as in `read_pairs`.
    unjudged : {"negative", "ignore"}, optional
        What a pair that is not listed means; guessed when omitted.
    space : {"one", "two"}, optional
        Whether both sides are of one space, such as vectors of one encoder, so that one
        matrix serves both; guessed from the cosine of the pairs when omitted.
    name : str, default="frame"
        Of the data set, and in messages.

    Returns
    -------
    ReadResult
        As `read_pairs`; rows count from 1.

    Raises
    ------
    DatasetError
        If it cannot be understood; names the row, column and remedy.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"query": ["heart"], "document": ["blood pump"], "grade": [2]})
    >>> from_frame(frame).pairs
    PairSet('frame': 1 query × 1 document, 1 relevant)
    >>> from_frame(frame, x="document", y="query").pairs
    PairSet('frame': 1 document × 1 query, 1 relevant)
    >>> from_frame(x=["heart", "car"], y=[[0.5, 1.0], [1.0, 0.0]]).pairs.y
    Items(2 vectors)
    """
    named = {"x": x, "y": y, "label": label, "x_id": x_id, "y_id": y_id}
    named |= {"split": split, "group": group}
    columns = {role: column for role, column in named.items() if column is not None}
    if frame is None:
        if missing := [side for side in "xy" if side not in columns]:
            raise DatasetError(
                f"There is no frame, and no {' and no '.join(missing)}. Give a data frame, or the "
                "cells of both sides: from_frame(x=[...], y=[...])."
            )
        texts = [role for role, cells in columns.items() if isinstance(cells, str)]
        if texts:
            raise DatasetError(
                f"{texts[0]} names the column {shown(columns[texts[0]])}, but of no frame. Give "
                "the frame first, or a list of cells."
            )
        frame, columns = columns, {role: role for role in columns}
    table = table_from_frame(frame, name=name)
    if roles is None and columns:
        for role, column in columns.items():
            if not isinstance(column, str) or column not in table.frame:
                raise DatasetError(
                    f"{name} has no column {shown(column)} to be {role}. "
                    f"{did_you_mean(str(column), table.frame)}"
                )
        roles = named_roles(table, columns, labels)
    elif columns:
        raise DatasetError(
            f"Both roles and {next(iter(columns))} say which column is which. Give one of them."
        )
    roles = roles_with(table, roles, labels)
    result = to_pairs(table, replace(roles, unjudged=unjudged) if unjudged else roles)
    return replace(result, pairs=replace(result.pairs, space=space)) if space else result


def pairs_of(pairs: Any, x: Any = None, y: Any = None) -> PairSet:
    """A pair set as it is, that of what a reader found, or of a frame; tells what is left out."""
    is_frame = any(hasattr(pairs, name) for name in ("__arrow_c_stream__", "__dataframe__"))
    if not is_frame and x is None and y is None:
        return as_pairs(pairs)
    result = from_frame(pairs, x=x, y=y)
    for note in result.notes:
        if note.rows:
            logger.warning("%s.", note)
    return result.pairs


def roles_with(table: Table, roles: ColumnRoles | None, labels: Labels | None) -> ColumnRoles:
    """Roles as they are given or guessed, with what words mean."""
    if roles is None:
        return guess_roles(table, labels)
    return replace(roles, labels={**roles.labels, **labels}) if labels else roles


def to_pairs(table: Table, roles: ColumnRoles) -> ReadResult:
    """Turn a table into pairs by the given roles.

    Items are distinct by id, else by text; of several grades for one pair the
    highest stays. Columns without a role become metadata of the side whose
    item they follow from. Files of `write_pairs` are read back exactly.

    Parameters
    ----------
    table : Table
        From `read_table`.
    roles : ColumnRoles
        From `guess_roles`, corrected where needed.

    Returns
    -------
    ReadResult
        The pairs and what was done to get them.

    Raises
    ------
    DatasetError
        If a role, an id or a label cannot be understood.
    """
    roles.check(table)
    names = list(table.frame)
    if [roles.x, roles.y, roles.label] == [names[1], *names[3:5]] and (
        header := parse_header(names)
    ):
        return ReadResult(from_long_form(table, header), table.notes, table, roles)
    if roles.shape == "groups":
        return _from_groups(table, roles)
    if roles.shape == "triplets":
        result = _from_judgments(*triplets_as_judgments(table, roles))
        return replace(result, table=table, roles=roles)
    return _from_judgments(table, roles)


def _from_judgments(table: Table, roles: ColumnRoles) -> ReadResult:
    """A row is one pair, with a label or without."""
    report_progress(0.65)
    rows, left_out = complete_rows(table, (roles.x, roles.y))
    report_progress(0.7)
    rows, values, kind, more, unjudged = judged_rows(table, roles, rows)
    left_out = sorted(left_out + unjudged, key=lambda note: note.rows[0])
    notes = [*table.notes, *more, *left_out]
    report_progress(0.75)
    x, *x_items = distinct_items(table, roles.x, roles.x_id, rows)
    report_progress(0.8)
    y, *y_items = distinct_items(table, roles.y, roles.y_id, rows)
    report_progress(0.85)
    more, disputed = _merge_notes(table, rows, x[0], y[0], values)
    notes += more
    sides = {"x": x, "y": y}
    metadata, more = attach(table, roles, rows, sides)
    if roles.label is None:
        # What all rows of an item share says something of the item.
        shared = {
            c for s, (_, first) in sides.items() if len(first) < len(rows) for c in metadata[s]
        }
        notes += unread_notes(table, shared | roles.used())
    notes += more
    report_progress(0.9)
    shape, threshold = (len(x[1]), len(y[1])), roles.threshold if kind == "score" else None
    relevance = Relevance.from_pairs(
        x[0], y[0], values, shape=shape, unjudged=roles.unjudged, kind=kind, threshold=threshold
    )
    notes.append(Note(_UNLISTED[relevance.unjudged]))
    left, right = _make_items([(*x_items, metadata["x"]), (*y_items, metadata["y"])])
    name = PurePath(table.name).stem or "pairs"
    pairs = PairSet(left, right, relevance, name, roles.x, roles.y)
    return ReadResult(pairs, tuple(notes), table, roles, disputed)


def judged_rows(
    table: Table, roles: ColumnRoles, rows: Codes
) -> tuple[Codes, NDArray[np.float64] | None, Kind, list[Note], list[Note]]:
    """Rows whose label says something, their values, and notes of all and of those left out."""
    if roles.label is None:
        return rows, None, roles.label_kind or "grade", [], []
    values, kind, notes = parse_labels(
        table, roles.label, rows, roles.label_kind, roles.threshold, roles.labels
    )
    judged = ~np.isnan(values)
    empty, unjudged = table.where(roles.label, is_missing), np.zeros(len(table), dtype=bool)
    unjudged[rows[~judged]] = True
    reasons = {
        "the label is empty": unjudged & empty,
        "the label says: not judged": unjudged & ~empty,
    }
    return rows[judged], values[judged], kind, notes, _left_out(table, reasons)


def _from_groups(table: Table, roles: ColumnRoles) -> ReadResult:
    """A row is one item in its group; one collection stands on both sides."""
    rows, left_out = complete_rows(table, (roles.x, roles.y))
    grouping, *items = distinct_items(table, roles.x, roles.x_id, rows)
    groups = factorize(table.stripped(roles.y)[rows])[0]
    relevance, more = pairs_of_groups(table.name, grouping[0], groups, len(grouping[1]))
    described = replace(roles, group=roles.y, label=None)
    metadata, dropped = attach(table, described, rows, {"x": grouping})
    (one,) = _make_items([(*items, metadata["x"])])
    name = PurePath(table.name).stem or "groups"
    pairs = PairSet(one, one, relevance, name, roles.x, roles.x)
    left_out.sort(key=lambda note: note.rows[0])
    return ReadResult(pairs, (*table.notes, *left_out, *more, *dropped), table, roles)


def _merge_notes(
    table: Table, rows: Codes, x: Codes, y: Codes, values: NDArray[np.float64] | None
) -> tuple[list[Note], Codes]:
    """Say how many rows repeat a pair, and where they contradict one another."""
    # Also returns the pairs of the latter, by x and y item.
    pair = x.astype(np.int64) * (int(y.max()) + 1) + y
    none = np.empty((0, 2), dtype=np.intp)
    in_order = np.sort(pair)
    n_repeats = int((in_order[1:] == in_order[:-1]).sum())
    if not n_repeats:
        return [], none
    _, first, of = np.unique(pair, return_index=True, return_inverse=True)
    repeats = f"{counted(n_repeats, 'row repeats', 'rows repeat')} a pair that is listed before; "
    if values is None:
        return [Note(repeats + "each pair counts once.", "taken")], none
    notes = [Note(repeats + "each pair counts once, with its highest label.", "taken")]
    low, high = np.full(len(first), np.inf), np.full(len(first), -np.inf)
    np.minimum.at(low, of, values)
    np.maximum.at(high, of, values)
    conflict = (low < 0) & (high > 0)
    if conflict.any():
        where = np.flatnonzero(conflict[of])
        message = (
            f"{counted(int(conflict.sum()), 'pair is', 'pairs are')} judged both relevant and "
            f"not relevant ({table.named(rows[where])}); they count as relevant."
        )
        notes.append(Note(message, "lost", table.rows[rows[where]]))
    at = first[conflict]
    return notes, np.column_stack([x[at], y[at]])


def _left_out(table: Table, reasons: Mapping[str, NDArray[np.bool_]]) -> list[Note]:
    """A note for each reason for which some rows are not in the pairs."""
    notes = []
    for reason, is_out in reasons.items():
        if n := int(is_out.sum()):
            where = table.named(np.flatnonzero(is_out))
            message = f"{counted(n, 'row')} left out because {reason} ({where})."
            notes.append(Note(message, "left_out", table.rows[is_out], reasons=[reason] * n))
    return notes


def triplets_as_judgments(table: Table, roles: ColumnRoles) -> tuple[Table, ColumnRoles]:
    r"""Anchor, positive and negatives as one judgment a row each."""
    if not roles.negatives:
        raise DatasetError(
            f"{table.name}: triplets need a column with what does not belong. Choose one, or "
            "read the file as pairs."
        )
    columns = (roles.y, *roles.negatives)
    as_vectors = [c in table.vectors for c in columns]
    if any(as_vectors) and not all(as_vectors):
        raise DatasetError(
            f"{table.name}: columns {', '.join(map(shown, columns))} hold text and vectors. "
            "Choose columns of one kind for what belongs and what does not."
        )
    label = "relevant"
    while label in table.frame:
        label += "_"
    negative_rows = (np.flatnonzero(~table.blank(column)) for column in roles.negatives)
    rows_of = [np.arange(len(table)), *negative_rows]
    at = np.concatenate(rows_of)
    # Stable: the rows of one triplet stay together, its positive first.
    order = np.argsort(at, kind="stable")
    at = at[order]

    def stacked(source: Any) -> Any:
        parts = [np.asarray(source[c])[rows] for c, rows in zip(columns, rows_of, strict=True)]
        return np.concatenate(parts)[order]

    others = [c for c in table.frame if c not in columns]
    signs = as_cells(["1"] + ["-1"] * len(roles.negatives))
    cells = {roles.y: stacked(table), label: signs.repeat(list(map(len, rows_of)))[order]}
    frame = table.frame[others].iloc[at].assign(**{c: as_text(v) for c, v in cells.items()})
    vectors = {c: v[at] for c, v in table.vectors.items() if c in others}
    if all(as_vectors):
        widths = {table.vectors[c].shape[1] for c in columns}
        if len(widths) > 1:
            raise DatasetError(
                f"{table.name}: the vectors of columns {', '.join(map(shown, columns))} have "
                f"{' and '.join(map(str, sorted(widths)))} numbers. Bring equally many."
            )
        vectors[roles.y] = stacked(table.vectors)
    long = replace(table, frame=frame, delimiter="", vectors=vectors)
    judged = replace(roles, shape="pairs", label=label, label_kind="grade", y_id=None)
    return long, replace(
        judged,
        negatives=(),
        x_metadata=tuple(c for c in roles.x_metadata if c in others),
        y_metadata=tuple(c for c in roles.y_metadata if c in others),
        ignored=tuple(c for c in roles.ignored if c in others),
    )


def pairs_of_groups(
    name: str, member: np.ndarray, group: np.ndarray, n_items: int
) -> tuple[Relevance, list[Note]]:
    """Pair the items that share a group, each with all others of it."""
    _, codes = np.unique(group, return_inverse=True)
    inside = sp.csr_array(
        (np.ones(len(member)), (member, codes)), shape=(n_items, codes.max() + 1)
    )
    inside.sum_duplicates()
    inside.data[:] = 1.0
    sizes = np.asarray(inside.sum(axis=0)).ravel()
    n_pairs, limit = int((sizes * (sizes - 1)).sum()), get_limits().pairs
    if n_pairs > limit:
        raise DatasetError(
            f"{name}: its groups make {n_pairs:,} pairs; the limit is {limit:,}. Read it as pairs "
            "of an item and its group, or bring smaller groups."
        )
    coo = sp.coo_array(inside @ inside.T)
    keep = coo.row != coo.col
    rows, columns = coo.row[keep], coo.col[keep]
    if not len(rows):
        raise DatasetError(
            f"{name}: no group has two items, so nothing belongs together. Choose another column "
            "as the group, or read the file as pairs."
        )
    relevance = Relevance.from_pairs(rows, columns, shape=(n_items, n_items), unjudged="negative")
    alone = n_items - len(np.unique(rows))
    notes = [
        f"{counted(int((sizes > 1).sum()), 'group')} of two items or more: every item belongs to "
        "all others of its group."
    ]
    if alone:
        notes.append(
            f"{counted(alone, 'item stands', 'items stand')} alone in a group: nothing belongs "
            "to them, but they compete as answers."
        )
    return relevance, [*map(Note, notes)]


def attach(
    table: Table, roles: ColumnRoles, rows: Codes, sides: Mapping[str, Grouping]
) -> tuple[Metadata, list[Note]]:
    """Give each column to the sides whose items it follows from."""
    # A column follows from an item when all rows of the item agree. The split column is stored
    # as "split" and the group column as "group". Where a few items stand in several parts of a
    # split (a leak in the file), they count as train rather than test.
    metadata: Metadata = {"x": {}, "y": {}}
    notes: list[Note] = []
    if roles.split is not None:
        notes += _attach_split(table, roles.split, rows, sides, metadata)
    both, used = ("x", "y"), roles.used()
    others = (c for c in table.frame if c not in used and table.kinds[c] != "empty")
    requested: list[tuple[str, str, tuple[str, ...]]] = [
        *((c, _short(c, "x"), ("x",)) for c in roles.x_metadata),
        *((c, _short(c, "y"), ("y",)) for c in roles.y_metadata),
        *((c, "group", both) for c in (roles.group,) if c is not None),
        *((c, c, both) for c in others),
    ]
    for column, name, candidates in requested:
        candidates = tuple(side for side in candidates if side in sides)
        if not candidates or column in table.vectors:
            continue
        cells = table[column][rows]
        differing = {side: _conflicting_rows(cells, sides[side]) for side in candidates}
        for side in candidates:
            if not len(differing[side]):
                unique = name if name not in metadata[side] else column
                metadata[side][unique] = typed(cells[sides[side][1]], column == roles.group)
        if all(len(rows_) for rows_ in differing.values()):
            codes_of, first = sides[candidates[0]]
            at = int(differing[candidates[0]][0])
            before = int(first[codes_of[at]])
            message = (
                f"Column {shown(column)} was dropped: one item has several values there "
                f"({shown(cells[before])} in {table.unit} {table.rows[rows[before]]}, "
                f"{shown(cells[at])} in {table.unit} {table.rows[rows[at]]})."
            )
            notes.append(Note(message, "dropped", table.rows[rows[[before, at]]], column))
    return metadata, notes


def _attach_split(
    table: Table, column: str, rows: Codes, sides: Mapping[str, Grouping], metadata: Metadata
) -> list[Note]:
    """Store the parts of a split on the sides that they follow from, or nearly."""
    ranks = _split_ranks(table, column, rows)
    moved = {s: np.unique(g[0][_conflicting_rows(ranks, g)]) for s, g in sides.items()}
    exact = [s for s in sides if not len(moved[s])]
    near = [s for s, g in sides.items() if len(moved[s]) <= _MAX_IN_SEVERAL * len(g[1])]
    notes: list[Note] = []
    for side in exact or near:
        codes, first = sides[side]
        earliest = np.full(len(first), len(_PARTS) - 1)
        np.minimum.at(earliest, codes, ranks)
        metadata[side]["split"] = np.array([_PARTS[r] for r in earliest], dtype=object)
        if len(moved[side]):
            n = counted(len(moved[side]), f"{side} item stands", f"{side} items stand")
            message = (
                f"{n} in several parts of column {shown(column)}, which would leak; they count "
                "as train rather than validation, as validation rather than test."
            )
            notes.append(Note(message, "lost"))
    if not exact and not near:
        message = (
            f"Column {shown(column)} of {table.name} was dropped: too many items of both sides "
            "stand in several of its parts, so it cannot split them without a leak. Split by x, "
            "y or pair instead."
        )
        notes.append(Note(message, "lost"))
    return notes


def _conflicting_rows(cells: Any, grouping: Grouping) -> Codes:
    """Rows whose cell is not that of their item's first row."""
    codes, first = grouping
    return np.flatnonzero(cells != cells[first[codes]])


def _short(column: str, side: str) -> str:
    """A metadata name without its side: x_lang is the lang of an x item."""
    prefix = f"{side}_"
    return column[len(prefix) :] if column.lower().startswith(prefix) else column


def _split_ranks(table: Table, column: str, rows: Codes) -> Codes:
    """The part of each row by its place in a split, train first."""
    codes, _, cells = table.factorize(column)
    parts = [SPLIT_WORDS.get(c.strip().lower(), "") for c in cells]
    wrong = table.where(
        column, lambda c: c.strip().lower() not in SPLIT_WORDS and not is_missing(c)
    )
    if wrong[rows].any():
        at = rows[int(np.argmax(wrong[rows]))]
        raise DatasetError(
            f"{table.place(at, column)}: {shown(table[column][at])} is no part of a "
            "split. Write train, validation or test, or do not use the column as the split."
        )
    return np.array([_PARTS.index(part) for part in parts], dtype=np.intp)[codes[rows]]


def typed(cells: Any, is_text: bool) -> NDArray[Any]:
    """Metadata as whole numbers, numbers, or trimmed text."""
    if not is_text and are_numbers(cells):
        values = np.array([np.nan if is_missing(c) else float(c) for c in cells])
        whole = np.isfinite(values).all() and (values == np.round(values)).all()
        return values.astype(np.int64) if whole and np.abs(values).max() < 2**53 else values
    return as_cells([c.strip() for c in cells])


def grouped(members: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Texts with their groups; one that stands there several times has those of all."""
    groups_of: dict[str, dict[str, None]] = {}
    for text, group in members:
        groups_of.setdefault(text, {})[group] = None
    return {text: tuple(groups) for text, groups in groups_of.items()}


def read_taxonomy(source: Source) -> dict[str, tuple[str, ...]]:
    """Titles, in lower case, with the groups of each, from the columns title and group_id."""
    table = read_table(source)
    if not {"title", "group_id"} <= {*table.frame}:
        raise DatasetError(f"{table.name} needs the columns title and group_id.")
    return grouped(zip(map(str.lower, table["title"]), table["group_id"], strict=True))


def taxonomy_pairs(titles: Grouped, inputs: Grouped | None = None, **names: Any) -> PairSet:
    """Pair texts with the titles of a taxonomy that share a group with them."""
    members: dict[str, list[int]] = {}
    for column, groups in enumerate(titles.values()):
        for group in groups:
            members.setdefault(group, []).append(column)
    y = _items(titles)
    x, inputs = (y, titles) if inputs is None else (_items(inputs), inputs)
    rows, columns = [], []
    for row, (text, groups) in enumerate(inputs.items()):
        partners = {column for group in groups for column in members.get(group, ())}
        if not partners:
            raise DatasetError(
                f"{text!r} belongs to {', '.join(groups) or 'no group'}, which no title of the "
                "taxonomy does. Leave it out, or add a title to that group."
            )
        rows += [row] * len(partners)
        columns += sorted(partners)
    relevance = Relevance.from_pairs(rows, columns, shape=(len(x), len(y)), unjudged="negative")
    return PairSet(x, y, relevance, **names)


def _items(grouped: Grouped) -> Items:
    groups = np.array([GROUP_SEPARATOR.join(of) for of in grouped.values()], dtype=object)
    return Items([str(i) for i in range(len(grouped))], list(grouped), "text", {"group": groups})
