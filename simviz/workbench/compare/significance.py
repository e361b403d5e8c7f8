"""Which of the chosen runs is better: the test that was chosen, and what it finds."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from simviz.data.pairs import PairSet
from simviz.evaluation import (
    AUC,
    Comparison,
    Comparisons,
    JudgedPairs,
    Metric,
    PowerAnalysis,
    QueryValues,
    apply_correction,
    compare_all_evaluations,
    compared_metric,
    confidence_interval,
    judged_pairs,
    paired_test,
    parse_metric,
    partitioned_auc_t,
    power_analysis,
    query_values,
)
from simviz.evaluation.comparisons import Correction, published_protocol
from simviz.evaluation.differences import Differences, paired_differences, query_metric
from simviz.evaluation.judged_pair_tests import UNIT, interval_of_pairs
from simviz.evaluation.significance import describe_p, mean, plural
from simviz.reports.run_summary import RunEntry, RunTable, is_base
from simviz.store.run import Run
from simviz.workbench.compare.choice import part_of
from simviz.workbench.shell import display, drawings, forms, preferences, query_params, state

#: Tests of queries by what the link calls them: on the control, and what each does.
TESTS = {
    "randomization": (
        "Paired randomisation",
        "Swaps the two runs on queries at random. Makes few assumptions.",
    ),
    "t": ("Paired t", "Trusts that the mean difference is about normal."),
    "bootstrap": (
        "Paired bootstrap",
        "Draws the queries again; its interval follows skewed differences.",
    ),
    "wilcoxon": ("Wilcoxon signed-rank", "Ranks the differences. It does not test the mean."),
    "published": (
        "As in the papers",
        "The test that published tables of this metric rest on, a better one beside it.",
    ),
}
#: The same where judged pairs are tested.
_PAIR_TESTS = {
    "bootstrap": (
        "Bootstrap over items",
        "Draws items again, each with all of its judged pairs; all runs see the same draws.",
    ),
    "delong": (
        "DeLong",
        "Takes judged pairs for independent, as they are where no item is in two of them. "
        "A check of the bootstrap.",
    ),
    "published": TESTS["published"],
}
#: Tests in the heading of a column.
SHORT = {
    "delong": "DeLong",
    "randomization": "randomisation",
    "t": "paired t",
    "bootstrap": "bootstrap",
    "wilcoxon": "Wilcoxon",
    "unpaired t": "unpaired t",
    "subsets": "t of subsets",
}
_CORRECTIONS = {"holm": "Holm", "bonferroni": "Bonferroni", "none": "None"}
#: Fewest queries that are divided into 50 subsets, and most scores that are kept to do so.
_FEWEST_QUERIES, _MAX_SCORES = 100, 2_000_000
#: Highest p-value that tells two runs apart.
_ALPHA = 0.05


class Setting(NamedTuple):
    """How runs are told apart."""

    test_key: str
    test: str
    correction: Correction
    against: RunEntry
    caution: str = ""


class TestResults(NamedTuple):
    """What the chosen test found, and what stands beside it."""

    setting: Setting
    comparisons: Comparisons
    stricter: Comparisons | None


# -- the controls ---------------------------------------------------------------------


def current_setting(table: RunTable) -> Setting:
    """What was chosen, or the usual; readable before the controls are drawn."""
    # The best run that learns nothing from pairs; else the last in the table.
    base = next((e for e in table.entries if is_base(e.run.info.method)), None)
    default_run = (base or table.entries[-1]).run.id
    against = st.session_state.get("compare-against")
    unchosen = base and default_run != against == st.session_state.get("compare-usual")
    if unchosen or against not in table.by_id:
        against = st.session_state["compare-against"] = default_run
    if against == default_run:
        st.session_state["compare-usual"] = default_run
    tests = _offered(table)
    key, default_test = _test_key(tests), next(iter(tests))
    if st.session_state.get(key) not in tests:
        st.session_state[key] = default_test
    if st.session_state.get("compare-correction") not in _CORRECTIONS:
        st.session_state["compare-correction"] = "holm"
    test, correction = st.session_state[key], st.session_state["compare-correction"]
    query_params.put(test=test, correction=correction, against=against)
    against = table.by_id[against]
    if test != "published":
        return Setting(test, test, correction, against)
    protocol = published_protocol(table.metric)
    on = table.entries[0].measured
    fits = on.n_x >= _FEWEST_QUERIES and on.n_x * on.n_y <= _MAX_SCORES
    if protocol.test == "subsets" and not fits:
        size = "few" if on.n_x < _FEWEST_QUERIES else "many"
        caution = (
            f"The {table.part} part has too {size} pairs to divide them into 50 subsets here."
        )
        instead = "bootstrap" if default_test == "bootstrap" else "t"
        return Setting(test, instead, "none", against, caution)
    return Setting(test, protocol.test, protocol.correction, against, protocol.caution)


def choose_test(table: RunTable, now: Setting) -> None:
    """The controls: against which run, by which test."""
    with st.popover("Baseline", key="compare-baseline"):
        labels = {entry.run.id: entry.label for entry in table.entries}
        st.selectbox("Compare with", **forms.session_options(labels, "compare-against"))
        if table.part == "validation":  # a test belongs to the test part
            return
        tests = _offered(table)
        titles = {name: title for name, (title, _) in tests.items()}
        st.selectbox(
            "Which test tells two runs apart", **forms.session_options(titles, _test_key(tests))
        )
        text, pairs = tests[now.test_key][1], _judged_pairs(table)
        if pairs is not None and pairs.units != ("pairs",):
            text += " DeLong's test is not offered: items are in several pairs, which it ignores."
        st.caption(text)
        st.radio(
            "Multiple-comparison correction",
            **forms.session_options(_CORRECTIONS, "compare-correction"),
            horizontal=True,
            disabled=now.test_key == "published",
            help="Among twenty comparisons of equal runs one shows p below 0.05 by luck. Holm and "
            "Bonferroni keep the risk of any false mark at 5 %; Holm finds more.",
        )


def _offered(table: RunTable) -> Mapping[str, tuple[str, str]]:
    """The tests that there are for the metric, by what the link calls them; the usual first."""
    pairs = _judged_pairs(table)
    if pairs is None:
        return TESTS
    tests = dict(_PAIR_TESTS)
    if not isinstance(parse_metric(table.metric), AUC) or pairs.units != ("pairs",):
        del tests["delong"]
    if published_protocol(table.metric).test != "subsets":
        del tests["published"]
    return tests


def _test_key(tests: Mapping[str, tuple[str, str]]) -> str:
    """Names the control: a test of pairs says nothing of one of queries."""
    return "compare-test" if tests is TESTS else "compare-pair-test"


# -- what is tested -------------------------------------------------------------------


def tested_metric(table: RunTable) -> Metric:
    """What tests compare: the main metric of judged pairs, or what stands for it by query."""
    return _tested_metric(table, table.entries)


@state.cached(400)
def _tested_metric(table: RunTable, entries: Sequence[RunEntry]) -> Metric:
    return compared_metric([one.evaluation for one in entries], table.metric)


def is_by_query(table: RunTable) -> bool:
    """Whether queries are compared rather than judged pairs."""
    return tested_metric(table).level == "query"


def tested_name(table: RunTable, now: Setting) -> str:
    """The name of what is tested."""
    return table.metric if now.test == "subsets" else tested_metric(table).name


@state.cached(400)
def values(table: RunTable, entry: RunEntry) -> QueryValues:
    """What a run did query by query, by the main metric or what stands for it."""
    sides = preferences.query_sides(table.direction)
    return query_values(entry.evaluation, table.metric, sides)


def _judged_pairs(table: RunTable) -> JudgedPairs | None:
    """The pairs that tests draw again; None where queries are compared."""
    return None if is_by_query(table) else judged_pairs(table.entries[0].evaluation)


# -- what is found --------------------------------------------------------------------


def test_results(table: RunTable, now: Setting) -> TestResults:
    """What the chosen test found, and a better one beside one of the papers."""
    published = now.test_key == "published"
    stricter = compare_all(table, "randomization", "holm") if published else None
    return TestResults(now, compare_all(table, now.test, now.correction), stricter)


def compare_all(table: RunTable, test: str, correction: Correction) -> Comparisons:
    """All pairs of the chosen runs, which go by their ids."""
    # In an order of their own, so that they are tested once whichever is best.
    entries = sorted(table.entries, key=lambda entry: entry.run.id)
    with st.spinner("Testing", show_time=False):
        return _compare_all(table, entries, test, correction)


@state.cached(100)
def _compare_all(
    table: RunTable, entries: Sequence[RunEntry], test: str, correction: Correction
) -> Comparisons:
    metric = tested_metric(table)
    pairs = {
        (i, j): _compare(table, entries[i], entries[j], test)
        for i, j in itertools.combinations(range(len(entries)), 2)
    }
    if metric.level == "query":
        means = [mean(values(table, entry).values) for entry in entries]
    else:
        means = [entry.evaluation.value(metric) for entry in entries]
    ids, corrected = tuple(e.run.id for e in entries), apply_correction(pairs, correction)
    return Comparisons(ids, np.array(means), corrected, metric.higher_is_better)


def against(table: RunTable, results: TestResults) -> list[Comparison | None]:
    """Each run against the chosen one; None for that one itself."""
    base = results.setting.against.run.id
    return [
        None if entry.run.id == base else results.comparisons.between(entry.run.id, base)
        for entry in table.entries
    ]


def power(table: RunTable, comparisons: Comparisons) -> str:
    """How many queries would separate the best neighbours that are level."""
    # Empty if none are, and where pairs were tested, for which there is no such plan.
    if not is_by_query(table):
        return ""
    by_id, alpha = table.by_id, _ALPHA / len(comparisons.pairs)
    ordered = [by_id[comparisons.names[i]] for i in comparisons.order()]
    for a, b in itertools.pairwise(ordered):
        if not comparisons.between(a.run.id, b.run.id).p_value > _ALPHA:
            continue
        plan = _plan(table, a, b, alpha)
        if not plan.separated:
            text, name = plan.describe(a.label, b.label), values(table, a).metric.name
            text = text[0].upper() + text[1:] if name == table.metric else f"By {name}, {text}"
            return f"{text}."
    return ""


def differences(table: RunTable, a: RunEntry, b: RunEntry) -> Differences:
    """Two runs query by query, by the main metric or what stands for it."""
    metric, sides = query_metric(table.metric), preferences.query_sides(table.direction)
    return paired_differences(a.evaluation, b.evaluation, metric, sides)


def interval(table: RunTable, entry: RunEntry) -> tuple[float, float]:
    """95 % bootstrap interval of a run's mean, or of what it does on judged pairs."""
    return _interval(table, entry, is_by_query(table))


