"""Checks of items: which hold nothing, and which are the same."""

from __future__ import annotations

import numpy as np

from simviz.data.health.content import empty_items
from simviz.data.health.finding import Finding
from simviz.data.health.remedies import DropItems, MergeItems
from simviz.data.health.subject import Subject
from simviz.data.wording import counted

_EXAMPLES = 8
_HOLLOW = {"image": "pictures of one colour", "vector": "vectors of zeros"}


def find_empty(subject: Subject) -> list[Finding]:
    """Items that hold nothing: blank texts, pictures of one colour, vectors of zeros.

    Parameters
    ----------
    subject : Subject
        What is checked.

    Returns
    -------
    list of Finding
        One or none.
    """
    empty = {side: empty_items(subject.items(side)) for side in subject.sides}
    n = sum(map(len, empty.values()))
    if not n:
        return []
    hollow = [s for s in subject.sides if len(empty[s])]
    kinds = dict.fromkeys(_HOLLOW.get(subject.items(s).kind, "blank texts") for s in hollow)
    examples = [
        (subject.name(side), subject.id(side, i)) for side, found in empty.items() for i in found
    ]
    x = empty["x"]
    return [
        Finding(
            "empty",
            "act",
            f"{counted(n, 'item holds', 'items hold')} nothing ({', '.join(kinds)})",
            n,
            "Every method gives them similarity 0 with everything, so they only lower the "
            "figures and fill the map.",
            ("side", "id"),
            tuple(examples[:_EXAMPLES]),
            DropItems(
                f"Leave {'it' if n == 1 else 'them'} out",
                x,
                empty.get("y", x),
                subject.pairs.shape,
            ),
        )
    ]


def find_duplicates(subject: Subject) -> list[Finding]:
    """Items of one side with the same content.

    Parameters
    ----------
    subject : Subject
        What is checked.

    Returns
    -------
    list of Finding
        One or none.
    """
    extra = {
        side: len(subject.items(side)) - len(subject.first_of(side)) for side in subject.sides
    }
    n = sum(extra.values())
    if not n:
        return []
    examples = []
    for side in subject.sides:
        codes = subject.codes[side]
        order = np.argsort(codes, kind="stable")
        again = np.flatnonzero(np.diff(codes[order]) == 0)
        for at in again[:_EXAMPLES]:
            one, other = int(order[at]), int(order[at + 1])
            ids = f"{subject.id(side, one)}, {subject.id(side, other)}"
            examples.append((subject.name(side), subject.label(side, one), ids))
    where = " and ".join(
        f"{counted(count, 'item')} of {subject.name(side)}"
        for side, count in extra.items()
        if count
    )
    return [
        Finding(
            "duplicates",
            "look",
            f"{where} {'repeats' if n == 1 else 'repeat'} the content of another",
            n,
            "No method can tell them apart: a right answer under one id counts as wrong under "
            "the other. Merged, they are one item with the judgments of all. Keep them where "
            "the same words do mean different things.",
            ("side", "content", "ids"),
            tuple(examples[:_EXAMPLES]),
            MergeItems("Merge them", subject.codes["x"], subject.codes["y"]),
        )
    ]
