"""Delimited text: finding the delimiter, splitting into records with line numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from simviz.data import write
from simviz.data.arrow import coded_column
from simviz.data.cells import Coded, Columns, counted, rows_named, shown, unescape_cell
from simviz.data.limits import get_limits
from simviz.exceptions import DatasetError

DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars"}
_SAMPLE = 256 * 1024
_LINE_END = re.compile(r"\r\n|\n|\r")
_QUOTED = re.compile(r' *"(?:[^"]++|"")*+"')

Record = tuple[int, list[str]]


class QuoteError(ValueError):
    """A quoted cell that does not follow the rules; `line` is where it opens."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


@dataclass(frozen=True, slots=True)
class Layout:
    """How a delimited file is cut: its delimiter and whether quotes bind."""

    delimiter: str
    quoted: bool = True


def iter_records(text: str, layout: Layout) -> Iterator[Record]:
    r"""Split text into records, each with the line on which it starts."""
    # A cell may be wrapped in double quotes; inside, delimiters and line breaks are content and
    # two quotes stand for one. Blank lines are passed over.
    delimiter = layout.delimiter
    # One cell and what ends it. Possessive, so that no cell is ever rescanned.
    end_of_cell = rf"({re.escape(delimiter)}|\r\n|\n|\r|\Z)"
    cell = re.compile(
        rf' *"((?:[^"]++|"")*+)" *+{end_of_cell}'
        rf'|(?! *")([^{re.escape(delimiter)}\r\n]*+){end_of_cell}'
    )
    position, line, length = 0, 1, len(text)
    while position < length:
        ending = _LINE_END.search(text, position)
        end, following = ending.span() if ending else (length, length)
        row = text[position:end]
        start = line
        if layout.quoted and '"' in row:
            fields, following, line = _quoted_record(text, position, line, delimiter, cell)
        else:
            fields, line = row.split(delimiter), line + 1
        position = following
        if any(fields) and (len(fields) > 1 or fields[0].strip()):
            yield start, fields


def _quoted_record(
    text: str, position: int, line: int, delimiter: str, cell: re.Pattern[str]
) -> tuple[list[str], int, int]:
    """One record with quotes: its fields, where the next starts, and on which line."""
    fields: list[str] = []
    while True:
        found = cell.match(text, position)
        if found is None:
            closed = _QUOTED.match(text, position)
            what = "goes on after its closing quote" if closed else "is never closed"
            raise QuoteError(line, f"a quoted cell {what}")
        quoted, quoted_end, plain, plain_end = found.groups()
        position = found.end()
        if quoted is None:
            fields.append(plain)
        else:
            fields.append(quoted.replace('""', '"'))
            if "\n" in quoted or "\r" in quoted:
                line += sum(1 for _ in _LINE_END.finditer(quoted))
        if (quoted_end or plain_end) != delimiter:
            return fields, position, line + 1


def sniff_delimiter(text: str, suffix: str = "") -> str | None:
    r"""Find the delimiter of a file with a header."""
    # A delimiter must stand in the header outside quotes; among those that do, the one that
    # gives most records the header's number of cells wins, then the one that the file's name
    # promises, then the one with more columns.
    sample = text[:_SAMPLE]
    promised = {".tsv": "\t", ".tab": "\t", ".csv": ","}.get(suffix.lower())
    best: tuple[tuple[float, bool, int], str] | None = None
    for delimiter in DELIMITERS:
        widths = _widths(sample, delimiter)
        if not widths or widths[0] < 2:
            continue
        agreeing = sum(w == widths[0] for w in widths) / len(widths)
        key = (round(agreeing, 2), delimiter == promised, widths[0])
        if best is None or key > best[0]:
            best = key, delimiter
    return best[1] if best else None


def _widths(sample: str, delimiter: str) -> list[int]:
    """Cells per record at the start of a file, quotes binding while they can."""
    widths: list[int] = []
    try:
        for _, fields in islice(iter_records(sample, Layout(delimiter)), 200):
            widths.append(len(fields))
    except QuoteError:
        # A sample may end inside a quoted cell; a file without quoting rules
        # still shows its width line by line.
        plain = islice(iter_records(sample, Layout(delimiter, quoted=False)), 200)
        loose = [len(fields) for _, fields in plain]
        return max(widths, loose, key=lambda w: sum(v == w[0] for v in w) / len(w) if w else 0.0)
    return widths


def read_records(
    name: str, text: str, delimiter: str, strict: bool = False
) -> tuple[list[Record], list[str]]:
    """Read all records, taking quotes as ordinary characters where they cannot bind."""
    # Many tab-separated files use no quoting at all, so that a stray quote would swallow lines.
    # Where the quoting rules fail, or a quoted cell spans lines, the plain reading is preferred
    # if it gives every line the header's width.
    problem: QuoteError | None = None
    records: list[Record] = []
    try:
        records = list(iter_records(text, Layout(delimiter)))
    except QuoteError as error:
        problem = error
    spans = any("\n" in cell or "\r" in cell for _, fields in records for cell in fields)
    if (problem is None and not spans) or (strict and problem is None):
        return records, []
    if not strict:
        plain = list(iter_records(text, Layout(delimiter, quoted=False)))
        if all(len(fields) == len(plain[0][1]) for _, fields in plain):
            return plain, [f"{name} uses no quoting: quote marks were kept as they stand."]
    if problem is not None:
        raise DatasetError(
            f"{name}, line {problem.line}: {problem}. Write a quote mark inside a quoted cell "
            'twice (""), or remove the quotes.'
        ) from problem
    return records, []


