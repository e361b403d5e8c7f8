"""Choosing a split and seeing what comes of it, before anything is trained."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from simviz.data import split
from simviz.data.pairs import PairSet
from simviz.data.splitting import PARTS, SplitSuggestion, group_columns, part_columns, time_columns
from simviz.exceptions import DatasetError
from simviz.jobs import SplitSpec
from simviz.workbench.shell import display, forms, state

_MEANS = {
    "pair": "No item of the test part stands in training, on either side. What is linked, "
    "directly or through others, stays together.",
    "x": "Every item of {x} stands in one part. Items of {y} may stand in several: the test asks "
    "for new items of {x} among them.",
    "y": "Every item of {y} stands in one part. Items of {x} may stand in several: the test asks "
    "for new items of {y} by them.",
    "group": "What has the same value in the column stands in one part, so the test asks about "
    "groups that are new.",
    "column": "The column says of each item where it belongs.",
    "time": "The latest items are the test, those before them for validation. Training knows "
    "nothing that came later, as in real use; the seed plays no part.",
}


class Parts(NamedTuple):
    """What a split gives: a row of counts a part, what to know, or why it cannot be."""

    rows: tuple[tuple[str, int, int, int, int], ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""


def show(pairs: PairSet, spec: SplitSpec, suggestion: SplitSuggestion | None = None) -> None:
    """Show what a split means and what its parts hold."""
    x, y = (f"“{name}”" for name in pairs.headings)
    means = _MEANS[spec.by].format(x=x, y=y)
    parts = parts_of(pairs, spec)
    current = (spec.by, spec.group_key)
    if suggestion and not parts.problem and current == (suggestion.by, suggestion.group_key):
        means = f"Suggested. {suggestion.reason}"
    display.quiet(means)
    if parts.problem:
        return
    names = (*pairs.headings, "relevant pairs", "judged not relevant")
    counts = zip(names, *(row[1:] for row in parts.rows), strict=True)
    display.table(
        ["", *(row[0] for row in parts.rows)],
        [[name, *(f"{n:,}" for n in ns)] for name, *ns in counts if any(ns)],
        look="sv-tight sv-parts",
    )
    display.notes(parts.notes)


def choose(content_id: str, pairs: PairSet, current: SplitSpec) -> SplitSpec:
    """Let the split be changed."""
    key = f"data-split-{content_id}"
    finders = {"group": group_columns, "column": part_columns, "time": time_columns}
    columns = {way: find(pairs) for way, find in finders.items()}
    ways = {
        "pair": "pair: both sides new",
        "x": f"x: new items of {pairs.headings[0]}",
        "y": f"y: new items of {pairs.headings[1]}",
        "group": "group: new groups",
        "column": "column: as the data say",
        "time": "time: the latest",
    }
    ways = {way: label for way, label in ways.items() if columns.get(way, True)}
    by = st.selectbox(
        "Split by",
        **forms.options(ways),
        index=list(ways).index(current.by) if current.by in ways else 0,
        key=f"{key}-by",
        help="What must not stand in two parts. Methods learn from the training part; they and "
        "their settings are chosen on the validation part; the verdict is about the test part.",
    )
    group_key = None
    if by in columns:
        names = columns[by]
        at = names.index(current.group_key) if current.group_key in names else 0
        group_key = st.selectbox("Column", names, index=at, key=f"{key}-{by}")
    if by == "column":
        return SplitSpec(by, current.fractions, current.seed, group_key)
    validation, test, seed = st.columns(3, vertical_alignment="bottom")
    percent = [round(100 * share) for share in current.fractions]
    n_valid = validation.number_input("Validation %", 1, 40, percent[1], key=f"{key}-validation")
    n_test = test.number_input("Test %", 1, 50, percent[2], key=f"{key}-test")
    how = {"key": f"{key}-seed", "disabled": by == "time"}
    drawn = seed.number_input("Seed", 0, 2**31 - 1, current.seed, **how)
    n_train = 100 - n_valid - n_test
    display.quiet(f"{n_train} % are for training.")
    return SplitSpec(by, (n_train / 100, n_valid / 100, n_test / 100), int(drawn), group_key)


@state.cached(128)
def parts_of(pairs: PairSet, spec: SplitSpec) -> Parts:
    """Return counts of the parts, or why nothing can be trained on them."""
    relevance = pairs.relevance
    is_full = relevance.positives.nnz == len(pairs.x) * len(pairs.y)
    if is_full and len(set(relevance.matrix.data.tolist())) == 1:  # grades of all could be ranked
        x, y = pairs.headings
        return Parts(
            problem=f"Every item of “{x}” belongs to every item of “{y}”, so that there is "
            "nothing to rank. Upload pairs of which some do not belong together."
        )
    try:
        divided = split(pairs, spec.by, spec.fractions, spec.seed, spec.group_key)
    except DatasetError as error:
        return Parts(problem=str(error))
    parts: dict[str, PairSet] = {name: getattr(divided, name) for name in PARTS}
    rows = tuple(
        (name, *part.shape, part.relevance.positives.nnz, part.relevance.negatives.nnz)
        for name, part in parts.items()
    )
    return Parts(rows, divided.notes)
