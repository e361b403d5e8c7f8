"""What a health check finds, as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from simviz.data.health.remedies import Remedy

Level = Literal["act", "look"]


class ItemName(str):
    """What stands for an item in an example, with the place of the item.

    Parameters
    ----------
    text : str
        What is read.
    side : {"x", "y"}
        The item's side.
    item : int
        Its place there.

    Examples
    --------
    >>> name = ItemName("lamp.png", "x", 3)
    >>> name, name.side, name.item
    ('lamp.png', 'x', 3)
    """

    __slots__ = ("item", "side")
    side: str
    item: int

    def __new__(cls, text: str, side: str, item: int) -> ItemName:
        """Make one; strings are made before they are filled."""
        made = super().__new__(cls, text)
        made.side, made.item = side, int(item)
        return made


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a data set, or may be.

    Parameters
    ----------
    kind : str
        What it is, in a word that does not change: "leak", "duplicates", ...
    level : {"act", "look"}
        "act" where figures measured on these data would mislead; "look" where
        it depends on what the data are for.
    title : str
        What was found, and how many, in a sentence.
    count : int
        How many items, pairs or judgments it is about.
    why : str
        Why it matters, in plain words.
    head : tuple of str
        What the cells of an example are.
    examples : tuple of tuple of str
        A few of them, each a row of cells; a cell that stands for an item is
        an `ItemName`.
    remedy : Remedy, optional
        What mends it; see `why` where nothing does at one stroke.
    """

    kind: str
    level: Level
    title: str
    count: int
    why: str
    head: tuple[str, ...] = ()
    examples: tuple[tuple[str, ...], ...] = ()
    remedy: Remedy | None = None


@dataclass(frozen=True, slots=True)
class SharedWords:
    """How far the words that both sides share lead, without any learning.

    Parameters
    ----------
    metric : {"MRR", "AUC"}
        MRR where what is not listed is negative, else the AUC of judged pairs.
    words : float
        Its value by the cosine of weighted words.
    codes : float
        Its value by words with a digit alone: codes, numbers, years.
    chance : float
        Its value for a scorer that knows nothing.
    n : int
        Queries (MRR) or judged pairs (AUC).
    on : str
        What it was measured on, such as "the test part".
    """

    metric: Literal["MRR", "AUC"]
    words: float
    codes: float
    chance: float
    n: int
    on: str


@dataclass(frozen=True, slots=True, eq=False)
class HealthReport:
    """All that a health check found, what must be acted on first.

    Parameters
    ----------
    findings : tuple of Finding
        Empty where nothing was found.
    checked : tuple of str
        What was looked for, in plain words.
    skipped : tuple of str
        What could not be looked for, and why.
    shared : SharedWords or None
        How far shared words lead; None where a side is not made of text.
    seconds : float
        How long it took.
    """

    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    shared: SharedWords | None = None
    seconds: float = 0.0

    def find(self, kind: str) -> Finding | None:
        """The finding of a kind.

        Parameters
        ----------
        kind : str
            Such as "leak".

        Returns
        -------
        Finding or None
            None where there is nothing of the kind.
        """
        return next((finding for finding in self if finding.kind == kind), None)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __repr__(self) -> str:
        told = "; ".join(finding.title for finding in self) or "nothing found"
        return f"HealthReport({told})"
