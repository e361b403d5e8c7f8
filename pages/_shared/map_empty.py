"""A page before there is anything to draw or to ask, and how to get there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from pages._shared import jobs, plain, state

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet
    from simviz.jobs.placed import Placed

TITLE = "What does it look like?"


WORDS = (
    "A map puts both sides into one picture: words among the pictures they mean, titles "
    "beside their translation. It needs data and one trained method."
)


def show_no_data(title: str = TITLE, words: str = WORDS) -> None:
    """No data set is chosen yet."""
    st.title(title)
    st.markdown(words)
    _show_ways_out()


def show_unknown(reason: str, title: str = TITLE) -> None:
    """The data set is not there for this visitor."""
    st.title(title)
    plain.style()
    plain.problem(reason)
    _show_ways_out()


def say_sample(placed: Placed, pairs: PairSet, seed: int) -> None:
    """Say that a large data set is drawn in part, and how that part was chosen.

    Parameters
    ----------
    placed : Placed
        The drawing as it is kept.
    pairs : PairSet
        Its data set.
    seed : int
        Of the sample.
    """
    parts = [
        f"{len(rows):,} of {len(items):,} {name}"
        for rows, items, name in (
            (placed.x_rows, pairs.x, pairs.x_name),
            (placed.y_rows, pairs.y, pairs.y_name),
        )
        if len(rows) < len(items)
    ]
    if parts:
        plain.quiet(
            f"Drawn: {' and '.join(parts)}, a random sample (seed {seed}) that keeps pairs "
            "together. What you select is always shown, and every search asks all items."
        )


def show_untrained(
    dataset_id: str, asked: Sequence[str] = (), title: str = TITLE, verb: str = "draw"
) -> None:
    """Nothing has been trained yet; what runs is shown until it has ended.

    Parameters
    ----------
    dataset_id : str
        A data set the visitor may see.
    asked : sequence of str, optional
        Jobs that a link has started.
    title : str
        Of the page.
    verb : str
        What the page would do.
    """
    st.title(title)
    job_ids = list(asked) or [
        status.id
        for status in state.queue().jobs(state.workspace())
        if status.spec and status.spec.dataset_id == dataset_id and status.state != "succeeded"
    ]
    if job_ids:
        statuses = jobs.show_progress(job_ids, key="map")
        if any(status.is_active for status in statuses):
            st.caption("This page goes on as soon as the first of them is ready.")
            return
    st.markdown(f"Nothing is trained on these data yet, so there is nothing to {verb}.")
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
