"""Groups of queries to look at: those that share a word, or a value of a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import streamlit as st

from pages._shared import compare_items
from pages._shared.compare_marks import mark_pills, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pages._shared.compare_runs import Entry
    from simviz.data.items import Items
    from simviz.evaluation.differences import Differences
    from simviz.evaluation.shared_terms import TermGroup

#: A column with more values than this names items rather than groups.
_MOST_VALUES = 60
#: A word is in so many queries, and in one of a hundred.
_FEWEST = 4


class Group(NamedTuple):
    """Some of the queries.

    Parameters
    ----------
    name : str
        What they share, and part of widgets' keys; empty where all are shown.
    queries : ndarray of int
        Their positions among the differences.
    """

    name: str
    queries: NDArray[np.int64]


def choose(a: Entry, b: Entry, found: Differences, sides: Mapping[str, Items], key: str) -> Group:
    """Let the visitor narrow the queries down.

    Parameters
    ----------
    a, b : Entry
        The runs.
    found : Differences
        All queries.
    sides : mapping of {"x2y", "y2x"} to Items
        The items of the part that ask in each direction.
    key : str
        Names the two runs, the metric and the direction.
    """
    name, index = "", np.arange(len(found))
    columns = _columns(key, found, sides)
    if columns:
        value = st.selectbox(
            "Only queries with",
            list(columns),
            index=None,
            format_func=lambda option: f"{option} ({len(columns[option]):,})",
            placeholder="All queries",
            key=f"compare-column-{key}",
            width=320,
        )
        if value is not None:
            name, index = value, columns[value]
    term = _choose_term(a, b, _terms(key, found, sides), key)
    if term is not None:
        index = np.intersect1d(index, term.queries)
        name = f"{name}, “{term.term}”".removeprefix(", ")
    return Group(name, index)


def _choose_term(
    a: Entry, b: Entry, sides: tuple[Sequence[TermGroup], Sequence[TermGroup]], key: str
) -> TermGroup | None:
    """Words as pills, each with the mark of the run that gains on its queries."""
    groups = {group.term: group for side in sides for group in side}
    if not groups:
        return None
    widget = f"compare-terms-{key}"
    mark_pills(widget, [a.look] * len(sides[0]) + [b.look] * len(sides[1]))
    chosen = st.pills(
        "Words of queries on which one gains",
        list(groups),
        format_func=lambda term: (
            f"{plain(term)}  {_signed(groups[term].difference)} · {len(groups[term]):,}"
        ),
        key=widget,
        help="Each with the mean difference (A − B) and the number of queries that hold it. They "
        "stand here because they stand out among all words: a description of these queries, no "
        "test.",
    )
    return None if chosen is None else groups[chosen]


@st.cache_resource(show_spinner=False, max_entries=40)
def _terms(
    key: str, _found: Differences, _sides: Mapping[str, Items]
) -> tuple[list[TermGroup], list[TermGroup]]:
    from simviz.evaluation.shared_terms import shared_terms

    lines = zip(_found.direction.tolist(), _found.query.tolist(), strict=True)
    texts = [compare_items.text(_sides[direction], query, None) for direction, query in lines]
    least = max(_FEWEST, len(texts) // 100)
    return shared_terms(_found.difference, texts, least=least)


@st.cache_resource(show_spinner=False, max_entries=40)
def _columns(
    key: str, _found: Differences, _sides: Mapping[str, Items]
) -> dict[str, NDArray[np.int64]]:
    """Queries by "column: value", for columns that divide them into a few groups."""
    values: dict[str, dict[str, list[int]]] = {}
    for direction in dict.fromkeys(_found.direction.tolist()):
        at = np.flatnonzero(_found.direction == direction)
        for column, known in _sides[direction].metadata.items():
            cells: Any = known[_found.query[at]]
            for position, cell in zip(at.tolist(), cells.tolist(), strict=True):
                values.setdefault(column, {}).setdefault(str(cell), []).append(position)
    return {
        f"{column}: {value}": np.array(positions, dtype=np.int64)
        for column, groups in values.items()
        if 2 <= len(groups) <= _MOST_VALUES and column != "label"
        for value, positions in sorted(groups.items(), key=lambda item: -len(item[1]))
    }


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")
