"""Where two runs differ: query by query, in words, and in answers to one query."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

from simviz.evaluation import MRR, VectorScorer, evaluate
from simviz.evaluation.differences import (
    Answers,
    Differences,
    first_relevant_rank,
    hardest_queries,
    paired_differences,
    query_metric,
    shared_terms,
)
from simviz.ranking import rank_block
from simviz.ranking._ranks import Ranking
from simviz.relevance import Relevance


def ranking_of(scores, relevant):
    scores = np.asarray(scores, dtype=float)[None]
    listed = np.flatnonzero(relevant)
    above, tied, _ = rank_block(scores, [0, len(listed)], listed)
    return Ranking([0, len(listed)], listed, np.ones(len(listed)), above, tied, [scores.size])


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6).filter(
        lambda items: any(relevant for _, relevant in items)
    )
)
def test_first_rank_is_the_mean_over_all_orders_of_ties(items):
    scores = [score for score, _ in items]
    relevant = [is_relevant for _, is_relevant in items]
    ranks = []
    for order in permutations(range(len(items))):
        # Sorting is stable: the permutation decides among equals, each order as often.
        ranked = sorted(order, key=lambda i: -scores[i])
        ranks.append(1 + next(place for place, i in enumerate(ranked) if relevant[i]))
    assert first_relevant_rank(ranking_of(scores, relevant))[0] == pytest.approx(np.mean(ranks))


@pytest.fixture
def two_runs():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 8))
    noisy = [X + level * rng.normal(size=X.shape) for level in (1.0, 1.5)]
    return [evaluate(VectorScorer(), X, Y) for Y in noisy]


def test_differences_are_those_of_the_values(two_runs):
    good, poor = two_runs
    assert set(paired_differences(good, poor, "MRR").direction) == {"x2y"}
    found = paired_differences(good, poor, "MRR", good.directions)
    won, _, lost = found.counts
    assert len(found) == sum(found.counts) == 80 and won > lost > 0
    assert found.mean() == pytest.approx(good.value("MRR", "mean") - poor.value("MRR", "mean"))
    back = found.direction == "y2x"
    np.testing.assert_array_equal(found.query[back], np.arange(40))
    np.testing.assert_array_equal(found.a[back], good.per_query("MRR", "y2x"))
    swapped = paired_differences(poor, good, "MRR", good.directions)
    assert swapped.counts == found.counts[::-1]
    np.testing.assert_array_equal(swapped.difference, -found.difference)


def test_lower_is_better_where_the_metric_says_so(two_runs):
    loss = paired_differences(*two_runs, "rank loss (by query)")
    auc = paired_differences(*two_runs, "AUC (by query)")
    np.testing.assert_allclose(loss.difference, auc.difference, atol=1e-12)
    assert loss.a.mean() < loss.b.mean()
    assert loss.counts[0] == auc.counts[0] > 0


def test_order_puts_big_movers_first_and_level_ones_by_their_ranks():
    found = Differences(
        metric=MRR(),
        direction=np.array(["x2y"] * 4),
        query=np.arange(4),
        a=np.array([0.1, 0.5, 0.1, 0.1]),
        b=np.array([0.1, 1.0, 0.1 + 1e-15, 0.4]),
        a_rank=np.array([9.0, 2.0, 10.0, 9.0]),
        b_rank=np.array([9.0, 1.0, 12.0, 3.0]),
    )
    assert found.order().tolist() == [1, 3, 2, 0]
    assert found.outcome.tolist() == [0, -1, 0, -1], "the last bits decide nothing"


def test_queries_without_a_relevant_candidate_do_not_count():
    one = evaluate(VectorScorer(), np.eye(2), np.eye(2), sp.csr_array([[1.0, 0], [0, 0]]))
    assert len(paired_differences(one, one, "MRR", ["x2y"])) == 1
    judged = Relevance(sp.csr_array([[-1.0, -1.0]]), "ignore")
    nothing = evaluate(VectorScorer(), np.eye(1), np.ones((2, 1)), judged, metrics=["MRR"])
    found = paired_differences(nothing, nothing, "MRR")
    assert len(found) == 0 and np.isnan(found.mean())
    ranking = Ranking([0, 0, 1], [2], [-1.0], [0], [1], [3, 1])
    assert np.isnan(first_relevant_rank(ranking)).all()


def test_what_does_not_belong_together_is_refused(two_runs):
    other = evaluate(VectorScorer(), np.eye(40), np.eye(40)[::-1], sp.eye_array(40).tocsr()[::-1])
    answers = Answers.from_scores([1.0, 2.0])
    for ask, words in (
        (lambda: paired_differences(two_runs[0], other, "MRR"), "measured on one test part"),
        (lambda: paired_differences(*two_runs, "AUC"), "pools the pairs"),
        (
            lambda: answers.moved_from(Answers.from_scores([1, 2], pool=[1])),
            "different candidates",
        ),
        (lambda: shared_terms([0.1, 0.2], ["a"]), "one of each a query"),
    ):
        with pytest.raises(ValueError, match=words):
            ask()


def test_every_metric_has_one_for_single_queries():
    assert [query_metric(name).name for name in ("NDCG@3", "AUC", "rank loss", "Spearman")] == [
        "NDCG@3 (exponential gain)", "AUC (by query)", "rank loss (by query)", "MRR",
    ]  # fmt: skip


def test_hardest_are_those_whose_first_right_answer_stands_lowest():
    scores = np.array([[3, 2, 1], [3, 2, 1], [3, 2, 1], [1, 1, 1.0], [3, 2, 1]])
    relevant = sp.csr_array([[0, 0, 1.0], [1, 0, 0], [0, 1, 1], [1, 0, 0], [0, 0, 0]])
    above, tied, _ = rank_block(scores, relevant.indptr, relevant.indices)
    ranking = Ranking(relevant.indptr, relevant.indices, relevant.data, above, tied, [3] * 5)
    assert hardest_queries(ranking, 1) == [(0, 3.0)]
    # Neither what is right nor what cannot be.
    assert (
        hardest_queries(ranking) == hardest_queries(ranking, 9) == [(0, 3.0), (2, 2.0), (3, 2.0)]
    )


scores = st.lists(st.integers(0, 4), min_size=1, max_size=12)


@settings(max_examples=80)
@given(scores)
def test_places_are_those_of_counting(given_scores):
    found = Answers.from_scores(given_scores)
    assert sorted(found.candidate.tolist()) == list(range(len(given_scores)))
    for i, candidate in enumerate(found.candidate):
        score = given_scores[candidate]
        assert found.score[i] == score
        assert found.first[i] == 1 + sum(s > score for s in given_scores)
        assert found.last[i] == sum(s >= score for s in given_scores)
    assert (np.diff(found.score) <= 0).all()


def test_only_the_pool_competes():
    found = Answers.from_scores([0.9, 0.1, 0.5, 0.7], pool=[1, 2])
    assert found.candidate.tolist() == [2, 1]
    assert found.first.tolist() == [1, 2]
    other = Answers.from_scores([0.1, 0.7, 0.5, 0.7], pool=[1, 2])
    assert found.moved_from(other).tolist() == [1, -1]


def test_ties_across_the_last_place_are_not_listed_by_chance():
    found = Answers.from_scores([1.0, 0.5, 0.5, 0.5, 0.0])
    assert found.shown(3).tolist() == [0]
    assert found.shown(4).tolist() == [0, 1, 2, 3]
    assert found.candidate[found.shown(3, always=[2])].tolist() == [0, 2]


def test_planted_words_are_found_on_their_sides():
    rng = np.random.default_rng(0)
    filler = ["the", "of", "sun", "moon", "tree", "stone"]
    texts = [" ".join(rng.choice(filler, 2, replace=False)) for _ in range(300)]
    texts[::10] = [f"{text} Flag" for text in texts[::10]]
    texts[5::10] = [f"{text} clock" for text in texts[5::10]]
    d = 0.1 * rng.normal(size=300)
    d[::10] += 0.6
    d[5::10] -= 0.6
    gains, losses = shared_terms(d, texts)
    assert (gains[0].term, losses[0].term) == ("flag", "clock")
    assert gains[0].queries.tolist() == list(range(0, 300, 10))
    assert gains[0].difference == pytest.approx(np.mean(d[::10]))
    for groups, sign in ((gains, 1), (losses, -1)):
        assert all(sign * group.difference > 0 and sign * group.z > 0 for group in groups)


def test_words_that_go_together_are_one_group_and_rare_or_level_ones_none():
    texts = ["new york"] * 10 + ["new"] + ["elsewhere"] * 20
    gains, _ = shared_terms([1.0] * 11 + [0.0] * 20, texts)
    assert [group.term for group in gains] == ["new"]
    assert shared_terms([1, 0, 0, -1], ["all a", "all b", "all c", "all d"], least=2) == ([], [])
    assert shared_terms([0, 0, 0, 0], ["x y"] * 4, least=1) == ([], [])
    assert shared_terms([], []) == ([], [])
