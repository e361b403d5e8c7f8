"""Repeated random divisions: each chooses on its own validation part and tests on its own test."""

from __future__ import annotations

import numpy as np
import pytest

from simviz.data import PairSet, split
from simviz.evaluation import (
    corrected_resampled_t,
    evaluate,
    evaluate_repeated_splits,
    parse_metric,
)
from simviz.exceptions import JobCancelled
from simviz.pipeline import default_pipeline

WORDS = "red blue green gold grey pink teal plum car bus tram ship boat cab van kite".split()


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(0)
    x = [" ".join(rng.choice(WORDS, 4)) for _ in range(80)]
    y = [f"{' '.join(rng.permutation(text.split())[:2])} {rng.choice(WORDS)}" for text in x]
    return PairSet.from_texts(x, [f"{text} {i}" for i, text in enumerate(y)])


@pytest.fixture(scope="module")
def candidates(pairs):
    sizes = [default_pipeline("lsa", pairs, n_components=k) for k in (2, 12)]
    return {"TF-IDF": [default_pipeline("tfidf_cosine", pairs)], "LSA": sizes}


@pytest.fixture(scope="module")
def found(pairs, candidates):
    return evaluate_repeated_splits(pairs, candidates, n=4, seed=3)


def test_values_are_those_of_training_and_testing_by_hand(pairs, candidates, found):
    for i in range(4):
        parts = split(pairs, "pair", (0.7, 0.1, 0.2), 3 + i)
        for j, settings in enumerate(candidates.values()):
            reached = []
            for setting in settings:
                if "model__random_state" in setting.get_params():
                    setting.set_params(model__random_state=3 + i)
                setting.fit(parts.train, parts.validation)
                on = [
                    evaluate(setting, p.x, p.y, p.relevance).value("MRR", "x2y")
                    for p in (parts.validation, parts.test)
                ]
                reached.append(on)
            best = int(np.argmax([on_validation for on_validation, _ in reached]))
            assert found.selected[i, j] == best
            assert found.values[i, j] == pytest.approx(reached[best][1])


def test_the_test_knows_that_training_parts_overlap(found):
    one = found.comparisons().between("TF-IDF", "LSA")
    a, b = found.values.T
    # A test part of 0.2 beside 0.7 trained on: the variance grows by 2/7, not by 2/8.
    expected = corrected_resampled_t(a, b, test_fraction=2 / 9)
    assert one.p_value == pytest.approx(expected.p_value)
    assert one.n == 4


def test_where_less_is_better_the_least_is_chosen(pairs, candidates):
    settings = {"LSA": candidates["LSA"]}
    least = evaluate_repeated_splits(pairs, settings, n=3, metric="rank loss", seed=3)
    assert parse_metric(least.metric).higher_is_better is False
    most = evaluate_repeated_splits(pairs, settings, n=3, metric="AUC (by query)", seed=3)
    assert np.array_equal(least.selected, most.selected)


def test_of_equally_good_settings_the_first_is_chosen(pairs, candidates):
    setting = candidates["LSA"][0]
    same = evaluate_repeated_splits(pairs, {"LSA": [setting, setting]}, n=3, seed=3)
    assert not same.selected.any()


def test_it_stops_when_asked(pairs, candidates):
    heard = []

    def callback(step, total, metrics):
        heard.append(step / total)
        return len(heard) > 2

    with pytest.raises(JobCancelled):
        evaluate_repeated_splits(pairs, candidates, n=3, callback=callback)
    assert heard == sorted(heard) and heard[-1] < 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n": 2}, "at least 3"),
        ({"by": "time"}, "nothing at random"),
        ({"candidates": {}}, "at least one method"),
        ({"candidates": {"LSA": []}}, "at least one method"),
    ],
)
def test_what_cannot_be_repeated_is_refused(pairs, candidates, changes, words):
    asked = {"candidates": candidates} | changes
    with pytest.raises(ValueError, match=words):
        evaluate_repeated_splits(pairs, **asked)
