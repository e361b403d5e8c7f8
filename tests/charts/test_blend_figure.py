import numpy as np
import pytest

from simviz.charts.tuning import WeightCurve, blend_figure

ALPHAS = np.linspace(0, 1, 5)
VALIDATION = WeightCurve("validation", ALPHAS, [0.4, 0.6, 0.7, 0.6, 0.5])
TEST = WeightCurve("test", ALPHAS, [0.3, 0.5, 0.5, 0.4, 0.2])
ENDS = ("BM25", "CCA")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_curves_are_drawn_and_told_apart(theme):
    figure = blend_figure(VALIDATION, TEST, 0.25, ends=ENDS, best=0.5, theme=theme)
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    assert [line.name for line in lines] == ["validation 0.600 at 0.25", "test 0.500 at 0.25"]
    assert lines[0].line.dash == "solid" and lines[1].line.dash == "dash"
    assert lines[0].line.color != lines[1].line.color
    ring = next(trace for trace in figure.data if trace.name == "best on validation: 0.5")
    assert ring.x == (0.5,) and ring.y == (0.7,)
    assert figure.layout.shapes[0].x0 == 0.25
    alt = figure.layout.meta["alt"]
    assert "BM25 alone at 0" in alt and "validation 0.600" in alt and "pairs is 0.5" in alt


def test_without_validation_there_is_no_best_and_names_are_escaped():
    curve = WeightCurve("<b>x</b>", ALPHAS, TEST.values)
    figure = blend_figure(None, curve, 0.6, ends=("<b>x</b>", "<b>x</b>"))
    assert [t.name for t in figure.data if t.name] == ["&lt;b&gt;x&lt;/b&gt; 0.460 at 0.6"]
    assert not any("<b>" in note.text for note in figure.layout.annotations)
    assert "chosen" not in figure.layout.meta["alt"]
    for wrong in ([0, 1], []):
        with pytest.raises(ValueError, match="one value per weight"):
            blend_figure(None, WeightCurve("test", ALPHAS, wrong), 0.5, ends=ENDS)
