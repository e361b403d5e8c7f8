"""What is compared: runs, part of the split, direction, metric; all of it in the link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared import asking, compare_link, compare_runs, parts, state
from pages._shared.compare_marks import aside, mark_pills, plain
from pages._shared.compare_runs import Entry, MeasuredRun
from pages._shared.runs_metric import usual_metric
from simviz.exceptions import SimvizError

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.store.run import Part, Run

_GROUP = "compare-group"


@dataclass(frozen=True, slots=True)
class Choice:
    """What the page shows.

    Parameters
    ----------
    pairs : PairSet
        The data set.
    entries : sequence of Entry
        The chosen runs that were measured on the part, the best on validation first.
    part : {"validation", "test"}
        Which part of the split all figures are of.
    direction : {"x2y", "y2x", "mean"}
        Which side asks.
    metric : str
        The main metric.
    metrics : sequence of str
        All that every chosen run has, the main one first.
    """

    pairs: PairSet
    entries: Sequence[Entry]
    part: Part
    direction: str
    metric: str
    metrics: Sequence[str]

    @property
    def names(self) -> tuple[str, str]:
        """What the items of each side are called."""
        return self.pairs.x_name, self.pairs.y_name


def choose(dataset_id: str, pairs: PairSet) -> Choice | None:
    """Let the visitor choose among finished runs.

    Parameters
    ----------
    dataset_id : str
        A data set that the visitor may see.
    pairs : PairSet
        Its content.

    Returns
    -------
    Choice or None
        None where no run is chosen; the page has said so.
    """
    runs: list[Run] = []
    measured: dict[str, MeasuredRun] = {}
    for info in state.runs(dataset_id):
        with suppress(SimvizError):
            run = state.run(info.id)
            runs.append(run)
            measured[run.id] = compare_runs.read_measured(run)
    if damaged := len(runs) - len(measured):
        one = damaged == 1
        aside(
            f"{damaged} run{' is' if one else 's are'} left out: {'its' if one else 'their'} "
            "results cannot be read."
        )
    if st.session_state.get("compare-data") != dataset_id:
        # What suits one data set need not suit another.
        for name in ("metric", "a", "b"):
            st.session_state.pop(f"compare-{name}", None)
        st.session_state["compare-data"] = dataset_id
    compare_link.take_over()
    names = (pairs.x_name, pairs.y_name)
    groups = compare_runs.group(runs, measured)
    if not groups:
        return None
    wanted = _wanted_runs(runs)
    part = parts.current(dataset_id)
    group = _choose_group(groups, measured, names, wanted)
    told = _told(group, measured, part)
    metric = _usual_metric(dataset_id, pairs, told)
    # The pills keep this order whatever metric is looked at.
    direction = asking.current(dataset_id, pairs, told["directions"])
    group = compare_runs.ranked(group, measured, metric, direction, part)
    chosen = _choose_runs(group, wanted)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        parts.switch(dataset_id)
        direction = asking.choose(dataset_id, pairs, told["directions"])
        shared = _shared_metrics([_told([run], measured, part) for run in (chosen or group)])
        metric = _choose_metric(shared, metric)
    if not chosen:
        st.info("Choose at least one run above.")
        return None
    _remember(dataset_id, [run.id for run in chosen], metric)
    infos = [run.info for run in group]
    labels, looks = compare_runs.label_runs(infos), compare_runs.looks(infos)
    if missing := [(run, labels[run.id]) for run in chosen if part not in measured[run.id].parts]:
        parts.offer_missing(missing, part, pairs, key="compare")
    entries = [
        Entry(run, labels[run.id], looks[run.id], part, measured[run.id].parts[part])
        for run in compare_runs.ranked(chosen, measured, metric, direction, part)
        if part in measured[run.id].parts
    ]
    if not entries:
        return None
    ordered = [metric, *(m for m in shared if m != metric)]
    return Choice(pairs, entries, part, direction, metric, ordered)


def _told(
    runs: Sequence[Run], measured: Mapping[str, MeasuredRun], part: Part
) -> Mapping[str, Any]:
    """The evaluation of the first run that was measured on the part, else on the other one."""
    known = [measured[run.id].parts for run in runs]
    found = [by_part[part] for by_part in known if part in by_part]
    return (found or [one for by_part in known for one in by_part.values()])[0].told


def _wanted_runs(runs: Sequence[Run]) -> list[str]:
    """Runs that were asked for since this page was last shown: by link, or on another page."""
    link = compare_link.asked_runs()
    elsewhere = list(st.session_state.get("run_ids", []))
    known = {run.id for run in runs}
    missing = len([run_id for run_id in link if run_id not in known])
    if missing:
        aside(
            f"{missing} of the {len(link)} runs in this link {'is' if missing == 1 else 'are'} "
            "not here: deleted, on other data, or in somebody else's workspace."
        )
    wanted = link
    is_back = _GROUP not in st.session_state  # from another page
    if not link and (is_back or elsewhere != st.session_state.get("compare-seen")):
        wanted = elsewhere
    return [run_id for run_id in wanted if run_id in known]


def _choose_group(
    groups: Mapping[str, list[Run]],
    measured: Mapping[str, MeasuredRun],
    names: tuple[str, str],
    wanted: Sequence[str],
) -> list[Run]:
    """One split: figures from two must not stand in one table."""
    key = _GROUP
    for name, runs in groups.items():
        if wanted and wanted[0] in {run.id for run in runs}:
            st.session_state[key] = name
    if st.session_state.get(key) not in groups:
        st.session_state[key] = next(iter(groups))
    if len(groups) > 1:
        labels = compare_runs.group_labels(groups, measured, names)
        st.selectbox(
            f"These runs were measured on {len(groups)} different splits, and figures compare "
            "only within one. Shown here:",
            list(groups),
            format_func=labels.__getitem__,
            key=key,
        )
    group = groups[st.session_state[key]]
    inside = {run.id for run in group}
    outside = [run_id for run_id in wanted if run_id not in inside]
    if outside:
        were = "was" if len(outside) == 1 else "were"
        aside(
            f"{len(outside)} of the runs asked for {were} measured on another split and left out: "
            "such figures do not compare with these."
        )
    return group


def _choose_runs(group: Sequence[Run], wanted: Sequence[str]) -> list[Run]:
    """Pills with the colour and dash that each run has in the charts."""
    ids = [run.id for run in group]
    key = f"compare-runs-{st.session_state[_GROUP]}"
    infos = [run.info for run in group]
    labels, looks = compare_runs.label_runs(infos), compare_runs.looks(infos)
    start = [run_id for run_id in wanted if run_id in ids]
    if start or key not in st.session_state:
        before = [i for i in st.session_state.get("run_ids", []) if i in ids]
        start = start or before or ids[: compare_runs.FEW]
        st.session_state[key] = [run_id for run_id in ids if run_id in start]
    else:
        st.session_state[key] = [i for i in st.session_state[key] if i in ids]
    mark_pills(key, [looks[run_id] for run_id in ids])
    chosen = st.pills(
        "Runs",
        ids,
        selection_mode="multi",
        format_func=lambda run_id: plain(labels[run_id]),
        key=key,
    )
    return [run for run in group if run.id in chosen]


def _shared_metrics(told: Sequence[Mapping[str, Any]]) -> list[str]:
    first, *others = [list(one["metrics"]) for one in told]
    return [m for m in first if all(m in other for other in others)] or first


def _choose_metric(metrics: Sequence[str], usual: str) -> str:
    from simviz.evaluation.metrics import parse_metric

    key = "compare-metric"
    if st.session_state.get(key) not in metrics:
        st.session_state[key] = usual if usual in metrics else metrics[0]
    chosen: str = st.selectbox(
        "Main metric",
        metrics,
        key=key,
        help=parse_metric(st.session_state[key]).description,
        width=180,
        persist_state="session",
    )
    return chosen


def _usual_metric(dataset_id: str, pairs: PairSet, told: Mapping[str, Any]) -> str:
    """The metric to look at first, of those that were measured."""
    known, usual = told["metrics"], usual_metric(dataset_id, pairs)
    return usual if usual in known else str(known[0])


def _remember(dataset_id: str, run_ids: list[str], metric: str) -> None:
    """Keep the choice for other pages and in the address."""
    st.session_state.run_ids = run_ids
    st.session_state["compare-seen"] = run_ids
    compare_link.put_in_link(
        data=dataset_id,
        demo=None,
        run=None,
        runs=",".join(run_ids),
        metric=metric,
    )
