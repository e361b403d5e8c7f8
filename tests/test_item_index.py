from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_up import COLOURS, THINGS

import simviz
from simviz.exceptions import DatasetError, StoreError
from simviz.persistence import load_state, save_state
from simviz.pipeline import _index


@pytest.fixture(scope="module")
def pairs():
    x = [f"{colour} {thing}" for colour in COLOURS for thing in THINGS]
    return simviz.PairSet.from_texts(x, [f"a {text}" for text in x])


def fitted(pairs, method, **params):
    return simviz.default_pipeline(method, pairs, **params).fit(pairs)


MADE = {
    "cosine": lambda pairs: fitted(pairs, "opca", n_components=6),
    "dot": lambda pairs: fitted(pairs, "heterogeneous_svd", n_components=4),
    "Jensen-Shannon": lambda pairs: fitted(pairs, "plsa", n_components=3, max_iter=5),
    "sparse": lambda pairs: fitted(pairs, "bm25"),
    "sequences": lambda pairs: fitted(pairs, "ngram_matcher"),
    "blend": lambda pairs: simviz.BlendPipeline(
        fitted(pairs, "opca", n_components=4), fitted(pairs, "bm25"), 0.5
    ).fit(pairs),
}


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("side", ["y", "x"])
def test_an_index_finds_what_comparing_all_finds(pairs, tmp_path, kind, side):
    pipeline = MADE[kind](pairs)
    items, asked = (pairs.y, pairs.x) if side == "y" else (pairs.x, pairs.y)
    scores = pipeline.similarity(pairs.x, pairs.y)
    scores = scores if side == "y" else scores.T
    index = pipeline.index(items.take(range(20)), side)
    index.add(items.take(range(20, 30)))
    found = index.search(asked, 4)
    best = found["score"].to_numpy().reshape(30, 4)
    np.testing.assert_allclose(best, -np.sort(-scores, axis=1)[:, :4], atol=1e-5)
    assert found.columns.tolist() == ["query", "rank", "id", "text", "score"]
    index.save(tmp_path / "items.simviz")
    again = simviz.load_index(tmp_path / "items.simviz")
    pd.testing.assert_frame_equal(found, again.search(asked, 4))
    assert np.shares_memory(again.items.labels, again.items.labels)  # no copy a search


@pytest.mark.parametrize("method", ["tfidf_cosine", "bm25", "query_expansion"])
def test_terms_are_weighed_by_the_items_if_asked(pairs, tmp_path, method):
    pipeline = fitted(pairs, method)
    items = ["zebra one", "zebra two", "zebra four", "okapi seven nine ten"]
    plain, counted = (pipeline.index(items, frequencies=what) for what in ("training", "items"))
    # Unknown to training both weigh alike; among the items one of them is rare.
    found = counted.search(["zebra okapi"], 1)
    assert found["text"].tolist() == items[3:] != plain.search(["zebra okapi"], 1)["text"].tolist()
    counted.add(["okapi okapi"])
    assert counted.search(["zebra okapi"], 5)["score"].iloc[1] == found["score"].iloc[0]
    counted.save(tmp_path / "index")
    again = simviz.load_index(tmp_path / "index")
    pd.testing.assert_frame_equal(again.search("zebra", 5), counted.search("zebra", 5))


def test_lists_of_many_find_nearly_all(pairs, monkeypatch):
    pytest.importorskip("faiss")
    pipeline = fitted(pairs, "opca", n_components=8)
    texts = [f"{a} {b}" for a in pairs.x for b in pairs.x]
    exact = pipeline.index(texts).search(["red car", "?"], 5)
    monkeypatch.setattr(_index, "MANY", 100)
    listed = pipeline.index(texts)
    found = listed.search(["red car", "?"], 5)
    np.testing.assert_allclose(found["score"][:5], exact["score"][:5], atol=1e-5)
    assert found["score"][5:].tolist() == [0] * 5
    assert listed._lists is not None


