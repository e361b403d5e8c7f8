"""Putting items into the groups of the other side, or into none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from simviz._types import Index, Reals
from simviz.data.pairs import GROUP_SEPARATOR, Items, PairSet

if TYPE_CHECKING:
    from simviz.pipeline import Pipeline


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """The group of each item, and the one that comes second."""

    names: tuple[str, ...]
    group: Index
    runner_up: Index
    score: Reals
    runner_up_score: Reals
    nearest: Index

    def __len__(self) -> int:
        return len(self.group)


def group_names(pairs: PairSet) -> list[tuple[str, ...]]:
    """The groups that each y item stands in."""
    y = pairs.y
    own = y.content if y.kind in ("text", "keyword") else y.ids
    if "group" not in y.metadata:
        return [(str(name),) for name in own]
    cells = y.metadata["group"].tolist()
    return [
        tuple(str(cell).split(GROUP_SEPARATOR)) if cell not in (None, "") else (str(name),)
        for cell, name in zip(cells, own, strict=True)
    ]


def assign(pipeline: Pipeline, x: Items, y: Items, groups: Sequence[Sequence[str]]) -> Assignment:
    """Put each x item into the group of its nearest y item."""
    # Nearest neighbour by similarity, as Neculoiu, Versteegh & Rotaru (2016), section 5,
    # normalise job titles. Similarities are computed in blocks.
    if len(groups) != len(y):
        raise ValueError(f"{len(y):,} y items need as many lists of groups, got {len(groups):,}.")
    place: dict[str, int] = {}
    members: list[list[int]] = []
    for j, names in enumerate(groups):
        for name in names:
            if place.setdefault(name, len(place)) == len(members):
                members.append([])
            members[place[name]].append(j)
    order = np.concatenate([np.asarray(m) for m in members])
    starts = np.cumsum([0, *(len(m) for m in members)])[:-1]
    n, rows = len(x), 0
    group, runner_up, nearest = np.full((3, n), -1, dtype=np.intp)
    score, runner_up_score = np.full((2, n), np.nan)
    result = Assignment(tuple(place), group, runner_up, score, runner_up_score, nearest)
    for block in pipeline.iter_similarity(x, y):
        scores = np.asarray(block, dtype=np.float64)
        best = np.maximum.reduceat(scores[:, order], starts, axis=1)
        at = np.arange(len(scores))
        known = np.ptp(scores, axis=1) > 0 if scores.shape[1] > 1 else np.ones(len(scores), bool)
        into = rows + at[known]
        first = best.argmax(axis=1)
        result.group[into] = first[known]
        result.score[into] = best[at, first][known]
        # Of the members of that group, the nearest: all others are out of the race.
        inside = np.full(scores.shape, -np.inf)
        for i, g in enumerate(first):
            inside[i, members[g]] = scores[i, members[g]]
        result.nearest[into] = inside.argmax(axis=1)[known]
        if best.shape[1] > 1:
            best[at, first] = -np.inf
            second = best.argmax(axis=1)
            result.runner_up[into] = second[known]
            result.runner_up_score[into] = best[at, second][known]
        rows += len(scores)
    return result


def keeping_threshold(scores: ArrayLike, is_right: ArrayLike, share: float = 0.95) -> float:
    """The highest threshold that further right answers pass with this probability."""
    # Split conformal prediction (Vovk, Gammerman & Shafer 2005, section 4.2): a further one is
    # as likely to stand at each of n + 1 places among n. Of too few, none can be promised much.
    if not 0 < share <= 1:
        raise ValueError(f"share must lie in (0, 1], got {share!r}.")
    values = np.asarray(scores, dtype=np.float64)
    right = np.sort(values[np.asarray(is_right, dtype=bool) & np.isfinite(values)])
    if not len(right):
        return float("nan")
    n_below = int((1 - share) * (len(right) + 1) + 1e-9)  # 0.1 of 10 is 1, whatever its bits say
    return float(right[n_below - 1]) if n_below else float("-inf")
