"""Which methods? Choose, configure, train, cancel; what was trained before."""

import streamlit as st

from pages._shared import chrome, runs_table, state, train_jobs, train_search, train_view, warm
from simviz.exceptions import SimvizError

chrome.begin("Train")
dataset_id = state.current_dataset_id()
if "share" in st.query_params:
    train_view.show_shared()
elif dataset_id is None:
    train_view.show_empty()
else:
    try:
        pairs = state.dataset(dataset_id)
    except SimvizError as error:
        train_view.show_unknown(str(error))
    else:
        train_view.show_head(dataset_id, pairs)
        train_view.show_choice(dataset_id, pairs)
        train_jobs.show_jobs(dataset_id)
        train_search.show_searches(dataset_id)
        runs_table.show_runs(dataset_id, pairs)
chrome.end()
warm.start_topics()
