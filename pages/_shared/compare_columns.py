"""Columns of the table of results: metrics, and what a test found about each run."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import isnan
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from pages._shared import compare_tests
from pages._shared.compare_choice import Choice
from pages._shared.compare_evaluated import tested as what_is_tested
from pages._shared.compare_marks import mark
from pages._shared.compare_setting import Setting
from simviz.jobs.stopping import stopped_by_validation

if TYPE_CHECKING:
    from pages._shared.compare_runs import Entry
    from simviz.evaluation import Comparison, Comparisons, Metric
    from simviz.evaluation.tables import TableRow

_STYLE = """
<style>
.sv-mark { display: inline-block; width: 20px; height: 10px; margin-right: .5rem;
  background-repeat: no-repeat; }
.sv-table th[title], .sv-table td[title] { cursor: help; }
.sv-scroll { scrollbar-width: thin; }
.sv-table th { white-space: nowrap; }
</style>
"""
_NOTHING = "–"
_LONGEST = 16  # characters of a run's name in a heading


class Column(NamedTuple):
    """A column of the table.

    Parameters
    ----------
    head : str
        Its heading; text.
    hover : str
        What it means; text, empty where it goes without saying.
    cells : sequence of str
        One a row, from the first; HTML. Rows without one show a dash.
    """

    head: str
    hover: str
    cells: Sequence[str]


class Verdicts(NamedTuple):
    """What the chosen test found, and what stands beside it.

    Parameters
    ----------
    setting : Setting
        How runs are told apart.
    found : Comparisons
        By the chosen test.
    beside : Comparisons or None
        By paired randomisation, where the papers' test was chosen.
    """

    setting: Setting
    found: Comparisons
    beside: Comparisons | None


def draw(rows: Sequence[TableRow], entries: Sequence[Entry], columns: Sequence[Column]) -> None:
    """Draw a table of runs, then of what knows nothing, in grey.

    On the validation part a dagger marks the runs that stopped by it.

    Parameters
    ----------
    rows : sequence of TableRow
        Runs first.
    entries : sequence of Entry
        The runs, one a row.
    columns : sequence of Column
        Beside the name of the row.
    """
    marks = "".join(
        f".sv-run-{i} {{ background-image: {mark(entry.look)}; }}"
        for i, entry in enumerate(entries)
    )
    head = "".join(
        f'<th title="{escape(column.hover)}">{escape(column.head)}</th>'
        if column.hover
        else f"<th>{escape(column.head)}</th>"
        for column in columns
    )
    lines = []
    stopped = [
        entry.part == "validation" and stopped_by_validation(entry.run) for entry in entries
    ]
    for i, row in enumerate(rows):
        name = escape(row.label)
        if not row.is_baseline:
            name = f'<span class="sv-mark sv-run-{i}"></span>{name}{"†" * stopped[i]}'
        cells = "".join(
            f"<td>{column.cells[i] if i < len(column.cells) else _NOTHING}</td>"
            for column in columns
        )
        lines.append(
            f"<tr{' class=sv-base' if row.is_baseline else ''}><td>{name}</td>{cells}</tr>"
        )
    st.html(
        f'{_STYLE}<style>{marks}</style><div class="sv-scroll" tabindex="0">'
        f'<table class="sv-table"><thead><tr><th>method</th>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )
    if any(stopped):
        st.caption("† Stopped training by this part, so that its figures here flatter it.")


def metric(rows: Sequence[TableRow], name: str) -> Column:
    """A metric with its interval; the best is bold."""
    from simviz.evaluation.metrics import parse_metric
    from simviz.evaluation.tables import best_values

    best = best_values(rows, [name]).get(name)
    cells = []
    for row in rows:
        value, reach = row.values[name]
        shown = _NOTHING if isnan(value) else f"{value:.3f}"
        if value == best and not row.is_baseline:
            shown = f"<span class=sv-best>{shown}</span>"
        if not isnan(reach) and not row.is_baseline:
            shown += f' <span class="sv-se">±{reach:.3f}</span>'
        cells.append(shown)
    return Column(name, parse_metric(name).description, cells)


def dimensions(rows: Sequence[TableRow]) -> Column:
    """How many dimensions each model has."""
    cells = [_NOTHING if row.dimensions is None else f"{row.dimensions:,}" for row in rows]
    return Column("dimensions", "", cells)


def time(rows: Sequence[TableRow]) -> Column:
    """How long each run took."""
    cells = [_NOTHING if row.seconds is None else f"{row.seconds:.1f} s" for row in rows]
    return Column("time", "To train, measure and draw", cells)


def tested(choice: Choice, verdicts: Verdicts, *, everything: bool) -> list[Column]:
    """What tests found: tie groups, differences and p-values; more of it where asked."""
    from simviz.charts.text import clean_text

    now, found = verdicts.setting, verdicts.found
    lines = against(choice, verdicts)
    name = compare_tests.tested_metric(choice, now)
    test = test_name(found)
    letters = found.letters()
    ties = Column(
        "ties",
        f"Runs that share a letter cannot be told apart at 5 %: {test}.",
        [escape(letters[entry.run.id]) for entry in choice.entries],
    )
    delta = Column(
        f"Δ to {clean_text(now.against.label, _LONGEST)}",
        f"{name} minus that of {now.against.label}, on the same queries.",
        [_NOTHING if one is None else signed(one.difference) for one in lines],
    )
    p = Column(f"p, {now.short}", f"Against {now.against.label}: {test}.", [_p(x) for x in lines])
    if choice.part == "validation":
        return [delta, _interval_of(now, found, lines)]
    marks = [p]
    if verdicts.beside is not None:
        others = against(choice, verdicts._replace(found=verdicts.beside))
        hover = test_name(verdicts.beside)
        short = "bootstrap" if by_pairs(verdicts.beside) else "randomisation"
        marks.append(Column(f"p, {short}", f"The better test: {hover}.", [_p(x) for x in others]))
    if not everything:
        return [ties, delta, *marks]
    intervals = [compare_tests.interval(choice, entry) for entry in choice.entries]
    base = found.means[found.names.index(now.against.run.id)]
    columns = [
        Column(
            "bootstrap 95\N{NO-BREAK SPACE}%",
            _of_others(what_is_tested(choice)),
            [_NOTHING if isnan(low) else f"{low:.3f} to {high:.3f}" for low, high in intervals],
        ),
        ties,
        delta,
        _interval_of(now, found, lines),
        Column(
            "Δ %",
            f"The difference as a share of {now.against.label}'s mean.",
            [_NOTHING if one is None else _percent(one.difference, base) for one in lines],
        ),
        Column(
            "better / level / worse",
            f"{plural_of(found)} on which the run does better than {now.against.label}, as well, "
            "and worse.",
            [_counts(found, one) for one in lines],
        ),
        *marks,
    ]
    paired = next(iter(found.pairs.values())).outcomes is not None
    columns.append(
        Column(
            "effect",
            "Difference in standard deviations "
            + (
                "of one item's draw, "
                if by_pairs(found)
                else "of the paired differences (d_z), "
                if paired
                else "of the values, "
            )
            + "corrected for small samples (Hedges).",
            [_effect(one) for one in lines],
        )
    )
    return columns


def _of_others(metric: Metric) -> str:
    """What a run's own interval is of."""
    what, drawn = f"Where the mean {metric.name} of other such queries", "the queries"
    if metric.level != "query":
        what, drawn = f"Where {metric.name} of other such judged pairs", "the items"
    return f"{what} lies: from 2,000 draws of {drawn}."


