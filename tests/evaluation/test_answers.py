"""Answers to one query stand in their order, with ties kept together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from simviz.evaluation.differences import Answers

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


@settings(max_examples=80)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12))
def test_moves_cancel_out_and_turn_round(given_scores):
    here, there = (Answers.from_scores([s[side] for s in given_scores]) for side in (0, 1))
    moved = here.moved_from(there)
    assert moved.sum() == pytest.approx(0)
    back = dict(zip(there.candidate.tolist(), there.moved_from(here).tolist(), strict=True))
    assert [-back[c] for c in here.candidate.tolist()] == moved.tolist()


def test_only_the_pool_competes():
    found = Answers.from_scores([0.9, 0.1, 0.5, 0.7], pool=[1, 2])
    assert found.candidate.tolist() == [2, 1]
    assert found.first.tolist() == [1, 2]


def test_ties_across_the_last_place_are_not_listed_by_chance():
    found = Answers.from_scores([1.0, 0.5, 0.5, 0.5, 0.0])
    assert found.shown(3).tolist() == [0]
    assert found.shown(4).tolist() == [0, 1, 2, 3]
    assert found.candidate[found.shown(3, always=[2])].tolist() == [0, 2]


def test_answers_about_other_candidates_are_refused():
    with pytest.raises(ValueError, match="different candidates"):
        Answers.from_scores([1.0, 2.0]).moved_from(Answers.from_scores([1.0, 2.0], pool=[1]))
