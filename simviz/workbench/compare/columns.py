"""Columns of the table of results, and the tests behind them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import streamlit as st

from simviz.reports.summary import Entry
from simviz.store.results import stopped_by_validation
from simviz.workbench.compare import columns
from simviz.workbench.compare.choice import (
    ALPHA,
    Choice,
    Setting,
    evaluated_runs,
    evaluation,
    setting,
    tested_runs,
    tested_runs as what_is_tested,
)
from simviz.workbench.shell import drawings, settings
from simviz.workbench.shell.marks import mark

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.reports.summary import Entry
    from simviz.store.run import Part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from simviz.data.pairs import PairSet
    from simviz.evaluation import Comparison, Comparisons, Metric, PowerAnalysis, QueryValues
    from simviz.evaluation.comparisons import Correction
    from simviz.evaluation.differences import Differences
    from simviz.evaluation.tables import TableRow
    from simviz.store.run import Part, Run


def compared(choice: Choice, test: str, correction: Correction) -> Comparisons:
    """All pairs of the chosen runs, which go by their ids."""
    from simviz.evaluation import Comparisons, correct
    from simviz.evaluation.significance import mean

    metric = tested_runs(choice)
    with st.spinner("Testing", show_time=False):
        found = {
            (i, j): _between(choice, choice.entries[i], choice.entries[j], test)
            for i, j in itertools.combinations(range(len(choice.entries)), 2)
        }
        if metric.level == "query":
            means = [mean(values(choice, entry).values) for entry in choice.entries]
        else:
            means = [evaluated_runs(choice, entry).value(metric) for entry in choice.entries]
    ids = tuple(entry.run.id for entry in choice.entries)
    return Comparisons(ids, np.array(means), correct(found, correction), metric.higher_is_better)


def verdict(choice: Choice, a: Entry, b: Entry) -> str:
    """Which of two runs is ahead: by the chosen test on the test part, else by how much."""
    now = setting(choice)
    metric = metric_under_test(choice, now)
    higher = tested_runs(choice).higher_is_better
    if choice.part == "validation":
        found = _between(choice, a, b, now.test)
        words = found.lead_in_words(a.label, b.label, metric, higher_is_better=higher)
        return f"On the validation part, {words}."
    found = compared(choice, now.test, now.correction).between(a.run.id, b.run.id)
    return found.in_words(a.label, b.label, metric, higher_is_better=higher) + "."


def metric_under_test(choice: Choice, now: Setting) -> str:
    """The name of what is tested."""
    return choice.metric if now.test == "subsets" else tested_runs(choice).name


def power(choice: Choice, found: Comparisons) -> str:
    """How many queries would separate the best neighbours that are level."""
    # Empty if none are, and where pairs were tested, for which there is no such plan.
    if tested_runs(choice).level != "query":
        return ""
    order = found.order()
    by_id = {entry.run.id: entry for entry in choice.entries}
    for better, worse in itertools.pairwise(order):
        a, b = (by_id[found.names[i]] for i in (better, worse))
        if not found.between(a.run.id, b.run.id).p_value > ALPHA:
            continue
        alpha = ALPHA / len(found.pairs)
        keys = a.run.id, b.run.id, choice.part, choice.metric, choice.direction
        plan = _plan(*keys, alpha, a.run, b.run, choice.pairs)
        if not plan.separated:
            words = plan.in_words(a.label, b.label)
            name = values(choice, a).metric.name
            words = (
                words[0].upper() + words[1:] if name == choice.metric else f"By {name}, {words}"
            )
            return f"{words}."
    return ""


def differences(choice: Choice, a: Entry, b: Entry) -> Differences:
    """Two runs query by query, by the main metric or what stands for it."""
    from simviz.evaluation.differences import paired_differences, query_metric

    wanted = settings.asking_sides(choice.direction)
    one, other = (evaluated_runs(choice, entry) for entry in (a, b))
    metric = query_metric(choice.metric)
    return paired_differences(one, other, metric, wanted)  # type: ignore[arg-type]


def values(choice: Choice, entry: Entry) -> QueryValues:
    """What a run did query by query, by the main metric or what stands for it."""
    key = entry.run.id, entry.part, choice.metric, choice.direction
    return _values(*key, entry.run, choice.pairs)


def interval(choice: Choice, entry: Entry) -> tuple[float, float]:
    """95 % bootstrap interval of a run's mean, or of what it does on judged pairs."""
    by_pairs = tested_runs(choice).level != "query"
    key = entry.run.id, entry.part, choice.metric, choice.direction
    return _interval(*key, by_pairs, entry.run, choice.pairs)


