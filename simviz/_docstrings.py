"""Docstrings in pieces: the sections of numpydoc, and their text as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from simviz.markdown import escape_markdown

_HEADING = re.compile(r"^(?P<name>\S[^\n]*)\n-{3,}[ \t]*\n", re.M)
# Formulas, literals, and names of things, in this order of precedence.
_ROLE = re.compile(
    r":math:`(?P<math>[^`]+)`"
    r"|``(?P<literal>.+?)``"
    r"|(?::[\w:]+:)?`~?(?P<name>[^`]+)`",
    re.S,
)


class Piece(NamedTuple):
    """A stretch of a paragraph: text, a formula, or a word of code.

    Parameters
    ----------
    kind : {"text", "formula", "code"}
        What it is.
    content : str
        Without its marks.
    """

    kind: Literal["text", "formula", "code"]
    content: str


def sections(doc: str) -> dict[str, str]:
    r"""Parts of a docstring by their headings.

    Parameters
    ----------
    doc : str
        A docstring, its indentation removed.

    Returns
    -------
    dict of str to str
        What stands before the first heading under "".

    Examples
    --------
    >>> sections("Fact.\n\nNotes\n-----\nMore.\n")
    {'': 'Fact.', 'Notes': 'More.'}
    """
    found, name, start = {}, "", 0
    for heading in _HEADING.finditer(doc):
        found[name] = doc[start : heading.start()].strip()
        name, start = heading["name"].strip(), heading.end()
    found[name] = doc[start:].strip()
    return found


def paragraphs(text: str) -> list[str]:
    """Paragraphs as single lines.

    Parameters
    ----------
    text : str
        Part of a docstring.

    Returns
    -------
    list of str
        What stands between empty lines.
    """
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def pieces(paragraph: str) -> list[Piece]:
    """A paragraph as text, formulas and code, in their order.

    Parameters
    ----------
    paragraph : str
        With roles, such as ``:math:``.

    Returns
    -------
    list of Piece
        The whole paragraph.

    Examples
    --------
    >>> pieces(r"Keeps :math:`x^2` of `x_`.")
    [Piece(kind='text', content='Keeps '), Piece(kind='formula', content='x^2'), \
Piece(kind='text', content=' of '), Piece(kind='code', content='x_'), \
Piece(kind='text', content='.')]
    """
    found: list[Piece] = []
    start = 0
    for role in _ROLE.finditer(paragraph):
        if role.start() > start:
            found.append(Piece("text", paragraph[start : role.start()]))
        if role["math"] is not None:
            found.append(Piece("formula", " ".join(role["math"].split())))
        else:
            found.append(Piece("code", role["literal"] or role["name"]))
        start = role.end()
    if start < len(paragraph):
        found.append(Piece("text", paragraph[start:]))
    return found


def as_markdown(paragraph: str | Sequence[Piece]) -> str:
    r"""A paragraph of a docstring as Markdown, formulas between dollar signs.

    Parameters
    ----------
    paragraph : str or sequence of Piece
        With roles, or what `pieces` answered.

    Returns
    -------
    str
        Markdown.

    Examples
    --------
    >>> as_markdown(r"Maximises :math:`a^2`; see `fit` and ``x @ y``, or *all*.")
    'Maximises $a^2$; see `fit` and `x @ y`, or \\*all\\*.'
    """
    parts = pieces(paragraph) if isinstance(paragraph, str) else paragraph
    shown = {"text": escape_markdown, "formula": "${}$".format, "code": "`{}`".format}
    return "".join(shown[part.kind](part.content) for part in parts)
