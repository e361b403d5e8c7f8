"""The map in three dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simviz.charts._colouring import Colouring
from simviz.charts._placing import spread_order
from simviz.charts._sides import Focus, Links, Side
from simviz.charts.style import Theme
from simviz.charts.text import safe_text

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Labels of a side: what covers what depends on the camera, so they are few.
MAX_LABELS = 40


def draw_spatial(
    figure: go.Figure,
    sides: tuple[Side, Side],
    colouring: Colouring,
    focus: Focus | None,
    links: Links,
    look: Theme,
) -> None:
    """Add dots, the labels of the best connected items, and lines to a figure."""
    import plotly.graph_objects as go

    for side in reversed(sides):
        other = sides[0] if side is sides[1] else sides[1]
        related = _related_rows(side, focus, links)
        # WebGL draws colour glyphs as blots.
        written: set[int] = set() if side.has_glyphs else set(related) if focus else _leading(side)
        figure.add_trace(
            go.Scatter3d(
                x=side.points[:, 0],
                y=side.points[:, 1],
                z=side.points[:, 2],
                mode="markers+text",
                name=f"{safe_text(side.title, 40)} ({len(side.items):,})",
                showlegend=False,
                customdata=side.keys,
                hovertext=side.hover_texts,
                hovertemplate="%{hovertext}<extra></extra>",
                text=[
                    safe_text(label, 26) if row in written else ""
                    for row, label in enumerate(side.labels)
                ],
                textfont={"size": 11, "color": look.ink},
                marker={
                    "color": [
                        colour if focus is None or row in related else look.faint
                        for row, colour in enumerate(colouring.of(side.name))
                    ],
                    "symbol": side.symbol,
                    # A diamond of one size looks larger than a circle.
                    "size": 3.0 if side.name == "x" else 2.2,
                    "opacity": 0.7,
                    "line": {"width": 0},
                },
            )
        )
        if focus is not None and focus[0] is other and related:
            centre = other.points[focus[1]]
            ends = side.points[related]
            path = np.full((len(related), 3, 3), np.nan)
            path[:, 0], path[:, 1] = centre, ends
            x, y, z = path.reshape(-1, 3).T
            figure.add_trace(
                go.Scatter3d(
                    x=x,
                    y=y,
                    z=z,
                    mode="lines",
                    line={"color": look.muted, "width": 2},
                    hoverinfo="skip",
                    name=f"joined ({len(related)})",
                )
            )
    hidden = {"visible": False}
    figure.update_layout(
        scene={
            "xaxis": hidden,
            "yaxis": hidden,
            "zaxis": hidden,
            "aspectmode": "data",
            "camera": {"eye": {"x": 0.95, "y": 0.95, "z": 0.6}},
            "bgcolor": "rgba(0,0,0,0)",
        }
    )


def _related_rows(side: Side, focus: Focus | None, links: Links) -> list[int]:
    if focus is None:
        return []
    return [focus[1]] if focus[0] is side else links.all


def _leading(side: Side) -> set[int]:
    """Find the items with most partners; where all have one, items far apart."""
    if side.items.kind not in ("text", "keyword"):
        return set()
    if side.degree.max(initial=0.0) <= 1:
        return set(spread_order(side.points, MAX_LABELS).tolist())
    lengths = np.array([len(label) for label in side.labels])
    return set(np.lexsort((lengths, -side.degree))[:MAX_LABELS].tolist())
