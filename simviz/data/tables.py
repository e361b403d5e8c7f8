"""Tables: a file as named columns of text, each row with the number a person sees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from simviz.data import delimited, jsonl
from simviz.data.cells import (
    Columns,
    Factorized,
    are_numbers,
    as_cells,
    did_you_mean,
    factorize,
    is_missing,
    rows_named,
    shown,
)
from simviz.data.limits import get_limits
from simviz.data.sources import Source, decode_text, gunzip, load_bytes, signature
from simviz.exceptions import DatasetError

if TYPE_CHECKING:
    import pandas as pd

#: A cell longer than this is read whole, but pointed out.
LONG_CELL = 100_000
#: From this size on, text is read in columns where it follows all rules.
_LARGE = 2**20
_HEAD = 256 * 1024

ColumnKind = Literal["text", "number", "empty", "vector"]
Unit = Literal["line", "row", "object"]


@dataclass(frozen=True, eq=False)
class Table:
    r"""A file as columns of text.

    Parameters
    ----------
    name : str
        File name, for messages.
    columns : mapping of str to object array of str, shape (n,)
        Cells as text; an empty string where nothing is known. Of a column of
        vectors, a few numbers to show.
    rows : array of int, shape (n,)
        The number of each row: the line in a text file (the header of a
        delimited file is line 1), the row, counted from 1, elsewhere.
    unit : {"line", "row", "object"}
        What `rows` counts.
    delimiter : str
        The delimiter that was found; empty where there is none.
    notes : tuple of str
        What was mended or guessed while reading.
    vectors : mapping of str to array of shape (n, d)
        Columns whose cells are lists of numbers.

    Examples
    --------
    >>> table = read_table(b"query,document\nheart,blood pump\n", "q.csv")
    >>> list(table.columns), len(table), table.place(0, "query")
    (['query', 'document'], 1, "q.csv, line 2, column 'query'")
    """

    name: str
    columns: Mapping[str, NDArray[np.object_]]
    rows: NDArray[np.int64]
    unit: Unit = "line"
    delimiter: str = ""
    notes: tuple[str, ...] = ()
    vectors: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    _factorized: dict[str, Factorized] = field(default_factory=dict, init=False, repr=False)

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

    def factorize(self, name: str) -> Factorized:
        """One column by its distinct cells, worked out once.

        Parameters
        ----------
        name : str
            Of the column.

        Returns
        -------
        Factorized
            The distinct cells, and which of them stands in each row.

        Raises
        ------
        DatasetError
            If there is none of that name.
        """
        if name not in self._factorized:
            self._factorized[name] = factorize(self.column(name))
        return self._factorized[name]

    @cached_property
    def kinds(self) -> Mapping[str, ColumnKind]:
        """What each column holds: numbers, text, vectors, or nothing."""
        return MappingProxyType({name: self._kind(name) for name in self.columns})

    def _kind(self, name: str) -> ColumnKind:
        if name in self.vectors:
            return "vector"
        cells = self.factorize(name).uniques
        if are_numbers(cells):  # type: ignore[arg-type]
            return "number"
        return "empty" if all(map(is_missing, cells)) else "text"

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
    source: Source,
    name: str | None = None,
    *,
    header: bool = True,
    max_bytes: int | None = None,
    sheet: str | None = None,
) -> Table:
    r"""Read a table: CSV, TSV, JSON, JSONL, Parquet, Arrow, Feather or Excel.

    Any of them may be packed with gzip. What a file is, is told from its
    content first and its name second. The delimiter (comma, tab, semicolon,
    vertical bar), the quoting and the encoding are found; whatever was mended
    is said in the notes. Nothing is executed and nothing is unpickled.

    Parameters
    ----------
    source : str, Path or bytes
        A path, or the content of a file.
    name : str, optional
        File name, where bytes are given.
    header : bool, default=True
        Whether the first line of a delimited file names the columns.
    max_bytes : int, optional
        Largest file, before and after unpacking; as in `ReadingLimits` when
        omitted.
    sheet : str, optional
        Sheet of an Excel workbook; the first when omitted.

    Returns
    -------
    Table
        Columns of text and of vectors.

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
    from simviz.data import arrow, excel

    max_bytes = max_bytes or get_limits().file_bytes
    name, data = load_bytes(source, name, max_bytes)
    name, data = gunzip(name, data, max_bytes)
    suffix = PurePath(name).suffix.lower()
    what = signature(data)
    notes: list[str] = []
    if what == "a Parquet file":
        if suffix not in (".parquet", ".pq"):
            notes.append(f"{name} is a Parquet file in spite of its name and was read as one.")
        return make_table(name, arrow.read_columns(name, data, max_bytes), "row", notes=notes)
    if what == "an Arrow file" or (what is None and suffix in (".arrow", ".arrows", ".feather")):
        return make_table(name, arrow.read_arrow(name, data, max_bytes), "row")
    if excel.is_workbook(data, suffix):
        return make_table(name, excel.read_columns(name, data, sheet, header), "row")
    if what is not None or suffix in (".parquet", ".pq"):
        raise DatasetError(
            f"{name} is {what or 'not a Parquet file'}, not a table. "
            "Export it as CSV, TSV, JSONL, Parquet, Arrow or Excel (.xlsx)."
        )
    return _read_text(name, data, suffix, header)


