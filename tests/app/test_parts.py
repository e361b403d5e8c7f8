"""Validation or test: one choice, kept with the data set, that every page follows."""

from __future__ import annotations

import re

import numpy as np
import pytest
from on_page import control, html, link, press, run, said

from simviz.data import PairSet, split
from simviz.jobs import SplitSpec
from simviz.relevance import Relevance

PAGE = "compare"
METHODS = {"bm25": {}, "cca": {"n_components": 3}, "ngram_matcher": {}}


@pytest.fixture(scope="module")
def home(make_home):
    """Runs on own data, and the same with the test answers exchanged."""
    colours, things = "red green blue gold grey pink".split(), "car bus tram ship boat".split()
    words = [f"{a} {b}" for a in colours for b in things]
    pairs = PairSet.from_texts(words, [f"{w} indeed {w[::-1]}" for w in words], name="words")
    how = SplitSpec(by="x")  # which part an item of x is in does not depend on its answers
    test = split(pairs, "x").x_index["test"]
    answers = np.arange(len(words))
    answers[test] = np.roll(test, 1)
    matrix = pairs.relevance.matrix[np.argsort(answers)]
    other = PairSet(pairs.x, pairs.y, Relevance(matrix, "negative"), name="exchanged")
    runs = {
        f"{name} {method}": (name, method, params, how)
        for name in ("own", "exchanged")
        for method, params in METHODS.items()
    }
    return make_home({"own": pairs, "exchanged": other}, runs)


@pytest.fixture
def show(home, visit):
    """Compare on one of the data sets."""
    return lambda name, **params: visit(data=home.data[name], **params)


def part_shown(app):
    return control(app, "Measured on").value


def tables(app):
    return " ".join(e.proto.body for e in app.get("html") if "sv-table" in e.proto.body)


def test_own_data_open_on_validation_with_curves_and_no_p_value(show):
    app = show("own")
    assert part_shown(app) == "validation" and control(app, "Look further")
    assert "On the validation part, " in html(app) and not re.search(r"\bp = ", html(app))
    assert "Validation part" in said(app)
    assert ">group<" not in tables(app) and ">Δ, 95 %<" in tables(app)


def test_the_test_is_one_click_away_and_stays_after_a_reload_and_in_another_browser(show):
    app = show("own")
    press(app, "Measured on", "test")
    for page in (app, app.run(), show("own"), show("own", part="nonsense")):
        assert part_shown(page) == "test" == link(page)["part"]
        assert ">group<" in tables(page) and "Test part" in said(page)
    press(app, "Measured on", "validation")
    assert "On the validation part, " in html(app)
    assert part_shown(show("own")) == "validation"
    assert part_shown(show("own", part="test")) == "test", "as a link says"


def test_exchanging_the_answers_of_the_test_changes_no_order_and_no_default(show, home):
    seen, figures = [], []
    for name in ("own", "exchanged"):
        app = show(name, part="test")
        pills, against = control(app, "Runs"), app.selectbox(key="compare-against")
        titles = [option.content for option in pills.proto.options]
        by_id = {i.id: i.method for i in home.store.runs.find(home.mine, home.data[name])}
        seen.append((titles, [by_id[i] for i in (*pills.value, against.value)]))
        tested = (home.run(f"{name} {method}").part("test") for method in METHODS)
        figures.append([part.records["run"][0]["value"] for part in tested])
    assert seen[0] == seen[1]
    assert figures[0] != figures[1], "the test itself is another one"


def test_queries_are_ranked_against_all_items_where_asked(show):
    app = show("own", part="test", direction="y2x")
    assert [e for e in app.expander if e.label == "Against all items"]
    words = "known training pairs are neither candidates nor relevant"
    assert words not in said(app)
    app.session_state["compare-all-items"] = True
    run(app)
    assert words in said(app) and "up to 30;" in said(app)
    # The split is by x: all of y compete already.
    app = show("own", part="test", direction="x2y")
    assert not [e for e in app.expander if e.label == "Against all items"]


def test_of_a_run_without_scores_for_a_part_the_page_says_so(show, home):
    folder = home.run("own bm25").folder
    (folder / "validation").rename(folder / "kept")
    try:
        told = said(show("own", part="validation"))
        assert "BM25: It was imported without scores for the validation part." in told
        assert "without scores" not in said(show("own", part="test"))
    finally:
        (folder / "kept").rename(folder / "validation")
