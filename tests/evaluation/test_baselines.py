from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.data.pairs import PairSet
from simviz.evaluation import ChanceScorer, PopularityScorer, VectorScorer, evaluate
from simviz.relevance import Relevance


def test_popularity_knows_the_popular_items_only():
    train = PairSet.from_texts(
        ["a", "b", "c"],
        ["p", "q", "r"],
        Relevance.from_pairs([0, 1, 2, 2], [0, 0, 0, 1], [1, 1, 1, -1], shape=(3, 3)),
    )
    # Items are known by their ids "0", "1", ...; judged negatives are no partners.
    scores = np.concatenate(list(PopularityScorer(train).iter_similarity(train.x, train.y)))
    np.testing.assert_array_equal(scores, [[4, 1, 1]] * 3)
    test = train.take([2, 0], [1, 0])
    result = evaluate(PopularityScorer(train), test.x, test.y, np.array([[0, 1], [0, 1]]))
    assert result.value("top-1", "x2y") == 1.0
    assert result.value("top-1", "y2x") == 1.0  # both are relevant, whatever the order


def test_popularity_serves_both_directions():
    train = PairSet.from_texts(["a", "b"], ["p", "q", "r"], np.array([[1, 1, 0], [0, 0, 0]]))
    result = evaluate(
        PopularityScorer(train), train.x, train.y, np.array([[0, 0, 1], [0, 1, 0]]), block_size=1
    )
    np.testing.assert_array_equal(result.per_query("MRR", "x2y"), [1 / 3, 3 / 4])
    np.testing.assert_array_equal(result.per_query("MRR", "y2x"), [np.nan, 1 / 2, 1])


def test_unknown_items_count_zero():
    train = PairSet.from_texts(["a"], ["p"])
    other = PairSet.from_texts(["x", "y"], ["z", "w"])
    scores = np.concatenate(list(PopularityScorer(train).iter_similarity(other.x, other.y)))
    np.testing.assert_array_equal(scores, [[2, 1], [1, 0]])


def test_chance_takes_any_sides():
    assert evaluate(ChanceScorer(), ["a", "b"], ["c", "d"]).value("MRR") == 0.75
    sparse = sp.eye_array(3, format="csr")
    assert evaluate(ChanceScorer(), sparse, sparse).value("top-1") == pytest.approx(1 / 3)
    blocks = list(ChanceScorer().iter_similarity(np.eye(5), np.eye(2), block_size=2))
    assert [b.shape for b in blocks] == [(2, 2), (2, 2), (1, 2)]


def test_vectors_compare_by_cosine_or_product():
    X, Y = np.array([[1, 0], [3, 4]]), np.array([[2, 0], [0, 0]])
    np.testing.assert_allclose(next(VectorScorer().iter_similarity(X, Y)), [[1, 0], [0.6, 0]])
    np.testing.assert_array_equal(
        next(VectorScorer("dot").iter_similarity(X, Y)), [[2, 0], [6, 0]]
    )
    with pytest.raises(ValueError, match="'cosine' or 'dot', got 'js'"):
        VectorScorer("js")