def table_from_frame(frame: Any, *, name: str = "frame") -> Table:
    """A data frame of any library as a table.

    Parameters
    ----------
    frame : data frame
        As in `from_frame`.
    name : str, default="frame"
        For messages.

    Returns
    -------
    Table
        Columns of lists of equally many numbers are its vectors.

    Raises
    ------
    DatasetError
        If it is no data frame, or too large.
    """
    import pyarrow as pa

    from simviz.data import arrow

    try:
        table = arrow.as_arrow(frame)
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError) as error:
        if isinstance(error, DatasetError):
            raise
        reason = str(error).split("\n")[0][:200]
        raise DatasetError(
            f"{name} cannot be read as a table ({reason}). Give its columns types that Arrow "
            "knows, such as text and numbers."
        ) from error
    columns = arrow.gather(
        name, table.column, table.schema, table.num_rows, get_limits().unpacked_bytes
    )
    return make_table(name, columns, "row")


def _read_text(name: str, data: bytes, suffix: str, header: bool) -> Table:
    """JSON or delimited text; large and well-formed text by the short way."""
    head = data[:_HEAD].decode("utf-8", "ignore")
    is_json = suffix in (".jsonl", ".ndjson", ".json") or jsonl.looks_like_jsonl(head)
    if len(data) >= _LARGE and header and not is_json:
        found = delimited.read_large(name, data, head, suffix)
        if found is not None:
            return make_table(name, found[0], "line", found[1])
    text, notes = decode_text(name, data)
    if is_json or jsonl.looks_like_jsonl(text):
        columns = jsonl.read_columns(name, text)
        unit: Unit = "object" if text.lstrip().startswith("[") else "line"
        return make_table(name, columns, unit, notes=notes)
    columns, delimiter = delimited.read_columns(name, text, suffix, header)
    return make_table(name, columns, "line", delimiter, notes)


def make_table(
    name: str, columns: Columns, unit: Unit, delimiter: str = "", notes: Sequence[str] = ()
) -> Table:
    """Check what every format must have, and freeze it."""
    limits, rows = get_limits(), columns.rows
    if not columns.content:
        raise DatasetError(
            f"{name} has no column that can be read. Bring one column of text a side."
        )
    if len(columns.content) == 1:
        (only,) = columns.content
        raise DatasetError(
            f"{name} has one column only ({shown(only)}). Pairs need two: one for each side."
        )
    if not len(rows):
        raise DatasetError(f"{name} has columns but no rows. Add at least one row.")
    if len(rows) > limits.rows:
        raise DatasetError(
            f"{name} has {len(rows):,} rows; the limit is {limits.rows:,}. Bring a sample."
        )
    text = {c: given for c, given in columns.content.items() if isinstance(given, Factorized)}
    vectors = {c: given for c, given in columns.content.items() if isinstance(given, np.ndarray)}
    frozen: dict[str, NDArray[np.object_]] = {}
    long: list[str] = []
    for column in columns.content:
        if column in text:
            cells = text[column].cells
            if max(map(len, text[column].uniques)) > LONG_CELL:
                long += _long_cells(name, unit, column, cells, rows)
        else:
            cells = _vector_cells(vectors[column])
        cells.flags.writeable = False
        frozen[column] = cells
    said = [*notes, *columns.notes]
    if long:
        more = f" and {len(long) - 3:,} more" if len(long) > 3 else ""
        said.append(
            f"{name} has very long cells: {'; '.join(long[:3])}{more}. They were read whole; "
            "if that is a surprise, look for a missing closing quote there."
        )
    table = Table(
        name=name,
        columns=MappingProxyType(frozen),
        rows=np.asarray(rows, dtype=np.int64),
        unit=unit,
        delimiter=delimiter,
        notes=tuple(said),
        vectors=MappingProxyType(vectors),
    )
    table._factorized.update(text)
    return table


def _long_cells(
    name: str, unit: str, column: str, cells: NDArray[np.object_], rows: Sequence[int]
) -> list[str]:
    """Name cells that are longer than anybody writes; refuse what is far too long."""
    limit = get_limits().cell_characters
    found = [i for i, cell in enumerate(cells) if len(cell) > LONG_CELL]
    if beyond := [i for i in found if len(cells[i]) > limit]:
        at = beyond[0]
        raise DatasetError(
            f"{name}, {unit} {rows[at]}, column {shown(column)} holds {len(cells[at]):,} "
            f"characters; the limit is {limit:,}. Look for a missing closing quote, or shorten it."
        )
    return [
        f"{unit} {rows[i]}, column {shown(column)} ({len(cells[i]):,} characters)" for i in found
    ]


def _vector_cells(matrix: NDArray[Any]) -> NDArray[np.object_]:
    """What a preview shows of vectors."""
    width = matrix.shape[1]
    more = f", … ({width:,} numbers)" if width > 3 else ""
    return as_cells([", ".join(f"{v:.3g}" for v in row[:3]) + more for row in matrix])
