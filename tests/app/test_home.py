"""Home shows its cards at once, trains a demo, and tells what was found."""

from __future__ import annotations

import json
import time

import pytest
from on_page import html, said

pytestmark = pytest.mark.app


def drawn(app):
    """What the map on the page is told."""
    told = [e.proto for e in app.get("bidi_component")]
    return next(json.loads(p.json) for p in told if p.component_name == "simviz_map")


def until_trained(app, timeout=90):
    """Run the page anew, as its own timers would, until all is trained and drawn."""
    from simviz.workbench.shell import state

    deadline = time.monotonic() + timeout
    while any(job.is_active for job in state.queue().jobs(app.session_state.workspace)):
        assert time.monotonic() < deadline, "still training"
        time.sleep(0.2)
    app.run()
    while not state.drawing_background().is_idle:
        assert time.monotonic() < deadline, "still drawing"
        time.sleep(0.2)
    return app.run()


def test_cards_are_there_before_anything_is_trained(app):
    app.run()
    assert not app.exception
    labels = [b.label for b in app.button]
    assert labels == [
        "Try it with icons",
        "Try it with emoji",
        "Try it with pydocs",
        "Or: documents and links",
        "Try it with job titles",
        "Show me around, in three minutes",
    ]
    assert "CC BY 4.0" in said(app)


def test_variant_is_offered_on_the_card_of_its_demo(app):
    from simviz.datasets import DEMOS

    app.run()
    headings = [m.value.removeprefix("#### ") for m in app.markdown if m.value[:5] == "#### "]
    assert headings == [info.title for info in DEMOS.values() if info.variant_of is None]
    app.button(key="try-pydocs_links").click().run()
    assert not app.exception
    assert app.query_params["demo"] == "pydocs_links"
    from simviz.workbench.shell import state

    for job in state.queue().jobs(app.session_state.workspace):
        state.queue().cancel(job.id)


def test_button_trains_and_tells_what_was_found(app):
    app.run()
    app.button(key="try-emoji").click().run()
    assert not app.exception
    assert app.query_params["demo"] == "emoji"
    until_trained(app)
    assert not app.exception
    body = html(app)
    assert "puts the right one first" in body
    assert body.count("<tr") == 1 + 3 + 2, "a heading, three methods, two baselines"
    assert "HDLR is ahead of TF-IDF cosine: MRR +" in body
    # No curve of dimensions: a line in its place says why.
    assert len(app.get("plotly_chart")) == 1
    assert "Without ordered dimensions: HDLR, S2Net" in said(app)
    assert drawn(app)["selected"] is None and "drawn to keep distances" in drawn(app)["alt"]
    app.session_state["map-alone"] = {"picked": {"key": "x3", "n": 1}}
    app.run()
    assert not app.exception
    assert app.query_params["sel"] == "x3" and app.query_params["demo"] == "emoji"
    assert drawn(app)["selected"]["item"] == 3, "on the page of the map"


def test_unseen_queries_are_what_a_split_by_x_measures(app):
    app.query_params["demo"] = "pydocs_links"
    app.run()
    until_trained(app)
    assert not app.exception
    body = html(app)
    assert "unseen documents" in body
    assert body.count("<tr") == 1 + 3 + 2
    assert "test documents" in said(app)


def test_cancelled_demo_offers_to_go_on(app):
    app.query_params["demo"] = "icons"
    app.run()
    from simviz.workbench.shell import state

    for job in state.queue().jobs(app.session_state.workspace):
        state.queue().cancel(job.id)
    app.run()
    assert not app.exception
    ended = [b for b in app.button if b.label == "Again"]
    assert ended
    assert "cancelled" in said(app)
    ended[0].click().run()
    assert not app.exception
    until_trained(app)
    assert drawn(app)["scrolls"]


def test_unknown_demo_shows_the_cards(app):
    app.query_params["demo"] = "../../etc"
    app.run()
    assert not app.exception
    assert any(b.label == "Try it with icons" for b in app.button)
