"""Ranking by judgments after learning from clicks."""

from __future__ import annotations

import numpy as np
import pytest

from simviz.data import PairSet
from simviz.datasets import load_demo
from simviz.experiments import Parts, get_experiment
from simviz.experiments.web_ranking import of_judgments
from simviz.relevance import Relevance


@pytest.fixture(scope="module")
def demo():
    return get_experiment("web_ranking").load()


def test_no_click_knows_a_page_of_a_judged_query(demo):
    held = set()
    for asked in (demo.validation, demo.test):
        matrix = asked.relevance.matrix
        held |= set(asked.y.ids[matrix.indices[matrix.data == 3]])
    assert not held & set(demo.train.y.ids)
    judged = {*demo.validation.x.content, *demo.test.x.content}
    assert not judged & set(demo.train.x.content)
    assert set(demo.train.relevance.matrix.data) == {1.0}
    pydocs, links = load_demo("pydocs"), load_demo("pydocs_links")
    assert len(demo.test.y) == len(pydocs.y)
    assert "clicks of" in demo.about
    summary = dict(zip(pydocs.x.content, pydocs.x.ids, strict=True))
    asks = [
        summary[text] for text in demo.train.x.content[demo.train.relevance.matrix.tocoo().row]
    ]
    assert 0.3 < np.isin(asks, links.x.ids).mean() < 0.7, "links are read in both directions"


def small():
    words = [f"red{i} sea{i % 7} car{i % 5}" for i in range(80)]
    documents = [f"{w} and sky{i % 3} tree{i % 7}" for i, w in enumerate(words)]
    grades = 2 * np.eye(80) + np.roll(np.eye(80), 7, axis=1)
    at = np.nonzero(grades)
    relevance = Relevance.from_pairs(*at, grades[at], shape=(80, 80), unjudged="negative")
    return PairSet.from_texts(words, documents, relevance, name="small")


def test_grades_are_dropped_and_unclicked_documents_unknown():
    parts = Parts.of(small(), by="x", pool="all")
    clicks = of_judgments(parts)
    assert set(clicks.train.relevance.matrix.data) == {1.0}
    assert len(clicks.train.y) < 80 == len(clicks.test.y)
    assert set(clicks.test.relevance.matrix.data) == {1.0, 2.0}


def test_models_are_measured_alone_and_combined(monkeypatch):
    experiment = get_experiment("web_ranking")
    learned = {"n_components": (20,), "loss": ("logistic", "softmax"), "learning_rate": (0.1,)}
    grid = {**experiment.grids["demo"], "plsa": {"n_components": (10,)}, "s2net": learned}
    monkeypatch.setattr(type(experiment), "grids", {"demo": grid})
    pairs = small()
    assert experiment.refusal(pairs) == ""
    assert experiment.refusal(load_demo("icons")) != ""
    data = experiment.prepared(pairs)
    found = experiment.run(data, methods=["plsa", "opca", "s2net"])
    rows = {row[0]: row for row in found.tables[0].rows}
    names = ["PLSA", "OPCA", "S2Net"]
    assert list(rows) == ["VSM", *(n for name in names for n in (name, f"{name} + VSM"))]
    assert all(0 <= value <= 1 for row in rows.values() for value in row[1:4])
    *of_s2net, others, mixed = found.claims
    assert len(of_s2net) == 3
    assert all("Holm, 3 comparisons" in claim.test for claim in (*found.claims[:3], mixed))
    assert all(claim.paper_test.startswith("paired t") for claim in of_s2net)
    assert [part.statement for part in others.parts] == ["PLSA", "OPCA"]
    assert all(part.bound == -0.01 and part.p_value != part.p_value for part in others.parts)
    assert [part.statement for part in mixed.parts] == names
    assert mixed.parts[2].value == of_s2net[2].value
    assert any("stand for clicks" in note for note in found.notes)
    assert rows["S2Net"][5].startswith("20 dimensions, ")
    assert rows["S2Net"][5].endswith(", rate 0.1")
    alone = experiment.run(data, methods=["lsa"])
    assert {claim.verdict for claim in alone.claims[:3]} == {"not comparable"}
