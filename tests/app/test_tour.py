"""A look around: a line above the pages that leads from one to the next, and goes for good."""

from __future__ import annotations

from on_page import go, run

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


def test_nobody_is_shown_around_unasked(app):
    app.run()
    assert not line(app)
    for page in PAGES.values():
        run(app.switch_page(page))
        assert not line(app)


def test_it_leads_from_page_to_page_and_ends_for_good(app):
    app.run()
    run(app.button(key="home-tour").click())
    assert "1 of 5" in line(app)
    assert frame.DEMO in app.query_params["demo"]
    for n, (title, page) in enumerate(PAGES.items(), 2):
        assert frame.STEPS[list(frame.STEPS)[n - 2]].page == page
        run(app.switch_page(page))
        assert f"{n} of 5" in line(app)
        assert frame.STEPS[title].text in line(app)
    app.switch_page("pages/methods.py").run()
    assert not line(app)
    app.switch_page("pages/data.py").run()
    app.button(key="tour-end").click().run()
    assert not line(app)
    app.switch_page("pages/map.py").run()
    assert not line(app)


def test_a_link_begins_it(app):
    go(app, tour="1")
    assert "1 of 5" in line(app)
    assert "emoji" in app.query_params["demo"]
    assert "tour" not in app.query_params


def test_a_published_view_has_none(app):
    store = state.store()
    mine = store.workspaces.create()
    pairs = PairSet.from_texts(["a b", "c d", "e f"], ["b a", "d c", "f e"])
    dataset = store.datasets.put(pairs, mine)
    token = store.shares.publish(mine, "compare", run_ids=[], dataset_ids=[dataset])
    app.session_state["tour-on"] = True
    app.query_params["share"] = token
    run(app.switch_page("pages/compare.py"))
    assert not line(app)
