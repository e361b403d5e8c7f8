"""Nearest in the model's space: the same order as its similarities, either way round."""

from __future__ import annotations

import numpy as np
import pytest
from scorers import Shares

from simviz.base import TopicSimilarity
from simviz.data import Items, PairSet
from simviz.features import default_features
from simviz.pipeline import PairPipeline, default_pipeline
from simviz.projection import Neighbors, joint_map
from simviz.projection.pipeline_map import GROUPS, Placed, Space, nearest_of_all, rank_items
from simviz.relevance import Relevance


def space_of(method, pairs, **params):
    return Space.of(default_pipeline(method, pairs, **params).fit(pairs), pairs)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("cca", {"n_components": 8}),
        ("heterogeneous_svd", {"n_components": 8, "measure": "dot"}),
        ("ssi", {"n_components": 4, "max_iter": 2}),
    ],
)
def test_scores_are_the_models_own(sentences, method, params):
    space = space_of(method, sentences, **params)
    table = space.pipeline.similarity(sentences.x, sentences.y).astype(np.float64)
    for side, row, scores in (("x", 3, table[3]), ("y", 5, table[:, 5])):
        found = space.nearest(side, row, k=7)
        assert found.side != side
        np.testing.assert_allclose(found.scores, np.sort(scores)[::-1][:7], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(scores[found.index], found.scores, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("measure", TopicSimilarity.measures)
def test_scores_of_topics_are_the_models_own(sentences, measure):
    texts = list(sentences.x.content)
    pairs = PairSet.from_texts(texts[:40], texts[20:])
    pipeline = PairPipeline(Shares(measure), default_features("text", "counts")).fit(pairs)
    table = pipeline.similarity(pairs.x, pairs.y)
    found = Space.of(pipeline, pairs).nearest("y", 5, k=7)
    np.testing.assert_allclose(found.scores, np.sort(table[:, 5])[::-1][:7], atol=1e-7)
    assert found.index[0] == 25


@pytest.mark.parametrize("is_open", [False, True])
def test_what_is_unknown_or_has_nothing_in_common_has_no_neighbours(is_open):
    train = PairSet.from_texts(["red car one", "blue car two"], ["red bus one", "blue bus two"])
    features = {} if is_open else {"n_unseen": 0}
    pipeline = default_pipeline("bm25", train, features=features).fit(train)
    asked = PairSet.from_texts(["zzz zzz", "car car"], ["red bus", "blue bus"])
    space = Space.of(pipeline, asked)
    unknown, strange = space.nearest("x", 0), space.nearest("x", 1)
    assert (space.is_known("x", 0), len(unknown)) == (is_open, 0)
    assert (space.is_known("x", 1), len(strange)) == (True, 0)


@pytest.mark.parametrize(("index", "k"), [(-1, 3), (60, 3), (0, 0)])
def test_arguments_out_of_range_are_refused(sentences, index, k):
    with pytest.raises(ValueError, match="got"):
        space_of("bm25", sentences).nearest("x", index, k)


def test_neighbours_are_those_that_are_drawn():
    rng = np.random.default_rng(0)
    drawing = joint_map(rng.normal(size=(4, 3)), rng.normal(size=(5, 3)))
    placed = Placed(drawing, np.array([1, 4, 6, 9]), np.array([0, 2, 4, 6, 8]))
    here = placed.place(Neighbors("y", np.array([8, 3, 0, 6]), np.array([0.9, 0.8, 0.7, 0.6])))
    assert (here.index.tolist(), here.scores.tolist()) == ([4, 0, 3], [0.9, 0.7, 0.6])
    everything = Neighbors("y", np.array([0, 2, 4, 6, 8, 5]), np.linspace(1, 0.5, 6))
    # All that is drawn is near when as many are asked for as there are.
    assert placed.neighbor_preservation(4, everything).tolist() == [True] * 5 + [False]
    assert not placed.neighbor_preservation(5, everything).any(), "the item itself is not drawn"
    distances = ((drawing.y - drawing.x[1]) ** 2).sum(axis=1)
    for at, item in enumerate(placed.y_rows):
        one = Neighbors("y", np.array([item]), np.array([1.0]))
        assert placed.neighbor_preservation(4, one).tolist() == [distances.argmin() == at]


@pytest.mark.parametrize("method", ["bm25", "tfidf_cosine", "cca", "heterogeneous_svd", "jplsa"])
@pytest.mark.parametrize("side", ["x", "y"])
def test_a_new_item_is_scored_as_the_pipeline_scores_it(method, side, sentences):
    params = {} if method in ("bm25", "tfidf_cosine") else {"n_components": 8}
    space = space_of(method, sentences, **params)
    new = Items(["q"], [sentences.x.content[3] + " " + sentences.y.content[5]], "text")
    table = (
        space.pipeline.similarity(new, sentences.y)[0]
        if side == "x"
        else space.pipeline.similarity(sentences.x, new)[:, 0]
    )
    np.testing.assert_allclose(space.scores(side, new), table, atol=2e-5)
    with pytest.raises(ValueError, match="one item at a time"):
        space.scores(side, sentences.x.take([0, 1]))


@pytest.mark.parametrize("method", ["cca", "lsa", "heterogeneous_svd"])
def test_first_dimensions_are_the_space_of_the_truncated_model(sentences, method):
    space = space_of(method, sentences, n_components=8)
    cut, fitted = space.truncate(3), Space.of(space.pipeline.truncate(3), sentences)
    for side in "xy":
        np.testing.assert_allclose(cut.rows[side], fitted.rows[side], atol=1e-6)
    a, b = cut.nearest("x", 4), fitted.nearest("x", 4)
    np.testing.assert_allclose(a.scores, b.scores, atol=1e-6)
    assert (cut.n_dimensions, space.n_dimensions) == (3, 8), "the whole space stays as it is"
    with pytest.raises(ValueError, match="not nested"):
        space_of("ssi", sentences, max_iter=1).truncate(1)


def test_found_says_how_soon_each_item_finds_what_belongs_to_it():
    texts = ["red car", "blue sea", "green tree", "old house"]
    pairs = PairSet.from_texts([*texts, "zebra"], [*texts[::-1], "yak"])
    pipeline = default_pipeline("tfidf_cosine", pairs).fit(pairs)
    drawing = joint_map(np.eye(5), np.eye(5))
    found = rank_items(pipeline, pairs, Placed(drawing, np.arange(5), np.arange(5)))
    # Row i belongs to row i: "red car" to "old house", which is no nearer than any without it.
    assert found.x.shape == found.y.shape == (5,)
    assert found.x_best[:4].tolist() == pytest.approx([1.0] * 4) and found.x_best[4] == 0
    assert set(found.groups) <= set(GROUPS) and len(found.scores) == 10
    alone = Placed(joint_map(np.eye(5)[:4], np.eye(5)[4:]), np.arange(4), np.array([4]))
    lonely = rank_items(pipeline, pairs, alone)
    assert np.isnan(lonely.x).all() and set(lonely.groups) == {GROUPS[-1]}


def test_nearest_of_all_are_those_of_each_item():
    rng = np.random.default_rng(0)
    sides = [
        Items([f"{side}{i}" for i in range(n)], rng.normal(size=(n, 3)), "vector")
        for side, n in (("x", 30), ("y", 4))
    ]
    belongs = Relevance.from_pairs(range(30), [i % 4 for i in range(30)], shape=(30, 4))
    pairs = PairSet(*sides, belongs)
    pipeline = default_pipeline("cca", pairs, n_components=2).fit(pairs)
    drawing = joint_map(rng.normal(size=(30, 2)), rng.normal(size=(4, 2)))
    found = nearest_of_all(pipeline, pairs, Placed(drawing, np.arange(30), np.arange(4)), 5)
    assert found.shape == (34, 5)
    assert [set(row) for row in found[:30].tolist()] == [{30, 31, 32, 33, i} for i in range(30)]
    best = np.argsort(-pipeline.similarity(*sides), axis=0)[:5].T
    assert np.array_equal(np.sort(found[30:]), np.sort(best))
