"""How many queries would tell two runs apart."""

from __future__ import annotations

import numpy as np
import pytest

from simviz.evaluation import paired_randomization, paired_t, power_analysis
from simviz.evaluation.comparisons import sample_size


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


def runs(effect, n, seed=0):
    d = np.random.default_rng(seed).normal(size=n)
    d = (d - d.mean()) / d.std(ddof=1)
    return 0.5 + 0.1 * (d + effect), np.full(n, 0.5)


def test_so_many_queries_find_the_difference_as_often_as_promised():
    needed = power_analysis(*runs(0.3, 20)).needed
    rng = np.random.default_rng(1)
    found = [
        paired_t(rng.normal(0.3, 1, needed), np.zeros(needed)).is_significant()
        for _ in range(1000)
    ]
    assert 0.77 <= np.mean(found) <= 0.83


def test_words_say_how_many_more():
    plan = power_analysis(*runs(0.1, 242))
    assert not plan.separated
    assert plan.needed == 787
    assert plan.more == 545
    assert plan.describe("S2Net", "OPCA") == (
        "about 550 more queries would separate S2Net from OPCA with a probability of 80 %, if "
        "they differ as much as they seem to"
    )


def test_what_is_separated_needs_no_more():
    plan = power_analysis(*runs(0.5, 100))
    assert plan.separated
    assert plan.more == 0
    assert plan.describe("A", "B") == "100 queries tell A and B apart already"


@pytest.mark.parametrize(
    "pair", [runs(0.02, 50), runs(0.0, 50), ([0.5, 0.4],) * 2, ([0.5], [0.1])]
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