@st.cache_resource(show_spinner=False, max_entries=400)
def _values(
    run_id: str, part: Part, metric: str, direction: str, _run: Run, _pairs: PairSet
) -> QueryValues:
    from simviz.evaluation import query_values

    wanted = settings.asking_sides(direction)
    found = evaluation(run_id, part, _run, _pairs)
    return query_values(found, metric, wanted)  # type: ignore[arg-type]


@st.cache_resource(show_spinner=False, max_entries=400)
def _interval(
    run_id: str,
    part: Part,
    metric: str,
    direction: str,
    by_pairs: bool,
    _run: Run,
    _pairs: PairSet,
) -> tuple[float, float]:
    from simviz.evaluation import confidence_interval, judged_pairs, parse_metric
    from simviz.evaluation.pair_tests import interval_of_pairs

    if by_pairs and (known := judged_pairs(evaluation(run_id, part, _run, _pairs))) is not None:
        return interval_of_pairs(known, parse_metric(metric))
    return confidence_interval(_values(run_id, part, metric, direction, _run, _pairs).values)


def _between(choice: Choice, a: Entry, b: Entry, test: str) -> Comparison:
    """Two runs in either order: tested once, kept for both."""
    first, second = sorted((a, b), key=lambda entry: entry.run.id)
    if test != "subsets" and tested_runs(choice).level != "query":
        runs = {entry.run.id: entry.run for entry in choice.entries}
        ids = tuple(sorted(runs))
        every = _found_by_pairs(ids, choice.part, choice.metric, test, runs, choice.pairs)
        by_pairs = every.between(first.run.id, second.run.id)
        return by_pairs if first is a else by_pairs.swapped()
    found = _found(
        first.run.id,
        second.run.id,
        choice.part,
        choice.metric,
        choice.direction,
        test,
        first.run,
        second.run,
        choice.pairs,
    )
    return found if first is a else found.swapped()


@st.cache_resource(show_spinner=False, max_entries=200)
def _found_by_pairs(
    ids: tuple[str, ...],
    part: Part,
    metric: str,
    test: str,
    _runs: Mapping[str, Run],
    _pairs: PairSet,
) -> Comparisons:
    """What a test says of the judged pairs of runs, all drawn alike; not corrected."""
    from simviz.evaluation import compare_all_evaluations

    # Pairs are the same whichever side asks.
    evaluations = {run_id: evaluation(run_id, part, _runs[run_id], _pairs) for run_id in ids}
    return compare_all_evaluations(evaluations, metric, test=test, correction="none")


@st.cache_resource(show_spinner=False, max_entries=4_000)
def _found(
    a_id: str,
    b_id: str,
    part: Part,
    metric: str,
    direction: str,
    test: str,
    _a: Run,
    _b: Run,
    _pairs: PairSet,
) -> Comparison:
    """What a test says of two runs, not corrected; runs never change."""
    from simviz.evaluation import compare

    if test == "subsets":
        return _of_subsets(part, metric, _a, _b, _pairs)
    a, b = (_values(run.id, part, metric, direction, run, _pairs) for run in (_a, _b))
    return replace(compare(a.values, b.values, test), unit=a.unit)


