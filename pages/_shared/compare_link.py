"""The link of the Compare page: ids and chosen values, never content."""

from __future__ import annotations

import re

import streamlit as st

from pages._shared import state
from simviz.exceptions import SimvizError
from simviz.store.run import metric_name

#: Tabs by what the link calls them.
TABS = {
    "curves": "Curves",
    "queries": "Where they differ",
    "topics": "Topics",
    "blend": "Blend",
}
#: Curves of the first tab by what the link calls them, in place of the tab.
CURVES = {
    "roc": "ROC",
    "precision": "Precision–recall",
    "det": "DET",
    "scores": "Scores",
    "reliability": "Reliability",
    "dimensions": "Dimensions",
    "training": "Training",
    "size": "Training size",
}
#: Values remembered for each parameter of the address.
_WRITTEN = 200
#: Parameters that say what is looked at, of whatever runs.
VIEW = ("part", "direction", "metric", "against", "test", "correction", "tab", "a", "b", "query")
_RUN = re.compile(r"[0-9a-f]{32}")
_PLACE = re.compile(r"(x2y|y2x):(\d{1,9})")


def follow_link() -> None:
    """Take what a published view shows, or the data set of the runs that a link names."""
    if "share" in st.query_params:
        _follow_share(st.query_params["share"])
        return
    if "data" in st.query_params or "demo" in st.query_params:
        return
    for run_id in _run_ids(st.query_params.get("runs") or st.query_params.get("run") or ""):
        try:
            st.session_state.dataset_id = state.run(run_id).info.dataset_id
        except SimvizError:
            continue
        return


def _follow_share(token: str) -> None:
    """Set the address as its owner saw it, once a visit: what the visitor changes then stays."""
    if st.session_state.get("compare-share") == token:
        return
    try:
        seen = state.share()
    except SimvizError:  # the page says so
        return
    st.session_state["compare-share"] = token
    if seen is not None and seen.kind == "compare":
        told = {k: v for k, v in seen.view.items() if k in VIEW and k not in st.query_params}
        st.query_params.update(told)


def view() -> dict[str, str]:
    """What is on the screen, for a published view: all of the address but data and runs."""
    return {name: st.query_params[name] for name in VIEW if name in st.query_params}


def put_in_link(**values: str | None) -> None:
    """Keep these parameters in the address, or take them out."""
    for name, value in values.items():
        if value is None:
            st.query_params.pop(name, None)
            continue
        _written(name)[value] = None
        if st.query_params.get(name) != value:
            st.query_params[name] = value


def take_over() -> None:
    """Set the widgets as the link says."""
    for name in ("metric", "a", "b", "test", "correction", "against"):
        if value := asked(name):
            st.session_state[f"compare-{name}"] = metric_name(value) if name == "metric" else value
            if name == "test":
                st.session_state["compare-pair-test"] = value
    tab = asked("tab")
    if tab in CURVES:
        st.session_state["compare-curve"] = tab
        tab = "curves"
    if tab in TABS:
        st.session_state["compare-open"] = st.session_state["compare-tab"] = TABS[tab]


def asked(name: str) -> str:
    """A parameter of the link, if it is news; else nothing."""
    value = st.query_params.get(name, "")
    return "" if value in _written(name) else value


def asked_runs() -> list[str]:
    """Runs that the link names, if that is news."""
    return _run_ids(asked("runs") or asked("run"))


def linked_query() -> tuple[str, int] | None:
    """The query that the link names: direction, and position on its side of the data."""
    found = _PLACE.fullmatch(st.query_params.get("query", ""))
    return (found[1], int(found[2])) if found else None


def _written(name: str) -> dict[str, None]:
    """What this page has put into the address before.

    A click may arrive with the address of an earlier run of the page: only what the page
    never wrote was typed or followed by the visitor.
    """
    values: dict[str, None] = st.session_state.setdefault("compare-written", {}).setdefault(
        name, {}
    )
    while len(values) > _WRITTEN:
        del values[next(iter(values))]
    return values


def _run_ids(given: str) -> list[str]:
    return [run_id for run_id in given.split(",") if _RUN.fullmatch(run_id)]
