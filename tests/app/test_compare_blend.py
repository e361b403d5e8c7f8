"""Two runs are blended in Compare, and the blend becomes a run like any other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from simviz.data import PairSet
from simviz.jobs import JobQueue, JobSpec
from simviz.store import Store

pytestmark = pytest.mark.app
APP = Path(__file__).parents[2] / "app.py"
HOSTILE = "<img src=x onerror=alert(1)> **b** $c$"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A store with finished runs on data of one's own."""
    root = tmp_path_factory.mktemp("home")
    store = Store(root)
    mine = store.create_workspace()
    left = [f"{a}{b} {b}{c} {c}{a}" for a in "abcd" for b in "efgh" for c in "ijkl"]
    right = [f"{c}{a} {a}{b} seen" for a in "abcd" for b in "efgh" for c in "ijkl"]
    own = store.put_dataset(PairSet.from_texts(left, right, name=HOSTILE), mine)
    digest = store.get_dataset(own, mine).digest
    methods = {"bm25": {}, "tfidf_cosine": {}, "cl_lsi": {"n_components": 4, "shared": True}}
    specs = {m: JobSpec(own, digest, m, p, workspace=mine) for m, p in methods.items()}
    with JobQueue(store, limit=20) as queue:
        jobs = {name: queue.submit(spec) for name, spec in specs.items()}
        runs = {name: queue.wait(job, 120).run_id for name, job in jobs.items()}
    assert all(runs.values())
    store.rename_run(runs["tfidf_cosine"], mine, name=HOSTILE)
    return {"root": root, "mine": mine, "own": own, "runs": runs}


@pytest.fixture
def page(home, monkeypatch):
    monkeypatch.setenv("SIMVIZ_HOME", str(home["root"]))
    st.cache_resource.clear()
    st.cache_data.clear()
    app = AppTest.from_file(APP, default_timeout=120)
    app.switch_page("pages/compare.py")
    app.session_state["workspace"] = home["mine"]
    yield app
    from simviz.workbench.shell import state

    state.queue().close()
    st.cache_resource.clear()


def show(app, home, *names, **params):
    app.query_params["runs"] = ",".join(home["runs"][name] for name in names)
    app.query_params["tab"] = "blend"
    for name, value in params.items():
        app.query_params[name] = value
    app.run()
    # The test part of one's own data is shown when it is asked for.
    for button in [b for b in app.button if b.key == "compare-final-show"]:
        button.click().run()
    assert not app.exception
    return app


def html(app):
    return " ".join(e.proto.body for e in app.get("html"))


def said(app):
    return " ".join(str(e.value) for kind in (app.markdown, app.caption) for e in kind)


def tabs(app):
    return [tab.label for tab in app.tabs]


def test_one_run_has_nothing_to_be_blended_with(page, home):
    show(page, home, "bm25")
    assert "Blend" not in tabs(page)


def test_the_curve_begins_at_the_weight_chosen_on_validation(page, home):
    show(page, home, "cl_lsi", "bm25")
    assert "Blend" in tabs(page)
    slider = page.slider[0]
    assert "share of CL" in slider.label
    assert f"Best on validation: {slider.value:g}" in {b.label for b in page.button}
    assert "chosen on the validation part" in said(page)
    table = html(page)
    assert "BM25 alone" in table and "Δ to BM25" in table and "this blend" in table


def test_the_slider_moves_the_figures_and_the_button_brings_it_back(page, home):
    show(page, home, "cl_lsi", "bm25")
    best = page.slider[0].value
    page.slider[0].set_value(1.0).run()
    assert not page.exception
    table = html(page)
    assert "α = 1<" in table and "+0.000" in table, "at the end it is the learned run"
    page.button(key="compare-alpha-best").click().run()
    assert page.slider[0].value == best
    assert page.button(key="compare-alpha-best").disabled


def test_scales_are_brought_together_or_not(page, home):
    show(page, home, "cl_lsi", "bm25")
    assert page.toggle(key="compare-one-scale").value
    page.toggle(key="compare-one-scale").set_value(False).run()
    assert not page.exception and page.slider[0].value is not None


def test_of_several_runs_two_are_chosen(page, home):
    show(page, home, "cl_lsi", "bm25", "tfidf_cosine")
    learned, lexical = (page.selectbox(key=f"compare-{n}") for n in ("learned", "lexical"))
    assert learned.value == home["runs"]["cl_lsi"]
    assert lexical.value in (home["runs"]["bm25"], home["runs"]["tfidf_cosine"])
    learned.set_value(lexical.value).run()
    assert not page.exception
    chosen = [page.selectbox(key=f"compare-{n}").value for n in ("learned", "lexical")]
    assert len(set(chosen)) == 2
    assert "<img" not in html(page)


