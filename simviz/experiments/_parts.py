"""Data of an experiment: three parts, from a demo or from a folder, and rankings of a part."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import PairModel
from simviz.data import Items, PairSet, read_collection, split
from simviz.evaluation.metrics import Metric
from simviz.evaluation.result import Evaluation
from simviz.evaluation.scoring import evaluate
from simviz.exceptions import DatasetError
from simviz.features import TextCounts
from simviz.relevance import Relevance

Pool = Literal["mates", "all"]
Part = Literal["train", "validation", "test"]
Block = NDArray[np.floating[Any]]
PARTS: tuple[Part, ...] = ("train", "validation", "test")


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Training, validation and test pairs.

    What is chosen is chosen by validation, and test is read once. In `one_collection`, the
    items of both sides are the same, and none is an answer to itself; `known` has, by id of an
    x item, ids of y items that are no answers, for they were learned. `mates` are counterparts
    across languages, where these are not what is learned.
    """

    name: str
    train: PairSet
    validation: PairSet
    test: PairSet
    notes: tuple[str, ...] = ()
    one_collection: bool = False
    about: str = ""
    mates: PairSet | None = None
    known: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        pairs: PairSet,
        *,
        by: Literal["pair", "x", "y", "group", "column"] = "pair",
        pool: Pool = "mates",
        fractions: tuple[float, float, float] = (0.7, 0.1, 0.2),
        seed: int = 0,
    ) -> Self:
        """Split a pair set, see `simviz.data.splitting`.

        With `pool` "mates", the y items of a part are those that splitting gives it; with "all",
        all of them, whose texts (not judgments) are then known to training.
        """
        made = split(pairs, by, fractions, seed, candidates="judged")
        alone = pairs.x is pairs.y
        if pool == "mates":
            return cls(pairs.name, made.train, made.validation, made.test, made.notes, alone)
        train, validation, test = (pairs.take(made.x_index[name]) for name in PARTS)
        return cls(pairs.name, train, validation, test, one_collection=alone)

    def each(self, do: Callable[[PairSet], PairSet]) -> Self:
        """The same with something done to each part."""
        made: dict[str, Any] = {name: do(getattr(self, name)) for name in PARTS}
        return replace(self, **made)

    def thinned(
        self, n_train: int | None = None, n_pool: int | None = None, *, pool: Pool = "mates"
    ) -> Self:
        """The first x items of each part, with what belongs to them; None keeps all.

        `n_pool` are those of validation and of test. With `pool` "mates", y items that are judged
        for none of them go, too.
        """
        kept: dict[str, Any] = {}
        for name, size in zip(PARTS, (n_train, n_pool, n_pool), strict=True):
            part: PairSet = getattr(self, name)
            if size is not None and size < len(part.x):
                x = np.arange(size)
                judged = np.unique(part.relevance.matrix[x].indices)
                kept[name] = part.take(x, judged if pool == "mates" else None)
        return replace(self, **kept)

    def encoded(self, x: Any, y: Any = None) -> Self:
        """Vectors in place of content, by fitted features: `x` of both sides without `y`.

        Items that several parts have are encoded once.
        """
        done: dict[tuple[int, int], Items] = {}

        def vectors(side: Items, features: Any) -> Items:
            key = id(side), id(features)
            if key not in done:
                content = features.transform(side.content)
                done[key] = Items(side.ids, content, "vector", side.metadata)
            return done[key]

        return self.each(
            lambda part: replace(part, x=vectors(part.x, x), y=vectors(part.y, y or x))
        )

    def in_one_vocabulary(self, features: TextCounts) -> Self:
        """Texts of both sides as vectors, in a vocabulary that those of training make."""
        return self.encoded(features.fit([*self.train.x.content, *self.train.y.content]))

    def ranked(
        self,
        scorer: Any,
        metrics: Sequence[Metric | str],
        part: Part = "test",
        directions: Sequence[Literal["x2y", "y2x"]] = ("x2y",),
    ) -> Evaluation:
        """Rank the items of a part by a fitted model, which takes content, or by a pipeline."""
        sides = self.sides(scorer, part)
        return evaluate(self.limited(scorer), *sides, metrics, directions=directions)

    def limited(self, scorer: Any) -> Any:
        """A scorer that ranks last what is no answer: an item itself, and what is known of it."""
        return WithoutItself(scorer, self.known) if self.one_collection else scorer

    def sides(self, scorer: Any, part: Part) -> tuple[Any, Any, Any]:
        """Both sides of a part, and their relevance; a model takes content, a pipeline items."""
        pairs: PairSet = getattr(self, part)
        if isinstance(scorer, PairModel):
            return pairs.x.content, pairs.y.content, pairs.relevance
        return pairs.x, pairs.y, pairs.relevance

    def describe(self) -> str:
        """How much there is, in words."""
        if self.about:
            return self.about
        parts = {name: getattr(self, name) for name in PARTS}
        sizes = (f"{name} {len(part.x):,} × {len(part.y):,}" for name, part in parts.items())
        return f"{', '.join(sizes)} ({self.test.x_name} × {self.test.y_name})"


