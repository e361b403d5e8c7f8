"""The table of results as files: every figure for a spreadsheet, a few for a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING

import streamlit as st

from pages._shared import compare_columns, compare_tests, export_view
from pages._shared.compare_choice import Choice
from pages._shared.compare_columns import Verdicts
from pages._shared.compare_runs import describe_split

if TYPE_CHECKING:
    from simviz.evaluation.tables import TableRow

Cells = Mapping[str, float | str | None]


def show(
    choice: Choice,
    rows: Sequence[TableRow],
    metrics: Sequence[str],
    verdicts: Verdicts | None,
) -> None:
    """Buttons that save the table, with what was tested."""
    st.download_button(
        "Table as CSV",
        lambda: csv_table(choice, rows, metrics, verdicts),
        f"comparison-{choice.part}.csv",
        "text/csv",
        key="compare-csv",
        on_click="ignore",
    )
    st.download_button(
        "Table as LaTeX",
        lambda: latex_table(choice, rows, metrics, verdicts),
        f"comparison-{choice.part}.tex",
        "text/x-tex",
        key="compare-tex",
        on_click="ignore",
    )
    export_view.show(choice, lambda: markdown_table(choice, rows, metrics, verdicts))


def csv_table(
    choice: Choice,
    rows: Sequence[TableRow],
    metrics: Sequence[str],
    verdicts: Verdicts | None,
) -> str:
    """Every figure, for a spreadsheet."""
    from simviz.evaluation.tables import table_csv

    further = [] if verdicts is None else figures(choice, verdicts)
    measured = choice.entries[0].measured
    part: Cells = {"part": choice.part, "x items": measured.n_x, "y items": measured.n_y}
    early = _stopped_early(choice)
    named = []
    for row in _with(rows, further):
        mark = {"stopped early by": choice.part} if row.label in early else {}
        named.append(replace(row, further={**part, **mark, **row.further}))
    return table_csv(named, metrics)


def latex_table(
    choice: Choice,
    rows: Sequence[TableRow],
    metrics: Sequence[str],
    verdicts: Verdicts | None,
) -> str:
    """Tie groups, differences and p-values beside the metrics, for a paper."""
    from simviz.evaluation.tables import table_latex

    further = [] if verdicts is None else few(choice, verdicts)
    return table_latex(_with(rows, further), metrics, caption(choice, verdicts))


def markdown_table(
    choice: Choice,
    rows: Sequence[TableRow],
    metrics: Sequence[str],
    verdicts: Verdicts | None,
) -> str:
    """The same for notes and issues."""
    from simviz.evaluation.markdown_table import table_markdown

    further = [] if verdicts is None else few(choice, verdicts)
    return table_markdown(_with(rows, further), metrics, caption(choice, verdicts))


def figures(choice: Choice, verdicts: Verdicts) -> list[Cells]:
    """All of it in figures, one mapping a run, for files; the verdict on the test part alone."""
    now, found = verdicts.setting, verdicts.found
    letters, base = found.letters(), now.against.label
    told: list[Cells] = []
    for entry, one in zip(choice.entries, compare_columns.against(choice, verdicts), strict=True):
        low, high = compare_tests.interval(choice, entry)
        wins = (None if one is None else compare_columns.outcomes(found, one)) or (
            None,
            None,
            None,
        )
        mean = found.means[found.names.index(now.against.run.id)]
        cells: Cells = {
            "bootstrap 95 % low": _known(low),
            "bootstrap 95 % high": _known(high),
            "ties": letters[entry.run.id],
            f"Δ to {base}": None if one is None else _known(one.difference),
            "Δ 95 % low": None if one is None else _known(one.low),
            "Δ 95 % high": None if one is None else _known(one.high),
            "Δ %": None if one is None or not mean else _known(100 * one.difference / mean),
            "better": wins[0],
            "level": wins[1],
            "worse": wins[2],
            "p": None if one is None else _known(one.p_value),
            "test": None if one is None else compare_columns.test_name(found),
            "effect size": None if one is None else _known(one.effect_size),
        }
        verdict = ("ties", "p", "test") if choice.part == "validation" else ()
        told.append({name: cell for name, cell in cells.items() if name not in verdict})
    return told


def few(choice: Choice, verdicts: Verdicts) -> list[Cells]:
    """Tie groups, differences and p-values, one mapping a run, for a printed table.

    On the validation part the interval of the difference takes the place of the verdict.
    """
    now, found = verdicts.setting, verdicts.found
    delta, letters = f"Δ to {now.against.label}", found.letters()
    told: list[Cells] = []
    for entry, one in zip(choice.entries, compare_columns.against(choice, verdicts), strict=True):
        difference = None if one is None else _known(one.difference)
        if choice.part == "validation":
            bounds = None if one is None else compare_columns.bounds(one)
            told.append({delta: difference, "Δ, 95 %": bounds})
        else:
            p = None if one is None else compare_columns.p_text(one.p_value)
            told.append({"ties": letters[entry.run.id], delta: difference, "p": p})
    return told


def caption(choice: Choice, verdicts: Verdicts | None) -> str:
    """What the printed table shows, and by which test."""
    first = choice.entries[0]
    pool = first.measured.ranked_against(choice.direction, choice.part, choice.pairs)
    split = describe_split(first.run.info.spec["split"], choice.names, choice.part)
    size = f"{first.measured.n_x:,} × {first.measured.n_y:,}"
    arrows = {"x2y": "{} to {}", "y2x": "{1} to {0}", "mean": "mean of {} to {} and back"}
    words = (
        f"{choice.pairs.name}: {arrows[choice.direction].format(*choice.names)}, ± 95 % interval; "
        f"{choice.part} part, {size}: {split}; ranked against {pool}."
    )
    if early := _stopped_early(choice):
        words += f" Stopped early by this part: {', '.join(early)}."
    if verdicts is not None:
        now = verdicts.setting
        tested = f"{compare_tests.tested_metric(choice, now)} against {now.against.label}"
        if choice.part == "validation":
            return f"{words} Δ is of {tested}, with its 95 % interval."
        words += (
            f" Runs that share a letter cannot be told apart at 5 %; Δ and p are of {tested} "
            f"({compare_columns.test_name(verdicts.found)})."
        )
    return words


def _stopped_early(choice: Choice) -> list[str]:
    """Labels of the runs that the part shown flatters: their training watched it."""
    from simviz.jobs import stopped_by_validation

    if choice.part == "test":
        return []
    return [entry.label for entry in choice.entries if stopped_by_validation(entry.run)]


def _with(rows: Sequence[TableRow], cells: Sequence[Cells]) -> list[TableRow]:
    """Rows with further cells; those that are left over have none."""
    known = [replace(row, further=more) for row, more in zip(rows, cells, strict=False)]
    return [*known, *rows[len(known) :]]


def _known(value: float) -> float | None:
    return None if isnan(value) else float(value)
