"""Where the reader looks outlives the page: in the link, and for the next drawing."""

from __future__ import annotations

import pytest
import streamlit as st

from simviz.workbench.map import canvas, view as map_view

pytestmark = pytest.mark.app


@pytest.fixture(autouse=True)
def session(monkeypatch):
    monkeypatch.setattr(st, "session_state", {})
    return st.session_state


@pytest.mark.parametrize("place", [(0.1, -0.25, 4.0), (0.0, 0.0, 2.5), (-1.0, 1.0, 0.6)])
def test_link_says_the_place(place):
    assert map_view.parse_camera(map_view.camera_params(place)["at"]) == place


def test_whole_map_needs_no_words():
    assert map_view.camera_params(None) == map_view.camera_params(map_view.WHOLE_MAP) == {}


@pytest.mark.parametrize(
    "text", [None, "", "1,2", "1,2,3,4", "a,b,c", "nan,0,1", "0,0,0", "0,0,1e9", "9,0,1", "1" * 99]
)
def test_nonsense_in_a_link_is_no_place(text):
    assert map_view.parse_camera(text) is None


@pytest.mark.parametrize(
    "told", [None, [], [1, 2, 3, 4], [1, 2, "4"], [1, 2, float("nan")], {"at": 1}, "0,0,1"]
)
def test_nonsense_from_the_browser_changes_nothing(session, told):
    view = map_view.View("data", at=(0.0, 0.5, 2.0))
    session[canvas.CAMERA_KEY] = {"at": told}
    map_view.follow_browser(view)
    assert view.at == (0.0, 0.5, 2.0)


def test_link_follows_the_camera(session, monkeypatch):
    class Address(dict):
        def from_dict(self, told):
            self.clear()
            self.update(told)

    address = Address(data="d", sel="x1", at="0,0,9", part="test")
    monkeypatch.setattr(st, "query_params", address)
    session["map-link"] = {"data": "d", "sel": "x1", "at": "0,0,9"}
    view = map_view.View("d")
    session[canvas.CAMERA_KEY] = {"at": [0.5, 0, 2]}
    map_view.follow_browser(view)
    assert view.at == (0.5, 0.0, 2.0)
    # A place is one on some drawing, which is said then.
    placed = {"drawing": "two-sided-2", "at": "0.5,0,2"}
    assert session["map-link"] == {"data": "d", "sel": "x1"} | placed
    assert address == session["map-link"] | {"part": "test"}
    session[canvas.CAMERA_KEY] = {"at": [0, 0, 1]}
    map_view.follow_browser(view)
    assert address == {"data": "d", "sel": "x1", "part": "test"}
