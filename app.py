"""Home: what simviz is, and demos that train on the spot."""

import os

# OpenBLAS reads it when numpy is first imported: see simviz/__init__.py.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "10")

import streamlit as st

from pages._shared import chrome, home

chrome.begin("Home")
demo = st.query_params.get("demo")
if demo in home.demos():
    home.show_demo(demo)
else:
    home.show_cards()
chrome.end()
