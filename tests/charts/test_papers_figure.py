"""Figures of papers: curves, ROC, maps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simviz.charts.papers import paper_figure
from simviz.charts.style import method_style
from simviz.experiments import Figure, Series

PIXEL = "data:image/png;base64,iVBORw0KGgo="


def test_curves_have_the_methods_colours():
    ours = Series("CCA", (50, 100), (0.4, 0.5), "cca", low=(0.3, 0.4), high=(0.5, 0.6))
    other = Series("OPCA", (50, 100), (0.5, 0.7), "opca")
    figure = paper_figure(Figure("Figure 2", "dimensions", (ours, other), y_name="MRR"))
    named = {t.name: t.line.color for t in figure.data if t.name}
    assert named["CCA 0.500 at 100"] == method_style("cca").colour
    assert named["OPCA 0.700 at 100"] == method_style("opca").colour


def test_a_roc_is_drawn_where_a_filter_works():
    curve = Series("CCA", (0.0, 0.2, 1.0), (0.0, 0.9, 1.0), "cca")
    figure = paper_figure(Figure("Figure 3", "roc", (curve,)))
    assert figure.layout.xaxis.range[1] == 0.25
    assert figure.data[1].name == "CCA 0.850"


def test_a_map_has_words_and_pictures_in_one_plane():
    words = Series("keywords", (0.0, 1.0), (0.0, 1.0), names=("red", "<b>car</b>"))
    pictures = Series("images", (0.5,), (0.5,), names=("a car",), pictures=(PIXEL,))
    figure = paper_figure(Figure("Figure 1", "scatter", (words, pictures)), theme="dark")
    assert figure.data[0].mode == "markers+text"
    assert "<b>" not in figure.data[0].text[1]
    assert [image.source for image in figure.layout.images] == [PIXEL]
    assert "keywords, images" in figure.layout.meta["alt"]
    assert len(paper_figure(Figure("Figure 1", "scatter", ())).data) == 0
    with pytest.raises(ValueError, match="dimensions, roc, scatter, counts or lines"):
        paper_figure(Figure("Figure 4", "bars", ()))  # type: ignore[arg-type]


def test_counts_have_logarithmic_axes():
    sizes = Series("groups", (1.0, 2.0, 30.0), (900.0, 40.0, 1.0))
    figure = paper_figure(Figure("Figure 3", "counts", (sizes,), "titles of a group", "groups"))
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert (figure.layout.xaxis.title.text, figure.data[0].x) == ("titles of a group", sizes.x)
    assert not figure.data[0].showlegend
    two = paper_figure(Figure("Figure 3", "counts", (sizes, replace(sizes, label="more"))))
    assert [trace.name for trace in two.data if trace.showlegend] == ["groups", "more"]
    assert two.data[0].marker.color != two.data[1].marker.color
    assert two.data[0].marker.symbol != two.data[1].marker.symbol


def test_lines_have_plain_axes_and_dashes_of_their_own():
    cost = Series("belongs together", (-1.0, 0.0, 1.0), (1.0, 0.25, 0.0))
    lines = Figure("Figure 2", "lines", (cost, replace(cost, label="does not")), "cosine", "cost")
    figure = paper_figure(lines)
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "linear"
    assert [trace.mode for trace in figure.data] == ["lines"] * 2
    assert [trace.line.dash for trace in figure.data] == ["solid", "dash"]
    assert figure.data[0].y == cost.y
