"""Cells: guarding spreadsheets against formulas, telling numbers from text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
_ESCAPED = re.compile("'+[=+\\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
MISSING = frozenset({"", "nan", "na", "n/a", "null", "none"})


def escape_cell(cell: str) -> str:
    """Put an apostrophe before what a spreadsheet would run as a formula."""
    # Cells that begin with ``= + - @``, a tab or a line break, in their plain or full-width
    # form, are marked; so are those that look marked already, which makes `unescape_cell` its
    # exact inverse.
    return "'" + cell if _FORMULA.match(cell) else cell


def unescape_cell(cell: str) -> str:
    """Undo `escape_cell`."""
    return cell[1:] if _ESCAPED.match(cell) else cell


def parse_number(cell: str, decimal_comma: bool = False) -> float | None:
    """Read a plain decimal number, or None."""
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


def shown(value: object, limit: int = 40) -> str:
    """Quote a value for a message, cut so that a hostile cell cannot fill the screen."""
    text = str(value)
    return repr(text if len(text) <= limit else text[:limit] + "…")


def rows_named(unit: str, rows: Sequence[int], limit: int = 5) -> str:
    """Name some rows and count the rest."""
    if len(rows) == 1:
        return f"{unit} {rows[0]}"
    named = ", ".join(str(r) for r in rows[:limit])
    more = f" and {len(rows) - limit:,} more" if len(rows) > limit else ""
    return f"{unit}s {named}{more}"


def counted(n: int, one: str, many: str | None = None) -> str:
    """Count things in words."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def percent(share: float, digits: int = 0) -> str:
    """A share of one, as texts write it."""
    return f"{100 * share:.{digits}f} %"


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """Suggest the nearest option, or list the options when none is near."""
    options = list(options)
    near = get_close_matches(word, options, n=1)
    if near:
        return f"Did you mean {shown(near[0])}?"
    listed = ", ".join(shown(o) for o in options[:12])
    return f"There is {listed}{' and more' if len(options) > 12 else ''}."


Codes = NDArray[np.intp]


class Coded(NamedTuple):
    """A column as the distinct cells and which of them stands in each row."""

    codes: Codes
    words: NDArray[np.object_]

    @property
    def cells(self) -> NDArray[np.object_]:
        """The cell of each row; equal cells are one object."""
        return self.words[self.codes]

    @property
    def counts(self) -> Codes:
        """In how many rows each word stands."""
        return np.bincount(self.codes, minlength=len(self.words))

    def map(self, change: Callable[[str], str]) -> Coded:
        """The column with each cell changed; words that become equal are one."""
        return merged(self.codes, [change(word) for word in self.words])

    def where(self, holds: Callable[[str], bool]) -> NDArray[np.bool_]:
        """In which rows something holds of the cell."""
        answers = np.fromiter(map(holds, self.words), dtype=bool, count=len(self.words))
        return answers[self.codes]


def merged(codes: Codes, words: Sequence[str]) -> Coded:
    """A column from codes and words that may repeat."""
    seen: dict[str, int] = {}
    to = np.array([seen.setdefault(word, len(seen)) for word in words], dtype=np.intp)
    return Coded(to[codes] if len(to) else codes, as_cells(list(seen)))


def encoded(cells: NDArray[np.object_]) -> Coded:
    """A column from its cells."""
    import pandas as pd

    codes, words = pd.factorize(cells, use_na_sentinel=False)
    return Coded(codes.astype(np.intp, copy=False), as_cells(words))


def renumbered(codes: Codes) -> tuple[Codes, Codes]:
    """Number codes in order of appearance; also where each appears first."""
    import pandas as pd

    new, distinct = pd.factorize(codes)
    new = new.astype(np.intp, copy=False)
    first = np.empty(len(distinct), dtype=np.intp)
    first[new[::-1]] = np.arange(len(new) - 1, -1, -1)
    return new, first


def as_cells(values: Sequence[str] | NDArray[np.object_]) -> NDArray[np.object_]:
    """Strings as an object array, never as one of fixed width."""
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return cells


@dataclass(slots=True)
class Columns:
    """The columns of a file, and what was done to get them."""

    text: dict[str, Coded | list[str]]
    vectors: dict[str, NDArray[Any]]
    order: list[str]
    rows: Sequence[int]
    notes: list[str] = field(default_factory=list)
