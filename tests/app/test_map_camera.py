"""Where the reader looks outlives the page: in the link, and for the next drawing."""

from __future__ import annotations

import pytest
import streamlit as st
from streamlit.runtime.state.query_params import QueryParams

from simviz.workbench.map import canvas, view as map_view
from simviz.workbench.shell import query_params


@pytest.fixture(autouse=True)
def session(monkeypatch):
    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(st, "query_params", QueryParams())
    query_params.begin_page("Map")
    return st.session_state


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
    map_view.apply_browser_state(view)
    assert view.at == (0.0, 0.5, 2.0)


def test_link_follows_the_camera(session):
    query_params.replace({"data": "d", "sel": "x1", "at": "0,0,9", "part": "test"})
    view = map_view.View("d")
    session[canvas.CAMERA_KEY] = {"at": [0.5, 0, 2]}
    map_view.apply_browser_state(view)
    assert view.at == (0.5, 0.0, 2.0)
    whole = {"data": "d", "sel": "x1", "part": "test"}
    assert st.query_params.to_dict() == whole | {"at": "0.5,0,2"}
    session[canvas.CAMERA_KEY] = {"at": [0, 0, 1]}
    map_view.apply_browser_state(view)
    assert st.query_params.to_dict() == whole, "the whole map needs no words"
