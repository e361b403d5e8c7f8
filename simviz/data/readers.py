"""From a table to pairs: distinct items, merged judgments, notes on what was done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from simviz.data import longform
from simviz.data.items import Items
from simviz.data.labels import parse_labels
from simviz.data.longreader import from_long_form
from simviz.data.metadata import attach
from simviz.data.pairs import PairSet
from simviz.data.result import LeftOut, ReadResult
from simviz.data.roles import Roles, guess_roles
from simviz.data.sources import MAX_BYTES, Source
from simviz.data.tables import Table, read_table
from simviz.data.wording import counted, shown
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance

Codes = NDArray[np.intp]


def read_pairs(
    source: Source,
    name: str | None = None,
    roles: Roles | None = None,
    *,
    max_bytes: int = MAX_BYTES,
) -> ReadResult:
    r"""Read pairs from a CSV, TSV, JSONL or Parquet file in one call.

    Either *row-aligned*: a row is a pair that belongs together; or *long
    form*: a row is one judgment with a grade, a score, or a word.

    Parameters
    ----------
    source : str, Path or bytes
        A path, or the content of a file.
    name : str, optional
        File name, where bytes are given.
    roles : Roles, optional
        Which column is which; guessed when omitted.
    max_bytes : int, default=200 MiB
        Largest file, before and after unpacking.

    Returns
    -------
    ReadResult
        The pairs, notes in plain words, rows left out, the table and roles.

    Raises
    ------
    DatasetError
        If the file cannot be understood; names the file, the row, the column
        and the remedy.

    Examples
    --------
    >>> result = read_pairs(b"query,document,label\na,b,1\na,c,0\n,d,1\n", "q.csv")
    >>> result.pairs.relevance
    Relevance(1 × 2, 1 relevant, 1 judged not relevant, unjudged='ignore', kind='grade')
    >>> result.left_out
    (LeftOut(row=4, reason='the x side is empty'),)
    """
    table = read_table(source, name, max_bytes=max_bytes)
    return to_pairs(table, roles or guess_roles(table))


def to_pairs(table: Table, roles: Roles) -> ReadResult:
    """Turn a table into pairs by the given roles.

    Items are distinct by id, else by text (without surrounding spaces);
    their rows merge, and of several grades for one pair the highest stays.
    Columns without a role become metadata of the side whose item they follow
    from. Files written by `simviz.data.write_pairs` are read back exactly.

    Parameters
    ----------
    table : Table
        From `read_table`.
    roles : Roles
        From `guess_roles`, corrected where needed.

    Returns
    -------
    ReadResult
        The pairs and what was done to get them.

    Raises
    ------
    DatasetError
        If a role names no column, an id stands for two texts, or a label
        cannot be understood.
    """
    roles.check(table)
    header = longform.parse_header(list(table.columns))
    if header is not None and (roles.x, roles.y, roles.label) == _long_form_columns(table):
        return ReadResult(from_long_form(table, header), table.notes, (), table, roles)
    notes = list(table.notes)
    rows, left_out = _complete_rows(table, roles)
    values: NDArray[np.float64] | None = None
    kind = roles.label_kind or "grade"
    if roles.label is not None:
        values, kind, more = parse_labels(table, roles.label, rows, roles.label_kind)
        notes += more
        judged = ~np.isnan(values)
        left_out += [LeftOut(int(table.rows[r]), "the label is empty") for r in rows[~judged]]
        rows, values = rows[judged], values[judged]
    left_out.sort(key=lambda item: item.row)
    notes += _left_out_notes(table, left_out)
    x_codes, x_first, x_ids, x_texts = _items(table, roles.x, roles.x_id, rows)
    y_codes, y_first, y_ids, y_texts = _items(table, roles.y, roles.y_id, rows)
    notes += _merge_notes(table, rows, x_codes, y_codes, values)
    metadata, more = attach(table, roles, rows, {"x": (x_codes, x_first), "y": (y_codes, y_first)})
    notes += more
    relevance = Relevance.from_pairs(
        x_codes,
        y_codes,
        values,
        shape=(len(x_ids), len(y_ids)),
        unjudged=roles.unjudged,
        kind=kind,
    )
    if relevance.unjudged == "negative":
        notes.append("Every pair that is not listed counts as not relevant.")
    else:
        notes.append("Pairs that are not listed count as unknown: only judged pairs are used.")
    pairs = PairSet(
        Items(x_ids, x_texts, "text", metadata["x"]),
        Items(y_ids, y_texts, "text", metadata["y"]),
        relevance,
        name=PurePath(table.name).stem or "pairs",
        x_name=roles.x,
        y_name=roles.y,
    )
    return ReadResult(pairs, tuple(notes), tuple(left_out), table, roles)


def _long_form_columns(table: Table) -> tuple[str, ...]:
    names = list(table.columns)
    return names[1], names[3], names[4]


def _complete_rows(table: Table, roles: Roles) -> tuple[Codes, list[LeftOut]]:
    """Rows with something on both sides, and the others with the reason."""
    keep: list[int] = []
    left_out: list[LeftOut] = []
    sides = zip(table.column(roles.x), table.column(roles.y), strict=True)
    for row, (x, y) in enumerate(sides):
        empty = [side for side, cell in (("x", x), ("y", y)) if not cell.strip()]
        if empty:
            both = "both sides are empty"
            reason = both if len(empty) == 2 else f"the {empty[0]} side is empty"
            left_out.append(LeftOut(int(table.rows[row]), reason))
        else:
            keep.append(row)
    if not keep:
        raise DatasetError(
            f"{table.name}: no row has text in both column {shown(roles.x)} and column "
            f"{shown(roles.y)}. Choose other columns for the two sides, or fill them."
        )
    return np.array(keep, dtype=np.intp), left_out


def _items(
    table: Table, column: str, id_column: str | None, rows: Codes
) -> tuple[Codes, Codes, NDArray[np.object_], list[str]]:
    """Distinct items of a side in order of appearance.

    Returns the item of each row, the first row (a position in `rows`) of each
    item, and the items' ids and texts.
    """
    texts = [c.strip() for c in table.column(column)[rows]]
    if id_column is None or id_column == column:
        codes, first = _factorize(texts)
        distinct = [texts[i] for i in first]
        ids = distinct if id_column else [str(i) for i in range(len(first))]
        return codes, first, np.array(ids, dtype=object), distinct
    keys = [c.strip() for c in table.column(id_column)[rows]]
    if "" in keys:
        raise DatasetError(
            f"{table.place(rows[keys.index('')], id_column)} is empty. Fill it, or do not use "
            f"{shown(id_column)} as the id: then items are told apart by their text."
        )
    codes, first = _factorize(keys)
    for i, (text, code) in enumerate(zip(texts, codes, strict=True)):
        if text != texts[first[code]]:
            raise DatasetError(
                f"{table.place(rows[i], column)}: id {shown(keys[i])} stands for {shown(text)} "
                f"here and for {shown(texts[first[code]])} in {table.unit} "
                f"{table.rows[rows[first[code]]]}. Give one of them another id, or do not use "
                f"{shown(id_column)} as the id."
            )
    distinct = [texts[i] for i in first]
    return codes, first, np.array([keys[i] for i in first], dtype=object), distinct


def _factorize(keys: Sequence[str]) -> tuple[Codes, Codes]:
    """Number keys in order of appearance; also where each appears first."""
    seen: dict[str, int] = {}
    codes = np.array([seen.setdefault(k, len(seen)) for k in keys], dtype=np.intp)
    first = np.unique(codes, return_index=True)[1].astype(np.intp)
    return codes, first


def _merge_notes(
    table: Table, rows: Codes, x: Codes, y: Codes, values: NDArray[np.float64] | None
) -> list[str]:
    """Say how many rows repeat a pair, and where they contradict one another."""
    pair = x.astype(np.int64) * (int(y.max()) + 1) + y
    _, of, times = np.unique(pair, return_inverse=True, return_counts=True)
    n_repeats = len(pair) - len(times)
    if not n_repeats:
        return []
    repeats = f"{counted(n_repeats, 'row repeats', 'rows repeat')} a pair that is listed before; "
    if values is None:
        return [repeats + "each pair counts once."]
    notes = [repeats + "each pair counts once, with its highest label."]
    low, high = np.full(len(times), np.inf), np.full(len(times), -np.inf)
    np.minimum.at(low, of, values)
    np.maximum.at(high, of, values)
    conflict = (low < 0) & (high > 0)
    if conflict.any():
        where = np.flatnonzero(conflict[of])
        notes.append(
            f"{counted(int(conflict.sum()), 'pair is', 'pairs are')} judged both relevant and "
            f"not relevant ({table.named(rows[where])}); they count as relevant."
        )
    return notes


def _left_out_notes(table: Table, left_out: Sequence[LeftOut]) -> list[str]:
    """One note for each reason."""
    at = {int(r): i for i, r in enumerate(table.rows)} if left_out else {}
    return [
        f"{counted(n, 'row')} left out because {reason} "
        f"({table.named(at[item.row] for item in left_out if item.reason == reason)})."
        for reason, n in Counter(item.reason for item in left_out).items()
    ]
