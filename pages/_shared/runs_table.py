"""Finished runs as a table whose rows can be opened, named and deleted."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared import forms, naming, plain, splits, state
from pages._shared.results import value_of
from pages._shared.train_view import page_link
from simviz.exceptions import SimvizError

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.store import RunInfo


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
    st.markdown("#### Finished runs")
    if not runs:
        st.caption("None yet. What is trained above stays here, with its figures.")
        return
    chosen = _show_table(runs, dataset_id, pairs)
    if chosen:
        _show_actions(chosen)
    else:
        st.caption("Tick rows to compare them, or one to see its map.")


def _show_table(runs: Sequence[RunInfo], dataset_id: str, pairs: PairSet) -> list[RunInfo]:
    """The table; answers with the runs whose rows are ticked."""
    import pandas as pd

    from simviz.charts import method_style

    metric = main_metric(dataset_id, pairs, runs)
    split = splits.current_split(dataset_id)
    rows = [
        {
            "": "■",
            "run": naming.run_title(run),
            metric: _measured(run.id, metric),
            "parameters": _differences(run, split),
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
            metric: st.column_config.NumberColumn(format="%.3f", help="On the test part"),
            "time": st.column_config.NumberColumn(format="%.1f s"),
            "trained": st.column_config.DatetimeColumn(format="distance"),
        },
        alt="Finished runs: method, parameters, quality on the test part, time",
    )
    return [runs[row] for row in event.selection.rows if row < len(runs)]


def _show_actions(chosen: Sequence[RunInfo]) -> None:
    """What can be done with the ticked runs."""
    from simviz.jobs.topics import has_topics

    with st.container(horizontal=True, vertical_alignment="center"):
        data, ids = chosen[0].dataset_id, ",".join(run.id for run in chosen)
        page_link("pages/compare.py", "Compare", ":material/leaderboard:", data=data, runs=ids)
        if len(chosen) == 1:
            page_link("pages/map.py", "Map", ":material/scatter_plot:", data=data, run=ids)
            if has_topics(chosen[0].method):
                to = {"data": data, "runs": ids, "tab": "topics"}
                page_link("pages/compare.py", "Topics", ":material/list:", **to)
        if any(run.is_demo for run in chosen):
            plain.quiet("Runs of a demo belong to all: they cannot be renamed or deleted.")
            return
        if len(chosen) == 1:
            with st.popover("Rename", icon=":material/edit:"):
                _show_rename(chosen[0])
        n = len(chosen)
        with st.popover("Delete", icon=":material/delete:"):
            st.markdown("This cannot be undone.")
            st.button(
                "Delete this run" if n == 1 else f"Delete {n} runs",
                key="train-delete",
                type="primary",
                on_click=_delete,
                args=([run.id for run in chosen],),
            )


def _show_rename(run: RunInfo) -> None:
    key = f"train-name-{run.id}"
    st.text_input(
        "Name",
        value=run.name,
        key=key,
        max_chars=80,
        placeholder="the name of its method",
        on_change=_rename,
        args=(run.id, key),
    )


def _rename(run_id: str, key: str) -> None:
    name = st.session_state[key].strip()
    state.store().rename_run(run_id, state.workspace(), name=name)


def _delete(run_ids: Sequence[str]) -> None:
    for run_id in run_ids:
        try:
            state.store().delete_run(run_id, state.workspace())
        except SimvizError:
            continue  # gone already, in another tab


def main_metric(dataset_id: str, pairs: PairSet, runs: Sequence[RunInfo]) -> str:
    """The one metric to look at first.

    Parameters
    ----------
    dataset_id : str
        A data set; a demo names its own.
    pairs : PairSet
        Its content.
    runs : sequence of RunInfo
        Runs on it.

    Returns
    -------
    str
        Name of a metric that all of them have.
    """
    from simviz.datasets import DEMOS

    demo = dataset_id.removeprefix("demo:")
    relevance = pairs.relevance
    usual = "AUC" if relevance.unjudged == "ignore" else "MRR"
    if relevance.kind == "score":
        usual = "Spearman"
    if demo != dataset_id and demo in DEMOS:
        usual = DEMOS[demo].metric
    known = [name for name in runs[0].summary if all(name in run.summary for run in runs)]
    return usual if usual in known or not known else known[0]


@st.cache_data(show_spinner=False, max_entries=3_000)
def _measured(run_id: str, metric: str) -> float | None:
    """A figure of a run, in the direction its split asks for; runs never change."""
    run = state.run(run_id)
    direction = "y2x" if run.info.spec["split"]["by"] == "y" else "mean"
    try:
        return float(value_of(run.records(), metric, direction)["value"])
    except StopIteration:
        return run.info.summary.get(metric)


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
