"""Remedies: each makes a new pair set of the one that something was found in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from simviz.data.items import Items
from simviz.data.pairs import PairSet
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance, Unjudged

Index = NDArray[np.intp]
#: What a part is called in a column that says where an item belongs.
PARTS = ("train", "validation", "test")


class Remedy(Protocol):
    """Mends what a finding is about."""

    @property
    def label(self) -> str:
        """What it does, as a button says it."""

    def __call__(self, pairs: PairSet, /) -> PairSet:
        """The pairs as they should be.

        Parameters
        ----------
        pairs : PairSet
            The data set that was checked.

        Returns
        -------
        PairSet
            A new one; the old one stays as it is.

        Raises
        ------
        DatasetError
            If nothing would be left, or these are not the pairs that were
            checked.
        """


@dataclass(frozen=True, slots=True, eq=False)
class DropItems:
    """Leave items out, with all judgments on them."""

    label: str
    x: Index
    y: Index
    shape: tuple[int, int]

    def __call__(self, pairs: PairSet, /) -> PairSet:
        """The pairs without these items; see `Remedy`."""
        _check(pairs, self.shape)
        x, y = (
            np.setdiff1d(np.arange(n), out)
            for n, out in zip(pairs.shape, (self.x, self.y), strict=True)
        )
        if pairs.x is pairs.y:
            x = y = np.intersect1d(x, y)
        if not len(x) or not len(y):
            raise DatasetError("Nothing would be left. Mend the file instead.")
        taken = pairs.take(x, y)
        return replace(taken, y=taken.x) if pairs.x is pairs.y else taken


@dataclass(frozen=True, slots=True, eq=False)
class DropJudgments:
    """Forget what was said about some pairs; their items stay."""

    label: str
    x: Index
    y: Index
    shape: tuple[int, int]

    def __call__(self, pairs: PairSet, /) -> PairSet:
        """The pairs without these judgments; see `Remedy`."""
        _check(pairs, self.shape)
        matrix = pairs.relevance.matrix
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        n_y = matrix.shape[1]
        keep = ~np.isin(rows * n_y + matrix.indices, self.x.astype(np.int64) * n_y + self.y)
        found = _rebuilt(
            pairs.relevance,
            (rows[keep], matrix.indices[keep]),
            matrix.data[keep],
            pairs.relevance.shape,
        )
        if not found.positives.nnz:
            raise DatasetError("No relevant pair would be left. Mend the file instead.")
        return replace(pairs, relevance=found)


@dataclass(frozen=True, slots=True, eq=False)
class MergeItems:
    """Make one item of those that are the same; their judgments add up."""

    # Of several judgments on what becomes one pair the highest stays, and of several parts of a
    # split the earliest: train before validation before test.

    label: str
    x: Index
    y: Index

    def __call__(self, pairs: PairSet, /) -> PairSet:
        """The pairs with fewer items; see `Remedy`."""
        _check(pairs, (len(self.x), len(self.y)))
        x, x_of = _merged(pairs.x, self.x)
        y, y_of = (x, x_of) if pairs.x is pairs.y else _merged(pairs.y, self.y)
        matrix = pairs.relevance.matrix
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        index = (x_of[rows], y_of[matrix.indices])
        relevance = _rebuilt(pairs.relevance, index, matrix.data, (len(x), len(y)))
        return replace(pairs, x=x, y=y, relevance=relevance)


@dataclass(frozen=True, slots=True, eq=False)
class FixParts:
    """Write down which part each item belongs to, in a column "split"."""

    label: str
    x: NDArray[np.int8] | None
    y: NDArray[np.int8] | None

    def __call__(self, pairs: PairSet, /) -> PairSet:
        """The same pairs, to be split by column; see `Remedy`."""
        for items, parts in ((pairs.x, self.x), (pairs.y, self.y)):
            if parts is not None and len(parts) != len(items):
                raise _other()
        x = _with_parts(pairs.x, self.x)
        y = x if pairs.x is pairs.y else _with_parts(pairs.y, self.y)
        return replace(pairs, x=x, y=y)


@dataclass(frozen=True, slots=True)
class CountUnlisted:
    """Say what a pair means that is not listed."""

    label: str
    unjudged: Unjudged

    def __call__(self, pairs: PairSet, /) -> PairSet:
        """The same judgments with another meaning of the rest; see `Remedy`."""
        return replace(pairs, relevance=replace(pairs.relevance, unjudged=self.unjudged))


def _check(pairs: PairSet, shape: tuple[int, int]) -> None:
    if pairs.shape != shape:
        raise _other()


def _other() -> DatasetError:
    return DatasetError(
        "This remedy is for other pairs than these. Check these again and take its remedy."
    )


def _rebuilt(
    relevance: Relevance,
    index: tuple[Index, Index],
    values: NDArray[np.float64],
    shape: tuple[int, int],
) -> Relevance:
    """Judgments on other items, of the same kind and meaning."""
    return Relevance.from_pairs(
        *index,
        values,
        shape=shape,
        unjudged=relevance.unjudged,
        kind=relevance.kind,
        threshold=relevance.threshold,
    )


def _merged(items: Items, codes: Index) -> tuple[Items, Index]:
    """The first item of each code, and the new position of every old item."""
    _, first, of = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    of = place[of.ravel()]
    merged = items.take(first[order])
    if "split" not in items.metadata:
        return merged, of
    words = [str(word) for word in items.metadata["split"].tolist()]
    ranks = np.array([PARTS.index(w) if w in PARTS else len(PARTS) for w in words])
    best = np.lexsort((np.arange(len(of)), ranks, of))
    earliest = best[np.searchsorted(of[best], np.arange(len(order)))]
    metadata = dict(merged.metadata) | {"split": items.metadata["split"][earliest]}
    return Items(merged.ids, merged.content, merged.kind, metadata), of


def _with_parts(items: Items, parts: NDArray[np.int8] | None) -> Items:
    """The items with their parts in the column "split"; without it where there are none."""
    metadata = {k: v for k, v in items.metadata.items() if k != "split"}
    if parts is not None:
        metadata["split"] = np.array(PARTS, dtype=object)[parts]
    return Items(items.ids, items.content, items.kind, metadata)


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
