import numpy as np
import pytest

from simviz.charts import (
    DimensionCurve,
    RocCurve,
    dimension_figure,
    dimension_records,
    method_style,
    roc_figure,
    roc_records,
)
from simviz.charts.style import label_ends
from simviz.evaluation import VectorScorer, dimension_curve, evaluate


def roc(n, power=0.3):
    fpr = np.linspace(0, 1, n)
    return fpr, fpr**power


def test_roc_is_square_and_best_first():
    best = ("s2net", "S2Net", *roc(50), 0.769, (0.75, 0.79))
    figure = roc_figure([RocCurve("cca", "CCA", *roc(50, 0.5), 0.667), best])
    assert [t.name for t in figure.data[1:]] == ["S2Net 0.769 [0.750, 0.790]", "CCA 0.667"]
    assert figure.layout.yaxis.scaleanchor == "x"
    chance = figure.data[0]
    np.testing.assert_array_equal(chance.x, chance.y)
    for trace, method in zip(figure.data[1:], ("s2net", "cca"), strict=True):
        assert (trace.line.color, trace.line.dash) == method_style(method)[:2]
        assert set(trace.customdata) == {method}
    assert "S2Net 0.769, CCA 0.667" in figure.layout.meta["alt"]


def test_what_was_measured_is_drawn_under_a_name():
    X, Y = np.eye(4), np.eye(4)[:, [0, 1, 2, 2]]
    measured = evaluate(VectorScorer(), X, X).roc
    assert [t.name for t in roc_figure({"OPCA": measured}).data[1:]] == ["OPCA 1.000"]
    curve = dimension_curve(X, Y, dimensions=[2, 4], directions=["y2x", "x2y"])
    figure = dimension_figure({"OPCA": curve}, metric="MRR")
    (line,) = (t for t in figure.data if t.name)
    (band,) = (t for t in figure.data if t.fill == "toself")
    first = [row for row in curve.to_records() if row["direction"] == "y2x"]
    assert list(line.x) == [2, 4] and list(line.y) == [row["value"] for row in first]
    assert curve.values("y2x")[1] != curve.values("x2y")[1]
    ends = [row["value"] + 1.96 * s * row["standard_error"] for row in first for s in (-1, 1)]
    np.testing.assert_allclose(sorted(band.y), sorted(ends), atol=1e-3)


def test_points_on_a_straight_line_are_left_out():
    curve = ("cca", "CCA", [0, 0.1, 0.2, 0.2, 0.6, 1.0], [0, 0.4, 0.8, 0.9, 0.95, 1.0], 0.8)
    trace = roc_figure([curve]).data[1]
    assert list(trace.x) == [0, 0.2, 0.2, 1.0] and list(trace.y) == [0, 0.8, 0.9, 1.0]
    assert len(roc_records([curve])) == 6  # the table keeps them


@pytest.mark.parametrize("log_fpr", [False, True])
def test_long_curves_are_thinned_within_a_pixel(log_fpr):
    rng = np.random.RandomState(0)
    steps = rng.uniform(size=30_000) < 0.7 * np.linspace(1, 0, 30_000)
    tpr, fpr = np.cumsum(steps) / steps.sum(), np.cumsum(~steps) / (~steps).sum()
    fpr, tpr = np.r_[0, fpr], np.r_[0, tpr]
    trace = roc_figure([("cca", "CCA", fpr, tpr, 0.8)], log_fpr=log_fpr).data[1]
    assert len(trace.x) <= 401
    assert (trace.x[-1], trace.y[-1]) == (1, 1)
    at = np.geomspace(1e-3, 1, 50)
    np.testing.assert_allclose(np.interp(at, trace.x, trace.y), np.interp(at, fpr, tpr), atol=5e-3)


def test_a_logarithmic_axis_begins_at_its_border():
    trace = roc_figure([("cca", "CCA", [0, 0, 0.01, 1], [0, 0.2, 0.6, 1], 0.8)], log_fpr=True)
    drawn = trace.data[1]
    assert trace.layout.xaxis.type == "log" and drawn.x[0] == 1e-4
    assert drawn.y[0] == pytest.approx(0.2 + 0.4 * 0.01)
    assert all(x > 0 for x in trace.data[0].x)


