"""What a data set is made of: counts, lengths, scripts, words, grades."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz.data.items import Items
from simviz.data.pairs import PairSet

#: What a text without a single letter is written in.
NO_SCRIPT = "no letters"
_NAMES = {"Cjk": "Chinese characters", "Hiragana": "Japanese kana", "Katakana": "Japanese kana"}
#: First words of letters' names that name no writing system.
_COMMON = {"Feminine", "Masculine", "Micro", "Modifier", "Script", "Double-Struck", "Planck"}
_LONGEST = 500  # characters of a text that are looked at
_WORD = re.compile(r"\w+")
#: Distinct grades that are counted one by one; more are put into as many bins.
_BINS = 10
#: Characters whose words are counted; of more, fewer texts are read, spread evenly.
_CHARACTERS = 2_000_000


def plain_text(text: str) -> str:
    r"""A text without what no reader minds: case, width of characters, spaces."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.casefold().split())


def words_of(text: str) -> list[str]:
    """The words of a plain text: letters, digits and underscores in a row."""
    return _WORD.findall(text)


def scripts_of(texts: Sequence[str]) -> list[str]:
    """The writing system that most letters of each text belong to."""
    found = []
    for text in texts:
        start = text[:_LONGEST]
        if start.isascii():
            found.append("Latin" if any(map(str.isalpha, start)) else NO_SCRIPT)
            continue
        counts = Counter(filter(None, map(script_of, start)))
        found.append(max(counts, key=counts.__getitem__, default=NO_SCRIPT))
    return found


@lru_cache(maxsize=65_536)
def script_of(character: str) -> str:
    """The writing system of a letter; empty for anything else."""
    if not character.isalpha():
        return ""
    name = unicodedata.name(character, "")
    first = name.removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ").partition(" ")[0]
    first = first.capitalize()
    return "" if first in _COMMON else _NAMES.get(first, first)


@dataclass(frozen=True, slots=True)
class Spread:
    """How numbers are spread."""

    low: float
    middle: float
    high: float
    most: float

    @classmethod
    def of(cls, values: ArrayLike) -> Spread:
        """Measure some numbers."""
        found = np.quantile(np.asarray(values, dtype=np.float64), [0.05, 0.5, 0.95, 1.0])
        return cls(*(float(value) for value in found))


@dataclass(frozen=True, slots=True)
class SideDescription:
    """One side of a data set."""

    name: str
    kind: str
    n: int
    n_linked: int
    answers: Spread
    characters: Spread | None
    words: Spread | None
    n_words: int
    n_read: int
    scripts: tuple[tuple[str, float], ...]
    size: tuple[int, ...] | None
    filled: float
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Description:
    """Both sides of a data set and what is between them."""

    x: SideDescription
    y: SideDescription
    n_shared_words: int | None
    grades: tuple[tuple[str, int], ...]
    is_score: bool


def describe(pairs: PairSet) -> Description:
    """Say what a data set is made of.

    Parameters
    ----------
    pairs : PairSet
        Of any kind.

    Returns
    -------
    Description
        Of both sides and their judgments.

    Examples
    --------
    >>> told = describe(PairSet.from_texts(["red car", "car"], ["coche rojo", "car"]))
    >>> told.x.n_words, told.n_shared_words, told.x.scripts, told.grades
    (2, 1, (('Latin', 1.0),), (('1', 2),))
    """
    positives = pairs.relevance.positives
    x_words, y_words = _words(pairs.x), _words(pairs.y)
    shared = None
    if x_words is not None and y_words is not None:
        shared = len(x_words.vocabulary & y_words.vocabulary)
    return Description(
        _side(pairs.x, pairs.x_name, np.diff(positives.indptr), x_words),
        _side(
            pairs.y,
            pairs.y_name,
            np.bincount(positives.indices, minlength=positives.shape[1]),
            y_words,
        ),
        shared,
        _grades(pairs.relevance.matrix.data),
        pairs.relevance.kind == "score",
    )


@dataclass(frozen=True, slots=True)
class _Words:
    """Words and scripts of texts of a side."""

    counts: Sequence[int]
    vocabulary: set[str]
    scripts: Sequence[str]


def _words(items: Items) -> _Words | None:
    if items.kind not in ("text", "keyword"):
        return None
    share = _CHARACTERS / max(1, sum(map(len, items.content)))
    n_read = min(len(items), max(1, int(share * len(items))))
    texts = items.content[np.linspace(0, len(items) - 1, n_read).astype(np.intp)]
    counts: list[int] = []
    vocabulary: set[str] = set()
    for text in texts:
        words = words_of(plain_text(text))
        counts.append(len(words))
        vocabulary.update(words)
    return _Words(counts, vocabulary, scripts_of(texts))


def _side(
    items: Items, name: str, answers: NDArray[np.integer], words: _Words | None
) -> SideDescription:
    linked = answers[answers > 0]
    scripts: tuple[tuple[str, float], ...] = ()
    if words is not None:
        counts = Counter(words.scripts).most_common()
        scripts = tuple((script, n / len(words.scripts)) for script, n in counts)
    content, filled = items.content, float("nan")
    if items.kind == "vector":
        n_set = content.nnz if sp.issparse(content) else np.count_nonzero(content)
        filled = float(n_set) / max(1, content.shape[0] * content.shape[1])
    return SideDescription(
        name=name,
        kind=items.kind,
        n=len(items),
        n_linked=len(linked),
        answers=Spread.of(linked if len(linked) else [0]),
        characters=None if words is None else Spread.of([len(text) for text in items.content]),
        words=None if words is None else Spread.of(words.counts),
        n_words=0 if words is None else len(words.vocabulary),
        n_read=0 if words is None else len(words.counts),
        scripts=scripts,
        size=content.shape[1:] if items.kind in ("image", "vector") else None,
        filled=filled,
        columns=tuple(items.metadata),
    )


def _grades(values: NDArray[np.float64]) -> tuple[tuple[str, int], ...]:
    """How often each grade was given, or how many scores fall into each interval."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= _BINS:
        graded = zip(distinct.tolist(), counts.tolist(), strict=True)
        return tuple((f"{value:g}", n) for value, n in graded)[::-1]
    counts, edges = np.histogram(values, bins=_BINS)
    return tuple(
        (f"{low:.3g} to {high:.3g}", int(n))
        for low, high, n in zip(edges[:-1], edges[1:], counts, strict=True)
    )[::-1]
