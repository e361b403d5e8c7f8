"""What is compared: runs, part of the split, direction, metric; all of it in the link."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from simviz.exceptions import SimvizError
from simviz.reports.summary import Entry, MeasuredRun, ranked
from simviz.store.run import metric_name
from simviz.workbench.shell import runs as compare_runs, settings, state
from simviz.workbench.shell.marks import aside, mark_pills, plain
from simviz.workbench.shell.runs import usual_metric

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.evaluation import Evaluation, JudgedPairs, Metric
    from simviz.evaluation.comparisons import Correction
    from simviz.store.run import Part, Run

#: Tabs by what the link calls them.
TABS = {
    "curves": "Curves",
    "queries": "Where they differ",
    "topics": "Topics",
    "blend": "Blend",
}
#: Curves of the first tab by what the link calls them, in place of the tab.
CURVES = {
    "roc": "ROC",
    "precision": "Precision–recall",
    "det": "DET",
    "scores": "Scores",
    "reliability": "Reliability",
    "dimensions": "Dimensions",
    "training": "Training",
    "size": "Training size",
}
#: Values remembered for each parameter of the address.
_WRITTEN = 200
#: Parameters that say what is looked at, of whatever runs.
VIEW = ("part", "direction", "metric", "against", "test", "correction", "tab", "a", "b", "query")
_RUN = re.compile(r"[0-9a-f]{32}")
_PLACE = re.compile(r"(x2y|y2x):(\d{1,9})")


def follow_link() -> None:
    """Take what a published view shows, or the data set of the runs that a link names."""
    if "share" in st.query_params:
        _follow_share(st.query_params["share"])
        return
    if "data" in st.query_params or "demo" in st.query_params:
        return
    for run_id in _run_ids(st.query_params.get("runs") or st.query_params.get("run") or ""):
        try:
            st.session_state.dataset_id = state.run(run_id).info.dataset_id
        except SimvizError:
            continue
        return


def _follow_share(token: str) -> None:
    """Set the address as its owner saw it, once a visit: what the visitor changes then stays."""
    if st.session_state.get("compare-share") == token:
        return
    try:
        seen = state.share()
    except SimvizError:  # the page says so
        return
    st.session_state["compare-share"] = token
    if seen is not None and seen.kind == "compare":
        told = {k: v for k, v in seen.view.items() if k in VIEW and k not in st.query_params}
        st.query_params.update(told)


def view() -> dict[str, str]:
    """What is on the screen, for a published view: all of the address but data and runs."""
    return {name: st.query_params[name] for name in VIEW if name in st.query_params}


def put_in_link(**values: str | None) -> None:
    """Keep these parameters in the address, or take them out."""
    for name, value in values.items():
        if value is None:
            st.query_params.pop(name, None)
            continue
        _written(name)[value] = None
        if st.query_params.get(name) != value:
            st.query_params[name] = value


def take_over() -> None:
    """Set the widgets as the link says."""
    for name in ("metric", "a", "b", "test", "correction", "against"):
        if value := asked(name):
            st.session_state[f"compare-{name}"] = metric_name(value) if name == "metric" else value
            if name == "test":
                st.session_state["compare-pair-test"] = value
    tab = asked("tab")
    if tab in CURVES:
        st.session_state["compare-curve"] = tab
        tab = "curves"
    if tab in TABS:
        st.session_state["compare-open"] = st.session_state["compare-tab"] = TABS[tab]


def asked(name: str) -> str:
    """A parameter of the link, if it is news; else nothing."""
    value = st.query_params.get(name, "")
    return "" if value in _written(name) else value


def asked_runs() -> list[str]:
    """Runs that the link names, if that is news."""
    return _run_ids(asked("runs") or asked("run"))


def linked_query() -> tuple[str, int] | None:
    """The query that the link names: direction, and position on its side of the data."""
    found = _PLACE.fullmatch(st.query_params.get("query", ""))
    return (found[1], int(found[2])) if found else None


def _written(name: str) -> dict[str, None]:
    """What this page has put into the address before."""
    # A click may arrive with the address of an earlier run of the page: only what the page never
    # wrote was typed or followed by the visitor.
    values: dict[str, None] = st.session_state.setdefault("compare-written", {}).setdefault(
        name, {}
    )
    while len(values) > _WRITTEN:
        del values[next(iter(values))]
    return values


def _run_ids(given: str) -> list[str]:
    return [run_id for run_id in given.split(",") if _RUN.fullmatch(run_id)]


_GROUP = "compare-group"


@dataclass(frozen=True, slots=True)
class Choice:
    """What the page shows."""

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
    """Let the visitor choose among finished runs."""
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
    take_over()
    names = (pairs.x_name, pairs.y_name)
    groups = compare_runs.group(runs, measured)
    if not groups:
        return None
    wanted = _wanted_runs(runs)
    part = settings.current_part(dataset_id)
    group = _choose_group(groups, measured, names, wanted)
    told = _told(group, measured, part)
    metric = _usual_metric(dataset_id, pairs, told)
    # The pills keep this order whatever metric is looked at.
    direction = settings.current_direction(dataset_id, pairs, told["directions"])
    group = ranked(group, measured, metric, direction, part)
    chosen = _choose_runs(group, wanted)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        settings.part_switch(dataset_id)
        direction = settings.choose_direction(dataset_id, pairs, told["directions"])
        shared = _shared_metrics([_told([run], measured, part) for run in (chosen or group)])
        metric = _choose_metric(shared, metric)
    if not chosen:
        st.info("Choose at least one run above.")
        return None
    _remember(dataset_id, [run.id for run in chosen], metric)
    infos = [run.info for run in group]
    labels, looks = compare_runs.label_runs(infos), compare_runs.looks(infos)
    if missing := [(run, labels[run.id]) for run in chosen if part not in measured[run.id].parts]:
        settings.offer_missing_part(missing, part, pairs, key="compare")
    entries = [
        Entry(run, labels[run.id], looks[run.id], part, measured[run.id])
        for run in ranked(chosen, measured, metric, direction, part)
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
    return (found or [one for by_part in known for one in by_part.values()])[0].evaluation


def _wanted_runs(runs: Sequence[Run]) -> list[str]:
    """Runs that were asked for since this page was last shown: by link, or on another page."""
    link = asked_runs()
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
    put_in_link(
        data=dataset_id,
        demo=None,
        run=None,
        runs=",".join(run_ids),
        metric=metric,
    )


def tested_runs(choice: Choice) -> Metric:
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

    if tested_runs(choice).level == "query":
        return None
    return judged_pairs(evaluated_runs(choice, choice.entries[0]))


def evaluated_runs(choice: Choice, entry: Entry) -> Evaluation:
    """All that a chosen run found out on the part."""
    return evaluation(entry.run.id, entry.part, entry.run, choice.pairs)


@st.cache_resource(show_spinner=False, max_entries=24)
def evaluation(run_id: str, part: Part, _run: Run, _pairs: PairSet) -> Evaluation:
    """The evaluation of a run on a part, kept in memory."""
    from simviz.store import load_evaluation

    return load_evaluation(_run, part, _pairs)


@st.cache_resource(show_spinner=False, max_entries=400)
def _compared_metric(run_id: str, part: Part, metric: str, _run: Run, _pairs: PairSet) -> Metric:
    from simviz.evaluation import compared_metric

    return compared_metric(evaluation(run_id, part, _run, _pairs), metric)


#: Tests by what the link calls them: on the control, in a column's heading, and in full.
TESTS = {
    "randomization": "Paired randomisation",
    "t": "Paired t",
    "bootstrap": "Paired bootstrap",
    "wilcoxon": "Wilcoxon signed-rank",
    "published": "As in the papers",
}
#: The same where judged pairs are tested.
PAIR_TESTS = {
    "bootstrap": "Bootstrap over items",
    "delong": "DeLong",
    "published": "As in the papers",
}
_SHORT = {
    "delong": "DeLong",
    "randomization": "randomisation",
    "t": "paired t",
    "bootstrap": "bootstrap",
    "wilcoxon": "Wilcoxon",
    "unpaired t": "unpaired t",
    "subsets": "t of subsets",
}
_EXPLAINED = {
    "randomization": "Swaps the two runs on queries at random. Assumes next to nothing.",
    "t": "Trusts that the mean difference is about normal.",
    "bootstrap": "Draws the queries again; its interval follows skewed differences.",
    "wilcoxon": "Ranks the differences. It does not test the mean.",
    "published": "The test that published tables of this metric rest on, a better one beside it.",
}
_PAIRS_EXPLAINED = {
    "bootstrap": "Draws items again, each with all of its judged pairs; all runs see the same "
    "draws.",
    "delong": "Takes judged pairs for independent, as they are where no item is in two of them. "
    "A check of the bootstrap.",
    "published": _EXPLAINED["published"],
}
CORRECTIONS = {"holm": "Holm", "bonferroni": "Bonferroni", "none": "None"}
#: Fewest queries that are divided into 50 subsets, and most scores that are kept to do so.
_FEWEST_QUERIES, _MOST_SCORES = 100, 2_000_000
#: Highest p-value that tells two runs apart.
ALPHA = 0.05


class Setting(NamedTuple):
    """How runs are told apart."""

    chosen: str
    test: str
    correction: Correction
    against: Entry
    caution: str = ""

    @property
    def short(self) -> str:
        """The test, as a column's heading names it."""
        return _SHORT[self.test]


