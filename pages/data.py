"""Data: what there is, whether it was understood, and how it is split."""

import streamlit as st

from pages._shared import chrome, data_choice, data_view, plain, state, upload
from simviz.exceptions import StoreError

VIEWS = {"this": "This data set", "other": "Other data"}

chrome.begin("Data")
plain.style()
info, problem = None, ""
dataset_id = state.current_dataset_id()
if dataset_id is not None:
    try:
        owner = None if state.share() else state.workspace()
        info = state.store().get_dataset_info(dataset_id, owner)
    except StoreError as error:
        problem = str(error)
with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
    st.title("What do I have?", width="content")
    view = "other"
    if info is not None and state.share() is not None:
        view = "this"
    elif info is not None:
        if st.query_params.pop("view", "") == "other":
            st.session_state["data-view"] = "other"
        st.session_state.setdefault("data-view", "other" if upload.waiting() else "this")
        view = st.segmented_control(
            "Show",
            list(VIEWS),
            format_func=VIEWS.__getitem__,
            required=True,
            key="data-view",
            label_visibility="collapsed",
        )
if problem:
    plain.problem(f"{problem} Choose one of the demos below, or bring a file of your own.")
if info is not None and view == "this":
    data_view.show(info)
else:
    data_choice.show()
chrome.end()
