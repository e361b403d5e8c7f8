"""The Curves tab: one kind of curve at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from simviz.exceptions import SimvizError
from simviz.workbench.compare.choice import CURVES, Choice, put_in_link
from simviz.workbench.shell import display

if TYPE_CHECKING:
    pass


def show(choice: Choice) -> None:
    """Choose a kind of curve and show it for all runs."""
    if st.session_state.get("compare-curve") not in CURVES:
        st.session_state["compare-curve"] = "roc"
    _show_curve(choice)


@st.fragment
def _show_curve(choice: Choice) -> None:
    """Run by itself, so that what is changed about a curve leaves the rest of the page alone."""
    from simviz.workbench.compare.curves import dimensions, pairs as compare_scores, training

    kind: str = st.segmented_control(
        "Curve",
        list(CURVES),
        format_func=CURVES.__getitem__,
        key="compare-curve",
        required=True,
        label_visibility="collapsed",
        persist_state="session",
        wrap=True,
    )
    put_in_link(tab=kind)
    shown: dict[str, Callable[[Choice], None]] = {
        "roc": compare_scores.show_roc,
        "precision": compare_scores.show_precision,
        "det": compare_scores.show_det,
        "scores": compare_scores.show_histograms,
        "reliability": compare_scores.show_reliability,
        "dimensions": dimensions.show,
        "training": training.show_training,
        "size": training.show_sizes,
    }
    try:
        shown[kind](choice)
    except SimvizError as error:  # a model that was deleted since, or is damaged
        display.problem(error)
