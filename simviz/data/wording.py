"""Short phrases for messages about data: quoted cells, row lists, near misses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def shown(value: object, limit: int = 40) -> str:
    """Quote a value for a message, cut so that a hostile cell cannot fill the screen.

    Examples
    --------
    >>> shown("a" * 100, limit=5)
    "'aaaaa…'"
    """
    text = str(value)
    return repr(text if len(text) <= limit else text[:limit] + "…")


def rows_named(unit: str, rows: Sequence[int], limit: int = 5) -> str:
    """Name some rows and count the rest.

    Examples
    --------
    >>> rows_named("line", [3]), rows_named("line", [3, 5, 8, 9], limit=2)
    ('line 3', 'lines 3, 5 and 2 more')
    """
    if len(rows) == 1:
        return f"{unit} {rows[0]}"
    named = ", ".join(str(r) for r in rows[:limit])
    more = f" and {len(rows) - limit:,} more" if len(rows) > limit else ""
    return f"{unit}s {named}{more}"


def counted(n: int, one: str, many: str | None = None) -> str:
    """Count things in words.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row"), counted(2, "entry", "entries")
    ('1 row', '1,200 rows', '2 entries')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def percent(share: float, digits: int = 0) -> str:
    """A share of one, as texts write it.

    Examples
    --------
    >>> percent(0.333), percent(0.333, digits=1)
    ('33 %', '33.3 %')
    """
    return f"{100 * share:.{digits}f} %"


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """Suggest the nearest option, or list the options when none is near.

    Examples
    --------
    >>> did_you_mean("qery", ["query", "document"])
    "Did you mean 'query'?"
    """
    options = list(options)
    near = get_close_matches(word, options, n=1)
    if near:
        return f"Did you mean {shown(near[0])}?"
    listed = ", ".join(shown(o) for o in options[:12])
    return f"There is {listed}{' and more' if len(options) > 12 else ''}."
