"""The methods page lists the methods that fit and shows the card of one."""

from __future__ import annotations

import pytest
from on_page import go, run

from simviz.method_cards import HAVE, suits
from simviz.methods import all_methods

PAGE = "methods"
METHODS = all_methods()


def titles(app):
    return [heading.value for heading in app.subheader]


def listed(app):
    ids = [button.key.removeprefix("methods-") for button in app.button]
    return sorted(METHODS[name].tags.title for name in ids if name in METHODS)


def test_list_and_one_card(app):
    run(app)
    assert listed(app) == sorted(cls.tags.title for cls in METHODS.values())
    assert titles(app) == ["CCA"]
    assert len(app.latex) == len(app.code) == 1
    (picture,) = [e.proto.body for e in app.get("html") if "data:image/svg+xml" in e.proto.body]
    assert 'alt="Items of two sides' in picture


@pytest.mark.parametrize("have", HAVE)
def test_what_one_has_chooses(app, have):
    app.run()
    run(app.get("button_group")[0].set_value([have]))
    fitting = [cls.tags.title for cls in METHODS.values() if suits(cls, have)]
    assert listed(app) == sorted(fitting)
    assert titles(app)[0] in fitting


def test_nothing_fits_everything(app, monkeypatch):
    monkeypatch.setattr("simviz.workbench.methods.suits", lambda cls, have: False)
    app.run()
    run(app.get("button_group")[0].set_value(["texts"]))
    assert not titles(app)
    assert any("No method can use all of that" in e.proto.body for e in app.get("html"))


def test_next_leads_through_all_and_previous_back(app):
    app.run()
    seen = set()
    for _ in METHODS:
        app.button(key="methods-after").click().run()
        seen |= set(titles(app))
    assert len(seen) == len(METHODS) and titles(app) == ["CCA"]
    app.button(key="methods-s2net").click().run()
    assert titles(app) == ["S2Net"] and app.query_params["method"] == "s2net"
    after = app.button(key="methods-after").label
    app.button(key="methods-after").click().run()
    assert titles(app) == [after]
    app.button(key="methods-before").click().run()
    assert titles(app) == ["S2Net"]


def test_a_link_shows_a_card_and_an_unknown_method_none(app):
    assert titles(go(app, method="s2net")) == ["S2Net"]
    assert titles(go(app, method="<script>")) == ["CCA"]
