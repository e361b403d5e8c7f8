"""Values of single queries, as tests need them."""

from __future__ import annotations

import numpy as np
import pytest

from simviz.evaluation import (
    VectorScorer,
    apply_correction,
    compare_all,
    confidence_interval,
    evaluate,
    paired_t,
    query_values,
)
from simviz.relevance import Relevance


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
    shuffled = evaluate(
        VectorScorer(), Z, W[order], Relevance.from_pairs(order, np.arange(20), shape=(20, 20))
    )
    np.testing.assert_allclose(
        query_values(straight, "MRR", ["x2y", "y2x"]).values,
        query_values(shuffled, "MRR", ["x2y", "y2x"]).values,
    )


def test_queries_of_unequal_sides_stand_side_by_side(rng):
    Z, W = noisy(rng, 24)
    owner = np.arange(24) // 3  # three queries an answer
    found = evaluate(
        VectorScorer(), Z, W[:8], Relevance.from_pairs(np.arange(24), owner, shape=(24, 8))
    )
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
        found = evaluate(
            VectorScorer(),
            X,
            Y,
            Relevance.from_pairs(np.arange(60), owner, shape=(60, 9)),
            directions=directions,
        )
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
    assert apply_correction({(0, 1): alone}) == {(0, 1): alone}, (
        "one comparison needs no correction"
    )


def test_pairs_of_which_one_side_cannot_fail_are_queries_of_both_sides():
    # The first pair can fail from the x side only: its y item has no other candidate.
    matrix = np.array([[1.0, -1, 0], [0, 1, -1], [0, 0, 1]])
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 3, 5))
    found = evaluate(VectorScorer(), X, Y, matrix)
    told = query_values(found, "MRR", ["x2y", "y2x"])
    assert (told.unit, told.is_independent) == ("query", False)
    assert np.nanmean(told.values) == pytest.approx(found.value("MRR", "mean"))
