"""Checks across a split: what the test part holds that training knows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data.health.finding import Finding
from simviz.data.health.remedies import FixParts
from simviz.data.health.subject import SIDES, Index, Subject
from simviz.data.wording import counted

_EXAMPLES = 8
#: Pairs of items that must not stand in two parts, by side.
Ties = Mapping[str, tuple[Index, Index]]


def find_leaks(subject: Subject) -> list[Finding]:
    """Items of the test part that stand in training, or have a twin of the same content there.

    Parameters
    ----------
    subject : Subject
        What is checked.

    Returns
    -------
    list of Finding
        One or none; none without a split.
    """
    examples: list[tuple[str, ...]] = []
    ties: dict[str, tuple[Index, Index]] = {}
    n = 0
    for side in subject.held:
        codes, first = subject.codes[side], subject.first_of(side)
        known = np.full(len(first), -1, dtype=np.intp)
        for part in ("validation", "train"):
            members = subject.members(side, part)
            known[codes[members]] = members
        test = subject.members(side, "test")
        leaked = test[known[codes[test]] >= 0]
        n += len(leaked)
        for i in leaked[: _EXAMPLES - len(examples)]:
            twin = int(known[codes[i]])
            ids = f"{subject.id(side, i)}, {subject.id(side, twin)}"
            examples.append((subject.name(side), subject.label(side, i), ids))
        ties[side] = (np.arange(len(codes)), first[codes])
    if not n:
        return []
    return [
        Finding(
            "leak",
            "act",
            f"{counted(n, 'test item is', 'test items are')} known from training",
            n,
            "What was learned by heart counts as found: figures on the test part are too good "
            "by that much." + _instead(remedy := _tied(subject, ties)),
            ("side", "content", "ids"),
            tuple(examples),
            remedy,
        )
    ]


def find_near(subject: Subject) -> list[Finding]:
    """Texts of a side that are nearly the same, above all those across the split.

    Parameters
    ----------
    subject : Subject
        What is checked.

    Returns
    -------
    list of Finding
        One or none.
    """
    examples: list[tuple[str, ...]] = []
    inside: list[tuple[str, ...]] = []
    ties: dict[str, tuple[Index, Index]] = {}
    total = across = 0
    for side, (a, b) in subject.near.items():
        total += len(a)
        first = subject.first_of(side)
        one, other = first[a], first[b]
        apart = np.zeros(len(a), dtype=bool)
        if side in subject.held:
            in_test = subject.parts(side) == 2
            apart = in_test[one] != in_test[other]
            ties[side] = (one, other)
        across += int(apart.sum())
        for at, rows in ((apart, examples), (~apart, inside)):
            for i in np.flatnonzero(at)[:_EXAMPLES]:
                i, j = int(one[i]), int(other[i])
                rows.append((subject.name(side), subject.label(side, i), subject.label(side, j)))
    if not total:
        return []
    are = counted(total, "pair of items is", "pairs of items are") + " nearly the same"
    where = (
        f", {across:,} of them across training and test"
        if across
        else ", none across training and test"
        if subject.held
        else ""
    )
    remedy = _tied(subject, ties) if across else None
    why = (
        "A test item that differs by a letter or a word from one in training asks for little "
        "more than memory. Decide by the examples whether they are variants of one thing or "
        "things of their own." + _instead(remedy)
        if across
        else "They do no harm where they are. Another seed or another way of splitting may part "
        "them; then figures on the test would rest on memory."
    )
    return [
        Finding(
            "near",
            "look",
            are + where,
            total,
            why,
            ("side", "one", "the other"),
            tuple((examples + inside)[:_EXAMPLES]),
            remedy,
        )
    ]


def _instead(remedy: FixParts | None) -> str:
    """What to do where no remedy can be offered."""
    if remedy is not None:
        return ""
    return (
        " Too much hangs together to keep it in one part here: merge or remove these items in "
        "the file, or split by something else."
    )


def _tied(subject: Subject, ties: Ties) -> FixParts | None:
    """Move to training whatever is tied to something in another part, links included.

    None where less than half of the test part would be left.
    """
    offset = {"x": 0, "y": len(subject.items("x"))}
    n = offset["y"] + len(subject.items("y"))
    parts = np.zeros(n, dtype=np.int8)
    rows: list[Index] = []
    columns: list[Index] = []
    for side in subject.held:
        start = offset[side]
        parts[start : start + len(subject.items(side))] = subject.parts(side)
        if side in ties:
            one, other = ties[side]
            rows.append(one + start)
            columns.append(other + start)
    if len(subject.held) == len(SIDES):
        positives = subject.pairs.relevance.positives
        x = np.repeat(np.arange(positives.shape[0]), np.diff(positives.indptr))
        y = positives.indices + offset["y"]
        together = parts[x] == parts[y]
        rows.append(x[together])
        columns.append(y[together])
    mixed = _mixed(np.concatenate(rows), np.concatenate(columns), parts)
    before = parts == 2
    moved = np.where(mixed, 0, parts).astype(np.int8)
    if 2 * (moved == 2).sum() < before.sum() or not (moved == 1).any():
        return None
    n_moved = int((before & mixed).sum())
    cut = {
        side: moved[offset[side] : offset[side] + len(subject.items(side))]
        if side in subject.held
        else None
        for side in SIDES
    }
    if subject.pairs.x is subject.pairs.y:
        cut["y"] = cut["x"]
    return FixParts(f"Move {n_moved:,} to training", x=cut["x"], y=cut["y"])


def _mixed(rows: Index, columns: Index, parts: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Nodes that hang together with one of another part."""
    from scipy.sparse.csgraph import connected_components

    n = len(parts)
    graph = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    count, label = connected_components(graph, directed=False)
    lowest, highest = np.full(count, 2, dtype=np.int8), np.zeros(count, dtype=np.int8)
    np.minimum.at(lowest, label, parts)
    np.maximum.at(highest, label, parts)
    return (lowest < highest)[label]
