"""Where the terms of a text stand in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.features._analysis import word_pattern
from simviz.features.keywords import MultiHot
from simviz.features.text import TextCounts

Spans = tuple[tuple[int, int], ...]
_WORD = re.compile(r"\S+")


def character_weights(
    features: Any, text: str, terms: Iterable[str], values: Iterable[float]
) -> tuple[str, NDArray[np.float64]] | None:
    """Spread values of terms over the characters of the text that has them."""
    # A term's value is shared equally by its occurrences, and an occurrence's share by its
    # characters, so that the characters add up to the values.
    if isinstance(features, TextCounts) and isinstance(features.analyzer, str):
        shown = unicodedata.normalize("NFC", text)
        # Where lower case has another length, places in one are no places in the other.
        lower = features.lowercase and len(shown.lower()) == len(shown)
        seen = shown.lower() if lower else shown
        term_spans = _text_spans(features, seen)
    elif isinstance(features, MultiHot):
        shown, term_spans = text, _keyword_spans(features, text)
    else:
        return None
    places: dict[str, list[Spans]] = {}
    for term, spans in term_spans:
        places.setdefault(term, []).append(spans)
    weights = np.zeros(len(shown))
    for term, value in zip(terms, values, strict=True):
        occurrences = places.get(term, [])
        for spans in occurrences:
            size = sum(stop - start for start, stop in spans)
            for start, stop in spans:
                weights[start:stop] += value / len(occurrences) / size
    return shown, weights


def word_shares(
    features: Any, text: str, terms: Sequence[str]
) -> tuple[list[str], NDArray[np.float64]] | None:
    """How much of each term lies in each word of a text, where terms are parts of words."""
    if not isinstance(features, TextCounts) or features.analyzer not in ("char", "char_wb"):
        return None
    shown = unicodedata.normalize("NFC", text)
    place: dict[str, int] = {}
    owner = np.full(len(shown), -1)
    for match in _WORD.finditer(shown):
        owner[slice(*match.span())] = place.setdefault(match.group(), len(place))
    shares = np.zeros((len(place), len(terms)))
    for column, term in enumerate(terms):
        marked = character_weights(features, text, [term], [1.0])
        if marked is not None:
            inside = owner >= 0
            np.add.at(shares[:, column], owner[inside], marked[1][inside])
    sums = shares.sum(axis=0)
    return list(place), shares / np.where(sums > 0, sums, 1.0)


def _text_spans(features: TextCounts, text: str) -> Iterator[tuple[str, Spans]]:
    low, high = features.ngram_range
    if features.analyzer == "word":
        dropped = features.dropped_words()
        words = [m for m in word_pattern().finditer(text) if m.group() not in dropped]
        for n in range(low, high + 1):
            for i in range(len(words) - n + 1):
                some = words[i : i + n]
                yield " ".join(m.group() for m in some), tuple(m.span() for m in some)
    elif features.analyzer == "char":
        yield from _grams(*_joined(text), low, high)
    else:
        for word in _WORD.finditer(text):
            padded = f" {word.group()} "
            start, stop = word.span()
            at = [start, *range(start, stop), stop - 1]
            yield from _grams(padded, at, low, max(low, min(high, len(padded))))


def _joined(text: str) -> tuple[str, list[int]]:
    """The text with single spaces, and where each of its characters comes from."""
    characters: list[str] = []
    at: list[int] = []
    for word in _WORD.finditer(text):
        if characters:
            characters.append(" ")
            at.append(word.start() - 1)
        characters.append(word.group())
        at += range(*word.span())
    return "".join(characters), at


def _grams(text: str, at: Sequence[int], low: int, high: int) -> Iterator[tuple[str, Spans]]:
    for n in range(low, high + 1):
        for i in range(max(len(text) - n + 1, 1)):
            if gram := text[i : i + n]:
                yield gram, ((at[i], at[i : i + n][-1] + 1),)


def _keyword_spans(features: MultiHot, text: str) -> Iterator[tuple[str, Spans]]:
    parts = [text] if features.delimiter is None else text.split(features.delimiter)
    start = 0
    for part in parts:
        if keyword := part.strip():
            first = start + part.index(keyword)
            yield keyword.lower(), ((first, first + len(keyword)),)
        start += len(part) + len(features.delimiter or "")
