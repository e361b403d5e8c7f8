"""What runs are called, which of them compare, and which stands first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st

from simviz.data.cells import counted, numbered
from simviz.data.pairs import PairSet
from simviz.evaluation.metrics import default_metric
from simviz.exceptions import SimvizError
from simviz.jobs import JobSpec
from simviz.markdown import escape_markdown
from simviz.reports import run_summary
from simviz.reports.run_summary import RunEntry
from simviz.store.run import Part, Run, RunInfo
from simviz.workbench.shell import display, forms, preferences, state

#: Runs chosen where nobody chose: more would hide one another.
FEW = 5
#: Parameters in names of runs, which have little room.
_BRIEF = {"n_components": "dim", "regularization": "reg", "learning_rate": "rate"}


def dataset_title(dataset_id: str, name: str) -> str:
    """What a data set is called: a demo by its title, one's own by its name."""
    demo = state.demo_of(dataset_id)
    return name if demo is None else demo.title


def request_of(info: RunInfo) -> JobSpec:
    """What a run was asked for."""
    return JobSpec.from_json(info.spec)


def run_title(info: RunInfo) -> str:
    """The name a run was given, else that of what was trained."""
    return info.name or request_of(info).title


def entries_of(runs: Sequence[Run], part: Part) -> list[RunEntry]:
    """Runs as they did on a part, those without it left out."""
    infos = [run.info for run in runs]
    labels, styles = label_runs(infos), looks(infos)
    return [
        RunEntry(run, labels[run.id], styles[run.id], part) for run in runs if part in run.measured
    ]


def first_shown(ordered: Sequence[Run]) -> list[Run]:
    """Runs to show where nobody chose: the best, and those that learn nothing from pairs."""
    shown = list(ordered[:FEW])
    if not any(run_summary.is_base(run.info.method) for run in shown):  # the verdict is against it
        shown += [run for run in ordered if run_summary.is_base(run.info.method)][:1]
    if all(run.info.method != "cosine" for run in shown):  # what adapters are held against
        shown += [run for run in ordered if run.info.method == "cosine"][:1]
    return shown


def group(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Runs that were measured on the same thing, the largest group first; without damaged ones."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        with suppress(SimvizError):
            groups.setdefault(run_summary.group_key(run), []).append(run)
    return dict(sorted(groups.items(), key=lambda item: -len(item[1])))


def describe_split(split: Mapping[str, Any], names: tuple[str, str], part: Part = "test") -> str:
    """Name what a part holds that training did not, and its share."""
    what = run_summary.split_text(split, names)
    if split["by"] == "column":
        return what
    share = split["fractions"][2 if part == "test" else 1]
    return f"{what}, {100 * share:g} % of the data, seed {split['seed']}"


def group_labels(groups: Mapping[str, Sequence[Run]], names: tuple[str, str]) -> dict[str, str]:
    """What to call each group; no two alike."""
    labels = {}
    for key, runs in groups.items():
        label = describe_split(runs[0].info.spec["split"], names)
        if any(runs[0].part(part).pool == "judged" for part in runs[0].measured):
            label += ", among judged items"
        labels[key] = f"{label} · {counted(len(runs), 'run')}"
    return dict(zip(labels, numbered(list(labels.values())), strict=True))


def label_runs(infos: Sequence[RunInfo]) -> dict[str, str]:
    """What to call each run: its name or its method, and what sets it apart."""
    titles = {i.id: run_title(i) for i in infos}
    counts = Counter(titles.values())
    labels = {}
    for info in infos:
        label = titles[info.id]
        if counts[label] > 1:
            same_method = [i for i in infos if titles[i.id] == label and i.method == info.method]
            label = ", ".join(filter(None, (label, _apart(info, same_method))))
        labels[info.id] = label
    return dict(zip(labels, numbered(list(labels.values())), strict=True))


def looks(infos: Sequence[RunInfo]) -> dict[str, str]:
    """Style id of each run: its method's, numbered where a method has several."""
    seen: Counter[str] = Counter()
    looks_of = {}
    for info in sorted(infos, key=lambda i: (i.created, i.id)):  # the oldest keeps its look
        n = seen[info.method]
        looks_of[info.id] = f"{info.method}~{n}" if n else info.method
        seen[info.method] += 1
    return looks_of


def choose_by_pills(labels: Mapping[str, str], looks: Mapping[str, str], key: str) -> list[str]:
    """Let the visitor choose runs, by pills with the colour and dash that each has in charts."""
    display.mark_pills(key, [looks[run_id] for run_id in labels])
    names = {run_id: escape_markdown(label) for run_id, label in labels.items()}
    return st.pills("Runs", **forms.options(names), selection_mode="multi", key=key)


def _apart(info: RunInfo, others: Sequence[RunInfo]) -> str:
    """The parameters in which a run differs from others of its method, in words."""
    default_params = request_of(info).default_params
    values: dict[str, dict[str, Any]] = {}
    for i in others:
        own, terms = i.spec.get("params", {}), i.spec.get("features", "usual")
        values[i.id] = default_params | {n: v for n, v in own.items() if n in default_params}
        values[i.id] |= {} if isinstance(terms, str) else dict(terms)
    mine = values[info.id]
    n_values = {n: len({repr(v.get(n)) for v in values.values()}) for n in mine}
    # What has most values stands first: a narrow page cuts names at their end.
    differing = sorted((n for n in mine if n_values[n] > 1), key=lambda n: -n_values[n])
    return ", ".join(
        f"{_BRIEF.get(n) or n.removeprefix('n_').replace('_', ' ')} {mine[n]}" for n in differing
    )


def default_metric_of(dataset_id: str, pairs: PairSet) -> str:
    """The metric to look at first."""
    demo = state.demo_of(dataset_id)
    return _default_metric(pairs) if demo is None else demo.metric


@state.cached(64)
def _default_metric(pairs: PairSet) -> str:
    return default_metric(pairs.relevance).name


def best_first(dataset_id: str, pairs: PairSet, runs: Sequence[RunInfo]) -> list[RunInfo]:
    """Runs in the order of what is looked at first; the newest first where they are level."""
    if not runs:
        return []
    metric = default_metric_of(dataset_id, pairs)
    direction = preferences.current_direction(dataset_id, pairs)
    read = [state.run(info.id) for info in runs]
    values = {run.id: run_summary.value_of(run, metric, direction) for run in read}
    ordered = sorted(read, key=lambda run: run_summary.rank_key(values[run.id], metric))
    return [run.info for run in run_summary.base_first(ordered, metric, direction)]


def main_metric(dataset_id: str, pairs: PairSet, runs: Sequence[RunInfo]) -> str:
    """The metric to look at first, of those that some runs have."""
    default = default_metric_of(dataset_id, pairs)
    known = [name for name in runs[0].summary if all(name in run.summary for run in runs)]
    return default if default in known or not known else known[0]
