"""Ranking documents for new queries, over ten divisions."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.data import PairSet
from simviz.exceptions import DatasetError
from simviz.experiments import Findings, Progress, get_experiment
from simviz.experiments.heterogeneous_ranking import Collection
from simviz.methods import get_method
from simviz.relevance import Relevance

N, DOCUMENTS = 40, 60
GRIDS = {"mlc": {"n_components": (4,)}}


def texts():
    """Queries of five topics in words of their own, and documents of the topics in others."""
    rng = np.random.default_rng(0)
    queries = [f"ask{i % 5} ask{i % 5}b q{rng.integers(9)}" for i in range(N)]
    documents = [f"tell{j % 5} tell{j % 5}b word{rng.integers(9)} q{j % 9}" for j in range(60)]
    # Query words that documents know, so that queries are not empty to them.
    documents = [f"{d} ask{rng.integers(5)} ask{rng.integers(5)}b" for d in documents]
    links = [(i, j) for i in range(N) for j in range(DOCUMENTS) if i % 5 == j % 5]
    return queries, documents, links


def pairs():
    queries, documents, links = texts()
    of, to = zip(*links, strict=True)
    relevance = Relevance.from_pairs(of, to, shape=(N, DOCUMENTS), unjudged="negative")
    return PairSet.from_texts(queries, documents, relevance, name="topics")


@pytest.fixture
def folder(tmp_path):
    queries, documents, links = texts()
    for side, listed in (("x", queries), ("y", documents)):
        with gzip.open(tmp_path / f"{side}.jsonl.gz", "wt") as file:
            rows = ({"id": f"{side}{i}", "text": text} for i, text in enumerate(listed))
            file.write("".join(json.dumps(row) + "\n" for row in rows))
    lines = ["x_id\ty_id\tgrade", *(f"x{i}\ty{j}\t1" for i, j in links if i)]
    (tmp_path / "relevance.tsv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_a_folder_is_read_whole_without_queries_that_nothing_suits(folder):
    data = get_experiment("heterogeneous_ranking").load(folder)
    assert data.shape == (N - 1, DOCUMENTS)
    assert set(data.x.ids) == {f"x{i}" for i in range(1, N)}
    for i, name in enumerate(data.x.ids):
        there = data.relevance.positives[[i]].indices
        assert {int(j) % 5 for j in there} == {int(name[1:]) % 5}
    few = get_experiment("heterogeneous_ranking").load(folder, n_train=20)
    assert few.shape == (20, DOCUMENTS)


def test_too_few_queries_are_refused():
    experiment, few = get_experiment("heterogeneous_ranking"), pairs().take(range(10))
    assert "15 queries" in experiment.refusal(few) and experiment.refusal(pairs()) == ""
    with pytest.raises(DatasetError, match="10 queries have a relevant document"):
        experiment.prepared(few)


def test_turned_queries_have_the_same_similarities():
    weighted = {"n_components": (5, 80), "negative_weight": ("balanced",)}
    collection = Collection(pairs(), GRIDS | {"heterogeneous_svd": weighted}, 0)
    train, test = np.arange(30), np.arange(30, 40)
    found = collection.learned("heterogeneous_svd", train, test, Progress())
    model = get_method("heterogeneous_svd")(4, negative_weight="balanced", measure="dot")
    model.fit(collection.X[train], collection.Y, collection.relevance.take(train))
    whole = model.similarity(collection.X[test], collection.Y)
    ((params, scores),) = found.values()
    np.testing.assert_allclose(scores, whole, atol=1e-5)
    of_the_grid = {"n_components": 5, "negative_weight": "balanced"}
    assert params == of_the_grid, "though the data give 4 dimensions"


def test_metrics_stay_at_their_start():
    grid = {"n_components": (4,), "form": ("start", "full"), "measure": ("dot", "cosine")}
    collection = Collection(pairs(), {"mlc": grid}, 0)
    train, test = np.arange(30), np.arange(30, 40)
    found = {
        (params["form"], params["measure"]): scores
        for params, scores in collection.learned("mlc", train, test, Progress()).values()
    }
    space = collection.space
    x, y = space.transform(collection.X[test]), space.transform_y(collection.Y)
    np.testing.assert_allclose(found["start", "dot"], x @ y.T, atol=1e-6)
    cosine = space.similarity(collection.X[test], collection.Y)
    np.testing.assert_allclose(found["start", "cosine"], cosine, atol=1e-6)
    assert np.abs(found["full", "dot"] - found["start", "dot"]).max() > 0.01


def test_trials_are_tabled_and_tested_and_do_not_depend_on_other_learners():
    experiment = get_experiment("heterogeneous_ranking")
    found = experiment.run(pairs())
    assert Findings.from_json(found.to_json()) == found
    rows = {row[0]: row for row in found.tables[0].rows}
    assert list(rows) == [
        "VSM", "BM25", "MLC", "MLC + BM25", "MLC as published (learned, dot)",
        "MLC as published (learned, dot) + BM25", "heterogeneous SVD", "heterogeneous SVD + BM25",
        "heterogeneous SVD, the paper's weights", "heterogeneous SVD, the paper's weights + BM25",
    ]  # fmt: skip
    assert rows["heterogeneous SVD"][1] > rows["VSM"][1]
    often = rows["MLC as published (learned, dot)"][4]
    assert any(form in often for form in ("full", "diagonal")) and often.endswith("dot")
    assert rows["BM25"][2] == 0 and rows["BM25"][3] is None
    assert len(found.claims) == 4
    first = found.claims[0]
    assert first.value > 0 and first.p_value <= 0.05 and first.verdict == "holds"
    assert first.test.startswith("corrected resampled t, Holm")
    assert "10 splits" in first.paper_test
    alone = experiment.run(pairs(), methods=["heterogeneous_svd"])
    assert len(alone.tables[0].rows) == 6 and {*alone.tables[0].rows} <= {*found.tables[0].rows}
    assert [c.statement[:4] for c in alone.claims if c.test] == ["BM25", "With"]


def test_judged_pools_are_kept():
    """What was judged not relevant is learned from; what was not judged is not ranked."""
    whole = pairs()
    judged = sp.csr_array(whole.relevance.positives, copy=True)
    judged.data[::3] = -1
    some = replace(whole, relevance=Relevance(judged, unjudged="ignore"))
    collection = Collection(some, GRIDS, 0)
    kept = collection.relevance.take(np.arange(5))
    assert kept.unjudged == "ignore" and (kept.matrix.data < 0).any()
    scores = np.where(judged[:5].toarray() > 0, 1.0, 0.0)
    scores[judged[:5].toarray() == 0] = 2.0  # would come first
    assert collection.curve(scores, np.arange(5))[-1] == 1
    result = get_experiment("heterogeneous_ranking").run(some, methods=["heterogeneous_svd"])
    assert any("not judged for a query are not ranked" in note for note in result.notes)
