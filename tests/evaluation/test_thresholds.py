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


def test_equal_scores_pass_together_or_not_at_all():
    ones = np.ones((30, 40), dtype=np.float32)
    threshold = choose_threshold(Table(ones), X, Y, sp.csr_array(GRADES))
    assert threshold > 1
    point = operating_point(Table(ones), X, Y, sp.csr_array(GRADES), threshold=threshold)
    assert point.recall.value == point.false_alarm_rate.value == 0


@pytest.mark.parametrize("unjudged", ["negative", "ignore"])
def test_shares_are_those_of_all_scores(unjudged):
    relevance = Relevance(sp.csr_array(GRADES), unjudged=unjudged)
    scores = np.concatenate(list(VectorScorer().iter_similarity(X, Y))).round(1)
    point = operating_point(Table(scores), X, Y, relevance, threshold=0.2, block_size=8)
    others = (GRADES < 0) if unjudged == "ignore" else (GRADES <= 0)
    passing, relevant = scores >= 0.2, GRADES > 0
    assert point.false_alarm_rate.value == pytest.approx(passing[others].mean())
    assert point.recall.value == pytest.approx(passing[relevant].mean())
    hits, alarms = (passing & relevant).sum(), (passing & others).sum()
    assert point.precision.value == pytest.approx(hits / (hits + alarms))
    assert point.prevalence == pytest.approx(relevant.sum() / (relevant.sum() + others.sum()))
    for share in (point.false_alarm_rate, point.recall, point.precision):
        assert 0 <= share.low < share.value < share.high <= 1


def test_precision_follows_the_prevalence():
    point = operating_point(
        VectorScorer(), X, Y, sp.csr_array(GRADES), threshold=0.2, prevalence=0.5
    )
    recall, rate = point.recall.value, point.false_alarm_rate.value
    assert point.precision.value == pytest.approx(recall / (recall + rate))
    assert point.precision.low < point.precision.value < point.precision.high


def test_independent_pairs_get_the_interval_of_clopper_and_pearson():
    n = 400
    passing = np.random.default_rng(1).random(n) < 0.2
    items = np.zeros((n, 1))
    recall = operating_point(Table(np.diag(passing)), items, items, threshold=0.5).recall
    wanted = stats.binomtest(int(passing.sum()), n).proportion_ci(method="exact")
    assert (recall.low, recall.high) == pytest.approx((wanted.low, wanted.high), abs=1e-3)


def test_intervals_hold_where_pairs_of_one_item_are_alike():
    """Of 200 draws of queries and candidates about 95 % enclose the true rate."""
    truth = 1 - stats.norm.cdf(1.5 / np.sqrt(3))
    held, plain = 0, 0
    for seed in range(200):
        draw = np.random.default_rng(seed)
        parts = [draw.standard_normal(shape) for shape in ((40, 1), (1, 50), (40, 50))]
        scores = parts[0] + parts[1] + parts[2]
        others = Relevance(sp.csr_array(-np.ones((40, 50))), unjudged="ignore")
        sides = np.zeros((40, 1)), np.zeros((50, 1)), others
        share = operating_point(Table(scores), *sides, threshold=1.5).false_alarm_rate
        held += share.low <= truth <= share.high
        binomial = stats.binomtest(round(share.value * 2000), 2000).proportion_ci()
        plain += binomial.low <= truth <= binomial.high
    assert 180 <= held <= 200
    assert plain < 100


def held_of_200(n, of_unit, **options):
    """Of 200 draws of n pairs, those whose intervals hold the true rate: with `options`, without.

    A score is the sum of what is drawn for the unit of each item, and of noise.
    """
    truth, found = 1 - stats.norm.cdf(1.5 / np.sqrt(3)), np.zeros(2, dtype=int)
    x, y, unit = np.zeros((n, 1)), np.zeros((n, 1)), of_unit(np.arange(n))
    others = np.eye(n) - (unit[:, None] != unit)
    for seed in range(200):
        draw = np.random.default_rng(seed)
        drawn = draw.standard_normal(n)[unit]
        scores = drawn[:, None] + drawn + draw.standard_normal((n, n))
        for i, (judged, more) in enumerate(((others, options), (others - np.eye(n), {}))):
            relevance = Relevance(sp.csr_array(judged), unjudged="ignore")
            share = operating_point(Table(scores), x, y, relevance, threshold=1.5, **more)
            found[i] += share.false_alarm_rate.low <= truth <= share.false_alarm_rate.high
    return found


