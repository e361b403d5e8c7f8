"""Delimited text as columns: header, width of the rows, and what was mended."""

from __future__ import annotations

import re
from collections.abc import Sequence

from simviz.data import delimited, fastcsv, longform
from simviz.data.cells import unescape_cell
from simviz.data.columnar import Columns
from simviz.data.limits import get_limits
from simviz.data.wording import counted, rows_named, shown
from simviz.exceptions import DatasetError

# A spreadsheet's own line before the header, which names the delimiter.
_DIRECTIVE = re.compile(r"(?i)sep=([,;|\t])(?:\r\n|\n|\r|$)")
_BOM = b"\xef\xbb\xbf"


def read_columns(name: str, text: str, suffix: str, header: bool) -> tuple[Columns, str]:
    """Read delimited text with care for what is not as it should be.

    Parameters
    ----------
    name : str
        File name for messages.
    text : str
        The whole file.
    suffix : str
        File name ending such as ".tsv".
    header : bool
        Whether the first line names the columns.

    Returns
    -------
    columns : Columns
        Cells of text; rows are line numbers.
    delimiter : str
        That was found.

    Raises
    ------
    DatasetError
        If there is no delimiter, no row, a row that is too wide, or too much.
    """
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
    records, notes = delimited.read_records(name, text, delimiter, strict=own)
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
    cells, more = rectangular(name, names, numbered, delimited.DELIMITERS.get(delimiter, ""))
    if own:
        cells = [[unescape_cell(cell) for cell in column] for column in cells]
    rows = [line for line, _ in numbered]
    text_columns = dict(zip(names, cells, strict=True))
    return Columns(dict(text_columns), {}, names, rows, [*notes, *more]), delimiter


def read_large(name: str, data: bytes, head: str, suffix: str) -> tuple[Columns, str] | None:
    """Read a large file by the short way, or decline.

    Parameters
    ----------
    name : str
        File name for messages.
    data : bytes
        The whole file.
    head : str
        How it begins.
    suffix : str
        File name ending such as ".tsv".

    Returns
    -------
    tuple of Columns and str, or None
        As `read_columns`; None where that has to look closer.

    Raises
    ------
    DatasetError
        If there is too much.
    """
    data = data.removeprefix(_BOM)
    head = head.removeprefix("\ufeff")
    if _DIRECTIVE.match(head) or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    own = longform.own_delimiter(head)
    delimiter = own or delimited.sniff_delimiter(head, suffix)
    if delimiter is None:
        return None
    try:
        line, raw = next(delimited.iter_records(head, delimited.Layout(delimiter)))
    except (StopIteration, delimited.QuoteError):
        return None
    names, notes = (raw, []) if own else clean_names(name, raw)
    refuse_wide(name, len(names), data.count(b"\n") - 1)
    cells = fastcsv.read_cells(data, delimiter, len(names)) if line == 1 else None
    if cells is None:
        return None
    if own:
        cells = [column.map(unescape_cell) for column in cells]
    rows = range(2, len(cells[0].codes) + 2)
    return Columns(dict(zip(names, cells, strict=True)), {}, names, rows, notes), delimiter


def clean_names(name: str, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Trim column names, name the nameless, tell the equal apart.

    Parameters
    ----------
    name : str
        File name for messages.
    names : sequence of str
        As they stand in the header.

    Returns
    -------
    names : list of str
        Different from one another, none empty.
    notes : list of str
        What was changed.
    """
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
    name: str, names: Sequence[str], records: Sequence[delimited.Record], between: str
) -> tuple[list[list[str]], list[str]]:
    """Turn records into columns; fill short ones, refuse long ones.

    Parameters
    ----------
    name : str
        File name for messages.
    names : sequence of str
        The header.
    records : sequence of (int, list of str)
        Each with its number in the file.
    between : str
        What separates cells, in words; empty in a workbook.

    Returns
    -------
    columns : list of list of str
        As many as there are names.
    notes : list of str
        Names rows that were filled.

    Raises
    ------
    DatasetError
        If a row has more cells than the header.
    """
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
    """Refuse a table of too many columns or cells.

    Parameters
    ----------
    name : str
        File name for messages.
    n_columns, n_rows : int
        Its size.

    Raises
    ------
    DatasetError
        If it is beyond a limit.
    """
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
