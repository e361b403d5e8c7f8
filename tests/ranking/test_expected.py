from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from sklearn.metrics import (
    average_precision_score,
    label_ranking_average_precision_score,
    ndcg_score,
    roc_auc_score,
)

from simviz.ranking import (
    Ranking,
    expected_auc,
    expected_average_precision,
    expected_err_at,
    expected_ndcg_at,
    expected_precision_at,
    expected_r_precision,
    expected_recall_at,
    expected_reciprocal_rank,
    expected_success_at,
    rank_block,
)

METRICS = {
    "success@1": functools.partial(expected_success_at, k=1),
    "success@3": functools.partial(expected_success_at, k=3),
    "reciprocal rank": expected_reciprocal_rank,
    "reciprocal rank@2": functools.partial(expected_reciprocal_rank, k=2),
    "r-precision": expected_r_precision,
    "err@3": functools.partial(expected_err_at, k=3, highest_grade=3),
    "err@9": functools.partial(expected_err_at, k=9),
    "average precision": expected_average_precision,
    "precision@2": functools.partial(expected_precision_at, k=2),
    "recall@3": functools.partial(expected_recall_at, k=3),
    "ndcg@3": functools.partial(expected_ndcg_at, k=3),
    "ndcg linear": functools.partial(expected_ndcg_at, gain="linear"),
    "ndcg@4 jk": functools.partial(expected_ndcg_at, k=4, discount="jk"),
    "auc": expected_auc,
}


def by_hand(name: str, grades: np.ndarray) -> float:
    """The metric of one order without ties: grades from the first rank down."""
    relevant = grades > 0
    ranks = np.flatnonzero(relevant) + 1
    if name.startswith("success"):
        return float(relevant[: int(name[-1])].any())
    if name.startswith("reciprocal rank"):
        return 0.0 if name.endswith("@2") and ranks[0] > 2 else 1 / ranks[0]
    if name == "r-precision":
        return relevant[: relevant.sum()].mean()
    if name.startswith("err"):
        k, highest = (3, 3) if name == "err@3" else (9, 4)
        total, goes_on = 0.0, 1.0
        for rank, grade in enumerate(grades[:k].clip(0), start=1):
            stops = (2**grade - 1) / 2**highest
            total, goes_on = total + goes_on * stops / rank, goes_on * (1 - stops)
        return total
    if name == "average precision":
        return float(np.mean(np.arange(1, len(ranks) + 1) / ranks))
    if name == "precision@2":
        return relevant[:2].sum() / 2
    if name == "recall@3":
        return relevant[:3].sum() / relevant.sum()
    if name == "auc":
        below = [(~relevant[r:]).sum() for r in ranks]
        others = (~relevant).sum()
        return float(np.mean(below) / others) if others else math.nan
    k = {"ndcg@3": 3, "ndcg@4 jk": 4}.get(name, len(grades))

    def dcg(order):
        total = 0.0
        for rank, grade in enumerate(order[:k], start=1):
            gain = grade if name == "ndcg linear" else 2**grade - 1
            discount = math.log2(1 + rank)
            if name == "ndcg@4 jk":
                discount = 1.0 if rank < 2 else math.log2(rank)
            total += max(gain, 0.0) / discount
        return total

    return dcg(grades) / dcg(sorted(grades, reverse=True))


def over_all_orders(name: str, scores: np.ndarray, grades: np.ndarray) -> float:
    """Mean of the metric over every order of the tied candidates."""
    groups = [np.flatnonzero(scores == s) for s in sorted(set(scores), reverse=True)]
    orders = itertools.product(*(itertools.permutations(g) for g in groups))
    values = [by_hand(name, grades[list(itertools.chain(*order))]) for order in orders]
    return float(np.mean(values))


def ranking_of(scores: np.ndarray, grades: np.ndarray) -> Ranking:
    """Rank the columns of each row; grades at or below 0 are not relevant."""
    scores, grades = np.atleast_2d(scores), np.atleast_2d(grades)
    relevant = sp.csr_array(np.where(grades > 0, grades, 0))
    above, tied, _ = rank_block(scores, relevant.indptr, relevant.indices)
    pool = np.full(len(scores), scores.shape[1])
    return Ranking(relevant.indptr, relevant.indices, relevant.data, above, tied, pool)


@st.composite
def queries(draw):
    n = draw(st.integers(1, 6))
    scores = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    grades = draw(st.lists(st.integers(-1, 3), min_size=n, max_size=n))
    return np.array(scores, dtype=float), np.array(grades, dtype=float)


@pytest.mark.parametrize("name", METRICS)
@settings(max_examples=40)
@given(query=queries())
def test_equals_the_average_over_all_orders_of_ties(name, query):
    scores, grades = query
    value = METRICS[name](ranking_of(scores, grades))[0]
    if (grades > 0).any():
        expected = over_all_orders(name, scores, grades)
        assert value == pytest.approx(expected, nan_ok=True, abs=1e-12)
    else:
        assert math.isnan(value)


@pytest.mark.parametrize("name", METRICS)
def test_judged_negatives_in_a_judged_pool(name):
    grades = np.array([2, -1, 1, -1, -1.0])
    scores = np.array([1, 1, 0, 2, 0.0])
    above, tied, _ = rank_block(scores[None], [0, 5], np.arange(5), "judged")
    ranking = Ranking([0, 5], np.arange(5), grades, above, tied, [5])
    assert METRICS[name](ranking)[0] == pytest.approx(over_all_orders(name, scores, grades))


@pytest.mark.parametrize("name", METRICS)
def test_values_lie_between_0_and_1(name):
    rng = np.random.default_rng(0)
    scores, grades = rng.integers(0, 9, (300, 40)), rng.integers(-9, 4, (300, 40))
    values = METRICS[name](ranking_of(scores, grades))
    assert (values >= 0).all()
    assert (values <= 1 + 1e-12).all()


