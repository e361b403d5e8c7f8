"""Data of an experiment: three parts, from a demo or from a folder."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal, Self

import numpy as np
import scipy.sparse as sp

from simviz.data import Items, PairSet, split
from simviz.data.columns import SPLIT_WORDS
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance

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
    """

    name: str
    train: PairSet
    validation: PairSet
    test: PairSet
    notes: tuple[str, ...] = ()

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
            The y items of a part: those that `simviz.data.splitting` gives it,
            or all of them, whose texts (not judgments) are then known to
            training.
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
        parts: dict[str, PairSet] = {name: getattr(made, name) for name in _PARTS}
        notes = made.notes
        if pool == "all":
            notes = ()  # they are about pools
            parts = {name: pairs.take(made.x_index[name]) for name in _PARTS}
        return cls(pairs.name, parts["train"], parts["validation"], parts["test"], notes)

    def thinned(self, n_train: int | None, n_pool: int | None, *, pool: Pool = "mates") -> Self:
        """The first x items of each part, with what belongs to them.

        Parameters
        ----------
        n_train, n_pool : int, optional
            Items of the x side to keep of train, and of validation and of test.
        pool : {"mates", "all"}, default="mates"
            Whether y items that are judged for none of them go too.

        Returns
        -------
        Parts
            The same where nothing is to be left out.
        """
        sizes = {"train": n_train, "validation": n_pool, "test": n_pool}
        kept: dict[str, PairSet] = {}
        for name, size in sizes.items():
            part = kept[name] = getattr(self, name)
            if size is not None and size < len(part.x):
                x = np.arange(size)
                judged = np.unique(part.relevance.matrix[x].indices)
                kept[name] = part.take(x, judged if pool == "mates" else None)
        return replace(self, train=kept["train"], validation=kept["validation"], test=kept["test"])

    def in_words(self) -> str:
        """How much there is, in words."""
        told = []
        for name in _PARTS:
            part: PairSet = getattr(self, name)
            told.append(f"{name} {len(part.x):,} × {len(part.y):,}")
        return f"{', '.join(told)} ({self.test.x_name} × {self.test.y_name})"


