"""The map page: what is drawn, selected, linked to, and what stands there before."""

from __future__ import annotations

import csv
import io
import time
from html import unescape
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from simviz.data import Items, PairSet
from simviz.jobs import JobSpec
from simviz.relevance import Relevance

pytestmark = pytest.mark.app
APP = Path(__file__).parents[2] / "app.py"
MAP = "pages/map.py"
HOSTILE = "<img src=x onerror=alert(1)> *bold* :red[x] [a](b)"


@pytest.fixture
def app(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMVIZ_HOME", str(tmp_path / "store"))
    st.cache_resource.clear()
    yield AppTest.from_file(APP, default_timeout=60)
    from pages._shared import state

    state.queue().close()
    st.cache_resource.clear()


def words(app):
    """Everything that is written on the page."""
    shown = [*app.markdown, *app.caption, *app.title, *app.text]
    return " ".join([*(str(e.value) for e in shown), unescape(html(app))])


def html(app):
    return " ".join(e.proto.body for e in app.get("html"))


def labels(app):
    return [button.label for button in app.button]


def charts(app):
    return app.get("plotly_chart")


def link(app):
    """The address, one value a name."""
    told = {name: app.query_params[name] for name in app.query_params}
    return {name: v[0] if isinstance(v, list) else v for name, v in told.items()}


def go(app, **query):
    for name in [*app.query_params]:
        del app.query_params[name]
    for name, value in query.items():
        app.query_params[name] = value
    app.switch_page(MAP).run()
    assert not app.exception
    return app


def put(app, pairs):
    """Keep a pair set in the visitor's workspace."""
    from pages._shared import state

    app.run()
    mine = app.session_state.workspace if "workspace" in app.session_state else None
    if mine is None:
        mine = state.store().create_workspace()
        app.session_state.workspace = mine
    return state.store().put_dataset(pairs, mine), mine


def train(pairs, dataset_id, mine, method="cca", digest=None, wait=True, **params):
    from pages._shared import state

    spec = JobSpec(dataset_id, digest or pairs.digest, method, params, workspace=mine)
    job_id = state.queue().submit(spec)
    return state.queue().wait(job_id, 60) if wait else state.queue().status(job_id)


@pytest.fixture
def trained(app, sentences):
    """A page's app with one run on the sentences."""
    dataset_id, mine = put(app, sentences)
    run_id = train(sentences, dataset_id, mine, n_components=5).run_id
    return app, dataset_id, run_id


def click(app, key):
    app.session_state["map-chart"] = {"selection": {"points": [{"customdata": key}]}}
    app.run()
    assert not app.exception


def test_without_data_it_leads_to_some(app):
    go(app)
    assert "needs data" in words(app)
    app.button(key="map-demo-emoji").click().run()
    assert not app.exception
    assert "Nothing is trained" in words(app)
    assert "Train the demo's methods" in labels(app)


def test_unknown_data_set_gets_a_friendly_page(app):
    go(app, data="0" * 32)
    assert "There is no such data set" in words(app)
    assert "Words and pictures" in labels(app)


def test_job_that_runs_is_shown_and_cancelled(app, sentences):
    dataset_id, mine = put(app, sentences)
    status = train(sentences, dataset_id, mine, "ssi", wait=False, max_iter=3_000, patience=3_000)
    go(app, data=dataset_id)
    assert "goes on as soon as" in words(app)
    assert not charts(app)
    app.button(key=f"map-cancel-{status.id}").click().run()
    assert not app.exception
    assert "cancelled" in words(app)
    assert "Again" in labels(app)


def test_job_that_failed_says_why(app, sentences):
    dataset_id, mine = put(app, sentences)
    assert train(sentences, dataset_id, mine, digest="0" * 32).state == "failed"
    go(app, data=dataset_id)
    assert "no longer the one this was asked for" in words(app)
    assert "Nothing is trained" in words(app)


def test_click_shows_the_nearest_in_the_model(trained, sentences):
    app, dataset_id, run_id = trained
    go(app, data=dataset_id)
    assert len(charts(app)) == 1
    assert link(app) == {"data": dataset_id, "run": run_id}
    assert "Click a point" in words(app)
    click(app, "x:7")
    assert link(app)["sel"] == "x7"
    text = words(app)
    assert sentences.x.content[7] in text
    assert "Nearest in the model's 5 dimensions, not on this drawing." in text
    assert "of these 10 near" in text
    near = [b for b in app.button if b.key.startswith("map-go-")]
    assert len(near) == 10
    near[0].click().run()
    assert not app.exception
    assert link(app)["sel"].startswith("y")
    app.button(key="map-close").click().run()
    assert "sel" not in link(app)
    assert "Click a point" in words(app)


def test_click_is_taken_once(trained):
    app, dataset_id, _ = trained
    go(app, data=dataset_id)
    click(app, "x:7")
    app.selectbox(key="map-find").set_value("y3").run()
    assert link(app)["sel"] == "y3", "the old click does not come back"
    click(app, "z:nobody")
    assert link(app)["sel"] == "y3"


def test_link_shows_the_same_again(trained):
    app, dataset_id, run_id = trained
    go(app, data=dataset_id, run=run_id, sel="y3", drawing="pca-3")
    assert link(app)["sel"] == "y3"
    from pages._shared import state

    deadline = time.monotonic() + 30
    while (
        "pca-3-center" not in state.store().get_run(run_id).maps() and time.monotonic() < deadline
    ):
        time.sleep(0.1)
    app.run()
    assert not app.exception
    assert link(app)["drawing"] == "pca-3"
    assert "PCA, 3 dimensions" in charts(app)[0].proto.alt
    go(app, data=dataset_id, run=run_id, sel="y999", drawing="../etc")
    assert "sel" not in link(app)
    assert link(app)["drawing"] == "pca-3", "nonsense changes nothing"


def test_run_of_the_link_that_is_not_here(trained):
    app, dataset_id, run_id = trained
    go(app, data=dataset_id, run="f" * 32)
    assert "The run of this link is not here" in words(app)
    assert len(charts(app)) == 1
    assert link(app)["run"] == run_id


def test_filter_keeps_what_is_selected(trained):
    app, dataset_id, _ = trained
    go(app, data=dataset_id)
    app.radio(key="map-part").set_value("test").run()
    assert not app.exception
    assert "12 x and 12 y" in charts(app)[0].proto.alt
    app.radio(key="map-side").set_value("x").run()
    assert "12 x and 0 y" in charts(app)[0].proto.alt
    app.selectbox(key="map-find").set_value("x0").run()
    assert not app.exception
    assert "and 10 y" in charts(app)[0].proto.alt, "its nearest are shown too"


def test_colours_by_part_and_by_column(app):
    texts = [f"thing {i}" for i in range(40)]
    kinds = {"kind": [f"kind {i % 2}" for i in range(40)]}
    sides = [Items([str(i) for i in range(40)], texts, "text", kinds) for _ in "xy"]
    pairs = PairSet(*sides, Relevance.identity(40))
    dataset_id, mine = put(app, pairs)
    train(pairs, dataset_id, mine, n_components=5)
    go(app, data=dataset_id)
    assert app.selectbox(key="map-colour").options == ["side", "part", "kind"]
    for choice, name in (("part", "validation"), ("=kind", "kind 1")):
        app.selectbox(key="map-colour").set_value(choice).run()
        assert not app.exception
        assert name in charts(app)[0].proto.spec


def test_method_without_vectors_has_neighbours_too(app):
    texts = [f"red car {i:03}" for i in range(40)]
    pairs = PairSet.from_texts([*texts, "zebra"], [*texts, "yak"])
    dataset_id, mine = put(app, pairs)
    train(pairs, dataset_id, mine, "bm25", b=0.5)
    train(pairs, dataset_id, mine, "bm25")
    go(app, data=dataset_id, sel="x7")
    assert "Nearest by the model's own scores" in words(app)
    assert sorted(app.selectbox(key="map-run").options) == ["BM25", "BM25 · b 0.5"]
    app.selectbox(key="map-find").set_value("x40").run()
    assert not app.exception
    assert "So nothing is near it" in words(app) or "all scores are 0" in words(app)
    assert not [b for b in app.button if b.key.startswith("map-go-")]


def test_uploaded_text_is_never_markup(app):
    texts = [f"{HOSTILE} {a}{a} {b}{b}" for a in "qwertz" for b in "asdfg"]
    pairs = PairSet.from_texts(texts, texts, x_name="a*b*", y_name="<b>y</b>")
    dataset_id, mine = put(app, pairs)
    train(pairs, dataset_id, mine, n_components=3)
    go(app, data=dataset_id, sel="x5")
    assert "<img src=x" not in html(app)
    assert "&lt;img src=x" in html(app)
    near = next(b.label for b in app.button if b.key == "map-go-0")
    assert "\\*bold\\*" in near and ":red[" not in near and "\\[a\\]\\(b\\)" in near
    assert "<b>y</b>" not in html(app)


def test_positions_can_leave_the_page(trained, sentences):
    app, dataset_id, run_id = trained
    go(app, data=dataset_id)
    assert [button.label for button in app.get("download_button")] == ["Positions as CSV"]
    from pages._shared import drawings, map_bar, state

    run = state.store().get_run(run_id)
    placed, parts = drawings.kept(run_id, "mds-2", run), drawings.parts(run_id, run, sentences)
    lines = list(csv.DictReader(io.StringIO(map_bar.positions_csv(placed, parts, sentences))))
    assert len(lines) == 120
    assert lines[3]["label"] == sentences.x.content[3]
    assert float(lines[60]["map_x"]) == pytest.approx(placed.drawing.y[0, 0])
    assert {line["part"] for line in lines} == {"train", "validation", "test"}
