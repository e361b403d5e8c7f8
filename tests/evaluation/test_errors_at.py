"""The pairs behind a point of a curve."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.evaluation import VectorScorer
from simviz.evaluation.thresholds import errors_at
from simviz.exceptions import JobCancelled
from simviz.relevance import Relevance

rng = np.random.default_rng(0)
X, Y = rng.standard_normal((30, 5)), rng.standard_normal((40, 5))
GRADES = rng.choice([0.0, 1.0, -1.0], (30, 40), p=[0.7, 0.15, 0.15])


@pytest.mark.parametrize("unjudged", ["negative", "ignore"])
@pytest.mark.parametrize("threshold", [-2.0, 0.1, 0.6, 2.0])
def test_counts_and_pairs_are_those_of_all_scores(unjudged, threshold):
    relevance = Relevance(sp.csr_array(GRADES), unjudged=unjudged)
    scorer = VectorScorer()
    scores = np.concatenate(list(scorer.iter_similarity(X, Y)))
    found = errors_at(scorer, X, Y, relevance, threshold=threshold, k=7, block_size=8)
    counted = GRADES != 0 if unjudged == "ignore" else np.ones_like(GRADES, dtype=bool)
    passing = (scores >= threshold) & counted
    assert found.n_passing == passing.sum()
    assert found.n_found == (passing & (GRADES > 0)).sum()
    assert found.n_relevant == (GRADES > 0).sum()
    for pairs, mask in (
        (found.false_alarms, passing & (GRADES <= 0)),
        (found.misses, (scores < threshold) & (GRADES > 0)),
    ):
        np.testing.assert_allclose(pairs.score, np.sort(scores[mask])[::-1][:7])
        assert mask[pairs.x, pairs.y].all()
        np.testing.assert_allclose(scores[pairs.x, pairs.y], pairs.score)


def test_it_can_be_stopped_and_refuses_what_does_not_fit():
    with pytest.raises(JobCancelled):
        errors_at(VectorScorer(), X, X, threshold=0.5, callback=lambda *a: True)
    with pytest.raises(ValueError, match="positive"):
        errors_at(VectorScorer(), X, X, threshold=0.5, k=0)
    with pytest.raises(ValueError, match="NaN"):
        errors_at(VectorScorer(), X, X, threshold=float("nan"))
