"""Both directions in one pass give what two passes give."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from made_up import LEFT, RIGHT

import simviz.evaluation._blocks
from simviz.data import PairSet
from simviz.evaluation import VectorScorer, evaluate
from simviz.pipeline import default_pipeline
from simviz.relevance import Relevance

N_X, N_Y, K = 70, 300, 6


class TwoPasses(VectorScorer):
    """Says nothing of its vectors."""

    factors = None

    def iter_similarity(self, x, y, /, *, block_size=None):
        yield from VectorScorer(self.similarity).iter_similarity(x, y, block_size=block_size)


class Counting(VectorScorer):
    """Counts how often its vectors, and its blocks, are asked for."""

    asked = 0

    def factors(self, x, y):
        type(self).asked += 1
        return super().factors(x, y)

    def iter_similarity(self, x, y, /, *, block_size=None):
        raise AssertionError("the vectors do")


def vectors(dtype, kind):
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal((N_X, K)), rng.standard_normal((N_Y, K))
    if kind == "ties":  # few values and repeated rows: scores are equal, not nearly so
        X, Y = X.round(), Y.round()
        X[::5], Y[::4], Y[1::7] = 0, 0, Y[2]
    if kind == "repeated":  # equal vectors, whose products may differ in the last bit
        X[10:20], Y[20:80] = X[0], Y[3]
    return X.astype(dtype), Y.astype(dtype)


def judgments():
    rng = np.random.default_rng(4)
    grades = np.where(rng.random((N_X, N_Y)) < 0.02, rng.integers(1, 4, (N_X, N_Y)), 0)
    grades[(rng.random((N_X, N_Y)) < 0.01) & (grades == 0)] = -1
    return Relevance(sp.csr_array(grades.astype(float)), unjudged="negative")


def assert_same_ranks(X, Y, similarity="cosine"):
    """One pass finds what two passes find."""
    a, b = (
        evaluate(scorer(similarity), X, Y, judgments(), ["MRR"], block_size=16)
        for scorer in (VectorScorer, TwoPasses)
    )
    for direction in ("x2y", "y2x"):
        left, right = a.rankings[direction], b.rankings[direction]
        np.testing.assert_array_equal(left.above, right.above)
        np.testing.assert_array_equal(left.tied, right.tied)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize("kind", ["plain", "ties", "repeated"])
def test_one_pass_finds_the_same_ranks(dtype, similarity, kind):
    X, Y = vectors(dtype, kind)
    assert_same_ranks(X, Y, similarity)


@pytest.mark.parametrize(("room", "most"), [(1, 2**23), (2**20, 5)])
def test_a_second_pass_follows_where_too_many_scores_are_close(monkeypatch, room, most):
    monkeypatch.setattr(simviz.evaluation._blocks, "ROOM", room)
    monkeypatch.setattr(simviz.evaluation._blocks, "MAX_KEPT", most)
    X, Y = vectors("f4", "repeated")
    assert_same_ranks(X, Y)


def test_lengths_without_bound_take_a_second_pass():
    X, Y = vectors("f8", "plain")
    X[0] *= 1e160  # its square is beyond the type
    assert_same_ranks(X, Y, "dot")


def test_items_are_turned_into_vectors_once():
    X, Y = vectors("f4", "plain")
    seen, Counting.asked = [], 0
    evaluate(Counting(), X, Y, judgments(), ["MRR"], callback=lambda *a: seen.append(a[:2]))
    evaluate(Counting(), X, Y, judgments(), ["AUC"])
    assert Counting.asked == 2
    assert seen[-1] == (N_X, N_X)  # one pass


def test_pipelines_offer_their_vectors():
    pairs = PairSet.from_texts(LEFT, RIGHT)
    lsa = default_pipeline("lsa", pairs, n_components=3).fit(pairs)
    P, Q = lsa.factors(pairs.x, pairs.y)
    np.testing.assert_array_equal(P @ Q.T, lsa.similarity(pairs.x, pairs.y))
    assert default_pipeline("bm25", pairs).fit(pairs).factors(pairs.x, pairs.y) is None
