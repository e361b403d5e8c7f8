"""Text from files and visitors, shown as it is: escaped, never markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import streamlit as st

_STYLE = Path(__file__).with_name("display.css")


def style() -> None:
    """What this module's parts look like; to be called once a page."""
    st.html(_STYLE)


def problem(message: object) -> None:
    """Say what is wrong; in the way of nothing else on the page."""
    st.html(f'<div class="sv-problem" role="alert">{escape(str(message))}</div>')


def said(text: str) -> None:
    """A sentence."""
    st.html(f'<p class="sv-said">{escape(text)}</p>')


def quiet(text: str) -> None:
    """A sentence that stands back."""
    st.html(f'<p class="sv-quiet">{escape(text)}</p>')


def name(text: str) -> None:
    """The name of a thing, as the heading of what is said about it."""
    st.html(f'<h2 class="sv-name">{escape(text)}</h2>')


def notes(lines: Iterable[str]) -> None:
    """Sentences, one an entry of a list."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    if items:
        st.html(f'<ul class="sv-notes">{items}</ul>')


def figures(entries: Iterable[tuple[str, str]]) -> None:
    """Numbers in large, each with what it counts."""
    cells = "".join(
        f"<div><b>{escape(number)}</b><span>{escape(what)}</span></div>"
        for number, what in entries
    )
    st.html(f'<div class="sv-figures">{cells}</div>')


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, look: str = "") -> None:
    """A few rows of text and numbers, as every table of the app looks; "sv-tight" in a column."""
    from simviz.charts.tables import html_table

    st.html(html_table(head, rows, look=f"sv-table {look}".strip(), scroll="sv-scroll"))


def legend(entries: Iterable[tuple[str, str]]) -> None:
    """What colours mean: a colour of ours and a text."""
    parts = "".join(
        f'<span><i style="background:{colour}"></i>{escape(what)}</span>'
        for colour, what in entries
    )
    st.html(f'<div class="sv-legend">{parts}</div>')


def signed(value: float, digits: int = 3) -> str:
    """A number with its sign, a true minus."""
    return f"{value:+.{digits}f}".replace("-", "−")
