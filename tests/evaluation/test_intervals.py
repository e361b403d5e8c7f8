from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm, sem

from simviz import PairSet
from simviz.evaluation import VectorScorer, confidence_interval, evaluate, standard_error


def test_standard_error_skips_what_is_not_a_number():
    values = np.array([0.2, np.nan, 0.9, 0.4])
    assert standard_error(values) == pytest.approx(sem(values[[0, 2, 3]]))
    assert math.isnan(standard_error([0.5, np.nan]))


def test_normal_interval_equals_scipy():
    values = np.random.default_rng(0).random(80)
    expected = norm.interval(0.9, values.mean(), sem(values))
    assert confidence_interval(values, level=0.9, method="normal") == pytest.approx(expected)


def test_bootstrap_agrees_with_the_normal_interval_on_many_values():
    values = np.random.default_rng(1).random(2000)
    values[::7] = np.nan
    drawn = confidence_interval(values)
    normal = confidence_interval(values, method="normal")
    assert drawn == pytest.approx(normal, abs=3e-3)
    assert drawn == confidence_interval(values)
    assert drawn != confidence_interval(values, random_state=1)


def test_bootstrap_stays_within_the_values():
    low, high = confidence_interval([0, 0, 0, 0, 1.0])
    assert 0 <= low < 0.2 < high <= 1


def test_coverage_is_near_its_level():
    rng = np.random.default_rng(2)
    hits = 0
    for seed in range(200):
        low, high = confidence_interval(
            rng.exponential(1.0, 60), n_resamples=200, random_state=seed
        )
        hits += low <= 1.0 <= high
    assert 170 <= hits <= 198


def test_too_few_values_have_no_interval():
    assert all(map(math.isnan, confidence_interval([0.5])))


def test_settings_that_mean_nothing_are_refused():
    with pytest.raises(ValueError, match="level must lie"):
        confidence_interval([0, 1], level=95)
    with pytest.raises(ValueError, match="method must be"):
        confidence_interval([0, 1], method="jackknife")


def test_an_evaluation_has_an_interval_of_a_metric():
    rng = np.random.default_rng(3)
    X = rng.random((40, 5))
    found = evaluate(VectorScorer(), X, X + rng.random((40, 5)))
    assert confidence_interval(found, "MRR") == confidence_interval(found.per_query("MRR"))
    for given in ((found,), ([0.1, 0.2], "MRR"), ([0.1, 0.2], 0.9)):
        with pytest.raises(ValueError, match="an evaluation and a metric"):
            confidence_interval(*given)


def test_a_pair_set_is_evaluated_as_its_sides_are():
    X = np.random.default_rng(4).random((9, 3))
    texts = [f"word {i}" for i in range(9)]
    pairs = PairSet.from_texts(texts, texts)

    class Scorer:
        def iter_similarity(self, x, y, block_size=None):
            yield X @ X.T

    found = evaluate(Scorer(), pairs)
    assert found.value("MRR") == evaluate(Scorer(), pairs.x, pairs.y).value("MRR")
    with pytest.raises(ValueError, match="alone"):
        evaluate(Scorer(), pairs, pairs.y)
    with pytest.raises(ValueError, match="Pairs are wanted, got a Items"):
        evaluate(Scorer(), pairs.x)
