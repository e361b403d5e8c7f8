"""Finished runs as a table whose rows can be opened, named and deleted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared import (
    asking,
    compare_runs,
    forms,
    import_view,
    naming,
    parts,
    plain,
    results,
    runs_actions,
    splits,
    state,
)
from pages._shared.runs_metric import main_metric
from pages._shared.train_view import page_link
from simviz.exceptions import SimvizError

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.store import RunInfo

_PART = "On the validation part, by which methods and settings are chosen"


def show_runs(dataset_id: str, pairs: PairSet) -> None:
    """Show the runs on a data set, newest first.

    Parameters
    ----------
    dataset_id : str
        The data set.
    pairs : PairSet
        Its content.
    """
    runs = state.runs(dataset_id)
    if not runs:
        st.markdown("#### Finished runs")
        st.caption("None yet. What is trained above stays here, with its figures.")
        runs_actions.show_deleted(dataset_id)
        import_view.show(dataset_id, pairs)
        return
    _show_results(dataset_id, pairs, runs)
    chosen = _show_table(runs, dataset_id, pairs)
    runs_actions.show_deleted(dataset_id)
    if chosen:
        _show_actions(chosen)
    else:
        st.caption(
            "Tick a row to name it, train it again with a change or delete it; tick two "
            "or more to see what differs."
        )
    _show_splits(runs, main_metric(dataset_id, pairs, runs), asking.current(dataset_id, pairs))
    import_view.show(dataset_id, pairs)


def _show_results(dataset_id: str, pairs: PairSet, infos: Sequence[RunInfo]) -> None:
    """What the best runs of the split used last have found."""
    runs = [state.run(info.id) for info in infos]
    measured = {}
    for run in runs:
        with suppress(SimvizError):  # damaged: Compare says so
            measured[run.id] = compare_runs.read_measured(run)
    groups = compare_runs.group(runs, measured).values()
    group = next((g for run in runs for g in groups if run in g), None)
    if group is not None:
        metric = main_metric(dataset_id, pairs, [run.info for run in group])
        part = parts.current(dataset_id)
        known = next(iter(measured[group[0].id].parts.values())).told["directions"]
        direction = asking.current(dataset_id, pairs, known)
        best = compare_runs.ranked(group, measured, metric, direction, part)[: compare_runs.FEW]
        st.markdown("#### What they found")
        results.show(dataset_id, pairs, best, metric, direction, key="train")
    st.markdown("#### Finished runs")


def _show_table(runs: Sequence[RunInfo], dataset_id: str, pairs: PairSet) -> list[RunInfo]:
    """The table; answers with the runs whose rows are ticked."""
    import pandas as pd

    from simviz.charts import method_style

    metric, direction = main_metric(dataset_id, pairs, runs), asking.current(dataset_id, pairs)
    figure = f"{metric}, validation"
    split = splits.current_split(dataset_id)
    noted = any(run.note for run in runs)
    rows = [
        {
            "": "■",
            "run": naming.run_title(run),
            figure: _measured(run.id, metric, direction),
            "parameters": _differences(run, split),
            **({"note": run.note} if noted else {}),
            "time": run.seconds,
            "trained": datetime.fromtimestamp(run.created, UTC),
        }
        for run in runs
    ]
    colours = [f"color: {method_style(run.method, state.theme()).colour}" for run in runs]
    table = pd.DataFrame(rows)
    # A row is known by its place: another list of runs must not inherit what was ticked.
    ids = hashlib.blake2b("".join(run.id for run in runs).encode(), digest_size=6).hexdigest()
    event: Any = st.dataframe(
        table.style.apply(lambda _: colours, subset=[""]),
        key=f"train-runs-{ids}",
        on_select="rerun",
        selection_mode="multi-row",
        hide_index=True,
        column_config={
            "": st.column_config.TextColumn(width=30),
            "run": st.column_config.TextColumn(width="medium"),
            "parameters": st.column_config.TextColumn(
                help="Where they differ from the defaults", width="medium"
            ),
            figure: st.column_config.NumberColumn(format="%.3f", help=_PART),
            "time": st.column_config.NumberColumn(format="%.1f s"),
            "trained": st.column_config.DatetimeColumn(format="distance"),
        },
        alt="Finished runs: method, parameters, quality on the validation part, time",
    )
    return [runs[row] for row in event.selection.rows if row < len(runs)]


def _show_actions(chosen: Sequence[RunInfo]) -> None:
    """What can be done with the ticked runs."""
    from simviz.jobs.spec import BLEND, IMPORTED
    from simviz.jobs.topics import has_topics

    own = [run for run in chosen if not run.is_demo]
    with st.container(horizontal=True, vertical_alignment="center"):
        data, ids = chosen[0].dataset_id, ",".join(run.id for run in chosen)
        page_link("pages/compare.py", "Compare", ":material/leaderboard:", data=data, runs=ids)
        if len(chosen) == 1:
            page_link("pages/map.py", "Map", ":material/scatter_plot:", data=data, run=ids)
            if has_topics(chosen[0].method):
                to = {"data": data, "runs": ids, "tab": "topics"}
                page_link("pages/compare.py", "Topics", ":material/list:", **to)
            if chosen[0].method not in (BLEND, IMPORTED):
                with st.popover("Again, with a change", icon=":material/content_copy:"):
                    runs_actions.show_again(chosen[0])
            if own:
                with st.popover("Name and note", icon=":material/edit:"):
                    runs_actions.show_name_and_note(chosen[0])
        if own:
            n = len(own)
            st.button(
                "Delete" if n == 1 else f"Delete {n} runs",
                key="train-delete",
                icon=":material/delete:",
                on_click=runs_actions.delete,
                args=([run.id for run in own],),
            )
    if not own:
        plain.quiet("Runs of a demo belong to all: they cannot be named or deleted.")
    if len(chosen) > 1:
        names = list(compare_runs.label_runs(chosen).values())
        runs_actions.show_differences(chosen, names)
    elif chosen[0].note:
        plain.said(chosen[0].note)


def _show_splits(runs: Sequence[RunInfo], metric: str, direction: str) -> None:
    """Runs that differ in the seed of their split only: mean and spread."""
    rows = []
    for group in repeated(runs):
        told = [_measured(run.id, metric, direction) for run in group]
        values = [value for value in told if value is not None]
        if len(values) > 1:
            set_to = forms.in_words(naming.differing(group[0].method, group[0].spec["params"]))
            name = naming.trained_title(group[0].method, group[0].spec)
            rows.append([f"{name}, {set_to}" if set_to else name, f"{mean(values):.3f}",
                         f"{stdev(values):.3f}", str(len(values))])  # fmt: skip
    if not rows:
        return
    with st.expander("Across random splits", type="compact", key="train-splits"):
        rows.sort(key=lambda row: row[1], reverse=True)
        plain.table(["trained", f"mean {metric}", "standard deviation", "splits"], rows)


def repeated(runs: Sequence[RunInfo]) -> list[list[RunInfo]]:
    """Runs that are equal but for the seed of their split, where there are several.

    Parameters
    ----------
    runs : sequence of RunInfo
        On one data set.

    Returns
    -------
    list of list of RunInfo
        In the order of the runs.
    """
    groups: dict[str, list[RunInfo]] = {}
    for run in runs:
        split = {**run.spec["split"], "seed": None}
        groups.setdefault(json.dumps({**run.spec, "split": split}, sort_keys=True), []).append(run)
    return [group for group in groups.values() if len(group) > 1]


def _measured(run_id: str, metric: str, direction: str) -> float | None:
    """A figure of a run on its validation part."""
    run = state.run(run_id)
    value = compare_runs.read_measured(run).choosing_value(metric, direction)
    return None if value != value else value


def _differences(run: RunInfo, split: Any) -> str:
    """What sets a run apart: parameters off their defaults, another split."""
    spec = run.spec
    words = forms.in_words(naming.differing(run.method, spec["params"]))
    other = spec["split"]
    if (other["by"], tuple(other["fractions"]), other["seed"], other["group_key"]) == (
        split.by,
        split.fractions,
        split.seed,
        split.group_key,
    ):
        return words
    return f"{words}; " * bool(words) + f"other split: by {other['by']}, seed {other['seed']}"
