"""Which is better? Finished runs side by side, then query by query."""

import streamlit as st

from pages._shared import chrome, compare_link, compare_view, state
from simviz.exceptions import SimvizError

compare_link.follow_link()
chrome.begin("Compare")
st.title("Which is better?")
dataset_id = state.current_dataset_id()
if dataset_id is None:
    compare_view.show_no_data()
else:
    try:
        compare_view.show(dataset_id, state.dataset(dataset_id))
    except SimvizError as error:
        compare_view.show_unknown(str(error))
chrome.end()
