"""The Compare page from top to bottom, and what it says where there is nothing to compare."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from pages._shared import (
    chrome,
    compare_all_items,
    compare_blend,
    compare_choice,
    compare_table,
    jobs,
    naming,
    state,
)
from pages._shared.compare_choice import Choice
from pages._shared.compare_link import TABS, put_in_link
from pages._shared.compare_marks import plain

if TYPE_CHECKING:
    from simviz.data.pairs import PairSet

_STYLE = """
<style>
.sv-slim { font-size: .9rem; }
.sv-slim th, .sv-slim td { padding-left: .45rem; padding-right: .45rem; }
.sv-slim th, .sv-slim td:first-child { white-space: normal; }
.sv-next { line-height: 1.55; max-width: 56rem; opacity: .8; margin: 0 0 .4rem; }
</style>
"""


def show(dataset_id: str, pairs: PairSet) -> None:
    """Compare the finished runs on a data set.

    Parameters
    ----------
    dataset_id : str
        A data set that the visitor may see.
    pairs : PairSet
        Its content.
    """
    st.html(_STYLE)
    st.caption(
        plain(
            f"{naming.dataset_title(dataset_id, pairs.name)}: {len(pairs.x):,} {pairs.x_name} × "
            f"{len(pairs.y):,} {pairs.y_name}, {pairs.relevance.positives.nnz:,} relevant pairs"
        )
    )
    n_finished = len(state.runs(dataset_id))
    followed = [s for s in state.queue().jobs(state.workspace()) if _is_on(s, dataset_id)]
    # What ended without a result is told only where there is nothing else to see.
    shown = [s for s in followed if s.is_active or (not n_finished and not s.run_id)]
    if shown:
        jobs.show_progress([s.id for s in shown], key="compare")
    if not n_finished:
        _show_nothing_trained(dataset_id, waiting=any(s.is_active for s in shown))
        return
    compare_blend.take_kept()
    answer = st.container()  # stands above what it depends on
    choice = compare_choice.choose(dataset_id, pairs)
    if choice is None:
        return
    with answer:
        compare_table.show_finding(choice)
    compare_table.show_table(choice)
    compare_all_items.show(choice)
    st.space("small")
    _show_tabs(choice)


def show_no_data() -> None:
    """Where no data set was chosen yet."""
    st.markdown(
        "Runs on one data set are compared here: which finds the right answers, how sure that "
        "is, and for which queries they differ. Choose a data set first."
    )
    _offer_demos()


def show_unknown(message: str) -> None:
    """Where the link names a data set that is not there."""
    st.html(f'<p role="alert">{escape(message)}</p>')
    st.markdown("These are always there:")
    _offer_demos()


def _show_tabs(choice: Choice) -> None:
    """Only the open tab is computed."""
    from pages._shared import compare_curves, compare_queries, topics_view

    topical = topics_view.runs_with_topics(choice)
    fits = {"topics": bool(topical), "blend": len(choice.entries) > 1}
    known = {name: label for name, label in TABS.items() if fits.get(name, True)}
    # Tabs forget which one was open when another page is shown.
    if "compare-tab" not in st.session_state and "compare-open" in st.session_state:
        st.session_state["compare-tab"] = st.session_state["compare-open"]
    tabs = st.tabs(list(known.values()), key="compare-tab", on_change="rerun")
    show_tab = {
        "curves": compare_curves.show,
        "queries": compare_queries.show,
        "blend": compare_blend.show,
        "topics": lambda choice: topics_view.show(topical, choice.pairs),
    }
    for name, tab in zip(known, tabs, strict=True):
        if tab.open:
            st.session_state["compare-open"] = known[name]
            if name != "curves":  # which names the curve
                put_in_link(tab=name)
            if name != "queries":
                put_in_link(a=None, b=None, query=None)
            with tab:
                show_tab[name](choice)


def _show_nothing_trained(dataset_id: str, *, waiting: bool) -> None:
    if waiting:
        st.caption("The first result appears here as soon as it is there.")
        return
    st.markdown("Nothing has been trained on these data yet.")
    if (chrome.ROOT / "pages/train.py").exists():
        st.page_link(
            "pages/train.py",
            label="Choose methods to train",
            icon=":material/model_training:",
            query_params={"data": dataset_id},
        )
    if dataset_id.startswith("demo:"):
        st.page_link(
            "app.py",
            label="Train this demo's methods",
            icon=":material/play_arrow:",
            query_params={"demo": dataset_id.removeprefix("demo:")},
        )


def _offer_demos() -> None:
    from simviz.datasets import DEMOS

    with st.container(horizontal=True, vertical_alignment="center"):
        for demo, info in DEMOS.items():
            st.button(
                info.title,
                key=f"compare-demo-{demo}",
                on_click=state.choose_dataset,
                args=(f"demo:{demo}",),
            )
        if (chrome.ROOT / "pages/data.py").exists():
            st.page_link("pages/data.py", label="Use my own file", icon=":material/upload:")


def _is_on(status: object, dataset_id: str) -> bool:
    spec = getattr(status, "spec", None)
    return spec is not None and spec.dataset_id == dataset_id
