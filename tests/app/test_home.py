"""Home shows its cards at once, trains a demo, and tells what was found."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from on_page import canvas, go, html, run, said
from waiting import LONG, until, until_trained

from simviz import _extras, datasets, precompile
from simviz.jobs import spec
from simviz.store import datasets as stored
from simviz.workbench.shell import preferences, state


def test_a_demo_whose_package_is_missing_says_what_to_install(app, monkeypatch):
    monkeypatch.setitem(_extras.LIBRARIES, "demos", ("no_such_library",))
    # Whatever demo this process has read before.
    monkeypatch.setattr(stored, "_demo", stored._demo.__wrapped__)
    app.run()
    assert "simviz[demos]" not in app.button(key="try-emoji").label
    assert 'pip install "simviz[demos]"' in app.button(key="try-icons").label
    app.button(key="try-icons").click().run()
    assert not app.exception and "simviz[demos]" in html(app)
    assert not app.get("skeleton")


@pytest.fixture
def quick(monkeypatch, give_demos):
    """Cuts the demo of two languages to a quarter, and has it train two quick methods."""
    some = range(500)
    pairs = datasets.load_demo("emoji").take(some, some)

    def change(**more):
        methods = {"plsa": {"n_components": 5, "max_iter": 5}, "hdlr": {"max_iter": 3}}
        info = replace(datasets.DEMOS["emoji"], methods=methods, **more)
        give_demos(monkeypatch, {"emoji": pairs, "pydocs_links": pairs}, emoji=info)

    return change


def cancel_all(app):
    for job in state.queue().jobs(app.session_state.workspace):
        state.queue().cancel(job.id)


def until_canvas(app):
    """Run the page anew, as its own timers would, until all is trained and drawn."""
    until_trained(app)
    app.run()
    until(lambda: state.drawing_background().is_idle)
    return app.run()


def test_cards_are_there_before_anything_is_trained(app, monkeypatch):
    monkeypatch.setattr(precompile, "picture", lambda: None)
    go(app, demo="../../etc")
    assert "Drawn earlier" in said(app) and not app.get("bidi_component")
    cards = [b for b in app.button if b.key.startswith("try-")]
    two = ["Words and pictures", "Two languages"]
    more = ["Questions and documents", "Documents and links", "Messy titles"]
    assert [b.label.split("\n")[0] for b in cards] == [*two, *more]
    assert "1,340 pictures" in cards[0].label and "about" in cards[0].label
    assert app.button(key="home-upload").proto.type == "primary"
    assert "CC BY 4.0" in said(app), "licences behind a button"
    heading = app.title[0].value
    assert heading not in said(app).replace(heading, "", 1), "said once"
    run(app.button(key="home-upload").click())
    assert app.title[0].value == "Data" and app.query_params["view"] == "other"


@pytest.fixture
def pictured(make_home, monkeypatch, give_demos):
    """A trained run on a fifth of the pictured demo."""
    give_demos(monkeypatch, {"icons": datasets.load_demo("icons").take(None, range(0, 1_340, 5))})
    split = preferences.demo_split(datasets.DEMOS["icons"])
    runs = {"cca": ("demo:icons", "cca", {"n_components": 20}, split)}
    return make_home({}, runs, drawn=["cca"]).run("cca")


def test_home_is_a_live_map_where_it_was_computed(app, pictured, monkeypatch):
    monkeypatch.setattr(precompile, "picture", lambda: pictured)
    run(app)
    told = canvas(app)
    assert told["cover"] and told["scrolls"] and "keywords" in told["alt"]
    assert "Computed on this machine" in said(app)
    parts = [e.proto for e in app.get("bidi_component")]
    assert sum(p.component_name == "simviz_map_parts" for p in parts) == 3, "with what is nearest"
    app.session_state["home-map"] = {"picked": {"key": "x3", "n": 1}}
    run(app)
    assert app.query_params["sel"] == "x3" and app.query_params["demo"] == "icons"
    assert app.query_params["k"] == "20", "the run that was pictured, trained here"
    cancel_all(app)


def test_variant_is_offered_on_the_card_of_its_demo(app, quick):
    quick()
    app.run()
    run(app.button(key="try-pydocs_links").click())
    assert app.query_params["demo"] == "pydocs_links"
    cancel_all(app)


def test_button_trains_and_tells_what_was_found(app, quick, open_page):
    quick(split_by="x")
    app.run()
    run(app.button(key="try-emoji").click())
    assert app.query_params["demo"] == "emoji"
    until_canvas(app)
    assert not app.exception
    body = html(app)
    assert "puts the right one first" in body and "validation English names" in said(app)
    assert "queries (English names) of the validation part, out of all 500 Spanish names" in body
    assert body.count("<tr") == 1 + 2 + 2, "a heading, two methods, two baselines"
    assert "On the validation part, HDLR " in body and "On the test part, HDLR has MRR" in body
    # The same link is answered to others at once, from what is there.
    other = open_page()
    other.query_params["demo"] = "emoji"
    assert "On the test part, HDLR has MRR" in html(other.run())
    # No curve of dimensions: a line in its place says why.
    assert len(app.get("plotly_chart")) == 1
    assert "No curve, as their dimensions have no order: HDLR" in said(app)
    assert canvas(app)["selected"] is None and "drawn to keep distances" in canvas(app)["alt"]
    app.session_state["map-alone"] = {"picked": {"key": "x3", "n": 1}}
    run(app)
    assert app.query_params["sel"] == "x3" and app.query_params["demo"] == "emoji"
    assert canvas(app)["selected"]["item"] == 3, "on the page of the map"


def test_cancelled_demo_offers_to_go_on(app, quick, monkeypatch):
    quick()
    train, going = spec.train, threading.Event()
    monkeypatch.setattr(spec, "train", lambda *job: going.wait(LONG) and train(*job))
    go(app, demo="emoji")
    cancel_all(app)
    going.set()
    run(app)
    assert "cancelled" in said(app)
    run(next(b for b in app.button if b.label == "Retry").click())
    until_canvas(app)
    assert canvas(app)["scrolls"]
