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
from simviz.evaluation.significance import TESTS
from simviz.relevance import Relevance

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def differing(n, pairs):
    """P-values of n runs of which some pairs differ."""
    p = np.ones((n, n))
    for i, j in pairs:
        p[i, j] = p[j, i] = 0.001
    return p


def test_holm_by_hand():
    # Holm 1979: .005 x 4, .01 x 3, .03 x 2, .04 x 1, never falling.
    corrected = adjust_p_values([0.01, 0.04, 0.03, 0.005]).tolist()
    assert corrected == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjust_p_values([0.5, 0.6], "bonferroni").tolist() == [1.0, 1.0]
    assert adjust_p_values([0.5, 0.6], "none").tolist() == [0.5, 0.6]
    assert adjust_p_values([]).tolist() == []


def test_missing_p_values_stay_and_do_not_count():
    np.testing.assert_allclose(adjust_p_values([0.01, np.nan, 0.02]), [0.02, np.nan, 0.02])


def test_corrections_that_mean_nothing_are_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjust_p_values([0.2, 1.2])
    with pytest.raises(ValueError, match="correction must be"):
        adjust_p_values([0.2], "sidak")


@given(P_VALUES)
def test_holm_lies_between_the_plain_values_and_bonferroni(p):
    holm, bonferroni = adjust_p_values(p), adjust_p_values(p, "bonferroni")
    assert (holm >= np.array(p)).all()
    assert (holm <= bonferroni).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(holm[order]) >= 0).all()


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


def test_letters_begin_with_the_best():
    p = differing(3, [(0, 1), (0, 2), (1, 2)])
    assert letter_display(tie_groups(p, order=[2, 0, 1])) == ["b", "c", "a"]


def test_many_groups_have_letters_too():
    marks = letter_display([(i,) for i in range(60)])
    assert marks[:2] == ["a", "b"]
    assert marks[25:28] == ["z", "A", "B"]
    assert marks[51:54] == ["Z", "a1", "b1"]


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


def test_tables_that_are_none_are_refused():
    with pytest.raises(ValueError, match="symmetric"):
        tie_groups([[1, 0.5], [0.4, 1]])
    with pytest.raises(ValueError, match="each of the 2 runs once"):
        tie_groups(np.ones((2, 2)), order=[0, 0])
    assert tie_groups(np.full((2, 2), np.nan)) == [(0, 1)]
    assert tie_groups(np.ones((0, 0))) == []


@pytest.fixture
def runs():
    rng = np.random.default_rng(0)
    base = rng.random(150)
    near = base + 0.05 * rng.normal(size=150)
    return {"low": base - 0.2, "near": near, "base": base, "high": base + 0.3 * rng.random(150)}


def test_all_pairs_are_corrected_together(runs):
    found = compare_all(runs, "t")
    assert len(found.pairs) == 6
    plain = [paired_t(runs[a], runs[b]).p_value for a, b in itertools.combinations(runs, 2)]
    corrected = [one.p_value for one in found.pairs.values()]
    np.testing.assert_allclose(corrected, adjust_p_values(plain))
    assert found.letters() == {"high": "a", "base": "b", "near": "b", "low": "c"}
    assert [found.names[i] for i in found.order()][0::3] == ["high", "low"]
    np.testing.assert_array_equal(found.p_values, found.p_values.T)
    there, back = found.between("near", "base"), found.between("base", "near")
    assert there == back.swapped()
    assert "p = " in there.describe("near", "base")
    assert "(Holm, 6 comparisons)" in there.describe("near", "base")


def test_a_baseline_needs_fewer_comparisons(runs):
    found = compare_all(runs, "t", baseline="base", correction="bonferroni")
    assert len(found.pairs) == 3
    plain = paired_t(runs["high"], runs["base"])
    corrected = found.between("high", "base")
    assert corrected.p_value == pytest.approx(min(1, 3 * plain.p_value))
    assert corrected.correction == "Bonferroni, 3 comparisons"
    assert corrected.difference > 0
    with pytest.raises(ValueError, match="were not compared"):
        found.between("high", "low")
    with pytest.raises(ValueError, match="Leave out baseline"):
        found.letters()


def test_lower_may_be_better(runs):
    loss = {name: 1 - values for name, values in runs.items()}
    found = compare_all(loss, "t", higher_is_better=False)
    assert found.letters() == compare_all(runs, "t").letters()


def test_one_pair_needs_no_correction(runs):
    found = compare_all({name: runs[name] for name in ("base", "near")}, "t")
    assert found.between("base", "near") == paired_t(runs["base"], runs["near"])


def test_comparing_needs_two_runs(runs):
    with pytest.raises(ValueError, match="two runs or more"):
        compare_all({"base": runs["base"]})
    with pytest.raises(ValueError, match="baseline 'BM25'"):
        compare_all(runs, baseline="BM25")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def noisy(rng, n, spread=1.0):
    Z = rng.normal(size=(n, 8))
    return Z, Z + spread * rng.normal(size=Z.shape)


@pytest.mark.parametrize("metric", ["MRR", "top-1", "NDCG@3", "AUC (by query)"])
def test_an_aligned_pair_has_one_value_and_their_mean_is_the_metric(rng, metric):
    found = evaluate(VectorScorer(), *noisy(rng, 30))
    values = query_values(found, metric, found.directions)
    assert values.unit == "pair"
    assert values.is_independent
    assert values.values.shape == (30,)
    assert values.values.mean() == pytest.approx(found.value(metric, "mean"))


