"""Data of an experiment: three parts, from a demo or from a folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from simviz.data import PairSet, read_collection, split
from simviz.exceptions import DatasetError

Pool = Literal["mates", "all"]
_PARTS = ("train", "validation", "test")


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Training, validation and test pairs.

    Parameters
    ----------
    name : str
        A short name to show.
    train, validation, test : PairSet
        Their items; what is chosen is chosen by validation, and test is read
        once.
    notes : tuple of str
        What to know about the parts.
    one_collection : bool
        Whether the items of both sides are the same ones.
    """

    name: str
    train: PairSet
    validation: PairSet
    test: PairSet
    notes: tuple[str, ...] = ()
    one_collection: bool = False

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
        """Split a pair set.

        Parameters
        ----------
        pairs : PairSet
            A demo, or what somebody brought.
        by : {"pair", "x", "y", "group", "column"}, default="pair"
            See `simviz.data.splitting`.
        pool : {"mates", "all"}, default="mates"
            The y items of a part: those that `simviz.data.splitting` gives it, or all
            of them, whose texts (not judgments) are then known to training.
        fractions : tuple of 3 float
            Of train, validation and test.
        seed : int, default=0
            Of the split.

        Returns
        -------
        Parts
            Named as the pairs are.
        """
        made = split(pairs, by, fractions, seed, candidates="judged")
        alone = pairs.x is pairs.y
        if pool == "mates":
            return cls(pairs.name, made.train, made.validation, made.test, made.notes, alone)
        train, validation, test = (pairs.take(made.x_index[name]) for name in _PARTS)
        return cls(pairs.name, train, validation, test, one_collection=alone)

    def thinned(self, n_train: int | None, n_pool: int | None, *, pool: Pool = "mates") -> Self:
        """The first x items of each part, with what belongs to them.

        Parameters
        ----------
        n_train, n_pool : int or None
            Items of the x side to keep of train, and of validation and of test;
            None keeps all.
        pool : {"mates", "all"}, default="mates"
            With "mates", y items that are judged for none of them go too.

        Returns
        -------
        Parts
            The same where nothing is to be left out.
        """
        kept: dict[str, Any] = {}
        for name, size in zip(_PARTS, (n_train, n_pool, n_pool), strict=True):
            part: PairSet = getattr(self, name)
            if size is not None and size < len(part.x):
                x = np.arange(size)
                judged = np.unique(part.relevance.matrix[x].indices)
                kept[name] = part.take(x, judged if pool == "mates" else None)
        return replace(self, **kept)

    def describe(self) -> str:
        """How much there is, in words."""
        parts = {name: getattr(self, name) for name in _PARTS}
        sizes = (f"{name} {len(part.x):,} × {len(part.y):,}" for name, part in parts.items())
        return f"{', '.join(sizes)} ({self.test.x_name} × {self.test.y_name})"


def read_parts(
    path: str | Path,
    *,
    pool: Pool = "mates",
    fractions: tuple[float, float, float] = (0.7, 0.1, 0.2),
    seed: int = 0,
) -> Parts:
    """Read a folder of three or four files.

    Parameters
    ----------
    path : str or Path
        Folder as for `simviz.data.read_collection`, such as ``x.jsonl`` and
        ``y.jsonl`` (one object a line: id, text, and what else is known, as
        text or numbers),
        ``relevance.tsv`` (x_id, y_id, grade; 0 and below: judged not relevant)
        and perhaps ``split.tsv`` (x_id, split) or ``y_split.tsv`` (y_id,
        split). Each may be compressed (.gz). In place of texts, a side may
        have vectors: ``x.npz`` (CSR) with the ids of its rows in ``ids.txt``.
        Without a y side, y is x.
    pool : {"mates", "all"}, default="mates"
        The y items of a part, see `Parts.of`.
    fractions : tuple of 3 float
        Of train, validation and test, where the folder has no division.
    seed : int, default=0
        Of the split, where the folder has none.

    Returns
    -------
    Parts
        As the folder divides them, or by x item. Items that a given
        division leaves out are in no part. Without a validation part, a
        seventh of train becomes one.

    Raises
    ------
    DatasetError
        If a file is missing or cannot be understood; the text names it.
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
