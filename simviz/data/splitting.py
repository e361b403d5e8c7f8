"""Splitting pairs into train, validation and test without a leak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from simviz.data import partition
from simviz.data.apportion import Parts
from simviz.data.items import ItemKind
from simviz.data.pairs import PairSet
from simviz.data.timeline import by_time
from simviz.data.wording import counted
from simviz.exceptions import DatasetError
from simviz.relevance import Relevance

By = Literal["pair", "x", "y", "group", "column", "time"]
#: What held-out items are ranked against on a side that is not divided.
Candidates = Literal["all", "judged"]
Index = NDArray[np.intp]
PARTS = partition.NAMES


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Three parts of a pair set that share nothing they must not share.

    Parameters
    ----------
    train, validation, test : PairSet
        The parts; what a pair means is inherited from the whole.
    by : {"pair", "x", "y", "group", "column", "time"}
        What was kept apart.
    seed : int
        Of the random assignment.
    x_index, y_index : mapping of str to array of int
        By part, the items of each side by their position in the whole, ascending.
    notes : tuple of str
        What to know about the parts, in plain words.
    """

    train: PairSet
    validation: PairSet
    test: PairSet
    by: By
    seed: int
    x_index: Mapping[str, Index]
    y_index: Mapping[str, Index]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        sizes = ", ".join(
            f"{part} {len(self.x_index[part]):,} × {len(self.y_index[part]):,}" for part in PARTS
        )
        return f"Split(by={self.by!r}, seed={self.seed}: {sizes})"


def split(
    pairs: PairSet,
    by: By = "pair",
    fractions: Sequence[float] = (0.7, 0.1, 0.2),
    seed: int = 0,
    group_key: str | None = None,
    *,
    candidates: Candidates = "all",
) -> Split:
    """Split pairs into train, validation and test, never leaking.

    Parameters
    ----------
    pairs : PairSet
        What to split.
    by : {"pair", "x", "y", "group", "column", "time"}, default="pair"
        What must not stand in two parts.

        * "pair": no item of either side. Items that are linked, directly or
          through others, stay together.
        * "x" (or "y"): no item of that side; items of the other side may
          stand in several parts.
        * "group": no value of the metadata column `group_key`, on whichever
          sides have it.
        * "column": as the metadata column `group_key` says: train, validation
          or test. Without a validation part, one is drawn from train.
        * "time": by the metadata column `group_key`, dates or numbers: the
          latest items are the test, those before them the validation part.
          Nothing is drawn at random.
    fractions : sequence of 3 float, default=(0.7, 0.1, 0.2)
        Shares of train, validation and test: of the judgments by "pair", of
        the items otherwise.
    seed : int, default=0
        Equal pairs and seeds give equal splits, on any machine.
    group_key : str, optional
        Metadata column; "group" by group, "split" by column and "date" by
        time when omitted.
    candidates : {"all", "judged"}, default="all"
        Items of a side that is not divided in the validation and the test
        part: all of them, or, as some papers have it, those that are judged
        with an item of the part.

    Returns
    -------
    Split
        The parts, their indices and notes.

    Raises
    ------
    DatasetError
        If a part would be without a relevant pair, or what must stay together
        is too large for the largest part.

    Notes
    -----
    When one side is divided, a query of it meets **all** items of the other
    side, as it will in use: the fewer compete, the better any method looks.
    The training part keeps to the items judged together with its own. There
    are three exceptions. Of a side of kind "keyword" every part has the
    keywords of train: a keyword is nothing but its name, so one without a
    relevant item in train cannot be learned; such are left out, with a note.
    Where pairs that are not listed are unknown, only judged candidates count,
    and a part has the items judged with its own. So it has in a collection
    that is linked to itself, where each item would otherwise meet itself.

    By "pair", components of the relevance graph are kept whole. Where
    unlisted pairs are unknown, judged negatives are kept whole too if the
    components stay small enough; else those between two parts are in none,
    with a note.

    Examples
    --------
    >>> words = [f"word {i}" for i in range(100)]
    >>> parts = split(PairSet.from_texts(words, words), by="pair", seed=1)
    >>> parts
    Split(by='pair', seed=1: train 70 × 70, validation 10 × 10, test 20 × 20)
    >>> set(parts.x_index["train"]) & set(parts.x_index["test"])
    set()
    """
    shares = np.asarray(fractions, dtype=np.float64)
    if shares.shape != (3,) or not (shares > 0).all() or abs(shares.sum() - 1) > 1e-6:
        raise DatasetError(
            f"fractions must be three numbers above 0 that add up to 1, got {tuple(fractions)}. "
            "Take for instance (0.7, 0.1, 0.2)."
        )
    rng = np.random.default_rng(seed)
    notes: list[str] = []
    if by == "pair":
        x, y = partition.by_pair(pairs, shares, rng, notes)
    elif by == "x" or by == "y":
        x, y = partition.by_side(pairs, by, shares, rng)
    elif by == "group":
        x, y = partition.by_group(pairs, group_key or "group", shares, rng)
    elif by == "column":
        x, y = partition.by_column(pairs, group_key or "split", shares, rng, notes)
    elif by == "time":
        x, y = by_time(pairs, group_key or "date", shares, notes)
    else:
        raise DatasetError(
            f"Pairs are split by 'pair', 'x', 'y', 'group', 'column' or 'time'; got {by!r}."
        )
    return assemble(pairs, (x, y), by, seed, notes, candidates)


