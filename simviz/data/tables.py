"""Tables: a file as named columns of text, each row with the number a person sees."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from simviz.data import delimited, longform
from simviz.data.cells import are_numbers, is_missing, unescape_cell
from simviz.data.sources import MAX_BYTES, Source, decode_text, gunzip, load_bytes, signature
from simviz.data.wording import counted, did_you_mean, rows_named, shown
from simviz.exceptions import DatasetError

if TYPE_CHECKING:
    import pandas as pd

#: More columns, or more cells, than this are refused: a short line of a wide
#: file still costs a whole row.
MAX_COLUMNS = 1_000
MAX_CELLS = 20_000_000
#: A cell longer than this is read whole, but pointed out.
LONG_CELL = 100_000
# A spreadsheet's own line before the header, which names the delimiter.
_DIRECTIVE = re.compile(r"(?i)sep=([,;|\t])(?:\r\n|\n|\r|$)")

ColumnKind = Literal["text", "number", "empty"]


@dataclass(frozen=True, eq=False)
class Table:
    r"""A file as columns of text.

    Parameters
    ----------
    name : str
        File name, for messages.
    columns : mapping of str to object array of str, shape (n,)
        Cells as text; an empty string where nothing is known.
    rows : array of int, shape (n,)
        The number of each row: the line in a text file (the header of a
        delimited file is line 1), the row, counted from 1, in Parquet.
    unit : {"line", "row"}
        What `rows` counts.
    delimiter : str
        The delimiter that was found; empty for JSONL and Parquet.
    notes : tuple of str
        What was mended or guessed while reading.

    Examples
    --------
    >>> table = read_table(b"query,document\nheart,blood pump\n", "q.csv")
    >>> list(table.columns), len(table), table.place(0, "query")
    (['query', 'document'], 1, "q.csv, line 2, column 'query'")
    """

    name: str
    columns: Mapping[str, NDArray[np.object_]]
    rows: NDArray[np.int64]
    unit: Literal["line", "row"] = "line"
    delimiter: str = ""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def place(self, row: int, column: str | None = None) -> str:
        """Where a cell stands, as a person finds it in the file.

        Parameters
        ----------
        row : int
            Position in the table, from 0.
        column : str, optional
            Its name; the place of the whole row when omitted.

        Returns
        -------
        str
            Such as "q.csv, line 2, column 'query'".
        """
        where = f"{self.name}, {self.unit} {self.rows[row]}"
        return where if column is None else f"{where}, column {shown(column)}"

    def named(self, rows: Iterable[int]) -> str:
        """Name several rows, as a person finds them in the file.

        Parameters
        ----------
        rows : iterable of int
            Positions in the table, from 0.

        Returns
        -------
        str
            Such as "lines 2, 5 and 9".
        """
        return rows_named(self.unit, [int(self.rows[r]) for r in rows])

    def column(self, name: str) -> NDArray[np.object_]:
        """One column by its name.

        Parameters
        ----------
        name : str
            Of the column.

        Returns
        -------
        object array of str, shape (n,)
            Its cells.

        Raises
        ------
        DatasetError
            If there is none of that name.
        """
        if name not in self.columns:
            raise DatasetError(
                f"{self.name} has no column {shown(name)}. {did_you_mean(name, self.columns)}"
            )
        return self.columns[name]

    @cached_property
    def kinds(self) -> Mapping[str, ColumnKind]:
        """What each column holds: numbers, text, or nothing."""
        return MappingProxyType({name: _kind(cells) for name, cells in self.columns.items()})

    def to_frame(self, n: int | None = None) -> pd.DataFrame:
        """The first rows as a data frame, for a preview.

        Parameters
        ----------
        n : int, optional
            How many rows; all when omitted.

        Returns
        -------
        pandas.DataFrame
            Indexed by line or row.
        """
        import pandas as pd

        data = {name: cells[:n] for name, cells in self.columns.items()}
        return pd.DataFrame(data, index=pd.Index(self.rows[:n], name=self.unit))


def read_table(
    source: Source, name: str | None = None, *, header: bool = True, max_bytes: int = MAX_BYTES
) -> Table:
    r"""Read CSV, TSV, JSONL or Parquet, the text ones also as gzip.

    What a file is, is told from its content first and its name second. The
    delimiter (comma, tab, semicolon, vertical bar), the quoting and the
    encoding are found; whatever was mended is said in the notes. Nothing is
    executed and nothing is unpickled.

    Parameters
    ----------
    source : str, Path or bytes
        A path, or the content of a file.
    name : str, optional
        File name, where bytes are given.
    header : bool, default=True
        Whether the first line of a delimited file names the columns.
    max_bytes : int, default=200 MiB
        Largest file, before and after unpacking.

    Returns
    -------
    Table
        Columns of text.

    Raises
    ------
    DatasetError
        If the file cannot be understood; names the file, the row, the column
        and the remedy.

    Examples
    --------
    >>> read_table("x;y\ncorazón;heart".encode("latin-1"), "words.csv").notes[0][:45]
    'words.csv is not UTF-8 (line 2 holds byte 0xf'
    """
    from simviz.data import jsonl, parquet

    name, data = load_bytes(source, name, max_bytes)
    name, data = gunzip(name, data, max_bytes)
    suffix = PurePath(name).suffix.lower()
    what = signature(data)
    notes: list[str] = []
    if what == "a Parquet file":
        if suffix not in (".parquet", ".pq"):
            notes.append(f"{name} is a Parquet file in spite of its name and was read as one.")
        columns, rows, more = parquet.read_columns(name, data, max_bytes, MAX_COLUMNS, MAX_CELLS)
        return _finish(name, columns, rows, "row", "", notes + more)
    if what is not None or suffix in (".parquet", ".pq"):
        raise DatasetError(
            f"{name} is {what or 'not a Parquet file'}, not a table. "
            "Export it as CSV, TSV, JSONL or Parquet."
        )
    text, notes = decode_text(name, data)
    if suffix in (".jsonl", ".ndjson", ".json") or jsonl.looks_like_jsonl(text):
        columns, rows, more = jsonl.read_columns(name, text, MAX_COLUMNS, MAX_CELLS)
        return _finish(name, columns, rows, "line", "", notes + more)
    return _read_delimited(name, text, suffix, header, notes)


def _read_delimited(name: str, text: str, suffix: str, header: bool, notes: list[str]) -> Table:
    """Assemble a table from delimited text."""
    skipped = 0
    delimiter = longform.own_delimiter(text)
    own = delimiter is not None
    if directive := _DIRECTIVE.match(text):
        delimiter, skipped = directive.group(1), 1
        text = text[directive.end() :]
    if not text.strip():
        raise DatasetError(f"{name} holds only blank lines. Export it again, with its content.")
    delimiter = delimiter or delimited.sniff_delimiter(text, suffix)
    if delimiter is None:
        first = text.strip().split("\n", 1)[0]
        raise DatasetError(
            f"{name} has one column only (line 1 is {shown(first)}). Pairs need two columns: "
            "separate them by commas, tabs, semicolons or vertical bars."
        )
    records, more = delimited.read_records(name, text, delimiter, strict=own)
    notes = notes + more
    if header:
        names, records = records[0][1], records[1:]
    else:
        names = [f"column_{i + 1}" for i in range(len(records[0][1]))]
    if not own:
        names, more = _clean_names(name, names)
        notes = notes + more
    if not records:
        listed = ", ".join(shown(n) for n in names[:6])
        raise DatasetError(
            f"{name} has a header ({listed}) but no row below it. Add at least one row."
        )
    _refuse_wide(name, len(names), len(records))
    cells, more = _rectangular(name, names, records, skipped, delimiter)
    if own:
        cells = [[unescape_cell(cell) for cell in column] for column in cells]
    rows = [line + skipped for line, _ in records]
    return _finish(
        name, dict(zip(names, cells, strict=True)), rows, "line", delimiter, notes + more
    )


def _clean_names(name: str, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Trim column names, name the nameless, tell the equal apart."""
    notes: list[str] = []
    clean: list[str] = []
    for i, raw in enumerate(names):
        wanted = raw.strip()
        if not wanted:
            wanted = f"column_{i + 1}"
            notes.append(f"{name}: column {i + 1} has no name; it is called {shown(wanted)}.")
        unique, k = wanted, 2
        while unique in clean or (unique != wanted and unique in names):
            unique, k = f"{wanted}_{k}", k + 1
        if unique != wanted:
            notes.append(
                f"{name} names two columns {shown(wanted)}; column {i + 1} is called "
                f"{shown(unique)}. Rename one of them in line 1 to choose its name."
            )
        clean.append(unique)
    return clean, notes