def test_a_constant_scorer_gets_chance():
    n = 8000
    constant = Ranking([0, 1], [0], [1.0], [0], [n], [n])
    harmonic = math.fsum(1 / i for i in range(1, n + 1))
    assert expected_success_at(constant, 1)[0] == pytest.approx(1 / n, rel=1e-12)
    assert expected_reciprocal_rank(constant)[0] == pytest.approx(harmonic / n, rel=1e-13)
    assert expected_average_precision(constant)[0] == pytest.approx(harmonic / n, rel=1e-13)
    assert expected_precision_at(constant, 5)[0] == pytest.approx(1 / n)
    assert expected_recall_at(constant, 5)[0] == pytest.approx(5 / n)
    assert expected_auc(constant)[0] == 0.5


@pytest.mark.parametrize(("above", "tied"), [(9000, 2), (63, 3), (100_000, 50), (10, 5000)])
def test_average_precision_deep_in_the_list_keeps_its_digits(above, tied):
    both = Ranking([0, 2], [0, 1], [1, 1], [above] * 2, [tied] * 2, [above + tied])
    places = range(1, tied + 1)
    rho = 1 / (tied - 1)
    exact = math.fsum((1 + (i - 1) * rho) / (above + i) for i in places) / tied
    assert expected_average_precision(both)[0] == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("relevant", [2, 3, 40, 400])
def test_first_of_several_among_many_tied(relevant):
    n = 2000
    counts = [7] * relevant, [n] * relevant
    ranking = Ranking([0, relevant], range(relevant), np.ones(relevant), *counts, [n + 7])
    exact = math.fsum(
        math.comb(n - f, relevant - 1) / math.comb(n, relevant) / (7 + f)
        for f in range(1, n - relevant + 2)
    )
    assert expected_reciprocal_rank(ranking)[0] == pytest.approx(exact, rel=1e-12)
    miss = math.comb(n - relevant, 100) / math.comb(n, 100)
    assert expected_success_at(ranking, 107)[0] == pytest.approx(1 - miss, rel=1e-9)


@pytest.fixture(scope="module")
def untied():
    rng = np.random.default_rng(11)
    scores = rng.permuted(np.tile(np.arange(30.0), (25, 1)), axis=1)
    grades = np.where(rng.random((25, 30)) < 0.2, rng.integers(1, 4, (25, 30)), 0)
    grades[:, 0] = 1
    return scores, grades


def test_equals_sklearn(untied):
    scores, grades = untied
    ranking = ranking_of(scores, grades)
    ap = expected_average_precision(ranking)
    assert ap.mean() == pytest.approx(label_ranking_average_precision_score(grades > 0, scores))
    one_by_one = zip(grades > 0, scores, strict=True)
    np.testing.assert_allclose(ap, [average_precision_score(g, s) for g, s in one_by_one])
    for k in (1, 3, 10, None):
        value = expected_ndcg_at(ranking, k, gain="linear").mean()
        assert value == pytest.approx(ndcg_score(grades, scores, k=k))


def test_equals_sklearn_with_ties(untied):
    scores, grades = untied[0] // 4, untied[1]
    ranking = ranking_of(scores, grades)
    value = expected_ndcg_at(ranking, 5, gain="linear").mean()
    assert value == pytest.approx(ndcg_score(grades, scores, k=5))
    one_by_one = zip(grades > 0, scores, strict=True)
    np.testing.assert_allclose(expected_auc(ranking), [roc_auc_score(g, s) for g, s in one_by_one])


def test_huge_and_tiny_grades_neither_overflow_nor_vanish():
    huge = Ranking([0, 2], [0, 1], [5000.0, 1.0], [1, 0], [1, 1], [4])
    assert expected_ndcg_at(huge)[0] == pytest.approx(1 / math.log2(3))
    tiny = Ranking([0, 1], [0], [1e-30], [1], [1], [4])
    assert expected_ndcg_at(tiny)[0] == pytest.approx(1 / math.log2(3))


def test_exponential_gain_and_the_original_discount_by_hand():
    # Grades 1, 3, 2 at ranks 1, 2, 3.
    ranking = Ranking([0, 3], [0, 1, 2], [1, 3, 2], [0, 1, 2], [1, 1, 1], [9])
    exp2 = (1 + 7 / math.log2(3) + 3 / 2) / (7 + 3 / math.log2(3) + 1 / 2)
    assert expected_ndcg_at(ranking, 3)[0] == pytest.approx(exp2)
    original = (1 + 3 + 2 / math.log2(3)) / (3 + 2 + 1 / math.log2(3))
    value = expected_ndcg_at(ranking, 3, gain="linear", discount="jk")[0]
    assert value == pytest.approx(original)


def test_settings_that_mean_nothing_are_refused():
    ranking = Ranking([0, 1], [0], [1.0], [0], [1], [1])
    with pytest.raises(ValueError, match="at least 1, got 0"):
        expected_precision_at(ranking, 0)
    with pytest.raises(ValueError, match="gain must be"):
        expected_ndcg_at(ranking, gain="square")
    with pytest.raises(ValueError, match="discount must be"):
        expected_ndcg_at(ranking, discount="none")


def test_without_ties_the_reciprocal_rank_is_exact():
    n = 5000
    each = Ranking(range(n + 1), [0] * n, np.ones(n), range(n), np.ones(n), np.full(n, n))
    np.testing.assert_array_equal(expected_reciprocal_rank(each), 1 / np.arange(1, n + 1))


def test_no_queries_give_no_values():
    empty = Ranking([0], [], [], [], [], [])
    assert all(len(metric(empty)) == 0 for metric in METRICS.values())
