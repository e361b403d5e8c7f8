"""Held-out queries against all items: training pairs are neither candidates nor relevant."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from simviz.data import Items, PairSet, split
from simviz.evaluation import VectorScorer, evaluate, evaluate_part
from simviz.evaluation.scoring import ChanceScorer
from simviz.relevance import Relevance


class Seen:
    """Scores items by the vectors that stand for them."""

    def iter_similarity(self, x, y, /, *, block_size=None):
        yield from VectorScorer("dot").iter_similarity(x.content, y.content)


def linked(rng, n_x=40, n_y=25):
    """Pairs of vectors of whole numbers, so that scores tie."""
    matrix = sp.random_array((n_x, n_y), density=0.15, rng=rng, format="csr")
    matrix.data[:] = 1.0
    sides = [
        Items([f"{s}{i}" for i in range(n)], rng.normal(size=(n, 3)).round(), "vector")
        for s, n in (("x", n_x), ("y", n_y))
    ]
    return PairSet(*sides, Relevance(matrix, "negative"))


def by_hand(pairs, parts, direction):
    """Each query alone among the candidates that training leaves: reciprocal ranks, how many."""
    trained = parts.train.relevance.positives.toarray() > 0
    known = np.zeros(pairs.relevance.shape, dtype=bool)
    known[np.ix_(parts.x_index["train"], parts.y_index["train"])] = trained
    queries = (parts.x_index if direction == "x2y" else parts.y_index)["test"]
    values, sizes = [], []
    for q in queries:
        left = np.flatnonzero(~(known if direction == "x2y" else known.T)[q])
        values.append(alone(pairs, q, left, direction))
        sizes.append(len(left))
    return values, sizes


def alone(pairs, q, left, direction):
    """The reciprocal rank of one query among some candidates."""
    part = pairs.take([q], left) if direction == "x2y" else pairs.take(left, [q])
    found = evaluate(Seen(), part.x, part.y, part.relevance, ["MRR"], directions=[direction])
    return found.per_query("MRR", direction)[0]


@pytest.mark.parametrize("by", ["pair", "x", "y"])
@pytest.mark.parametrize("direction", ["x2y", "y2x"])
def test_against_all_items_training_pairs_are_out(by, direction):
    pairs = linked(np.random.default_rng(3), 30, 30)
    if by == "pair":  # one to one, or everything would hang together
        pairs = PairSet(pairs.x, pairs.y, Relevance.identity(30))
    parts = split(pairs, by)
    found = evaluate_part(Seen(), pairs, parts, pool="all", directions=(direction,))
    values, sizes = by_hand(pairs, parts, direction)
    np.testing.assert_allclose(found.per_query("MRR", direction), values)
    assert found.rankings[direction].n_candidates.tolist() == sizes
    assert found.pool == "all"


def test_known_pairs_leave_ranks_the_curve_and_chance_alike():
    rng = np.random.default_rng(0)
    pairs = linked(rng)
    known = sp.random_array(pairs.relevance.shape, density=0.2, rng=rng, format="csr")
    sides = pairs.x, pairs.y, pairs.relevance
    found = evaluate(Seen(), *sides, known=known)
    left = known.toarray() == 0
    scores = (pairs.x.content @ pairs.y.content.T)[left]
    relevant = pairs.relevance.matrix.toarray()[left] > 0
    assert found.value("AUC") == pytest.approx(roc_auc_score(relevant, scores))
    assert found.roc.n_positive + found.roc.n_negative == left.sum()
    for direction, mask in (("x2y", left), ("y2x", left.T)):
        values = [alone(pairs, q, np.flatnonzero(row), direction) for q, row in enumerate(mask)]
        np.testing.assert_allclose(found.per_query("MRR", direction), values)
    assert evaluate(ChanceScorer(), *sides, known=known).value("AUC") == 0.5


def test_the_split_pool_is_what_a_part_holds():
    pairs = linked(np.random.default_rng(1))
    parts = split(pairs, "x")
    ours = evaluate_part(Seen(), pairs, parts)
    again = evaluate(Seen(), parts.test.x, parts.test.y, parts.test.relevance)
    assert str(ours.to_records()) == str(again.to_records())
    assert len(parts.test.y) == len(pairs.y)
    with pytest.raises(ValueError, match="got 'train', 'split'"):
        evaluate_part(Seen(), pairs, parts, "train")
    with pytest.raises(ValueError, match=r"known has the shape \(2, 2\)"):
        evaluate(Seen(), pairs.x, pairs.y, pairs.relevance, known=sp.eye_array(2))
