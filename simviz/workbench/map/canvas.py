"""The map as a component: its code, its items and its places each sent once."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from typing import Any

import streamlit as st

from simviz.charts.canvas import CSS, Part, bundle

#: What the session keeps of the map: what was picked, enclosed and asked, and the camera.
KEY, CAMERA_KEY = "map-canvas", "map-camera"
#: What only tells the browser something takes no room.
STYLE = """
<style>
.stMainBlockContainer div:has(> [class*="st-key-map-part-"]) { position: absolute;
  width: 1px; height: 1px; overflow: hidden; }
</style>
"""
_parts = st.components.v2.component("simviz_map_parts", js=bundle("engine.js"))
_canvas = st.components.v2.component("simviz_map", js=bundle("mount.js"), css=CSS)
_camera = st.components.v2.component("simviz_map_camera", js=bundle("camera_told.js"))


def send(part: Part | None, key: str) -> None:
    """Have the browser keep a part, if there is one; an equal one is not sent again."""
    if part is not None:
        with st.container(key=f"map-part-{key}"):
            _parts(key=f"map-sent-{key}", data=part.data, height=1)


def show(data: Mapping[str, Any], key: str = KEY) -> None:
    """Draw the map; what the reader does comes back in the session under a key."""
    heard: Any = {f"on_{name}_change": _heard for name in ("picked", "region", "asked")}
    _canvas(key=key, data=dict(data), **heard)


def show_rows(data: Mapping[str, Any], key: str) -> None:
    """List items beside the map; pointing at a row shows its item, and the other way round."""
    _canvas(key=key, data=dict(data))


def listen(on_change: Any) -> None:
    """Hear of the camera, of what was looked for and of the legend."""
    with st.container(key="map-part-camera"):
        _camera(key=CAMERA_KEY, on_at_change=on_change, on_set_change=on_change, height=1)


def new_event(name: str, key: str = KEY) -> dict[str, Any] | None:
    """Return what the map sent under a name, once; None if that is nothing newer."""
    sent: Any = (st.session_state.get(key) or {}).get(name)
    heard = f"{key}-heard-{name}"
    # Numbered by the browser's clock. A redraw may bring an earlier state along: it is no news.
    n = sent.get("n") if isinstance(sent, Mapping) else None
    if not isinstance(n, int | float) or n <= st.session_state.get(heard, -math.inf):
        return None
    st.session_state[heard] = n
    return dict(sent)


def last_heard(name: str) -> float:
    """The number of what was last heard under a name; 0 before anything was."""
    return float(st.session_state.get(f"{KEY}-heard-{name}", 0))


def packed(data: bytes) -> str:
    """Bytes as JSON carries them."""
    return base64.b64encode(data).decode("ascii")


def unpacked(text: object) -> bytes:
    """The bytes of such a text; none if it is no such text."""
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        return b""


def _heard() -> None:
    """What was told is read from the session when the page is drawn."""
