"""Pages that have nothing to show yet: no data, no run, jobs that run or failed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from on_page import go, html, link, run, said
from waiting import LONG

from simviz.jobs import JobSpec
from simviz.workbench.shell import state

#: What a page says without data, and when a demo is chosen there; what leads on.
WITHOUT = {
    "compare": ("Choose a data set first", "Nothing has been", "Train this demo's methods"),
    "map": ("needs data", "Nothing is trained", "Train the demo's methods"),
    "train": ("needs data", "None yet", "Train 3 methods"),
}


@pytest.fixture
def owned(app, sentences):
    """A session of somebody with one data set, and a request on it."""
    mine = app.session_state.workspace = state.store().workspaces.create()
    data = state.store().datasets.put(sentences, mine)
    return app, JobSpec(data, sentences.digest, "ssi", {"max_iter": 3_000}, workspace=mine)


def opened(app, page, **address):
    app.switch_page(f"pages/{page}.py")
    return go(app, **address)


@pytest.mark.parametrize("page", WITHOUT)
def test_without_data_a_page_leads_to_some(app, page):
    needs, chosen, way = WITHOUT[page]
    assert needs in said(opened(app, page))
    run(app.button(key=f"{page}-demo-emoji").click())
    assert link(app)["data"] == "demo:emoji"
    ways = {e.proto.label for e in app.get("page_link")} | {b.label for b in app.button}
    assert chosen in said(app) and way in ways


@pytest.mark.parametrize("page", [*WITHOUT, "data"])
@pytest.mark.parametrize("asked", ["demo:nothing", "0" * 32, "../../etc"])
def test_data_that_are_not_there_get_a_sentence_and_the_demos(app, page, asked):
    opened(app, page, data=asked)
    assert app.button(key=f"{page}-demo-icons").label in ("Words and pictures", "Open icons")
    assert ("There is no" in html(app) + said(app)) == (asked != "../../etc")


@pytest.mark.parametrize(
    ("page", "begins"),
    [("compare", "The first result appears here"), ("map", "opens when the first")],
)
def test_a_job_that_runs_is_told_and_cancelled(owned, page, begins):
    app, asked = owned
    job_id = state.queue().submit(replace(asked, params=asked.params | {"patience": 3_000}))
    opened(app, page, data=asked.dataset_id)
    assert begins in said(app) and not app.get("plotly_chart")
    [cancel] = [b for b in app.button if b.label.startswith("Cancel")]
    run(cancel.click())
    assert state.queue().status(job_id).state == "cancelled" and "cancelled" in said(app)
    assert any(b.label == "Retry" for b in app.button)


@pytest.mark.parametrize("page", WITHOUT)
def test_a_job_that_failed_says_why(owned, page):
    app, asked = owned
    job_id = state.queue().submit(replace(asked, dataset_digest="0" * 32))
    assert state.queue().wait(job_id, LONG).state == "failed"
    opened(app, page, data=asked.dataset_id)
    told = " ".join([html(app), said(app)])
    assert "failed" in told and WITHOUT[page][1] in told
    # As text, for it may name files and columns of the visitor.
    assert any("no longer the one this was asked for" in text.value for text in app.text)


def test_search_without_runs_leads_to_some(owned):
    app, asked = owned
    opened(app, "search")
    assert app.title[0].value == "Search"
    assert any("icons" in (b.key or "") for b in app.button)
    assert "Nothing is trained" in said(opened(app, "search", data=asked.dataset_id))
