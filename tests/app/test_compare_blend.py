"""Two runs are blended in Compare, or hubs of one corrected; what is made is a run like any."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from on_page import control, html, run, said
from waiting import LONG

from simviz.evaluation import choose_blend
from simviz.jobs import blend_spec, csls_spec
from simviz.workbench.compare import blend
from simviz.workbench.shell import runs, state

PAGE = "compare"
HOSTILE = "<img src=x onerror=alert(1)> **b** $c$"


@pytest.fixture(scope="module")
def home(make_home, letters):
    """A store with finished runs on data of one's own."""
    lsi = ("own", "cl_lsi", {"n_components": 4, "shared": True})
    lexical = {name: ("own", name) for name in ("bm25", "tfidf_cosine")}
    home = make_home({"own": letters}, {**lexical, "cl_lsi": lsi})
    home.store.runs.rename(home.runs["tfidf_cosine"], home.mine, name=HOSTILE)
    return home


@pytest.fixture
def show(home, visit):
    """The tab that blends the named runs, or another one."""
    return lambda *names, **params: visit(
        **{"runs": ",".join(home.runs[name] for name in names), "tab": "blend"} | params
    )


def both(page):
    """The two runs that are blended."""
    return [page.selectbox(key=f"compare-{name}").value for name in ("learned", "lexical")]


def keep(page, home, what):
    """Press the button that makes a run, and open the page again when it is there."""
    run(page.button(key="compare-keep").click())
    job = next(job for job in state.queue().jobs(home.mine) if job.spec.method == what)
    status = state.queue().wait(job.id, LONG)
    assert status.state == "succeeded", status.message
    run(page)
    assert status.run_id in control(page, "Runs").value
    return status.run_id


def test_the_curve_begins_at_the_weight_chosen_on_validation(show):
    page, alone = show("cl_lsi", "bm25"), show("bm25")
    tabs = ([o.content for o in control(p, "Look further").proto.options] for p in (page, alone))
    assert ["Blend" in names for names in tabs] == [True, False], "one has nothing beside it"
    slider = page.slider[0]
    best = slider.value
    assert "share of CL" in slider.label
    assert page.button(key="compare-alpha-best").label == f"Best on validation: {best:g}"
    assert "chosen on the validation part" in said(page)
    table = html(page)
    assert "BM25 alone" in table and "Δ to BM25" in table and "this blend" in table
    run(slider.set_value(1.0))
    table = html(page)
    assert "α = 1<" in table and "<td>0.000</td>" in table, "at the end it is the learned run"
    page.button(key="compare-alpha-best").click().run()
    assert page.slider[0].value == best
    assert page.button(key="compare-alpha-best").disabled


def test_of_several_runs_two_are_chosen(show, home):
    page = show("cl_lsi", "bm25", "tfidf_cosine")
    first, second = both(page)
    assert first == home.runs["cl_lsi"]
    assert second in (home.runs["bm25"], home.runs["tfidf_cosine"])
    run(page.selectbox(key="compare-learned").set_value(second))
    assert len(set(both(page))) == 2
    assert "<img" not in html(page)


@pytest.mark.parametrize("part", ["validation", "test"])
def test_the_best_blend_is_chosen_beside_the_best_run_and_ranks(show, part):
    page = show("cl_lsi", "bm25", "tfidf_cosine", part=part)
    run(page.button(key="compare-blend-best").click())
    table = next(e for e in html(page).split("<table") if "validation, by folds" in e)
    assert "best blend" in table and " alone" in table and "RRF of both" in table
    assert (">test<" in table) == (part == "test")
    assert "<img" not in table
    assert page.button(key="compare-blend-best").disabled
    # Another metric or scale asks anew.
    page.toggle(key="compare-one-scale").set_value(False).run()
    assert not page.button(key="compare-blend-best").disabled


@pytest.mark.parametrize(("metric", "more"), [("MAP", {}), ("top-1", {"tfidf_cosine": 0.5})])
def test_the_best_blend_is_taken_with_its_gain_and_may_be_of_more_than_two(
    show, home, monkeypatch, metric, more
):
    path = [(home.runs[n], share) for n, share in ({"bm25": 1.0, "cl_lsi": 0.3} | more).items()]
    asked = {}

    def chosen(pipelines, *args, **kwargs):
        asked.update(kwargs, runs=set(pipelines))
        found = choose_blend({path[0][0]: pipelines[path[0][0]]}, *args, **kwargs)
        return replace(found, path=tuple(path))

    monkeypatch.setattr(blend, "choose_blend", chosen)
    page = show("cl_lsi", "bm25", "tfidf_cosine", part="test", metric=metric)
    run(page.button(key="compare-blend-best").click())
    assert asked["runs"] == {*home.runs.values()} and "max_runs" not in asked
    assert f"RRF of {'all 3' if more else 'both'}" in html(page)
    words = said(page)
    assert "Paired over queries of the test part" in words
    several = ("0.35 BM25 + 0.15 CL-LSI + 0.5 ", "Keep these two as a run, and blend that with ")
    assert [text in words for text in (*several, "α = 0.5.")] == [bool(more)] * 3
    take = page.button(key="compare-blend-take")
    assert take.label == "Take 0.7 BM25 + 0.3 CL-LSI"
    run(take.click())
    assert page.slider[0].value == 0.3
    assert both(page) == [home.runs["cl_lsi"], home.runs["bm25"]]