@state.cached(400)
def _interval(table: RunTable, entry: RunEntry, by_query: bool) -> tuple[float, float]:
    pairs = None if by_query else judged_pairs(entry.evaluation)
    if pairs is not None:
        return interval_of_pairs(pairs, parse_metric(table.metric))
    return confidence_interval(values(table, entry).values)


def is_by_pairs(comparisons: Comparisons) -> bool:
    """Whether judged pairs were tested."""
    return next(iter(comparisons.pairs.values())).unit == UNIT


def test_name(comparisons: Comparisons) -> str:
    """The test in full, with its correction and what it counted."""
    one = next(iter(comparisons.pairs.values()))
    corrected = f", {one.correction or 'not corrected'}" if len(comparisons.pairs) > 1 else ""
    return f"{one.test}, two-sided{corrected}, {one.n:,} {counted(comparisons)}"


def counted(comparisons: Comparisons) -> str:
    """What was counted, as a plural."""
    return plural(next(iter(comparisons.pairs.values())).unit, 2)


def outcomes(comparisons: Comparisons, one: Comparison) -> tuple[int, int, int] | None:
    """Queries on which the first run does better, as well, and worse."""
    if one.outcomes is None or comparisons.higher_is_better:
        return one.outcomes
    return one.outcomes[::-1]


