"""A fair split for pairs that nobody has thought about yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simviz.data.cells import shown
from simviz.data.columns import SPLIT_WORDS
from simviz.data.pairs import PairSet
from simviz.data.splitting import By, split
from simviz.exceptions import DatasetError

#: Fewer groups than this say little about groups that are new.
MIN_GROUPS = 20
#: From so many x items to a y item, with hardly another y item for any of them,
#: a y item is a class that new x items fall into.
_MANY, _ONE = 3.0, 1.5


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
    problem = ""
    for suggestion in _candidates(pairs):
        try:
            split(pairs, suggestion.by, group_key=suggestion.group_key)
        except DatasetError as error:
            problem = problem or str(error)
        else:
            return suggestion
    return SplitSuggestion("pair", None, problem)


def group_columns(pairs: PairSet) -> list[str]:
    r"""Metadata columns whose values could be kept in one part each."""
    parts = part_columns(pairs)
    named = [name for name, cells in _columns(pairs) if 3 <= len(set(cells)) < len(cells)]
    return [name for name in dict.fromkeys(named) if name not in parts]


def part_columns(pairs: PairSet) -> list[str]:
    r"""Metadata columns that say train, validation or test of every item."""
    found: dict[str, bool] = {}
    for name, cells in _columns(pairs):
        # Where both sides have the column, both must say it.
        fits = {cell.strip().lower() for cell in cells} <= SPLIT_WORDS.keys()
        found[name] = found.get(name, True) and fits
    return [name for name, fits in found.items() if fits]


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
    groups = {str(g) for c in columns for g in c.get("group", ())}
    if len(groups) >= MIN_GROUPS:
        reason = "The data came with groups; what belongs to one group stays in one part."
        yield SplitSuggestion("group", "group", reason)
    x, y = shown(pairs.x_name), shown(pairs.y_name)
    new_x = f"the test part asks for new items of {x} among known items of {y}."
    new_y = f"the test part asks for new items of {y} among known items of {x}."
    if pairs.x.kind == "keyword" != pairs.y.kind:
        yield SplitSuggestion("y", None, f"Keywords are a fixed vocabulary, so {new_y}")
    elif pairs.y.kind == "keyword" != pairs.x.kind:
        yield SplitSuggestion("x", None, f"Keywords are a fixed vocabulary, so {new_x}")
    elif _y_are_classes(pairs):
        reason = f"Each item of {y} stands for many items of {x}, so {new_x}"
        yield SplitSuggestion("x", None, reason)
    reason = "No item of the test part, on either side, is known from training."
    yield SplitSuggestion("pair", None, reason)
    tied = "Too many pairs hang together through items that they share, so only one side is new: "
    yield SplitSuggestion("x", None, tied + new_x)
    yield SplitSuggestion("y", None, tied + new_y)


def _y_are_classes(pairs: PairSet) -> bool:
    """Whether many x items belong to each y item, and hardly any to several."""
    positives = pairs.relevance.positives
    n_x, n_y = (len(np.unique(part)) for part in positives.nonzero())
    n = positives.nnz
    return n > 0 and n / n_y >= _MANY and n / n_x <= _ONE