def assemble(
    pairs: PairSet,
    parts_of: partition.Partition,
    by: By,
    seed: int,
    notes: Sequence[str],
    candidates: Candidates = "all",
) -> Split:
    """Make a split of the part that each item belongs to.

    Parameters
    ----------
    pairs : PairSet
        What is split.
    parts_of : tuple of array of int8 or None
        By side, 0, 1 or 2 for each item; None for a side that follows the
        other.
    by : {"pair", "x", "y", "group", "column", "time"}
        What was kept apart.
    seed : int
        Of the random assignment.
    notes : sequence of str
        What to know about it.
    candidates : {"all", "judged"}, default="all"
        As in `split`.

    Returns
    -------
    Split
        The parts, their indices and notes.

    Raises
    ------
    DatasetError
        If a part would be without a relevant pair.
    """
    if candidates not in get_args(Candidates):
        raise DatasetError(f"candidates must be 'all' or 'judged', got {candidates!r}.")
    x, y = parts_of
    every = candidates == "all" and competes_whole(pairs)
    if y is None and x is not None:
        x_index = _members(x)
        y_index, more = _pools(pairs.relevance, x_index, pairs.y.kind, "y", every)
    elif x is None and y is not None:
        y_index = _members(y)
        x_index, more = _pools(pairs.relevance.T, y_index, pairs.x.kind, "x", every)
    elif x is not None and y is not None:
        x_index, y_index, more = _members(x), _members(y), []
    parts = {p: _part(pairs, p, x_index[p], y_index[p]) for p in PARTS}
    if x is not None and y is not None:
        more = _between(pairs.relevance, [part.relevance for part in parts.values()])
    return Split(
        **parts,
        by=by,
        seed=seed,
        x_index=MappingProxyType(x_index),
        y_index=MappingProxyType(y_index),
        notes=(*notes, *more),
    )


def _members(parts: Parts) -> dict[str, Index]:
    """Positions of the items of each part."""
    return {name: np.flatnonzero(parts == i) for i, name in enumerate(PARTS)}


def competes_whole(pairs: PairSet) -> bool:
    """Whether all items of a side that is not divided are candidates of a held-out part."""
    return pairs.relevance.unjudged == "negative" and pairs.x is not pairs.y


def _pools(
    relevance: Relevance, members: Mapping[str, Index], kind: ItemKind, side: str, every: bool
) -> tuple[dict[str, Index], list[str]]:
    """Items of each part on the side that is not divided; in held-out parts every one if asked.

    `relevance` has the partitioned side in its rows, `kind` and `side` speak
    of the other one.
    """
    positives = relevance.positives
    if kind == "keyword":
        learned = np.unique(positives[members["train"]].indices).astype(np.intp)
        unlearned = positives.shape[1] - len(learned)
        what = counted(unlearned, f"{side} keyword")
        notes = [f"{what} without a relevant item in train left out."] if unlearned else []
        return dict.fromkeys(PARTS, learned), notes
    graph = relevance.matrix if relevance.unjudged == "ignore" else positives
    pools = {p: np.unique(graph[index].indices).astype(np.intp) for p, index in members.items()}
    if every:
        whole = np.arange(graph.shape[1], dtype=np.intp)
        return {p: pool if p == "train" else whole for p, pool in pools.items()}, []
    times = np.bincount(np.concatenate(list(pools.values())), minlength=graph.shape[1])
    notes = []
    if (times > 1).any():
        notes.append(f"{counted(int((times > 1).sum()), f'{side} item')} in more than one part.")
    if (times == 0).any():
        n = counted(int((times == 0).sum()), f"{side} item")
        notes.append(f"{n} in no part, for nothing is relevant to them.")
    return pools, notes


def _part(pairs: PairSet, name: str, x: Index, y: Index) -> PairSet:
    """One part, refused where nothing in it is relevant."""
    if not len(x) or not len(y) or not pairs.relevance.take(x, y).positives.nnz:
        raise DatasetError(
            f"The {name} part would hold no relevant pair. Bring more pairs, enlarge its "
            "fraction, or split by something else."
        )
    part = pairs.take(x, y)
    if pairs.x is pairs.y and np.array_equal(x, y):
        # A collection linked to itself stays one.
        part = replace(part, y=part.x)
    return part


def _between(whole: Relevance, parts: Sequence[Relevance]) -> list[str]:
    """Say what is judged between items of different parts and hence in none."""
    lost = []
    for name in ("positives", "negatives"):
        n = getattr(whole, name).nnz - sum(getattr(part, name).nnz for part in parts)
        if n:
            kind = "relevant" if name == "positives" else "judged negative"
            lost.append(counted(n, f"{kind} pair"))
    return [f"{' and '.join(lost)} between different parts in none of them."] if lost else []
