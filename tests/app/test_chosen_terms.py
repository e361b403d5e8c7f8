"""Requests, links and splits say what they mean where more than the usual is chosen."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st

from simviz.data import PairSet
from simviz.datasets import DEMOS
from simviz.jobs import JobSpec, SplitSpec
from simviz.relevance import Relevance
from simviz.workbench.compare.repeated_splits import request_for
from simviz.workbench.data.split import parts_of
from simviz.workbench.shell import links, preferences, state
from simviz.workbench.train.augment import term_settings
from simviz.workbench.train.runs import differences


@pytest.mark.parametrize(
    ("features", "seed", "has_link"),
    [("usual", 0, True), ({"tf": "log1p"}, 0, False), ("usual", 1, False)],
)
def test_a_demos_link_means_no_run_on_chosen_terms_or_on_another_split(
    features, seed, has_link, monkeypatch
):
    monkeypatch.setattr(state, "demo_of", lambda dataset: DEMOS["icons"])
    split = replace(preferences.demo_split(DEMOS["icons"]), seed=seed)
    spec = JobSpec("demo:icons", "0" * 16, "lsa", {"n_components": 50}, split, features=features)
    info = SimpleNamespace(is_derived=False, method="lsa")
    run = SimpleNamespace(spec=spec.to_json(), info=info)
    assert bool(links.demo_link(run)) is has_link


@pytest.mark.parametrize(("grades", "can_be_split"), [((1, 2, 3), True), ((1,), False)])
def test_pairs_that_all_belong_together_are_refused_unless_their_grades_differ(
    grades, can_be_split
):
    n = 30
    x, y = np.divmod(np.arange(n * n), n)
    judged = Relevance.from_pairs(x, y, np.resize(grades, n * n), shape=(n, n), kind="grade")
    texts = [[f"{side} {i}" for i in range(n)] for side in ("question", "answer")]
    pairs = PairSet.from_texts(*texts, judged)
    assert (parts_of(pairs, SplitSpec(by="x")).problem == "") is can_be_split


@pytest.mark.parametrize(
    ("features", "words"),
    [
        ("usual", "n_components 7"),
        ({"analyzer": "word", "tf": "log1p"}, "analyzer word, tf log1p, n_components 7"),
        ("pretrained:small", "features pretrained:small, n_components 7"),
    ],
)
def test_runs_on_other_terms_are_told_apart(features, words):
    split = SplitSpec()
    spec = JobSpec("own", "0" * 16, "lsa", {"n_components": 7}, split, features=features)
    info = SimpleNamespace(spec=spec.to_json())
    assert differences(info, split) == words
    assert differences(info, SplitSpec(seed=1)).startswith(f"{words}; other split")


def test_the_same_divisions_are_asked_for_in_whichever_order_runs_on_other_terms_stand():
    what = "own", "0" * 16, "lsa", {"n_components": 7}, SplitSpec()
    known = "usual", {"tf": "log1p"}, {"tf": "log2"}
    made = [JobSpec(*what, features=features) for features in known]
    entries = [
        SimpleNamespace(run=SimpleNamespace(info=SimpleNamespace(spec=spec.to_json())))
        for spec in made
    ]
    table = SimpleNamespace(metric="MRR", direction="x2y")
    assert request_for(entries, 5, table).digest == request_for(entries[::-1], 5, table).digest


def test_names_are_no_markup_where_terms_are_chosen(monkeypatch):
    monkeypatch.setattr(st, "session_state", {"terms-column": "**bold** [x](y)"})
    (_, words) = term_settings("terms")
    assert words[-1] == r"with \*\*bold\*\* \[x\](y)"
