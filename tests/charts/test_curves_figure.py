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


def roc(n, power=0.3):
    fpr = np.linspace(0, 1, n)
    return fpr, fpr**power


def test_roc_is_square_and_best_first():
    curves = [
        RocCurve("cca", "CCA", *roc(50, 0.5), 0.667),
        ("s2net", "S2Net", *roc(50), 0.769, (0.75, 0.79)),
    ]
    figure = roc_figure(curves)
    assert [t.name for t in figure.data[1:]] == ["S2Net 0.769 [0.750, 0.790]", "CCA 0.667"]
    assert figure.layout.yaxis.scaleanchor == "x"
    chance = figure.data[0]
    np.testing.assert_array_equal(chance.x, chance.y)
    for trace, method in zip(figure.data[1:], ("s2net", "cca"), strict=True):
        assert (trace.line.color, trace.line.dash) == method_style(method)[:2]
        assert set(trace.customdata) == {method}
    assert "S2Net 0.769, CCA 0.667" in figure.layout.meta["alt"]


def test_points_on_a_straight_line_are_left_out():
    fpr, tpr = [0, 0.1, 0.2, 0.2, 0.6, 1.0], [0, 0.4, 0.8, 0.9, 0.95, 1.0]
    trace = roc_figure([("cca", "CCA", fpr, tpr, 0.8)]).data[1]
    assert list(trace.x) == [0, 0.2, 0.2, 1.0] and list(trace.y) == [0, 0.8, 0.9, 1.0]
    assert len(roc_records([("cca", "CCA", fpr, tpr, 0.8)])) == 6  # the table keeps them


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
    assert list(figure.layout.xaxis.tickvals) == [2, 4, 8, 16]
    bands = [t for t in figure.data if t.fill == "toself"]
    assert len(bands) == 1 and list(bands[0].y) == [0.3, 0.7, 0.5, 0.3, 0.5, 0.1]


def test_ticks_that_would_collide_are_left_out():
    figure = dimension_figure([("opca", "OPCA", list(range(1, 41)), np.linspace(0, 1, 40))])
    ticks = np.array(figure.layout.xaxis.tickvals)
    assert ticks[0] == 1 and (ticks[1:] / ticks[:-1] >= 1.4).all()


def test_the_rows_behind_the_dimensions():
    rows = dimension_records([("cca", "CCA", [2, 4], [0.1, 0.2], [0.0, 0.1], [0.2, 0.3])])
    assert rows[1] == {
        "method": "cca", "label": "CCA", "dimensions": 4, "value": 0.2, "low": 0.1, "high": 0.3,
    }  # fmt: skip
    assert dimension_records([("cca", "CCA", [2], [0.1])])[0]["low"] is None


def test_hostile_labels_are_escaped():
    evil = "<img src=x>%{x}"
    for figure in (
        roc_figure([("cca", evil, *roc(5), 0.7)]),
        dimension_figure([("cca", evil, [2], [0.5])], metric=evil),
    ):
        text = " ".join(
            [t.name or "" for t in figure.data] + [figure.layout.yaxis.title.text or ""]
        )
        assert "<" not in text
        for trace in figure.data:
            assert "<img" not in (trace.hovertemplate or "")
            assert trace.hovertemplate is None or trace.hovertemplate.count("%{") == 3


def test_no_curves_at_all_is_an_empty_chart():
    assert "0 methods" in roc_figure([]).layout.meta["alt"]
    assert "0 methods" in dimension_figure([]).layout.meta["alt"]


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
