"""Loading the heavy libraries behind the first page, so that the first click is quick."""

from __future__ import annotations

import gc
import importlib
import sys
import threading

import streamlit as st

_DELAY = 1.0  # seconds; the page is painted first, imports would compete with it
#: Seconds after which a thread that waits may have the interpreter. Every element that a page
#: sends lets go of it for a moment; beside jobs in pure Python each would cost the usual 5 ms.
_TURN = 0.001
_WORDS = ["red heart", "blue car", "green tree", "small bird", "big whale", "old moon"]


@st.cache_resource(show_spinner=False)
def start() -> threading.Thread:
    """Begin once a server, in the background."""
    sys.setswitchinterval(_TURN)
    thread = threading.Timer(_DELAY, _load)
    thread.daemon = True
    thread.start()
    return thread


@st.cache_resource(show_spinner=False)
def start_topics() -> threading.Thread:
    """Begin once a server what only topic models need, where methods are chosen.

    Their loops take the longest to compile, and most visitors of the first
    page never train one.
    """
    first = start()

    def load() -> None:
        first.join()
        _load_topics()

    thread = threading.Thread(target=load, daemon=True)
    thread.start()
    return thread


def _load() -> None:
    """Import what training needs and compile its kernels on a handful of pairs."""
    for module in ("simviz.jobs.queue", "simviz.charts.map", "plotly.graph_objects"):
        importlib.import_module(module)
    _try("cca")
    from simviz.data.pairs import PairSet
    from simviz.evaluation import evaluate
    from simviz.evaluation.baselines import ChanceScorer

    # Baselines score in double precision, for which the kernels are others.
    pairs = PairSet.from_texts(_WORDS, _WORDS)
    evaluate(ChanceScorer(), pairs.x, pairs.y, pairs.relevance)
    _set_aside()


def _load_topics() -> None:
    """Compile the loops of topic models; kin share most of them."""
    for method in ("jplsa", "cplsa"):
        _try(method)
    _set_aside()


def _set_aside() -> None:
    """Let the garbage collector pass over what the libraries hold for good.

    A full collection looks through some 400,000 objects of libraries otherwise: 0.2 s in
    which no visitor is answered.
    """
    gc.collect()
    gc.freeze()


def _try(method: str) -> None:
    """Train a method on a handful of pairs and measure it."""
    from simviz.data.pairs import PairSet
    from simviz.evaluation import evaluate
    from simviz.pipeline import default_pipeline

    pairs = PairSet.from_texts(_WORDS, [word[::-1] for word in _WORDS])
    pipeline = default_pipeline(method, pairs, n_components=2, shared=False)
    # With pairs to watch, as in every job: what measures them is compiled too.
    pipeline.fit(pairs, pairs)
    evaluate(pipeline, pairs.x, pairs.y, pairs.relevance)
