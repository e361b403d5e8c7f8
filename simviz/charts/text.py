"""Other people's text, made safe and short for a chart.

Plotly reads tags and entities in labels, legends and hover text. Whatever was
uploaded is escaped before it gets there.
"""

from __future__ import annotations

import html
import unicodedata

# Joiners and selectors that are part of how emoji and some scripts are written.
_KEPT_FORMATS = frozenset("\u200c\u200d\ufe0e\ufe0f")
#: Widths in em of the wider sans-serif faces; what is not listed is _WIDTH wide.
_WIDTHS = dict.fromkeys("ijl.,:;'|!", 0.29) | dict.fromkeys("ftrI()[]-/ ", 0.37)
_WIDTHS |= dict.fromkeys("mwMW@%", 0.95)
_WIDTH, _CAPITAL_WIDTH, _WIDE = 0.62, 0.74, 1.05
#: Characters that are not seen: some turn the direction of what follows.
_UNSEEN = {
    code: " " if unicodedata.category(chr(code)) == "Cc" else None
    for code in (*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, *range(0x200B, 0x2070), 0xFEFF)
    if unicodedata.category(chr(code)) in ("Cc", "Cf") and chr(code) not in _KEPT_FORMATS
}


def clean_text(text: object, limit: int = 80) -> str:
    r"""Make one line without control characters, shortened to `limit` characters.

    Parameters
    ----------
    text : object
        Anything; its ``str`` is taken.
    limit : int, default=80
        Most characters to keep; a cut ends in "…", at a word where possible.

    Returns
    -------
    str
        Not escaped.

    Examples
    --------
    >>> clean_text("a\nlong   story", 8)
    'a long…'
    """
    # Far more than is kept need not be looked at: cells can be megabytes.
    raw = str(text)[: 8 * limit + 64]
    kept = (
        " " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c
        for c in raw
        if unicodedata.category(c) not in ("Cf", "Cs", "Co") or c in _KEPT_FORMATS
    )
    line = " ".join("".join(kept).split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > limit // 2 else cut).rstrip(" ,;:.") + "…"


def safe_line(text: object, limit: int = 80) -> str:
    r"""One line without control characters, cut at `limit`, for where nothing reads markup.

    Quicker than `clean_text`, which looks at each character and cuts at words.

    Parameters
    ----------
    text : object
        Anything; its ``str`` is taken.
    limit : int, default=80
        Most characters to keep; a cut ends in "…".

    Returns
    -------
    str
        Not escaped.

    Examples
    --------
    >>> safe_line("a\nlong   story\u202e", 8)
    'a long…'
    """
    line = " ".join(str(text)[: 2 * limit + 64].translate(_UNSEEN).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip(" ,;:.") + "…"


def safe_text(text: object, limit: int = 80) -> str:
    """`clean_text` with ``<``, ``>`` and ``&`` escaped for Plotly.

    Examples
    --------
    >>> safe_text("<b onclick=alert(1)>R&D")
    '&lt;b onclick=alert(1)&gt;R&amp;D'
    """
    # Quotes stay: Plotly shows the entity &quot; as it is written.
    return html.escape(clean_text(text, limit), quote=False)


def text_width(text: str, size: float) -> float:
    """Estimate the width in pixels of a line in a sans-serif font of `size` pixels."""
    em = 0.0
    for c in text:
        if unicodedata.combining(c) or c in _KEPT_FORMATS:
            continue
        if unicodedata.east_asian_width(c) in "WF":
            em += _WIDE
        else:
            em += _WIDTHS.get(c, _CAPITAL_WIDTH if c.isupper() else _WIDTH)
    return em * size


def is_glyph(text: str) -> bool:
    """Whether a label is a picture in itself, such as an emoji.

    Examples
    --------
    >>> is_glyph("❤️"), is_glyph("heart"), is_glyph("4")
    (True, False, False)
    """
    return (
        0 < len(text) <= 12
        and any(unicodedata.category(c) in ("So", "Sk") or c == "\u20e3" for c in text)
        and not any(c.isalpha() for c in text)
    )
