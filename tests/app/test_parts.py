"""Validation or test: one choice, kept with the data set, that every page follows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from simviz.data import PairSet, split
from simviz.jobs import JobQueue, JobSpec, SplitSpec
from simviz.relevance import Relevance
from simviz.store import Store

pytestmark = pytest.mark.app
APP = Path(__file__).parents[2] / "app.py"
METHODS = {"bm25": {}, "cca": {"n_components": 3}, "ngram_matcher": {}}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Runs on own data, the same with the test answers exchanged, and on a demo."""
    root = tmp_path_factory.mktemp("store")
    store = Store(root)
    mine = store.create_workspace()
    colours, things = "red green blue gold grey pink".split(), "car bus tram ship boat".split()
    words = [f"{a} {b}" for a in colours for b in things]
    pairs = PairSet.from_texts(words, [f"{w} indeed {w[::-1]}" for w in words], name="words")
    how = SplitSpec(by="x")  # which part an item of x is in does not depend on its answers
    test = split(pairs, "x").x_index["test"]
    answers = np.arange(len(words))
    answers[test] = np.roll(test, 1)
    matrix = pairs.relevance.matrix[np.argsort(answers)]
    other = PairSet(pairs.x, pairs.y, Relevance(matrix, "negative"), name="exchanged")
    known = {}
    with JobQueue(store) as queue:
        for name, one in (("own", pairs), ("exchanged", other)):
            data = store.put_dataset(one, mine)
            known[name] = data
            for method, params in METHODS.items():  # one by one: equal runs stand by their age
                spec = JobSpec(data, one.digest, method, params, how, workspace=mine)
                assert queue.wait(queue.submit(spec), 120).run_id
        demo = store.get_dataset("demo:emoji").digest
        queue.wait(queue.submit(JobSpec("demo:emoji", demo, "bm25", workspace=mine)), 120)
    return {"root": root, "mine": mine, **known}


@pytest.fixture
def visit(home, monkeypatch):
    """Opens a page as another browser of the same workspace would."""
    monkeypatch.setenv("SIMVIZ_HOME", str(home["root"]))
    st.cache_resource.clear()
    st.cache_data.clear()

    def opened(page, data, **params):
        app = AppTest.from_file(APP, default_timeout=60)
        app.switch_page(f"pages/{page}.py")
        app.session_state["workspace"] = home["mine"]
        app.query_params["data"] = data
        for name, value in params.items():
            app.query_params[name] = value
        app.run()
        assert not app.exception
        return app

    yield opened
    from simviz.workbench.shell import state

    state.queue().close()
    st.cache_resource.clear()
    with Store(home["root"])._index.writing() as db:
        db.execute("DELETE FROM shown")


def switch(app):
    return next(g for g in app.get("button_group") if g.proto.label == "Part")


def words_of(app):
    return " ".join(e.proto.body for e in app.get("html") if "<style" not in e.proto.body)


def tables(app):
    return " ".join(e.proto.body for e in app.get("html") if "sv-table" in e.proto.body)


def captions(app):
    return " ".join(c.value for c in app.caption)


def test_own_data_open_on_validation_with_curves_and_no_p_value(visit, home):
    app = visit("compare", home["own"])
    assert switch(app).value == "validation" and app.tabs
    assert "On the validation part, " in words_of(app) and "p = " not in words_of(app)
    assert "Validation part" in captions(app)
    assert ">ties<" not in tables(app) and ">Δ, 95 %<" in tables(app)


def test_the_test_is_one_click_away_and_stays_after_a_reload_and_in_another_browser(visit, home):
    app = visit("compare", home["own"])
    app.button(key="compare-see-test").click().run()
    assert not app.exception
    for page in (app, app.run(), visit("compare", home["own"])):
        assert switch(page).value == "test"
        assert page.query_params["part"] in ("test", ["test"])
        assert ">ties<" in tables(page) and "Test part" in captions(page)
    switch(app).set_value("validation").run()
    assert "On the validation part, " in words_of(app)
    assert switch(visit("compare", home["own"])).value == "validation"


def test_a_link_says_which_part(visit, home):
    app = visit("compare", home["own"], part="test")
    assert switch(app).value == "test"
    assert switch(visit("compare", home["own"], part="nonsense")).value == "test"


def test_a_demo_opens_on_its_test(visit):
    app = visit("compare", "demo:emoji")
    assert switch(app).value == "test" and app.tabs


def test_exchanging_the_answers_of_the_test_changes_no_order_and_no_default(visit, home):
    seen = []
    for name in ("own", "exchanged"):
        app = visit("compare", home[name], part="test")
        pills = next(g for g in app.get("button_group") if g.proto.label == "Runs")
        against = next(s for s in app.selectbox if s.key == "compare-against")
        titles = [option.content for option in pills.proto.options]
        by_id = {i.id: i.method for i in Store(home["root"]).list_runs(home["mine"], home[name])}
        seen.append((titles, [by_id[i] for i in pills.value], by_id[against.value]))
    assert seen[0] == seen[1]
    figures = [
        {
            info.method: store_run.part("test").evaluation()["records"][0]["value"]
            for info in store.list_runs(home["mine"], home[name])
            for store_run in [store.get_run(info.id)]
        }
        for name in ("own", "exchanged")
        for store in [Store(home["root"])]
    ]
    assert figures[0] != figures[1]  # the test itself is another one


def test_queries_are_ranked_against_all_items_where_asked(visit, home):
    app = visit("compare", home["own"], part="test", direction="y2x")
    assert [e for e in app.expander if e.label == "Against all items"]
    assert "known training pairs" not in captions(app)
    app.session_state["compare-all-items"] = True
    app.run()
    assert not app.exception
    assert "known training pairs are neither candidates nor relevant" in captions(app)
    assert "up to 30;" in captions(app)
    # The split is by x: all of y compete already.
    app = visit("compare", home["own"], part="test", direction="x2y")
    assert not [e for e in app.expander if e.label == "Against all items"]


def test_readers_of_a_published_view_are_told_of_a_missing_part_but_measure_nothing(visit, home):
    store = Store(home["root"])
    info = next(i for i in store.list_runs(home["mine"], home["own"]) if i.method == "bm25")
    folder = store.get_run(info.id).folder
    token = store.publish(
        home["mine"], "compare", run_ids=[info.id], dataset_ids=[home["own"]], view={}, days=None
    )
    (folder / "validation").rename(folder / "kept")
    try:
        app = visit("compare", home["own"], share=token, part="validation")
        assert r"Not measured on the validation part\: BM25" in captions(app)
        assert not any(button.key == "compare-measure" for button in app.button)
    finally:
        (folder / "kept").rename(folder / "validation")


def test_a_part_that_is_missing_is_offered_and_measured(visit, home):
    store = Store(home["root"])
    info = next(i for i in store.list_runs(home["mine"], home["own"]) if i.method == "cca")
    run = store.get_run(info.id)
    kept = run.folder / "kept"
    (run.folder / "validation").rename(kept)
    try:
        app = visit("compare", home["own"], part="validation", runs=info.id)
        assert "Not measured on the validation part yet" in " ".join(m.value for m in app.markdown)
        app.button(key="compare-measure").click().run()
        assert not app.exception
        for _ in range(100):
            if run.measured == ("validation", "test"):
                break
            app.run()
        app.run()
        assert "of the validation part" in words_of(app)
        assert [p.name for p in (run.folder / "validation").iterdir()]
    finally:
        if run.measured != ("validation", "test"):
            kept.rename(run.folder / "validation")