def test_intervals_hold_where_mates_are_hubs_together():
    with_mates, without = held_of_200(60, lambda i: i)
    assert 184 <= with_mates <= 198
    assert without < 180


def test_intervals_hold_where_items_of_a_group_are_alike():
    pages = np.arange(150) // 5
    with_groups, without = held_of_200(150, lambda i: i // 5, groups={"x": pages, "y": pages})
    assert 180 <= with_groups <= 198
    assert without < 120


def test_copies_in_groups_tell_hardly_more_than_one_of_each():
    scores = np.random.default_rng(4).standard_normal((20, 25))
    pages = {"x": np.arange(60) // 3, "y": [f"page {i // 2}" for i in range(50)]}

    def interval(n_x, n_y, groups=None):
        others = Relevance(sp.csr_array(-np.ones((20 * n_x, 25 * n_y))), unjudged="ignore")
        copies = Table(scores.repeat(n_x, axis=0).repeat(n_y, axis=1))
        x, y = np.zeros((20 * n_x, 1)), np.zeros((25 * n_y, 1))
        point = operating_point(copies, x, y, others, threshold=1.0, groups=groups)
        return point.false_alarm_rate

    once = interval(1, 1)
    widths = [share.high - share.low for share in (once, interval(3, 2), interval(3, 2, pages))]
    assert widths[1] < 0.8 * widths[0]
    assert widths[0] <= widths[2] < 1.5 * widths[0]


def test_where_nothing_passes_an_item_counts_once():
    point = operating_point(VectorScorer(), X, X, threshold=2.0)
    assert point.recall[:2] == point.false_alarm_rate[:2] == (0.0, 0.0)
    assert point.recall.high == pytest.approx(stats.beta.ppf(0.975, 1, 30))
    assert np.isnan(point.precision.value)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="got 2"):
        choose_threshold(VectorScorer(), X, Y, sp.csr_array(GRADES), false_alarm_rate=2)
    with pytest.raises(ValueError, match="No pair counts as not relevant"):
        choose_threshold(VectorScorer(), X[:1], Y[:1])
    with pytest.raises(ValueError, match="prevalence"):
        operating_point(VectorScorer(), X, X, threshold=0.5, prevalence=1.0)
    with pytest.raises(ValueError, match="for 30 items"):
        operating_point(VectorScorer(), X, X, threshold=0.5, groups={"x": [1, 2]})
    with pytest.raises(ValueError, match="confidence=1"):
        operating_point(VectorScorer(), X, X, threshold=0.5, confidence=1)


@pytest.mark.parametrize("unjudged", ["negative", "ignore"])
@pytest.mark.parametrize("threshold", [-2.0, 0.1, 0.6, 2.0])
def test_counts_and_pairs_are_those_of_all_scores(unjudged, threshold):
    relevance = Relevance(sp.csr_array(GRADES), unjudged=unjudged)
    scores = np.concatenate(list(VectorScorer().iter_similarity(X, Y))).round(1)
    found = errors_at(Table(scores), X, Y, relevance, threshold=threshold, k=7, block_size=8)
    counted = GRADES != 0 if unjudged == "ignore" else np.ones_like(GRADES, dtype=bool)
    passing = (scores >= threshold) & counted
    assert found.n_passing == passing.sum()
    assert found.n_true_positives == (passing & (GRADES > 0)).sum()
    assert found.n_relevant == (GRADES > 0).sum()
    for pairs, mask in (
        (found.false_alarms, passing & (GRADES <= 0)),
        (found.misses, (scores < threshold) & (GRADES > 0)),
    ):
        np.testing.assert_allclose(pairs.score, np.sort(scores[mask])[::-1][:7])
        assert mask[pairs.x, pairs.y].all()
        np.testing.assert_allclose(scores[pairs.x, pairs.y], pairs.score)


def test_listing_errors_can_be_stopped_and_refuses_what_does_not_fit():
    with pytest.raises(JobCancelled):
        errors_at(VectorScorer(), X, X, threshold=0.5, callback=lambda *a: True)
    with pytest.raises(ValueError, match="positive"):
        errors_at(VectorScorer(), X, X, threshold=0.5, k=0)
    with pytest.raises(ValueError, match="NaN"):
        errors_at(VectorScorer(), X, X, threshold=float("nan"))
