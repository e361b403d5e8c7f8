"""Several splits of the same pairs: k folds, and repeated draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from simviz.data import partition
from simviz.data.pairs import PairSet
from simviz.data.splitting import By, Split, assemble, split
from simviz.exceptions import DatasetError


def folds(
    pairs: PairSet,
    n: int = 10,
    by: Literal["pair", "x", "y", "group"] = "x",
    seed: int = 0,
    group_key: str | None = None,
) -> Iterator[Split]:
    """Split pairs n times so that every item is in the test part exactly once.

    Parameters
    ----------
    pairs : PairSet
        What to split.
    n : int, default=10
        How many folds, at least 3: one for the test, the next one for
        validation, the others for training.
    by : {"pair", "x", "y", "group"}, default="x"
        What must not stand in two folds, see `simviz.data.split`.
    seed : int, default=0
        Of the assignment to folds.
    group_key : str, optional
        Metadata column, by group; "group" when omitted.

    Yields
    ------
    Split
        One for each fold, in order.

    Raises
    ------
    DatasetError
        If there are too few pairs for so many folds, or what must stay
        together is too large for one.

    Examples
    --------
    >>> words = [f"word {i}" for i in range(100)]
    >>> for parts in folds(PairSet.from_texts(words, words), n=5):
    ...     print(len(parts.train.x), len(parts.validation.x), len(parts.test.x))
    60 20 20
    60 20 20
    60 20 20
    60 20 20
    60 20 20
    """
    if n < 3:
        raise DatasetError(f"Folds need 3 parts or more (train, validation, test); got {n}.")
    shares, rng = np.full(n, 1.0 / n), np.random.default_rng(seed)
    notes: list[str] = []
    if by == "pair":
        sides = partition.by_pair(pairs, shares, rng, notes)
    elif by in ("x", "y"):
        sides = partition.by_side(pairs, by, shares, rng)
    elif by == "group":
        sides = partition.by_group(pairs, group_key or "group", shares, rng)
    else:
        raise DatasetError(f"Folds are made by 'pair', 'x', 'y' or 'group'; got {by!r}.")
    for fold in range(n):
        role = np.zeros(n, dtype=np.int8)
        role[(fold + 1) % n], role[fold] = 1, 2
        x, y = (None if side is None else role[side] for side in sides)
        told = [f"Fold {fold + 1} of {n}.", *notes]
        yield assemble(pairs, (x, y), by, seed, told)


def repeated_splits(
    pairs: PairSet,
    n: int = 10,
    by: By = "x",
    fractions: Sequence[float] = (0.7, 0.1, 0.2),
    seed: int = 0,
    group_key: str | None = None,
) -> Iterator[Split]:
    """Draw a split n times, as in "ten random splits of 80 and 20 per cent by query".

    Parameters
    ----------
    pairs : PairSet
        What to split.
    n : int, default=10
        How often; the i-th split has the seed ``seed + i``.
    by : {"pair", "x", "y", "group", "column", "time"}, default="x"
        What must not stand in two parts, see `simviz.data.split`.
    fractions : sequence of 3 float, default=(0.7, 0.1, 0.2)
        Shares of train, validation and test. The papers' 80 per cent are
        train and validation together.
    seed : int, default=0
        Of the first split.
    group_key : str, optional
        Metadata column, see `simviz.data.split`.

    Yields
    ------
    Split
        Each like one that `simviz.data.split` draws.

    Raises
    ------
    DatasetError
        As `simviz.data.split` does.

    Examples
    --------
    >>> words = [f"word {i}" for i in range(100)]
    >>> drawn = list(repeated_splits(PairSet.from_texts(words, words), n=3))
    >>> [parts.seed for parts in drawn], len(drawn[0].test.x)
    ([0, 1, 2], 20)
    """
    for i in range(n):
        yield split(pairs, by, fractions, seed + i, group_key)
