"""The map before there is anything to draw, and how to get there."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages._shared import jobs, plain, state

TITLE = "What does it look like?"


def show_no_data() -> None:
    """No data set is chosen yet."""
    st.title(TITLE)
    st.markdown(
        "A map puts both sides into one picture: words among the pictures they mean, titles "
        "beside their translation. It needs data and one trained method."
    )
    _show_ways_out()


def show_unknown(reason: str) -> None:
    """The data set is not there for this visitor."""
    st.title(TITLE)
    plain.style()
    plain.problem(reason)
    _show_ways_out()


def show_untrained(dataset_id: str, asked: Sequence[str] = ()) -> None:
    """Nothing has been trained yet; what runs is shown until it has ended.

    Parameters
    ----------
    dataset_id : str
        A data set the visitor may see.
    asked : sequence of str, optional
        Jobs that a link has started.
    """
    st.title(TITLE)
    job_ids = list(asked) or [
        status.id
        for status in state.queue().jobs(state.workspace())
        if status.spec and status.spec.dataset_id == dataset_id and status.state != "succeeded"
    ]
    if job_ids:
        statuses = jobs.show_progress(job_ids, key="map")
        if any(status.is_active for status in statuses):
            st.caption("The map is drawn as soon as the first of them is ready.")
            return
    st.markdown("Nothing is trained on these data yet, so there is nothing to draw.")
    with st.container(horizontal=True, vertical_alignment="center"):
        if dataset_id.startswith("demo:"):
            st.button(
                "Train the demo's methods",
                key="map-train",
                type="primary",
                on_click=_train_demo,
                args=(dataset_id,),
            )
        st.page_link(
            "pages/train.py",
            label="Choose a method to train",
            icon=":material/model_training:",
            query_params={"data": dataset_id},
        )


def _train_demo(dataset_id: str) -> None:
    for spec in jobs.demo_specs(dataset_id.removeprefix("demo:")):
        state.queue().submit(spec)


def _show_ways_out() -> None:
    from simviz.datasets import DEMOS

    with st.container(horizontal=True, vertical_alignment="center"):
        for demo, info in DEMOS.items():
            st.button(
                info.title,
                key=f"map-demo-{demo}",
                on_click=state.choose_dataset,
                args=(f"demo:{demo}",),
            )
        st.page_link("pages/data.py", label="Use my own file", icon=":material/upload_file:")
