"""Counts of scores by class, and the bands and probabilities that come of them."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import average_precision_score, roc_auc_score

from simviz.evaluation import AUC, VectorScorer, evaluate
from simviz.evaluation.calibration import Calibration, curve_bands, reliability, score_counts
from simviz.evaluation.roc import Roc
from simviz.exceptions import JobCancelled
from simviz.relevance import Relevance

N_X, N_Y = 40, 60


def problem(seed=0, unjudged="negative", noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N_X, 8)).astype(np.float32)
    Y = X[rng.integers(0, N_X, N_Y)] + noise * rng.standard_normal((N_Y, 8)).astype(np.float32)
    near = X @ Y.T
    grades = np.where(near > np.quantile(near, 0.9), 1.0, 0.0)
    grades[(rng.random(near.shape) < 0.2) & (grades == 0)] = -1
    return X, Y.astype(np.float32), Relevance(sp.csr_array(grades), unjudged=unjudged), grades


@pytest.mark.parametrize("unjudged", ["negative", "ignore"])
@pytest.mark.parametrize("direction", ["x2y", "y2x"])
def test_every_pair_is_counted_where_it_scores(unjudged, direction):
    X, Y, relevance, grades = problem(unjudged=unjudged)
    scorer = VectorScorer()
    scores = np.concatenate(list(scorer.iter_similarity(X, Y))).astype(float)
    counts = score_counts(scorer, X, Y, relevance, direction=direction)
    of = {"relevant": grades > 0, "rejected": grades < 0, "unjudged": grades == 0}
    asking = (scores, of) if direction == "x2y" else (scores.T, {n: m.T for n, m in of.items()})
    for name, mask in asking[1].items():
        rows = (row[m] for row, m in zip(asking[0], mask, strict=True))
        bins = (np.searchsorted(counts.cuts, row, side="right") for row in rows)
        expected = [np.bincount(row, minlength=len(counts.cuts) + 1) for row in bins]
        np.testing.assert_array_equal(getattr(counts, name), expected)
    ignored = 0 if unjudged == "negative" else (grades == 0).sum()
    assert counts.negative.sum() == grades.size - (grades > 0).sum() - ignored
    edges, classes = counts.histogram(20)
    assert len(edges) == 21
    for name, mask in of.items():
        np.testing.assert_array_equal(classes[name], np.histogram(scores[mask], edges)[0])


def test_few_groups_hold_all_queries():
    sides = VectorScorer(), *problem()[:3]
    single, groups = (score_counts(*sides, cuts=[0.0, 0.5], max_groups=n) for n in (99, 7))
    assert groups.relevant.shape == (7, 3)
    for name in ("relevant", "negative"):
        each = (getattr(counts, name).sum(axis=0) for counts in (single, groups))
        np.testing.assert_array_equal(*each)


def test_all_scores_equal():
    edges, classes = score_counts(VectorScorer(), np.ones((3, 2)), np.ones((3, 2))).histogram()
    assert len(edges) == 2
    assert classes["relevant"].tolist() == [3]


def test_it_can_be_stopped_and_refuses_what_does_not_fit():
    X, Y, relevance, _ = problem()
    sides = VectorScorer(), X, Y, relevance
    with pytest.raises(JobCancelled):
        score_counts(*sides, callback=lambda *a: True)
    counts, roc = score_counts(*sides), evaluate(*sides, [AUC()]).roc
    calibration = Calibration.fit(counts)
    nothing = Relevance(sp.csr_array((N_X, N_Y)))
    empty = score_counts(*sides[:3], nothing, cuts=calibration.cuts)
    for refused, words in (
        (lambda: score_counts(*sides, cuts=[1.0, 0.0]), "ascending"),
        (lambda: score_counts(VectorScorer("dot"), X * np.nan, Y, relevance), "NaN"),
        (lambda: curve_bands(counts, roc, confidence=1.0), "confidence"),
        (lambda: curve_bands(counts, roc, n_resamples=1), "n_resamples"),
        (lambda: reliability(calibration, counts), "other cuts"),
        (lambda: reliability(calibration, empty), "relevant"),
        (lambda: Calibration.fit(empty), "both"),
    ):
        with pytest.raises(ValueError, match=words):
            refused()


def test_bands_enclose_the_curve_and_match_drawing_queries_by_hand():
    X, Y, relevance, grades = problem(noise=2.0)
    scores = np.concatenate(list(VectorScorer().iter_similarity(X, Y)))
    roc = evaluate(VectorScorer(), X, Y, relevance, [AUC()]).roc
    counts = score_counts(VectorScorer(), X, Y, relevance)
    bands = curve_bands(counts, roc, n_resamples=600)
    drawn = np.random.default_rng(1).integers(0, N_X, (600, N_X))
    areas = [roc_auc_score(grades[d].ravel() > 0, scores[d].ravel()) for d in drawn]
    expected = np.quantile(areas, [0.025, 0.975])
    np.testing.assert_allclose(bands.auc, expected, atol=0.12 * np.ptp(expected))
    assert bands.auc[0] < roc.auc < bands.auc[1]
    assert bands.average_precision[0] < roc.average_precision < bands.average_precision[1]
    inside = np.array([roc.tpr_at(rate) for rate in bands.tpr.at])
    slack = 0.02  # between cuts the drawn curves are straight
    assert (bands.tpr.low - slack <= inside).all() and (inside <= bands.tpr.high + slack).all()
    assert (bands.precision.low <= bands.precision.high).all()
    assert curve_bands(counts, roc, n_resamples=600).auc == bands.auc


def test_average_precision_equals_sklearn_and_averages_over_ties():
    rng = np.random.default_rng(0)
    scores, relevant = rng.random(300), rng.random(300) < 0.2
    roc = Roc.from_scores(scores, relevant)
    expected = average_precision_score(relevant, scores)
    np.testing.assert_allclose(roc.average_precision, expected, atol=1e-12)
    tied, few = rng.integers(0, 4, 12).astype(float), rng.random(12) < 0.4
    # Every way in which the relevant ones of a tie can stand among its places.
    ties = [np.flatnonzero(tied == score) for score in (3, 2, 1, 0)]
    ways = product(*(combinations(tie, int(few[tie].sum())) for tie in ties))
    relevant = [np.isin(np.concatenate(ties), sum(way, ())) for way in ways]
    brute = np.mean([average_precision_score(order, -np.arange(12)) for order in relevant])
    assert len(relevant) == 63
    assert Roc.from_scores(tied, few).average_precision == pytest.approx(brute, abs=1e-12)


def test_calibration_is_isotonic_regression():
    X, Y, relevance, grades = problem(noise=2.0)
    scorer = VectorScorer()
    scores = np.concatenate(list(scorer.iter_similarity(X, Y))).ravel().astype(float)
    distinct = np.unique(scores)
    counts = score_counts(scorer, X, Y, relevance, cuts=distinct)
    calibration = Calibration.fit(counts)
    expected = IsotonicRegression().fit(scores, grades.ravel() > 0).predict(scores)
    np.testing.assert_allclose(calibration.of(scores), expected, atol=1e-12)
    seen = score_counts(scorer, X, Y, relevance, cuts=calibration.cuts)
    held = reliability(calibration, seen)
    assert held.gap < 1e-12  # on the very pairs it was fitted on
    assert held.n_pairs.sum() == grades.size
    assert held.from_score[0] == -np.inf
    assert held.to_score[-1] == np.inf
    assert (held.low <= held.observed).all()
    halved = Calibration.fit(counts, odds=0.5)
    odds = calibration.probability / (1 - np.minimum(calibration.probability, 1 - 1e-16))
    open_ = calibration.probability < 1
    expected = (odds / 2 / (1 + odds / 2))[open_]
    np.testing.assert_allclose(halved.probability[open_], expected, atol=1e-12)


def test_steps_of_scores_that_no_pair_has_join_their_neighbours():
    X, Y, relevance, _ = problem()
    cuts = np.array([-3.0, -2.0, 0.0, 0.5, 2.0, 3.0])
    counts = score_counts(VectorScorer(), X, Y, relevance, cuts=cuts)
    found = reliability(Calibration(cuts, np.linspace(0, 1, 7)), counts, n_bins=3)
    assert (found.n_relevant > 0).all()
    assert found.n_pairs.sum() == N_X * N_Y
    assert (found.from_score[1:] == found.to_score[:-1]).all()
