"""Delimited text: finding the delimiter, splitting into records with line numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

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
    r"""Split text into records, each with the line on which it starts.

    A cell may be wrapped in double quotes; inside, delimiters and line breaks
    are content and two quotes stand for one. Blank lines are passed over.

    Parameters
    ----------
    text : str
        The whole file.
    layout : Layout
        Delimiter and quoting.

    Yields
    ------
    line : int
        1 for the first line, as an editor counts.
    fields : list of str
        The cells, unchanged.

    Raises
    ------
    QuoteError
        If a quoted cell is never closed or goes on after its closing quote.

    Examples
    --------
    >>> list(iter_records('x,y\n"a, b\n c",d\ne,f', Layout(",")))
    [(1, ['x', 'y']), (2, ['a, b\n c', 'd']), (4, ['e', 'f'])]
    """
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
    r"""Find the delimiter of a file with a header.

    A delimiter must stand in the header outside quotes; among those that do,
    the one that gives most records the header's number of cells wins, then
    the one that the file's name promises, then the one with more columns.

    Parameters
    ----------
    text : str
        The whole file; the first 256 KiB are looked at.
    suffix : str
        File name ending such as ".tsv".

    Returns
    -------
    str or None
        None when no candidate gives two columns.

    Examples
    --------
    >>> sniff_delimiter('query;document\n"red, round";"a; b"\nblue, big;c')
    ';'
    """
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
    """Read all records, taking quotes as ordinary characters where they cannot bind.

    Many tab-separated files use no quoting at all, so that a stray quote would
    swallow lines. Where the quoting rules fail, or a quoted cell spans lines,
    the plain reading is preferred if it gives every line the header's width.

    Parameters
    ----------
    name : str
        File name for messages.
    text : str
        The whole file.
    delimiter : str
        One character.
    strict : bool, default=False
        Never try the plain reading.

    Returns
    -------
    records : list of (line, fields)
        The header first.
    notes : list of str
        Says so when quotes were taken as they are.

    Raises
    ------
    DatasetError
        If quotes are broken and the plain reading does not fit either.
    """
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
