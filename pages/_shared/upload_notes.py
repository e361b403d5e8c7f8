"""What is said of a file that was read: first what changes it, the rest folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

import streamlit as st

#: Notes that are seen at once; one more than these is no reason to fold.
_SHOWN = 3
#: Rows that are not in the pairs have a list of their own, with what they hold.
_ROWS_LEFT_OUT = re.compile(r"[\d,]+ rows? left out because ")
#: Columns that say nothing about an item: from two on in one note.
_DROPPED = re.compile(r"Column (.*) was dropped: one item has several values there \(.*\)\.")
#: The first that is found in a note says how much it matters.
_WEIGHTS = tuple(
    re.compile(words)
    for words in (
        # Something is not in what was read, or is not as it stands in the file.
        r"left out|dropped|cannot|contradict|both relevant and|would leak|may judge|long cells|"
        r"read as \w+-",
        # Something was taken for something.
        r"count as empty|counts? once|read as|became|scores|no name|names two",
    )
)
_STYLE = """
<style>
.sv-more summary { cursor: pointer; opacity: .75; font-size: .9rem; padding: .2rem 0; }
.sv-more ul { margin-top: .2rem; }
</style>
"""


def show(lines: Sequence[str]) -> None:
    """Show the notes of a file.

    Parameters
    ----------
    lines : sequence of str
        Sentences, which may hold anything.
    """
    told = ordered(lines)
    if not told:
        return
    at_once = told[:_SHOWN] if len(told) > _SHOWN + 1 else told
    rest = told[len(at_once) :]
    folded = f"<summary>{len(rest)} more notes</summary>{_list(rest)}"
    folded = f'<details class="sv-more">{folded}</details>' if rest else ""
    if folded:
        st.html(_STYLE)
    st.html(_list(at_once) + folded)


def ordered(lines: Iterable[str]) -> list[str]:
    """Notes in the order of how much they change, each once.

    Parameters
    ----------
    lines : iterable of str
        Sentences. Those about rows that are left out are not among the
        answer: these rows are listed with their reasons.

    Returns
    -------
    list of str
        Equally weighty ones as they came.

    Examples
    --------
    >>> ordered(["Column 'a' is called 'b'.", "2 columns with lists left out: 'c', 'd'."])
    ["2 columns with lists left out: 'c', 'd'.", "Column 'a' is called 'b'."]
    """
    kept = [line for line in dict.fromkeys(lines) if not _ROWS_LEFT_OUT.match(line)]
    return sorted(_joined(kept), key=_weight)


def _joined(lines: Sequence[str]) -> list[str]:
    """Notes with all columns that were dropped for the same reason in one of them."""
    dropped = {line: found[1] for line in lines if (found := _DROPPED.fullmatch(line))}
    if len(dropped) < 2:
        return list(lines)
    joined = (
        f"{len(dropped)} columns were dropped, for one item has several values there: "
        f"{', '.join(dropped.values())}."
    )
    return [joined, *(line for line in lines if line not in dropped)]


def _weight(line: str) -> int:
    return next((i for i, words in enumerate(_WEIGHTS) if words.search(line)), len(_WEIGHTS))


def _list(lines: Iterable[str]) -> str:
    return f'<ul class="sv-notes">{"".join(f"<li>{escape(line)}</li>" for line in lines)}</ul>'
