"""What a health check finds, and remedies that make a new pair set of the one it looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz._types import Index
from simviz.data.pairs import Items, PairSet
from simviz.data.splitting import PARTS
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance

Severity = Literal["act", "look"]


@dataclass(frozen=True, slots=True, eq=False)
class Remedy:
    """Mends what a finding is about.

    Parameters
    ----------
    label : str
        What it does, as a button says it.
    mend : callable
        Takes the pairs and gives new ones.
    shape : (int, int)
        Of the pairs that were checked.
    is_split : bool, default=False
        Whether the new pairs are to be split by their column "split".
    """

    label: str
    mend: Callable[[PairSet], PairSet]
    shape: tuple[int, int]
    is_split: bool = False

    def __call__(self, pairs: PairSet, /) -> PairSet:
        """The pairs that were checked as they should be, as a new set."""
        if pairs.shape != self.shape:
            raise DatasetError(
                "This remedy is for other pairs than these. Check these again and take its remedy."
            )
        return self.mend(pairs)


def drop_items(pairs: PairSet, x: Index, y: Index) -> PairSet:
    """Leave items out, with all judgments on them."""
    x, y = (np.delete(np.arange(n), out) for n, out in zip(pairs.shape, (x, y), strict=True))
    if pairs.x is pairs.y:
        x = y = np.intersect1d(x, y)
    if not len(x) or not len(y):
        raise DatasetError("Nothing would be left. Mend the file instead.")
    taken = pairs.take(x, y)
    return replace(taken, y=taken.x) if pairs.x is pairs.y else taken


def drop_judgments(pairs: PairSet, x: Index, y: Index) -> PairSet:
    """Forget what was said about some pairs; their items stay."""
    judged = pairs.relevance.matrix.tocoo()
    n_y = judged.shape[1]
    keep = ~np.isin(judged.row.astype(np.int64) * n_y + judged.col, x.astype(np.int64) * n_y + y)
    left = (judged.data[keep], (judged.row[keep], judged.col[keep]))
    relevance = replace(pairs.relevance, matrix=sp.csr_array(left, shape=judged.shape))
    if not relevance.positives.nnz:
        raise DatasetError("No relevant pair would be left. Mend the file instead.")
    return replace(pairs, relevance=relevance)


def merge_items(pairs: PairSet, x: Index, y: Index) -> PairSet:
    """Make one item of those with the same code; their judgments add up."""
    # Of several judgments on what becomes one pair the highest stays, and of several parts of a
    # split the earliest: train before validation before test.
    x_items, x_of = _merged(pairs.x, x)
    y_items, y_of = (x_items, x_of) if pairs.x is pairs.y else _merged(pairs.y, y)
    judged, kind = pairs.relevance.matrix.tocoo(), pairs.relevance.kind
    shape, at = (len(x_items), len(y_items)), (x_of[judged.row], y_of[judged.col])
    matrix = Relevance.from_pairs(*at, judged.data, shape=shape, kind=kind).matrix
    relevance = replace(pairs.relevance, matrix=matrix)
    return replace(pairs, x=x_items, y=y_items, relevance=relevance)


def set_parts(pairs: PairSet, x: NDArray[np.int8] | None, y: NDArray[np.int8] | None) -> PairSet:
    """Write down which part each item belongs to, in a column "split"."""
    x_items = _with_parts(pairs.x, x)
    y_items = x_items if pairs.x is pairs.y else _with_parts(pairs.y, y)
    return replace(pairs, x=x_items, y=y_items)


def count_unlisted(pairs: PairSet) -> PairSet:
    """Count pairs that are not listed as not relevant."""
    return replace(pairs, relevance=replace(pairs.relevance, unjudged="negative"))


def _merged(items: Items, codes: Index) -> tuple[Items, Index]:
    """The first item of each code, and the new position of every old item."""
    _, first, of = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    of = np.argsort(order)[of.ravel()]
    merged = items.take(first[order])
    if "split" not in items.metadata:
        return merged, of
    words = [str(word) for word in items.metadata["split"].tolist()]
    ranks = np.array([PARTS.index(w) if w in PARTS else len(PARTS) for w in words])
    best = np.lexsort((ranks, of))
    earliest = best[np.searchsorted(of[best], np.arange(len(order)))]
    metadata = {**merged.metadata, "split": items.metadata["split"][earliest]}
    return replace(merged, metadata=metadata), of


def _with_parts(items: Items, parts: NDArray[np.int8] | None) -> Items:
    """The items with their parts in the column "split"; without it where there are none."""
    metadata = {k: v for k, v in items.metadata.items() if k != "split"}
    if parts is not None:
        metadata["split"] = np.array(PARTS, dtype=object)[parts]
    return replace(items, metadata=metadata)


class ItemName(str):
    """What stands for an item in an example, with the side and the position of the item."""

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
        A few of them, each a row of cells; a cell that stands for an item is an `ItemName`.
    remedy : Remedy, optional
        What mends it; see `why` where nothing does at one stroke.
    """

    kind: str
    level: Severity
    title: str
    count: int
    why: str
    head: tuple[str, ...] = ()
    examples: tuple[tuple[str, ...], ...] = ()
    remedy: Remedy | None = None


@dataclass(frozen=True, slots=True)
class SharedWords:
    """How far the words that both sides share lead, without any learning."""

    # MRR where what is not listed is negative, else the AUC of judged pairs: by the cosine of
    # TF-IDF (parts of words where texts are short), of words with a digit alone, and of a scorer
    # that knows nothing.
    metric: Literal["MRR", "AUC"]
    words: float
    codes: float
    chance: float
    # Queries (MRR) or judged pairs (AUC), and where they are from, such as "the test part".
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
        titles = "; ".join(finding.title for finding in self) or "nothing found"
        return f"HealthReport({titles})"