def test_vectors_without_structure_are_sought_in_more_lists(pairs, monkeypatch):
    pytest.importorskip("faiss")
    rng = np.random.default_rng(0)
    scattered, asked = rng.standard_normal((2_000, 16)), rng.standard_normal((100, 16))
    middles = rng.standard_normal((40, 16))
    gathered = middles[rng.integers(0, 40, 2_000)] + 0.05 * scattered
    near = []
    for vectors in (scattered, gathered):
        some = simviz.from_frame(x=vectors[:50], y=vectors[:50]).pairs
        index = fitted(some, "cosine").index(vectors)
        exact = index.search(asked, 10)
        with monkeypatch.context() as patch:
            patch.setattr(_index, "MANY", 1_000)
            found = index.search(asked, 10)
        least = exact["score"].to_numpy().reshape(100, 10)[:, -1:] - 1e-6
        assert (found["score"].to_numpy().reshape(100, 10) >= least).mean() > 0.95
        near.append(index._lists[2])
    assert near[0] < near[1]


def test_texts_are_items_wherever_items_are_asked(pairs):
    pipeline = fitted(pairs, "opca", n_components=6)
    texts = list(pairs.x)
    for given in (texts, tuple(texts), pd.Series(texts), np.array(texts)):
        assert np.array_equal(pipeline.transform(given), pipeline.transform(pairs.x))
    both = pipeline.similarity(texts[:2], list(pairs.y))
    assert np.array_equal(both, pipeline.similarity(pairs.x.take([0, 1]), pairs.y))
    for wrong, words in (("red", "one text"), (3, "got a int"), ([3], "are strings")):
        with pytest.raises(DatasetError, match=words):
            pipeline.transform(wrong)
    found = simviz.evaluate(pipeline, pairs.x, pairs.y, pairs.relevance)
    assert pipeline.score(pairs) == pytest.approx(found.value("MRR"))


def test_a_damaged_index_is_refused(pairs, tmp_path):
    whole, damaged = tmp_path / "whole.simviz", tmp_path / "damaged.simviz"
    fitted(pairs, "opca", n_components=6).index(pairs.y).save(whole)
    for name, wrong in (
        ("vectors", np.zeros((3, 6))),
        ("vectors", np.full((30, 6), np.nan)),
        ("vectors", "red"),
        ("ids", ["0"] * 30),
        ("labels", []),
        ("content", ["a"]),
        ("kind", "image"),
        ("side", "z"),
        ("more", 1),
    ):
        objects = load_state(whole)
        objects["index"][name] = wrong
        save_state(objects, damaged)
        with pytest.raises(StoreError):
            simviz.load_index(damaged)


def test_what_an_index_cannot_do_is_refused(pairs, tmp_path):
    pipeline = fitted(pairs, "bm25")
    index = pipeline.index(pairs.y)
    for kind in ("cosine", "blend"):
        with pytest.raises(ValueError, match="index by a lexical method"):
            MADE[kind](pairs).index(pairs.y, frequencies="items")
        with pytest.raises(ValueError, match="Did you mean 'items'"):
            MADE[kind](pairs).index(pairs.y, frequencies="item")
    assert index.search("red", k=100).shape == (30, 5)
    with pytest.raises(ValueError, match="from 1"):
        index.search(["red"], k=0)
    with pytest.raises(DatasetError, match="unique"):
        index.add(pairs.y.take([0]))
    assert len(index) == 30 == len(index.search("red", 100))
    with pytest.raises(ValueError, match="side"):
        pipeline.index(pairs.y, "z")
    pipeline.save(tmp_path / "alone.simviz")
    with pytest.raises(StoreError, match="load_pipeline"):
        simviz.load_index(tmp_path / "alone.simviz")
    index.save(tmp_path / "index.simviz")
    with pytest.raises(StoreError, match="index"):
        simviz.load_pipeline(tmp_path / "index.simviz")
