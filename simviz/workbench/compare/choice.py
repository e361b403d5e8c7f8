"""What is compared: runs, part of the split, direction, metric; all of it in the link."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from simviz.charts.style import clean_text
from simviz.data.cells import counted
from simviz.data.pairs import PairSet
from simviz.evaluation.metrics import (
    AUC,
    MAP,
    MRR,
    NDCG,
    Metric,
    PartialAUC,
    Precision,
    RankLoss,
    Recall,
    RPrecision,
    Success,
    TopOne,
    parse_metric,
)
from simviz.evaluation.result import PartResult
from simviz.exceptions import SimvizError
from simviz.markdown import escape_markdown
from simviz.reports.run_summary import RunEntry, RunTable, ranked
from simviz.store.run import Part, Run
from simviz.workbench.shell import (
    forms,
    preferences,
    progress,
    query_params,
    runs as shell_runs,
    state,
)
from simviz.workbench.shell.display import aside, problem

#: What stands below the table and the curve, by what the link calls it.
TABS = {
    "queries": "Where they differ",
    "parameters": "Parameters",
    "topics": "Topics",
    "blend": "Blend",
    "hubs": "Hubs",
    "more": "More",
}
#: What fewer ask for, behind *More*.
MORE = {"scores": "Scores", "reliability": "Reliability", "divisions": "Repeat on random splits"}
#: Curves beside the table by what the link calls them, in place of what stands below.
CURVES = {
    "roc": "ROC",
    "precision": "Precision–recall",
    "dimensions": "Dimensions",
    "training": "Training",
    "size": "Training size",
}
_LONGEST = 22  # characters of a control
_GROUP = "compare-group"
#: Metrics that stored ranks, or a stored ROC curve, answer for any k.
_ANSWERED: tuple[Metric, ...] = (
    TopOne(),
    Success(),
    MRR(),
    MAP(),
    Precision(),
    Recall(),
    RPrecision(),
    NDCG(10),
    NDCG(10, "linear"),
    NDCG(10, discount="jk"),
    NDCG(10, "linear", "jk"),
    RankLoss("query"),
    AUC("query"),
    AUC(),
    RankLoss(),
    PartialAUC(),
)


# -- the link -------------------------------------------------------------------------


def _apply_query_params() -> None:
    """Set the widgets as the visitor's address says."""
    new_params = query_params.new_params()
    if "metric" in new_params:
        with suppress(ValueError):  # it may be written in short, such as "NDCG@3"
            new_params["metric"] = parse_metric(new_params["metric"]).name
    for name in new_params.keys() & {"metric", "a", "b", "test", "correction", "against"}:
        st.session_state[f"compare-{name}"] = new_params[name]
    if "query" in new_params:
        open_query(new_params["query"])
    if "test" in new_params:
        st.session_state["compare-pair-test"] = new_params["test"]
    tab = new_params.get("tab")
    for key, known in (("compare-curve", CURVES), ("compare-further", MORE)):
        if tab in known:
            st.session_state[key] = tab
    if tab in (*CURVES, *TABS, *MORE):
        st.session_state["compare-tab"] = "more" if tab in MORE else tab if tab in TABS else None


def open_query(query: str) -> None:
    """Select a query by its place in the data set, whatever was selected before."""
    st.session_state["compare-query"] = query
    # The table keeps its own selection: another table begins with this one, among all queries.
    st.session_state["compare-opened"] = st.session_state.get("compare-opened", 0) + 1
    for key in list(st.session_state):
        if str(key).startswith(("compare-outcome", "compare-column-", "compare-terms-")):
            del st.session_state[key]


# -- the controls ---------------------------------------------------------------------