def setting(choice: Choice) -> Setting:
    """What was chosen, or the usual; readable before the controls are drawn."""
    from simviz.evaluation.comparisons import published_protocol

    by_id = {entry.run.id: entry for entry in choice.entries}
    usual_run = _usual_baseline(choice).run.id
    known = offered(choice)
    key, usual_test = _key(known), next(iter(known))
    usual: dict[str, tuple[Collection[str], str]] = {
        key: (known, usual_test),
        "compare-correction": (CORRECTIONS, "holm"),
        "compare-against": (by_id, usual_run),
    }
    for name, (options, value) in usual.items():
        if st.session_state.get(name) not in options:
            st.session_state[name] = value
    chosen, correction = st.session_state[key], st.session_state["compare-correction"]
    against = by_id[st.session_state["compare-against"]]
    put_in_link(
        test=None if chosen == usual_test else chosen,
        correction=None if correction == "holm" else correction,
        against=None if against.run.id == usual_run else against.run.id,
    )
    if chosen != "published":
        return Setting(chosen, chosen, correction, against)
    protocol = published_protocol(choice.metric)
    on = choice.entries[0].measured
    fits = on.n_x >= _FEWEST_QUERIES and on.n_x * on.n_y <= _MOST_SCORES
    if protocol.test == "subsets" and not fits:
        size = "few" if on.n_x < _FEWEST_QUERIES else "many"
        caution = (
            f"The {choice.part} part has too {size} pairs to divide them into 50 subsets here."
        )
        instead = "bootstrap" if usual_test == "bootstrap" else "t"
        return Setting(chosen, instead, "none", against, caution)
    return Setting(chosen, protocol.test, protocol.correction, against, protocol.caution)


