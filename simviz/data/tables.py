"""Tables: a file as named columns of text, each row with the number a person sees.

Delimited text is read by pyarrow where it follows all rules, else by the csv module.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import islice
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from simviz.data import arrow, excel, jsonl
from simviz.data.cells import (
    Codes,
    Content,
    Note,
    are_numbers,
    as_text,
    counted,
    factorize,
    first_of,
    is_missing,
    release_unused,
    rows_named,
    shown,
    unescape_cell,
)
from simviz.data.limits import get_limits, refuse_wide, report_progress
from simviz.data.sources import Source, decode_text, gunzip, load_bytes, signature
from simviz.exceptions import DatasetError

if TYPE_CHECKING:
    import pandas as pd

ColumnKind = Literal["text", "number", "empty", "vector"]
Record = tuple[int, list[str]]

#: A cell longer than this is read whole, but pointed out.
LONG_CELL = 100_000
DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars"}
#: In place of a delimiter where each line is one cell: a character of no text.
_NONE = "\x1f"
_SAMPLE = 256 * 1024
_BLOCK = 8 * 2**20
_QUOTE, _LF, _CR = 34, 10, 13
# A spreadsheet's own line before the header, which names the delimiter.
_DIRECTIVE = re.compile(r"(?i)sep=([,;|\t])(?:\r\n|\n|\r|$)")
# The header that `simviz.data.write_pairs` writes.
_OWN = re.compile(r"x_id([,\t])x\[(?:text|keyword)\]\1y_id\1y\[(?:text|keyword)\]\1")
# The module's own limit of 131,072 characters would refuse long cells; `ReadingLimits` has ours.
csv.field_size_limit(2**31 - 1)


@dataclass(frozen=True, eq=False)
class Table:
    r"""A file as columns of text.

    Parameters
    ----------
    name : str
        File name, for messages.
    frame : pandas.DataFrame
        Cells as text, empty where nothing is known; of vectors, a few numbers. The
        index has the number of each row in the file, and counts lines, rows or objects.
    delimiter : str
        The delimiter that was found; empty where there is none.
    notes : tuple of Note
        What was mended or guessed while reading.
    vectors : mapping of str to array of shape (n, d)
        Columns whose cells are lists of numbers.

    Examples
    --------
    >>> table = read_table(b"query,document\nheart,blood pump\n", "q.csv")
    >>> list(table.frame), len(table), table.place(0, "query")
    (['query', 'document'], 1, "q.csv, line 2, column 'query'")
    """

    name: str
    frame: pd.DataFrame
    delimiter: str = ""
    notes: tuple[Note, ...] = ()
    vectors: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    _factorized: dict[str, tuple[Codes, Codes, Any]] = field(
        default_factory=dict, init=False, repr=False
    )

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, column: str) -> Any:
        return self.frame[column].array

    @property
    def rows(self) -> NDArray[np.int64]:
        """The number of each row in the file: its line in a text, else counted from 1."""
        return self.frame.index.to_numpy()

    @property
    def unit(self) -> str:
        """What `rows` counts: "line", "row" or "object"."""
        return str(self.frame.index.name)

    def place(self, row: int, column: str | None = None) -> str:
        """Where a row or one of its cells stands, as a person finds it in the file.

        Parameters
        ----------
        row : int
            Position in the table, from 0.
        column : str, optional
            Its name.

        Returns
        -------
        str
            Such as "q.csv, line 2, column 'query'".
        """
        where = f"{self.name}, {self.unit} {self.frame.index[row]}"
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

    def factorize(self, column: str) -> tuple[Codes, Codes, Any]:
        """A column by its distinct cells, worked out once.

        Parameters
        ----------
        column : str
            Its name.

        Returns
        -------
        codes : ndarray of int, shape (n,)
            Which distinct cell stands in each row, numbered in order of appearance.
        first : ndarray of int
            The row in which each stands first.
        cells : array of str
            The distinct cells.
        """
        if column not in self._factorized:
            self._factorized[column] = factorize(self[column])
        return self._factorized[column]

    def uniques(self, column: str, limit: int) -> Any:
        """The distinct cells of a column, if they are few.

        Parameters
        ----------
        column : str
            Its name.
        limit : int
            How many they may be.

        Returns
        -------
        sequence of str
            None of them if there are more than `limit`.
        """
        # The first rows of a long column of texts are enough to see it.
        if len(self[column][: 50 * limit].unique()) > limit:
            return []
        cells = self.factorize(column)[2]
        return cells if len(cells) <= limit else []

    def where(self, column: str, holds: Callable[[str], bool]) -> NDArray[np.bool_]:
        """In which rows something holds of the cell.

        Parameters
        ----------
        column : str
            Its name.
        holds : callable
            Asked of each distinct cell.

        Returns
        -------
        ndarray of bool, shape (n,)
            One value a row.
        """
        codes, _, cells = self.factorize(column)
        return np.fromiter(map(holds, cells), bool, len(cells))[codes]

    def stripped(self, column: str) -> Any:
        """The cells of a column without spaces around them.

        Parameters
        ----------
        column : str
            Its name.

        Returns
        -------
        array of str, shape (n,)
            Those of the table itself where there is nothing to strip.
        """
        cells = self.frame[column]
        trimmed = cells.str.strip()
        return cells.array if trimmed.equals(cells) else trimmed.array

    def blank(self, column: str) -> NDArray[np.bool_]:
        """In which rows there is nothing.

        Parameters
        ----------
        column : str
            Its name.

        Returns
        -------
        ndarray of bool, shape (n,)
            A vector is always something.
        """
        if column in self.vectors:
            return np.zeros(len(self), dtype=bool)
        return np.asarray(self.stripped(column) == "")

    @cached_property
    def kinds(self) -> Mapping[str, ColumnKind]:
        """What each column holds: numbers, text, vectors, or nothing."""
        return MappingProxyType({name: self._kind(name) for name in self.frame})

    def _kind(self, name: str) -> ColumnKind:
        if name in self.vectors:
            return "vector"
        cells = self[name][:1000]  # enough of most columns of text
        if all(map(is_missing, cells)) or are_numbers(cells):
            cells = self.factorize(name)[2]
        if are_numbers(cells):
            return "number"
        return "empty" if all(map(is_missing, cells)) else "text"


def read_table(
    source: Source,
    name: str | None = None,
    *,
    header: bool = True,
    sheet: str | None = None,
    n_columns: int = 2,
) -> Table:
    r"""Read a table: CSV, TSV, JSON, JSONL, Parquet, Arrow, Feather or Excel.

    Any of them may be packed with gzip. What a file is, its content says
    first and its name second. Delimiter, quoting and encoding are guessed;
    notes say what was mended. Nothing is executed, and nothing unpickled.

    Parameters
    ----------
    source : str, Path or bytes
        A path, or the content of a file.
    name : str, optional
        File name, where bytes are given.
    header : bool, default=True
        Whether the first line of delimited text, or row of a sheet, names the columns.
    sheet : str, optional
        Sheet of an Excel workbook; the first when omitted.
    n_columns : int, default=2
        Columns that there are at least; with 1, a file of one text a line is a table.

    Returns
    -------
    Table
        Columns of text and of vectors.

    Raises
    ------
    DatasetError
        If it cannot be understood; names the file, row, column and remedy.

    Examples
    --------
    >>> read_table("x;y\ncorazón;heart".encode("latin-1"), "words.csv").notes[0][:45]
    'words.csv is not UTF-8 (line 2 holds byte 0xf'
    """
    name, data = gunzip(*load_bytes(source, name))
    suffix, what = PurePath(name).suffix.lower(), signature(data)
    notes, unit, delimiter = list[Note](), "row", ""
    if what == "a Parquet file":
        if suffix not in (".parquet", ".pq"):
            message = f"{name} is a Parquet file in spite of its name and was read as one."
            notes.append(Note(message, "taken"))
        content = arrow.read_columns(name, data)
    elif what == "an Arrow file" or (what is None and suffix in (".arrow", ".arrows", ".feather")):
        content = arrow.read_arrow(name, data)
    elif what == "a zip archive" and excel.is_workbook(data, suffix):
        title, n_sheets, records = excel.read_sheet(name, data, sheet)
        columns, rows, more = columns_of_records(name, records, header, "")
        if n_sheets > 1:  # with the content, so that an error says which sheet was read
            more = [Note(f"{name}: sheet {shown(title)} was read, of {n_sheets}."), *more]
        content = columns, rows, more
    elif what is not None or suffix in (".parquet", ".pq"):
        raise DatasetError(
            f"{name} is {what or 'not a Parquet file'}, not a table. "
            "Export it as CSV, TSV, JSONL, Parquet, Arrow or Excel (.xlsx)."
        )
    else:
        text, notes = decode_text(name, data)
        if suffix in (".jsonl", ".ndjson", ".json") or _looks_like_json(text):
            unit = "object" if text.lstrip()[:1] == "[" else "line"
            content = jsonl.read_columns(name, text)
        else:
            content, delimiter = _read_delimited(name, text, suffix, header, n_columns)
            unit = "line"
    return make_table(name, content, unit, delimiter, notes, n_columns)


def _looks_like_json(text: str) -> bool:
    r"""Whether the first line that is not blank is a JSON object."""
    if re.match(r"\s*\[\s*\{\s*\"", text):
        return True
    start = re.match(r"\s*(\{.*)", text)
    try:
        return start is not None and isinstance(json.loads(start[1]), dict)
    except (ValueError, RecursionError):
        return False


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
    limit = get_limits().unpacked_bytes
    content = arrow.gather(name, table.column, table.schema, table.num_rows, limit)
    return make_table(name, content, "row")


def items_by_id(
    table: Table, column: str, rows: Codes, ids: Any, values: Any, otherwise: str = ""
) -> tuple[tuple[Codes, Codes], Any]:
    """The items of some rows by the ids there, each of which stands for one value only."""
    # Besides the numbers of the items in the rows and the first row of each, their ids.
    codes, first, distinct = factorize(ids)
    differs = np.asarray(values != values[first[codes]])
    differing = np.flatnonzero(differs.any(axis=1) if differs.ndim > 1 else differs)
    if len(differing):
        at = int(differing[0])
        before = int(first[codes[at]])
        other = f"{table.unit} {table.rows[rows[before]]}"
        what = (
            f"another vector here than in {other}"
            if differs.ndim > 1
            else f"{shown(values[at])} here and for {shown(values[before])} in {other}"
        )
        raise DatasetError(
            f"{table.place(rows[at], column)}: id {shown(ids[at])} stands for {what}. "
            f"Give one of them another id{otherwise}."
        )
    return (codes, first), distinct.to_numpy(dtype=object)


def make_table(
    name: str,
    content: Content,
    unit: str,
    delimiter: str = "",
    notes: Sequence[Note] = (),
    n_columns: int = 2,
) -> Table:
    """Check what every format must have, and make a frame of it."""
    import pandas as pd

    limits, (columns, rows, more_notes) = get_limits(), content
    if not columns:
        why = " ".join(more_notes) or "Bring one column of text a side."
        raise DatasetError(f"{name} has no column that can be read. {why}")
    if len(columns) < n_columns:
        (only,) = columns
        raise DatasetError(
            f"{name} has one column only ({shown(only)}). Pairs need two: one for each side."
            + "".join(f" {note}" for note in more_notes)
        )
    if not len(rows):
        raise DatasetError(f"{name} has columns but no rows. Add at least one row.")
    if len(rows) > limits.rows:
        raise DatasetError(
            f"{name} has {len(rows):,} rows; the limit is {limits.rows:,}. Bring a sample."
        )
    vectors = {column: cells for column, cells in columns.items() if isinstance(cells, np.ndarray)}
    for column, matrix in vectors.items():
        width = matrix.shape[1]
        more = f", … ({width:,} numbers)" if width > 3 else ""
        columns[column] = [", ".join(f"{v:.3g}" for v in row[:3]) + more for row in matrix]
    texts = {column: as_text(cells) for column, cells in columns.items()}
    frame = pd.DataFrame(texts, pd.Index(rows, name=unit), copy=False)
    long: list[str] = []
    for column in texts:
        lengths = frame[column].str.len().to_numpy()
        for row in np.flatnonzero(lengths > LONG_CELL):
            place = f"{unit} {rows[int(row)]}, column {shown(column)}"
            if lengths[row] > (limit := limits.cell_characters):
                raise DatasetError(
                    f"{name}, {place} holds {lengths[row]:,} characters; the limit is {limit:,}. "
                    "Look for a missing closing quote, or shorten it."
                )
            long.append(f"{place} ({lengths[row]:,} characters)")
    notes = [*notes, *more_notes]
    if long:
        message = (
            f"{name} has very long cells: {first_of(long, 3, '; ')}. They were read whole; "
            "if that is a surprise, look for a missing closing quote there."
        )
        notes.append(Note(message, "lost"))
    return Table(name, frame, delimiter, tuple(notes), MappingProxyType(vectors))


def _read_delimited(
    name: str, text: str, suffix: str, header: bool, n_columns: int
) -> tuple[Content, str]:
    """Read delimited text: quickly where it follows all rules, else with care."""
    first_line = 1
    own = _OWN.match(text)
    delimiter = own.group(1) if own else None
    if directive := _DIRECTIVE.match(text):
        delimiter, first_line = directive.group(1), 2
        text = text[directive.end() :]
    if not text or text.isspace():
        raise DatasetError(f"{name} holds only blank lines. Export it again, with its content.")
    delimiter = delimiter or sniff_delimiter(text, suffix)
    if delimiter is None and n_columns == 1:
        delimiter = _NONE
    if delimiter is None:
        first = text.strip().split("\n", 1)[0]
        raise DatasetError(
            f"{name} has one column only (line 1 is {shown(first)}). Pairs need two columns: "
            "separate them by commas, tabs, semicolons or vertical bars."
        )
    # Too many columns are refused before anything is made of them.
    names = re.search(r"[^\r\n][^\n]*", text).group()  # type: ignore[union-attr]
    refuse_wide(name, re.sub('"[^"]*"', "", names).count(delimiter) + 1, 0)
    if header and (content := read_regular(name, text, delimiter, bool(own), first_line)):
        return content, delimiter
    records, notes = read_records(name, text, delimiter, bool(own), first_line)
    between = DELIMITERS.get(delimiter, "")
    columns, rows, more = columns_of_records(name, records, header, between, is_own=bool(own))
    return (columns, rows, notes + more), delimiter


def sniff_delimiter(text: str, suffix: str = "") -> str | None:
    """Find the delimiter of a file with a header."""
    # A delimiter must stand in the header outside quotes; among those that do, the one that
    # gives most records the header's number of cells wins, then the one that the file's name
    # promises, then the one with more columns.
    promised = {".tsv": "\t", ".tab": "\t", ".csv": ","}.get(suffix.lower())
    ranks: dict[str, tuple[float, bool, int]] = {}
    for delimiter in DELIMITERS:
        widths = _widths(text[:_SAMPLE], delimiter)
        if widths and widths[0] > 1:
            agreeing = widths.count(widths[0]) / len(widths)
            ranks[delimiter] = round(agreeing, 2), delimiter == promised, widths[0]
    return max(ranks, key=ranks.__getitem__, default=None)


def _widths(sample: str, delimiter: str) -> list[int]:
    """Cells per record at the start of a file, quotes binding while they can."""
    widths: list[int] = []
    try:
        for _, fields in islice(iter_records(sample, delimiter), 200):
            widths.append(len(fields))
    except QuoteError:
        # A sample may end inside a quoted cell; a file without quoting rules
        # still shows its width line by line.
        unquoted = islice(iter_records(sample, delimiter, quoted=False), 200)
        loose = [len(fields) for _, fields in unquoted]
        return max(widths, loose, key=lambda w: w.count(w[0]) / len(w) if w else 0.0)
    return widths


def read_records(
    name: str, text: str, delimiter: str, strict: bool = False, first_line: int = 1
) -> tuple[list[Record], list[Note]]:
    """Read all records, taking quotes as ordinary characters where they cannot bind."""
    # Many tab-separated files use no quoting at all, so that a stray quote would swallow lines.
    # Where the quoting rules fail, or a quoted cell spans lines, the unquoted reading is preferred
    # if it gives every line the header's width.
    problem: QuoteError | None = None
    records: list[Record] = []
    try:
        records = list(iter_records(text, delimiter, first_line=first_line))
    except QuoteError as error:
        problem = error
    spans = any(re.search("[\r\n]", "".join(fields)) for _, fields in records)
    if not strict and (problem is not None or spans):
        unquoted = list(iter_records(text, delimiter, False, first_line))
        if all(len(fields) == len(unquoted[0][1]) for _, fields in unquoted):
            message = f"{name} uses no quoting: quote marks were kept as they stand."
            return unquoted, [Note(message)]
    if problem is not None:
        raise DatasetError(
            f"{name}, line {problem.line}: {problem}. Write a quote mark inside a quoted cell "
            'twice (""), or remove the quotes.'
        ) from problem
    return records, []


def iter_records(
    text: str, delimiter: str, quoted: bool = True, first_line: int = 1
) -> Iterator[Record]:
    """Split text into records, each with the line on which it starts; pass over blank ones."""
    start, end = rf"(?:(?<=[{delimiter}\r\n])|\A)", rf"(?=[{delimiter}\r\n]|\Z)"
    if quoted and (' "' in text or '" ' in text):
        # To the csv module, quotes with spaces around them do not bind.
        text = re.sub(rf'{start} *("(?:[^"]++|"")*+"?)(?: *{end})?', r"\1", text)
    file = io.StringIO(text, newline="")
    quoting: Any = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    reader = csv.reader(file, delimiter=delimiter, quoting=quoting, strict=True)
    line = first_line
    try:
        for i, fields in enumerate(reader):
            if not i % 4096:
                report_progress(0.6 * file.tell() / len(text))
            if any(fields) and (len(fields) > 1 or fields[0].strip()):
                yield line, fields
            line = reader.line_num + first_line
    except csv.Error as error:
        is_open = "unexpected end" in str(error)
        what = "is never closed" if is_open else "goes on after its closing quote"
        cells = re.finditer(rf'{start}(?:"(?:[^"]++|"")*+"{end}|(?P<faulty>"))', text)
        opens = next(cell.start() for cell in cells if cell["faulty"])
        line = first_line + len(re.findall(r"\r\n|\n|\r", text[:opens]))
        raise QuoteError(line, f"a quoted cell {what}") from error


def read_regular(
    name: str, text: str, delimiter: str, is_own: bool = False, first_line: int = 1
) -> Content | None:
    """Read text that follows all rules with pyarrow; None of any other."""
    # None for whatever `columns_of_records` would have to mend, or to refuse in a sentence: rows
    # of another width, blank lines, quotes that do not begin and end a cell, line breaks inside a
    # cell, lone carriage returns. What is accepted comes out as it would come out there.
    import pyarrow as pa
    from pyarrow import compute as pc, csv as arrow_csv

    try:
        line, names = next(iter_records(text[:_SAMPLE], delimiter, first_line=first_line))
    except (StopIteration, QuoteError):
        return None
    data = text.encode()
    if data.endswith((b"\n\n", b"\n\r\n")):
        data = data.rstrip(b"\r\n")
    n_rows = _count_rows(data, ord(delimiter))
    if n_rows is None or line != first_line:
        return None
    refuse_wide(name, len(names), n_rows)
    numbers = [str(i) for i in range(len(names))]
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(data),
            arrow_csv.ReadOptions(column_names=numbers, skip_rows=1, block_size=_BLOCK),
            arrow_csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=False),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(numbers, pa.large_string()), strings_can_be_null=False
            ),
        )
    except (pa.ArrowException, ValueError):
        return None
    # The csv module's rows without anything are passed over.
    empty = [pc.equal(pc.binary_length(column), 0) for column in table.columns]
    if table.num_rows != n_rows or pc.any(reduce(pc.and_, empty)).as_py():
        return None
    names, notes = (names, []) if is_own else clean_names(name, names)
    columns: dict[str, Any] = {}
    rest = table.columns[::-1]
    del table, data
    for i, column in enumerate(names):
        report_progress(0.1 + 0.5 * i / len(names))
        cells = as_text(rest.pop().combine_chunks())  # several chunks are slow to factorize
        if is_own:
            codes, _, distinct = factorize(cells)
            cells = as_text([*map(unescape_cell, distinct)])[codes]
        columns[column] = cells
    release_unused()
    return columns, range(first_line + 1, first_line + 1 + n_rows), notes


def _count_rows(data: bytes, delimiter: int) -> int | None:
    """Rows below the header if line ends and quotes follow the rules, else None."""
    if b"\0" in data or (b"\r" in data and data.count(b"\r") != data.count(b"\r\n")):
        return None
    if b'"' in data and not _well_quoted(np.frombuffer(data, dtype=np.uint8), delimiter):
        return None
    n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    return n_lines - 1 if n_lines > 1 else None


def _well_quoted(raw: NDArray[np.uint8], delimiter: int) -> bool:
    """Whether quotes open and close whole cells."""
    # The first, third, ... quote must follow a delimiter, a line end, or at once a quote that
    # closes: two quotes inside a cell stand for one. The others must be followed by the same. A
    # quoted line break shows later, as a row that is missing.
    quotes = np.flatnonzero(raw == _QUOTE)
    if len(quotes) % 2:
        return False
    opening, closing = quotes[0::2], quotes[1::2]
    before = np.where(opening == 0, _LF, raw[opening - 1])
    after = np.where(closing == len(raw) - 1, _LF, raw[(closing + 1) % len(raw)])
    return bool(
        np.isin(before, (delimiter, _LF, _QUOTE)).all()
        and np.isin(after, (delimiter, _LF, _CR, _QUOTE)).all()
    )


class QuoteError(ValueError):
    """A quoted cell that does not follow the rules, which opens on `line`."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


