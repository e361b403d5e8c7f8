"""Cells and columns of text, and how messages speak of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
_ESCAPED = re.compile("'+[=+\\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_SURROGATE = re.compile("[\ud800-\udfff]")
#: Texts that are looked at in one piece.
_JOINED = 1_000
Codes = NDArray[np.intp]
#: What the sides are called where nothing else is known, and characters of a heading in a name.
_SIDE = {"x": "left", "y": "right"}
_HEADING = 24
_OF_COLUMN = re.compile(r"(?:left|right) items \((.+)\)")
MISSING = frozenset({"", "nan", "na", "n/a", "null", "none"})
#: What a note says: rows are left out; something else is not in what was read, or not as it stands
#: in the file; a column is dropped; something was taken for something; what a file is; all else.
NoteKind = Literal["left_out", "lost", "dropped", "taken", "part", "info"]


class Note(str):
    """A sentence about how a file was read, with its kind and the rows that it speaks of.

    Of a column that is dropped it has the name; of rows that are not in the pairs, `reasons` say
    why each is not.
    """

    kind: NoteKind
    rows: tuple[int, ...]
    column: str
    reasons: tuple[str, ...]

    def __new__(
        cls,
        text: str,
        kind: NoteKind = "info",
        rows: Iterable[int] = (),
        column: str = "",
        reasons: Iterable[str] = (),
    ) -> Self:
        """Make a sentence that knows what it is about."""
        note = super().__new__(cls, text)
        note.kind, note.rows, note.column = kind, tuple(map(int, rows)), column
        note.reasons = tuple(reasons)
        return note


#: Columns of text or matrices of vectors, the numbers of their rows, and notes.
Content = tuple[dict[str, Any], Sequence[int], list[Note]]


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


def mended(text: str) -> str:
    """Text in which halves of surrogate pairs, which no file can hold, are replaced."""
    if text.isascii():
        return text
    try:
        text.encode()  # several times as quick as to search each text
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def all_whole(texts: Sequence[str]) -> bool:
    """Whether `mended` would leave all texts as they are; quicker than to ask each."""
    try:
        for start in range(0, len(texts), _JOINED):
            joined = "".join(texts[start : start + _JOINED])
            if not joined.isascii():
                joined.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_missing(cell: str) -> bool:
    """Whether a cell says that nothing is known: empty, NaN, null, n/a."""
    return cell.strip().lower() in MISSING


def are_numbers(cells: Iterable[str]) -> bool:
    """Whether all known cells are numbers; codes such as "007" are text."""
    known = False
    for cell in cells:  # most columns of text show it in their first cell
        if not is_missing(cell):
            number = cell.strip()
            if _NUMBER.fullmatch(number) is None or re.match(r"[+-]?0\d", number):
                return False
            known = True
    return known


def shown(value: object, limit: int = 40) -> str:
    """Quote a value for a message, cut so that a hostile cell cannot fill the screen."""
    text = str(value)
    return repr(cut(text, limit))


def rows_named(unit: str, rows: Sequence[int]) -> str:
    """Name some rows and count the rest."""
    if len(rows) == 1:
        return f"{unit} {rows[0]}"
    return f"{unit}s {first_of(list(map(str, rows)), 5)}"


def first_of(texts: Sequence[str], limit: int, between: str = ", ") -> str:
    """Join the first of some texts and count the rest."""
    more = f" and {len(texts) - limit:,} more" if len(texts) > limit else ""
    return between.join(texts[:limit]) + more


def cut(text: str, limit: int) -> str:
    """So much of a text, with three dots where it goes on."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def counted(n: int, one: str, many: str | None = None) -> str:
    """Count things in words."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def is_noun(name: str) -> bool:
    """Whether a name can stand for items in a sentence: words of letters, none of them short."""
    # "Bez. lang", "b titel ?" and "text1" are headings of columns; so are "x" and "left".
    words = re.split(r"[ \-'’]", name)
    plain = all(word.isalpha() and (len(word) > 2 or not word.isascii()) for word in words)
    return plain and name.casefold() not in _SIDE.values()


def items_named(name: str, side: str = "") -> str:
    """What items are called in a sentence, which may speak of both sides: a noun."""
    if is_noun(name):
        return name
    return f"{_SIDE[side]} items" if side else "items"


def heading_named(name: str) -> str:
    """What stands over items: the heading of their column where `side_name` had put one."""
    match = _OF_COLUMN.fullmatch(name)
    return match[1] if match else name


def side_name(heading: str, side: str) -> str:
    """What the items of a side are called by the heading of their column."""
    if is_noun(heading):
        return heading
    items, heading = f"{_SIDE[side]} items", " ".join(heading.split())
    # The second is what `read_table` calls a column that has no name.
    if heading.casefold() in ("", _SIDE[side]) or re.fullmatch(r"column[_ ]\d+", heading):
        return items
    short = cut(heading, _HEADING - 1) if len(heading) > _HEADING else heading
    return f"{items} ({short})"


def numbered(labels: Sequence[str]) -> list[str]:
    """Tell equal labels apart by a number."""
    counts, seen = Counter(labels), Counter[str]()
    names = []
    for label in labels:
        seen[label] += 1
        names.append(f"{label} ({seen[label]})" if counts[label] > 1 else label)
    return names


def percent(share: float) -> str:
    """A share of one, as texts write it."""
    return f"{100 * share:.0f} %"


def spread(n: int, limit: int) -> Codes:
    """Positions from all of a list, evenly: its first entries are often much alike."""
    return np.linspace(0, max(n - 1, 0), min(limit, n)).astype(np.intp)


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """Suggest the nearest option, or list the options when none is near."""
    options = list(options)
    near = get_close_matches(word, options, n=1)
    if near:
        return f"Did you mean {shown(near[0])}?"
    listed = ", ".join(shown(o) for o in options[:12])
    return f"There is {listed}{' and more' if len(options) > 12 else ''}."


def factorize(values: Any) -> tuple[Codes, Codes, Any]:
    """Number values in order of appearance: their numbers, where each stands first, and each."""
    import pandas as pd

    codes, distinct = pd.factorize(values, use_na_sentinel=False)
    codes = codes.astype(np.intp, copy=False)
    if len(distinct) == len(codes):
        return codes, codes, distinct
    first = np.empty(len(distinct), dtype=np.intp)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return codes, first, distinct


def are_distinct(cells: Sequence[str] | NDArray[np.object_]) -> bool:
    """Whether no cell occurs twice."""
    # A sorted array of hashes takes a quarter of the memory of a set.
    hashes = np.sort(np.fromiter(map(hash, cells), dtype=np.int64, count=len(cells)))
    return not (hashes[1:] == hashes[:-1]).any() or len(set(cells)) == len(cells)


def as_text(cells: Any) -> Any:
    """Return strings as an array in Arrow's memory."""
    import pandas as pd

    return pd.array(cells, dtype="str")


def release_unused() -> None:
    """Give back memory that Arrow keeps in reserve, which would add to that of strings."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def as_cells(values: Sequence[Any] | NDArray[np.object_]) -> NDArray[np.object_]:
    """Return strings as an object array, never as one of fixed width."""
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return cells
