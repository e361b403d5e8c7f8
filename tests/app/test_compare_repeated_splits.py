"""More is trained from Compare: runs on random splits, and smaller models for a curve."""

from __future__ import annotations

import pytest
from on_page import html, run, said
from waiting import LONG

from simviz.jobs import JobQueue, JobSpec, divisions_spec
from simviz.jobs.run_curves import train_dimensions

PAGE = "compare"
DIVIDED = ("bm25", "two", "four")


@pytest.fixture(scope="module")
def home(make_home, letters):
    """Two runs of one method and one of another; and one whose dimensions are not ordered."""
    two, four = (("own", "cl_lsi", {"n_components": k, "shared": True}) for k in (2, 4))
    plsa = ("own", "plsa", {"n_components": 12, "max_iter": 5})
    runs = {"bm25": ("own", "bm25"), "two": two, "four": four, "plsa": plsa}
    return make_home({"own": letters}, runs)


@pytest.fixture
def show(home, visit):
    """A tab, for some runs."""
    return lambda names=DIVIDED, tab="divisions": visit(
        runs=",".join(home.runs[name] for name in names), tab=tab
    )


def test_it_is_offered_with_what_it_costs(show):
    page = show()
    assert page.button(key="compare-divide").label == "Repeat on 5 random splits"
    assert "about" in said(page) and "random splits of the same data" in said(page)


def test_what_was_found_stands_beside_the_fixed_test(home, show):
    specs = [JobSpec.from_json(home.run(name).info.spec, home.mine) for name in DIVIDED]
    specs.sort(key=lambda spec: (spec.method, repr(dict(spec.params))))
    asked = divisions_spec(specs, n=5, metric="MRR", direction="x2y")
    with JobQueue(home.store) as queue:
        assert queue.wait(queue.submit(asked), LONG).state == "succeeded"
    page = show()
    assert page.selectbox(key="compare-metric").value == "MRR"
    text = html(page)
    assert "Over random splits: " in text and "corrected resampled t, 5 splits" in text
    assert "n_components" in text, "settings of one method were chosen among"
    assert "fixed test" in text
    assert "compare-divide" not in {button.key for button in page.button}


def test_one_button_trains_smaller_models_and_joins_one_curve(home, show):
    page = show(["plsa"], "dimensions")
    offer = page.button(key="compare-dimensions-train").label
    assert offer.startswith("Train PLSA at fewer dimensions, at most ")
    assert not page.get("plotly_chart")
    train_dimensions(home.run("plsa"), home.pairs["own"], lambda fraction: False)
    page = show(["plsa", "four"], "dimensions")
    (chart,) = page.get("plotly_chart")
    assert "PLSA" in chart.proto.spec and "CL-LSI" in chart.proto.spec
    assert "Trained at each number of dimensions: PLSA" in said(page)
    assert "compare-dimensions-train" not in {button.key for button in page.button}
    before = html(page)
    run(page.selectbox(key="compare-metric").set_value("top-1"))
    assert html(page) != before
