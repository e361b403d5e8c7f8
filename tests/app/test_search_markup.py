"""Texts of a data set are texts wherever the Search page writes HTML."""

from __future__ import annotations

import pytest
from on_page import html, run

from simviz.data import PairSet

PAGE = "search"


@pytest.fixture(scope="module")
def home(make_home):
    x = [f"<b>bold{i}</b> <i>word{i % 5}</i>" for i in range(24)]
    y = [f"<u>bold{i}</u> <i>word{i % 5}</i>" for i in range(24)]
    pairs = PairSet.from_texts(x, y, name="<b>marked</b>")
    return make_home({"own": pairs}, {"cca": ("own", "cca", {"n_components": 4})})


def test_words_in_bars_answers_and_the_question_are_no_markup(visit, home):
    app = visit(data=home.data["own"])
    shown = html(app)
    assert "sv-parts" in shown
    bars = shown[shown.index("sv-parts") :]
    assert "&lt;" in bars
    assert not any(tag in shown for tag in ("<b>bold", "<u>bold", "<i>word"))
    app.text_input(key="search-own-x").set_value("<b>bold3</b> mine")
    shown = html(run(app))
    assert "none is marked as right" in shown
    bars = shown[shown.index("sv-parts") :]
    assert "&lt;b&gt;bold3" in bars and "<b>bold" not in bars
