"""Hubs of a run are corrected in Compare, and what is corrected becomes a run like any other."""

from __future__ import annotations

import re

import pytest
from on_page import control, html, run, said
from waiting import LONG

from simviz.jobs import csls_spec
from simviz.workbench.shell import state

PAGE = "compare"
HOSTILE = "<img src=x onerror=alert(1)> **b** $c$"


@pytest.fixture(scope="module")
def home(make_home, letters):
    """A store with finished runs on data of one's own."""
    home = make_home(
        {"own": letters},
        {"bm25": ("own", "bm25"), "lsi": ("own", "cl_lsi", {"n_components": 4, "shared": True})},
    )
    home.store.runs.rename(home.runs["bm25"], home.mine, name=HOSTILE)
    return home


@pytest.fixture
def show(home, visit):
    """The tab that corrects hubs of the named runs."""
    return lambda *names, **params: visit(
        runs=",".join(home.runs[name] for name in names), tab="hubs", **params
    )


def test_k_is_chosen_on_validation_and_each_form_says_what_it_looks_at(show):
    page = show("lsi", "bm25", part="test")
    table = next(e for e in html(page).split("<table") if "without CSLS" in e)
    assert len(re.findall(r"<td>k = \d+", table)) == 6 and table.count(", best<") == 1
    values = re.findall(r"<td>(k = \d+(?:, best)?)</td><td>(\d\.\d{3})", table)
    best = max(float(value) for _, value in values)
    assert next(float(v) for name, v in values if "best" in name) == best
    assert "looks at the other queries" in said(page) and "<img" not in table
    run(control(page, "The nearest are looked for among").set_value("training"))
    assert "its two items and the model alone" in said(page)


def test_a_kept_correction_is_a_run_that_is_chosen_and_not_corrected_again(show, home):
    page = show("lsi")
    run(page.button(key="compare-keep").click())
    job = next(job for job in state.queue().jobs(home.mine) if job.spec.method == "csls")
    status = state.queue().wait(job.id, LONG)
    assert status.state == "succeeded", status.message
    run(page)
    assert "CSLS (looks at the other queries)" in html(page)
    assert status.run_id in control(page, "Runs").value
    assert page.selectbox(key="compare-scaled").options == ["CL-LSI"]
    assert "This correction is kept" in said(page)


def test_what_is_corrected_is_mapped_searched_and_explained(home, visit, show):
    show("lsi")
    info = state.store().runs.get(home.runs["lsi"], home.mine).info
    spec = csls_spec(info, 2, workspace=home.mine)
    run_id = state.queue().wait(state.queue().submit(spec), LONG).run_id
    for other in ("train", "map", "search"):
        visit(other, data=home.data["own"], run=run_id)
    page = visit(runs=f"{run_id},{home.runs['bm25']}", tab="queries")
    assert not page.exception
