"""What the checks look at: pairs, their split, and what several of them need."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data.health.near import near_pairs
from simviz.data.health.remedies import ItemName
from simviz.data.items import Items
from simviz.data.pairs import PairSet
from simviz.data.splitting import PARTS, Split

_WORD = re.compile(r"\w+")


def plain_text(text: str) -> str:
    r"""A text without what no reader minds: case, width of characters, spaces."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.casefold().split())


def words_of(text: str) -> list[str]:
    """The words of a plain text: letters, digits and underscores in a row."""
    return _WORD.findall(text)


def content_codes(items: Items) -> NDArray[np.intp]:
    """Number items so that those of the same content have the same number."""
    seen: dict[str | bytes, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in _keys(items)], dtype=np.intp)


def _keys(items: Items) -> list[str] | list[bytes]:
    if items.kind in ("text", "keyword"):
        return [plain_text(text) for text in items.content]
    content = items.content
    if sp.issparse(content):
        rows = sp.csr_array(content)
        return [
            rows.indices[a:b].astype(np.int64).tobytes() + rows.data[a:b].tobytes()
            for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        ]
    return [np.ascontiguousarray(row).tobytes() for row in content]


def empty_items(items: Items) -> NDArray[np.intp]:
    """Positions of items that hold nothing."""
    content = items.content
    if items.kind in ("text", "keyword"):
        return np.flatnonzero([not text.strip() for text in content])
    if sp.issparse(content):
        return np.flatnonzero(abs(content).sum(axis=1) == 0)
    flat = content.reshape(len(content), -1)
    if items.kind == "image":
        return np.flatnonzero((flat == flat[:, :1]).all(axis=1))
    return np.flatnonzero(~flat.any(axis=1))


Index = NDArray[np.intp]
SIDES = ("x", "y")
#: Characters of a cell of an example.
_CELL = 160


class Subject:
    """A pair set under examination."""

    def __init__(
        self, pairs: PairSet, split: Split | None = None, disputed: Index | None = None
    ) -> None:
        self.pairs = pairs
        self.split = split
        self.disputed = np.empty((0, 2), dtype=np.intp) if disputed is None else disputed

    @property
    def sides(self) -> Sequence[str]:
        """The sides that differ: one where a collection is linked to itself."""
        return SIDES[:1] if self.pairs.x is self.pairs.y else SIDES

    def items(self, side: str) -> Items:
        """The items of a side."""
        return self.pairs.x if side == "x" else self.pairs.y

    def name(self, side: str) -> str:
        """What the items of a side are called, in quotation marks."""
        return f"“{self.pairs.x_name if side == 'x' else self.pairs.y_name}”"

    def is_text(self, side: str) -> bool:
        """Whether a side is made of text that says more than a name."""
        return self.items(side).kind == "text"

    def label(self, side: str, item: int) -> ItemName:
        """What stands for an item in an example."""
        items = self.items(side)
        text = str(
            items.content[item] if items.kind in ("text", "keyword") else items.labels[item]
        )
        return ItemName(text if len(text) <= _CELL else text[:_CELL] + "…", side, item)

    def id(self, side: str, item: int) -> str:
        """The id of an item, as an example shows it."""
        text = str(self.items(side).ids[item])
        return text if len(text) <= _CELL else text[:_CELL] + "…"

    @cached_property
    def codes(self) -> dict[str, Index]:
        """By side, a number for each item, equal for equal content."""
        found = {side: content_codes(self.items(side)) for side in self.sides}
        return found if "y" in found else {"x": found["x"], "y": found["x"]}

    def first_of(self, side: str) -> Index:
        """The first item of each content."""
        return np.unique(self.codes[side], return_index=True)[1].astype(np.intp)

    @cached_property
    def near(self) -> dict[str, tuple[Index, Index]]:
        """By side of text, pairs of contents (as numbered by `codes`) that are nearly the same."""
        found = {}
        for side in filter(self.is_text, self.sides):
            texts = [plain_text(self.items(side).content[i]) for i in self.first_of(side)]
            a, b, similarity = near_pairs(texts)
            order = np.argsort(-similarity, kind="stable")
            found[side] = (a[order], b[order])
        return found

    @cached_property
    def held(self) -> Sequence[str]:
        """The sides whose items the split keeps apart."""
        if self.split is None:
            return ()
        by = self.split.by
        if by in SIDES:
            return (by,)
        if by == "pair":
            return self.sides
        index = {"x": self.split.x_index, "y": self.split.y_index}
        apart = [s for s in self.sides if _are_disjoint([index[s][p] for p in PARTS])]
        return tuple(apart) or ("x",)

    def members(self, side: str, part: str) -> Index:
        """The items of a side in a part of the split."""
        if self.split is None:
            raise ValueError("There is no split to ask for members of a part.")
        return (self.split.x_index if side == "x" else self.split.y_index)[part]

    def parts(self, side: str) -> NDArray[np.int8]:
        """The part of each item, the earliest of several; train where it is in none."""
        found = np.zeros(len(self.items(side)), dtype=np.int8)
        for number in (2, 1, 0):
            found[self.members(side, PARTS[number])] = number
        return found


def _are_disjoint(parts: Sequence[Index]) -> bool:
    together = np.concatenate(parts)
    return len(np.unique(together)) == len(together)
