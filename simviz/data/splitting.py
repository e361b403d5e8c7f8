"""Splitting pairs into train, validation and test without a leak, and how to split best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import compress
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from simviz._types import Index, Reals, Side
from simviz.data.cells import as_cells, counted, did_you_mean, percent, shown
from simviz.data.pairs import ItemKind, Items, PairSet, as_pairs
from simviz.data.roles import SPLIT_WORDS
from simviz.exceptions import DatasetError
from simviz.registry import unknown_name
from simviz.relevance import Relevance

By = Literal["pair", "x", "y", "group", "column", "time"]
#: What held-out items are ranked against on a side that is not divided.
Candidates = Literal["all", "judged"]
Parts = NDArray[np.int8]
#: Parts of each side that is divided; the other one follows it.
Partition = dict[Side, Parts]
PARTS = ("train", "validation", "test")
#: What an item is called that is in every part, or in none.
EVERY_PART, NO_PART = "every part", "left out"
#: Words of column names that speak of time.
_TIME_NAMES = "date time year day month timestamp created published updated".split()
#: Fewer groups than this say little about groups that are new.
MIN_GROUPS = 20
#: From so many x items to a y item, with hardly another y item for any of them,
#: a y item is a class that new x items fall into.
_MIN_X_PER_Y, _MAX_Y_PER_X = 3.0, 1.5
#: Share of the pairs judged not relevant that a suggested split keeps in its parts.
_MIN_NEGATIVES = 0.9


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
    fractions : tuple of 3 float, optional
        Shares that were asked for; None where folds were.
    group_key : str, optional
        Metadata column that was named.
    """

    train: PairSet
    validation: PairSet
    test: PairSet
    by: By
    seed: int
    x_index: Mapping[str, Index]
    y_index: Mapping[str, Index]
    notes: tuple[str, ...] = ()
    fractions: tuple[float, float, float] | None = None
    group_key: str | None = None

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
        Shares of train, validation and test: of the judgments by "pair", of the items otherwise.
    seed : int, default=0
        Equal pairs and seeds give equal splits, on any machine.
    group_key : str, optional
        Metadata column; "group" by group, "split" by column and "date" by time when omitted.
    candidates : {"all", "judged"}, default="all"
        Items of a side that is not divided in the validation and the test part: all of them, or,
        as some papers have it, those that are judged with an item of the part.

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
    When one side is divided, a query of it meets **all** items of the other side, as it will in
    use: the fewer compete, the better any method looks. The training part keeps to the items
    judged together with its own; so do all parts where pairs that are not listed are unknown, and
    in a collection that is linked to itself. Of a side of kind "keyword" every part has the
    keywords of train: one without a relevant item there cannot be learned, and is left out with a
    note.

    By "pair", components of the relevance graph are kept whole. Where
    unlisted pairs are unknown, so are judged negatives, if the components stay
    small enough; else those between two parts are in none, with a note.

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
    if by not in get_args(By):
        raise DatasetError(unknown_name("way to split by", by, get_args(By)))
    if candidates not in get_args(Candidates):
        raise DatasetError(f"candidates must be 'all' or 'judged', got {candidates!r}.")
    pairs, notes = as_pairs(pairs), list[str]()
    parts = _divide(pairs, by, group_key, shares, np.random.default_rng(seed), notes)
    every = candidates == "all" and all_are_candidates(pairs)
    made = _split(pairs, parts, by, seed, notes, every)
    low, middle, high = map(float, fractions)
    return replace(made, fractions=(low, middle, high), group_key=group_key)


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
        What must not stand in two folds, as in `split`.
    seed, group_key : as in `split`
        Seed and metadata column.

    Yields
    ------
    Split
        One for each fold, in order.

    Raises
    ------
    DatasetError
        If there are too few pairs for so many folds.

    Examples
    --------
    >>> words = [f"word {i}" for i in range(100)]
    >>> [len(parts.test.x) for parts in folds(PairSet.from_texts(words, words), n=5)]
    [20, 20, 20, 20, 20]
    """
    if n < 3:
        raise DatasetError(f"Folds need 3 parts or more (train, validation, test); got {n}.")
    if by not in ("pair", "x", "y", "group"):
        raise DatasetError(f"Folds are made by 'pair', 'x', 'y' or 'group'; got {by!r}.")
    notes: list[str] = []
    shares, every = np.full(n, 1.0 / n), all_are_candidates(pairs)
    fold_of = _divide(pairs, by, group_key, shares, np.random.default_rng(seed), notes)
    for fold in range(n):
        part = np.zeros(n, dtype=np.int8)
        part[(fold + 1) % n], part[fold] = 1, 2
        parts = {side: part[folds] for side, folds in fold_of.items()}
        yield _split(pairs, parts, by, seed, [f"Fold {fold + 1} of {n}.", *notes], every)


def _split(
    pairs: PairSet, parts: Partition, by: By, seed: int, notes: Sequence[str], every: bool
) -> Split:
    index: dict[str, dict[str, Index]] = {
        side: {name: np.flatnonzero(members == i) for i, name in enumerate(PARTS)}
        for side, members in parts.items()
    }
    more: list[str] = []
    if "y" not in parts:
        index["y"], more = _pools(pairs.relevance, index["x"], pairs.y.kind, pairs.y_name, every)
    elif "x" not in parts:
        index["x"], more = _pools(pairs.relevance.T, index["y"], pairs.x.kind, pairs.x_name, every)
    divided: Side | None = next(iter(parts)) if len(parts) == 1 else None
    pairs = replace(pairs, divided=divided)
    x, y = index["x"], index["y"]
    train, validation, test = (_part(pairs, name, x[name], y[name]) for name in PARTS)
    if len(parts) == 2:
        relevances = [part.relevance for part in (train, validation, test)]
        more = _note_lost_pairs(pairs.relevance, relevances)
    return Split(train, validation, test, by, seed, x, y, (*notes, *more))


def all_are_candidates(pairs: PairSet) -> bool:
    """Whether all items of a side that is not divided are candidates of a held-out part."""
    return pairs.relevance.unjudged == "negative" and pairs.x is not pairs.y


def _pools(
    relevance: Relevance, members: Mapping[str, Index], kind: ItemKind, name: str, every: bool
) -> tuple[dict[str, Index], list[str]]:
    """Items of each part on the side that is not divided; in held-out parts perhaps every one."""
    # `relevance` has the partitioned side in its rows, `kind` and `name` speak of the other one.
    positives = relevance.positives
    if kind == "keyword":
        learned = _distinct(positives[members["train"]].indices)
        unlearned = positives.shape[1] - len(learned)
        note = f"{name}: {unlearned:,} without a relevant pair in train left out."
        return dict.fromkeys(PARTS, learned), [note] if unlearned else []
    graph = relevance.matrix if relevance.unjudged == "ignore" else positives
    pools = {p: _distinct(graph[index].indices) for p, index in members.items()}
    if every:
        whole = np.arange(graph.shape[1], dtype=np.intp)
        return {p: pool if p == "train" else whole for p, pool in pools.items()}, []
    times = np.bincount(np.concatenate(list(pools.values())), minlength=graph.shape[1])
    notes = []
    if n := int((times > 1).sum()):
        notes.append(f"{name}: {n:,} in several parts.")
    if n := int((times == 0).sum()):
        notes.append(f"{name}: {n:,} without a relevant pair, left out of all parts.")
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


def _note_lost_pairs(whole: Relevance, parts: Sequence[Relevance]) -> list[str]:
    """Say what is judged between items of different parts and hence in none."""
    lost = {}
    for kind, name in (("relevant", "positives"), ("judged negative", "negatives")):
        lost[kind] = getattr(whole, name).nnz - sum(getattr(part, name).nnz for part in parts)
    listed = " and ".join(counted(n, f"{kind} pair") for kind, n in lost.items() if n)
    falls = "it falls" if sum(lost.values()) == 1 else "they fall"
    return [f"{listed} dropped: {falls} between parts."] if listed else []


def _divide(
    pairs: PairSet, by: By, key: str | None, shares: Reals, rng: Generator, notes: list[str]
) -> Partition:
    """The part of each item, on the sides that are divided."""
    if by == "pair":
        return _by_pair(pairs, shares, rng, notes)
    if by == "group":
        return _by_group(pairs, key or "group", shares, rng)
    if by == "column":
        return _by_column(pairs, key or "split", shares, rng, notes)
    if by == "time":
        return _by_time(pairs, key or "date", shares, notes)
    return _by_side(pairs, by, shares, rng)


def _by_pair(pairs: PairSet, shares: Reals, rng: Generator, notes: list[str]) -> Partition:
    """Divide both sides so that linked items stay together."""
    relevance = pairs.relevance
    positives = relevance.positives
    graph = relevance.matrix if relevance.unjudged == "ignore" else positives
    x, y, weights = components(pairs, graph)
    if _too_large(weights, shares) and graph is not positives:
        x, y, weights = components(pairs, positives)
        notes.append(
            "Judged negatives tie too many items together to keep them whole; only relevant "
            "pairs are kept whole."
        )
    if _too_large(weights, shares):
        raise DatasetError(
            f"{percent(weights.max() / weights.sum())} of the pairs hang together through shared "
            f"items, more than the largest part ({percent(shares.max())}) can take, so they "
            "cannot be split by pair without a leak. Split by 'x' (new x items, known y items) or "
            "by 'y' (new y items, known x items)."
        )
    n = len(weights)
    good, bad = np.zeros((2, n), dtype=bool)
    for inside, judged in ((good, positives.tocoo()), (bad, relevance.negatives.tocoo())):
        inside[x[judged.row][x[judged.row] == y[judged.col]]] = True
    on_x = np.bincount(x, minlength=n) > 0
    strata = np.where(on_x, _strata(good, bad, len(shares)), 4)
    parts = assign_parts(np.maximum(weights, 1), strata, shares, rng, "linked group")
    return {"x": parts[x], "y": parts[y]}


def _by_side(pairs: PairSet, side: Side, shares: Reals, rng: Generator) -> Partition:
    relevance = pairs.relevance if side == "x" else pairs.relevance.T
    good, bad = (np.diff(m.indptr) > 0 for m in (relevance.positives, relevance.negatives))
    strata = _strata(good, bad, len(shares))
    return {side: assign_parts(np.ones(len(strata)), strata, shares, rng, f"{side} item")}


def _strata(
    good: NDArray[np.bool_], bad: NDArray[np.bool_], n_parts: int
) -> NDArray[np.signedinteger[Any]]:
    """Number units by what is judged in them, so that every part gets of each kind."""
    # Those with relevant and rejected pairs come first where each part can have one of them.
    both = good & bad
    both &= both.sum() >= n_parts
    strata = np.where(both, 0, np.where(good, 1, np.where(bad, 2, 3)))
    return strata if both.any() else strata - 1


def _by_group(pairs: PairSet, key: str, shares: Reals, rng: Generator) -> Partition:
    """Divide the sides that have a metadata column, its equal values together."""
    codes, numbers = groups(pairs, key)
    n = len(numbers)
    weights = np.bincount(np.concatenate(list(codes.values())), minlength=n)
    good, bad = np.zeros((2, n), dtype=bool)
    for side, code in codes.items():
        relevance = pairs.relevance if side == "x" else pairs.relevance.T
        good[code[np.diff(relevance.positives.indptr) > 0]] = True
        bad[code[np.diff(relevance.negatives.indptr) > 0]] = True
    if _too_large(weights, shares):
        name = next(k for k, i in numbers.items() if i == int(np.argmax(weights)))[1:]
        raise DatasetError(
            f"Group {shown(name)} of column {shown(key)} holds "
            f"{percent(weights.max() / weights.sum())} of the items, more than the largest part "
            f"({percent(shares.max())}) can take. Choose a finer column as group_key, or by='x'."
        )
    parts = assign_parts(weights, _strata(good, bad, len(shares)), shares, rng, "group")
    return {side: parts[code] for side, code in codes.items()}


def groups(pairs: PairSet, key: str) -> tuple[dict[Side, Index], dict[str, int]]:
    """Number of the group of each item, on the sides that have the column; names to numbers."""
    numbers: dict[str, int] = {}
    codes: dict[Side, Index] = {}
    n_lonely = 0
    for side, items in _sides_with(pairs, key, "group_key").items():
        # An item without a value is a group of its own; values never begin so.
        keys = []
        for cell in _texts(items, key):
            n_lonely += not cell
            keys.append(f"={cell}" if cell else f"?{n_lonely}")
        codes[side] = np.array([numbers.setdefault(k, len(numbers)) for k in keys], dtype=np.intp)
    return codes, numbers


def _by_column(
    pairs: PairSet, key: str, shares: Reals, rng: Generator, notes: list[str]
) -> Partition:
    """Divide the sides that have a split column as it says."""
    parts: Partition = {}
    for side, items in _sides_with(pairs, key, "group_key (the column with the split)").items():
        parts[side] = np.empty(len(items), dtype=np.int8)
        for i, cell in enumerate(_texts(items, key)):
            word = SPLIT_WORDS.get(cell.strip().lower())
            if word is None:
                raise DatasetError(
                    f"Item {shown(items.ids[i])} of the {side} side has {shown(cell)} in column "
                    f"{shown(key)}. Write train, validation or test for every item."
                )
            parts[side][i] = PARTS.index(word)
    present = {PARTS[p] for part_of in parts.values() for p in np.unique(part_of)}
    if missing := [p for p in ("train", "test") if p not in present]:
        raise DatasetError(
            f"Column {shown(key)} names no item for {' and '.join(missing)}. Mark some, or "
            "split by='x', 'y' or 'pair'."
        )
    if "validation" not in present:
        # Some of train becomes validation, as the shares of both say.
        two = np.array([shares[0], shares[1], 0.0]) / (shares[0] + shares[1])
        train = {side: np.flatnonzero(part_of == 0) for side, part_of in parts.items()}
        by: By = "pair" if len(train) == 2 else next(iter(train))
        drawn = _divide(pairs.take(train.get("x"), train.get("y")), by, None, two, rng, notes)
        for side, index in train.items():
            parts[side][index] = drawn[side]
        notes.append(f"Column {shown(key)} names no validation items; they were drawn from train.")
    return parts


def _by_time(pairs: PairSet, key: str, shares: Reals, notes: list[str]) -> Partition:
    """Divide the sides that have a column of times at the same two moments."""
    times: dict[Side, Reals] = {}
    for side, items in _sides_with(pairs, key).items():
        cells = items.metadata[key].tolist()
        numbers = [_time(cell) for cell in cells]
        if None in numbers:
            raise DatasetError(
                f"Column {shown(key)} holds {shown(cells[numbers.index(None)])}, which is neither "
                "a number nor a date such as 2026-11-21. Choose a column of times."
            )
        times[side] = np.array(numbers, dtype=np.float64)
    everything = np.concatenate(list(times.values()))
    dated = np.sort(everything[np.isfinite(everything)])
    moments = np.unique(dated)
    if len(moments) < len(shares):
        raise DatasetError(
            f"Column {shown(key)} holds {counted(len(moments), 'different time')}; train, "
            "validation and test need one each. Split by something else."
        )
    # As near the shares as equal times allow.
    before = np.searchsorted(dated, moments) / len(dated)
    test = int(np.argmin(np.abs(before - (shares[0] + shares[1]))))
    test = min(max(test, 2), len(moments) - 1)
    validation = int(np.argmin(np.abs(before - shares[0])))
    validation = min(max(validation, 1), test - 1)
    begins = moments[[validation, test]]
    if len(dated) < len(everything):
        n_undated = len(everything) - len(dated)
        notes.append(f"{counted(n_undated, 'item')} without a time in training.")
    return {side: np.sum(t[:, None] >= begins, axis=1, dtype=np.int8) for side, t in times.items()}


def time_columns(pairs: PairSet) -> list[str]:
    """Metadata columns that say when items came to be."""
    columns = []
    for items in (pairs.x, pairs.y):
        for name, column in items.metadata.items():
            named = any(word in name.lower() for word in _TIME_NAMES)
            if name in columns or (column.dtype.kind in "iuf" and not named):
                continue
            times = {_time(cell) for cell in column.tolist()}
            if None not in times and sum(map(np.isfinite, times)) >= 3:  # type: ignore[arg-type]
                columns.append(name)
    return columns


def _time(cell: object) -> float | None:
    """A number or a date in ISO form; NaN for nothing, None for anything else."""
    text = str(cell).strip()
    if cell is None or cell != cell or not text:
        return float("nan")
    with suppress(ValueError):
        return float(text)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def components(pairs: PairSet, graph: sp.csr_array) -> tuple[Index, Index, NDArray[np.int64]]:
    """Component of each x item and y item, and the judgments in each component."""
    from scipy.sparse.csgraph import connected_components

    links = sp.csr_array((np.ones(graph.nnz), graph.indices, graph.indptr), shape=graph.shape)
    if pairs.x is pairs.y:
        # One collection linked to itself: an item is the same on both sides.
        n, labels = connected_components(links, directed=False)
        x = y = labels.astype(np.intp)
    else:
        both = sp.block_array([[None, links], [links.T, None]], format="csr")
        n, labels = connected_components(both, directed=False)
        x, y = np.split(labels.astype(np.intp), [graph.shape[0]])
    return x, y, np.bincount(np.repeat(x, np.diff(graph.indptr)), minlength=n)


def _distinct(index: NDArray[np.integer]) -> NDArray[np.intp]:
    return np.flatnonzero(np.bincount(index))


def _too_large(weights: NDArray[np.generic], shares: Reals) -> bool:
    """Whether one unit exceeds the largest part; one pair alone is merely too few."""
    return bool(weights.max() > max(1.0, shares.max() * weights.sum()))


def _sides_with(pairs: PairSet, key: str, parameter: str = "") -> dict[Side, Items]:
    both: dict[Side, Items] = {"x": pairs.x, "y": pairs.y}
    sides = {side: items for side, items in both.items() if key in items.metadata}
    if not sides:
        known = dict.fromkeys([*pairs.x.metadata, *pairs.y.metadata])
        hint = did_you_mean(key, known) if known else "The items have no metadata at all."
        if parameter:
            hint += f" Choose {parameter}, or split by='x', 'y' or 'pair'."
        raise DatasetError(f"No side has a metadata column {shown(key)}. {hint}")
    return sides


def _texts(items: Items, key: str) -> list[str]:
    """A metadata column as text, empty where nothing is known."""
    return ["" if v is None or v != v else str(v) for v in items.metadata[key].tolist()]


def assign_parts(
    weights: ArrayLike, strata: ArrayLike, shares: ArrayLike, rng: Generator, what: str = "item"
) -> Parts:
    """Assign every unit to one part."""
    # Within a stratum, units go from heavy to light (equal ones in random order), each to the
    # part that lacks most of its share among those it fits in. So parts come as near their
    # shares as the units allow, and each gets large and small ones alike.
    weights = np.asarray(weights, dtype=np.float64)
    strata = np.asarray(strata)
    shares = np.asarray(shares, dtype=np.float64)
    n_first, n_parts = int((strata == 0).sum()), int((shares > 0).sum())
    if n_first < n_parts:
        raise DatasetError(
            f"Too few pairs to split: {counted(n_first, what)} with a relevant pair cannot fill "
            f"{n_parts} parts. Bring more pairs that belong together."
        )
    parts = np.full(len(weights), -1, dtype=np.int8)
    for stratum in np.unique(strata):
        units = np.flatnonzero(strata == stratum)
        units = units[rng.permutation(len(units))]
        units = units[np.argsort(-weights[units], kind="stable")]
        parts[units] = _fill(weights[units], shares)
        # The lightest unit of the fullest part moves to each empty one.
        for part in np.flatnonzero(shares > 0) if len(units) >= n_parts else ():
            counts = np.bincount(parts[units], minlength=len(shares))
            if counts[part] == 0:
                fullest = units[parts[units] == np.argmax(counts)]
                parts[fullest[-1]] = part
    return parts


def _fill(weights: Reals, shares: Reals) -> Parts:
    """Parts of units that come heavy first."""
    # Plain floats: this loop runs once a unit.
    lacking = (shares * weights.sum()).tolist()
    share = shares.tolist()
    open_parts = [p for p, s in enumerate(share) if s > 0]
    parts = np.empty(len(weights), dtype=np.int8)
    for i, weight in enumerate(weights.tolist()):
        part, largest = -1, -1.0
        for p in open_parts:
            if lacking[p] >= weight and lacking[p] / share[p] > largest:
                part, largest = p, lacking[p] / share[p]
        if part < 0:
            part = max(open_parts, key=lacking.__getitem__)
        lacking[part] -= weight
        parts[i] = part
    return parts


def part_labels(
    arrays: Mapping[str, NDArray[Any]], side: str, n_items: int
) -> NDArray[np.object_]:
    """Name the parts that each item of a side is in."""
    inside = np.zeros((n_items, len(PARTS)), dtype=bool)
    for column, part in enumerate(PARTS):
        inside[arrays.get(f"{side}_{part}", np.empty(0, dtype=np.intp)), column] = True
    patterns, which = np.unique(inside, axis=0, return_inverse=True)
    parts = (list(compress(PARTS, pattern)) for pattern in patterns)
    names = [EVERY_PART if len(p) == len(PARTS) else " and ".join(p) or NO_PART for p in parts]
    return as_cells(names)[which.ravel()]


def is_in_part(labels: NDArray[np.object_], part: str) -> NDArray[np.bool_]:
    """Which items are in a part, whatever else they are in."""
    if part == NO_PART:
        return np.asarray(labels == NO_PART)
    inside = [label == EVERY_PART or part in label.split(" and ") for label in labels]
    return np.array(inside, dtype=bool)


def parts_present(labels: NDArray[np.object_]) -> tuple[str, ...]:
    """Names of the parts that any item is in, in the order of the split."""
    known = np.array(list(set(labels.tolist())), dtype=object)
    return tuple(part for part in (*PARTS, NO_PART) if is_in_part(known, part).any())


@dataclass(frozen=True, slots=True)
class SplitSuggestion:
    """A way of splitting, and why."""

    by: By
    group_key: str | None
    reason: str


def suggest_split(pairs: PairSet) -> SplitSuggestion:
    """Suggest how to split: the first way that is fair and works."""
    # A split or groups that came with the data are taken first. Where one side is a fixed
    # vocabulary, the other one brings the new items; else pairs are kept whole; else one side is
    # split, where pairs hang together too much.
    # Of judged pairs every part needs those that were rejected: without any there is no AUC, and
    # nothing to learn from or to stop by. Where no way keeps them, that which keeps most is taken.
    problem, thin, unused = "", [], ""
    n_rejected = pairs.relevance.negatives.nnz if pairs.relevance.unjudged == "ignore" else 0
    for suggestion in _candidates(pairs):
        try:
            made = split(pairs, suggestion.by, group_key=suggestion.group_key)
        except DatasetError as error:
            problem = problem or str(error)
            if suggestion.by == "column":
                unused = f" The split that came with the data is not used: {error}"
            continue
        suggestion = replace(suggestion, reason=suggestion.reason + unused)
        n_negatives = [getattr(made, part).relevance.negatives.nnz for part in PARTS]
        enough = min(n_negatives) > 0 and sum(n_negatives) >= _MIN_NEGATIVES * n_rejected
        if not n_rejected or suggestion.by == "column" or enough:
            return suggestion
        thin.append((min(n_negatives), sum(n_negatives), suggestion))
    if thin:
        return max(thin, key=lambda option: option[:2])[-1]
    return SplitSuggestion("pair", None, problem)


def group_columns(pairs: PairSet) -> list[str]:
    r"""Metadata columns whose values could be kept in one part each."""
    parts = part_columns(pairs)
    named = [name for name, cells in _columns(pairs) if 3 <= len(set(cells)) < len(cells)]
    return [name for name in dict.fromkeys(named) if name not in parts]


def part_columns(pairs: PairSet) -> list[str]:
    r"""Metadata columns that say train, validation or test of every item."""
    is_part: dict[str, bool] = {}
    for name, cells in _columns(pairs):
        # Where both sides have the column, both must say it.
        fits = {cell.strip().lower() for cell in cells} <= SPLIT_WORDS.keys()
        is_part[name] = is_part.get(name, True) and fits
    return [name for name, fits in is_part.items() if fits]


def _columns(pairs: PairSet) -> Iterator[tuple[str, list[str]]]:
    """Metadata columns of both sides as text."""
    for side in (pairs.x, pairs.y):
        for name, cells in side.metadata.items():
            yield name, [str(cell) for cell in cells.tolist()]


def _candidates(pairs: PairSet) -> Iterator[SplitSuggestion]:
    """Ways that are worth a try, the best first."""
    columns = [side.metadata for side in (pairs.x, pairs.y)]
    if "split" in part_columns(pairs):
        yield SplitSuggestion("column", "split", "The data came with their own split.")
    if len({str(g) for c in columns for g in c.get("group", ())}) >= MIN_GROUPS:
        reason = "The data came with groups; what belongs to one group stays in one part."
        yield SplitSuggestion("group", "group", reason)
    x, y = map(shown, pairs.headings)
    new_x = f"the test part asks for new items of {x} among known items of {y}."
    new_y = f"the test part asks for new items of {y} among known items of {x}."
    if pairs.x.kind == "keyword" != pairs.y.kind:
        yield SplitSuggestion("y", None, f"Keywords are a fixed vocabulary, so {new_y}")
    elif pairs.y.kind == "keyword" != pairs.x.kind:
        yield SplitSuggestion("x", None, f"Keywords are a fixed vocabulary, so {new_x}")
    elif _y_are_classes(pairs):
        reason = f"Each item of {y} stands for many items of {x}, so {new_x}"
        yield SplitSuggestion("x", None, reason)
    reason = "No item of the test part, on either side, stands in training."
    yield SplitSuggestion("pair", None, reason)
    tied = "Too many pairs hang together through items that they share, so only one side is new: "
    yield SplitSuggestion("x", None, tied + new_x)
    yield SplitSuggestion("y", None, tied + new_y)


def _y_are_classes(pairs: PairSet) -> bool:
    """Whether many x items belong to each y item, and hardly any to several."""
    positives = pairs.relevance.positives
    n, (n_x, n_y) = positives.nnz, (len(_distinct(part)) for part in positives.nonzero())
    return n > 0 and n / n_y >= _MIN_X_PER_Y and n / n_x <= _MAX_Y_PER_X
