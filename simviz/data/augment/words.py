"""Words around a text that do not belong to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data.augment.base import Augmenter, Groups, Made, check_share, make_share
from simviz.exceptions import DatasetError


def best_matches(inputs: Sequence[str], titles: Sequence[str]) -> NDArray[np.intp]:
    """Position of the title that is nearest to each input by its trigrams."""
    # With a, b and c the numbers of trigrams of the input, of the title and of both, the matcher
    # of Neculoiu et al. (2016), section 4.1, ranks by `M - a - b + 3 c`; for one input that is
    # `3 c - b`. A text shorter than three characters has one gram: itself.
    rows = [_grams(text) for text in (*inputs, *titles)]
    place: dict[str, int] = {}
    indices = [place.setdefault(gram, len(place)) for grams in rows for gram in grams]
    indptr = np.cumsum([0, *map(len, rows)])
    matrix = sp.csr_array(
        (np.ones(len(indices), dtype=np.int32), indices, indptr), shape=(len(rows), len(place))
    )
    queries, known = matrix[: len(inputs)], matrix[len(inputs) :].T.tocsr()
    sizes = np.array([len(grams) for grams in rows[len(inputs) :]], dtype=np.int32)
    found = np.empty(len(inputs), dtype=np.intp)
    for start in range(0, len(inputs), 1_024):
        block = (queries[start : start + 1_024] @ known).toarray()
        found[start : start + 1_024] = (3 * block - sizes).argmax(axis=1)
    return found


def _grams(text: str) -> list[str]:
    """Distinct trigrams, in the order of the text."""
    text = text.casefold()
    return list(dict.fromkeys(text[i : i + 3] for i in range(max(1, len(text) - 2))))


#: How inputs put words beside a title.
_BETWEEN = (" ", " ", " - ", ", ")


@dataclass(frozen=True, slots=True)
class MinedWords(Augmenter):
    """Real inputs that hold a text of the y side and something else.

    An input is taken where a text of the y side stands in it, word for word,
    without being all of it, and where that text is the one that an n-gram
    matcher finds: two witnesses for the same group.

    Parameters
    ----------
    inputs : sequence of str
        What people wrote; nobody has to have judged it.

    Examples
    --------
    >>> from simviz.data.pairs import PairSet
    >>> pairs = PairSet.from_texts(["cooks", "nurses"], ["cook", "nurse"])
    >>> more = MinedWords(["Senior Cook, Leeds", "Scook"]).transform(pairs)
    >>> more.x.content[2:].tolist(), more.x.metadata["made_from"][2:].tolist()
    (['Senior Cook, Leeds'], ['cook'])
    """

    kind: ClassVar[str] = "mined"
    inputs: Sequence[str] = ()

    def __post_init__(self) -> None:
        inputs = (" ".join(text.split()) for text in self.inputs)
        object.__setattr__(self, "inputs", tuple(dict.fromkeys(t for t in inputs if t)))

    def make(self, groups: Groups) -> Iterator[Made]:  # noqa: D102 -- as in Augmenter
        titles = groups.pairs.y.content
        for text, j in mine(self.inputs, titles):
            yield Made(text, titles[j], groups.of_y[j])


@dataclass(frozen=True, slots=True)
class SampledWords(Augmenter):
    """Texts of the x side between words of a list.

    Parameters
    ----------
    words : sequence of str
        Words, or phrases, that change nothing: "senior", "full time", "leeds".
    share : float, default=0.2
        Share of the relevant pairs that are pairs with extra words, afterwards.
    most_words : int, default=3
        Entries of the list around one text, at most.
    seed : int, default=0
        Equal pairs and seeds give equal texts.

    Raises
    ------
    DatasetError
        If a parameter lies outside its bounds.

    Examples
    --------
    >>> from simviz.data.pairs import PairSet
    >>> pairs = PairSet.from_texts(["cook"], ["cook"])
    >>> more = SampledWords(["senior"], share=0.5, most_words=1).transform(pairs)
    >>> more.x.content[1] in ("senior cook", "cook senior", "cook - senior", "cook, senior")
    True
    """

    kind: ClassVar[str] = "extra_words"
    words: Sequence[str] = ()
    share: float = 0.2
    most_words: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        words = (" ".join(word.split()) for word in self.words)
        object.__setattr__(self, "words", tuple(dict.fromkeys(w for w in words if w)))
        check_share(self.share, "extra words")
        if self.most_words < 1:
            raise DatasetError(f"most_words must be at least 1, got {self.most_words}.")

    def make(self, groups: Groups) -> Iterator[Made]:  # noqa: D102 -- as in Augmenter
        rng = np.random.default_rng(self.seed)
        if self.words:
            yield from make_share(
                groups, self.share, rng, lambda text: self._surrounded(text, rng)
            )

    def _surrounded(self, text: str, rng: np.random.Generator) -> str:
        n = int(rng.integers(1, min(self.most_words, len(self.words)) + 1))
        for k in rng.choice(len(self.words), n, replace=False):
            # Words of rank come before, most others behind.
            between = _BETWEEN[int(rng.integers(len(_BETWEEN)))]
            before = rng.random() < 0.4
            text = f"{self.words[k]} {text}" if before else f"{text}{between}{self.words[k]}"
        return text


def mine(inputs: Sequence[str], titles: Sequence[str]) -> list[tuple[str, int]]:
    """Inputs that hold the title which an n-gram matcher finds, and more."""
    found = []
    for text, j in zip(inputs, best_matches(inputs, titles), strict=True):
        title, folded = titles[j].casefold(), text.casefold()
        inside = re.search(rf"(?<!\w){re.escape(title)}(?!\w)", folded)
        if inside and title != folded.strip():
            found.append((text, int(j)))
    return found


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
        for name, texts in groups.texts().items():
            exchange: dict[tuple[str, ...], list[str]] = {}
            for words, synonym in sorted(induce(texts, whole)):
                exchange.setdefault(tuple(words.split()), []).append(synonym)
            for text in texts:
                for variant in _exchanged(text, exchange, MOST_WORDS):
                    yield Made(variant, text, (name,))

    def _choose(self, made: list[Made]) -> list[Made]:
        return _some(made, self.most, self.seed)


def induce(texts: Sequence[str], whole: set[str]) -> set[tuple[str, str]]:
    """Synonyms within a group, each in both directions."""
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


@dataclass(frozen=True, slots=True)
class Typos(Augmenter):
    """Texts of the x side with some characters replaced and some left out.

    Parameters
    ----------
    share : float, default=0.1
        Share of the relevant pairs that are pairs with a typo, afterwards.
    substituted : float, default=0.2
        Chance of each character to be replaced by another one of the texts.
    deleted : float, default=0.05
        Chance of each character to be left out.
    seed : int, default=0
        Equal pairs and seeds give equal typos.

    Raises
    ------
    DatasetError
        If a share or a chance lies outside its bounds.

    Examples
    --------
    >>> from simviz.data.pairs import PairSet
    >>> pairs = PairSet.from_texts(["software engineer"], ["software developer"])
    >>> more = Typos(share=0.5, seed=3).transform(pairs)
    >>> more.shape, more.x.metadata["made_from"].tolist()
    ((2, 1), ['', 'software engineer'])
    """

    kind: ClassVar[str] = "typos"
    share: float = 0.1
    substituted: float = 0.2
    deleted: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        check_share(self.share, "typos")
        if min(self.substituted, self.deleted) < 0 or not 0 < self.substituted + self.deleted < 1:
            raise DatasetError(
                "The chances of a character to be replaced or left out must be at least 0 and "
                f"add up to more than 0 and less than 1; got {self.substituted} and "
                f"{self.deleted}."
            )

    def make(self, groups: Groups) -> Iterator[Made]:  # noqa: D102 -- as in Augmenter
        rng = np.random.default_rng(self.seed)
        letters = alphabet(groups.pairs.x.content)
        return make_share(
            groups,
            self.share,
            rng,
            lambda text: corrupt(text, rng, self.substituted, self.deleted, letters),
        )


def alphabet(texts: Iterable[str]) -> list[str]:
    """Letters and digits of texts, in lower case; what typos are made of."""
    found = {c for text in texts for c in text.lower() if c.isalnum()}
    return sorted(found) or ["a"]


def corrupt(
    text: str, rng: np.random.Generator, substituted: float, deleted: float, letters: list[str]
) -> str:
    """A text with characters replaced and left out at random."""
    draws = rng.random(len(text))
    typed = []
    for character, draw in zip(text, draws, strict=True):
        if draw < substituted:
            others = [letter for letter in letters if letter != character]
            typed.append(others[int(rng.integers(len(others)))] if others else character)
        elif draw >= substituted + deleted:
            typed.append(character)
    return "".join(typed)
