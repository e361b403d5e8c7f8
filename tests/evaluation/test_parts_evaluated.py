"""Held-out queries against all items: training pairs are neither candidates nor relevant."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.data import Items, PairSet, split
from simviz.evaluation import VectorScorer, evaluate, evaluate_part
from simviz.evaluation.scoring import ChanceScorer
from simviz.relevance import Relevance


class Seen:
    """Scores items by the vectors that stand for them."""

    def iter_similarity(self, x, y, /, *, block_size=None):
        yield from VectorScorer("dot").iter_similarity(x.content, y.content)


def linked(rng, n_x=40, n_y=25, ties=False):
    vectors = [rng.normal(size=(n, 3)) for n in (n_x, n_y)]
    if ties:
        vectors = [np.round(v) for v in vectors]
    matrix = sp.random_array((n_x, n_y), density=0.15, rng=rng, format="csr")
    matrix.data[:] = 1.0
    sides = [
        Items([f"{s}{i}" for i in range(len(v))], v, "vector")
        for s, v in zip("xy", vectors, strict=True)
    ]
    return PairSet(*sides, Relevance(matrix, "negative"))


def by_hand(pairs, parts, direction):
    """Reciprocal ranks among the candidates that are left, ties counted as expected elsewhere."""
    scores = pairs.x.content @ pairs.y.content.T
    relevant = pairs.relevance.positives.toarray() > 0
    known = np.zeros(relevant.shape, dtype=bool)
    at = np.ix_(parts.x_index["train"], parts.y_index["train"])
    known[at] = parts.train.relevance.positives.toarray() > 0
    queries = parts.x_index["test"] if direction == "x2y" else parts.y_index["test"]
    if direction == "y2x":
        scores, relevant, known = scores.T, relevant.T, known.T
    values = []
    for q in queries:
        left = ~known[q]
        good = relevant[q] & left
        if good.any():
            first = scores[q][good].max()
            values.append(1 / (1 + (scores[q][left] > first).sum()))
        else:
            values.append(np.nan)
    return np.array(values), [int((~known[q]).sum()) for q in queries]


@pytest.mark.parametrize("by", ["pair", "x", "y"])
@pytest.mark.parametrize("direction", ["x2y", "y2x"])
def test_against_all_items_training_pairs_are_out(by, direction):
    rng = np.random.default_rng(3)
    pairs = linked(rng) if by != "pair" else None
    if pairs is None:  # one to one, or everything would hang together
        pairs = linked(rng, 30, 30)
        pairs = PairSet(pairs.x, pairs.y, Relevance.identity(30))
    parts = split(pairs, by)
    found = evaluate_part(Seen(), pairs, parts, pool="all", directions=(direction,))
    values, sizes = by_hand(pairs, parts, direction)
    np.testing.assert_allclose(found.per_query("MRR", direction), values)
    assert found.rankings[direction].n_candidates.tolist() == sizes
    assert found.pool == "all"


def test_known_pairs_leave_ranks_the_curve_and_chance_alike():
    rng = np.random.default_rng(0)
    pairs = linked(rng, ties=True)
    matrix = pairs.relevance.matrix
    known = sp.random_array(matrix.shape, density=0.2, rng=rng, format="csr")
    given = pairs.x.content, pairs.y.content, pairs.relevance
    found = evaluate(VectorScorer("dot"), *given, known=known)
    scores = (pairs.x.content @ pairs.y.content.T).ravel()
    left = known.toarray().ravel() == 0
    relevant = matrix.toarray().ravel()[left] > 0
    from sklearn.metrics import roc_auc_score

    assert found.value("AUC") == pytest.approx(roc_auc_score(relevant, scores[left]))
    assert found.roc.n_positive + found.roc.n_negative == left.sum()
    # One query by itself, its known pairs cut out of the matrix, is ranked the same.
    for direction in ("x2y", "y2x"):
        values = found.per_query("MRR", direction)
        for q in range(len(values)):
            x2y = direction == "x2y"
            row = (known[[q]] if x2y else known.T.tocsr()[[q]]).toarray()[0] == 0
            keep = np.flatnonzero(row)
            part = pairs.take([q], keep) if x2y else pairs.take(keep, [q])
            sides = part.x.content, part.y.content, part.relevance
            alone = evaluate(VectorScorer("dot"), *sides, ["MRR"], directions=(direction,))
            np.testing.assert_allclose(values[q], alone.per_query("MRR", direction)[0])
    assert evaluate(ChanceScorer(), *given, known=known).value("AUC") == 0.5


def test_the_split_pool_is_what_a_part_holds():
    pairs = linked(np.random.default_rng(1))
    parts = split(pairs, "x")
    test = parts.test
    ours = evaluate_part(Seen(), pairs, parts)
    again = evaluate(Seen(), test.x, test.y, test.relevance)
    assert str(ours.to_records()) == str(again.to_records())
    assert len(test.y) == len(pairs.y)


def test_what_cannot_be_asked_is_refused():
    pairs = linked(np.random.default_rng(1))
    parts = split(pairs, "x")
    with pytest.raises(ValueError, match="got 'train', 'split'"):
        evaluate_part(Seen(), pairs, parts, "train")
    with pytest.raises(ValueError, match=r"known has the shape \(2, 2\)"):
        evaluate(Seen(), pairs.x, pairs.y, pairs.relevance, known=sp.eye_array(2))
