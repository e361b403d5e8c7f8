"""The test part of one's own data is shown when it is asked for, and each time counts."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from simviz.data import PairSet
from simviz.jobs import JobQueue, JobSpec
from simviz.store import Store

pytestmark = pytest.mark.app
APP = Path(__file__).parents[2] / "app.py"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    root = tmp_path_factory.mktemp("store")
    store = Store(root)
    mine = store.create_workspace()
    words = [
        f"{a} {b}" for a in "red green blue gold grey".split() for b in "car bus tram".split()
    ]
    pairs = PairSet.from_texts(words * 1, [f"{w} indeed" for w in words], name="words")
    data = store.put_dataset(pairs, mine)
    queue = JobQueue(store)
    demo = store.get_dataset("demo:emoji").digest
    for spec in (
        JobSpec(data, pairs.digest, "bm25", workspace=mine),
        JobSpec(data, pairs.digest, "tfidf_cosine", workspace=mine),
        JobSpec("demo:emoji", demo, "bm25", workspace=mine),
    ):
        queue.wait(queue.submit(spec), timeout=120)
    queue.close()
    return {"root": root, "mine": mine, "data": data, "pairs": pairs}


@pytest.fixture
def page(home, monkeypatch):
    monkeypatch.setenv("SIMVIZ_HOME", str(home["root"]))
    st.cache_resource.clear()
    st.cache_data.clear()
    app = AppTest.from_file(APP, default_timeout=60)
    app.switch_page("pages/compare.py")
    app.session_state["workspace"] = home["mine"]
    app.query_params["data"] = home["data"]
    yield app
    from pages._shared import state

    state.queue().close()
    st.cache_resource.clear()


def html(app):
    return " ".join(e.proto.body for e in app.get("html") if "<style" not in e.proto.body)


def test_validation_comes_first_and_the_test_on_request(page, home):
    page.run()
    assert not page.exception
    assert "On the validation part" in " ".join(m.value for m in page.markdown)
    assert "Nobody has looked at this test part yet." in html(page)
    assert not page.tabs and "Mean over" not in html(page)
    page.button(key="compare-final-show").click().run()
    assert not page.exception
    assert "The final test, looked at once." in html(page)
    assert page.tabs
    page.run()
    assert "looked at once" in html(page), "a rerun is no look"
    page.button(key="compare-final-hide").click().run()
    assert "Looked at once so far, last on" in html(page) and not page.tabs
    page.button(key="compare-final-show").click().run()
    assert "The final test, looked at 2 times." in html(page)


def test_what_is_trained_after_a_look_needs_another_one(page, home):
    page.run()
    page.button(key="compare-final-show").click().run()
    queue = JobQueue(Store(home["root"]))
    spec = JobSpec(
        home["data"], home["pairs"].digest, "lsa", {"n_components": 3}, workspace=home["mine"]
    )
    queue.wait(queue.submit(spec), timeout=120)
    queue.close()
    pills = next(g for g in page.get("button_group") if g.proto.label == "Runs")
    page.run()
    new = [
        o for o in Store(home["root"]).list_runs(home["mine"], home["data"]) if o.method == "lsa"
    ]
    pills = next(g for g in page.get("button_group") if g.proto.label == "Runs")
    pills.set_value([*pills.value, new[0].id]).run()
    assert not page.exception
    assert any(b.key == "compare-final-show" for b in page.button)


def test_runs_of_one_s_own_are_listed_with_validation_figures(home):
    store = Store(home["root"])
    for info in store.list_runs(home["mine"], home["data"]):
        run = store.get_run(info.id)
        told = {
            r["metric"]: r["value"]
            for r in run.evaluation()["validation"]
            if r["direction"] in ("mean", "pairs")
        }
        assert info.summary["MRR"] == pytest.approx(told["MRR"])


def test_a_demo_is_open(page):
    page.query_params["data"] = "demo:emoji"
    page.run()
    assert not page.exception
    assert "A demo: its test part is open" in " ".join(c.value for c in page.caption)
    assert page.tabs
