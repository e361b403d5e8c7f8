"""Everything that is set on the map is in its link, and comes back from it."""

from __future__ import annotations

import numpy as np
import pytest
import streamlit as st
from hypothesis import given, strategies as some
from streamlit.runtime.state.query_params import QueryParams

from simviz.workbench.map import canvas, view as map_view
from simviz.workbench.shell import query_params
from simviz.workbench.shell.query_params import PAGES

COLUMNS = ("kind", "<b>year</b>")
WHOLE = {
    "drawing": "umap-2",
    "item": ("y", 4),
    "regions": False,
    "balance": "rank",
    "has_halos": True,
    "at": (0.5, -0.25, 3.0),
    "outline": ((0.0, 0.0), (0.5, 0.0), (0.5, 0.125)),
    "colour": "=<b>year</b>",
    "side": "x",
    "part": "left out",
    "has_table": True,
    "dims": 12,
    "beside": "0f",
    "find": ("pattern", "^a:b (c|d)$"),
    "closed": ("s1", "g3"),
    "filter": "0:3.4.23;2:1",
}
CHOICES = WHOLE | {"across": 30, "query": ("y", "a: heart & <i>")}


def unusual(view):
    """What the address says of a view: what is usual goes unsaid."""
    told = map_view.link_params(view, COLUMNS)
    return {name: value for name, value in told.items() if value != PAGES["Map"][name]}


def again(view, pairs):
    """What another visitor's map shows after the link of this one."""
    other = map_view.View(view.dataset_id)
    map_view.apply_link(other, map_view.link_params(view, COLUMNS), pairs, COLUMNS)
    return other


@pytest.mark.parametrize("name", CHOICES)
def test_each_choice_comes_back(name, pairs):
    view = map_view.View("d", **{name: CHOICES[name]})
    assert len(unusual(view)) == 1
    assert getattr(again(view, pairs), name) == CHOICES[name]


def test_each_drawing_has_its_own_name_and_a_link_holds_texts_of_a_length(pairs):
    view = map_view.View("d", across=30)
    assert unusual(view) == {"drawing": "two-sided-2-30"}
    assert again(map_view.View("d"), pairs).drawing_name == "two-sided-2"
    view = map_view.View("d", drawing="umap-2", balance="rank")
    view.draw_by("two-sided")  # balance of the sides is no matter of it
    assert (view.drawing_name, unusual(view)) == ("two-sided-2", {})
    assert again(map_view.View("d", query=("x", "a" * 900)), pairs).query == ("x", "a" * 200)


def test_a_link_that_says_all_takes_back_what_was_chosen(pairs):
    usual = map_view.link_params(map_view.View("d"), COLUMNS)
    assert unusual(map_view.View("d")) == {}
    assert usual.keys() | {"part", "direction"} == PAGES["Map"].keys()
    other = map_view.View("d", **WHOLE)
    found = again(other, pairs)
    assert {name: getattr(found, name) for name in WHOLE} == WHOLE, "all at once"
    assert found.enclosed is None, "which items lie inside is asked of the drawing"
    assert "year" not in str(map_view.link_params(other, COLUMNS)), "links carry no text"
    map_view.apply_link(other, usual, pairs, COLUMNS)
    assert unusual(other) == {}


NAMES = "drawing sel ask regions gap halos table colour side only dims find hide lasso at".split()
NAMES += ["filter", "beside"]
TEXTS = some.text(max_size=40) | some.sampled_from(["c9", "c-1", "x:", "t:", "1,2;nan,3;4,5", "²"])


@given(some.dictionaries(some.sampled_from(NAMES), TEXTS))
def test_nonsense_is_never_an_error(pairs, told):
    view = map_view.View("d")
    map_view.apply_link(view, told, pairs, COLUMNS)
    assert view.colour in ("side", *map_view.COLOURS, *(f"={c}" for c in COLUMNS))
    assert view.dims is None or view.dims >= 0
    assert map_view.link_params(view, COLUMNS).keys() <= set(NAMES)


def test_lasso_encloses_what_the_browser_encloses():
    points = np.random.default_rng(0).normal(size=(500, 2)) * [3.0, 1.0]
    low, high = points.min(axis=0), points.max(axis=0)
    half, middle = (high - low).max() / 2, (low + high) / 2
    corners = ((-0.3, -0.1), (0.4, -0.1), (0.4, 0.2), (-0.3, 0.2))
    inside = map_view.rows_inside(corners, points)
    across, up = ((points - middle) / half).T
    expected = (across > -0.3) & (across < 0.4) & (up > -0.1) & (up < 0.2)
    assert inside.tolist() == np.flatnonzero(expected).tolist()
    assert 0 < len(inside) < 500


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(st, "query_params", QueryParams())
    query_params.begin_page("Map")
    return st.session_state


@pytest.mark.parametrize(
    "text", [None, "1,2", "1,2,3,4", "a,b,c", "nan,0,1", "0,0,0", "0,0,1e9", "9,0,1", "1" * 99]
)
def test_nonsense_in_a_link_is_no_place(text):
    assert map_view.parse_camera(text) is None


@pytest.mark.parametrize(
    "told", [None, [1, 2, 3, 4], [1, 2, "4"], [1, 2, float("nan")], {"at": 1}]
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
