"""Runs on judged pairs are compared by pairs, and what cannot fail is told."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from on_page import control, html, link, run, said

from simviz.data import Items, PairSet
from simviz.relevance import Relevance
from simviz.reports import html_report
from simviz.workbench.compare import curves

PAGE = "compare"
WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "nrlst"]
RUNS = {"bm25": {}, "tfidf_cosine": {}, "cca": {"n_components": 3}}


def texts(n, rng):
    """Pairs of lines; those of even number share more words."""
    x, y = [], []
    for i in range(n):
        words = rng.choice(WORDS, 8, replace=False)
        kept = 3 if i % 2 else 4
        x.append(" ".join(words))
        y.append(" ".join(rng.permutation([*words[:kept], *rng.choice(WORDS, 8 - kept)])))
    return x, y


def items(texts, side):
    return Items([f"{side}{i}" for i in range(len(texts))], texts, "text")


def datasets():
    """Each query with one judged candidate; graded answers; answers that are asked twice."""
    rng = np.random.default_rng(0)
    x, y = texts(400, rng)
    sides = items(x, "x"), items(y, "y")
    label = np.where(np.arange(400) % 2, -1, 1)
    every = np.arange(400)
    once = Relevance.from_pairs(every, every, label, shape=(400, 400))
    grade = [2, 1] * 200
    beside = np.ravel(np.stack([every, every ^ 1], axis=1))
    graded = Relevance.from_pairs(np.repeat(every, 2), beside, 2 * grade, shape=(400, 400))
    right = np.where(every < 80, 1, label)  # 40 answers that both belong to
    twice = Relevance.from_pairs(every, every // 2, right, shape=(400, 200))
    return {
        "once": PairSet(*sides, once, name="Question pairs"),
        "graded": PairSet(*sides, graded, name="Graded"),
        "twice": PairSet(sides[0], items(y[::2], "y"), twice, name="Asked twice"),
    }


@pytest.fixture(scope="module")
def home(make_home):
    runs = {
        f"{name} {method}": (name, method, params)
        for name in ("once", "graded", "twice")
        for method, params in RUNS.items()
        if name != "graded" or method != "cca"
    }
    return make_home(datasets(), runs)


@pytest.fixture
def show(home, visit):
    """Compare on the test part of a data set."""
    return lambda name, **params: visit(data=home.data[name], part="test", **params)


@pytest.mark.parametrize(("name", "metric"), [("once", "AUC"), ("graded", "NDCG")])
def test_what_is_watched_in_training_is_named(show, monkeypatch, name, metric):
    told = {"validation": ([1.0, 2.0], [0.3, 0.4])}
    monkeypatch.setattr(curves, "history_of", lambda run_id: told)
    page = show(name, tab="training")
    drawn = json.loads(page.get("plotly_chart")[0].proto.spec)
    assert drawn["layout"]["yaxis"]["title"]["text"] == f"{metric}, validation"


def test_judged_pairs_are_tested_as_pairs(show):
    page = show("once")
    (verdict,) = re.findall(r'<p class="sv-next">(.*?)</p>', html(page))
    assert re.search(r"AUC .*p\s[=<]\s.*bootstrap over pairs, \d\d+ judged pairs\.", verdict)
    assert not re.search(r"\b0 (pairs|queries|judged)", html(page) + said(page))
    ties = re.findall(r"<tr><td>.*?</td><td>.*?</td><td>(\w+)</td>", html(page))
    assert len(ties) == 3 and len(set(ties)) > 1
    assert "queries have relevant candidates only, the others none" in said(page)
    offered = page.selectbox(key="compare-metric").options
    assert offered == ["AUC", "rank loss", "pAUC@0.25"], "no metric of ranks"
    page = show("once", test="delong")
    chosen = page.selectbox(key="compare-pair-test")
    assert chosen.value == "delong"
    assert chosen.options == ["Bootstrap over items", "DeLong", "As in the papers"]
    assert re.search(r"DeLong, two.{1,2}sided, Holm", said(page))
    run(chosen.select("bootstrap"))
    assert link(page)["test"] == "bootstrap"
    run(page.toggle(key="compare-more").set_value(True))
    assert re.search(r"0\.\d{3} to [01]\.\d{3}", html(page))
    assert "both right and wrong judged candidates" in said(show("once", tab="queries"))
    assert "nothing to rank" in said(show("once", tab="dimensions"))


def test_items_in_several_pairs_have_no_delong(show):
    page = show("twice", test="delong")
    chosen = page.selectbox(key="compare-pair-test")
    assert chosen.value == "bootstrap" and "DeLong" not in " ".join(chosen.options)
    assert "items are in several pairs" in said(page)
    assert "bootstrap over y items" in html(page)


def test_a_side_on_which_no_query_can_fail_is_not_offered(show, home):
    page = show("twice", metric="MRR", tab="queries")
    who = control(page, "Query side")
    assert [o.content for o in who.proto.options] == ["y → x"]
    certain = home.run("twice bm25").part("test").evaluation.n_certain("y2x")
    assert certain > 1
    assert f"{certain} queries with relevant candidates only are left out" in said(page)
    assert page.selectbox(key="compare-metric").value == "MRR"
    assert len(page.dataframe) == 1


def test_graded_answers_are_looked_at_by_their_gain(show):
    for address, metric in (
        ({}, "NDCG@10 (exponential gain)"),
        ({"metric": "NDCG@3"}, "NDCG@3 (exponential gain)"),
    ):
        page = show("graded", **address)
        assert page.selectbox(key="compare-metric").value == metric
        assert f">{metric}</th>" in html(page)


def test_a_report_tests_pairs_and_tells_what_is_left_out(home):
    runs = [home.run(f"once {method}") for method in RUNS]
    page = html_report(runs, home.pairs["once"], metric="AUC")
    assert "bootstrap over pairs of AUC, Holm over 3 pairs" in page
    assert re.search(r"bootstrap over pairs, \d+ judged pairs", page)
    assert re.search(r"\d+ queries with relevant candidates only", page)
    page = html_report(runs, home.pairs["once"], part="validation")
    level = r"cannot be told apart: AUC \+0\.\d+ \[−0\.\d+, \+0\.\d+\], 40 judged pairs\."
    assert re.search(level, page)
