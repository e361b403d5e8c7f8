"""The Curves tab: one kind of curve at a time."""

from __future__ import annotations

import streamlit as st

from simviz.exceptions import SimvizError
from simviz.workbench.compare.choice import CURVES, Choice, put_in_link
from simviz.workbench.compare.curves import dimensions, pairs, training
from simviz.workbench.shell import display
from simviz.workbench.shell.figures import segments

_SHOW = {
    "roc": pairs.show_roc,
    "precision": pairs.show_precision,
    "det": pairs.show_det,
    "scores": pairs.show_histograms,
    "reliability": pairs.show_reliability,
    "dimensions": dimensions.show,
    "training": training.show_training,
    "size": training.show_sizes,
}


def show(choice: Choice) -> None:
    """Choose a kind of curve and show it for all runs."""
    if st.session_state.get("compare-curve") not in CURVES:
        st.session_state["compare-curve"] = "roc"
    _show_curve(choice)


@st.fragment
def _show_curve(choice: Choice) -> None:
    """Run by itself, so that what is changed about a curve leaves the rest of the page alone."""
    kind = segments("Curve", CURVES, "compare-curve", label_visibility="collapsed", wrap=True)
    put_in_link(tab=kind)
    try:
        _SHOW[kind](choice)
    except SimvizError as error:  # a model that was deleted since, or is damaged
        display.problem(error)
