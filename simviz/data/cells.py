"""Cells: guarding spreadsheets against formulas, telling numbers from text."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
_ESCAPED = re.compile("'+[=+\\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
MISSING = frozenset({"", "nan", "na", "n/a", "null", "none"})


def escape_cell(cell: str) -> str:
    """Put an apostrophe before what a spreadsheet would run as a formula.

    Cells that begin with ``= + - @``, a tab or a line break, in their plain or
    full-width form, are marked; so are those that look marked already, which
    makes `unescape_cell` its exact inverse.

    Examples
    --------
    >>> escape_cell("=1+1"), escape_cell("heart"), escape_cell("'=x")
    ("'=1+1", 'heart', "''=x")
    """
    return "'" + cell if _FORMULA.match(cell) else cell


def unescape_cell(cell: str) -> str:
    """Undo `escape_cell`.

    Examples
    --------
    >>> unescape_cell("'=1+1"), unescape_cell("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if _ESCAPED.match(cell) else cell


def parse_number(cell: str, decimal_comma: bool = False) -> float | None:
    """Read a plain decimal number, or None.

    Parameters
    ----------
    cell : str
        Text of the cell.
    decimal_comma : bool, default=False
        Whether "0,5" is a half, as in files that separate by semicolons.

    Examples
    --------
    >>> parse_number("2.5"), parse_number("0,5", decimal_comma=True), parse_number("two")
    (2.5, 0.5, None)
    """
    cell = cell.strip()
    if _NUMBER.fullmatch(cell):
        return float(cell)
    if decimal_comma and _DECIMAL_COMMA.fullmatch(cell):
        return float(cell.replace(",", "."))
    return None


def is_missing(cell: str) -> bool:
    """Whether a cell says that nothing is known: empty, NaN, null, n/a."""
    return cell.strip().lower() in MISSING


def are_numbers(cells: Sequence[str]) -> bool:
    """Whether all known cells are numbers; codes such as "007" are text."""
    known = [c.strip() for c in cells if not is_missing(c)]
    return bool(known) and all(
        _NUMBER.fullmatch(c) is not None and not re.match(r"[+-]?0\d", c) for c in known
    )
