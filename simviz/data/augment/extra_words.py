"""Words around a text that do not belong to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simviz.data.augment.base import Augmenter, Made
from simviz.data.augment.groups import Groups
from simviz.data.augment.matching import best_matches
from simviz.exceptions import DatasetError

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
        if not 0 < self.share < 1:
            raise DatasetError(f"share of extra words must lie between 0 and 1, got {self.share}.")
        if self.most_words < 1:
            raise DatasetError(f"most_words must be at least 1, got {self.most_words}.")

    def make(self, groups: Groups) -> Iterator[Made]:  # noqa: D102 -- as in Augmenter
        pairs = groups.pairs
        rng = np.random.default_rng(self.seed)
        counts = np.diff(pairs.relevance.positives.indptr)
        candidates = np.flatnonzero(counts)
        missing = self.share / (1 - self.share) * counts.sum() if self.words else 0.0
        seen: set[str] = set()
        while missing > 0 and len(candidates):
            before = missing
            for i in rng.permutation(candidates):
                text = self._surrounded(pairs.x.content[i], rng)
                if text not in seen:
                    seen.add(text)
                    missing -= counts[i]
                    yield Made(text, pairs.x.content[i], groups.of_x(int(i)), like=int(i))
                if missing <= 0:
                    break
            if missing == before:
                return

    def _surrounded(self, text: str, rng: np.random.Generator) -> str:
        n = int(rng.integers(1, min(self.most_words, len(self.words)) + 1))
        for k in rng.choice(len(self.words), n, replace=False):
            # Words of rank come before, most others behind.
            between = _BETWEEN[int(rng.integers(len(_BETWEEN)))]
            before = rng.random() < 0.4
            text = f"{self.words[k]} {text}" if before else f"{text}{between}{self.words[k]}"
        return text


def mine(inputs: Sequence[str], titles: Sequence[str]) -> list[tuple[str, int]]:
    """Inputs that hold the title which an n-gram matcher finds, and more.

    Parameters
    ----------
    inputs, titles : sequence of str
        What people wrote, and a taxonomy.

    Returns
    -------
    list of tuple of str and int
        Input and the position of its title.

    Examples
    --------
    >>> mine(["Head chef wanted", "chef", "sheriff"], ["chef", "head chef"])
    [('Head chef wanted', 1)]
    """
    found = []
    for text, j in zip(inputs, best_matches(inputs, titles), strict=True):
        title, folded = titles[j].casefold(), text.casefold()
        inside = re.search(rf"(?<!\w){re.escape(title)}(?!\w)", folded)
        if inside and title != folded.strip():
            found.append((text, int(j)))
    return found