def by_pairs(found: Comparisons) -> bool:
    """Whether judged pairs were tested."""
    from simviz.evaluation.pair_tests import UNIT

    return next(iter(found.pairs.values())).unit == UNIT


def _interval_of(now: Setting, found: Comparisons, lines: Sequence[Comparison | None]) -> Column:
    kind = "BCa" if now.test == "bootstrap" else "Student"
    if by_pairs(found):
        kind = "normal" if now.test == "delong" else "Student"
    cells = [_NOTHING if one is None else bounds(one) for one in lines]
    return Column("Δ, 95 %", f"Interval of the difference: {kind}.", cells)


def against(choice: Choice, verdicts: Verdicts) -> list[Comparison | None]:
    """Each run against the chosen one; None for that one itself."""
    base = verdicts.setting.against.run.id
    return [
        None if entry.run.id == base else verdicts.found.between(entry.run.id, base)
        for entry in choice.entries
    ]


def test_name(found: Comparisons) -> str:
    """The test in full, with its correction and what it counted."""
    one = next(iter(found.pairs.values()))
    corrected = f", {one.correction}" if one.correction else ", not corrected"
    if len(found.pairs) == 1:
        corrected = ""
    return f"{one.test}, two-sided{corrected}, {one.n:,} {plural_of(found)}"


def plural_of(found: Comparisons) -> str:
    """What was counted."""
    from simviz.evaluation.verdict import plural

    return plural(next(iter(found.pairs.values())).unit, 2)


def signed(value: float) -> str:
    """Three decimals and a sign."""
    if isnan(value):
        return _NOTHING
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text.replace("-", "−")


def bounds(one: Comparison) -> str:
    """The interval of a difference."""
    return _NOTHING if isnan(one.low) else f"{signed(one.low)} to {signed(one.high)}"


def p_text(p: float) -> str:
    """A p-value as the verdict says it: three decimals, or that it is smaller."""
    if isnan(p):
        return _NOTHING
    if p < 0.001:
        return "<0.001"
    return f"{p:.3f}" if p < 0.9995 else "1"


def outcomes(found: Comparisons, one: Comparison) -> tuple[int, int, int] | None:
    """Queries on which the first run does better, as well, and worse."""
    if one.outcomes is None or found.higher_is_better:
        return one.outcomes
    return one.outcomes[::-1]


def _p(one: Comparison | None) -> str:
    if one is None:
        return _NOTHING
    shown = escape(p_text(one.p_value))
    return f"<span class=sv-best>{shown}</span>" if one.is_significant() else shown


def _percent(difference: float, base: float) -> str:
    if not base or isnan(difference):
        return _NOTHING
    text = f"{100 * difference / base:+.1f}"
    return f"{'0.0' if float(text) == 0 else text.replace('-', '−')} %"


def _counts(found: Comparisons, one: Comparison | None) -> str:
    counts = None if one is None else outcomes(found, one)
    return _NOTHING if counts is None else " / ".join(f"{n:,}" for n in counts)


def _effect(one: Comparison | None) -> str:
    if one is None or isnan(one.effect_size):
        return _NOTHING
    return f"{one.effect_size:+.2f}".replace("-", "−").replace("inf", "∞")
