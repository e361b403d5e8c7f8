"""Writing systems of texts, by the names that Unicode gives to letters."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

#: What a text without a single letter is written in.
NO_SCRIPT = "no letters"
_NAMES = {"Cjk": "Chinese characters", "Hiragana": "Japanese kana", "Katakana": "Japanese kana"}
#: First words of letters' names that name no writing system.
_COMMON = {"Feminine", "Masculine", "Micro", "Modifier", "Script", "Double-Struck", "Planck"}
_LONGEST = 500  # characters of a text that are looked at


def scripts_of(texts: Sequence[str]) -> list[str]:
    """The writing system that most letters of each text belong to.

    Parameters
    ----------
    texts : sequence of str
        Any texts; of a long one the first 500 characters count.

    Returns
    -------
    list of str
        Such as "Latin", "Cyrillic" or "Chinese characters"; "no letters"
        where there is none.

    Examples
    --------
    >>> scripts_of(["red heart", "красное сердце", "赤いハート", "42"])
    ['Latin', 'Cyrillic', 'Japanese kana', 'no letters']
    """
    found = []
    for text in texts:
        start = text[:_LONGEST]
        if start.isascii():
            found.append("Latin" if any(map(str.isalpha, start)) else NO_SCRIPT)
            continue
        counts: dict[str, int] = {}
        for character in start:
            name = script_of(character)
            if name:
                counts[name] = counts.get(name, 0) + 1
        found.append(max(counts, key=counts.__getitem__) if counts else NO_SCRIPT)
    return found


@lru_cache(maxsize=65_536)
def script_of(character: str) -> str:
    """The writing system of a letter; empty for anything else.

    Parameters
    ----------
    character : str
        One character.

    Returns
    -------
    str
        By the first word of its name.

    Examples
    --------
    >>> script_of("é"), script_of("я"), script_of("7")
    ('Latin', 'Cyrillic', '')
    """
    if not character.isalpha():
        return ""
    name = unicodedata.name(character, "")
    first = name.removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ").partition(" ")[0]
    first = first.capitalize()
    return "" if first in _COMMON else _NAMES.get(first, first)
