"""Putting items into the groups of the other side, or into none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from simviz.data.items import Items
    from simviz.data.pairs import PairSet
    from simviz.pipeline import Pipeline

Ints = NDArray[np.intp]
Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """The group of each item, and the one that comes second.

    Parameters
    ----------
    names : tuple of str
        Of the groups.
    group, runner_up : ndarray of int, shape (n,)
        Positions in `names`; -1 where nothing is known of an item, or where
        there is but one group.
    score, runner_up_score : ndarray of float64, shape (n,)
        Similarity to the nearest member of the group; NaN where there is none.
    nearest : ndarray of int, shape (n,)
        That member, by its position on the y side; -1 where there is none.
    """

    names: tuple[str, ...]
    group: Ints
    runner_up: Ints
    score: Reals
    runner_up_score: Reals
    nearest: Ints

    def __len__(self) -> int:
        return len(self.group)


def group_names(pairs: PairSet, separator: str = " | ") -> list[tuple[str, ...]]:
    """The groups that each y item stands in.

    Parameters
    ----------
    pairs : PairSet
        A metadata column "group" of its y side names them; without one, each
        item is a group of its own, named by its text, else by its id.
    separator : str, default=" | "
        Between the groups of an item that stands in several.

    Returns
    -------
    list of tuple of str, length n_y
        At least one name an item.

    Examples
    --------
    >>> from simviz.data import PairSet
    >>> group_names(PairSet.from_texts(["cooks", "chefs"], ["cook", "chef"]))
    [('cook',), ('chef',)]
    """
    y = pairs.y
    own = y.content if y.kind in ("text", "keyword") else y.ids
    if "group" not in y.metadata:
        return [(str(name),) for name in own]
    cells = y.metadata["group"].tolist()
    return [
        tuple(str(cell).split(separator)) if cell not in (None, "") else (str(name),)
        for cell, name in zip(cells, own, strict=True)
    ]


def assign(pipeline: Pipeline, x: Items, y: Items, groups: Sequence[Sequence[str]]) -> Assignment:
    """Put each x item into the group of its nearest y item.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        Fitted.
    x : Items
        What is to be put somewhere.
    y : Items
        What stands in groups already.
    groups : sequence of sequence of str, length n_y
        Groups of each y item; it may stand in several.

    Returns
    -------
    Assignment
        An item's score for a group is that for its nearest member; of groups
        with one score, the one that comes first among the y items is taken.
        An item that scores the same for everything belongs nowhere.

    Raises
    ------
    ValueError
        If there is not one list of groups for each y item.

    Notes
    -----
    Nearest neighbour by similarity, as Neculoiu, Versteegh & Rotaru (2016),
    section 5, normalise job titles. Similarities are computed in blocks.

    Examples
    --------
    >>> from simviz.data import PairSet
    >>> from simviz.pipeline import default_pipeline
    >>> pairs = PairSet.from_texts(["a cook", "a nurse"], ["cook", "nurse"])
    >>> fitted = default_pipeline("tfidf_cosine", pairs).fit(pairs)
    >>> found = assign(fitted, pairs.x, pairs.y, group_names(pairs))
    >>> [found.names[i] for i in found.group]
    ['cook', 'nurse']
    """
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
    found = Assignment(
        tuple(place),
        np.full(n, -1, dtype=np.intp),
        np.full(n, -1, dtype=np.intp),
        np.full(n, np.nan),
        np.full(n, np.nan),
        np.full(n, -1, dtype=np.intp),
    )
    for block in pipeline.iter_similarity(x, y):
        scores = np.asarray(block, dtype=np.float64)
        best = np.maximum.reduceat(scores[:, order], starts, axis=1)
        at = np.arange(len(scores))
        known = np.ptp(scores, axis=1) > 0 if scores.shape[1] > 1 else np.ones(len(scores), bool)
        into = rows + at[known]
        first = best.argmax(axis=1)
        found.group[into] = first[known]
        found.score[into] = best[at, first][known]
        # Of the members of that group, the nearest: all others are out of the race.
        inside = np.full(scores.shape, -np.inf)
        for i, g in enumerate(first):
            inside[i, members[g]] = scores[i, members[g]]
        found.nearest[into] = inside.argmax(axis=1)[known]
        if best.shape[1] > 1:
            best[at, first] = -np.inf
            second = best.argmax(axis=1)
            found.runner_up[into] = second[known]
            found.runner_up_score[into] = best[at, second][known]
        rows += len(scores)
    return found


def keeping_threshold(scores: ArrayLike, is_right: ArrayLike, share: float = 0.95) -> float:
    """The highest threshold that keeps a share of the right answers.

    Parameters
    ----------
    scores : array-like of float
        Best score of each query; NaN where it has none.
    is_right : array-like of bool
        Whether the answer with that score is right.
    share : float, default=0.95
        Of the right answers that score at least the threshold.

    Returns
    -------
    float
        NaN where there is no right answer.

    Raises
    ------
    ValueError
        If the share is not in (0, 1].

    Examples
    --------
    >>> keeping_threshold([0.9, 0.8, 0.7, 0.2], [True, True, True, False])
    0.7
    """
    if not 0 < share <= 1:
        raise ValueError(f"share must lie in (0, 1], got {share!r}.")
    values = np.asarray(scores, dtype=np.float64)
    right = np.sort(values[np.asarray(is_right, dtype=bool) & np.isfinite(values)])
    if not len(right):
        return float("nan")
    kept = int(np.ceil(share * len(right) - 1e-9))  # 0.9 of 10 is 9, whatever its bits say
    return float(right[len(right) - kept])