def test_dimensions_mark_the_fewest_that_reach_the_best():
    curves = [
        DimensionCurve("opca", "OPCA", [8, 2, 4, 16], [0.5, 0.1, 0.3, 0.5]),
        DimensionCurve("cca", "CCA", [2, 4, 8], [0.2, 0.6, 0.4], [0.1, 0.5, 0.3], [0.3, 0.7, 0.5]),
    ]
    figure = dimension_figure(curves, metric="MRR")
    names = [t.name for t in figure.data if t.showlegend is not False]
    assert names == ["CCA 0.600 at 4", "OPCA 0.500 at 8"]
    rings = [(t.x[0], t.y[0]) for t in figure.data if t.marker.symbol == "circle-open"]
    assert rings == [(4, 0.6), (8, 0.5)]
    line = next(t for t in figure.data if t.name and t.name.startswith("OPCA"))
    assert list(line.x) == [2, 4, 8, 16]
    assert figure.layout.xaxis.type == "log"
    assert list(figure.layout.xaxis.tickvals) == [2, 5, 10]
    (label,) = figure.layout.annotations
    assert label.text == "0.600 at 4" and 10**label.x == pytest.approx(4)
    (band,) = (t for t in figure.data if t.fill == "toself")
    assert list(band.y) == [0.3, 0.7, 0.5, 0.3, 0.5, 0.1]


@pytest.mark.parametrize(
    ("measured", "ticks"),
    [(range(1, 41), [1, 2, 5, 10, 20]), ([60, 300], [100, 200]), ([3, 4], [3, 4])],
)
def test_ticks_of_dimensions_are_round_numbers(measured, ticks):
    values = np.linspace(0, 1, len(measured))
    figure = dimension_figure([("opca", "OPCA", list(measured), values)])
    assert list(figure.layout.xaxis.tickvals) == ticks


def names_at_ends(figure, height):
    """The names beside a figure with where they stand, in pixels from its bottom."""
    label_ends(figure, height)
    layout = figure.layout
    inside = height - layout.margin.t - layout.margin.b
    return {a.text: a.y * inside for a in layout.annotations if a.xref == "paper"}, inside


def test_curves_are_named_at_their_ends():
    curves = [
        DimensionCurve("opca", "OPCA", [2, 8], [0.1, 0.8]),
        DimensionCurve("cca", "CCA <b>", [2, 8], [0.1, 0.4]),
        DimensionCurve("lsa", "LSA", [2, 4], [0.1, 0.0]),
    ]
    figure = dimension_figure(curves)
    names, inside = names_at_ends(figure, 480)
    low, high = figure.layout.yaxis.range
    ends = {"OPCA": 0.8, "CCA &lt;b&gt;": 0.4, "LSA": 0.0}
    assert names == pytest.approx({n: inside * (y - low) / (high - low) for n, y in ends.items()})
    assert figure.layout.showlegend is False and figure.layout.margin.r > 7 * len("CCA <b>")
    samples = {line.line.dash for line in figure.layout.shapes if line.y0 == line.y1}
    assert {method_style("opca").dash, method_style("lsa").dash} <= samples
    leads_on = [t for t in figure.data if list(t.x) == [4, 8]]
    assert len(leads_on) == 1, "a curve that ends before the others has a line to its name"


def test_names_of_curves_that_end_together_do_not_overlap():
    curves = [(f"m{i}", f"run {i}", *roc(50, 0.3 + 0.01 * i), 0.9 - 0.01 * i) for i in range(20)]
    names, inside = names_at_ends(roc_figure(curves), 480)
    assert list(names) == [f"run {i}" for i in range(20)], "the best first"
    places = np.array(list(names.values()))
    assert (-np.diff(places) > 16.9).all() and places.max() <= inside and places.min() >= 0
    few, inside = names_at_ends(roc_figure(curves), 200)
    assert list(few) == [f"run {i}" for i in range(inside // 17)], "the best, where not all fit"


def test_a_name_stands_where_its_curve_leaves_the_picture():
    low = [("cca", "CCA", [0, 0.1, 0.4, 1], [0, 0.4, 0.7, 1], 0.8)]
    names, inside = names_at_ends(roc_figure(low, max_fpr=0.25), 480)
    assert names["CCA"] == pytest.approx(inside * 0.55 / 1.005)


def test_the_rows_behind_the_dimensions():
    rows = dimension_records([("cca", "CCA", [2, 4], [0.1, 0.2], [0.0, 0.1], [0.2, 0.3])])
    at = {"dimensions": 4, "value": 0.2, "low": 0.1, "high": 0.3}
    assert rows[1] == {"method": "cca", "label": "CCA"} | at
    assert dimension_records([("cca", "CCA", [2], [0.1])])[0]["low"] is None


@pytest.mark.parametrize(
    ("draw", "curve", "message"),
    [
        (roc_figure, ("cca", "CCA", [0, 1], [0, 0.5, 1], 0.5), "equally many"),
        (roc_figure, ("cca", "CCA", [0, 2], [0, 1], 0.5), "between 0 and 1"),
        (roc_figure, ("cca", "CCA", [], [], 0.5), "at least one"),
        (dimension_figure, ("cca", "CCA", [1, 2], [0.5]), "one value"),
        (dimension_figure, ("cca", "CCA", [0], [0.5]), "begin at 1"),
    ],
)
def test_curve_refusals(draw, curve, message):
    with pytest.raises(ValueError, match=message):
        draw([curve])
