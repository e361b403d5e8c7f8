"""Text from files and visitors, shown as it is: escaped, never markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import streamlit as st

_STYLE = """
<style>
.sv-problem { border-left: 3px solid #c2452d; padding: .55rem .9rem; line-height: 1.55;
  background: color-mix(in srgb, #c2452d 9%, transparent); border-radius: 0 .4rem .4rem 0;
  overflow-wrap: anywhere; }
.sv-quiet { font-size: .875rem; line-height: 1.5; opacity: .7; margin: 0;
  overflow-wrap: anywhere; }
.sv-said { line-height: 1.55; margin: 0; overflow-wrap: anywhere; }
.sv-name { font-family: 'Iowan Old Style', 'Palatino Linotype', Palatino, 'Book Antiqua',
  Georgia, serif; font-size: 1.5rem; font-weight: 500; line-height: 1.3; margin: 0; padding: 0;
  overflow-wrap: anywhere; }
.sv-notes { margin: 0; padding-left: 1.1rem; font-size: .9rem; line-height: 1.5;
  overflow-wrap: anywhere; }
.sv-notes li { margin: .2rem 0; }
.sv-tight { font-size: .85rem; }
.sv-tight th, .sv-tight td { padding-left: .3rem; padding-right: .3rem; }
.sv-figures { display: flex; flex-wrap: wrap; gap: .6rem 2.4rem; margin: .2rem 0; }
.sv-figures b { display: block; font-size: 1.45rem; font-weight: 500; line-height: 1.25;
  font-variant-numeric: tabular-nums; }
.sv-figures span { font-size: .875rem; opacity: .7; overflow-wrap: anywhere; }
.sv-legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; font-size: .875rem; }
.sv-legend i { display: inline-block; width: .8rem; height: .8rem; border-radius: .2rem;
  margin-right: .4rem; vertical-align: -.08rem; }
</style>
"""


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


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, tight: bool = False) -> None:
    """A few rows of text and numbers, as every table of the app looks; tight in a side column."""
    look = "sv-table sv-tight" if tight else "sv-table"
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    st.html(
        f'<div class="sv-scroll"><table class="{look}">'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def legend(entries: Iterable[tuple[str, str]]) -> None:
    """What colours mean: a colour of ours and a text."""
    parts = "".join(
        f'<span><i style="background:{colour}"></i>{escape(what)}</span>'
        for colour, what in entries
    )
    st.html(f'<div class="sv-legend">{parts}</div>')
