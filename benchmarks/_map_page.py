"""A page with nothing but a large map on it, for `map_frames.py` to look at.

The address says what is on it: ``?n=20000&kind=points`` or ``&kind=pictures``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import streamlit as st

sys.path.insert(0, str(Path(__file__).parents[1]))

from simviz.charts.canvas import Part, importance, pack_items, pack_nearest, pack_places
from simviz.data import Items
from simviz.workbench.map import canvas


@st.cache_resource
def scene(n: int, kind: str) -> tuple[Part, Part, Part, tuple[int, int]]:
    """Items in forty clouds, half of them on each side, with two columns and five neighbours."""
    rng = np.random.default_rng(0)
    if kind == "pictures":
        from simviz.datasets import DEMOS

        pairs = DEMOS["icons"].loader()
        x, y = pairs.x, pairs.y
    else:
        half = n // 2
        sides = [
            Items([str(i) for i in range(half)], [f"{name} {i}" for i in range(half)], "text")
            for name in ("left", "right")
        ]
        x, y = sides
    middles = rng.normal(scale=3.0, size=(40, 2))
    points = [
        middles[rng.integers(0, 40, len(side))] + rng.normal(size=(len(side), 2))
        for side in (x, y)
    ]
    order = importance(x, y, *points)
    n = len(x) + len(y)
    columns = {
        "year": rng.normal(2000, 8, n),
        "kind": np.array([f"kind {k}" for k in range(6)], dtype=object)[rng.integers(0, 6, n)],
    }
    places = pack_places(*points, order)
    nearest = pack_nearest(rng.integers(0, n, size=(n, 5)), places)
    return pack_items(x, y, columns=columns), places, nearest, (len(x), len(y))


st.set_page_config(layout="wide")
n, kind = int(st.query_params.get("n", 20_000)), st.query_params.get("kind", "points")
items, places, nearest, sizes = scene(n, kind)
canvas.send(items, "items")
canvas.send(places, "places")
canvas.send(nearest, "nearest")
if "panel" in st.query_params:
    listed = {"title": "Items", "rows": None, "found": None, "filters": True}
    with st.sidebar:
        canvas.show_rows(listed, "items")
canvas.show(
    {
        "items": items.digest,
        "places": places.digest,
        "look": {
            "name": "light", "paper": "#fcfbf8", "ink": "#23272e", "soft": "#40454d",
            "muted": "#6a6f78", "faint": "#e6e3dc", "accent": "#1b6a8f", "right": "#00805f",
            "false": "#cc4b00", "missing": "#0a5fa3", "dim": 0.2,
        },
        "colours": ["#1b6a8f", "#b4561f"],
        "groups": None,
        "legend": [],
        "hidden": None,
        "halos": None,
        "regions": [],
        "selected": None,
        "query": None,
        "region": None,
        "camera": {"at": None, "n": 0},
        "set": {"find": None, "closed": [], "filter": "", "n": 0},
        "typed": None,
        "asked": [],
        "narrow": False,
        "scrolls": False,
        "alt": f"{sizes[0]} and {sizes[1]} items",
    }
)  # fmt: skip