def _rectangular(
    name: str,
    names: Sequence[str],
    records: Sequence[delimited.Record],
    skipped: int,
    delimiter: str,
) -> tuple[list[list[str]], list[str]]:
    """Turn records into columns; fill short ones, refuse long ones."""
    width = len(names)
    columns: list[list[str]] = [[] for _ in range(width)]
    short: list[int] = []
    for line, fields in records:
        if len(fields) > width:
            if any(cell.strip() for cell in fields[width:]):
                raise DatasetError(
                    f"{name}, line {line + skipped} has {len(fields)} cells but the header has "
                    f"{width}; the first beyond column {shown(names[-1])} is "
                    f"{shown(next(c for c in fields[width:] if c.strip()))}. Put cells that "
                    f"contain {delimited.DELIMITERS.get(delimiter, 'the delimiter')} in double "
                    "quotes, or use another delimiter."
                )
            fields = fields[:width]
        elif len(fields) < width:
            short.append(line + skipped)
            fields = fields + [""] * (width - len(fields))
        for column, cell in zip(columns, fields, strict=True):
            column.append(cell)
    if not short:
        return columns, []
    return columns, [
        f"{name}: {counted(len(short), 'row')} with fewer cells than the header's {width} "
        f"({rows_named('line', short)}); the missing cells count as empty."
    ]


