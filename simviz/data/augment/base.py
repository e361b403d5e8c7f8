"""What all augmenters are: a step from pairs to more pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import count, islice
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data.items import Items
from simviz.data.pairs import PairSet
from simviz.exceptions import DatasetError

#: Between the groups of an item that stands in several, in the column "group".
GROUP_SEPARATOR = " | "


class Groups:
    """The groups of a pair set, by name, and what is in each."""

    # A metadata column "group" of the y side says it; without one, items that are relevant to a
    # common item stand together.

    def __init__(self, pairs: PairSet) -> None:
        self.pairs = pairs
        self.of_y = _groups_of_y(pairs)
        #: Name of a group to the positions of its y items.
        self.columns: dict[str, list[int]] = {}
        for j, names in enumerate(self.of_y):
            for name in names:
                self.columns.setdefault(name, []).append(j)
        self._positives = pairs.relevance.positives

    def of_x(self, i: int) -> tuple[str, ...]:
        """Groups all of whose items are relevant to an x item, in a fixed order."""
        p = self._positives
        relevant = p.indices[p.indptr[i] : p.indptr[i + 1]].tolist()
        inside = set(relevant)
        names = dict.fromkeys(name for j in relevant for name in self.of_y[j])
        whole = [n for n in names if inside.issuperset(self.columns[n])]
        # Where judgments are patchy no group may be whole.
        return tuple(whole or names)

    def texts(self) -> dict[str, list[str]]:
        """Distinct texts of each group on both sides, those of the y side first."""
        y = self.pairs.y.content
        found = {name: dict.fromkeys(y[j] for j in js) for name, js in self.columns.items()}
        for i, text in enumerate(self.pairs.x.content):
            for name in self.of_x(i):
                found[name][text] = None
        return {name: list(texts) for name, texts in found.items()}


def _groups_of_y(pairs: PairSet) -> list[tuple[str, ...]]:
    """Groups as the column says, else as relevance says."""
    from scipy.sparse.csgraph import connected_components

    if "group" in pairs.y.metadata:
        # An item of no known group is one of its own.
        return [
            tuple(str(cell).split(GROUP_SEPARATOR)) if cell not in (None, "") else (f"#{j}",)
            for j, cell in enumerate(pairs.y.metadata["group"].tolist())
        ]
    positives = pairs.relevance.positives
    together = sp.csr_array((positives.T @ positives) > 0)
    _, labels = connected_components(together, directed=False)
    return [(str(label),) for label in np.asarray(labels).tolist()]


#: Metadata columns that say what made an item, and from which text.
MADE_BY, MADE_FROM = "made_by", "made_from"


@dataclass(frozen=True, slots=True)
class Made:
    """A text that an augmenter made."""

    text: str
    source: str
    groups: tuple[str, ...]
    rejected: tuple[str, ...] = ()
    like: int | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Augmenter(ABC):
    """A step from a pair set to a larger one.

    The y side stays what it is. The x side keeps its items and gets new ones
    behind them, whose metadata "made_by" and "made_from" say where they come
    from.
    """

    kind: ClassVar[str]

    @abstractmethod
    def make(self, groups: Groups) -> Iterable[Made]:
        """Variants of the texts of a pair set.

        Parameters
        ----------
        groups : Groups
            The pair set and which of its items stand together.

        Returns
        -------
        iterable of Made
            In a fixed order; may repeat what is there.
        """

    def transform(self, pairs: PairSet, exclude: Iterable[str] = ()) -> PairSet:
        """The pairs and what this step makes of them.

        Parameters
        ----------
        pairs : PairSet
            Texts on both sides.
        exclude : iterable of str, optional
            Texts that must not be made, such as those of a test. Case does
            not count.

        Returns
        -------
        PairSet
            The same object where there is nothing to add.

        Raises
        ------
        DatasetError
            If a side is not made of texts.
        """
        for side, items in (("x", pairs.x), ("y", pairs.y)):
            if items.kind != "text":
                raise DatasetError(
                    f"Only texts can be augmented; the {side} side holds {items.kind} items."
                )
        groups = Groups(pairs)
        known = {text.casefold() for text in (*pairs.x.content, *pairs.y.content, *exclude)}
        fresh: dict[str, Made] = {}
        for made in self.make(groups):
            key = made.text.casefold()
            if key.strip() and key not in known:
                # What two groups both make belongs to both.
                at = fresh.get(key)
                if at is None or set(made.groups) <= set(at.groups):
                    fresh.setdefault(key, made)
                else:
                    fresh[key] = _joined(at, made)
        chosen = self._choose(list(fresh.values()))
        return append(groups, chosen, self.kind) if chosen else pairs

    def _choose(self, made: list[Made]) -> list[Made]:
        """What is kept of the texts that are new."""
        return made

    def to_json(self) -> dict[str, Any]:
        """Kind and parameters, as JSON's types."""
        return {"kind": self.kind} | {
            f.name: _as_lists(getattr(self, f.name)) for f in fields(self)
        }


