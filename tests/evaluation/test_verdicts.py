"""The verdict: who is compared, how it is corrected, and what is never said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simviz.evaluation import VectorScorer, Verdict, compare_all, evaluate, paired_t, verdict

Z, NOISE = np.random.default_rng(0).normal(size=(2, 60, 8))


def runs(**noise):
    """Evaluations of vectors that are found again through so much noise."""
    return {name: evaluate(VectorScorer(), Z, Z + k * NOISE) for name, k in noise.items()}


def test_the_best_is_compared_with_the_next_and_the_baseline_alone():
    found = verdict(runs(best=1, next=1.2, third=1.4, base=3), "MRR", baseline="base")
    assert list(found.against) == ["next", "base"] and found.metric == "MRR"
    assert {one.correction for one in found.against.values()} == {"Holm, 2 comparisons"}
    others = verdict(runs(best=1, next=1.2, base=3), "MRR", baseline="base")
    assert others.against == found.against, "who else was there changes nothing"
    words = str(found)
    assert words.endswith(" Paired randomisation, Holm, 2 comparisons, 60 queries.")
    assert words.count("best") == 2 and words.count("p = ") + words.count("p < ") == 2
    assert words.count("MRR +") == 2


def test_a_best_that_was_chosen_by_these_figures_answers_for_all_pairs():
    given = runs(best=1, next=1.2, third=1.4, base=3)
    found = verdict(given, "MRR", baseline="base", is_chosen_here=True)
    assert list(found.against) == ["next", "base"]
    assert {one.correction for one in found.against.values()} == {"Holm, 6 comparisons"}
    elsewhere = verdict(given, "MRR", baseline="base")
    for rival, one in found.against.items():
        assert one.p_value >= elsewhere.against[rival].p_value


def test_a_baseline_that_comes_second_is_compared_once():
    found = verdict(runs(best=1, base=2, third=3), "MRR", baseline="base")
    assert list(found.against) == ["base"] and not found.against["base"].correction
    assert str(found) == found.against["base"].describe("best", "base", "MRR") + "."


@pytest.mark.parametrize(("low", "state"), [(0.01, "ahead"), (0.0, "level"), (-0.01, "level")])
def test_nobody_is_ahead_where_the_interval_holds_0(low, state):
    one = replace(paired_t([0.5, 0.6, 0.7], [0.1, 0.3, 0.2]), p_value=0.01, low=low)
    found = Verdict("A", {"B": one}, "MRR")
    assert (found.state, one.state(), one.is_significant()) == (state, state, state == "ahead")
    assert ("A is ahead of B" in str(found)) == (state == "ahead")
    assert ("A and B cannot be told apart" in str(found)) == (state == "level")


def test_the_state_is_that_of_the_first_it_is_not_ahead_of():
    rng = np.random.default_rng(1)
    a = rng.random(80)
    values = {"A": a, "level": a + 0.01 * rng.normal(size=80), "base": a - 0.3}
    found = Verdict.of(compare_all(values), list(values), "MRR", "base")
    assert found.state == "level" and found.against["base"].state() == "ahead"
    assert "A is ahead of base" in str(found) and "cannot be told apart" in str(found)
    back = Verdict.of(compare_all(values), ["base", "A"], "MRR")
    assert back.state == "behind" and str(back).startswith("A is ahead of base: MRR +0.3")
    loss = Verdict.of(compare_all(values, higher_is_better=False), ["base", "A"], "rank loss")
    assert loss.state == "ahead" and str(loss).startswith("base is ahead of A: rank loss −0.3")


def test_letters_follow_the_interval_too():
    found = compare_all({"A": [0.9, 0.8, 0.7, 0.9], "B": [0.5, 0.6, 0.6, 0.8]}, "t")
    touching = replace(found, pairs={(0, 1): replace(found.pairs[0, 1], p_value=0.01)})
    assert touching.pairs[0, 1].low < 0
    assert touching.letters() == {"A": "a", "B": "a"}


def test_too_few_values_are_undecided():
    found = Verdict.of(compare_all({"A": [0.5], "B": [0.1], "C": [0.0]}), list("ABC"), "MRR", "C")
    assert found.state == "undecided"
    assert str(found) == (
        "A and B cannot be compared on 1 query. A and C cannot be compared on 1 query."
    )


def test_without_p_the_state_and_the_interval_stay():
    found = verdict(runs(best=1, next=1.2, base=3), "MRR", baseline="base")
    words = found.describe(with_p=False)
    assert "p = " not in words and "p < " not in words and "Holm" not in words
    assert words.endswith(" 60 queries.") and words.count("[") == 2


def alone(**noise):
    """What the verdict says of vectors and the best that learned from them, "cca"."""
    return verdict(runs(**noise), "MRR", vectors=("cca", "cosine"))


def test_the_vectors_alone_do_as_well_where_the_adapter_is_not_ahead():
    level = alone(cca=1.5, cosine=1.5)
    assert str(level).endswith(" 60 queries. The vectors alone do as well.")
    assert "The vectors alone" not in str(alone(cca=1, cosine=3))
    better = alone(cosine=1, cca=3)
    assert str(better).startswith("cosine is ahead of cca")
    assert str(better).endswith(" The vectors alone do better.")
    assert better.adapted[2] == better.against["cca"].swapped()
    loss = replace(better, higher_is_better=False)
    assert "The vectors alone" not in str(loss), "a lower loss is an adapter that is ahead"
    few = replace(level, adapted=("cca", "cosine", paired_t([0.5], [0.5])))
    assert "The vectors alone" not in str(few)


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        ({"cca": 1.5, "cosine": 1.5}, "do as well (cca and cosine agree on every query by MRR"),
        ({"cca": 3, "cosine": 1.5}, "do better (cosine is ahead of cca: MRR +"),
    ],
)
def test_an_adapter_that_is_not_the_best_is_held_against_its_vectors_too(noise, words):
    given = {"words": 1.0, "both": 1.1, **noise}
    found = alone(**given)
    said = str(found).split(" The vectors alone ")[1]
    assert said.startswith(words) and ", p " in said
    assert "p " not in found.describe(with_p=False).split(" The vectors alone ")[1]
    plain = verdict(runs(**given), "MRR")
    assert found.against == plain.against, "what else is asked changes no p-value"
    assert str(found).startswith(str(plain))
