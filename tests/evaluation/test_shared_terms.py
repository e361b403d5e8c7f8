"""Words that describe where one of two runs gains."""

from __future__ import annotations

import numpy as np
import pytest

from simviz.evaluation.differences import shared_terms


def test_planted_words_are_found_on_their_sides():
    rng = np.random.default_rng(0)
    filler = ["the", "of", "sun", "moon", "tree", "stone"]
    texts, d = [], []
    for i in range(300):
        words = list(rng.choice(filler, 2, replace=False))
        good, poor = i % 10 == 0, i % 10 == 5
        texts.append(" ".join(words + ["Flag"] * good + ["clock"] * poor))
        d.append(0.6 * good - 0.6 * poor + 0.1 * rng.normal())
    gains, losses = shared_terms(d, texts)
    assert (gains[0].term, losses[0].term) == ("flag", "clock")
    assert gains[0].queries.tolist() == list(range(0, 300, 10))
    assert gains[0].difference == pytest.approx(np.mean(d[::10]))
    assert all(group.difference > 0 and group.z > 0 for group in gains)
    assert all(group.difference < 0 and group.z < 0 for group in losses)


def test_words_that_go_together_are_one_group():
    texts = ["new york"] * 10 + ["new"] + ["elsewhere"] * 20
    gains, _ = shared_terms([1.0] * 11 + [0.0] * 20, texts)
    assert [group.term for group in gains] == ["new"]


def test_rare_words_words_of_all_and_level_runs_say_nothing():
    texts = ["all a", "all b", "all c", "all d"]
    assert shared_terms([1, 0, 0, -1], texts, least=2) == ([], [])
    assert shared_terms([0, 0, 0, 0], ["x y"] * 4, least=1) == ([], [])
    assert shared_terms([], []) == ([], [])


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="one of each a query"):
        shared_terms([0.1, 0.2], ["a"])
