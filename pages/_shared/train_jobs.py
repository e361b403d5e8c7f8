"""Jobs on a data set: what trains, and what ended without a run."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import streamlit as st

from pages._shared import jobs, plain, state
from simviz.exceptions import SimvizError

if TYPE_CHECKING:
    from simviz.jobs import JobSpec, JobStatus

_SCROLL = """<script>
document.querySelector(".st-key-train-jobs")?.scrollIntoView(
  {behavior: "smooth", block: "nearest"});
</script>"""
#: Trainings that are asked for at once, at most.
MOST = 40
#: Ended jobs that are shown; older ones are only counted.
_SHOWN = 5
_REFUSAL, _LOOK = "train-refusal", "train-look"
#: In the session: how often something was asked for.
TURN = "train-turn"


def submit(specs: Iterable[JobSpec]) -> None:
    """Ask for jobs; the page then runs anew and shows them.

    Parameters
    ----------
    specs : iterable of JobSpec
        What to train. Where one is refused, those before it are asked for and
        the reason is shown beside them.
    """
    try:
        for spec in specs:
            state.queue().submit(spec)
    except SimvizError as error:
        st.session_state[_REFUSAL] = str(error)
    st.session_state[_LOOK] = True
    st.session_state[TURN] = st.session_state.get(TURN, 0) + 1
    st.rerun(scope="app")


def show_jobs(dataset_id: str) -> None:
    """What trains on these data, and what ended without a run."""
    refusal = st.session_state.pop(_REFUSAL, None)
    active, ended = jobs_on(dataset_id)
    if not active and not ended and not refusal:
        return
    with st.container(key="train-jobs"):
        st.markdown("#### In training" if active else "#### Not finished")
        if said := _by_whom():
            st.caption(said)
        if refusal:
            plain.problem(refusal)
        jobs.show_progress([s.id for s in active + ended[:_SHOWN]], key="train")
        if len(active) > 2:
            st.button(
                f"Cancel all {len(active)}",
                key="train-cancel-all",
                type="tertiary",
                icon=":material/stop_circle:",
                on_click=_cancel,
                args=([s.id for s in active],),
            )
        if ended:
            older = len(ended) - _SHOWN
            st.button(
                "Clear what has ended" + (f", {older} older too" if older > 0 else ""),
                key="train-clear",
                type="tertiary",
                icon=":material/clear_all:",
                on_click=forget,
                args=([s.id for s in ended],),
            )
    if st.session_state.pop(_LOOK, False):
        # The list of methods may be long: what was just started should be in sight.
        st.html(_SCROLL, unsafe_allow_javascript=True)


def _by_whom() -> str:
    """Who does the jobs, where it is not this server."""
    room = state.deployment()
    if not room.scheduler:
        return ""
    from simviz.cluster.service import ClusterQueue

    queue = state.queue()
    is_told = isinstance(queue, ClusterQueue)
    return queue.in_words(with_address=not room.public) if is_told else ""


def jobs_on(dataset_id: str) -> tuple[list[JobStatus], list[JobStatus]]:
    """Jobs on a data set that wait or run, and the last attempts that failed; newest first."""
    runs = {run.id for run in state.runs(dataset_id)}
    active, ended, seen = [], [], set()
    for status in state.queue().jobs(state.workspace()):
        digest = status.id.rpartition("-")[0]
        if status.spec is None or status.spec.dataset_id != dataset_id or digest in seen:
            continue
        seen.add(digest)
        if status.is_active:
            active.append(status)
        elif status.state != "succeeded" and digest not in runs:
            ended.append(status)
    return active[::-1], ended


def _cancel(job_ids: Iterable[str]) -> None:
    for job_id in job_ids:
        with suppress(SimvizError):  # it has ended meanwhile
            state.queue().cancel(job_id, state.workspace())


def forget(job_ids: Iterable[str]) -> None:
    """Take jobs out of sight, and with them the earlier attempts at the same."""
    digests = {job_id.rpartition("-")[0] for job_id in job_ids}
    for status in state.queue().jobs(state.workspace()):
        if status.id.rpartition("-")[0] in digests and not status.is_active:
            state.store().unfollow(status.id, state.workspace())
