"""One item in a table or a list: its text, its picture, its glyph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pages._shared import state

if TYPE_CHECKING:
    from simviz.data.items import Items

_LONGEST = 200


def text(items: Items, at: int, longest: int | None = _LONGEST) -> str:
    """What an item says: its text, else its label.

    Parameters
    ----------
    items : Items
        A side.
    at : int
        Which of them.
    longest : int, optional
        Cut to so many characters; None keeps all.

    Returns
    -------
    str
        Not escaped.
    """
    from simviz.charts.text import clean_text

    said = items.content[at] if items.kind in ("text", "keyword") else items.labels[at]
    return str(said) if longest is None else clean_text(said, longest)


def glyph(items: Items, at: int) -> str:
    """The label of an item that is a picture in itself, such as an emoji; else empty."""
    from simviz.charts.text import is_glyph

    label = str(items.labels[at])
    return label if items.kind != "image" and is_glyph(label) else ""


def picture(items: Items, at: int) -> str | None:
    """An image as the address of a small PNG; None for what is no image."""
    if items.kind != "image":
        return None
    from simviz.charts._thumbnails import data_uri
    from simviz.charts.style import get_theme

    return data_uri(items.content[at], get_theme(state.theme()).ink, 40)
