"""Typing errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simviz.data.augment.base import Augmenter, Made
from simviz.data.augment.groups import Groups
from simviz.exceptions import DatasetError


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
        if not 0 < self.share < 1:
            raise DatasetError(f"share of typos must lie between 0 and 1, got {self.share}.")
        if min(self.substituted, self.deleted) < 0 or not 0 < self.substituted + self.deleted < 1:
            raise DatasetError(
                "The chances of a character to be replaced or left out must be at least 0 and "
                f"add up to more than 0 and less than 1; got {self.substituted} and "
                f"{self.deleted}."
            )

    def make(self, groups: Groups) -> Iterator[Made]:  # noqa: D102 -- as in Augmenter
        pairs = groups.pairs
        rng = np.random.default_rng(self.seed)
        letters = alphabet(pairs.x.content)
        counts = np.diff(pairs.relevance.positives.indptr)
        candidates = np.flatnonzero(counts)
        missing = self.share / (1 - self.share) * counts.sum()
        seen: set[str] = set()
        while missing > 0 and len(candidates):
            before = missing
            for i in rng.permutation(candidates):
                text = pairs.x.content[i]
                typo = corrupt(text, rng, self.substituted, self.deleted, letters)
                if typo != text and typo.strip() and typo not in seen:
                    seen.add(typo)
                    missing -= counts[i]
                    yield Made(typo, text, groups.of_x(int(i)), like=int(i))
                if missing <= 0:
                    break
            if missing == before:
                return


def alphabet(texts: object) -> list[str]:
    """Letters and digits of texts, in lower case; what typos are made of."""
    found = {c for text in texts for c in text.lower() if c.isalnum()}  # type: ignore[attr-defined]
    return sorted(found) or ["a"]


def corrupt(
    text: str, rng: np.random.Generator, substituted: float, deleted: float, letters: list[str]
) -> str:
    """A text with characters replaced and left out at random.

    Parameters
    ----------
    text : str
        What was meant.
    rng : numpy.random.Generator
        Source of chance.
    substituted, deleted : float
        Chances of each character.
    letters : list of str
        What a character may be replaced by.

    Returns
    -------
    str
        What was typed.

    Examples
    --------
    >>> corrupt("accountant", np.random.default_rng(1), 0.2, 0.05, ["x", "y"])
    'acyountany'
    """
    draws = rng.random(len(text))
    typed = []
    for character, draw in zip(text, draws, strict=True):
        if draw < substituted:
            others = [letter for letter in letters if letter != character]
            typed.append(others[int(rng.integers(len(others)))] if others else character)
        elif draw >= substituted + deleted:
            typed.append(character)
    return "".join(typed)
