"""Jobs on a data set: what trains, what ended without a run, and what searches found."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import streamlit as st

from simviz.charts.tuning import selection_figure, value_text
from simviz.data.cells import counted
from simviz.evaluation.tuning import Selection
from simviz.exceptions import SimvizError
from simviz.jobs import JobSpec, JobStatus
from simviz.jobs.spec import SearchSpec
from simviz.workbench.shell import display, forms, progress, state
from simviz.workbench.shell.charts import show_chart

_SCROLL = """<script>
document.querySelector(".st-key-train-jobs")?.scrollIntoView(
  {behavior: "smooth", block: "nearest"});
</script>"""
#: Trainings that are asked for at once, at most.
MAX_RUNS = 40
#: Ended jobs that are shown, older ones are only counted; and searches, older ones are forgotten.
_SHOWN, _SHOWN_SEARCHES = 5, 6
RULES = {"best": "Best", "one_se": "Simplest near the best"}
# In the session: why a request was refused, and whether to scroll to the jobs.
_REFUSAL, _SCROLL_DOWN = "train-refusal", "train-look"
#: In the session: how often something was asked for.
N_SUBMITTED = "train-turn"


def submit(specs: Iterable[JobSpec]) -> None:
    """Ask for jobs; the page then runs anew and shows them."""
    with display.problems(show=display.later(_REFUSAL)):
        for spec in specs:
            state.queue().submit(spec)
    st.session_state[_SCROLL_DOWN] = True
    st.session_state[N_SUBMITTED] = st.session_state.get(N_SUBMITTED, 0) + 1
    st.rerun(scope="app")


def show_jobs(dataset_id: str) -> None:
    """Show what trains on these data, and what ended without a run."""
    refusal = st.session_state.pop(_REFUSAL, None)
    active, ended = jobs_on(dataset_id)
    if not active and not ended and not refusal:
        return
    with st.container(key="train-jobs"):
        st.markdown("#### In training" if active else "#### Not finished")
        if text := _cluster_text():
            st.caption(text)
        if refusal:
            display.problem(refusal)
        progress.show_progress([s.id for s in active + ended[:_SHOWN]], key="train")
        if len(active) > 2:
            label, icon = f"Cancel all {len(active)}", "stop_circle"
            forms.quiet_button(
                label, "train-cancel-all", _cancel, [s.id for s in active], icon=icon
            )
        if ended:
            older, digests = len(ended) - _SHOWN, {s.digest for s in ended}
            label = "Clear finished" + (f", {older} older too" if older > 0 else "")
            forms.quiet_button(label, "train-clear", forget, digests, icon="clear_all")
    if st.session_state.pop(_SCROLL_DOWN, False):
        # The list of methods may be long: what was just started should be in sight.
        st.html(_SCROLL, unsafe_allow_javascript=True)


def _cluster_text() -> str:
    """Return who does the jobs, where it is not this server."""
    if not state.deployment().scheduler:
        return ""
    from simviz.jobs.cluster_queue import ClusterQueue

    queue, is_public = state.queue(), state.deployment().public
    return queue.describe(with_address=not is_public) if isinstance(queue, ClusterQueue) else ""


def jobs_on(dataset_id: str) -> tuple[list[JobStatus], list[JobStatus]]:
    """Return active jobs on a data set, and the last attempts that failed, newest first."""
    runs = {run.id for run in state.runs(dataset_id)}
    active, ended, seen = [], [], set()
    for status in state.jobs():
        if status.spec is None or status.spec.dataset_id != dataset_id or status.digest in seen:
            continue
        seen.add(status.digest)
        if status.is_active:
            active.append(status)
        elif status.state != "succeeded" and status.digest not in runs:
            ended.append(status)
    return active[::-1], ended


def _cancel(job_ids: Iterable[str]) -> None:
    for job_id in job_ids:
        with suppress(SimvizError):  # it has ended meanwhile
            state.queue().cancel(job_id, state.workspace())


def forget(digests: Iterable[str]) -> None:
    """Take all attempts at some requests out of sight."""
    for status in state.jobs():
        if status.digest in digests and not status.is_active:
            state.store().jobs.unfollow(status.id, state.workspace())


def show_searches(dataset_id: str) -> None:
    """Show the searches on a data set, newest first."""
    ended = searches(dataset_id)
    if not ended:
        return
    st.markdown("#### Best values found")
    for i, status in enumerate(ended[:_SHOWN_SEARCHES]):
        try:
            selection = _selection(status.id, state.workspace())
        except SimvizError as error:
            display.problem(error)
            continue
        spec, selected = cast("SearchSpec", status.spec), selection.selected
        result = f"{forms.describe(selected.params)} · {selection.metric} {selected.mean:.3f}"
        label = f"{spec.training().title}: {result}"
        with st.expander(label, expanded=i == 0, key=f"train-found-{status.id}"):
            _show_selection(status, spec, selection)


def searches(dataset_id: str) -> list[JobStatus]:
    """Return searches on a data set that found something, newest first, each request once."""
    seen: dict[str, JobStatus] = {}
    for status in state.jobs():
        spec = status.spec if status.state == "succeeded" else None
        if isinstance(spec, SearchSpec) and spec.dataset_id == dataset_id:
            seen.setdefault(status.digest, status)
    return list(seen.values())


# A search that has ended never changes; the workspace keeps one visitor's from another.
@st.cache_data(show_spinner=False, max_entries=200)
def _selection(job_id: str, workspace: str) -> Selection:
    return state.queue().result(job_id, workspace).value


@st.fragment
def _show_selection(status: JobStatus, spec: SearchSpec, selection: Selection) -> None:
    key = f"train-found-{status.id}"
    rule = forms.segmented(
        "Choose",
        RULES,
        f"{key}-rule",
        default="best",
        help="The simplest of those within one standard error of the best (fewer dimensions, "
        "more regularisation) is often as good on new pairs, smaller and quicker.",
    )
    picked = replace(selection, rule=rule)
    n_folds = selection.n_folds
    measured_on = "on the validation part" if n_folds == 1 else f"the mean of {n_folds} folds"
    selected = picked.selected
    display.sentence(
        f"{forms.describe(selected.params)}: {selection.metric} {selected.mean:.3f}"
        + (f" ± {selected.spread:.3f}" if selected.spread == selected.spread else "")
        + f", {measured_on}."
    )
    left, right = st.columns([5, 3], gap="large")
    with left:
        _draw(picked, key)
    with right:
        failed = [t for t in selection.trials if t.reason and t.mean != t.mean]
        seconds = sum(trial.seconds for trial in selection.trials)
        fits = counted(selection.n_fits, "fit")
        display.quiet(
            f"{len(selection.trials)} settings from {fits} in {max(1, round(seconds))} s. "
            "Held-out parts are smaller, with fewer candidates, so figures are higher than those "
            "of a run."
        )
        if failed:
            display.quiet(f"{len(failed)} could not be tried: {failed[0].reason}")
        _show_actions(status, spec, selected.params, key)
    with st.expander("All that was tried", type="compact", key=f"{key}-all"):
        _show_table(picked)


def _draw(selection: Selection, key: str) -> None:
    records = selection.to_records()
    names = list(selection.trials[0].params)
    n_values = {name: len({value_text(row[name]) for row in records}) for name in names}
    varied = [name for name in names if n_values[name] > 1] or names[:1]
    varied.sort(key=lambda name: -n_values[name])
    shown: Sequence[str] = varied[:2]
    if len(varied) > 2:
        shown = st.multiselect(
            "Draw",
            varied,
            default=varied[:2],
            max_selections=2,
            key=f"{key}-draw",
            help="Of settings that differ in something else, the best is drawn.",
        )
        if not shown:
            return
    how: Any = {"metric": selection.metric, "higher_is_better": selection.higher_is_better}
    figure = selection_figure(records, list(shown), **how, theme=state.theme())
    show_chart(figure, f"{key}-chart", height=300 if state.is_narrow() else 340)


def _show_actions(status: JobStatus, spec: SearchSpec, params: Any, key: str) -> None:
    again = spec.training(**params)
    again = replace(again, params=again.non_default_params, workspace=state.workspace())
    if state.store().runs.has(again.digest):
        st.caption(":material/check: Trained with these: it is one of the runs below.")
    else:
        label, icon = "Train with these", "model_training"
        if forms.button(label, f"{key}-train", icon=icon, type="primary"):
            submit([again])
    if forms.quiet_button("Discard", f"{key}-forget", icon="close"):
        forget({status.digest})
        st.rerun(scope="app")


def _show_table(selection: Selection) -> None:
    import pandas as pd

    sign = -1 if selection.higher_is_better else 1

    def rank(row: dict[str, Any]) -> tuple[bool, float]:
        value = row["value"]
        return not row["chosen"], sign * value if value == value else math.inf

    rows = []
    for row in sorted(selection.to_records(), key=rank):
        shown = {name: value_text(row[name]) for name in selection.trials[0].params}
        shown |= {selection.metric: row["value"], "standard error": row["standard_error"]}
        result = "chosen" if row["chosen"] else row["reason"]
        rows.append(shown | {"time": row["seconds"], "": result})
    formats = {selection.metric: "%.4f", "standard error": "%.4f", "time": "%.2f s"}
    number = st.column_config.NumberColumn
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        column_config={name: number(format=form) for name, form in formats.items()},
        alt=f"Settings that were tried, with {selection.metric}",
    )
