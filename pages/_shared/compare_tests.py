"""What a test says of the chosen runs, in pairs; kept between reruns."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages._shared import asking, drawings
from pages._shared.compare_choice import Choice
from pages._shared.compare_evaluated import evaluated, evaluation, tested
from pages._shared.compare_setting import ALPHA, Setting, setting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pages._shared.compare_runs import Entry
    from simviz.data.pairs import PairSet
    from simviz.evaluation import (
        Comparison,
        Comparisons,
        Plan,
        QueryValues,
    )
    from simviz.evaluation.differences import Differences
    from simviz.evaluation.groups import Correction
    from simviz.store.run import Part, Run


def compared(choice: Choice, test: str, correction: Correction) -> Comparisons:
    """All pairs of the chosen runs, which go by their ids."""
    from simviz.evaluation import Comparisons, correct
    from simviz.evaluation.intervals import mean

    metric = tested(choice)
    with st.spinner("Testing", show_time=False):
        found = {
            (i, j): _between(choice, choice.entries[i], choice.entries[j], test)
            for i, j in itertools.combinations(range(len(choice.entries)), 2)
        }
        if metric.level == "query":
            means = [mean(values(choice, entry).values) for entry in choice.entries]
        else:
            means = [evaluated(choice, entry).value(metric) for entry in choice.entries]
    ids = tuple(entry.run.id for entry in choice.entries)
    return Comparisons(ids, np.array(means), correct(found, correction), metric.higher_is_better)


def verdict(choice: Choice, a: Entry, b: Entry) -> str:
    """Which of two runs is ahead: by the chosen test on the test part, else by how much."""
    now = setting(choice)
    metric = tested_metric(choice, now)
    higher = tested(choice).higher_is_better
    if choice.part == "validation":
        found = _between(choice, a, b, now.test)
        words = found.lead_in_words(a.label, b.label, metric, higher_is_better=higher)
        return f"On the validation part, {words}."
    found = compared(choice, now.test, now.correction).between(a.run.id, b.run.id)
    return found.in_words(a.label, b.label, metric, higher_is_better=higher) + "."


def tested_metric(choice: Choice, now: Setting) -> str:
    """The name of what is tested."""
    return choice.metric if now.test == "subsets" else tested(choice).name


def power(choice: Choice, found: Comparisons) -> str:
    """How many queries would separate the best neighbours that are level.

    Empty if none are, and where pairs were tested, for which there is no such plan.
    """
    if tested(choice).level != "query":
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

    wanted = asking.sides(choice.direction)
    one, other = (evaluated(choice, entry) for entry in (a, b))
    metric = query_metric(choice.metric)
    return paired_differences(one, other, metric, wanted)  # type: ignore[arg-type]


def values(choice: Choice, entry: Entry) -> QueryValues:
    """What a run did query by query, by the main metric or what stands for it."""
    key = entry.run.id, entry.part, choice.metric, choice.direction
    return _values(*key, entry.run, choice.pairs)


def interval(choice: Choice, entry: Entry) -> tuple[float, float]:
    """95 % bootstrap interval of a run's mean, or of what it does on judged pairs."""
    by_pairs = tested(choice).level != "query"
    key = entry.run.id, entry.part, choice.metric, choice.direction
    return _interval(*key, by_pairs, entry.run, choice.pairs)


@st.cache_resource(show_spinner=False, max_entries=400)
def _values(
    run_id: str, part: Part, metric: str, direction: str, _run: Run, _pairs: PairSet
) -> QueryValues:
    from simviz.evaluation import query_values

    wanted = asking.sides(direction)
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
    if test != "subsets" and tested(choice).level != "query":
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
) -> Plan:
    from simviz.evaluation import queries_needed

    a, b = (_values(run.id, part, metric, direction, run, _pairs) for run in (_a, _b))
    return replace(queries_needed(a.values, b.values, alpha=alpha), unit=a.unit)
