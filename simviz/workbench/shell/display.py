"""Text from files and visitors, shown as it is: escaped, never markup."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from html import escape
from pathlib import Path
from urllib.parse import quote

import numpy as np
import streamlit as st

from simviz.charts.pictures import data_uri
from simviz.charts.style import clean_text, get_theme, is_glyph, method_style
from simviz.charts.tables import html_table
from simviz.data.pairs import Items
from simviz.exceptions import SimvizError
from simviz.markdown import escape_markdown
from simviz.workbench.shell import forms, state

_STYLE = Path(__file__).with_name("display.css")


def style() -> None:
    """What this module's parts look like; to be called once a page."""
    st.html(_STYLE)


def problem(message: object) -> None:
    """Say what is wrong; in the way of nothing else on the page."""
    st.html(f'<div class="sv-problem" role="alert">{escape(str(message))}</div>')


def toast(message: str) -> None:
    """Say what is wrong from a callback, for a moment."""
    st.toast(escape_markdown(message))


def later(key: str) -> Callable[[str], None]:
    """What keeps what is wrong in the session, for the page that is drawn next."""
    return partial(st.session_state.__setitem__, key)


@contextmanager
def problems(*others: type[Exception], show: Callable[[str], None] = problem) -> Iterator[None]:
    """Say what is wrong where some lines, or a function that this decorates, end with an error."""
    caught: tuple[type[Exception], ...] = (SimvizError, *others)
    try:
        yield
    except caught as error:
        show(str(error))


def sentence(text: str) -> None:
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


def undoable(label: str, lines: Iterable[tuple[str, Callable[[], object]]], key: str) -> None:
    """What somebody decided, in a list that opens, each with the button that takes it back."""
    with st.expander(label, key=f"{key}-kept:form"):
        for n, (text, undo) in enumerate(lines):
            with st.container(horizontal=True, vertical_alignment="center"):
                sentence(text)
                forms.button("Undo", f"{key}-drop-{n}", undo, type="tertiary")


def figures(entries: Iterable[tuple[str, str]]) -> None:
    """Numbers in large, each with what it counts."""
    cells = "".join(
        f"<div><b>{escape(number)}</b><span>{escape(what)}</span></div>"
        for number, what in entries
    )
    st.html(f'<div class="sv-figures">{cells}</div>')


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, look: str = "") -> None:
    """A few rows of text and numbers, as every table of the app looks; "sv-tight" in a column."""
    st.html(html_table(head, rows, look=f"sv-table {look}".strip(), scroll="sv-scroll"))


def legend(entries: Iterable[tuple[str, str]]) -> None:
    """What colours mean: a colour of ours and a text."""
    parts = "".join(
        f'<span><i style="background:{colour}"></i>{escape(what)}</span>'
        for colour, what in entries
    )
    st.html(f'<div class="sv-legend">{parts}</div>')


def number(value: float, spec: str = ".3f") -> str:
    """A number with a true minus; a dash for none, and no sign where what is written is 0."""
    if value != value:
        return "–"
    text = format(value, spec)
    return text.replace("-", "−") if float(text) else text.lstrip("+-")


def signed(value: float) -> str:
    """A difference to three decimals, with its sign."""
    return number(value, "+.3f")


_LONGEST = 200
#: Plotly's names for dashes as an SVG line of the size of a mark.
_DASHES = {
    "solid": "none",
    "dash": "5 3",
    "dot": "2 3",
    "dashdot": "6 2.5 2 2.5",
    "longdash": "9 3",
    "longdashdot": "9 2 2 2",
}


def mark(look: str) -> str:
    """A short line in the colour and dash of a run, as a CSS image."""
    style = method_style(look, state.theme())
    dashes = _DASHES.get(style.dash) or style.dash.replace("px", "").replace(",", " ")
    line = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10">'
        f'<path d="M0 5H20" stroke="{style.colour}" stroke-width="3" '
        f'stroke-dasharray="{dashes}"/></svg>'
    )
    return f'url("data:image/svg+xml,{quote(line)}")'


def mark_pills(key: str, look_of: Sequence[str]) -> None:
    """Put each run's mark into its pill, which can hold text only."""
    # What explains the pills is a button too, of another kind.
    pill = f'.st-key-{key} button[data-variant^="pills"]'
    rules = "".join(
        f"{pill}:nth-of-type({i})::before {{ content: {mark(look)}; margin-right: .45rem; }}"
        for i, look in enumerate(look_of, 1)
    )
    st.html(f"<style>{rules}</style>")


def aside(text: str) -> None:
    """Say something that calls for no action."""
    st.caption(f":material/info: {escape_markdown(text)}")


def item_text(items: Items, at: int, longest: int | None = _LONGEST) -> str:
    """What an item says: its text, else its label."""
    text = items.content[at] if items.kind in ("text", "keyword") else items.labels[at]
    return str(text) if longest is None else clean_text(text, longest)


def item_glyph(items: Items, at: int) -> str:
    """The label of an item that is a picture in itself, such as an emoji; else empty."""
    label = str(items.labels[at])
    return label if items.kind != "image" and is_glyph(label) else ""


def item_label(items: Items, at: int, longest: int | None = _LONGEST) -> str:
    """What an item says, behind its glyph where that says something else."""
    glyph, text = item_glyph(items, at), item_text(items, at, longest)
    return f"{glyph} {text}" if glyph and clean_text(glyph, _LONGEST) != text else text


def item_picture(items: Items, at: int, size: int = 40) -> str | None:
    """An image as the address of a small PNG; None for what is no image."""
    if items.kind != "image":
        return None
    pixels = items.content[at]
    return _source(pixels.tobytes(), pixels.shape, get_theme(state.theme()).ink, size)


@lru_cache(maxsize=4096)
def _source(pixels: bytes, shape: tuple[int, ...], ink: str, size: int) -> str:
    """A picture as an address; the same ones come up again and again."""
    return data_uri(np.frombuffer(pixels, dtype=np.uint8).reshape(shape), ink, size)
