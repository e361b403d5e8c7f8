"""Tests over subsets, folds and repeated splits, and the trap of subsets that overlap."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from sklearn.metrics import roc_auc_score

from simviz.evaluation import corrected_resampled_t, paired_t, partitioned_auc_t


def scored_pairs(n, rng, noise=(1.0, 1.0), n_queries=None):
    relevant = rng.random(n) < 0.4
    shared = rng.normal(size=n)
    scores = [relevant + shared + level * rng.normal(size=n) for level in noise]
    query = None if n_queries is None else rng.integers(0, n_queries, n)
    return (*scores, relevant), query


def quick_auc(scores, relevant):
    ranks = scipy.stats.rankdata(scores)
    n = relevant.sum()
    return (ranks[relevant].sum() - n * (n + 1) / 2) / (n * (len(ranks) - n))


def test_it_is_a_t_test_over_the_aucs_of_disjoint_subsets():
    rng = np.random.default_rng(0)
    (a, b, relevant), query = scored_pairs(900, rng, (1, 2), n_queries=60)
    a, b = a.round(1), b.round(1)  # with ties
    found = partitioned_auc_t(a, b, relevant, query=query, n_subsets=10, random_state=4)
    order = np.random.default_rng(4).permutation(60)
    subsets = (order % 10)[query]
    values = [
        [roc_auc_score(relevant[subsets == s], scores[subsets == s]) for s in range(10)]
        for scores in (a, b)
    ]
    expected = scipy.stats.ttest_rel(*values)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-9)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert (found.n, found.unit) == (10, "subset")
    assert found.describe("A", "B", "AUC").endswith("paired t over disjoint subsets, 10 subsets")


def test_overlapping_subsets_reject_a_true_null_and_disjoint_ones_do_not():
    rng = np.random.default_rng(1)
    disjoint = overlapping = 0
    n_runs, n_pairs = 150, 1000
    for seed in range(n_runs):
        data, _ = scored_pairs(n_pairs, rng)
        disjoint += partitioned_auc_t(*data, random_state=seed).p_value <= 0.01
        a, b, relevant = data
        halves = [rng.permutation(n_pairs)[: n_pairs // 2] for _ in range(50)]
        values = [[quick_auc(s[half], relevant[half]) for half in halves] for s in (a, b)]
        overlapping += paired_t(*values).p_value <= 0.01
    assert disjoint / n_runs < 0.05
    assert overlapping / n_runs > 0.5, "two times in three"


def test_subsets_without_both_classes_do_not_count():
    relevant = np.array([True, False] * 6 + [True] * 4)
    scores = np.arange(16.0)
    query = np.r_[np.repeat(np.arange(6), 2), [6, 6, 7, 7]]
    found = partitioned_auc_t(scores, scores[::-1], relevant, query=query, n_subsets=8)
    assert found.n == 6


def test_more_subsets_than_queries_are_refused():
    data, query = scored_pairs(200, np.random.default_rng(2), n_queries=20)
    with pytest.raises(ValueError, match=r"20 queries \(or pairs\) cannot be divided into 50"):
        partitioned_auc_t(*data, query=query)
    with pytest.raises(ValueError, match="into 1 subsets"):
        partitioned_auc_t(*data, n_subsets=1)
    with pytest.raises(ValueError, match=r"lengths \[200, 200, 200, 3\]"):
        partitioned_auc_t(*data, query=[1, 2, 3])
    with pytest.raises(ValueError, match="NaN"):
        partitioned_auc_t(np.full(200, np.nan), *data[1:])


def test_corrected_resampled_t_widens_the_error():
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.02, 0.01, 10), np.zeros(10)
    plain, corrected = paired_t(a, b), corrected_resampled_t(a, b, test_fraction=0.2)
    # Variance s² (1/10 + 1/4) instead of s²/10.
    assert corrected.statistic == pytest.approx(plain.statistic / math.sqrt(3.5), rel=1e-9)
    expected = 2 * scipy.stats.t.sf(abs(corrected.statistic), 9)
    assert corrected.p_value == pytest.approx(expected, rel=1e-9)
    reach = corrected.high - corrected.difference
    assert reach == pytest.approx((plain.high - plain.difference) * math.sqrt(3.5), rel=1e-9)
    assert corrected.unit == "split"


def test_corrected_resampled_t_keeps_its_promise_where_splits_share_training_data():
    """Means of repeated random halves of one sample, whose true mean is 0."""
    rng = np.random.default_rng(4)
    plain = corrected = 0
    for _ in range(300):
        sample = rng.normal(size=100)
        splits = np.array([sample[rng.permutation(100)[:50]].mean() for _ in range(10)])
        plain += paired_t(splits, np.zeros(10)).p_value <= 0.05
        corrected += corrected_resampled_t(splits, np.zeros(10), test_fraction=0.5).p_value <= 0.05
    assert plain > 100
    assert corrected < 40


def test_edges_of_the_corrected_test():
    same = corrected_resampled_t([0.5, 0.6], [0.5, 0.6], test_fraction=0.2)
    assert (same.p_value, same.low, same.high) == (1.0, 0.0, 0.0)
    assert math.isnan(corrected_resampled_t([0.5], [0.4], test_fraction=0.2).p_value)
    with pytest.raises(ValueError, match=r"80/20 split has 0\.2"):
        corrected_resampled_t([0.5, 0.6], [0.4, 0.6], test_fraction=20)