def offered(choice: Choice) -> Mapping[str, str]:
    """The tests that there are for the metric, by what the link calls them; the usual first."""
    from simviz.evaluation.comparisons import published_protocol
    from simviz.evaluation.metrics import AUC, parse_metric

    pairs = judged(choice)
    if pairs is None:
        return TESTS
    known = dict(PAIR_TESTS)
    if not isinstance(parse_metric(choice.metric), AUC) or pairs.drawn != ("pairs",):
        del known["delong"]
    if published_protocol(choice.metric).test != "subsets":
        del known["published"]
    return known


def _key(known: Mapping[str, str]) -> str:
    """Names the control: a test of pairs says nothing of one of queries."""
    return "compare-test" if known is TESTS else "compare-pair-test"


def _explained(choice: Choice, known: Mapping[str, str], chosen: str) -> str:
    """What the chosen test does, and why DeLong's is not offered."""
    if known is TESTS:
        return _EXPLAINED[chosen]
    words = _PAIRS_EXPLAINED[chosen]
    pairs = judged(choice)
    if pairs is not None and pairs.drawn != ("pairs",):
        words += " DeLong's test is not offered: items are in several pairs, which it ignores."
    return words


def choose_test(choice: Choice, now: Setting) -> None:
    """The controls: against which run, by which test."""
    labels = {entry.run.id: entry.label for entry in choice.entries}
    st.selectbox(
        "Δ against",
        list(labels),
        format_func=labels.__getitem__,
        key="compare-against",
        width=220,
        persist_state="session",
    )
    if choice.part == "validation":  # a test belongs to the test part
        return
    known = offered(choice)
    told = known[now.chosen] + ("" if now.correction == "none" else f", {now.correction.title()}")
    with st.popover(told, icon=":material/balance:", type="tertiary"):
        st.selectbox(
            "Which test tells two runs apart",
            list(known),
            format_func=known.__getitem__,
            key=_key(known),
            persist_state="session",
        )
        st.caption(_explained(choice, known, now.chosen))
        st.radio(
            "Corrected for how many pairs of runs there are",
            list(CORRECTIONS),
            format_func=CORRECTIONS.__getitem__,
            key="compare-correction",
            horizontal=True,
            disabled=now.chosen == "published",
            help="Among twenty comparisons of equal runs one shows p below 0.05 by luck. Holm and "
            "Bonferroni keep the risk of any false mark at 5 %; Holm finds more.",
            persist_state="session",
        )


def _usual_baseline(choice: Choice) -> Entry:
    """The best run that goes by words alone; else the last in the table."""
    from simviz.methods import all_methods

    methods = all_methods()
    for entry in choice.entries:
        method = methods.get(entry.run.info.method)
        if method is not None and method.tags.family == "lexical":
            return entry
    return choice.entries[-1]
