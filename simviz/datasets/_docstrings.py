"""One docstring taken apart: summary, text, and the names it links to."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from textwrap import dedent

_LINKS = "see also"
# Code and what it prints, and titles of papers: a third of the words, and none of them
# says what a function does.
_LEFT_OUT = ("examples", "references")
_SIGNATURE = re.compile(r"[\w.]+ ?[(\[].*[)\]]( -> .+)?", re.DOTALL)
_UNDERLINES = ("---", "===", "~~~")
_TITLE = re.compile(r"[A-Z][\w ]+")
_ROLE = re.compile(r":[a-z:]+:`~?([^`<]*?)(?: ?<[^`]*>)?`")
# SciPy writes the arguments of a decorator as a set, in an order that each process makes anew.
_SET = re.compile(r"(?<=argument\(s\) )\{([^{}]*)\}")
_NAME = r"[A-Za-z_]\w*(?:\.\w+)*"
_NAMES = re.compile(rf"({_NAME}(?:\s*,\s*{_NAME})*)\s*,?(?:\s+:|:\s|:?$)")


@dataclass(frozen=True, slots=True)
class Docstring:
    """What a docstring says.

    Parameters
    ----------
    summary : str
        Its first paragraph, without a signature before it.
    text : str
        What follows, without the summary where it is repeated and without the
        sections *See Also*, *Examples* and *References*.
    links : tuple of str
        Names in *See Also*, as written.
    """

    summary: str
    text: str
    links: tuple[str, ...]


def parse_docstring(docstring: str) -> Docstring:
    """Take a docstring in numpydoc's form apart.

    Parameters
    ----------
    docstring : str
        As the object has it.

    Returns
    -------
    Docstring
        Its parts as plain text, each run of white space as one space.

    Examples
    --------
    >>> parsed = parse_docstring('''Add `a` to b.
    ...
    ... Faster than a loop.
    ...
    ... See Also
    ... --------
    ... sub, np.mul : Others.''')
    >>> parsed.summary, parsed.text, parsed.links
    ('Add a to b.', 'Faster than a loop.', ('sub', 'np.mul'))
    """
    (_, head), *sections = _sections(inspect.cleandoc(docstring).split("\n"))
    paragraphs = [p for p in re.split(r"\n\s*\n", "\n".join(head)) if p.strip()]
    # Functions written in C begin with their signatures.
    while len(paragraphs) > 1 and _SIGNATURE.fullmatch(paragraphs[0].strip()):
        del paragraphs[0]
    summary = _plain(paragraphs[0]) if paragraphs else ""
    links: list[str] = []
    text = paragraphs[1:]
    for title, lines in sections:
        if title.lower() == _LINKS:
            links += _linked(lines)
        elif title.lower() not in _LEFT_OUT:
            text += [title, *lines]
    body = _plain("\n".join(text))
    if summary and summary.lower() in body.lower():
        body = re.sub(re.escape(summary), " ", body, flags=re.IGNORECASE)
    return Docstring(summary, " ".join(body.split()), tuple(dict.fromkeys(links)))


def _sections(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Titles with the lines below them; what precedes the first title has none."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for line in lines:
        below = found[-1][1]
        # The rules of a table stand below several words apart, or above them.
        if line.startswith(_UNDERLINES) and below and _TITLE.fullmatch(below[-1]):
            found.append((below.pop(), []))
        else:
            below.append(line)
    return found


def _linked(lines: list[str]) -> list[str]:
    """Names before the colons; deeper lines describe the name above."""
    names: list[str] = []
    for line in dedent("\n".join(lines)).split("\n"):
        match = _NAMES.match(_ROLE.sub(r"\1", line).replace("`", ""))
        if match:
            names += (name.strip() for name in match[1].split(","))
    return names


def _plain(text: str) -> str:
    """Text without the marks that reStructuredText puts around names."""
    line = " ".join(_ROLE.sub(r"\1", text).replace("`", "").split())
    return _SET.sub(lambda found: f"{{{', '.join(sorted(found[1].split(', ')))}}}", line)
