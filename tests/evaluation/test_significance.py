"""Tests of significance and intervals: equal to references, honest about chance, at the edges."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings, strategies as st
from made_up import LEFT, RIGHT
from scipy.stats import norm, sem
from scorers import Table
from sklearn.metrics import roc_auc_score

from simviz import PairSet
from simviz.evaluation import (
    VectorScorer,
    confidence_interval,
    corrected_resampled_t,
    evaluate,
    paired_bootstrap,
    paired_randomization,
    paired_t,
    paired_test,
    partitioned_auc_t,
    standard_error,
    unpaired_t,
    wilcoxon,
)
from simviz.evaluation.significance import MAX_EXACT

PAIRED = [paired_randomization, paired_t, paired_bootstrap, wilcoxon]
VALUES = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=2, max_size=12).map(
    lambda pairs: np.array(pairs, dtype=float).T / 10
)


def two_runs(n=120, shift=0.03, seed=0):
    rng = np.random.default_rng(seed)
    b = rng.random(n)
    return b + shift + 0.1 * rng.normal(size=n), b


def test_what_a_comparison_cannot_say_has_a_reason():
    one, two, same, more = (
        paired_randomization(a, np.zeros(len(a))).why_missing
        for a in ([0.5], [0.5, 0.75], [0.5] * 9, [0.5, 0.75, 0.25])
    )
    assert one == "a test needs more than 1 query"
    assert two == "an effect size needs more than 2 queries"
    assert same == "all differences are equal, so that they have no spread"
    assert more == ""


def assert_equals_scipy(found, expected, level=0.95):
    interval = expected.confidence_interval(level)
    ours = found.statistic, found.p_value, found.low, found.high
    theirs = expected.statistic, expected.pvalue, interval.low, interval.high
    assert ours == pytest.approx(theirs, rel=1e-9)


def test_paired_t_equals_scipy():
    a, b = two_runs()
    assert_equals_scipy(paired_t(a, b, level=0.9), scipy.stats.ttest_rel(a, b), 0.9)


def test_unpaired_t_equals_scipy():
    a, b = two_runs()
    found = unpaired_t(np.r_[a, np.nan], b[:70] * 3)
    assert_equals_scipy(found, scipy.stats.ttest_ind(a, b[:70] * 3))
    assert found.outcomes is None


@pytest.mark.parametrize("n", [8, 60])
def test_wilcoxon_equals_scipy(n):
    a, b = two_runs(n)
    a[:3] = b[:3]
    a, b = a.round(1), b.round(1)
    d = (a - b).round(1)
    found, expected = wilcoxon(a, b), scipy.stats.wilcoxon(d[d != 0])
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    moved = int((d != 0).sum())
    total = moved * (moved + 1) / 2
    assert (total - abs(found.statistic)) / 2 == pytest.approx(expected.statistic)


@settings(max_examples=40)
@given(VALUES)
def test_exact_randomization_equals_scipy(pair):
    a, b = pair
    expected = scipy.stats.permutation_test(
        (a - b,), lambda d, axis: np.abs(d.sum(axis=axis)).round(9),
        permutation_type="samples", alternative="greater", vectorized=True, n_resamples=np.inf,
    )  # fmt: skip
    assert paired_randomization(a, b).p_value == pytest.approx(expected.pvalue, rel=1e-9)


def test_exact_and_drawn_randomization_agree():
    a, b = two_runs(MAX_EXACT, shift=0.0)
    exact = paired_randomization(a, b).p_value
    # One more query that hardly matters makes it draw.
    a, b = np.r_[a, 0.5 + 1e-9], np.r_[b, 0.5]
    drawn = paired_randomization(a, b, n_resamples=100_000, random_state=3).p_value
    assert 0.05 < exact < 0.95
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 100_000))


def test_drawn_randomization_of_ones_is_the_sign_test():
    a, b = np.repeat([[1, 0, 1], [0, 1, 1]], [60, 38, 20], axis=1)
    found = paired_randomization(a, b, n_resamples=200_000)
    assert found.p_value == pytest.approx(scipy.stats.binomtest(60, 98).pvalue, abs=0.002)
    assert found.outcomes == (60, 20, 38)


def test_randomization_repeats_itself_and_never_says_zero():
    assert paired_randomization(*two_runs(300, shift=0.5), n_resamples=999).p_value == 0.001
    a, b = two_runs(300, shift=0.004)
    assert paired_randomization(a, b) == paired_randomization(a, b)
    assert paired_randomization(a, b) != paired_randomization(a, b, random_state=1)


def test_randomization_draws_in_bounded_memory():
    a, b = two_runs(20_000)
    tracemalloc.start()
    paired_randomization(a, b, n_resamples=2000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6, "2,000 x 20,000 signs would take 40 MB as bytes"


def test_bootstrap_interval_equals_scipy():
    a, b = np.random.default_rng(5).exponential(1.0, (2, 40))
    found = paired_bootstrap(a, b, n_resamples=3000, random_state=7)
    for ours, theirs in (("bca", "BCa"), ("bootstrap", "percentile")):
        how = {"n_resamples": 3000, "method": theirs, "rng": np.random.default_rng(7)}
        expected = scipy.stats.bootstrap((a - b,), np.mean, **how).confidence_interval
        interval = confidence_interval(a - b, method=ours, n_resamples=3000, random_state=7)
        assert interval == pytest.approx((expected.low, expected.high), rel=1e-9)
        assert ours != "bca" or interval == (found.low, found.high)
    a, b = two_runs(200, shift=0.012)
    assert paired_bootstrap(a, b).p_value == pytest.approx(paired_t(a, b).p_value, abs=0.01)


def test_effect_size_is_hedges_corrected():
    a, b = two_runs(10, shift=0.1)
    d = a - b
    plain = d.mean() / d.std(ddof=1)
    correction = 1 - 3 / (4 * 9 - 1)  # Hedges' approximation
    assert paired_t(a, b).effect_size == pytest.approx(plain * correction, rel=2e-3)
    x, y = two_runs(2000, shift=0.2)
    pooled = math.sqrt((x.var(ddof=1) + y.var(ddof=1)) / 2)
    assert unpaired_t(x, y).effect_size == pytest.approx((x - y).mean() / pooled, rel=1e-3)


@pytest.mark.parametrize("test", PAIRED)
def test_nothing_differs(test):
    found = test([0.1, 0.1 + 0.2, 0.5], [0.1, 0.3, 0.5])
    assert (found.p_value, found.difference, found.effect_size) == (1.0, 0.0, 0.0)
    assert (found.low, found.high, found.outcomes) == (0.0, 0.0, (0, 3, 0))
    words = found.describe("A", "B", "MRR")
    assert words.startswith("A and B agree on every query by MRR, p = 1, ")


@pytest.mark.parametrize("test", PAIRED)
def test_all_differ_by_the_same(test):
    b = np.linspace(0, 0.7, 8)
    found = test(b + 0.1, b)
    assert found.difference == pytest.approx(0.1)
    assert found.effect_size == math.inf
    assert (found.low, found.high) == pytest.approx((0.1, 0.1))
    expected = {paired_t: 0.0, paired_bootstrap: 1 / 10_001}.get(test, 2 / 2**8)
    assert found.p_value == pytest.approx(expected)


@pytest.mark.parametrize("test", [*PAIRED, unpaired_t])
def test_one_query_or_none_cannot_be_compared(test):
    for values, counted in (
        ([], "0 queries"), ([np.nan], "0 queries"), ([0.5], "1 query"), ([np.nan, 0.5], "1 query"),
    ):  # fmt: skip
        found = test(values, values)
        assert math.isnan(found.p_value) and math.isnan(found.low) and not found.is_significant()
        assert found.describe("A", "B") == f"A and B cannot be compared on {counted}"


@pytest.mark.parametrize("test", PAIRED)
def test_queries_without_a_value_are_left_out(test):
    a, b = two_runs(20)
    gaps = [np.insert(values, [3, 11], np.nan) for values in (a, b)]
    assert test(*gaps) == test(a, b)
    assert test(*gaps).n == 20


LISTS = [
    ([0.1, 0.2], [0.1, 0.2, 0.3], {}, "a has 2 values, b 3"),
    ([0.1, 0.2, 0.4], [0.1, 0.2, np.nan], {}, "1 queries have a value in a only, 0 in b"),
    ([0.1, np.inf], [0.1, 0.2], {}, "1 infinite values"),
    (np.ones((2, 2)), np.ones((2, 2)), {}, "one value a query"),
    ([0.1, 0.2, 0.3], [0.1, 0.2, 0.2], {"level": 95}, "level must lie"),
]


@pytest.mark.parametrize("test", PAIRED)
def test_lists_that_do_not_belong_together_are_refused(test):
    for a, b, how, words in LISTS:
        with pytest.raises(ValueError, match=words):
            test(a, b, **how)
    if test in (paired_randomization, paired_bootstrap):
        with pytest.raises(ValueError, match="n_resamples must be"):
            test([0.1, 0.2], [0.2, 0.3], n_resamples=0)


@settings(max_examples=15)
@given(VALUES)
def test_exchanging_the_runs_changes_signs_only(pair):
    a, b = pair
    for test in (paired_randomization, paired_t, wilcoxon, unpaired_t):
        there, back = test(a, b), test(b, a).swapped()
        for name in ("p_value", "difference", "low", "high", "effect_size", "statistic"):
            assert getattr(there, name) == pytest.approx(getattr(back, name), nan_ok=True), name
        assert there.outcomes == back.outcomes
        assert 0 <= there.p_value <= 1


def test_words_name_winner_numbers_test_and_queries():
    a, b = two_runs(242, shift=0.03)
    words = paired_randomization(a, b).describe("S2Net", "OPCA", "MRR")
    assert words.startswith("S2Net is ahead of OPCA: MRR +0.0")
    assert words.endswith("], p < 0.001, paired randomisation, 242 queries")
    assert paired_randomization(b, a).describe("OPCA", "S2Net", "MRR") == words
    loss = paired_t(1 - a, 1 - b).describe("S2Net", "OPCA", "rank loss", higher_is_better=False)
    assert loss.startswith("S2Net is ahead of OPCA: rank loss −0.0")
    level = paired_t(*two_runs(30, shift=0.0)).describe("S2Net", "OPCA", "MRR")
    assert "cannot be told apart" in level


def test_tests_have_names():
    a, b = two_runs(30)
    assert paired_test(a, b) == paired_randomization(a, b)
    assert paired_test(a, b, "t", level=0.8) == paired_t(a, b, level=0.8)
    with pytest.raises(ValueError, match="Did you mean 'bootstrap'"):
        paired_test(a, b, "boostrap")


def test_it_is_a_t_test_over_the_aucs_of_disjoint_subsets():
    rng = np.random.default_rng(0)
    relevant, query = rng.random(900) < 0.4, rng.integers(0, 60, 900)
    a, b = (relevant + rng.normal(size=(2, 900)) * [[1.4], [2.2]]).round(1)  # with ties
    found = partitioned_auc_t(a, b, relevant, query=query, n_subsets=10, random_state=4)
    subsets = (np.random.default_rng(4).permutation(60) % 10)[query]
    values = [
        [roc_auc_score(relevant[subsets == s], scores[subsets == s]) for s in range(10)]
        for scores in (a, b)
    ]
    assert_equals_scipy(found, scipy.stats.ttest_rel(*values))
    assert (found.n, found.unit) == (10, "subset")
    assert found.describe("A", "B", "AUC").endswith("paired t over disjoint subsets, 10 subsets")
    for how, words in (
        ({"query": query % 20}, r"20 queries \(or pairs\) cannot be divided into 50"),
        ({"n_subsets": 1}, "into 1 subsets"),
        ({"query": [1, 2, 3]}, r"lengths \[900, 900, 900, 3\]"),
    ):
        with pytest.raises(ValueError, match=words):
            partitioned_auc_t(a, b, relevant, **how)
    with pytest.raises(ValueError, match="NaN"):
        partitioned_auc_t(a * np.nan, b, relevant)


def test_subsets_without_both_classes_do_not_count():
    relevant = np.array([True, False] * 6 + [True] * 4)
    scores = np.arange(16.0)
    query = np.r_[np.repeat(np.arange(6), 2), [6, 6, 7, 7]]
    found = partitioned_auc_t(scores, scores[::-1], relevant, query=query, n_subsets=8)
    assert found.n == 6


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


def test_edges_of_the_corrected_test():
    same = corrected_resampled_t([0.5, 0.6], [0.5, 0.6], test_fraction=0.2)
    assert (same.p_value, same.low, same.high) == (1.0, 0.0, 0.0)
    assert math.isnan(corrected_resampled_t([0.5], [0.4], test_fraction=0.2).p_value)
    with pytest.raises(ValueError, match=r"80/20 split has 0\.2"):
        corrected_resampled_t([0.5, 0.6], [0.4, 0.6], test_fraction=20)


def test_standard_error_skips_what_is_not_a_number():
    values = np.array([0.2, np.nan, 0.9, 0.4])
    assert standard_error(values) == pytest.approx(sem(values[[0, 2, 3]]))
    assert math.isnan(standard_error([0.5, np.nan]))


def test_bootstrap_agrees_with_the_normal_interval_on_many_values():
    values = np.random.default_rng(1).random(2000)
    values[::7] = np.nan
    drawn, normal = confidence_interval(values), confidence_interval(values, method="normal")
    seen = values[~np.isnan(values)]
    assert normal == pytest.approx(norm.interval(0.95, seen.mean(), sem(seen)))
    assert drawn == pytest.approx(normal, abs=3e-3)
    assert drawn == confidence_interval(values)
    assert drawn != confidence_interval(values, random_state=1)
    low, high = confidence_interval([0, 0, 0, 0, 1.0])
    assert 0 <= low < 0.2 < high <= 1
    assert all(map(math.isnan, confidence_interval([0.5])))
    with pytest.raises(ValueError, match="level must lie"):
        confidence_interval([0, 1], level=95)
    with pytest.raises(ValueError, match="method must be"):
        confidence_interval([0, 1], method="jackknife")


def test_an_evaluation_has_an_interval_of_a_metric():
    rng = np.random.default_rng(3)
    X = rng.random((40, 5))
    found = evaluate(VectorScorer(), X, X + rng.random((40, 5)))
    assert confidence_interval(found, "MRR") == confidence_interval(found.per_query("MRR"))
    for asked in ((found,), ([0.1, 0.2], "MRR"), ([0.1, 0.2], 0.9)):
        with pytest.raises(ValueError, match="an evaluation and a metric"):
            confidence_interval(*asked)


def test_a_pair_set_is_evaluated_as_its_sides_are():
    pairs = PairSet.from_texts(LEFT, RIGHT)
    table = Table(np.random.default_rng(4).random((len(LEFT), len(RIGHT))))
    assert evaluate(table, pairs).value("MRR") == evaluate(table, pairs.x, pairs.y).value("MRR")
    with pytest.raises(ValueError, match="alone"):
        evaluate(table, pairs, pairs.y)
    with pytest.raises(ValueError, match="Pairs are wanted, got a Items"):
        evaluate(table, pairs.x)