def test_every_pair_is_tried_on_validation_and_the_best_is_taken(page, home):
    show(page, home, "cl_lsi", "bm25", "tfidf_cosine")
    button = page.button(key="compare-blend-try")
    assert button.label == "Try all 3 pairs"
    button.click().run()
    assert not page.exception
    table = next(e for e in html(page).split("<table") if "Δ to the better" in e)
    values = [float(v) for v in re.findall(r"<td>(0\.\d{3}|1\.000)</td><td>[+-]", table)]
    assert len(values) == 3 and values == sorted(values, reverse=True)
    gains = [float(v) for v in re.findall(r"<td>([+-]\d\.\d{3})</td><td>", table)]
    assert len(gains) == 3 and min(gains) >= 0  # both ends are among the weights
    assert "<img" not in table
    alpha = float(re.findall(r"<td>([\d.]+)</td></tr>", table)[0])
    page.button(key="compare-blend-take").click().run()
    assert not page.exception and page.slider[0].value == alpha
    best = [page.selectbox(key=f"compare-{n}").value for n in ("learned", "lexical")]
    assert len(set(best)) == 2
    # Another metric or scale asks anew.
    page.toggle(key="compare-one-scale").set_value(False).run()
    assert not any(b.key == "compare-blend-take" for b in page.button)


def test_two_runs_are_one_pair(page, home):
    show(page, home, "cl_lsi", "bm25")
    assert not any(b.key == "compare-blend-try" for b in page.button)


def test_without_validation_pairs_no_weight_is_chosen(page, home, monkeypatch):
    from simviz.workbench.compare import blend

    curves = blend.blend_curves
    monkeypatch.setattr(
        blend, "blend_curves", lambda *given: curves(*given)._replace(validation=None)
    )
    page.query_params["part"] = "test"
    show(page, home, "cl_lsi", "bm25")
    assert page.slider[0].value == 0.5
    assert "no weight could be chosen" in said(page)
    assert not any(b.key == "compare-alpha-best" for b in page.button)


def test_a_kept_blend_is_a_run_and_is_chosen(page, home):
    from simviz.workbench.shell import state

    show(page, home, "cl_lsi", "bm25")
    page.slider[0].set_value(0.25).run()
    page.button(key="compare-keep").click().run()
    assert not page.exception
    jobs = state.queue().jobs(home["mine"])
    kept = next(job for job in jobs if job.spec.method == "blend")
    status = state.queue().wait(kept.id, 120)
    assert status.state == "succeeded", status.message
    page.run()
    assert not page.exception
    labels = html(page)
    assert "0.25 CL-LSI + 0.75 BM25" in labels
    pills = next(g for g in page.get("button_group") if g.proto.label == "Runs")
    assert status.run_id in pills.value and len(pills.value) == 3
    run = state.store().get_run(status.run_id, home["mine"])
    assert run.spec["params"]["learned"] == home["runs"]["cl_lsi"]
    assert run.spec["params"]["lexical"] == home["runs"]["bm25"]
    # With the two that it is made of it is offered no more.
    page.selectbox(key="compare-learned").set_value(home["runs"]["cl_lsi"]).run()
    page.selectbox(key="compare-lexical").set_value(home["runs"]["bm25"]).run()
    page.slider[0].set_value(0.25).run()
    assert "This blend is kept" in said(page)


def test_a_blend_is_listed_mapped_and_shared(page, home):
    from simviz.jobs import blend_spec
    from simviz.workbench.shell import runs as naming, state

    show(page, home, "cl_lsi", "bm25")
    parts = [state.store().get_run(home["runs"][n], home["mine"]) for n in ("cl_lsi", "bm25")]
    spec = blend_spec(parts[0].info, parts[1].info, 0.5, workspace=home["mine"])
    run_id = state.queue().wait(state.queue().submit(spec), 120).run_id
    info = state.store().get_run(run_id, home["mine"]).info
    assert naming.run_title(info) == "0.5 CL-LSI + 0.5 BM25"
    assert naming.differing("blend", spec.params) == {}
    for other in ("pages/train.py", "pages/map.py"):
        app = AppTest.from_file(APP, default_timeout=120)
        app.switch_page(other)
        app.session_state["workspace"] = home["mine"]
        app.query_params["data"] = home["own"]
        app.query_params["run"] = run_id
        app.run()
        assert not app.exception, other
    token = state.store().publish(home["mine"], "compare", [run_id, parts[1].id])
    seen = AppTest.from_file(APP, default_timeout=120)
    seen.switch_page("pages/compare.py")
    seen.query_params["share"] = token
    seen.query_params["tab"] = "blend"
    seen.run()
    assert not seen.exception
    assert "0.5 CL-LSI + 0.5 BM25" in html(seen)
    assert not any(b.key == "compare-keep" for b in seen.button), "a shared view is read-only"
