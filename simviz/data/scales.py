"""Scales: judgments in words, and the grades that they stand for."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType

_YES = (
    "yes y true t relevant match matching positive same similar duplicate related equivalent"
).split()
_SAID_NO = "relevant,match,matching,similar,duplicate,related,equivalent,the same".split(",")
_NO = dict.fromkeys(
    (
        *"no n false f negative irrelevant mismatch different dissimilar unrelated".split(),
        *(f"{no} {word}" for word in _SAID_NO for no in ("not", "not a", "non", "no")),
    ),
    -1,
)
#: Scales by what is above 0, highest first; -1 is judged not relevant. Of two
#: scales that hold equally many of the words of a column, the first is meant.
SCALES: tuple[Mapping[str, int], ...] = tuple(
    MappingProxyType(_NO | scale)
    for scale in (
        {"highly relevant": 2, "good match": 1, **dict.fromkeys(_YES, 1)},
        {"exact": 2, "exact match": 2, "partial": 1, "partial match": 1},
        {
            "highly relevant": 3,
            **dict.fromkeys(("relevant", "match", "yes"), 2),
            **dict.fromkeys(("partial", "partial match", "partially relevant"), 1),
            **dict.fromkeys(("somewhat relevant", "marginally relevant"), 1),
        },
        # How the meaning of an advertisement lies to that of a query (Yih et al.).
        {"same": 2, "subset": 1, "superset": 1, "disjoint": -1},
        # How a product answers a query for another one (ESCI).
        {"exact": 3, "substitute": 2, "complement": 1},
        # How well a page answers a web search.
        {"perfect": 4, "excellent": 3, "good": 2, "fair": 1, "bad": -1, "poor": -1},
    )
)
#: ESCI in letters, which mean nothing one by one.
_LETTERS: Mapping[str, int] = MappingProxyType({"e": 3, "s": 2, "c": 1, "i": -1})
#: Words of the scales that may as well describe one thing as judge two.
_COMMON = frozenset(
    "yes y no n true t false f positive negative exact partial perfect excellent good fair bad "
    "poor e s c i".split()
)


def spelled(cell: str) -> str:
    """A label in words, in one spelling.

    Examples
    --------
    >>> spelled(" Not-Relevant"), spelled("-1")
    ('not relevant', '-1')
    """
    return " ".join(re.sub(r"(?<=[^\W_])[-_]+(?=[^\W_])", " ", cell.casefold()).split())


def meanings(words: Collection[str]) -> dict[str, int]:
    """The grades of those words of a column that are known.

    Parameters
    ----------
    words : collection of str
        All distinct words of the column, as `spelled`. The scale that holds
        most of them is meant; what it lacks means what it means elsewhere.

    Returns
    -------
    dict of str to int
        A grade above 0, or -1 for judged not relevant.

    Examples
    --------
    >>> meanings(["same", "subset", "disjoint"]), meanings(["same", "different", "blue"])
    ({'same': 2, 'subset': 1, 'disjoint': -1}, {'same': 1, 'different': -1})
    """
    if len(words) > 1 and _LETTERS.keys() >= set(words):
        return {word: _LETTERS[word] for word in words}
    meant = max(SCALES, key=lambda scale: sum(word in scale for word in words))
    found = {w: next((s[w] for s in (meant, *SCALES) if w in s), None) for w in words}
    return {word: grade for word, grade in found.items() if grade is not None}


def speak_of_pairs(words: Collection[str]) -> bool:
    """Whether known words can only say how two things lie to one another.

    Examples
    --------
    >>> speak_of_pairs(["same", "disjoint"]), speak_of_pairs(["good", "bad"])
    (True, False)
    """
    return not _COMMON.issuperset(words)
