"""What the chosen runs are compared by: their evaluations, kept, and what can be tested."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages._shared.compare_choice import Choice

if TYPE_CHECKING:
    from pages._shared.compare_runs import Entry
    from simviz.data.pairs import PairSet
    from simviz.evaluation import Evaluation, JudgedPairs, Metric
    from simviz.store.run import Part, Run


def tested(choice: Choice) -> Metric:
    """What tests compare: the main metric of judged pairs, or what stands for it by query."""
    from simviz.evaluation.differences import query_metric

    metrics = {
        _compared_metric(entry.run.id, entry.part, choice.metric, entry.run, choice.pairs)
        for entry in choice.entries
    }
    # One run whose scores are not to be had makes all stand back.
    return metrics.pop() if len(metrics) == 1 else query_metric(choice.metric)


def judged(choice: Choice) -> JudgedPairs | None:
    """The pairs that tests draw again; None where queries are compared."""
    from simviz.evaluation import judged_pairs

    if tested(choice).level == "query":
        return None
    return judged_pairs(evaluated(choice, choice.entries[0]))


def evaluated(choice: Choice, entry: Entry) -> Evaluation:
    """All that a chosen run found out on the part."""
    return evaluation(entry.run.id, entry.part, entry.run, choice.pairs)


@st.cache_resource(show_spinner=False, max_entries=24)
def evaluation(run_id: str, part: Part, _run: Run, _pairs: PairSet) -> Evaluation:
    """The evaluation of a run on a part, kept in memory."""
    from simviz.jobs import load_evaluation

    return load_evaluation(_run, part, _pairs)


@st.cache_resource(show_spinner=False, max_entries=400)
def _compared_metric(run_id: str, part: Part, metric: str, _run: Run, _pairs: PairSet) -> Metric:
    from simviz.evaluation import compared_metric

    return compared_metric(evaluation(run_id, part, _run, _pairs), metric)
