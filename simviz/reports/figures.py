"""The charts of a report, in both looks, as data that a page can hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from simviz.charts import DimensionCurve, RocCurve, dimension_figure, map_figure, roc_figure
from simviz.data.pairs import PairSet
from simviz.evaluation.differences import REACH
from simviz.evaluation.roc import Roc
from simviz.jobs.results import load_map
from simviz.reports.told import Told, part_words

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Points of a side at most: a page of its own draws them without a graphics card.
MAX_POINTS = 3_000
_RATES = (0.001, 0.01, 0.1)
_NEARLY = 0.95
ThemeName = Literal["light", "dark"]


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """A chart with what it shows in words and in figures.

    Parameters
    ----------
    id, title : str
        Name in the page, and heading.
    light, dark : plotly Figure
        The same in two looks.
    height : int
        In pixels.
    caption : str
        What it shows.
    head, rows : sequence of str
        A table of figures read off it; empty where there is none.
    """

    id: str
    title: str
    light: go.Figure
    dark: go.Figure
    height: int
    caption: str
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()

    @property
    def alt(self) -> str:
        """What it shows, for those who cannot see it."""
        return str(self.light.layout.meta["alt"])


def roc_chart(told: Sequence[Told]) -> Chart | None:
    """ROC curves of the runs, or None where none was traced."""
    rocs = [(one, Roc(**arrays)) for one in told if (arrays := _roc(one)) is not None]
    if not rocs:
        return None
    curves = [RocCurve(one.look, one.label, r.fpr, r.tpr, r.auc) for one, r in rocs]
    first = rocs[0][1]
    return Chart(
        id="roc",
        title="How well one threshold separates pairs",
        light=roc_figure(curves, theme="light"),
        dark=roc_figure(curves, theme="dark"),
        height=540,
        caption=(
            f"Over {first.n_positive + first.n_negative:,} pairs of the {told[0].part} part, of "
            f"which {first.n_positive:,} belong together; both directions are the same. The table "
            "says which share of the true pairs is found at a share of false alarms."
        ),
        head=["run", *(f"at {100 * rate:g} %" for rate in _RATES)],
        rows=[[one.label, *(f"{100 * r.tpr_at(x):.1f} %" for x in _RATES)] for one, r in rocs],
    )


def _roc(one: Told) -> Mapping[str, Any] | None:
    return one.run.part(one.part).roc()


def dimension_chart(told: Sequence[Told], pairs: PairSet, direction: str) -> Chart | None:
    """Quality by dimension, or None where no method has such a curve."""
    drawn = [(one, c) for one in told if (c := dimension_curve(one, direction)) is not None]
    if not drawn:
        return None
    metric = str(drawn[0][0].curve[0]["metric"])
    curves = [curve for _, curve in drawn]
    return Chart(
        id="dimensions",
        title="How many dimensions it takes",
        light=dimension_figure(curves, metric=metric, theme="light"),
        dark=dimension_figure(curves, metric=metric, theme="dark"),
        height=540,
        caption=(
            f"{metric} of the first dimensions of each model, all from one training, with 95 % "
            f"bands; {part_words(told[0], pairs)}."
        ),
        head=["run", f"best {metric}", "with", "95 % of it with"],
        rows=[[one.label, *_milestones(curve)] for one, curve in drawn],
    )


def dimension_curve(one: Told, direction: str) -> DimensionCurve | None:
    """Quality by dimension with its 95 % band, or None where a run has none."""
    wanted = ("x2y", "y2x") if direction == "mean" else (direction,)
    sides = [[r for r in one.curve if r["direction"] == d] for d in wanted]
    if not all(sides):
        return None
    # A side on which no query can fail has no values.
    sides = [side for side in sides if not any(isnan(r["value"]) for r in side)]
    if not sides:
        return None
    points = list(zip(*sides, strict=True))
    values = [fmean(p["value"] for p in point) for point in points]
    reach = [REACH * fmean(p["standard_error"] for p in point) for point in points]
    return DimensionCurve(
        one.look,
        one.label,
        [point[0]["dimension"] for point in points],
        values,
        [v - r for v, r in zip(values, reach, strict=True)],
        [v + r for v, r in zip(values, reach, strict=True)],
    )


def map_chart(one: Told, pairs: PairSet, drawing: str) -> Chart | None:
    """Both sides on one map as a run sees them, or None where it is not kept."""
    if drawing not in one.run.maps():
        return None
    drawn, x_rows, y_rows = load_map(one.run, drawing)
    notes = list(drawn.notes)
    keep = [_sample(len(rows), drawn.seed) for rows in (x_rows, y_rows)]
    if len(keep[0]) < len(x_rows) or len(keep[1]) < len(y_rows):
        drawn = replace(drawn, x=drawn.x[keep[0]], y=drawn.y[keep[1]])
        x_rows, y_rows = x_rows[keep[0]], y_rows[keep[1]]
        notes.append(f"At most {MAX_POINTS:,} items of a side are shown here, drawn at random.")
    x, y = pairs.x.take(x_rows), pairs.y.take(y_rows)
    relevance = pairs.relevance.take(x_rows, y_rows)

    def figure(theme: ThemeName) -> go.Figure:
        return map_figure(
            drawn,
            x,
            y,
            relevance,
            theme=theme,
            x_name=pairs.x_name,
            y_name=pairs.y_name,
            width=1100,
            height=720,
        )

    told = [f"{len(x):,} {pairs.x_name} and {len(y):,} {pairs.y_name} of all parts."]
    if drawn.quality is not None:
        told.append(drawn.quality.describe())
    told += notes
    return Chart(
        id="map",
        title="Both sides on one map",
        light=figure("light"),
        dark=figure("dark"),
        height=720,
        caption=" ".join([f"As seen by {one.label}.", *told]),
    )


def chart_data(figure: go.Figure) -> dict[str, Any]:
    """A figure as JSON's types, drawn with SVG alone.

    Parameters
    ----------
    figure : plotly Figure
        Any figure in two dimensions.

    Returns
    -------
    dict
        With "data" and "layout". Plotly compiles what it draws with WebGL,
        which a page that forbids evaluated code cannot allow.
    """
    told: dict[str, Any] = json.loads(figure.to_json(validate=False))
    told["layout"].pop("meta", None)  # the page has it in words
    for trace in told["data"]:
        if trace.get("type") == "scattergl":
            trace["type"] = "scatter"
    return told


def _sample(n: int, seed: int | None) -> NDArray[np.intp]:
    if n <= MAX_POINTS:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed or 0).permutation(n)[:MAX_POINTS])


def _milestones(curve: DimensionCurve) -> tuple[str, str, str]:
    """The best value, at how many dimensions, and how many nearly reach it."""
    points = list(zip(np.asarray(curve.dimensions), np.asarray(curve.values), strict=True))
    at, best = max(points, key=lambda point: float(point[1]))
    enough = next((k for k, value in points if value >= _NEARLY * best), at)
    return f"{best:.3f}", f"{at:,}", f"{enough:,}"
