"""Many comparisons: corrections, letters, values to test, and queries that are needed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from simviz.evaluation import (
    VectorScorer,
    adjust_p_values,
    apply_correction,
    compare_all,
    confidence_interval,
    evaluate,
    letter_display,
    paired_randomization,
    paired_t,
    power_analysis,
    query_values,
    tie_groups,
)
from simviz.evaluation.comparisons import published_protocol, sample_size
from simviz.evaluation.metrics import RankLoss
from simviz.relevance import Relevance


def differing(n, pairs):
    """P-values of n runs of which some pairs differ."""
    p = np.ones((n, n))
    for i, j in pairs:
        p[i, j] = p[j, i] = 0.001
    return p


def test_holm_by_hand():
    # Holm 1979: .005 x 4, .01 x 3, .03 x 2, .04 x 1, never falling; what is missing stays out.
    corrected = adjust_p_values([0.01, 0.04, 0.03, 0.005, np.nan])
    np.testing.assert_allclose(corrected, [0.03, 0.06, 0.06, 0.02, np.nan])
    assert adjust_p_values([0.5, 0.6], "bonferroni").tolist() == [1.0, 1.0]
    assert adjust_p_values([0.5, 0.6], "none").tolist() == [0.5, 0.6]
    assert adjust_p_values([]).tolist() == []


@pytest.mark.parametrize(
    ("n", "pairs", "expected"),
    [
        (1, [], ["a"]),
        (3, [], ["a", "a", "a"]),
        (3, [(0, 1), (0, 2), (1, 2)], ["a", "b", "c"]),
        (3, [(0, 2)], ["a", "ab", "b"]),
        # A chain: neighbours cannot be told apart, all others can.
        (4, [(0, 2), (0, 3), (1, 3)], ["a", "ab", "bc", "c"]),
        # Not in line: 0 and 1 differ, 2 and 3 differ, across nobody does.
        (4, [(0, 1), (2, 3)], ["ab", "cd", "ac", "bd"]),
        # A star: one differs from all others.
        (4, [(0, 1), (0, 2), (0, 3)], ["a", "b", "b", "b"]),
    ],
)
def test_letters_of_known_cases(n, pairs, expected):
    assert letter_display(tie_groups(differing(n, pairs))) == expected


def test_many_groups_have_letters_too():
    marks = letter_display([(i,) for i in range(60)])
    assert [marks[i] for i in (0, 25, 26, 51, 52, 53)] == ["a", "z", "A", "Z", "a1", "b1"]
    assert tie_groups(np.full((2, 2), np.nan)) == [(0, 1)]
    assert tie_groups(np.ones((0, 0))) == []


@settings(max_examples=80)
@given(st.integers(2, 7).flatmap(lambda n: st.tuples(
    st.just(n), st.sets(st.sampled_from(list(itertools.combinations(range(n), 2))))
)))  # fmt: skip
def test_sharing_a_letter_is_the_same_as_not_differing(case):
    n, pairs = case
    groups = tie_groups(differing(n, pairs))
    marks = letter_display(groups)
    for i, j in itertools.combinations(range(n), 2):
        assert bool(set(marks[i]) & set(marks[j])) == ((i, j) not in pairs)
    for one, other in itertools.permutations(groups, 2):
        assert not set(one) <= set(other), "no letter says what another says already"
    # Each group is as large as it can be.
    for group in groups:
        for run in set(range(n)) - set(group):
            assert any(tuple(sorted((run, member))) in pairs for member in group)


@pytest.fixture
def runs():
    rng = np.random.default_rng(0)
    base = rng.random(150)
    near = base + 0.05 * rng.normal(size=150)
    return {"low": base - 0.2, "near": near, "base": base, "high": base + 0.3 * rng.random(150)}


def test_all_pairs_are_corrected_together(runs):
    found = compare_all(runs, "t")
    plain = [paired_t(runs[a], runs[b]).p_value for a, b in itertools.combinations(runs, 2)]
    corrected = [one.p_value for one in found.pairs.values()]
    np.testing.assert_allclose(corrected, adjust_p_values(plain))
    assert found.letters() == {"high": "a", "base": "b", "near": "b", "low": "c"}
    assert [found.names[i] for i in found.order()][0::3] == ["high", "low"]
    np.testing.assert_array_equal(found.p_values, found.p_values.T)
    there = found.between("near", "base")
    assert there == found.between("base", "near").swapped()
    assert "(Holm, 6 comparisons)" in there.describe("near", "base")
    loss = {name: 1 - values for name, values in runs.items()}
    assert compare_all(loss, "t", higher_is_better=False).letters() == found.letters()
    # Correcting later is the same; one comparison needs no correction.
    assert apply_correction(compare_all(runs, "t", correction="none").pairs) == found.pairs
    two = {name: runs[name] for name in ("base", "near")}
    alone = compare_all(two, "t").pairs
    assert alone == apply_correction(alone) == {(0, 1): paired_t(*two.values())}


def test_a_baseline_needs_fewer_comparisons(runs):
    found = compare_all(runs, "t", baseline="base", correction="bonferroni")
    assert len(found.pairs) == 3
    plain, corrected = paired_t(runs["high"], runs["base"]), found.between("high", "base")
    assert corrected.p_value == pytest.approx(min(1, 3 * plain.p_value))
    assert corrected.correction == "Bonferroni, 3 comparisons"
    assert corrected.difference > 0
    with pytest.raises(ValueError, match="were not compared"):
        found.between("high", "low")
    with pytest.raises(ValueError, match="Leave out baseline"):
        found.letters()


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: adjust_p_values([0.2, 1.2]), "between 0 and 1"),
        (lambda: adjust_p_values([0.2], "sidak"), "correction must be"),
        (lambda: tie_groups([[1, 0.5], [0.4, 1]]), "symmetric"),
        (lambda: tie_groups(np.ones((2, 2)), order=[0, 0]), "each of the 2 runs once"),
        (lambda: compare_all({"base": [0.1, 0.2]}), "two runs or more"),
        (lambda: compare_all({"a": [0.1], "b": [0.2]}, baseline="BM25"), "baseline 'BM25'"),
        (lambda: power_analysis([0.1, 0.2], [0.2, 0.1], power=80), "power must lie"),
    ],
)
def test_what_cannot_be_compared_is_refused(ask, words):
    with pytest.raises(ValueError, match=words):
        ask()


def noisy(n):
    Z, noise = np.random.default_rng(0).normal(size=(2, n, 8))
    return Z, Z + noise


@pytest.mark.parametrize("metric", ["MRR", "top-1", "NDCG@3", "AUC (by query)"])
def test_an_aligned_pair_has_one_value_and_their_mean_is_the_metric(metric):
    found = evaluate(VectorScorer(), *noisy(30))
    values = query_values(found, metric, found.directions)
    assert (values.unit, values.is_independent, len(values.values)) == ("pair", True, 30)
    assert values.values.mean() == pytest.approx(found.value(metric, "mean"))


def test_pairs_are_found_where_sides_are_in_another_order():
    Z, W = noisy(20)
    order = np.random.default_rng(1).permutation(20)
    straight = evaluate(VectorScorer(), Z, W)
    judged = Relevance.from_pairs(order, np.arange(20), shape=(20, 20))
    shuffled = evaluate(VectorScorer(), Z, W[order], judged)
    one, two = (query_values(run, "MRR", ["x2y", "y2x"]) for run in (straight, shuffled))
    np.testing.assert_allclose(one.values, two.values)


def test_queries_of_unequal_sides_stand_side_by_side():
    Z, W = noisy(24)
    # Three queries an answer.
    judged = Relevance.from_pairs(np.arange(24), np.arange(24) // 3, shape=(24, 8))
    found = evaluate(VectorScorer(), Z, W[:8], judged)
    values = query_values(found, "MRR", ["x2y", "y2x"])
    assert (values.unit, values.is_independent, len(values.values)) == ("query", False, 32)
    assert np.nanmean(values.values) == pytest.approx(found.value("MRR", "mean"))


@pytest.mark.parametrize("directions", [("x2y", "y2x"), ("y2x", "x2y")])
def test_one_direction_gives_its_queries_and_the_interval_of_their_mean(directions):
    # Few answers: the sides are told apart by far.
    X, Y = np.split(np.random.default_rng(0).normal(size=(69, 8)), [60])
    judged = Relevance.from_pairs(np.arange(60), np.arange(60) % 9, shape=(60, 9))
    found = evaluate(VectorScorer(), X, Y, judged, directions=directions)
    values = query_values(found, "MRR")
    assert (values.unit, values.is_independent) == ("query", True)
    np.testing.assert_array_equal(values.values, found.per_query("MRR", directions[0]))
    low, high = confidence_interval(values.values)
    assert low < found.value("MRR") == np.mean(values.values) < high
    assert found.n_queries() == len(values.values)
    assert found.value("MRR", "mean") != found.value("MRR")


def test_pairs_of_which_one_side_cannot_fail_are_queries_of_both_sides():
    # The first pair can fail from the x side only: its y item has no other candidate.
    matrix = np.array([[1.0, -1, 0], [0, 1, -1], [0, 0, 1]])
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 3, 5))
    found = evaluate(VectorScorer(), X, Y, matrix)
    told = query_values(found, "MRR", ["x2y", "y2x"])
    assert (told.unit, told.is_independent) == ("query", False)
    assert np.nanmean(told.values) == pytest.approx(found.value("MRR", "mean"))


@pytest.mark.parametrize(
    ("effect", "power", "expected"),
    [(0.2, 0.8, 199), (0.5, 0.8, 34), (0.8, 0.8, 15), (0.5, 0.95, 54), (0.5, 0.9, 44)],
)
def test_sample_sizes_of_cohens_tables(effect, power, expected):
    assert sample_size(effect, power, 0.05) == expected


def test_small_effects_take_the_normal_distribution():
    at_the_seam = [sample_size(effect, 0.8, 0.05) for effect in (0.02801, 0.02802)]
    assert at_the_seam[0] == pytest.approx(at_the_seam[1], rel=2e-3)
    assert sample_size(0.001, 0.8, 0.05) == pytest.approx(7.849e6, rel=1e-3)


def apart(effect, n, seed=0):
    d = np.random.default_rng(seed).normal(size=n)
    d = (d - d.mean()) / d.std(ddof=1)
    return 0.5 + 0.1 * (d + effect), np.full(n, 0.5)


def test_words_say_how_many_more():
    plan = power_analysis(*apart(0.1, 242))
    assert (plan.separated, plan.needed, plan.more) == (False, 787, 545)
    assert plan.describe("S2Net", "OPCA") == (
        "about 550 more queries would separate S2Net from OPCA with a probability of 80 %, if "
        "they differ as much as they seem to"
    )
    plan = power_analysis(*apart(0.5, 100))
    assert (plan.separated, plan.more) == (True, 0)
    assert plan.describe("A", "B") == "100 queries tell A and B apart already"


@pytest.mark.parametrize(
    "pair", [apart(0.02, 50), apart(0.0, 50), ([0.5, 0.4],) * 2, ([0.5], [0.1])]
)
def test_next_to_no_difference_gives_no_number(pair):
    plan = power_analysis(*pair)
    assert (plan.needed, plan.more) == (None, None)
    assert "too close" in plan.describe("A", "B")


def test_a_constant_difference_needs_what_the_test_needs_at_least():
    plan = power_analysis([0.5, 0.6, 0.7], [0.4, 0.5, 0.6])
    assert (plan.needed, plan.more) == (6, 3)
    six = [0.5, 0.6, 0.7] * 2
    assert paired_randomization(six, np.array(six) - 0.1).p_value == 2 / 2**6
    assert paired_randomization(six[:5], np.array(six[:5]) - 0.1).p_value > 0.05


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 3])
@pytest.mark.parametrize("n", [2, 5, 9, 60])
def test_no_sentence_contradicts_the_verdict(n, alpha):
    rng, told = np.random.default_rng(n), set()
    for _ in range(30):
        a = rng.normal(0.6, 1, n)
        plan = power_analysis(a, np.zeros(n), alpha=alpha)
        found = paired_randomization(a, np.zeros(n))
        assert plan.separated == found.is_significant(alpha)
        assert plan.separated == ("apart already" in plan.describe("a", "b"))
        told.add(plan.separated)
    assert (True in told) == (n > 5)


def test_each_metric_has_the_test_that_was_used():
    for metrics, test, correction in (
        (["top-1", "MRR"], "unpaired t", "bonferroni"),
        (["AUC", RankLoss()], "subsets", "none"),
        (["AUC (by query)", "NDCG@3", "MAP"], "t", "none"),
    ):
        for found in map(published_protocol, metrics):
            assert (found.test, found.correction) == (test, correction)
            assert found.caution.endswith(".")
