"""Texts to terms, and terms to a matrix of counts."""

from __future__ import annotations

import re
import unicodedata
import zlib
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import repeat

import numpy as np
import scipy.sparse as sp

Analyzer = Callable[[str], Sequence[str]]


def check_texts(texts: object, owner: str) -> list[str]:
    """Make a list of strings of what a transformer was given."""
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise ValueError(
            f"{owner} takes a sequence of strings, got a {type(texts).__name__}. "
            "Put a single text in a list: [text]."
        )
    checked = list(texts)
    for i, text in enumerate(checked):
        if not isinstance(text, str):
            raise ValueError(
                f"{owner} takes a sequence of strings, item {i} is a {type(text).__name__}. "
                "Replace missing texts by '' and numbers by str(number)."
            )
    return checked


@cache
def word_pattern() -> re.Pattern[str]:
    r"""Letters and digits in a row, with the marks that belong to them."""
    # Python counts combining marks as ``\W``, which would cut words of Hindi, Thai or Arabic
    # with vowel signs into pieces.
    marks = [c for c in range(0x10000) if unicodedata.category(chr(c)) in ("Mn", "Mc")]
    spans: list[list[int]] = []
    for code in marks:
        if spans and code == spans[-1][1] + 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    inside = "".join(f"\\u{low:04x}-\\u{high:04x}" for low, high in spans)
    return re.compile(rf"[^\W_]+(?:[{inside}]+[^\W_]*)*")


def build_analyzer(
    kind: str | Analyzer,
    ngram_range: tuple[int, int],
    lowercase: bool,
    stop_words: Collection[str],
) -> Analyzer:
    """Return the function that turns one text into its terms; `kind` may find its words."""
    low, high = ngram_range
    tokens = word_pattern().findall if isinstance(kind, str) else kind

    def clean(text: str) -> str:
        # One code point or two for the same letter must not make two terms.
        text = unicodedata.normalize("NFC", text)
        return text.lower() if lowercase else text

    def words(text: str) -> list[str]:
        found = list(tokens(clean(text)))
        if stop_words:
            found = [word for word in found if word not in stop_words]
        if (low, high) == (1, 1):
            return found
        return [
            " ".join(found[i : i + n])
            for n in range(low, high + 1)
            for i in range(len(found) - n + 1)
        ]

    def characters(text: str) -> list[str]:
        text = " ".join(clean(text).split())
        return [text[i : i + n] for n in range(low, high + 1) for i in range(len(text) - n + 1)]

    @lru_cache(maxsize=50_000)  # few words make up most of any text
    def inside(word: str) -> tuple[str, ...]:
        padded = f" {word} "
        # A word shorter than n is a term as a whole, once.
        longest = max(low, min(high, len(padded)))
        return tuple(
            padded[i : i + n]
            for n in range(low, longest + 1)
            for i in range(max(len(padded) - n + 1, 1))
        )

    def characters_in_words(text: str) -> list[str]:
        return [gram for word in clean(text).split() for gram in inside(word)]

    if not isinstance(kind, str):
        return words
    return {"word": words, "char": characters, "char_wb": characters_in_words}[kind]


def unseen_place(term: str, n_unseen: int) -> int:
    """Which of the columns behind the vocabulary stands for a term that training did not show."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass")) % n_unseen


def count_terms(
    texts: Iterable[str],
    analyze: Analyzer,
    columns: Mapping[str, int] | None = None,
    n_unseen: int = 0,
) -> tuple[sp.csr_array, list[str]]:
    """Count how often each term occurs in each text.

    With `columns`, terms that have none are left out, or spread over `n_unseen` more.
    """
    ids = array("q")
    ends = array("q", [0])
    terms: list[str] = []
    if columns is None:
        place: defaultdict[str, int] = defaultdict()
        place.default_factory = place.__len__
        for text in texts:
            ids.extend(map(place.__getitem__, analyze(text)))
            ends.append(len(ids))
        terms = list(place)
        n_columns = len(terms)
    else:
        # Unless they are spread, unknown terms land in one column behind the last: it is cut off.
        unknown = len(columns)
        n_columns = unknown + max(n_unseen, 1)
        for text in texts:
            occurring = analyze(text)
            places = list(map(columns.get, occurring, repeat(unknown)))
            if n_unseen and unknown in places:
                places = [
                    place if place < unknown else unknown + unseen_place(term, n_unseen)
                    for place, term in zip(places, occurring, strict=True)
                ]
            ids.extend(places)
            ends.append(len(ids))
    indices = np.frombuffer(ids, dtype=np.int64) if len(ids) else np.empty(0, dtype=np.int64)
    indptr = np.frombuffer(ends, dtype=np.int64)
    index_type = np.int32 if max(len(ids), n_columns) < 2**31 else np.int64
    at = indices.astype(index_type), indptr.astype(index_type)
    shape = len(indptr) - 1, n_columns
    counts = sp.csr_array((np.ones(len(indices), dtype=np.float32), *at), shape=shape)
    counts.sum_duplicates()
    if columns is not None and not n_unseen:
        counts = counts[:, : len(columns)]
    return counts, terms
