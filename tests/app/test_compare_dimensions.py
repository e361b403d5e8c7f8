"""Methods without ordered dimensions get their curve from smaller models, by one button."""

from __future__ import annotations

import pytest
from on_page import html, said

from simviz.jobs.run_curves import train_dimensions

PAGE = "compare"


@pytest.fixture
def home(make_home, letters):
    plsa = ("own", "plsa", {"n_components": 12, "max_iter": 5})
    return make_home({"own": letters}, {"plsa": plsa, "lsa": ("own", "lsa", {"n_components": 6})})


def test_one_button_trains_them_and_joins_one_curve(home, visit):
    page = visit(runs=home.runs["plsa"], tab="dimensions")
    offer = page.button(key="compare-dimensions-train").label
    assert offer.startswith("Train PLSA at fewer dimensions, at most ")
    assert not page.get("plotly_chart")
    train_dimensions(home.run("plsa"), home.pairs["own"], lambda fraction: False)
    page = visit(runs=",".join(home.runs.values()), tab="dimensions")
    (chart,) = page.get("plotly_chart")
    assert "PLSA" in chart.proto.spec and "LSA" in chart.proto.spec
    assert "Trained at each number of dimensions: PLSA" in said(page)
    assert "compare-dimensions-train" not in {button.key for button in page.button}
    before = html(page)
    page.selectbox(key="compare-metric").set_value("top-1").run()
    assert not page.exception and html(page) != before