def _refuse_wide(name: str, n_columns: int, n_rows: int) -> None:
    if n_columns > MAX_COLUMNS:
        raise DatasetError(
            f"{name} has {n_columns:,} columns; the limit is {MAX_COLUMNS:,}. "
            "Keep the columns with the pairs and remove the others."
        )
    if n_columns * n_rows > MAX_CELLS:
        raise DatasetError(
            f"{name} has {n_rows:,} rows of {n_columns:,} columns; the limit is {MAX_CELLS:,} "
            "cells. Bring a sample, or fewer columns."
        )


def _finish(
    name: str,
    columns: Mapping[str, Sequence[str]],
    rows: Sequence[int],
    unit: Literal["line", "row"],
    delimiter: str,
    notes: Sequence[str],
) -> Table:
    """Check what every format must have and freeze it."""
    if len(columns) < 2:
        listed = ", ".join(shown(c) for c in columns) or "none that can be read"
        raise DatasetError(
            f"{name} has one column only ({listed}). Pairs need two: one for each side."
            if columns
            else f"{name} has no column that can be read. Bring one column of text a side."
        )
    if not len(rows):
        raise DatasetError(f"{name} has columns but no rows. Add at least one row.")
    frozen: dict[str, NDArray[np.object_]] = {}
    long: list[str] = []
    for column, cells in columns.items():
        array = np.empty(len(rows), dtype=object)
        array[:] = cells
        array.flags.writeable = False
        frozen[column] = array
        long += [
            f"{unit} {rows[i]}, column {shown(column)} ({len(cell):,} characters)"
            for i, cell in enumerate(cells)
            if len(cell) > LONG_CELL
        ]
    notes = list(notes)
    if long:
        more = f" and {len(long) - 3:,} more" if len(long) > 3 else ""
        notes.append(
            f"{name} has very long cells: {'; '.join(long[:3])}{more}. They were read whole; "
            "if that is a surprise, look for a missing closing quote there."
        )
    return Table(
        name=name,
        columns=MappingProxyType(frozen),
        rows=np.asarray(rows, dtype=np.int64),
        unit=unit,
        delimiter=delimiter,
        notes=tuple(notes),
    )


def _kind(cells: NDArray[np.object_]) -> ColumnKind:
    if are_numbers(cells):  # type: ignore[arg-type]
        return "number"
    return "empty" if all(is_missing(c) for c in cells) else "text"
