"""The part of the map in view: what was zoomed to outlives the next drawing.

A chart with a new figure is a new chart to the browser, and begins at its own
ranges. So the window is told to the server as it is moved, by a component
without a face in a fragment of its own, which no other part of the page
hears of; the next figure then begins there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._shared.map_state import CHART

if TYPE_CHECKING:
    import plotly.graph_objects as go

_LISTEN = (
    """
const PLOT = ".st-key-"""
    + CHART
    + """ .js-plotly-plot";
const started = new WeakSet();

export default function ({ parentElement, setStateValue }) {
  if (started.has(parentElement)) return;
  started.add(parentElement);
  let waiting = null;
  const tell = (plot) => {
    const layout = plot._fullLayout;
    if (!layout || !layout.xaxis || !layout.yaxis) return;
    setStateValue("window", [...layout.xaxis.range, ...layout.yaxis.range]);
  };
  const listen = () => {
    const plot = document.querySelector(PLOT);
    if (!plot || !plot.on || plot.dataset.listened) return;
    plot.dataset.listened = "yes";
    plot.on("plotly_relayout", (change) => {
      if (!Object.keys(change).some((name) => name.includes("axis"))) return;
      clearTimeout(waiting);
      waiting = setTimeout(() => tell(plot), 150);
    });
  };
  const timer = setInterval(listen, 250);
  return () => clearInterval(timer);
}
"""
)
_component = st.components.v2.component("simviz_map_window", js=_LISTEN)
_STATE = "map-window"
#: Width of the map beside the drawer over its width alone.
_SHARE = 0.685


@dataclass(slots=True)
class _Window:
    """Ranges that were told, and the chart that they are of."""

    of: tuple[Any, ...]
    is_beside: bool
    ranges: tuple[float, ...] | None = None


def listen() -> None:
    """Hear of the window from now on."""
    _listen()


@st.fragment
def _listen() -> None:
    told = _component(key="map-window-told", on_window_change=_take, height=1)
    del told


def _take() -> None:
    told = st.session_state["map-window-told"].get("window")
    window = st.session_state.get(_STATE)
    if window is None or not isinstance(told, list) or len(told) != 4:
        return
    if all(isinstance(value, int | float) and math.isfinite(value) for value in told):
        window.ranges = tuple(float(value) for value in told)


def restore(
    figure: go.Figure, of: tuple[Any, ...], *, is_beside: bool, point: tuple[float, float] | None
) -> None:
    """Let a figure begin where the last one of the same drawing was left.

    Parameters
    ----------
    figure : plotly Figure
        Changed in place.
    of : tuple
        What is drawn: the window of another drawing means nothing here.
    is_beside : bool
        Whether the map stands beside the drawer, and so is narrower.
    point : tuple of float, optional
        Must be in view.
    """
    window = st.session_state.get(_STATE)
    if not isinstance(window, _Window) or window.of != of:
        st.session_state[_STATE] = _Window(of, is_beside)
        return
    if window.ranges is not None:
        left, right, low, high = window.ranges
        if is_beside != window.is_beside:
            # The scale stays, and so does the left border.
            right = left + (right - left) * (_SHARE if is_beside else 1 / _SHARE)
        if point is not None:
            left, right = _around(left, right, point[0])
            low, high = _around(low, high, point[1])
        window.ranges = (left, right, low, high)
        figure.update_xaxes(range=[left, right])
        figure.update_yaxes(range=[low, high])
    window.is_beside = is_beside


def _around(low: float, high: float, value: float) -> tuple[float, float]:
    """The range, moved as little as it takes to have a value well inside."""
    border = 0.08 * (high - low)
    move = min(0.0, value - low - border) + max(0.0, value - high + border)
    return low + move, high + move
