"""Which part each item goes to, for every way of splitting."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data.apportion import Parts, apportion
from simviz.data.pairs import PairSet
from simviz.data.roles import SPLIT_WORDS
from simviz.data.wording import did_you_mean, percent, shown
from simviz.exceptions import DatasetError

Side = Literal["x", "y"]
Codes = NDArray[np.intp]
#: Parts of each side; None where a side is not partitioned but follows the other.
Partition = tuple[Parts | None, Parts | None]
NAMES = ("train", "validation", "test")


def by_pair(
    pairs: PairSet, shares: NDArray[np.float64], rng: np.random.Generator, notes: list[str]
) -> Partition:
    """Partition both sides so that linked items stay together."""
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
            "cannot be split by pair without a leak. Split by='x' (new x items, known y items) or "
            "by='y' (new y items, known x items)."
        )
    n = len(weights)
    relevant = np.bincount(np.repeat(x, np.diff(positives.indptr)), minlength=n) > 0
    on_x = np.bincount(x, minlength=n) > 0
    strata = np.where(relevant, 0, np.where(weights > 0, 1, np.where(on_x, 2, 3)))
    parts = apportion(np.maximum(weights, 1), strata, shares, rng, "group of linked items")
    return parts[x], parts[y]


def by_side(
    pairs: PairSet, side: Side, shares: NDArray[np.float64], rng: np.random.Generator
) -> Partition:
    """Partition one side item by item."""
    relevance = pairs.relevance if side == "x" else pairs.relevance.T
    relevant = np.diff(relevance.positives.indptr) > 0
    judged = np.diff(relevance.matrix.indptr) > 0
    strata = np.where(relevant, 0, np.where(judged, 1, 2))
    parts = apportion(np.ones(len(strata)), strata, shares, rng, f"{side} item")
    return (parts, None) if side == "x" else (None, parts)


def by_group(
    pairs: PairSet, key: str, shares: NDArray[np.float64], rng: np.random.Generator
) -> Partition:
    """Partition the sides that have a metadata column, its equal values together."""
    codes, numbers = groups(pairs, key)
    n = len(numbers)
    weights = sum((np.bincount(c, minlength=n) for c in codes.values()), np.zeros(n))
    relevant = np.zeros(n, dtype=bool)
    for side, code in codes.items():
        relevance = pairs.relevance if side == "x" else pairs.relevance.T
        relevant[code[np.diff(relevance.positives.indptr) > 0]] = True
    if _too_large(weights, shares):
        name = next(k for k, i in numbers.items() if i == int(np.argmax(weights)))[1:]
        raise DatasetError(
            f"Group {shown(name)} of column {shown(key)} holds "
            f"{percent(weights.max() / weights.sum())} of the items, more than the largest part "
            f"({percent(shares.max())}) can take. Choose a finer column as group_key, or by='x'."
        )
    parts = apportion(weights, np.where(relevant, 0, 1), shares, rng, "group")
    x, y = (parts[codes[s]] if s in codes else None for s in ("x", "y"))
    return x, y


def groups(pairs: PairSet, key: str) -> tuple[dict[Side, Codes], dict[str, int]]:
    """Number of the group of each item, on the sides that have the column; names to numbers."""
    sides = _sides_with(pairs, key, "group_key")
    cells = {side: _cells(pairs, side, key) for side in sides}
    numbers: dict[str, int] = {}
    codes: dict[Side, Codes] = {}
    n_lonely = 0
    for side in sides:
        # An item without a value is a group of its own; values never begin so.
        keys = []
        for cell in cells[side]:
            n_lonely += cell == ""
            keys.append(f"={cell}" if cell else f"?{n_lonely}")
        codes[side] = np.array([numbers.setdefault(k, len(numbers)) for k in keys], dtype=np.intp)
    return codes, numbers


def by_column(
    pairs: PairSet,
    key: str,
    shares: NDArray[np.float64],
    rng: np.random.Generator,
    notes: list[str],
) -> Partition:
    """Partition the sides that have a split column as it says."""
    parts: dict[Side, Parts] = {}
    for side in _sides_with(pairs, key, "group_key (the column with the split)"):
        items = pairs.x if side == "x" else pairs.y
        found = np.empty(len(items), dtype=np.int8)
        for i, cell in enumerate(_cells(pairs, side, key)):
            word = SPLIT_WORDS.get(cell.strip().lower())
            if word is None:
                raise DatasetError(
                    f"Item {shown(items.ids[i])} of the {side} side has {shown(cell)} in column "
                    f"{shown(key)}. Write train, validation or test for every item."
                )
            found[i] = NAMES.index(word)
        parts[side] = found
    present = {NAMES[p] for found in parts.values() for p in np.unique(found)}
    if missing := [p for p in ("train", "test") if p not in present]:
        raise DatasetError(
            f"Column {shown(key)} names no item for {' and '.join(missing)}. Mark some, or "
            "split by='x', 'y' or 'pair'."
        )
    if "validation" not in present:
        _draw_validation(pairs, parts, shares, rng, notes)
        notes.append(f"Column {shown(key)} names no validation items; they were drawn from train.")
    return parts.get("x"), parts.get("y")


def _draw_validation(
    pairs: PairSet,
    parts: dict[Side, Parts],
    shares: NDArray[np.float64],
    rng: np.random.Generator,
    notes: list[str],
) -> None:
    """Move some of train to validation, in place, as the shares of both say."""
    two = np.array([shares[0], shares[1], 0.0]) / (shares[0] + shares[1])
    x, y = (np.flatnonzero(parts[s] == 0) if s in parts else None for s in ("x", "y"))
    train = pairs.take(x, y)
    if x is not None and y is not None:
        drawn = by_pair(train, two, rng, notes)
    else:
        drawn = by_side(train, "x" if y is None else "y", two, rng)
    for side, index, found in (("x", x, drawn[0]), ("y", y, drawn[1])):
        if index is not None and found is not None:
            parts[side][index] = found  # type: ignore[index]


def components(pairs: PairSet, graph: sp.csr_array) -> tuple[Codes, Codes, NDArray[np.int64]]:
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


def _too_large(weights: NDArray[np.generic], shares: NDArray[np.float64]) -> bool:
    """Whether one unit exceeds the largest part; one pair alone is merely too few."""
    return bool(weights.max() > max(1.0, shares.max() * weights.sum()))


def _sides_with(pairs: PairSet, key: str, parameter: str) -> list[Side]:
    """Sides whose items have a metadata column."""
    sides: list[Side] = []
    if key in pairs.x.metadata:
        sides.append("x")
    if key in pairs.y.metadata:
        sides.append("y")
    if not sides:
        known = [*pairs.x.metadata, *(k for k in pairs.y.metadata if k not in pairs.x.metadata)]
        hint = did_you_mean(key, known) if known else "The items have no metadata at all."
        raise DatasetError(
            f"No side has a metadata column {shown(key)}. {hint} Choose {parameter}, or split "
            "by='x', 'y' or 'pair'."
        )
    return sides


def _cells(pairs: PairSet, side: Side, key: str) -> list[str]:
    """A metadata column as text, empty where nothing is known."""
    values = (pairs.x if side == "x" else pairs.y).metadata[key]
    return ["" if v is None or v != v else str(v) for v in values.tolist()]
