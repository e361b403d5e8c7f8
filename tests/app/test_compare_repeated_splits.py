"""Runs are repeated on random splits from Compare, and the verdict stands beside the test's."""

from __future__ import annotations

import pytest
from on_page import html, said
from waiting import LONG

from simviz.jobs import JobQueue, JobSpec, divisions_spec

PAGE = "compare"


@pytest.fixture(scope="module")
def home(make_home, letters):
    """A store with two runs of one method, one of another, and one that was imported."""
    names = {2: "two", 4: "four"}
    lsi = {names[k]: ("own", "cl_lsi", {"n_components": k, "shared": True}) for k in names}
    return make_home({"own": letters}, {"bm25": ("own", "bm25"), **lsi})


@pytest.fixture
def show(home, visit):
    """The tab, for all runs."""
    return lambda: visit(runs=",".join(home.runs.values()), tab="divisions")


def test_it_is_offered_with_what_it_costs(show):
    page = show()
    assert page.button(key="compare-divide").label == "Repeat on 5 random splits"
    assert "about" in said(page) and "random splits of the same data" in said(page)


def test_what_was_found_stands_beside_the_fixed_test(home, show):
    specs = [JobSpec.from_json(home.run(name).info.spec, home.mine) for name in home.runs]
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
