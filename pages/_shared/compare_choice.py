"""What is compared: test part, runs, direction, metric; all of it in the link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from pages._shared import compare_link, compare_runs, state
from pages._shared.compare_marks import aside, mark_pills, plain
from pages._shared.compare_runs import Entry, Measured
from simviz.exceptions import SimvizError

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.store import RunInfo

_PART = "compare-part"


@dataclass(frozen=True, slots=True)
class Choice:
    """What the page shows.

    Parameters
    ----------
    pairs : PairSet
        The data set.
    entries : sequence of Entry
        The chosen runs, the best first.
    direction : {"x2y", "y2x", "mean"}
        Which side asks.
    metric : str
        The main metric.
    metrics : sequence of str
        All that every chosen run has, the main one first.
    """

    pairs: PairSet
    entries: Sequence[Entry]
    direction: str
    metric: str
    metrics: Sequence[str]

    @property
    def names(self) -> tuple[str, str]:
        """What the items of each side are called."""
        return self.pairs.x_name, self.pairs.y_name


@st.cache_resource(show_spinner=False, max_entries=600)
def read_measured(run_id: str) -> Measured:
    """Runs never change; who may see one was asked before."""
    return Measured.of(state.run(run_id))


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
    infos = state.runs(dataset_id)
    measured: dict[str, Measured] = {}
    damaged = 0
    for info in infos:
        try:
            measured[info.id] = read_measured(info.id)
        except SimvizError:
            damaged += 1
    if damaged:
        one = damaged == 1
        aside(
            f"{damaged} run{' is' if one else 's are'} left out: {'its' if one else 'their'} "
            "results cannot be read."
        )
    if st.session_state.get("compare-data") != dataset_id:
        # What suits one data set need not suit another.
        for name in ("direction", "metric", "a", "b"):
            st.session_state.pop(f"compare-{name}", None)
        st.session_state["compare-data"] = dataset_id
    compare_link.take_over()
    names = (pairs.x_name, pairs.y_name)
    groups = compare_runs.group(infos, measured)
    if not groups:
        return None
    wanted = _wanted_runs(infos)
    group = _choose_group(groups, measured, names, wanted)
    metric = _usual_metric(dataset_id, pairs, measured[group[0].id])
    # The pills keep this order whatever metric is looked at.
    group.sort(key=lambda info: _rank_key(info.summary.get(metric), metric))
    chosen = _choose_runs(group, wanted)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        direction = _choose_direction(measured[group[0].id], group[0].spec["split"]["by"], names)
        shared = _shared_metrics([measured[i.id] for i in (chosen or group)])
        metric = _choose_metric(shared, metric)
    if not chosen:
        st.info("Choose at least one run above.")
        return None
    labels, looks = compare_runs.label_runs(group), compare_runs.looks(group)
    entries = [
        Entry(state.run(i.id), labels[i.id], looks[i.id], measured[i.id])
        for i in group
        if i.id in chosen_ids(chosen)
    ]
    entries.sort(key=lambda entry: _rank_key(entry.value(metric, direction), metric))
    _remember(dataset_id, [i.id for i in chosen], direction, metric)
    ordered = [metric, *(m for m in shared if m != metric)]
    return Choice(pairs, entries, direction, metric, ordered)


def chosen_ids(infos: Sequence[RunInfo]) -> set[str]:
    """Their ids."""
    return {info.id for info in infos}


def _wanted_runs(infos: Sequence[RunInfo]) -> list[str]:
    """Runs that were asked for since this page was last shown: by link, or on another page."""
    link = compare_link.asked_runs()
    elsewhere = list(st.session_state.get("run_ids", []))
    known = {info.id for info in infos}
    missing = len([run_id for run_id in link if run_id not in known])
    if missing:
        aside(
            f"{missing} of the {len(link)} runs in this link {'is' if missing == 1 else 'are'} "
            "not here: deleted, on other data, or in somebody else's workspace."
        )
    wanted = link
    is_back = _PART not in st.session_state  # from another page
    if not link and (is_back or elsewhere != st.session_state.get("compare-seen")):
        wanted = elsewhere
    return [run_id for run_id in wanted if run_id in known]


def _choose_group(
    groups: Mapping[str, list[RunInfo]],
    measured: Mapping[str, Measured],
    names: tuple[str, str],
    wanted: Sequence[str],
) -> list[RunInfo]:
    """One test part: figures from two must not stand in one table."""
    key = _PART
    for name, infos in groups.items():
        if wanted and wanted[0] in chosen_ids(infos):
            st.session_state[key] = name
    if st.session_state.get(key) not in groups:
        st.session_state[key] = next(iter(groups))
    if len(groups) > 1:
        labels = compare_runs.group_labels(groups, measured, names)
        st.selectbox(
            f"These runs were measured on {len(groups)} different tests, and figures compare only "
            "within one. Shown here:",
            list(groups),
            format_func=labels.__getitem__,
            key=key,
        )
    group = groups[st.session_state[key]]
    outside = [run_id for run_id in wanted if run_id not in chosen_ids(group)]
    if outside:
        were = "was" if len(outside) == 1 else "were"
        aside(
            f"{len(outside)} of the runs asked for {were} measured on another test and left out: "
            "such figures do not compare with these."
        )
    return group


def _choose_runs(group: Sequence[RunInfo], wanted: Sequence[str]) -> list[RunInfo]:
    """Pills with the colour and dash that each run has in the charts."""
    ids = [info.id for info in group]
    key = f"compare-runs-{st.session_state[_PART]}"
    labels, looks = compare_runs.label_runs(group), compare_runs.looks(group)
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
    return [info for info in group if info.id in chosen]


def _choose_direction(measured: Measured, by: str, names: tuple[str, str]) -> str:
    x, y = map(plain, names)
    words = {"x2y": f"{x} → {y}", "y2x": f"{y} → {x}", "mean": "Mean of both"}
    known = [d for d in words if d in measured.told["directions"]]
    options = [*known, "mean"] if len(known) > 1 else known
    key = "compare-direction"
    if st.session_state.get(key) not in options:
        usual = {"x": "x2y", "y": "y2x"}.get(by, "mean")
        st.session_state[key] = usual if usual in options else options[0]
    chosen: str = st.segmented_control(
        "Who asks whom",
        options,
        format_func=words.__getitem__,
        key=key,
        required=True,
        persist_state="session",
        wrap=True,
    )
    return chosen


def _shared_metrics(measured: Sequence[Measured]) -> list[str]:
    first, *others = [list(m.told["metrics"]) for m in measured]
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
        width=220,
        persist_state="session",
    )
    return chosen


def _usual_metric(dataset_id: str, pairs: PairSet, measured: Measured) -> str:
    """The metric to look at first: a demo's own, else what the judgments allow."""
    from simviz.datasets import DEMOS

    known = measured.told["metrics"]
    usual = "MRR" if pairs.relevance.unjudged == "negative" else "AUC"
    if pairs.relevance.kind == "score":
        usual = "Spearman"
    demo = DEMOS.get(dataset_id.removeprefix("demo:")) if dataset_id[:5] == "demo:" else None
    usual = usual if demo is None else demo.metric
    return usual if usual in known else known[0]


def _rank_key(value: float | None, metric: str) -> tuple[bool, float]:
    """Sorts the best first, what is not known last."""
    from simviz.evaluation.metrics import parse_metric

    if value is None or value != value:
        return True, 0.0
    return False, -value if parse_metric(metric).higher_is_better else value


def _remember(dataset_id: str, run_ids: list[str], direction: str, metric: str) -> None:
    """Keep the choice for other pages and in the address."""
    st.session_state.run_ids = run_ids
    st.session_state["compare-seen"] = run_ids
    compare_link.put_in_link(
        data=dataset_id,
        demo=None,
        run=None,
        runs=",".join(run_ids),
        direction=direction,
        metric=metric,
    )
