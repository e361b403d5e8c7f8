"""Requests, links and splits say what they mean where more than the usual is chosen."""

from types import SimpleNamespace

import numpy as np
import pytest

from simviz.data import PairSet
from simviz.datasets import DEMOS
from simviz.jobs import JobSpec, SplitSpec
from simviz.relevance import Relevance
from simviz.workbench.data.split import _parts
from simviz.workbench.shell import links, settings, state


@pytest.mark.parametrize(("features", "has_link"), [("usual", True), ({"tf": "log1p"}, False)])
def test_a_demos_link_means_no_run_on_chosen_terms(features, has_link, monkeypatch):
    monkeypatch.setattr(state, "demo_of", lambda dataset: DEMOS["icons"])
    split = settings.demo_split(DEMOS["icons"])
    spec = JobSpec("demo:icons", "0" * 16, "lsa", {"n_components": 50}, split, features=features)
    info = SimpleNamespace(is_blend=False, method="lsa")
    run = SimpleNamespace(spec=spec.to_json(), info=info)
    assert bool(links.demo_link(run)) is has_link


@pytest.mark.parametrize(("grades", "can_be_split"), [((1, 2, 3), True), ((1,), False)])
def test_pairs_that_all_belong_together_are_refused_unless_their_grades_differ(
    grades, can_be_split
):
    n = 30
    x, y = np.divmod(np.arange(n * n), n)
    judged = Relevance.from_pairs(x, y, np.resize(grades, n * n), shape=(n, n), kind="grade")
    texts = [[f"{side} {i}" for i in range(n)] for side in ("question", "answer")]
    pairs = PairSet.from_texts(*texts, judged)
    found = _parts(f"{grades}", pairs, SplitSpec(by="x"))
    assert (found.problem is None or found.problem == "") is can_be_split