def test_without_validation_pairs_no_weight_is_chosen(show, monkeypatch):
    curve = blend._curve
    monkeypatch.setattr(
        blend, "_curve", lambda of, part: None if part == "validation" else curve(of, part)
    )
    page = show("cl_lsi", "bm25", part="test")
    assert page.slider[0].value == 0.5
    assert "no weight could be chosen" in said(page)
    assert not any(b.key == "compare-alpha-best" for b in page.button)


def test_a_kept_blend_is_a_run_and_is_chosen(show, home):
    page = show("cl_lsi", "bm25")
    page.slider[0].set_value(0.25).run()
    run_id = keep(page, home, "blend")
    assert "0.25 CL-LSI + 0.75 BM25" in html(page)
    assert len(control(page, "Runs").value) == 3
    params = state.store().runs.get(run_id, home.mine).spec["params"]
    parts = {"learned": home.runs["cl_lsi"], "lexical": home.runs["bm25"]}
    assert params.items() >= parts.items()
    # With the two that it is made of it is offered no more.
    for name, part in parts.items():
        page.selectbox(key=f"compare-{name}").set_value(part).run()
    page.slider[0].set_value(0.25).run()
    assert "This blend is kept" in said(page)


def test_a_blend_is_listed_mapped_and_shared(show, home, visit):
    show("cl_lsi", "bm25")
    infos = [home.run(name).info for name in ("cl_lsi", "bm25")]
    spec = blend_spec(*infos, 0.5, workspace=home.mine)
    run_id = state.queue().wait(state.queue().submit(spec), LONG).run_id
    assert runs.run_title(home.store.runs.get(run_id).info) == "0.5 CL-LSI + 0.5 BM25"
    assert spec.non_default_params == {}
    for other in ("train", "map"):
        visit(other, data=home.data["own"], run=run_id)
    token = state.store().shares.publish(home.mine, "compare", [run_id, home.runs["bm25"]])
    seen = visit(workspace=None, share=token, tab="blend")
    assert "0.5 CL-LSI + 0.5 BM25" in html(seen)
    assert not any(b.key == "compare-keep" for b in seen.button), "a shared view is read-only"


def test_k_is_chosen_on_validation_and_each_form_says_what_it_looks_at(show, monkeypatch):
    page = show("cl_lsi", "tfidf_cosine", tab="hubs", part="test")
    table = next(e for e in html(page).split("<table") if "without CSLS" in e)
    assert len(re.findall(r"<td>k = \d+", table)) == 6 and table.count(", best<") == 1
    values = re.findall(r"<td>(k = \d+(?:, best)?)</td><td>(\d\.\d{3})", table)
    best = max(float(value) for _, value in values)
    assert next(float(v) for name, v in values if "best" in name) == best
    assert "looks at the other queries" in said(page) and "<img" not in table
    run(control(page, "The nearest are looked for among").set_value("training"))
    assert "its two items and the model alone" in said(page)
    monkeypatch.setattr(blend, "_values_by_k", lambda *_: {0: 0.2, 2: 0.3, 5: 0.5, 10: 0.4})
    assert "k = 5, best" in html(show("cl_lsi", tab="hubs"))


def test_a_kept_correction_is_a_run_that_is_chosen_and_not_corrected_again(show, home):
    page = show("cl_lsi", tab="hubs")
    keep(page, home, "csls")
    assert "CSLS (looks at the other queries)" in html(page)
    assert page.selectbox(key="compare-scaled").options == ["CL-LSI"]
    assert "This correction is kept" in said(page)


def test_what_is_corrected_is_mapped_searched_and_explained(home, visit, show):
    show("cl_lsi")
    spec = csls_spec(home.run("cl_lsi").info, 2, workspace=home.mine)
    run_id = state.queue().wait(state.queue().submit(spec), LONG).run_id
    for other in ("train", "map", "search"):
        visit(other, data=home.data["own"], run=run_id)
    visit(runs=f"{run_id},{home.runs['bm25']}", tab="queries")