def read_parts(path: str | Path, *, pool: Pool = "mates", seed: int = 0) -> Parts:
    """Read a folder of three or four files.

    Parameters
    ----------
    path : str or Path
        Folder with ``x.jsonl`` and ``y.jsonl`` (one object a line: id, text,
        and whatever else is known), ``relevance.tsv`` (x_id, y_id, grade;
        below 0: judged not relevant) and perhaps ``split.tsv`` (x_id, split)
        or ``y_split.tsv`` (y_id, split). Each may be compressed (.gz). In
        place of texts, a side may have vectors: ``x.npz`` (CSR) with the ids
        of its rows in ``ids.txt``. Without a y side, y is x.
    pool : {"mates", "all"}, default="mates"
        The y items of a part, see `Parts.of`.
    seed : int, default=0
        Of the split, where the folder has none.

    Returns
    -------
    Parts
        As the folder divides them, or 70/10/20 by x item. Without a
        validation part, a seventh of train becomes one.

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
    x = _side(folder, "x")
    has_y = any(folder.glob("y.*"))
    y = _side(folder, "y") if has_y else x
    if has_y and y.kind == "vector" and x.kind == "text":
        x = replace(x, kind="keyword")  # words that were given to what has vectors
    names = {"x_name": "x items", "y_name": "y items"}
    pairs = PairSet(x, y, _relevance(folder, x, y), name=folder.name, **names)
    for name, side in (("split.tsv", "x"), ("y_split.tsv", "y")):
        if _exists(folder, name):
            divided = _divided(pairs, _told(folder, name), side)
            return Parts.of(divided, by="column", pool=pool, seed=seed)
    return Parts.of(pairs, by="x", pool=pool, seed=seed)


def _side(folder: Path, side: str) -> Items:
    """Texts, or vectors with ids."""
    vectors = folder / f"{side}.npz"
    if vectors.exists():
        ids = (folder / "ids.txt").read_text(encoding="utf-8").split("\n")
        matrix = sp.csr_array(sp.load_npz(vectors), dtype=np.float32)
        return Items([i for i in ids if i], matrix, "vector")
    ids, texts, more = [], [], []
    for line in _lines(folder, f"{side}.jsonl"):
        try:
            row = json.loads(line)
            ids.append(str(row.pop("id")))
            texts.append(str(row.pop("text")))
        except (AttributeError, KeyError, ValueError) as error:
            raise DatasetError(
                f"Line {len(texts) + 1} of {side}.jsonl in {folder.name} needs id and text "
                f"as one JSON object ({error})."
            ) from error
        more.append(row)
    names = sorted({name for row in more for name in row} - {"split"})
    metadata = {
        name: np.array([_cell(row.get(name)) for row in more], dtype=object) for name in names
    }
    return Items(ids, texts, "text", metadata)


def _cell(value: object) -> str:
    """Metadata as text; lists, such as snippets, a line each."""
    if isinstance(value, list):
        return "\n".join(map(str, value))
    return "" if value is None else str(value)


def _relevance(folder: Path, x: Items, y: Items) -> Relevance:
    places = [{name: i for i, name in enumerate(side.ids)} for side in (x, y)]
    rows: list[tuple[int, int, float]] = []
    for number, cells in enumerate(_rows(folder, "relevance.tsv"), start=2):
        try:
            value = float(cells[2]) or -1.0
            rows.append((places[0][cells[0]], places[1][cells[1]], value))
        except (IndexError, KeyError, ValueError) as error:
            raise DatasetError(
                f"Line {number} of relevance.tsv in {folder.name} needs an id of x, an id of y "
                f"and a grade ({error!r})."
            ) from error
    of, to, grade = zip(*rows, strict=True)
    return Relevance.from_pairs(of, to, grade, shape=(len(x), len(y)))


def _told(folder: Path, name: str) -> dict[str, str]:
    """The part of each item."""
    told = {row[0]: row[1] for row in _rows(folder, name) if len(row) > 1}
    for part in sorted(set(told.values())):
        if part.lower() not in SPLIT_WORDS:
            raise DatasetError(f"{name} in {folder.name} says {part!r}. Write train, dev or test.")
    return told


def _divided(pairs: PairSet, told: dict[str, str], side: str) -> PairSet:
    """With a column "split" on one side; its items that are in no part are left out."""
    items = pairs.x if side == "x" else pairs.y
    listed = np.array([i for i, name in enumerate(items.ids) if name in told], dtype=np.int64)
    kept = pairs.take(listed, None) if side == "x" else pairs.take(None, listed)
    items = kept.x if side == "x" else kept.y
    column = np.array([told[name] for name in items.ids], dtype=object)
    items = replace(items, metadata={**items.metadata, "split": column})
    return replace(kept, x=items) if side == "x" else replace(kept, y=items)


def _exists(folder: Path, name: str) -> bool:
    return (folder / name).exists() or (folder / f"{name}.gz").exists()


def _rows(folder: Path, name: str) -> list[list[str]]:
    rows = csv.reader(_lines(folder, name), delimiter="\t", quoting=csv.QUOTE_NONE)
    return [row for row in rows if row][1:]


def _lines(folder: Path, name: str) -> Iterator[str]:
    opened: Callable[..., IO[str]] = open
    path = folder / name
    if not path.exists():
        path, opened = folder / f"{name}.gz", gzip.open
    if not path.exists():
        raise DatasetError(
            f"{folder.name} has no {name} (nor {name}.gz). A folder needs x.jsonl, y.jsonl and "
            "relevance.tsv, and may have split.tsv."
        )
    with opened(path, "rt", encoding="utf-8") as file:
        yield from file
