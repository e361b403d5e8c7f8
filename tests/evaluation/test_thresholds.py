"""A threshold by its false-alarm rate, what to expect of it, and the pairs it gets wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from scipy import stats
from scorers import Table

from simviz.evaluation import VectorScorer, choose_threshold, errors_at, operating_point
from simviz.exceptions import JobCancelled
from simviz.relevance import Relevance

rng = np.random.default_rng(0)
GRADES = rng.choice([0.0, 1.0, -1.0], (30, 40), p=[0.7, 0.15, 0.15])
X, Y = rng.standard_normal((30, 5)), rng.standard_normal((40, 5))


@settings(max_examples=60)
@given(
    st.integers(0, 10_000),
    st.sampled_from([0.0, 0.01, 0.1, 0.333, 0.9, 1.0]),
    st.sampled_from(["negative", "ignore"]),
    st.sampled_from([1, 4, 1000]),
    st.sampled_from([np.float32, np.float64]),
)
def test_it_is_the_lowest_that_keeps_the_rate(seed, rate, unjudged, levels, dtype):
    scores = (np.random.default_rng(seed).integers(0, levels, GRADES.shape) / 7).astype(dtype)
    relevance = Relevance(sp.csr_array(GRADES), unjudged=unjudged)
    threshold = choose_threshold(Table(scores), X, Y, relevance, false_alarm_rate=rate)
    others = scores[(GRADES < 0) if unjudged == "ignore" else (GRADES <= 0)].astype(np.float64)
    assert (others >= threshold).mean() <= rate
    lower = np.unique(others[others < threshold])
    if len(lower):
        assert (others >= lower[-1]).mean() > rate
    point = operating_point(Table(scores), X, Y, relevance, threshold=threshold)
    assert point.false_alarm_rate.value == pytest.approx((others >= threshold).mean())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_pair_at_the_threshold_passes_and_none_below(dtype):
    table = Table(np.array([[0.75, 0.5, 0.25], [0.5, 0.5, 0.5], [0.0, 0.25, 0.25]], dtype=dtype))
    items = np.zeros((3, 1))  # row i belongs to row i

    point = operating_point(table, items, items, threshold=0.5)
    assert (point.n_positive, point.n_negative) == (3, 6)
    shares = point.recall, point.false_alarm_rate, point.precision
    assert [share.value for share in shares] == pytest.approx([2 / 3, 3 / 6, 2 / 5])
    above = operating_point(table, items, items, threshold=math.nextafter(0.5, 1))
    assert (above.recall.value, above.false_alarm_rate.value) == pytest.approx((1 / 3, 0))

    found = errors_at(table, items, items, threshold=0.5)
    assert (found.n_passing, found.n_true_positives, found.n_relevant) == (5, 2, 3)
    alarms = found.false_alarms
    assert [*zip(alarms.x, alarms.y, alarms.score, strict=True)] == [
        (0, 1, 0.5), (1, 0, 0.5), (1, 2, 0.5),
    ]  # fmt: skip
    assert (found.misses.x.tolist(), found.misses.score.tolist()) == ([2], [0.25])

    # Three of six others may pass: half way between the three at .5 and the next; or fewer: none.
    assert choose_threshold(table, items, items, false_alarm_rate=0.5) == 0.375
    assert 0.5 < choose_threshold(table, items, items, false_alarm_rate=0.4) < 0.500001

    # Where nothing passes, an item counts once.
    none = operating_point(table, items, items, threshold=2.0)
    assert none.recall[:2] == none.false_alarm_rate[:2] == (0.0, 0.0)
    assert none.recall.high == pytest.approx(stats.beta.ppf(0.975, 1, 3))
    assert np.isnan(none.precision.value)


@pytest.mark.parametrize("unjudged", ["negative", "ignore"])
def test_shares_are_those_of_all_scores(unjudged):
    relevance = Relevance(sp.csr_array(GRADES), unjudged=unjudged)
    scores = np.concatenate(list(VectorScorer().iter_similarity(X, Y))).round(1)
    point, even = (
        operating_point(Table(scores), X, Y, relevance, threshold=0.2, block_size=8, **how)
        for how in ({}, {"prevalence": 0.5})
    )
    others = (GRADES < 0) if unjudged == "ignore" else (GRADES <= 0)
    passing, relevant = scores >= 0.2, GRADES > 0
    recall, rate = passing[relevant].mean(), passing[others].mean()
    hits, alarms = (passing & relevant).sum(), (passing & others).sum()
    shares = point.recall, point.false_alarm_rate, point.precision, even.precision
    wanted = [recall, rate, hits / (hits + alarms), recall / (recall + rate)]
    assert [share.value for share in shares] == pytest.approx(wanted)
    assert all(0 <= share.low < share.value < share.high <= 1 for share in shares)
    assert point.prevalence == pytest.approx(relevant.sum() / (relevant.sum() + others.sum()))


def test_independent_pairs_get_the_interval_of_clopper_and_pearson():
    n = 400
    passing = np.random.default_rng(1).random(n) < 0.2
    items = np.zeros((n, 1))
    recall = operating_point(Table(np.diag(passing)), items, items, threshold=0.5).recall
    wanted = stats.binomtest(int(passing.sum()), n).proportion_ci(method="exact")
    assert (recall.low, recall.high) == pytest.approx((wanted.low, wanted.high), abs=1e-3)


@pytest.mark.parametrize(
    ("shape", "of_unit", "with_groups", "low", "high", "most"),
    [
        ((40, 50), None, False, 180, 200, 99),  # pairs of one item are alike
        ((60, 60), np.arange(60), False, 184, 198, 179),  # and mates are hubs together
        ((150, 150), np.arange(150) // 5, True, 180, 198, 119),  # and items of a group
    ],
)
def test_intervals_hold_where_pairs_are_alike(shape, of_unit, with_groups, low, high, most):
    """Of 200 draws about 95 % enclose the true rate; fewer do if what is alike is not told."""
    truth, held, plain = 1 - stats.norm.cdf(1.5 / np.sqrt(3)), 0, 0
    x, y = (np.zeros((n, 1)) for n in shape)
    judged = -np.ones(shape) if of_unit is None else np.eye(*shape) - (of_unit[:, None] != of_unit)
    groups = {"groups": {"x": of_unit, "y": of_unit}} if with_groups else {}
    others, untold = (
        Relevance(sp.csr_array(matrix), unjudged="ignore")
        for matrix in (judged, np.where(judged > 0, 0, judged))
    )
    for seed in range(200):
        draw = np.random.default_rng(seed)
        if of_unit is None:
            parts = draw.standard_normal((shape[0], 1)), draw.standard_normal(shape[1])
        else:
            drawn = draw.standard_normal(shape[0])[of_unit]
            parts = drawn[:, None], drawn
        table = Table(sum(parts) + draw.standard_normal(shape))
        point = operating_point(table, x, y, others, threshold=1.5, **groups)
        share = point.false_alarm_rate
        held += share.low <= truth <= share.high
        if of_unit is None:
            share = stats.binomtest(round(share.value * 2000), 2000).proportion_ci()
        else:
            share = operating_point(table, x, y, untold, threshold=1.5).false_alarm_rate
        plain += share[-2] <= truth <= share[-1]
    assert low <= held <= high
    assert plain <= most


def test_copies_in_groups_tell_hardly_more_than_one_of_each():
    scores = np.random.default_rng(4).standard_normal((20, 25))
    pages = {"x": np.arange(60) // 3, "y": [f"page {i // 2}" for i in range(50)]}

    def width(n_x, n_y, groups=None):
        others = Relevance(sp.csr_array(-np.ones((20 * n_x, 25 * n_y))), unjudged="ignore")
        copies = Table(scores.repeat(n_x, axis=0).repeat(n_y, axis=1))
        x, y = np.zeros((20 * n_x, 1)), np.zeros((25 * n_y, 1))
        point = operating_point(copies, x, y, others, threshold=1.0, groups=groups)
        return point.false_alarm_rate.high - point.false_alarm_rate.low

    once = width(1, 1)
    assert width(3, 2) < 0.8 * once and once <= width(3, 2, pages) < 1.5 * once


def test_what_cannot_be_is_refused():
    sides = VectorScorer(), X, X
    for ask, words in (
        (lambda: choose_threshold(*sides, false_alarm_rate=2), "got 2"),
        (lambda: choose_threshold(sides[0], X[:1], Y[:1]), "No pair counts as not relevant"),
        (lambda: operating_point(*sides, threshold=0.5, prevalence=1.0), "prevalence"),
        (lambda: operating_point(*sides, threshold=0.5, groups={"x": [1, 2]}), "for 30 items"),
        (lambda: operating_point(*sides, threshold=0.5, confidence=1), "confidence=1"),
        (lambda: errors_at(*sides, threshold=0.5, k=0), "positive"),
        (lambda: errors_at(*sides, threshold=float("nan")), "NaN"),
    ):
        with pytest.raises(ValueError, match=words):
            ask()
    with pytest.raises(JobCancelled):
        errors_at(*sides, threshold=0.5, callback=lambda *a: True)


@pytest.mark.parametrize("unjudged", ["negative", "ignore"])
@pytest.mark.parametrize("threshold", [-2.0, 0.1, 0.6, 2.0])
def test_counts_and_pairs_are_those_of_all_scores(unjudged, threshold):
    relevance = Relevance(sp.csr_array(GRADES), unjudged=unjudged)
    scores = np.concatenate(list(VectorScorer().iter_similarity(X, Y))).round(1)
    found = errors_at(Table(scores), X, Y, relevance, threshold=threshold, k=7, block_size=8)
    counted = GRADES != 0 if unjudged == "ignore" else np.ones_like(GRADES, dtype=bool)
    passing, relevant = (scores >= threshold) & counted, GRADES > 0
    counts = found.n_passing, found.n_true_positives, found.n_relevant
    assert counts == (passing.sum(), (passing & relevant).sum(), relevant.sum())
    alarms, misses = passing & ~relevant, (scores < threshold) & relevant
    for pairs, mask in ((found.false_alarms, alarms), (found.misses, misses)):
        np.testing.assert_allclose(pairs.score, np.sort(scores[mask])[::-1][:7])
        assert mask[pairs.x, pairs.y].all()
        np.testing.assert_allclose(scores[pairs.x, pairs.y], pairs.score)
