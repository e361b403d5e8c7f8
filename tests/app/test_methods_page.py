"""The methods page has a card for every method, and shows those that fit."""

from __future__ import annotations

import pytest

from simviz.cards import HAVE, suits
from simviz.methods import all_methods

pytestmark = pytest.mark.app
PAGE = "methods"
METHODS = all_methods()


def titles(app):
    return [heading.value for heading in app.subheader]


def test_every_method_has_a_card(app):
    app.run()
    assert not app.exception
    assert sorted(titles(app)) == sorted(cls.tags.title for cls in METHODS.values())
    assert len(app.code) == len(METHODS)
    pictures = [e.proto.body for e in app.get("html") if "data:image/svg+xml" in e.proto.body]
    assert len(pictures) == len(METHODS)
    assert all('alt="Items of two sides' in picture for picture in pictures)


@pytest.mark.parametrize("have", HAVE)
def test_what_one_has_chooses(app, have):
    app.run()
    app.get("button_group")[0].set_value([have]).run()
    assert not app.exception
    fitting = [cls.tags.title for cls in METHODS.values() if suits(cls, have)]
    assert sorted(titles(app)) == sorted(fitting)


def test_nothing_fits_everything(app, monkeypatch):
    monkeypatch.setattr("simviz.workbench.methods.suits", lambda cls, have: False)
    app.run()
    app.get("button_group")[0].set_value(["texts"]).run()
    assert not app.exception
    assert not titles(app)
    assert any("No method does all of that" in e.proto.body for e in app.get("html"))


def test_link_opens_one_card(app):
    app.query_params["method"] = "cca"
    app.run()
    assert titles(app) == ["CCA"]
    assert len(app.latex) == 1
    app.button(key="methods-all").click().run()
    assert not app.exception
    assert len(titles(app)) == len(METHODS)


def test_unknown_method_of_a_link_shows_all(app):
    app.query_params["method"] = "<script>"
    app.run()
    assert not app.exception
    assert len(titles(app)) == len(METHODS)