def flattened(pairs: PairSet, grade: float | None = None) -> PairSet:
    """Relevant pairs, perhaps of one grade alone, each as good as the other, and their x items."""
    kept = sp.csr_array(pairs.relevance.positives, copy=True)
    kept.data = (kept.data == (kept.data if grade is None else grade)).astype(kept.data.dtype)
    kept.eliminate_zeros()
    flat = replace(pairs, relevance=Relevance(kept, unjudged="negative"))
    return flat.take(np.flatnonzero(np.diff(kept.indptr)))


class WithoutItself:
    """Scores in which neither an item nor what is known of it is an answer to it."""

    def __init__(self, scorer: Any, known: Mapping[str, Sequence[str]] | None = None) -> None:
        self._scorer, self._known = scorer, known or {}

    def iter_similarity(
        self, x: Items, y: Items, /, *, block_size: int | None = None
    ) -> Iterator[Block]:
        """Similarities in blocks of rows, those of no answers below all others of their row."""
        blocks = self._scorer.iter_similarity(x, y, block_size=block_size)
        return (block for (block,) in self._lowered(((block,) for block in blocks), x, y))

    def iter_parts(
        self, x: Items, y: Items, /, *, block_size: int | None = None
    ) -> Iterator[tuple[Block, ...]]:
        """Both similarities of a blend, treated in the same way."""
        return self._lowered(self._scorer.iter_parts(x, y, block_size=block_size), x, y)

    def _lowered(
        self, blocks: Iterator[tuple[Block, ...]], x: Items, y: Items
    ) -> Iterator[tuple[Block, ...]]:
        place, names = {name: j for j, name in enumerate(y.ids)}, iter(x.ids)
        for parts in blocks:
            # A finite number, which any weight keeps below all others of its row.
            lowest = [part.min(axis=1) - 1 for part in parts]
            lowered = tuple(part.copy() for part in parts)
            for i, name in enumerate(itertools.islice(names, len(parts[0]))):
                none = [place[one] for one in (name, *self._known.get(name, ())) if one in place]
                for part, low in zip(lowered, lowest, strict=True):
                    part[i, none] = low[i]
            yield lowered


def read_parts(
    path: str | Path,
    *,
    pool: Pool = "mates",
    fractions: tuple[float, float, float] = (0.7, 0.1, 0.2),
    seed: int = 0,
) -> Parts:
    """Read a folder of three or four files.

    It has what `simviz.data.read_collection` reads, such as ``x.jsonl`` and ``y.jsonl`` (one
    object a line: id, text, and what else is known, as text or numbers), ``relevance.tsv``
    (x_id, y_id, grade; 0 and below: judged not relevant) and perhaps ``split.tsv`` (x_id,
    split) or ``y_split.tsv`` (y_id, split), each perhaps compressed (.gz). In place of texts, a
    side may have vectors: ``x.npz`` (CSR) with the ids of its rows in ``ids.txt``. Without a y
    side, y is x.

    Parts are as the folder divides them, or by x item; items that a given division leaves out
    are in none, and without a validation part, a seventh of train becomes one. A DatasetError
    names a file that is missing or cannot be understood.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise DatasetError(
            f"{folder} is no folder. Give one with x.jsonl, y.jsonl and relevance.tsv."
        )
    found = read_collection(folder).pairs
    x, y = found.x, found.y
    if y.kind == "vector" and x.kind == "text":
        x = replace(x, kind="keyword")  # words that were given to what has vectors
    pairs = replace(found, x=x, name=folder.name, x_name="x items", y_name="y items")
    by: Literal["x", "column"] = "column"
    if "split" in x.metadata:
        listed = np.flatnonzero(x.metadata["split"] != "")
        others = {name: cells for name, cells in y.metadata.items() if name != "split"}
        pairs = replace(pairs, y=replace(y, metadata=others)).take(listed)
    elif "split" in y.metadata:
        pairs = pairs.take(None, np.flatnonzero(y.metadata["split"] != ""))
    else:
        by = "x"
    parts = Parts.of(pairs, by=by, pool=pool, fractions=fractions, seed=seed)
    return replace(parts, one_collection=found.x is found.y)