def choose(dataset_id: str, pairs: PairSet, bar: DeltaGenerator) -> RunTable | None:
    """Let the visitor choose among finished runs, in a row of controls."""
    runs: list[Run] = []
    for info in state.runs(dataset_id):
        with suppress(SimvizError):
            runs.append(state.run(info.id))
    groups = shell_runs.group(runs)
    if damaged := len(runs) - sum(map(len, groups.values())):
        text = "run is left out: its" if damaged == 1 else "runs are left out: their"
        aside(f"{damaged} {text} results cannot be read.")
    if st.session_state.get("compare-data") != dataset_id:
        # What suits one data set need not suit another.
        for name in ("metric", "a", "b", "query"):
            st.session_state.pop(f"compare-{name}", None)
        st.session_state["compare-data"] = dataset_id
    _apply_query_params()
    if not groups:
        return None
    requested = _requested_runs(runs)
    part = preferences.current_part(dataset_id)
    group_names = shell_runs.group_labels(groups, pairs.nouns)
    group = _current_group(groups, requested)
    known = _measured_on(group, part)
    metric = shell_runs.default_metric_of(dataset_id, pairs)
    if metric not in known.metrics:
        metric = known.metrics[0]
    # The pills keep this order whatever metric is looked at.
    direction = preferences.current_direction(dataset_id, pairs, known.directions)
    group = ranked(group, metric, direction, part)
    infos = [run.info for run in group]
    labels, looks = shell_runs.label_runs(infos), shell_runs.looks(infos)
    with bar:
        selected = _choose_runs(group, labels, looks, requested, group_names)
        side = pairs.headings[direction == "y2x"]
        text = "Mean of both sides" if direction == "mean" else f"{clean_text(side, _LONGEST)} →"
        with st.popover(escape_markdown(text), key="compare-side"):
            direction = preferences.choose_direction(dataset_id, pairs, known.directions)
        first, *others = (_measured_on([run], part).metrics for run in selected or group)
        shared = [name for name in first if all(name in other for other in others)] or first
        metric = _choose_metric(shared, metric)
        preferences.part_switch(dataset_id)
    if not selected:
        st.info("Choose at least one run above.")
        return None
    # Kept for other pages and in the address.
    run_ids = [run.id for run in selected]
    st.session_state.run_ids = st.session_state["compare-seen"] = run_ids
    query_params.new_params().clear()
    place = query_params.data(dataset_id)
    query_params.put(demo=None, run=None, **place, runs=",".join(run_ids), metric=metric)
    missing = [labels[run.id] for run in selected if part not in run.measured]
    progress.explain_missing_part(missing, part)
    if metric not in shared:
        selected = [replace(run, extra_metric=metric) for run in selected]
    entries = []
    for run in ranked(selected, metric, direction, part):
        entry = RunEntry(run, labels[run.id], looks[run.id], part)
        if part in run.measured:
            try:  # what the page needs of every run
                if entry.evaluation:
                    entries.append(entry)
            except SimvizError as error:
                problem(f"{entry.label} is left out. {error}")
    if not entries:
        return None
    ordered = [metric, *(m for m in shared if m != metric)]
    return RunTable(pairs, entries, direction, metric, ordered)


def choose_two(
    table: RunTable, labels: Mapping[str, str], defaults: Sequence[str]
) -> tuple[RunEntry, RunEntry]:
    """Let the visitor choose two different runs; the labels of the boxes by their names."""
    by_id = table.by_id
    chosen: list[str] = []
    places = zip(st.columns(2, gap="medium"), labels.items(), defaults, strict=True)
    for column, (name, label), default in places:
        key, names = f"compare-{name}", {i: e.label for i, e in by_id.items() if i not in chosen}
        if st.session_state.get(key) not in by_id:
            st.session_state[key] = default
        with column:
            chosen.append(forms.select(label, names, key))
    return by_id[chosen[0]], by_id[chosen[1]]


def _measured_on(runs: Sequence[Run], part: Part) -> PartResult:
    """What the first run with that part found on it; else the first of any part."""
    run = next((run for run in runs if part in run.measured), runs[0])
    return run.part(part if part in run.measured else run.measured[0])


def _requested_runs(runs: Sequence[Run]) -> list[str]:
    """Runs that were asked for since this page was last shown: by link, or on another page."""
    known = {run.id for run in runs}
    requested = state.run_ids(query_params.new_params())
    if missing := sum(run_id not in known for run_id in requested):
        aside(
            f"{missing} of the {len(requested)} runs in this link "
            f"{'is' if missing == 1 else 'are'} not here: deleted, on other data, "
            "or in somebody else's workspace."
        )
    elsewhere = list(st.session_state.get("run_ids", []))
    is_back = _GROUP not in st.session_state  # from another page
    if not requested and (is_back or elsewhere != st.session_state.get("compare-seen")):
        requested = elsewhere
    return [run_id for run_id in requested if run_id in known]


