"""Precision-recall, scores, reliability, and curves of training."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from simviz.charts import dimension_figure, method_style, roc_figure, roc_records
from simviz.charts.curves import ProgressCurve, learning_figure, progress_records, training_figure
from simviz.charts.roc import PrecisionCurve, precision_recall_figure, precision_records
from simviz.charts.scores import (
    ReliabilityCurve,
    ScoreHistogram,
    histogram_figure,
    histogram_records,
    reliability_figure,
    reliability_records,
)
from simviz.evaluation import Reliability, Roc

EVIL = "<b>%{x}</b> \x00" + "long " * 20


def curve(label="CCA", n=400, seed=0, **more):
    rng = np.random.default_rng(seed)
    relevant = rng.random(n) < 0.3
    roc = Roc.from_scores(rng.normal(size=n) + 1.5 * relevant, relevant)
    return roc, PrecisionCurve("cca", label, roc, roc.average_precision, **more)


def roc_of(*columns):
    return Roc(*map(np.array, columns))


def test_low_false_positive_rates_fill_a_square():
    figure = roc_figure([("cca", "CCA", [0, 0.1, 0.5, 1], [0, 0.6, 0.9, 1], 0.8)], max_fpr=0.25)
    assert list(figure.layout.xaxis.range)[1] == 0.25
    assert (figure.layout.yaxis.scaleanchor, figure.layout.yaxis.scaleratio) == ("x", 0.25)
    assert max(figure.data[1].x) == 0.5  # the line leaves the picture, it does not end in it


def test_roc_tells_threshold_and_precision_and_draws_its_band():
    roc, _ = curve()
    band = np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.6, 1.0]), np.array([0.2, 0.9, 1.0])
    drawn = ("cca", "CCA", roc.fpr, roc.tpr, roc.auc, (0.7, 0.9), roc.thresholds, roc.precision)
    figure = roc_figure([(*drawn, band)])
    assert figure.data[1].fill == "toself"
    line = figure.data[2]
    assert "threshold" in line.hovertemplate and "precision" in line.hovertemplate
    at = np.flatnonzero((roc.fpr == line.x[5]) & (roc.tpr == line.y[5]))[0]
    assert line.customdata[5][1] == f"{roc.thresholds[at]:.4g}"
    rows = roc_records([drawn])
    assert len(rows) == len(roc.fpr) and rows[3]["threshold"] == roc.thresholds[3]
    assert roc_figure([(*drawn, band)], log_fpr=True).data[1].x[0] == 0.5


def test_precision_recall_has_chance_and_passes_through_its_points():
    roc, drawn = curve(ci=(0.5, 0.8))
    figure = precision_recall_figure([drawn])
    line, chance = figure.data
    assert line.name == f"CCA {roc.average_precision:.3f} [0.500, 0.800]"
    assert (line.line.color, line.line.dash) == method_style("cca")[:2]
    assert set(chance.y) == {roc.n_positive / (roc.n_positive + roc.n_negative)}
    known = {(t, p) for t, p in zip(roc.tpr, roc.precision, strict=True) if p == p}
    assert known <= set(zip(line.x, line.y, strict=True))
    assert line.y[-1] == chance.y[0]
    assert figure.layout.yaxis.scaleanchor == "x"
    rows = precision_records([drawn])
    assert len(rows) == len(roc.fpr) and np.isnan(rows[0]["precision"])


def test_a_tie_of_both_classes_is_drawn_as_a_bow():
    drawn = PrecisionCurve("cca", "CCA", roc_of([0, 0, 100], [0, 10, 100], [np.inf, 2, 1]), 0.6)
    line = precision_recall_figure([drawn]).data[0]
    middle = int(np.argmin(np.abs(np.asarray(line.x) - 0.55)))
    # Half of the tie: 50 others and 55 relevant pairs, not the mean of both ends.
    assert line.y[middle] == pytest.approx(55 / 105, abs=0.02)
    assert (len(line.x)) > 10


def test_histograms_add_up_to_one_a_class_and_name_each_class_once():
    counts = {"relevant": [0, 1, 3], "rejected": [0, 0, 0], "unjudged": [6, 2, 2]}
    shown = [ScoreHistogram(m, m.upper(), [0, 1, 2, 3], counts) for m in ("cca", "opca")]
    figure = histogram_figure(shown)
    assert len(figure.data) == 4  # a class without pairs is not drawn
    assert [t.name for t in figure.data if t.showlegend] == ["unjudged", "relevant"]
    assert sum(figure.data[0].y[:-1]) == pytest.approx(1)
    assert "CCA 2.5 relevant, 0.5 others" in figure.layout.meta["alt"]
    pairs = {"relevant": 1, "rejected": 0, "unjudged": 2}
    row = {"method": "cca", "label": "CCA", "from": 1.0, "to": 2.0} | pairs
    assert histogram_records(shown)[1] == row


def reliable(label="CCA"):
    shares = [0.1, 0.8], [0.2, 0.7], [0.1, 0.6], [0.3, 0.8]
    columns = *shares, [50, 10], [5, 7], [-np.inf, 0.5], [0.5, np.inf]
    return ReliabilityCurve("cca", label, Reliability(*map(np.array, columns)))


def test_reliability_has_bars_and_the_diagonal():
    figure = reliability_figure([reliable()])
    chance, line = figure.data
    assert list(chance.x) == list(chance.y) == [0, 1]
    np.testing.assert_allclose(line.error_y.array, [0.1, 0.1])
    assert line.customdata[0][1:] == ["below 0.5", 50]
    assert line.name == "CCA 0.100"
    assert reliability_records([reliable()])[1]["n_relevant"] == 7


def test_progress_has_bands_and_ends():
    drawn = ProgressCurve("s2net", "S2Net", [10, 20, 40], [0.2, 0.3, 0.4], [0.1] * 3, [0.5] * 3)
    for draw in (training_figure, learning_figure):
        figure = draw([drawn], metric="MRR")
        band, line = figure.data
        assert band.fill == "toself" and line.name == "S2Net 0.400"
        assert "0.2 and 0.4" in figure.layout.meta["alt"]
    assert figure.layout.xaxis.type == "log" and list(figure.layout.xaxis.tickvals) == [10, 20, 40]
    row = {"method": "s2net", "label": "S2Net", "at": 40, "value": 0.4, "low": 0.1, "high": 0.5}
    assert progress_records([drawn])[2] == row


def test_nothing_and_hostile_names_are_drawn():
    _, detection = curve(EVIL)
    drawn = [
        (roc_figure, ("cca", EVIL, [0, 1], [0, 1], 0.7)),
        (partial(dimension_figure, metric=EVIL), ("cca", EVIL, [2], [0.5])),
        (precision_recall_figure, detection),
        (histogram_figure, ScoreHistogram("cca", EVIL, [0, 1], {"relevant": [1]})),
        (reliability_figure, reliable(EVIL)),
        (partial(training_figure, metric=EVIL), ProgressCurve("a", EVIL, [1], [2])),
        (partial(learning_figure, metric="MRR"), ProgressCurve("a", EVIL, [1], [2])),
    ]
    for draw, one in drawn:
        figure = draw([one], theme="dark").update_layout(meta=None)  # its alt is no markup
        assert "<b>%{x}" not in str(figure.to_plotly_json())
        # What a pointer is told holds the fields of the figure, and none of a name.
        assert not any("%{x}&" in (trace.hovertemplate or "") for trace in figure.data)
        assert "0 methods" in draw([]).layout.meta["alt"]


def test_steps_of_training_are_whole_and_scores_that_hardly_move_look_so():
    few, many = (
        training_figure([ProgressCurve("s2net", "S2Net", [0, n], values)], metric="MRR").layout
        for n, values in ((2, [0.50003, 0.50009]), (30, [0.4, 0.6]))
    )
    assert (few.xaxis.dtick, many.xaxis.dtick) == (1, None)
    assert few.yaxis.automargin and many.yaxis.range is None
    assert few.yaxis.range == pytest.approx([0.49506, 0.50506])


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="both classes; got 1 relevant and 0 others"):
        precision_recall_figure(
            [PrecisionCurve("a", "A", roc_of([0, 0], [0, 1], [1.0, 0.0]), 0.5)]
        )
    with pytest.raises(ValueError, match="lengths"):
        training_figure([ProgressCurve("a", "A", [1, 2], [1])], metric="loss")
