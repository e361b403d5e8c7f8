"""Delimited text: pyarrow reads what follows all rules, the csv module everything else."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from simviz.data import write
from simviz.data.arrow import factorized_column
from simviz.data.cells import (
    Columns,
    Factorized,
    counted,
    factorize,
    rows_named,
    shown,
    unescape_cell,
)
from simviz.data.limits import get_limits
from simviz.exceptions import DatasetError

DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars"}
_SAMPLE = 256 * 1024
_BLOCK = 8 * 2**20
_BOM = b"\xef\xbb\xbf"
_QUOTE, _LF, _CR = 34, 10, 13
# A spreadsheet's own line before the header, which names the delimiter.
_DIRECTIVE = re.compile(r"(?i)sep=([,;|\t])(?:\r\n|\n|\r|$)")
# The module's own limit of 131,072 characters would refuse long cells; `ReadingLimits` has ours.
csv.field_size_limit(2**31 - 1)

Record = tuple[int, list[str]]


class QuoteError(ValueError):
    """A quoted cell that does not follow the rules, which opens on `line`."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


def read_columns(name: str, text: str, suffix: str, header: bool) -> tuple[Columns, str]:
    """Read delimited text with care for what is not as it should be."""
    first_line = 1
    delimiter = write.own_delimiter(text)
    own = delimiter is not None
    if directive := _DIRECTIVE.match(text):
        delimiter, first_line = directive.group(1), 2
        text = text[directive.end() :]
    if not text.strip():
        raise DatasetError(f"{name} holds only blank lines. Export it again, with its content.")
    delimiter = delimiter or sniff_delimiter(text, suffix)
    if delimiter is None:
        first = text.strip().split("\n", 1)[0]
        raise DatasetError(
            f"{name} has one column only (line 1 is {shown(first)}). Pairs need two columns: "
            "separate them by commas, tabs, semicolons or vertical bars."
        )
    records, notes = read_records(name, text, delimiter, own, first_line)
    if header:
        names, records = records[0][1], records[1:]
    else:
        names = [f"column_{i + 1}" for i in range(len(records[0][1]))]
    if not own:
        names, more = clean_names(name, names)
        notes = notes + more
    if not records:
        listed = ", ".join(shown(n) for n in names[:6])
        raise DatasetError(
            f"{name} has a header ({listed}) but no row below it. Add at least one row."
        )
    if own:
        records = [(line, list(map(unescape_cell, fields))) for line, fields in records]
    columns = columns_of_records(name, names, records, DELIMITERS.get(delimiter, ""))
    return columns._replace(notes=notes + columns.notes), delimiter


def read_large(name: str, data: bytes, head: str, suffix: str) -> tuple[Columns, str] | None:
    """Read a large file with pyarrow, or return None where it needs more care."""
    data = data.removeprefix(_BOM)
    head = head.removeprefix("\ufeff")
    if _DIRECTIVE.match(head) or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    own = write.own_delimiter(head)
    delimiter = own or sniff_delimiter(head, suffix)
    if delimiter is None:
        return None
    try:
        line, raw = next(iter_records(head, delimiter))
    except (StopIteration, QuoteError):
        return None
    names, notes = (raw, []) if own else clean_names(name, raw)
    _refuse_wide(name, len(names), data.count(b"\n") - 1)
    cells = read_cells(data, delimiter, len(names)) if line == 1 else None
    if cells is None:
        return None
    if own:
        cells = [column.map(unescape_cell) for column in cells]
    rows = range(2, len(cells[0].codes) + 2)
    return Columns(dict(zip(names, cells, strict=True)), rows, notes), delimiter


def sniff_delimiter(text: str, suffix: str = "") -> str | None:
    """Find the delimiter of a file with a header."""
    # A delimiter must stand in the header outside quotes; among those that do, the one that
    # gives most records the header's number of cells wins, then the one that the file's name
    # promises, then the one with more columns.
    promised = {".tsv": "\t", ".tab": "\t", ".csv": ","}.get(suffix.lower())
    found: dict[str, tuple[float, bool, int]] = {}
    for delimiter in DELIMITERS:
        widths = _widths(text[:_SAMPLE], delimiter)
        if widths and widths[0] > 1:
            agreeing = widths.count(widths[0]) / len(widths)
            found[delimiter] = round(agreeing, 2), delimiter == promised, widths[0]
    return max(found, key=found.__getitem__, default=None)


