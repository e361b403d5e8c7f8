import itertools
import re
from pathlib import Path

import plotly.graph_objects as go
import pytest

from simviz.charts import DARK, LIGHT, apply_theme, method_style
from simviz.charts.style import legend_below

IDS = """tfidf_cosine bm25 query_expansion lsa pca cl_lsi opca cca kernel_cca heterogeneous_svd
kernel_heterogeneous_svd plsa lda pltm jplsa cplsa hdlr mlc s2net ssi pamir siamese_blstm
ngram_matcher cosine procrustes ridge_identity""".split()


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_every_method_of_the_house_has_a_style_of_its_own():
    package = Path(__file__).parents[2] / "simviz" / "methods"
    present = {p.stem for p in package.glob("*.py") if not p.stem.startswith("_")}
    assert present <= set(IDS)
    styles = [method_style(i) for i in IDS]
    assert len({(s.colour, s.dash) for s in styles}) == len(IDS)
    assert len({s.symbol for s in styles}) == len(IDS)


def test_an_unknown_method_is_stable_and_clashes_with_none_known():
    style = method_style("my_own_method")
    assert style == method_style("my_own_method")
    assert style.dash not in {method_style(i).dash for i in IDS}


def test_further_runs_of_a_method_keep_its_hue_and_take_dashes_of_their_own():
    own = method_style("cca", "dark")
    again = [method_style(f"cca~{n}", "dark") for n in (1, 2, 3)]
    assert {style.colour for style in again} == {own.colour}
    assert not {style.dash for style in again} & {method_style(i).dash for i in IDS}
    assert method_style("cca~0", "dark") == method_style("cca~x", "dark") == own


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize("method", IDS)
def test_twenty_runs_of_a_method_are_told_apart_and_legible(method, theme):
    styles = [method_style(f"{method}~{n}", theme) for n in range(21)]
    assert len({(style.colour, style.dash) for style in styles}) == 21
    assert min(contrast(style.colour, theme.paper) for style in styles) > 3
    shades = sorted({luminance(style.colour) for style in styles})
    assert len(shades) == 4
    assert all(high - low > 0.005 for low, high in itertools.pairwise(shades))


def test_plotly_knows_every_style():
    more = ("my_own_method", "cca~1", "cca~5", "lsa~6")
    for i, theme in itertools.product([*IDS, *more], ("light", "dark")):
        colour, dash, symbol = method_style(i, theme)
        go.Scatter(marker_symbol=symbol, line={"dash": dash, "color": colour})


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_colours_are_legible_on_their_paper(theme):
    assert contrast(theme.ink, theme.paper) > 7
    assert contrast(theme.muted, theme.paper) > 4.5
    for colour in (theme.accent, theme.second, *theme.palette):
        assert contrast(colour, theme.paper) > 3, colour
        assert re.fullmatch("#[0-9a-f]{6}", colour)


def test_a_themed_figure_is_transparent_and_brings_no_template():
    figure = apply_theme(go.Figure(go.Scatter(x=[1], y=[2])), "dark")
    assert figure.layout.paper_bgcolor == "rgba(0,0,0,0)"
    assert figure.layout.font.color == DARK.ink
    assert figure.layout.template.layout.to_plotly_json() == {}
    with pytest.raises(ValueError, match="'light' or 'dark'"):
        apply_theme(figure, "sepia")


def test_the_legend_has_room_below_for_each_curve_that_it_names():
    def room(*named):
        figure = go.Figure([go.Scatter(showlegend=is_named) for is_named in named])
        legend_below(figure, "runs")
        return figure.layout.margin.b

    assert room(True) < room(True, None) == room(True, True, False) < room(True, True, True)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_heterogeneous_svd_differs_from_its_peers_in_lightness(theme):
    own = method_style("heterogeneous_svd", theme).colour
    for other in ("cca", "opca", "cl_lsi", "s2net", "tfidf_cosine"):
        assert contrast(own, method_style(other, theme).colour) > 1.7, other
