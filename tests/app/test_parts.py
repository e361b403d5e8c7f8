"""Validation or test: one choice, kept with the data set, that every page follows."""

from __future__ import annotations

import re

import numpy as np
import pytest
from on_page import control, html, run

from simviz.data import PairSet, split
from simviz.jobs import SplitSpec
from simviz.relevance import Relevance

PAGE = "compare"
METHODS = {"bm25": {}, "cca": {"n_components": 3}, "ngram_matcher": {}}


@pytest.fixture(scope="module")
def home(make_home):
    """Runs on own data, the same with the test answers exchanged, and on a demo."""
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
    return make_home({"own": pairs, "exchanged": other}, {**runs, "demo": ("demo:emoji", "bm25")})


@pytest.fixture
def show(home, visit):
    """Compare on one of the data sets."""
    return lambda name, **params: visit(data=home.data[name], **params)


def part_shown(app):
    return control(app, "Measured on").value


def tables(app):
    return " ".join(e.proto.body for e in app.get("html") if "sv-table" in e.proto.body)


def captions(app):
    return " ".join(c.value for c in app.caption)


def test_own_data_open_on_validation_with_curves_and_no_p_value(show):
    app = show("own")
    assert part_shown(app) == "validation" and control(app, "Look further")
    assert "On the validation part, " in html(app) and not re.search(r"\bp = ", html(app))
    assert "Validation part" in captions(app)
    assert ">group<" not in tables(app) and ">Δ, 95 %<" in tables(app)


def test_the_test_is_one_click_away_and_stays_after_a_reload_and_in_another_browser(show):
    app = show("own")
    run(control(app, "Measured on").set_value("test"))
    for page in (app, app.run(), show("own")):
        assert part_shown(page) == "test"
        assert page.query_params["part"] in ("test", ["test"])
        assert ">group<" in tables(page) and "Test part" in captions(page)
    control(app, "Measured on").set_value("validation").run()
    assert "On the validation part, " in html(app)
    assert part_shown(show("own")) == "validation"


def test_a_link_says_which_part(show):
    app = show("own", part="test")
    assert part_shown(app) == "test"
    assert part_shown(show("own", part="nonsense")) == "test"


def test_a_demo_opens_on_its_validation_part_too_and_says_the_figure_on_test(show, home):
    app = show("demo:emoji")
    assert part_shown(app) == "validation"
    record = home.run("demo").part("test").records["run"]
    mrr = next(r["value"] for r in record if (r["metric"], r["direction"]) == ("MRR", "x2y"))
    assert f"On the test part, BM25 has MRR {mrr:.3f} ± " in html(app)
    assert "On the test part" not in html(show("demo:emoji", part="test"))


def test_exchanging_the_answers_of_the_test_changes_no_order_and_no_default(show, home):
    seen = []
    for name in ("own", "exchanged"):
        app = show(name, part="test")
        pills, against = control(app, "Runs"), app.selectbox(key="compare-against")
        titles = [option.content for option in pills.proto.options]
        by_id = {i.id: i.method for i in home.store.runs.find(home.mine, home.data[name])}
        seen.append((titles, [by_id[i] for i in pills.value], by_id[against.value]))
    assert seen[0] == seen[1]

    def figures_of(name):
        runs = (home.run(f"{name} {method}").part("test") for method in METHODS)
        return [run.records["run"][0]["value"] for run in runs]

    figures = [figures_of(name) for name in ("own", "exchanged")]
    assert figures[0] != figures[1]  # the test itself is another one


def test_queries_are_ranked_against_all_items_where_asked(show):
    app = show("own", part="test", direction="y2x")
    assert [e for e in app.expander if e.label == "Against all items"]
    assert "known training pairs" not in captions(app)
    app.session_state["compare-all-items"] = True
    run(app)
    assert "known training pairs are neither candidates nor relevant" in captions(app)
    assert "up to 30;" in captions(app)
    # The split is by x: all of y compete already.
    app = show("own", part="test", direction="x2y")
    assert not [e for e in app.expander if e.label == "Against all items"]


def test_of_a_run_without_scores_for_a_part_the_page_says_so(show, home):
    folder = home.run("own bm25").folder
    (folder / "validation").rename(folder / "kept")
    try:
        told = captions(show("own", part="validation"))
        assert "BM25: It was imported without scores for the validation part." in told
        assert "without scores" not in captions(show("own", part="test"))
    finally:
        (folder / "kept").rename(folder / "validation")
