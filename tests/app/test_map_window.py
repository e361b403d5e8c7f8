"""What was zoomed to is where the next figure begins."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest
import streamlit as st

from pages._shared import map_window

pytestmark = pytest.mark.app
OF = ("data", "run", "mds")


@pytest.fixture(autouse=True)
def session(monkeypatch):
    monkeypatch.setattr(st, "session_state", {})
    return st.session_state


def ranges(of=OF, *, is_beside=False, point=None):
    figure = go.Figure()
    map_window.restore(figure, of, is_beside=is_beside, point=point)
    x, y = figure.layout.xaxis.range, figure.layout.yaxis.range
    return None if x is None else pytest.approx([*x, *y])


def tell(session, told):
    session["map-window-told"] = {"window": told}
    map_window._take()


def test_first_figure_begins_where_it_likes(session):
    assert ranges() is None
    assert ranges() is None, "nothing was told"


def test_window_is_kept_for_the_same_drawing_only(session):
    ranges()
    tell(session, [0.0, 2.0, -1.0, 1.0])
    assert ranges() == [0.0, 2.0, -1.0, 1.0]
    assert ranges(("data", "run", "umap")) is None
    assert ranges() is None


def test_scale_stays_when_the_drawer_opens_and_closes(session):
    ranges()
    tell(session, [0.0, 2.0, -1.0, 1.0])
    assert ranges(is_beside=True) == [0.0, 1.37, -1.0, 1.0]
    assert ranges(is_beside=False) == [0.0, 2.0, -1.0, 1.0]


def test_selected_point_comes_into_view(session):
    ranges()
    tell(session, [0.0, 1.0, 0.0, 1.0])
    assert ranges(point=(0.5, 0.5)) == [0.0, 1.0, 0.0, 1.0]
    assert ranges(point=(3.0, 0.5)) == [2.08, 3.08, 0.0, 1.0]
    assert ranges(point=(2.5, -1.0)) == [2.08, 3.08, -1.08, -0.08]


@pytest.mark.parametrize(
    "told", [None, [], [1, 2, 3], [1, 2, 3, "4"], [1, 2, 3, float("nan")], {"x": 1}]
)
def test_nonsense_from_the_browser_changes_nothing(session, told):
    ranges()
    tell(session, told)
    assert ranges() is None