def _widths(sample: str, delimiter: str) -> list[int]:
    """Cells per record at the start of a file, quotes binding while they can."""
    widths: list[int] = []
    try:
        for _, fields in islice(iter_records(sample, delimiter), 200):
            widths.append(len(fields))
    except QuoteError:
        # A sample may end inside a quoted cell; a file without quoting rules
        # still shows its width line by line.
        plain = islice(iter_records(sample, delimiter, quoted=False), 200)
        loose = [len(fields) for _, fields in plain]
        return max(widths, loose, key=lambda w: w.count(w[0]) / len(w) if w else 0.0)
    return widths


def read_records(
    name: str, text: str, delimiter: str, strict: bool = False, first_line: int = 1
) -> tuple[list[Record], list[str]]:
    """Read all records, taking quotes as ordinary characters where they cannot bind."""
    # Many tab-separated files use no quoting at all, so that a stray quote would swallow lines.
    # Where the quoting rules fail, or a quoted cell spans lines, the plain reading is preferred
    # if it gives every line the header's width.
    problem: QuoteError | None = None
    records: list[Record] = []
    try:
        records = list(iter_records(text, delimiter, first_line=first_line))
    except QuoteError as error:
        problem = error
    spans = any(re.search("[\r\n]", "".join(fields)) for _, fields in records)
    if not strict and (problem is not None or spans):
        plain = list(iter_records(text, delimiter, False, first_line))
        if all(len(fields) == len(plain[0][1]) for _, fields in plain):
            return plain, [f"{name} uses no quoting: quote marks were kept as they stand."]
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
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    line = first_line
    try:
        for fields in reader:
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


def read_cells(data: bytes, delimiter: str, n_columns: int) -> list[Factorized] | None:
    """Read all cells below the header, or return None."""
    # None for whatever `read_columns` would have to mend, or to refuse in a sentence: rows of
    # another width, blank lines, quotes that do not begin and end a cell, line breaks inside a
    # cell, lone carriage returns, text that is no UTF-8. What is accepted comes out as it would
    # come out there, and row i stands on line i + 2.
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    if data.endswith((b"\n\n", b"\n\r\n")):
        data = data.rstrip(b"\r\n")
    n_rows = _count_rows(data, ord(delimiter))
    if n_rows is None:
        return None
    names = [str(i) for i in range(n_columns)]
    kind = pa.dictionary(pa.int32(), pa.string())
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(data),
            arrow_csv.ReadOptions(column_names=names, skip_rows=1, block_size=_BLOCK),
            arrow_csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=False),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, kind),
                strings_can_be_null=False,
                check_utf8=True,
            ),
        )
    except (pa.ArrowException, ValueError):
        return None
    if table.num_rows != n_rows:
        return None
    columns = [factorized_column(column) for column in table.columns]
    # The csv module's rows without anything are passed over.
    is_blank = np.logical_and.reduce([column.where(lambda cell: not cell) for column in columns])
    return None if is_blank.any() else columns


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


def clean_names(name: str, names: Sequence[str]) -> tuple[list[str], list[str]]:
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


def columns_of_records(
    name: str, names: Sequence[str], records: Sequence[Record], between: str
) -> Columns:
    """Turn records into columns; fill short ones, refuse long ones."""
    _refuse_wide(name, len(names), len(records))
    width, unit = len(names), "line" if between else "row"
    rows: list[list[str]] = []
    for line, fields in records:
        if beyond := [cell for cell in fields[width:] if cell.strip()]:
            remedy = (
                f"Put cells that contain {between} in double quotes, or use another delimiter."
                if between
                else "Name that column in the first row."
            )
            raise DatasetError(
                f"{name}, {unit} {line} has {len(fields)} cells but the header has {width}; the "
                f"first beyond column {shown(names[-1])} is {shown(beyond[0])}. {remedy}"
            )
        is_whole = len(fields) == width
        rows.append(fields if is_whole else fields[:width] + [""] * (width - len(fields)))
    columns = dict(zip(names, map(factorize, zip(*rows, strict=True)), strict=True))
    notes = []
    short = [line for line, fields in records if len(fields) < width]
    if short and between:
        notes.append(
            f"{name}: {counted(len(short), 'row')} with fewer cells than the header's {width} "
            f"({rows_named(unit, short)}); the missing cells count as empty."
        )
    return Columns({**columns}, [line for line, _ in records], notes)


def _refuse_wide(name: str, n_columns: int, n_rows: int) -> None:
    """Refuse a table of too many columns or cells."""
    limits = get_limits()
    if n_columns > limits.columns:
        raise DatasetError(
            f"{name} has {n_columns:,} columns; the limit is {limits.columns:,}. "
            "Keep the columns with the pairs and remove the others."
        )
    if n_columns * n_rows > limits.cells:
        raise DatasetError(
            f"{name} has {n_rows:,} rows of {n_columns:,} columns; the limit is "
            f"{limits.cells:,} cells. Bring a sample, or fewer columns."
        )
