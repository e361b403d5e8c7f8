"""Large delimited files that follow all rules, read without a Python object a cell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simviz.data.arrow import coded_column
from simviz.data.coded import Coded

_BLOCK = 8 * 2**20
_QUOTE, _LF, _CR = 34, 10, 13


def read_cells(data: bytes, delimiter: str, n_columns: int) -> list[Coded] | None:
    r"""Read all cells below the header, or decline.

    Declined is whatever `simviz.data.delimited` would have to mend, or to
    refuse in a sentence: rows of another width, blank lines, quotes that do
    not begin and end a cell, line breaks inside a cell, lone carriage
    returns, text that is no UTF-8. What is accepted comes out as it would
    come out there, and row i stands on line i + 2.

    Parameters
    ----------
    data : bytes
        The file, without a byte-order mark.
    delimiter : str
        One character.
    n_columns : int
        Cells of each row.

    Returns
    -------
    list of Coded, or None
        One a column.

    Examples
    --------
    >>> a, b = read_cells(b'x,y\nred,"1, 2"\nred,3\n', ",", 2)
    >>> a.words.tolist(), a.codes.tolist(), b.words.tolist()
    (['red'], [0, 0], ['1, 2', '3'])
    """
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
    """Whether quotes open and close whole cells.

    The first, third, ... quote must follow a delimiter, a line end, or at once
    a quote that closes: two quotes inside a cell stand for one. The others
    must be followed by the same. A quoted line break shows later, as a row
    that is missing.
    """
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