def test_pairs_are_found_where_sides_are_in_another_order(rng):
    Z, W = noisy(rng, 20)
    order = rng.permutation(20)
    straight = evaluate(VectorScorer(), Z, W)
    judged = Relevance.from_pairs(order, np.arange(20), shape=(20, 20))
    shuffled = evaluate(VectorScorer(), Z, W[order], judged)
    one, two = (query_values(run, "MRR", ["x2y", "y2x"]) for run in (straight, shuffled))
    np.testing.assert_allclose(one.values, two.values)


def test_queries_of_unequal_sides_stand_side_by_side(rng):
    Z, W = noisy(rng, 24)
    # Three queries an answer.
    judged = Relevance.from_pairs(np.arange(24), np.arange(24) // 3, shape=(24, 8))
    found = evaluate(VectorScorer(), Z, W[:8], judged)
    values = query_values(found, "MRR", ["x2y", "y2x"])
    assert (values.unit, values.is_independent) == ("query", False)
    assert values.values.shape == (32,)
    assert np.nanmean(values.values) == pytest.approx(found.value("MRR", "mean"))


def test_one_direction_gives_its_queries(rng):
    found = evaluate(VectorScorer(), *noisy(rng, 12))
    values = query_values(found, "MRR", ["y2x"])
    assert (values.unit, values.is_independent) == ("query", True)
    np.testing.assert_array_equal(values.values, found.per_query("MRR", "y2x"))


def test_an_interval_holds_the_mean_it_belongs_to(rng):
    X, Y = rng.normal(size=(60, 8)), rng.normal(size=(9, 8))
    owner = np.arange(60) % 9  # few answers: the sides are told apart by far
    for directions in (("x2y", "y2x"), ("y2x", "x2y")):
        judged = Relevance.from_pairs(np.arange(60), owner, shape=(60, 9))
        found = evaluate(VectorScorer(), X, Y, judged, directions=directions)
        values = query_values(found, "MRR")
        low, high = confidence_interval(values.values)
        assert low < found.value("MRR") < high
        assert found.value("MRR") == found.value("MRR", directions[0]) == np.mean(values.values)
        np.testing.assert_array_equal(values.values, found.per_query("MRR"))
        assert found.n_queries() == len(values.values)
        [record] = [r for r in found.to_records(["MRR"]) if r["direction"] == "mean"]
        assert found.value("MRR", "mean") == record["value"] != found.value("MRR")


def test_what_pools_pairs_has_a_stand_in(rng):
    found = evaluate(VectorScorer(), *noisy(rng, 12))
    assert query_values(found, "AUC").metric.name == "AUC (by query)"


def test_correcting_later_is_correcting_at_once(rng):
    runs = {
        name: rng.random(40) + shift
        for name, shift in zip("abcd", (0, 0.1, 0.1, 0.4), strict=True)
    }
    at_once = compare_all(runs, "t").pairs
    later = apply_correction(compare_all(runs, "t", correction="none").pairs)
    assert later == at_once
    alone = paired_t(runs["a"], runs["b"])
    assert apply_correction({(0, 1): alone}) == {(0, 1): alone}, "one needs no correction"


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


def test_so_many_queries_find_the_difference_as_often_as_promised():
    needed = power_analysis(*apart(0.3, 20)).needed
    rng = np.random.default_rng(1)
    drawn = rng.normal(0.3, 1, (1000, needed))
    found = [paired_t(d, np.zeros(needed)).is_significant() for d in drawn]
    assert 0.77 <= np.mean(found) <= 0.83


def test_words_say_how_many_more():
    plan = power_analysis(*apart(0.1, 242))
    assert not plan.separated
    assert plan.needed == 787
    assert plan.more == 545
    assert plan.describe("S2Net", "OPCA") == (
        "about 550 more queries would separate S2Net from OPCA with a probability of 80 %, if "
        "they differ as much as they seem to"
    )


def test_what_is_separated_needs_no_more():
    plan = power_analysis(*apart(0.5, 100))
    assert plan.separated
    assert plan.more == 0
    assert plan.describe("A", "B") == "100 queries tell A and B apart already"


@pytest.mark.parametrize(
    "pair", [apart(0.02, 50), apart(0.0, 50), ([0.5, 0.4],) * 2, ([0.5], [0.1])]
)
def test_next_to_no_difference_gives_no_number(pair):
    plan = power_analysis(*pair)
    assert plan.needed is None
    assert plan.more is None
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


def test_shares_out_of_range_are_refused():
    with pytest.raises(ValueError, match="power must lie"):
        power_analysis([0.1, 0.2], [0.2, 0.1], power=80)


@pytest.mark.parametrize(
    ("metric", "test", "correction"),
    [
        ("top-1", "unpaired t", "bonferroni"),
        ("MRR", "unpaired t", "bonferroni"),
        ("AUC", "subsets", "none"),
        (RankLoss(), "subsets", "none"),
        ("AUC (by query)", "t", "none"),
        ("NDCG@3", "t", "none"),
        ("MAP", "t", "none"),
    ],
)
def test_each_metric_has_the_test_that_was_used(metric, test, correction):
    found = published_protocol(metric)
    assert (found.test, found.correction) == (test, correction)
    assert found.test in {*TESTS, "subsets"}
    assert found.caution.endswith(".")
