"""A look around: a line above the pages that leads from one to the next, and goes for good."""

from __future__ import annotations

from on_page import give, go, run

from simviz.data import PairSet
from simviz.workbench.shell import frame, state

PAGES = {
    "Compare": "pages/compare.py",
    "Map": "pages/map.py",
    "Search": "pages/search.py",
    "Data": "pages/data.py",
}


def line(app):
    """What the line says; nothing where there is none."""
    found = [e.proto.body for e in app.get("html") if 'class="sv-tour"' in e.proto.body]
    assert len(found) <= 1
    return found[0] if found else ""


def test_it_leads_from_page_to_page_and_ends_for_good(app):
    for page in ("app.py", *PAGES.values()):
        assert not line(run(app.switch_page(page))), "nobody is shown around unasked"
    run(app.switch_page("app.py"))
    run(app.button(key="home-tour").click())
    assert "1 of 5" in line(app)
    assert frame.DEMO in app.query_params["demo"]
    for n, (title, page) in enumerate(PAGES.items(), 2):
        assert [*frame.STEPS.values()][n - 2].page == page
        told = line(run(app.switch_page(page)))
        assert f"{n} of 5" in told and frame.STEPS[title].text in told
    assert not line(run(app.switch_page("pages/methods.py")))
    app.switch_page("pages/data.py").run()
    assert not line(run(app.button(key="tour-end").click()))
    assert not line(run(app.switch_page("pages/map.py")))


def test_a_link_begins_it(app):
    go(app, tour="1")
    assert "1 of 5" in line(app)
    assert "emoji" in app.query_params["demo"]
    assert "tour" not in app.query_params


def test_a_published_view_has_none(app):
    own = give(app, PairSet.from_texts(["a b", "c d", "e f"], ["b a", "d c", "f e"])).session_state
    shown = {"run_ids": [], "dataset_ids": [own.dataset_id]}
    app.query_params["share"] = state.store().shares.publish(own.workspace, "compare", **shown)
    app.session_state["tour-on"] = True
    assert not line(run(app.switch_page("pages/compare.py")))
