"""Synonyms: from a list, or found in groups by the words that differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simviz.data.augment.base import Augmenter, Made
from simviz.data.augment.groups import Groups
from simviz.exceptions import DatasetError

_PLAIN = re.compile(r"[^\W_]+(?: [^\W_]+)*")
#: As in the paper: one or two words in common, one or two that differ.
MOST_WORDS = 2


@dataclass(frozen=True, slots=True)
class ListedSynonyms(Augmenter):
    """Texts with words exchanged for synonyms of a list, one exchange at a time.

    Parameters
    ----------
    synonyms : sequence of (str, str)
        Words and what may stand in their place; whole words of the texts of
        the x side are exchanged, in this direction only. Case does not count.
    most : int, optional
        Texts to make at most, drawn at random; all of them when omitted.
    seed : int, default=0
        Of that draw.

    Raises
    ------
    DatasetError
        If an entry is not a pair of words.

    Examples
    --------
    >>> from simviz.data.pairs import PairSet
    >>> pairs = PairSet.from_texts(["tax lawyer"], ["lawyer for taxes"])
    >>> ListedSynonyms([("lawyer", "attorney")]).transform(pairs).x.content.tolist()
    ['tax lawyer', 'tax attorney']
    """

    kind: ClassVar[str] = "synonyms"
    synonyms: Sequence[tuple[str, str]] = ()
    most: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        pairs = []
        for entry in self.synonyms:
            words = tuple(" ".join(str(side).split()) for side in entry) if len(entry) == 2 else ()
            if not words or not all(words):
                raise DatasetError(
                    f"A synonym is a pair such as lawyer = attorney; got {entry!r}."
                )
            pairs.append(words)
        object.__setattr__(self, "synonyms", tuple(pairs))
        _check_most(self.most)

    def make(self, groups: Groups) -> Iterator[Made]:  # noqa: D102 -- as in Augmenter
        exchange: dict[tuple[str, ...], list[str]] = {}
        for words, synonym in self.synonyms:
            exchange.setdefault(tuple(words.casefold().split()), []).append(synonym)
        longest = max(map(len, exchange), default=0)
        for i, text in enumerate(groups.pairs.x.content):
            of = groups.of_x(i)
            for variant in _exchanged(text, exchange, longest) if of else ():
                yield Made(variant, text, of, like=i)

    def _choose(self, made: list[Made]) -> list[Made]:
        return _some(made, self.most, self.seed)


@dataclass(frozen=True, slots=True)
class InducedSynonyms(Augmenter):
    """Texts with words exchanged for what stands in their place elsewhere in the group.

    Where two texts of a group share one or two words in a row, at the same
    end, what is left of the one and what is left of the other are taken for
    synonyms within that group, if each has one or two words of nothing but
    letters and digits, and neither is a whole text anywhere.

    Parameters
    ----------
    most : int, optional
        Texts to make at most, drawn at random; all of them when omitted.
    seed : int, default=0
        Of that draw.

    Examples
    --------
    >>> from simviz.data.pairs import PairSet
    >>> from simviz.relevance import Relevance
    >>> titles = ["java developer", "java programmer", "web programmer"]
    >>> everything = Relevance([[1, 1, 1]] * 3)
    >>> pairs = PairSet.from_texts(titles, titles, everything)
    >>> InducedSynonyms().transform(pairs).x.content[3:].tolist()
    ['web developer']
    """

    kind: ClassVar[str] = "induced"
    most: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        _check_most(self.most)

    def make(self, groups: Groups) -> Iterator[Made]:  # noqa: D102 -- as in Augmenter
        pairs = groups.pairs
        whole = {text.casefold() for text in (*pairs.x.content, *pairs.y.content)}
        for name in groups.columns:
            texts = groups.texts(name)
            exchange: dict[tuple[str, ...], list[str]] = {}
            for words, synonym in sorted(induce(texts, whole)):
                exchange.setdefault(tuple(words.split()), []).append(synonym)
            for text in texts:
                for variant in _exchanged(text, exchange, MOST_WORDS):
                    yield Made(variant, text, (name,))

    def _choose(self, made: list[Made]) -> list[Made]:
        return _some(made, self.most, self.seed)


def induce(texts: Sequence[str], whole: set[str]) -> set[tuple[str, str]]:
    """Synonyms within a group, each in both directions.

    Parameters
    ----------
    texts : sequence of str
        Texts of one group.
    whole : set of str
        All texts there are, in lower case.

    Returns
    -------
    set of tuple of str
        Words that stand in each other's place, in lower case.

    Examples
    --------
    >>> sorted(induce(["tax lawyer", "tax law attorney", "lawyer"], {"lawyer"}))
    []
    >>> sorted(induce(["tax lawyer", "tax law attorney"], set()))
    [('law attorney', 'lawyer'), ('lawyer', 'law attorney')]
    """
    rest_of: dict[tuple[str, str], set[str]] = {}
    for text in texts:
        words = text.casefold().split()
        for n in range(1, MOST_WORDS + 1):
            if not 1 <= len(words) - n <= MOST_WORDS:
                continue
            for end, shared, rest in (
                ("first", words[:n], words[n:]),
                ("last", words[-n:], words[:-n]),
            ):
                left = " ".join(rest)
                if _PLAIN.fullmatch(left) and left not in whole:
                    rest_of.setdefault((end, " ".join(shared)), set()).add(left)
    return {
        (p, q)
        for left in rest_of.values()
        for p in left
        for q in left
        if not set(p.split()) & set(q.split())  # else they share more than what was cut off
    }


def _exchanged(
    text: str, exchange: dict[tuple[str, ...], list[str]], longest: int
) -> Iterator[str]:
    """Every text with one run of words exchanged."""
    words = text.split()
    folded = tuple(word.casefold() for word in words)
    for start in range(len(words)):
        for stop in range(start + 1, min(start + longest, len(words)) + 1):
            for synonym in exchange.get(folded[start:stop], ()):
                yield " ".join([*words[:start], synonym, *words[stop:]])


def _some(made: list[Made], most: int | None, seed: int) -> list[Made]:
    """At most so many, in their order."""
    if most is None or len(made) <= most:
        return made
    rng = np.random.default_rng(seed)
    return [made[i] for i in np.sort(rng.choice(len(made), most, replace=False))]


def _check_most(most: int | None) -> None:
    if most is not None and most < 1:
        raise DatasetError(f"At least one text has to be made, got most={most}.")
