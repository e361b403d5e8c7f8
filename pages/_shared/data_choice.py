"""Choosing data: demos as cards, a file of one's own, what was kept before."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import streamlit as st

from pages._shared import plain, state, upload, upload_view, upload_ways

if TYPE_CHECKING:
    from simviz.store import DatasetInfo


_REFUSED = "data-refused"  # in the session: why something could not be deleted


def show() -> None:
    """Offer all there is; a file that waits comes first and alone."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("#### Your own data", width="content")
        upload_ways.show_templates()
    upload_ways.show_uploader()
    file = upload.waiting()
    if file is not None:
        upload_view.show_waiting(file)
        return
    plain.quiet(
        "Which column is which is guessed, and can be corrected before anything is kept. What "
        "you keep is seen in your own workspace only."
    )
    st.space("small")
    st.markdown("#### Demos")
    _show_demos()
    _show_own()


def _show_demos() -> None:
    from simviz.datasets import DEMOS

    for position, (demo, info) in enumerate(DEMOS.items()):
        if position % 2 == 0:  # row by row, so that their order stays on a narrow screen
            columns = st.columns(2, gap="medium")
        with columns[position % 2].container(border=True):
            st.markdown(f"**{info.title}**")
            st.markdown(info.description)
            st.caption(info.size)
            st.button(
                f"Use {demo}",
                key=f"data-demo-{demo}",
                on_click=_choose,
                args=(f"demo:{demo}",),
            )
            st.caption(f"Data: {info.source}. {info.licence}.")


def _show_own() -> None:
    """What was kept in this workspace, newest first."""
    own = [info for info in state.store().list_datasets(state.workspace()) if not info.is_demo]
    if refused := st.session_state.pop(_REFUSED, ""):
        plain.problem(refused)
    if not own:
        return
    st.space("small")
    st.markdown("#### Kept before")
    for info in own:
        with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
            with st.container(width="stretch", gap=None):
                plain.said(info.name)
                plain.quiet(_describe(info))
            st.button("Use", key=f"data-use-{info.id}", on_click=_choose, args=(info.id,))
            with st.popover("Delete", type="tertiary", key=f"data-ask-{info.id}"):
                st.write(_warning(info))
                st.button(
                    "Delete for good",
                    key=f"data-delete-{info.id}",
                    on_click=_delete,
                    args=(info.id,),
                    type="primary",
                )


def _describe(info: DatasetInfo) -> str:
    kept = datetime.fromtimestamp(info.created).strftime("%-d %B %Y, %H:%M")
    judged = "" if info.n_judged == info.n_relevant else f" of {info.n_judged:,} judged"
    return (
        f"{info.n_x:,} {info.x_name} × {info.n_y:,} {info.y_name}, {info.n_relevant:,} relevant"
        f"{judged} pairs · {info.n_bytes / 1e6:.1f} MB · {kept}"
    )


def _warning(info: DatasetInfo) -> str:
    from simviz.data.wording import counted

    n_runs = len(state.runs(info.id))
    runs = f"and {counted(n_runs, 'run')} trained on it go" if n_runs else "goes"
    return f"The data set {runs}. This cannot be undone."


def _choose(dataset_id: str) -> None:
    upload.drop()
    state.choose_dataset(dataset_id)
    st.session_state["data-view"] = "this"


def _delete(dataset_id: str) -> None:
    """Stop what still trains on it, delete it, and work on nothing if it was the current one."""
    from simviz.exceptions import SimvizError

    try:
        for job in state.queue().jobs(state.workspace()):
            if job.is_active and job.spec and job.spec.dataset_id == dataset_id:
                state.queue().cancel(job.id, state.workspace())
        state.store().delete_dataset(dataset_id, state.workspace())
    except SimvizError as error:
        st.session_state[_REFUSED] = str(error)
        return
    state.forget_dataset(dataset_id)
