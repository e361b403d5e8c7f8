"""What a column of texts is: each line's group, what comes second, and what is known of it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages._shared import drawings

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.evaluation.assignment import Assignment
    from simviz.store.run import Part, Run

MOST_LINES = 2_000
LONGEST = 500  # characters of a line
#: Share of the right answers that the first threshold keeps.
KEPT = 0.95


@dataclass(frozen=True, slots=True)
class Normalised:
    """A column of texts, put into groups.

    Parameters
    ----------
    lines : tuple of str
        The texts, each once.
    found : Assignment
        Their groups.
    known : tuple of (tuple of str)
        Groups that each line is known to belong to; empty where nobody said.
    parts : tuple of str
        Part of the split that each line is in; empty where it is not in the data.
    """

    lines: tuple[str, ...]
    found: Assignment
    known: tuple[tuple[str, ...], ...]
    parts: tuple[str, ...]


def parse(text: str) -> tuple[tuple[str, ...], str]:
    """Lines of what was pasted, and what was left out.

    Parameters
    ----------
    text : str
        One text a line.

    Returns
    -------
    lines : tuple of str
        Each once, without what cannot be seen.
    told : str
        What was left out, in a sentence; empty if nothing was.
    """
    every = [" ".join(line.split())[:LONGEST] for line in text.splitlines()]
    distinct = tuple(dict.fromkeys(line for line in every if line))
    n_left = len(distinct) - MOST_LINES
    if n_left > 0:
        return distinct[:MOST_LINES], (
            f"{n_left:,} lines beyond the first {MOST_LINES:,} are left out. Paste them next."
        )
    return distinct, ""


def normalise(run: Run, pairs: PairSet, lines: Sequence[str]) -> Normalised:
    """Put lines into the groups of the y side, as a run sees them.

    Parameters
    ----------
    run : Run
        Who says it.
    pairs : PairSet
        The data set.
    lines : sequence of str
        The texts.

    Returns
    -------
    Normalised
        With what is known of lines that stand in the data.
    """
    digest = hashlib.blake2b("\n".join(lines).encode("utf-8", "replace")).hexdigest()
    found = _assigned(run.id, digest, run, pairs, tuple(lines))
    groups = groups_of(pairs)
    place = {str(text): i for i, text in enumerate(pairs.x.content)}
    labels = drawings.parts(run.id, run, pairs)[0]
    known, parts = [], []
    positives = pairs.relevance.positives
    for line in lines:
        at = place.get(line)
        relevant = [] if at is None else positives[[at]].indices.tolist()
        known.append(tuple(dict.fromkeys(name for j in relevant for name in groups[j])))
        parts.append("" if at is None else str(labels[at]))
    return Normalised(tuple(lines), found, tuple(known), tuple(parts))


def groups_of(pairs: PairSet) -> list[tuple[str, ...]]:
    """The groups of each item of the y side."""
    from simviz.evaluation.assignment import group_names

    return group_names(pairs)


@st.cache_data(show_spinner="Looking for the group of each", max_entries=32)
def _assigned(
    run_id: str, digest: str, _run: Run, _pairs: PairSet, _lines: tuple[str, ...]
) -> Assignment:
    from simviz.data.items import Items
    from simviz.evaluation.assignment import assign

    items = Items([str(i) for i in range(len(_lines))], list(_lines), _pairs.x.kind)
    return assign(drawings.pipeline(run_id, _run), items, _pairs.y, groups_of(_pairs))


@st.cache_data(show_spinner="Looking for a threshold", max_entries=64)
def threshold(run_id: str, _run: Run, _pairs: PairSet) -> float:
    """The score above which most right answers of the validation part lie; NaN if none does."""
    from simviz.evaluation.assignment import assign, keeping_threshold

    arrays = _run.arrays()
    rows = arrays.get("x_validation", np.empty(0, dtype=np.intp))
    if not len(rows):
        return float("nan")
    groups = groups_of(_pairs)
    found = assign(drawings.pipeline(run_id, _run), _pairs.x.take(rows), _pairs.y, groups)
    positives = _pairs.relevance.positives
    right = []
    for row, group in zip(rows, found.group, strict=True):
        names = {name for j in positives[[row]].indices.tolist() for name in groups[j]}
        right.append(group >= 0 and found.names[group] in names)
    return keeping_threshold(found.score, right, KEPT)


def examples(run: Run, pairs: PairSet, part: Part, n: int = 20) -> list[str]:
    """Texts of a part that are no texts of the other side, evenly taken."""
    rows = run.arrays().get(f"x_{part}", np.arange(len(pairs.x)))
    there = set(pairs.y.content.tolist())
    texts = [str(pairs.x.content[i]) for i in rows if pairs.x.content[i] not in there]
    texts = texts or [str(pairs.x.content[i]) for i in rows]
    return texts[:: max(1, len(texts) // n)][:n]