def make_share(
    groups: Groups, share: float, rng: np.random.Generator, vary: Callable[[str], str]
) -> Iterator[Made]:
    """Vary texts at random until their relevant pairs are a share of all."""
    texts = groups.pairs.x.content
    counts = np.diff(groups.pairs.relevance.positives.indptr)
    candidates = np.flatnonzero(counts)
    missing = share / (1 - share) * counts.sum()
    seen: set[str] = set()
    n_seen = -1
    while missing > 0 and len(seen) > n_seen:
        n_seen = len(seen)
        for i in rng.permutation(candidates).tolist():
            text = vary(texts[i])
            if text != texts[i] and text.strip() and text not in seen:
                seen.add(text)
                missing -= counts[i]
                yield Made(text, texts[i], groups.of_x(i), like=i)
            if missing <= 0:
                break


def check_share(share: float, what: str) -> None:
    """Refuse a share that is none."""
    if not 0 < share < 1:
        raise DatasetError(f"share of {what} must lie between 0 and 1, got {share}.")


def append(groups: Groups, made: Sequence[Made], kind: str) -> PairSet:
    """Put made texts behind the items of the x side."""
    pairs = groups.pairs
    x = pairs.x
    taken = set(x.ids)
    free = (name for n in count() if (name := f"{kind}-{n}") not in taken)
    ids = [*x.ids, *islice(free, len(made))]
    items = Items(ids, [*x.content, *(m.text for m in made)], "text", _metadata(x, made, kind))
    matrix = sp.vstack([pairs.relevance.matrix, _rows(groups, made)], format="csr")
    return replace(pairs, x=items, relevance=replace(pairs.relevance, matrix=matrix))


def _rows(groups: Groups, made: Sequence[Made]) -> sp.csr_array:
    """Judgments of made texts."""
    matrix = groups.pairs.relevance.matrix
    # What follows from groups is as relevant as it usually is here.
    relevant = matrix.data[matrix.data > 0]
    usual = float(np.median(relevant)) if len(relevant) else 1.0
    indices, data, lengths = [], [], []
    for m in made:
        if m.like is not None:
            row = slice(matrix.indptr[m.like], matrix.indptr[m.like + 1])
            columns, values = matrix.indices[row], matrix.data[row]
        else:
            value = m.weight * usual
            judged = {j: -value for name in m.rejected for j in groups.columns[name]}
            judged |= {j: value for name in m.groups for j in groups.columns[name]}
            columns = np.array(sorted(judged), dtype=matrix.indices.dtype)
            values = np.array([judged[j] for j in columns.tolist()], dtype=np.float64)
        indices.append(columns)
        data.append(values)
        lengths.append(len(columns))
    parts = (np.concatenate(data), np.concatenate(indices), np.cumsum([0, *lengths]))
    return sp.csr_array(parts, shape=(len(made), matrix.shape[1]))


def _metadata(x: Items, made: Sequence[Made], kind: str) -> dict[str, NDArray[Any]]:
    """Columns of the x side: made texts inherit from what they were made from."""
    place = {text: i for i, text in reversed(list(enumerate(x.content)))}
    sources = np.array([place.get(m.source, -1) for m in made], dtype=np.intp)
    columns: dict[str, NDArray[Any]] = {}
    for name, column in x.metadata.items():
        inherited = column[sources]
        if (sources < 0).any():
            inherited = inherited.astype(object)
            inherited[sources < 0] = None
            column = column.astype(object)
        columns[name] = np.concatenate([column, inherited])
    new = {MADE_BY: [kind] * len(made), MADE_FROM: [m.source for m in made]}
    if "group" in x.metadata:
        new["group"] = [GROUP_SEPARATOR.join(m.groups) for m in made]
    nothing = np.full(len(x), "", dtype=object)
    for name, values in new.items():
        before = x.metadata.get(name, nothing).astype(object)
        columns[name] = np.concatenate([before, np.array(values, dtype=object)])
    return columns


def _joined(a: Made, b: Made) -> Made:
    accepted = tuple(dict.fromkeys(a.groups + b.groups))
    rejected = tuple(g for g in dict.fromkeys(a.rejected + b.rejected) if g not in accepted)
    return replace(a, groups=accepted, rejected=rejected, like=None)


def _as_lists(value: Any) -> Any:
    """Tuples as lists, to any depth."""
    return [_as_lists(v) for v in value] if isinstance(value, tuple | list) else value
