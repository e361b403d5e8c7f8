import numpy as np
import pytest

from simviz.charts.tuning import best_records, selection_figure, value_text


def rows(chosen=(20, 0.1)):
    names = ("n_components", "regularization", "value", "standard_error", "chosen")
    return [
        dict(zip(names, (k, r, 0.5 + k / 1000 - r / 100, 0.02, (k, r) == chosen), strict=True))
        for k in (10, 20, 200)
        for r in (0.1, 1.0)
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_one_setting_is_a_line_with_its_band_and_a_ring(theme):
    figure = selection_figure(rows(), ["n_components"], theme=theme)
    band, line, ring = figure.data
    assert band.fill == "toself" and max(band.y) == pytest.approx(0.5 + 0.2 - 0.001 + 0.02)
    assert line.x == (10, 20, 200) and line.y[0] == pytest.approx(0.509)
    assert ring.x == (20,) and ring.name == "chosen: 20"
    assert figure.layout.xaxis.type == "log"
    assert "chosen n_components 20, 0.519" in figure.layout.meta["alt"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_two_settings_are_a_heat_map_with_a_frame(theme):
    figure = selection_figure(rows(), ["regularization", "n_components"], theme=theme)
    heat = figure.data[0]
    assert heat.x == ("10", "20", "200") and heat.y == ("0.1", "1")
    assert np.asarray(heat.z)[0, 1] == pytest.approx(0.519)
    frame = figure.layout.shapes[0]
    assert (frame.x0 + frame.x1, frame.y0 + frame.y1) == (2, 0)
    assert heat.texttemplate and not heat.showscale
    # Cells that failed or are missing stay empty.
    some = rows()
    some[3]["value"] = float("nan")
    del some[5]
    heat = selection_figure(some, ["regularization", "n_components"], theme=theme).data[0]
    assert np.isnan(np.asarray(heat.z)).sum() == 2


def test_of_what_is_not_shown_the_best_counts_unless_one_was_chosen():
    shown = best_records(rows(), ["regularization"])
    assert [row["value"] for row in shown] == pytest.approx([0.519, 0.69])
    assert [row["chosen"] for row in shown] == [True, False]
    lower = best_records(rows(chosen=()), ["regularization"], higher_is_better=False)
    assert [row["value"] for row in lower] == pytest.approx([0.509, 0.5])


def test_values_of_any_kind_have_a_place():
    some = [
        {"init": v, "value": 0.1, "standard_error": float("nan"), "chosen": False}
        for v in (None, "random", "<b>lsa</b>", True)
    ]
    figure = selection_figure(some, ["init"])
    assert figure.data[1].x == ("yes", "&lt;b&gt;lsa&lt;/b&gt;", "random", "left open")
    assert figure.layout.xaxis.type == "category"
    assert value_text(1e-05) == "1e-05"


def test_wrong_requests():
    for records, settings in ((rows(), []), (rows(), ["a", "b", "c"]), ([], ["a"])):
        with pytest.raises(ValueError, match="one or two settings"):
            selection_figure(records, settings)
