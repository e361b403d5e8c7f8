"""Corrections for many comparisons, and letters of what cannot be told apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from simviz.evaluation import adjust_p_values, compare_all, letter_display, paired_t, tie_groups

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def differing(n, pairs):
    """P-values of n runs of which some pairs differ."""
    p = np.ones((n, n))
    for i, j in pairs:
        p[i, j] = p[j, i] = 0.001
    return p


def test_holm_by_hand():
    # Holm 1979: .005 x 4, .01 x 3, .03 x 2, .04 x 1, never falling.
    assert adjust_p_values([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx(
        [0.03, 0.06, 0.06, 0.02]
    )
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
    np.testing.assert_allclose(
        [one.p_value for one in found.pairs.values()], adjust_p_values(plain)
    )
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