_BLOCK = 8 * 2**20
_QUOTE, _LF, _CR = 34, 10, 13


def read_cells(data: bytes, delimiter: str, n_columns: int) -> list[Coded] | None:
    r"""Read all cells below the header, or decline."""
    # Declined is whatever `simviz.data.delimited` would have to mend, or to refuse in a
    # sentence: rows of another width, blank lines, quotes that do not begin and end a cell, line
    # breaks inside a cell, lone carriage returns, text that is no UTF-8. What is accepted comes
    # out as it would come out there, and row i stands on line i + 2.
    import pyarrow as pa
    from pyarrow import csv

    if data.endswith((b"\n\n", b"\n\r\n")):
        data = data.rstrip(b"\r\n")
    n_rows = _count_rows(data, ord(delimiter))
    if n_rows is None:
        return None
    names = [str(i) for i in range(n_columns)]
    kind = pa.dictionary(pa.int32(), pa.string())
    try:
        table = csv.read_csv(
            pa.BufferReader(data),
            csv.ReadOptions(column_names=names, skip_rows=1, block_size=_BLOCK),
            csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types=dict.fromkeys(names, kind),
                strings_can_be_null=False,
                check_utf8=True,
            ),
        )
    except (pa.ArrowException, ValueError):
        return None
    if table.num_rows != n_rows:
        return None
    columns = [coded_column(table.column(i)) for i in range(n_columns)]
    # Rows without anything are passed over by the careful reader, too.
    if np.logical_and.reduce([column.where(_is_empty) for column in columns]).any():
        return None
    return columns


def _is_empty(cell: str) -> bool:
    return not cell


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
    before = raw[opening - 1]
    before[opening == 0] = _LF
    if not ((before == delimiter) | (before == _LF) | (before == _QUOTE)).all():
        return False
    after = raw[np.minimum(closing + 1, len(raw) - 1)]
    ends = (after == delimiter) | (after == _LF) | (after == _CR) | (after == _QUOTE)
    return bool((ends | (closing == len(raw) - 1)).all())


# A spreadsheet's own line before the header, which names the delimiter.
_DIRECTIVE = re.compile(r"(?i)sep=([,;|\t])(?:\r\n|\n|\r|$)")
_BOM = b"\xef\xbb\xbf"


def read_columns(name: str, text: str, suffix: str, header: bool) -> tuple[Columns, str]:
    """Read delimited text with care for what is not as it should be."""
    skipped = 0
    delimiter = write.own_delimiter(text)
    own = delimiter is not None
    if directive := _DIRECTIVE.match(text):
        delimiter, skipped = directive.group(1), 1
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
    records, notes = read_records(name, text, delimiter, strict=own)
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
    refuse_wide(name, len(names), len(records))
    numbered = [(line + skipped, fields) for line, fields in records]
    cells, more = rectangular(name, names, numbered, DELIMITERS.get(delimiter, ""))
    if own:
        cells = [[unescape_cell(cell) for cell in column] for column in cells]
    rows = [line for line, _ in numbered]
    text_columns = dict(zip(names, cells, strict=True))
    return Columns(dict(text_columns), {}, names, rows, [*notes, *more]), delimiter


def read_large(name: str, data: bytes, head: str, suffix: str) -> tuple[Columns, str] | None:
    """Read a large file by the short way, or decline."""
    data = data.removeprefix(_BOM)
    head = head.removeprefix("\ufeff")
    if _DIRECTIVE.match(head) or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    own = write.own_delimiter(head)
    delimiter = own or sniff_delimiter(head, suffix)
    if delimiter is None:
        return None
    try:
        line, raw = next(iter_records(head, Layout(delimiter)))
    except (StopIteration, QuoteError):
        return None
    names, notes = (raw, []) if own else clean_names(name, raw)
    refuse_wide(name, len(names), data.count(b"\n") - 1)
    cells = read_cells(data, delimiter, len(names)) if line == 1 else None
    if cells is None:
        return None
    if own:
        cells = [column.map(unescape_cell) for column in cells]
    rows = range(2, len(cells[0].codes) + 2)
    return Columns(dict(zip(names, cells, strict=True)), {}, names, rows, notes), delimiter


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


def rectangular(
    name: str, names: Sequence[str], records: Sequence[Record], between: str
) -> tuple[list[list[str]], list[str]]:
    """Turn records into columns; fill short ones, refuse long ones."""
    width, unit = len(names), "line" if between else "row"
    columns: list[list[str]] = [[] for _ in range(width)]
    short: list[int] = []
    for line, fields in records:
        if len(fields) > width:
            if any(cell.strip() for cell in fields[width:]):
                remedy = (
                    f"Put cells that contain {between} in double quotes, or use another delimiter."
                    if between
                    else "Name that column in the first row."
                )
                raise DatasetError(
                    f"{name}, {unit} {line} has {len(fields)} cells but the header has "
                    f"{width}; the first beyond column {shown(names[-1])} is "
                    f"{shown(next(c for c in fields[width:] if c.strip()))}. {remedy}"
                )
            fields = fields[:width]
        elif len(fields) < width:
            short.append(line)
            fields = fields + [""] * (width - len(fields))
        for column, cell in zip(columns, fields, strict=True):
            column.append(cell)
    if not short or not between:
        return columns, []
    return columns, [
        f"{name}: {counted(len(short), 'row')} with fewer cells than the header's {width} "
        f"({rows_named(unit, short)}); the missing cells count as empty."
    ]


def refuse_wide(name: str, n_columns: int, n_rows: int) -> None:
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
