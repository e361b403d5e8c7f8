from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.metrics import auc, roc_auc_score, roc_curve

from simviz.evaluation.roc import Roc


@st.composite
def pairs(draw):
    n = draw(st.integers(2, 30))
    scores = draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n))
    relevant = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    relevant[:2] = [True, False]
    return np.array(scores, dtype=float), np.array(relevant)


@settings(max_examples=100)
@given(pairs(), st.sampled_from([0.05, 0.25, 0.5, 1.0]))
def test_curve_and_areas_equal_sklearn(given_pairs, max_fpr):
    scores, relevant = given_pairs
    roc = Roc.from_scores(scores, relevant)
    # sklearn leaves some points on straight lines in; all of ours are among all of theirs.
    fpr, tpr, thresholds = roc_curve(relevant, scores, drop_intermediate=False)
    theirs = {cut: (f, t) for f, t, cut in zip(fpr, tpr, thresholds, strict=True)}
    for f, t, cut in zip(roc.fpr, roc.tpr, roc.thresholds, strict=True):
        assert theirs[cut] == pytest.approx((f, t))
    assert len(roc.fpr) <= len(roc_curve(relevant, scores)[0])
    assert roc.auc == pytest.approx(roc_auc_score(relevant, scores))
    partial = roc_auc_score(relevant, scores, max_fpr=max_fpr)
    assert roc.partial_auc(max_fpr, standardized=True) == pytest.approx(partial)


@settings(max_examples=100)
@given(pairs())
def test_counts_at_the_relevant_scores_alone_draw_the_same_curve(given_pairs):
    scores, relevant = given_pairs
    at = np.unique(scores[relevant])
    negative = scores[~relevant]
    edges = np.concatenate([[-np.inf], at, [np.inf]])
    between = (negative[:, None] > edges[:-1]) & (negative[:, None] < edges[1:])
    equal = scores[relevant][:, None] == at, negative[:, None] == at, between
    roc = Roc.from_counts(at, *(pairs.sum(axis=0) for pairs in equal))
    whole = Roc.from_scores(scores, relevant)
    np.testing.assert_array_equal(roc.false_positives, whole.false_positives)
    np.testing.assert_array_equal(roc.true_positives, whole.true_positives)
    # Every threshold lets exactly the pairs of its point pass.
    for fp, tp, cut in zip(roc.false_positives, roc.true_positives, roc.thresholds, strict=True):
        assert ((scores >= cut) & relevant).sum() == tp
        assert ((scores >= cut) & ~relevant).sum() == fp


def test_points_on_a_line_are_dropped():
    roc = Roc.from_scores(np.arange(9.0), np.arange(9) >= 4)
    assert roc.fpr.tolist() == [0, 0, 1]
    assert roc.tpr.tolist() == [0, 1, 1]
    assert roc.auc == 1


def test_partial_area_is_a_mean_height():
    roc = Roc.from_scores([4, 3, 2, 1, 0], [True, False, True, False, False])
    # Height 1/2 up to fpr 1/3, then 1.
    assert roc.partial_auc(0.5) == pytest.approx((0.5 / 3 + (0.5 - 1 / 3)) / 0.5)
    assert roc.partial_auc(1.0) == pytest.approx(roc.auc)
    chance = Roc.from_scores(np.zeros(6), [True, False] * 3)
    assert chance.partial_auc(0.1) == pytest.approx(0.05)
    assert chance.partial_auc(0.1, standardized=True) == pytest.approx(0.5)
    assert auc(chance.fpr, chance.tpr) == chance.auc == 0.5


def test_recall_at_a_false_positive_rate():
    roc = Roc.from_scores([4, 3, 2, 2, 0], [True, False, True, False, False])
    assert [roc.tpr_at(f) for f in (0, 0.2, 1 / 3, 1)] == [0.5, 0.5, 0.5, 1]
    assert roc.tpr_at(0.5) == pytest.approx(0.75)  # half way along the tie
    assert (roc.n_positive, roc.n_negative) == (2, 3)


def test_precision_is_the_relevant_share_of_what_passes():
    roc = Roc.from_scores([4, 3, 2, 2, 0], [True, False, True, False, False])
    np.testing.assert_array_equal(roc.precision, [np.nan, 1, 1 / 2, 2 / 4, 2 / 5])


@pytest.mark.parametrize("relevant", [[True, True], [False, False]])
def test_one_class_alone_has_no_area(relevant):
    roc = Roc.from_scores([1, 0], relevant)
    assert math.isnan(roc.auc)
    assert math.isnan(roc.partial_auc(0.5))


def test_a_rate_outside_0_to_1_is_refused():
    with pytest.raises(ValueError, match=r"got 1\.5"):
        Roc.from_scores([1, 0], [True, False]).partial_auc(1.5)