def _current_group(groups: Mapping[str, list[Run]], requested: Sequence[str]) -> list[Run]:
    """One split: figures from two must not stand in one table."""
    for name, runs in groups.items():
        if requested and requested[0] in {run.id for run in runs}:
            st.session_state[_GROUP] = name
    if st.session_state.get(_GROUP) not in groups:
        st.session_state[_GROUP] = next(iter(groups))
    group = groups[st.session_state[_GROUP]]
    inside = {run.id for run in group}
    if outside := sum(run_id not in inside for run_id in requested):
        aside(
            f"{outside} of the runs asked for {'was' if outside == 1 else 'were'} measured on "
            "another split and left out: such figures do not compare with these."
        )
    return group


def _choose_runs(
    group: Sequence[Run],
    labels: Mapping[str, str],
    looks: Mapping[str, str],
    requested: Sequence[str],
    groups: Mapping[str, str],
) -> list[Run]:
    """Pills with the colour and dash that each run has in the charts, below the splits."""
    key, ids = f"compare-runs-{st.session_state[_GROUP]}", list(labels)
    before = [run_id for run_id in st.session_state.get("run_ids", []) if run_id in ids]
    usual = before or [run.id for run in shell_runs.first_shown(group)]
    start = [run_id for run_id in requested if run_id in ids] or st.session_state.get(key, usual)
    st.session_state[key] = [run_id for run_id in ids if run_id in start]
    n = len(st.session_state[key])
    text = f"{n} of {len(ids)} runs" if n < len(ids) else counted(n, "run")
    with st.popover(text, key="compare-which"):
        if len(groups) > 1:
            st.selectbox(
                f"These runs were measured on {len(groups)} different splits, and figures "
                "compare only within one. Shown here:",
                **forms.options(groups),
                key=_GROUP,
            )
        run_ids = shell_runs.choose_by_pills(labels, looks, key)
        if n < len(ids):
            every = {key: ids}
            forms.quiet_button(
                "All", "compare-all", st.session_state.update, every, icon="select_all"
            )
    return [run for run in group if run.id in run_ids]


def _choose_metric(metrics: Sequence[str], default: str) -> str:
    """Any metric that the ranks, or the ROC curve, of all runs answer."""
    key = "compare-metric"
    kinds = {parse_metric(name).level for name in metrics}
    metric = parse_metric(default if default in metrics else metrics[0])
    with suppress(ValueError):
        parsed = parse_metric(st.session_state.get(key, ""))
        if parsed.name in metrics or parsed.level in kinds - {"scores"}:
            metric = parsed
    name = st.session_state[key] = metric.name
    # The chosen one stands for all of its kind, whatever their k.
    others = [m.name for m in _ANSWERED if m.level in kinds and _stem(m.name) != _stem(name)]
    with st.popover(name.partition(" (")[0], key="compare-metrics"):
        offered = forms.session_options([*dict.fromkeys([*metrics, name, *others])], key)
        st.selectbox("Metric", **offered, help=metric.description)
        change: dict[str, Any] = {"key": "compare-k", "on_change": _set_k, "args": (metric,)}
        if isinstance(metric, Precision | Recall | NDCG | MRR | Success):
            st.session_state["compare-k"] = metric.k
            st.number_input("k: answers that count", 1, value=None, step=1, **change)
        elif isinstance(metric, PartialAUC):
            st.session_state["compare-k"] = 100 * metric.max_fpr
            st.number_input("False alarms up to, %", 0.1, 100.0, step=1.0, **change)
        st.toggle("More columns", key="compare-more", persist_state="session")
    return name


def _stem(name: str) -> str:
    """A metric's name without its k."""
    return re.sub(r"@[\d.]+", "", name)


def _set_k(metric: Precision | Recall | NDCG | MRR | Success | PartialAUC) -> None:
    """Ask the metric for another number of answers, or of false alarms."""
    k = st.session_state["compare-k"]
    changed: Metric = metric
    if isinstance(metric, PartialAUC):
        changed = replace(metric, max_fpr=round(k / 100, 4))
    elif isinstance(metric, Success):
        changed = TopOne() if k == 1 else replace(metric, k=k or metric.k)
    elif k is not None or isinstance(metric, NDCG | MRR):  # without one, all answers count
        changed = replace(metric, k=k)
    st.session_state["compare-metric"] = changed.name


# -- what a run found -----------------------------------------------------------------


@state.cached(16)
def held_out(run: Run, part: Part, pairs: PairSet) -> PairSet:
    """A part of the split of a run."""
    return run.take(pairs, part)


def part_of(entry: RunEntry, pairs: PairSet) -> PairSet:
    """The part of a run's split that figures are of."""
    return held_out(entry.run, entry.part, pairs)
