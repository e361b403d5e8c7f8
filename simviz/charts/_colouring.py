"""What the colours of a map's dots mean."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.charts.style import Theme
from simviz.charts.text import safe_text

#: Groups that get a colour of their own; the rest share one.
MAX_GROUPS = 7


@dataclass(frozen=True, slots=True)
class Colouring:
    """Colours of the dots of both sides.

    Parameters
    ----------
    x, y : list of str
        One colour a dot.
    groups : tuple of (str, str)
        Name, escaped, and colour of each group; empty unless grouped.
    limits : tuple of float, optional
        Lowest and highest value, where colour is a scale.
    """

    x: list[str]
    y: list[str]
    groups: tuple[tuple[str, str], ...] = ()
    limits: tuple[float, float] | None = None

    def of(self, side: Literal["x", "y"]) -> list[str]:
        """The colours of one side."""
        return self.x if side == "x" else self.y


def colour_points(
    color_by: Literal["side"] | ArrayLike, n_x: int, n_y: int, look: Theme
) -> Colouring:
    """Turn sides, numbers or groups into colours.

    Parameters
    ----------
    color_by : "side" or array-like of shape (n_x + n_y,)
        As in `map_figure`.
    n_x, n_y : int
        Items of the sides.
    look : Theme
        Where the colours come from.

    Returns
    -------
    Colouring
        One colour a dot.

    Raises
    ------
    ValueError
        If there is not one value an item.
    """
    if isinstance(color_by, str):
        if color_by != "side":
            raise ValueError(f"color_by must be 'side' or one value per item, got {color_by!r}.")
        return Colouring([look.accent] * n_x, [look.second] * n_y)
    values = np.asarray(color_by)
    if values.shape != (n_x + n_y,):
        raise ValueError(
            f"color_by needs one value for each of {n_x} x and {n_y} y items, "
            f"got shape {values.shape}."
        )
    if values.dtype.kind in "fiu":
        colours, limits = _on_scale(values.astype(np.float64), look)
        return Colouring(colours[:n_x], colours[n_x:], limits=limits)
    names = [str(v) for v in values]
    largest = [name for name, _ in sorted(Counter(names).items(), key=lambda g: (-g[1], g[0]))]
    colour = dict(zip(largest[:MAX_GROUPS], look.palette, strict=False))
    groups = [(safe_text(name, 28), colour[name]) for name in largest[:MAX_GROUPS]]
    if len(largest) > MAX_GROUPS:
        groups.append((f"{len(largest) - MAX_GROUPS} others", look.palette[-1]))
    colours = [colour.get(name, look.palette[-1]) for name in names]
    return Colouring(colours[:n_x], colours[n_x:], tuple(groups))


def mix(first: str, second: str, share: float) -> str:
    """Blend two colours "#rrggbb"; `share` of the first."""
    parts = (
        round(share * int(first[i : i + 2], 16) + (1 - share) * int(second[i : i + 2], 16))
        for i in (1, 3, 5)
    )
    return "#" + "".join(f"{part:02x}" for part in parts)


def colorscale(look: Theme) -> list[list[Any]]:
    """The theme's scale as Plotly wants it."""
    steps = len(look.scale) - 1
    return [[i / steps, colour] for i, colour in enumerate(look.scale)]


def _on_scale(
    values: NDArray[np.float64], look: Theme
) -> tuple[list[str], tuple[float, float] | None]:
    """Colours of numbers; grey for what is not finite."""
    finite = np.isfinite(values)
    if not finite.any():
        return [look.muted] * len(values), None
    low, high = float(values[finite].min()), float(values[finite].max())
    span = high - low if high > low else 1.0
    stops = list(pairwise(look.scale))
    colours = []
    for value, real in zip(values, finite, strict=True):
        if not real:
            colours.append(look.muted)
            continue
        at = (value - low) / span * len(stops)
        step = min(int(at), len(stops) - 1)
        colours.append(mix(stops[step][1], stops[step][0], at - step))
    return colours, (low, high)
