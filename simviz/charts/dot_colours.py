"""What the colours of a map's dots mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.charts.style import Theme, mix, safe_line
from simviz.data.description import MISSING

#: Groups that get a colour of their own; the rest share one.
MAX_GROUPS = 7
#: Steps that a scale of numbers is drawn in.
_STEPS = 24


def colorscale(scale: Sequence[str]) -> list[list[Any]]:
    """A scale of colours as Plotly wants it."""
    return [[i / (len(scale) - 1), colour] for i, colour in enumerate(scale)]


def _values(color_by: Literal["side"] | ArrayLike, n_x: int, n_y: int) -> NDArray[Any] | None:
    """Return a value for each item, numbers as floats; None where colours say the side."""
    if isinstance(color_by, str):
        if color_by != "side":
            raise ValueError(f"color_by must be 'side' or one value per item, got {color_by!r}.")
        return None
    values = np.asarray(color_by)
    if values.shape != (n_x + n_y,):
        raise ValueError(
            f"color_by needs one value for each of {n_x} x and {n_y} y items, "
            f"got shape {values.shape}."
        )
    return values.astype(np.float64) if values.dtype.kind in "fiu" else values


def _shares(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[float, float] | None]:
    """How far numbers lie between the least and the greatest, NaN where not finite; both."""
    finite = np.isfinite(values)
    if not finite.any():
        return np.full(len(values), np.nan), None
    low, high = float(values[finite].min()), float(values[finite].max())
    with np.errstate(invalid="ignore"):
        shares = (values - low) / (high - low if high > low else 1.0)
    return np.where(finite, shares, np.nan), (low, high)


def _scale_colour(share: float, look: Theme) -> str:
    """The colour at a share of the way along the theme's scale; grey for NaN."""
    if np.isnan(share):
        return look.muted
    at = share * (len(look.scale) - 1)
    step = min(int(at), len(look.scale) - 2)
    return mix(look.scale[step + 1], look.scale[step], at - step)


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Which colour each item has."""

    colours: tuple[str, ...]
    index: NDArray[np.uint8] | None
    legend: tuple[dict[str, Any], ...]


def group_items(
    color_by: Literal["side"] | ArrayLike,
    sizes: tuple[int, int],
    look: Theme,
    *,
    names: tuple[str, str] = ("x side", "y side"),
    title: str = "",
    order: Sequence[str] | None = None,
) -> Grouping:
    """Turn sides, numbers or groups into colours and a legend."""
    values = _values(color_by, *sizes)
    own = (look.accent, look.second) if values is None else (look.muted, look.muted)
    named_sides = [safe_line(name, 40) for name in names]
    sides = (
        _entry("s0", named_sides[0], sizes[0], own[0], "circle"),
        _entry("s1", named_sides[1], sizes[1], own[1], "diamond"),
    )
    if values is None:
        return Grouping(own, None, sides)
    if values.dtype.kind == "f":
        return _group_on_scale(values, look, sides, title)
    texts = [safe_line(value, 40) for value in values]
    counts = Counter(texts)
    n_missing = counts.pop(MISSING, 0)
    if order is None:
        by_size = sorted(counts, key=lambda name: (-counts[name], name))
        named, hues = by_size[:MAX_GROUPS], list(look.palette)
    else:
        named = [name for name in order if name in counts]
        hues = [_ordered_hue(order.index(name), len(order), look) for name in named]
    code = {name: k for k, name in enumerate(named)} | {MISSING: len(named) + 1}
    index = np.array([code.get(name, len(named)) for name in texts], dtype=np.uint8)
    colours = (*hues[: len(named)], look.palette[-1], *([_faint(look)] if n_missing else []))
    groups = [(name, counts[name], hue) for name, hue in zip(named, hues, strict=False)]
    n_others = int((index == len(named)).sum())
    groups.append((f"{len(counts) - len(named)} others", n_others, look.palette[-1]))
    groups.append(("no value", n_missing, _faint(look)))
    entries = [_entry(f"g{k}", *group) for k, group in enumerate(groups) if group[1]]
    return Grouping(colours, index, (*sides, *entries))


def _entry(key: str, name: str, count: int, colour: str, shape: str = "square") -> dict[str, Any]:
    return {"key": key, "name": name, "count": count, "shape": shape, "colour": colour}


def _faint(look: Theme) -> str:
    """The colour of items without a value."""
    return mix(look.muted, look.paper, 0.3)


def _ordered_hue(place: int, n: int, look: Theme) -> str:
    """Blue for the best, then ochre and vermilion; the last of all is no more than grey."""
    if place == n - 1:
        return look.palette[-1]
    return (look.palette[0], look.palette[4], look.palette[1])[min(place, 2)]


def _group_on_scale(
    values: NDArray[np.float64], look: Theme, sides: tuple[dict[str, Any], ...], title: str
) -> Grouping:
    shares, limits = _shares(values)
    if limits is None:
        return Grouping((_faint(look),), np.zeros(len(values), dtype=np.uint8), sides)
    steps = np.minimum((np.nan_to_num(shares) * _STEPS).astype(int), _STEPS - 1)
    index = np.where(np.isnan(shares), _STEPS, steps).astype(np.uint8)
    colours = [_scale_colour((step + 0.5) / _STEPS, look) for step in range(_STEPS)]
    low, high = (f"{limit:.4g}" for limit in limits)
    scale = {"name": safe_line(title, 40), "scale": list(look.scale), "low": low, "high": high}
    return Grouping((*colours, _faint(look)), index, (*sides, scale))
