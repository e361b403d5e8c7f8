"""What is said of a part that has too few pairs judged not relevant for a curve."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from on_page import html, run, said
from streamlit.testing.v1 import AppTest
from waiting import LONG

from simviz.evaluation.roc import Roc
from simviz.reports.html import roc_chart
from simviz.reports.run_summary import RunTable
from simviz.workbench import results


def entry(n_others):
    """A run measured on ten relevant pairs and so many others."""
    relevant = np.arange(10 + n_others) < 10
    roc = SimpleNamespace(roc=Roc.from_scores(np.linspace(1, 0, len(relevant)), relevant))
    return SimpleNamespace(evaluation=roc, part="test", look="bm25", label="BM25")


@pytest.mark.parametrize(
    ("n_others", "words"),
    [
        (0, "No ROC curve: the test part lacks"),
        (12, "AUC rests on 12 pairs judged not"),
        (30, None),
    ],
)
def test_curves_of_thin_parts_are_told_in_words(n_others, words, monkeypatch):
    def page():
        import streamlit as st

        from simviz.workbench import results

        results.show_curves(st.session_state["given"])

    monkeypatch.setattr(results.curves, "curve_of", lambda *_: None)
    app = AppTest.from_function(page, default_timeout=LONG)
    app.session_state["given"] = RunTable(None, [entry(n_others)], "x2y", "MRR", ["MRR"])
    run(app)
    told = said(app) + html(app)
    assert (words in told) if words else ("AUC rests" not in told)
    assert (roc_chart([entry(n_others)]) is None) == (n_others == 0)
