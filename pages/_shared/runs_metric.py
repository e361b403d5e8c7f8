"""The one metric that a data set is looked at by."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import streamlit as st

from pages._shared import asking, compare_runs, state
from simviz.exceptions import SimvizError

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.relevance import Relevance
    from simviz.store import RunInfo


def usual_metric(dataset_id: str, pairs: PairSet) -> str:
    """The metric to look at first.

    Parameters
    ----------
    dataset_id : str
        A data set; a demo names its own.
    pairs : PairSet
        Its content.

    Returns
    -------
    str
        Name of a metric.
    """
    from simviz.datasets import DEMOS

    demo = dataset_id.removeprefix("demo:")
    if demo != dataset_id and demo in DEMOS:
        return DEMOS[demo].metric
    return _default_metric(pairs.digest, pairs.relevance)


@st.cache_data(show_spinner=False, max_entries=64)
def _default_metric(digest: str, _relevance: Relevance) -> str:
    from simviz.evaluation.metrics import default_metric

    return default_metric(_relevance).name


def best_first(dataset_id: str, pairs: PairSet, runs: Sequence[RunInfo]) -> list[RunInfo]:
    """Runs in the order of what is looked at first; the newest first where they are level.

    Parameters
    ----------
    dataset_id : str
        A data set.
    pairs : PairSet
        Its content.
    runs : sequence of RunInfo
        Runs on it, the newest first.

    Returns
    -------
    list of RunInfo
        Those that were never measured by it come last.
    """
    if not runs:
        return []
    metric, direction = usual_metric(dataset_id, pairs), asking.current(dataset_id, pairs)

    def rank(info: RunInfo) -> tuple[bool, float]:
        value = None
        with suppress(SimvizError):  # damaged: its page says so
            measured = compare_runs.read_measured(state.run(info.id))
            value = measured.choosing_value(metric, direction)
        return compare_runs.rank_key(value, metric)

    return sorted(runs, key=rank)


def main_metric(dataset_id: str, pairs: PairSet, runs: Sequence[RunInfo]) -> str:
    """The metric to look at first, of those that some runs have.

    Parameters
    ----------
    dataset_id : str
        A data set.
    pairs : PairSet
        Its content.
    runs : sequence of RunInfo
        Runs on it.

    Returns
    -------
    str
        Name of a metric that all of them have.
    """
    usual = usual_metric(dataset_id, pairs)
    known = [name for name in runs[0].summary if all(name in run.summary for run in runs)]
    return usual if usual in known or not known else known[0]