def clean_names(name: str, names: Sequence[str]) -> tuple[list[str], list[Note]]:
    """Trim column names, name the nameless, tell the equal apart."""
    notes: list[Note] = []
    clean: list[str] = []
    for i, raw in enumerate(names):
        base = raw.strip()
        if not base:
            base = f"column_{i + 1}"
            message = f"{name}: column {i + 1} has no name; it is called {shown(base)}."
            notes.append(Note(message, "taken"))
        unique, k = base, 2
        while unique in clean or (unique != base and unique in names):
            unique, k = f"{base}_{k}", k + 1
        if unique != base:
            message = (
                f"{name} names two columns {shown(base)}; column {i + 1} is called "
                f"{shown(unique)}. Rename one of them in line 1 to choose its name."
            )
            notes.append(Note(message, "taken"))
        clean.append(unique)
    return clean, notes


def columns_of_records(
    name: str, records: Sequence[Record], header: bool, between: str, is_own: bool = False
) -> Content:
    """Turn records into columns, the first as the header; fill short ones, refuse long ones.

    Where fewer than one in a hundred is too long, these are left out.
    """
    names, unit, notes = records[0][1], "line" if between else "row", list[Note]()
    if header:
        records = records[1:]
    else:
        width = len(names) if between else max(len(fields) for _, fields in records)
        names = [f"column_{i + 1}" for i in range(width)]
    refuse_wide(name, len(names), len(records))
    if not is_own:
        names, notes = clean_names(name, names)
    if not records:
        listed = ", ".join(shown(n) for n in names[:6])
        raise DatasetError(
            f"{name} has a header ({listed}) but no row below it. Add at least one row."
        )
    width = len(names)
    long = {
        line: (len(fields), beyond[0])
        for line, fields in records
        if (beyond := [cell for cell in fields[width:] if cell.strip()])
    }
    if long:
        line, (n_cells, cell) = next(iter(long.items()))
        remedy = (
            f"Put cells that contain {between} in double quotes, or use another delimiter."
            if between
            else "Name that column in the first row."
        )
        message = f"the first beyond column {shown(names[-1])} is {shown(cell)}. {remedy}"
        if is_own or 100 * len(long) > len(records):
            raise DatasetError(
                f"{name}, {unit} {line} has {n_cells} cells but the header has {width}; {message}"
            )
        message = (
            f"{name}: {counted(len(long), 'row')} with more cells than the header's {width} left "
            f"out ({rows_named(unit, list(long))}); {message}"
        )
        notes.append(Note(message, "lost", long))
        records = [record for record in records if record[0] not in long]
    rows: list[list[str]] = []
    for _, fields in records:
        fields = fields[:width] + [""] * (width - len(fields))
        rows.append(list(map(unescape_cell, fields)) if is_own else fields)
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    short = [line for line, fields in records if len(fields) < width]
    if short and between:
        message = (
            f"{name}: {counted(len(short), 'row')} with fewer cells than the header's {width} "
            f"({rows_named(unit, short)}); the missing cells count as empty."
        )
        notes.append(Note(message, "taken", short))
    return columns, [line for line, _ in records], notes