def interval_text(one: Comparison) -> str:
    """The interval of a difference."""
    return "–" if isnan(one.low) else f"{display.signed(one.low)} to {display.signed(one.high)}"


def p_text(p: float) -> str:
    """A p-value as the verdict says it, for a cell."""
    return "–" if isnan(p) else re.sub("[p= ]", "", describe_p(p))


def _compare(table: RunTable, a: RunEntry, b: RunEntry, test: str) -> Comparison:
    """Two runs in the order of their ids, tested once; not corrected."""
    if test == "subsets":
        return _compare_subsets(table, a, b)
    if is_by_query(table):
        return _compare_queries(table, a, b, test)
    entries = sorted(table.entries, key=lambda entry: entry.run.id)
    every = _compare_pairs(entries, table.metric, test, table.pairs)
    return every.between(a.run.id, b.run.id)


@state.cached(4_000)
def _compare_queries(table: RunTable, a: RunEntry, b: RunEntry, test: str) -> Comparison:
    one, other = values(table, a), values(table, b)
    return replace(paired_test(one.values, other.values, test), unit=one.unit)


@state.cached(200)
def _compare_pairs(
    entries: Sequence[RunEntry], metric: str, test: str, pairs: PairSet
) -> Comparisons:
    """What a test says of the judged pairs of runs, all drawn alike, whichever side asks."""
    evaluations = {entry.run.id: entry.evaluation for entry in entries}
    return compare_all_evaluations(evaluations, metric, test=test, correction="none")


@state.cached(400)
def _compare_subsets(table: RunTable, a: RunEntry, b: RunEntry) -> Comparison:
    """The pooled AUC, or the rank loss, of 50 subsets of a part's pairs."""
    part = part_of(a, table.pairs)
    relevant = part.relevance.positives.toarray() != 0
    judged = np.ones(part.shape, dtype=bool)
    if part.relevance.unjudged == "ignore":
        at = part.relevance.matrix.tocoo()
        judged[:] = False
        judged[at.row, at.col] = True
    query = np.nonzero(judged)[0]
    n_subsets = min(50, len(np.unique(query)) // 2)
    one, other = (_scores(entry.run, part)[judged] for entry in (a, b))
    comparison = partitioned_auc_t(one, other, relevant[judged], query=query, n_subsets=n_subsets)
    return comparison if parse_metric(table.metric).higher_is_better else comparison.swapped()


@state.cached(8)
def _scores(run: Run, part: PairSet) -> NDArray[np.floating[Any]]:
    return drawings.pipeline(run).similarity(part.x, part.y)


@state.cached(400)
def _plan(table: RunTable, a: RunEntry, b: RunEntry, alpha: float) -> PowerAnalysis:
    one, other = values(table, a), values(table, b)
    return replace(power_analysis(one.values, other.values, alpha=alpha), unit=one.unit)