def _of_subsets(name: Part, metric: str, a: Run, b: Run, pairs: PairSet) -> Comparison:
    """The pooled AUC, or the rank loss, of 50 subsets of a part's pairs."""
    from simviz.evaluation import parse_metric, partitioned_auc_t

    part = held_out(a.id, name, a, pairs)
    relevant = part.relevance.positives.toarray() != 0
    judged = np.ones(part.shape, dtype=bool)
    if part.relevance.unjudged == "ignore":
        at = part.relevance.matrix.tocoo()
        judged[:] = False
        judged[at.row, at.col] = True
    query = np.nonzero(judged)[0]
    n_subsets = min(50, len(np.unique(query)) // 2)
    one, other = (_scores(run.id, name, run, part)[judged] for run in (a, b))
    found = partitioned_auc_t(one, other, relevant[judged], query=query, n_subsets=n_subsets)
    return found if parse_metric(metric).higher_is_better else found.swapped()


@st.cache_resource(show_spinner=False, max_entries=8)
def _scores(run_id: str, part: Part, _run: Run, _pairs: PairSet) -> NDArray[np.floating[Any]]:
    return drawings.pipeline(run_id, _run).similarity(_pairs.x, _pairs.y)


@st.cache_resource(show_spinner=False, max_entries=16)
def held_out(run_id: str, part: Part, _run: Run, _pairs: PairSet) -> PairSet:
    """A part of the split of a run."""
    arrays = _run.arrays()
    return _pairs.take(arrays[f"x_{part}"], arrays[f"y_{part}"])


@st.cache_resource(show_spinner=False, max_entries=400)
def _plan(
    a_id: str,
    b_id: str,
    part: Part,
    metric: str,
    direction: str,
    alpha: float,
    _a: Run,
    _b: Run,
    _pairs: PairSet,
) -> PowerAnalysis:
    from simviz.evaluation import power_analysis

    a, b = (_values(run.id, part, metric, direction, run, _pairs) for run in (_a, _b))
    return replace(power_analysis(a.values, b.values, alpha=alpha), unit=a.unit)


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
    """A column of the table."""

    head: str
    hover: str
    cells: Sequence[str]


class Verdicts(NamedTuple):
    """What the chosen test found, and what stands beside it."""

    setting: Setting
    found: Comparisons
    beside: Comparisons | None


def draw_columns(
    rows: Sequence[TableRow], entries: Sequence[Entry], columns: Sequence[Column]
) -> None:
    """Draw a table of runs, then of what knows nothing, in grey."""
    # On the validation part a dagger marks the runs that stopped by it.
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


def metric_column(rows: Sequence[TableRow], name: str) -> Column:
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


def dimensions_column(rows: Sequence[TableRow]) -> Column:
    """How many dimensions each model has."""
    cells = [_NOTHING if row.dimensions is None else f"{row.dimensions:,}" for row in rows]
    return Column("dimensions", "", cells)


def time_column(rows: Sequence[TableRow]) -> Column:
    """How long each run took."""
    cells = [_NOTHING if row.seconds is None else f"{row.seconds:.1f} s" for row in rows]
    return Column("time", "To train, measure and draw", cells)


def tested_column(choice: Choice, verdicts: Verdicts, *, everything: bool) -> list[Column]:
    """What tests found: tie groups, differences and p-values; more of it where asked."""
    from simviz.charts.style import clean_text

    now, found = verdicts.setting, verdicts.found
    lines = against(choice, verdicts)
    name = metric_under_test(choice, now)
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
        [_NOTHING if one is None else signed_number(one.difference) for one in lines],
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
    intervals = [interval(choice, entry) for entry in choice.entries]
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
    from simviz.evaluation.significance import plural

    return plural(next(iter(found.pairs.values())).unit, 2)


def signed_number(value: float) -> str:
    """Three decimals and a sign."""
    if isnan(value):
        return _NOTHING
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text.replace("-", "−")


def bounds(one: Comparison) -> str:
    """The interval of a difference."""
    return _NOTHING if isnan(one.low) else f"{signed_number(one.low)} to {signed_number(one.high)}"


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


def part_of(entry: Entry, pairs: PairSet, part: Part | None = None) -> PairSet:
    """The part of a run's split that figures are of, or another one."""
    return columns.held_out(entry.run.id, part or entry.part, entry.run, pairs)
