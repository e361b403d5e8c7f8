"""What pages show before there is data, or before anything is trained on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import streamlit as st

from simviz.data.pairs import PairSet
from simviz.datasets import DEMOS
from simviz.exceptions import SimvizError
from simviz.markdown import escape_markdown
from simviz.store import RunInfo
from simviz.workbench.shell import display, forms, frame, progress, runs, state


def show_demos(page: str, icon: str = "") -> None:
    """Show a button for each data set, one's own first, and the way to a file of one's own."""
    names: dict[str, str] = {}
    with suppress(SimvizError):
        names = state.dataset_names() if state.has_workspace() else {}
    with st.container(horizontal=True, vertical_alignment="center"):
        for own, name in names.items():
            if not own.startswith("demo:"):
                label, key = escape_markdown(name), f"{page}-own-{own}"
                forms.button(label, key, state.choose_dataset, own)
        for demo, info in DEMOS.items():
            choose, key = state.choose_dataset, f"{page}-demo-{demo}"
            forms.button(info.title, key, choose, f"demo:{demo}", icon=icon)
        frame.page_link("pages/data.py", "Upload your file", ":material/upload_file:")


def data_and_runs(
    title: str, text: str, follow_link: Callable[[str, PairSet], list[str]]
) -> tuple[PairSet, list[RunInfo]] | None:
    """Return the data set and its runs, the best first; else show what leads on from there.

    `follow_link` answers with the jobs to wait for.
    """
    dataset_id = state.current_dataset_id()
    if dataset_id is None:
        show_no_data("map", title, text)
        return None
    try:
        with st.spinner("Reading the data"):
            pairs = state.dataset(dataset_id)
        infos = runs.best_first(dataset_id, pairs, state.runs(dataset_id))
    except SimvizError as error:
        show_no_data("map", title, text, error)
        return None
    awaited = follow_link(dataset_id, pairs)
    if awaited or not infos:
        _show_untrained(dataset_id, awaited, title)
        return None
    return pairs, infos


def show_no_data(
    page: str, title: str, text: str, problem: object = None, *, icon: str = ""
) -> None:
    """Show a page without a data set: none is chosen, or there is a problem with it."""
    st.title(title)
    if problem is None:
        st.markdown(text)
    else:
        display.style()
        display.problem(problem)
    show_demos(page, icon)


def _show_untrained(dataset_id: str, awaited: Sequence[str], title: str) -> None:
    st.title(title)
    job_ids = list(awaited) or [
        status.id
        for status in state.jobs()
        if status.spec and status.spec.dataset_id == dataset_id and status.state != "succeeded"
    ]
    if job_ids:
        statuses = progress.show_progress(job_ids, key="map")
        if any(status.is_active for status in statuses):
            st.caption("This page opens when the first is ready.")
            return
    st.markdown("Nothing is trained on these data yet.")
    with st.container(horizontal=True, vertical_alignment="center"):
        if dataset_id.startswith("demo:"):
            text = "Train the demo's methods"
            forms.button(text, "map-train", _train_demo, dataset_id, type="primary")
        label, icon = "Choose a method to train", ":material/model_training:"
        frame.page_link("pages/train.py", label, icon, data=dataset_id)


@display.problems(show=display.toast)
def _train_demo(dataset_id: str) -> None:
    for spec in progress.demo_specs(dataset_id.removeprefix("demo:")):
        state.queue().submit(spec)
