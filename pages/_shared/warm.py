"""Loading the heavy libraries behind the first page, so that the first click is quick."""

from __future__ import annotations

import importlib
import threading

import streamlit as st

_DELAY = 1.0  # seconds; the page is painted first, imports would compete with it


@st.cache_resource(show_spinner=False)
def start() -> threading.Thread:
    """Begin once a server, in the background."""
    thread = threading.Timer(_DELAY, _load)
    thread.daemon = True
    thread.start()
    return thread


def _load() -> None:
    """Import what training needs and compile its kernels on a handful of pairs."""
    for module in ("simviz.jobs.queue", "simviz.charts.map", "plotly.graph_objects"):
        importlib.import_module(module)
    from simviz.data.pairs import PairSet
    from simviz.evaluation import evaluate
    from simviz.pipeline import default_pipeline

    words = ["red heart", "blue car", "green tree", "small bird", "big whale", "old moon"]
    pairs = PairSet.from_texts(words, [word[::-1] for word in words])
    pipeline = default_pipeline("cca", pairs, n_components=2, shared=False).fit(pairs)
    evaluate(pipeline, pairs.x, pairs.y, pairs.relevance)
