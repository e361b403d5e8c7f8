"""Quality against the number of dimensions, and against the size of the training part."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

import simviz.evaluation.curves
from simviz.data import PairSet, split
from simviz.evaluation import (
    AUC,
    MAP,
    MRR,
    NDCG,
    TopOne,
    VectorScorer,
    dimension_curve,
    dimension_grid,
    evaluate,
)
from simviz.evaluation.curves import learning_curve, nested_parts
from simviz.exceptions import JobCancelled
from simviz.pipeline import default_pipeline
from simviz.relevance import Relevance


@pytest.fixture(scope="module")
def problem():
    """Noisy pairs of whole-number vectors: sums are exact, so ties are the same anywhere."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (60, 24)).astype(float)
    Y = np.vstack([X + (rng.random((60, 24)) < 0.5), rng.integers(-2, 3, (20, 24))])
    X[3] = 0  # an empty item
    Y[:5, :6] = 0  # empty in few dimensions
    Y[70] = Y[0]  # a duplicate: always tied
    grades = np.zeros((60, 80))
    grades[np.arange(60), np.arange(60)] = 1
    grades[rng.integers(0, 60, 90), rng.integers(0, 80, 90)] = 2
    grades[7] = 0  # a query without a relevant candidate
    return X, Y, grades


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize("metric", [MRR(), TopOne(), MAP(), NDCG(3), AUC("query")], ids=str)
@pytest.mark.parametrize("entries", [2**23, 1000])
def test_equals_separate_evaluations(problem, dtype, similarity, metric, entries, monkeypatch):
    monkeypatch.setattr(simviz.evaluation.curves, "BLOCK_ENTRIES", entries)
    X, Y, grades = problem
    X, Y = X.astype(dtype), Y.astype(dtype)
    if similarity == "cosine":
        # Ties between unequal vectors need exact lengths: half-sum signs have them.
        X, Y = np.sign(X) * (X != 0), np.sign(Y)
    curve = dimension_curve(X, Y, grades, [1, 2, 7, 24], similarity=similarity, metric=metric)
    for i, k in enumerate(curve.dimensions):
        at_k = evaluate(VectorScorer("dot"), X[:, :k], Y[:, :k], grades, [metric])
        if similarity == "cosine":
            at_k = evaluate(_ExactCosine(), X[:, :k], Y[:, :k], grades, [metric])
        for direction in ("x2y", "y2x"):
            values = at_k.per_query(metric, direction)
            np.testing.assert_allclose(curve.per_query[direction][i], values, atol=1e-12)
            assert curve.values(direction)[i] == pytest.approx(at_k.value(metric, direction))
        assert curve.values()[i] == pytest.approx(at_k.value(metric, "x2y"))
        assert curve.values("mean")[i] == pytest.approx(at_k.value(metric, "mean"))


class _ExactCosine:
    """Cosines in whole numbers: sign(p) p² / (|x|² |y|²) orders as they do, and ties exactly."""

    def iter_similarity(self, x, y, /, *, block_size=None):
        p = x.astype(float) @ y.T.astype(float)
        squares = np.outer((x.astype(float) ** 2).sum(1), (y.astype(float) ** 2).sum(1))
        yield np.divide(np.sign(p) * p**2, squares, out=np.zeros_like(p), where=squares > 0)


@pytest.mark.parametrize(("dtype", "rounding"), [(np.float64, 1e-12), (np.float32, 1e-6)])
@pytest.mark.parametrize("unjudged", ["negative", "ignore"])
@pytest.mark.parametrize("entries", [2**23, 3000])
def test_real_vectors_equal_separate_evaluations(unjudged, dtype, rounding, entries, monkeypatch):
    monkeypatch.setattr(simviz.evaluation._blocks, "BLOCK_ENTRIES", entries)
    monkeypatch.setattr(simviz.evaluation.curves, "BLOCK_ENTRIES", entries)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((150, 40)).astype(dtype)
    Y = (X[:120] + 2 * rng.standard_normal((120, 40))).astype(dtype)
    judged = np.where(rng.random((150, 120)) < 0.1, rng.choice([-1.0, 1.0], (150, 120)), 0.0)
    np.fill_diagonal(judged, 1.0)
    relevance = Relevance(sp.csr_array(judged), unjudged)
    curve = dimension_curve(X, Y, relevance, [40, 3, 11])
    assert curve.dimensions == (3, 11, 40)
    assert curve.pool == ("judged" if unjudged == "ignore" else "split")
    for i, k in enumerate(curve.dimensions):
        separate = evaluate(VectorScorer(), X[:, :k], Y[:, :k], relevance, ["MRR"])
        for direction in ("x2y", "y2x"):
            here, there = curve.values(direction)[i], separate.value("MRR", direction)
            assert here == pytest.approx(there, abs=rounding)


def test_records_are_tidy():
    Z = np.eye(4)
    curve = dimension_curve(Z, Z, dimensions=[2, 4], directions=["y2x"], metric="top-1")
    error = pytest.approx(math.sqrt(4 * 0.375**2 / 3 / 4))
    same = {"metric": "top-1", "direction": "y2x", "n": 4, "pool": "split"}
    assert curve.to_records() == [
        {"dimension": 2, "value": 0.625, "standard_error": error, **same},
        {"dimension": 4, "value": 1.0, "standard_error": 0.0, **same},
    ]
    with pytest.raises(ValueError, match="Directions here are 'y2x'"):
        curve.values("x2y")


def test_progress_is_told_and_can_stop():
    Z, seen = np.eye(5), []
    dimension_curve(Z, Z, callback=lambda *a: seen.append(a[:2]))
    assert seen == [(5, 10), (10, 10)]
    with pytest.raises(JobCancelled, match="after 5 of 10 rows"):
        dimension_curve(Z, Z, callback=lambda *a: True)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"dimensions": [0, 2]}, r"must lie in 1\.\.4"),
        ({"dimensions": [5]}, r"must lie in 1\.\.4"),
        ({"dimensions": []}, r"must lie in 1\.\.4"),
        ({"similarity": "js"}, "similarity must be 'cosine' or 'dot'"),
        ({"metric": AUC()}, "AUC is not a metric of ranks"),
        ({"metric": "MMR"}, "Did you mean 'MRR'"),
        ({"directions": ["up"]}, "Directions here are"),
        ({"y_vectors": np.eye(4)[:, :3]}, "4 dimensions and y vectors 3"),
        ({"y_vectors": np.ones(4)}, "one row an item"),
        ({"y_vectors": np.ones((0, 4))}, "nothing to compare"),
        ({"y_vectors": np.full((4, 4), np.nan)}, "NaN"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        dimension_curve(**{"x_vectors": np.eye(4), "y_vectors": np.eye(4), **settings})


def test_a_grid_is_denser_where_dimensions_are_few():
    assert (dimension_grid(1), dimension_grid(3)) == ((1,), (2, 3))
    grid = dimension_grid(1000)
    assert (len(grid), grid[0], grid[-1]) == (12, 2, 1000)
    assert (np.diff(grid, n=2) >= 0).all()


WORDS = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnr"]
PAIRS = PairSet.from_texts([f"{w} x" for w in WORDS], [f"{w} y" for w in WORDS])


def fit(part):
    return default_pipeline("lsa", part, n_components=5, random_state=0).fit(part)


@pytest.mark.parametrize("side", ["x", "y"])
def test_shares_lie_within_one_another(side):
    parts = nested_parts(PAIRS, (0.1, 0.5, 1), seed=1, side=side)
    ids = [set(part.x.ids) for part in parts]
    assert [len(i) for i in ids] == [10, 50, 100]
    assert ids[0] < ids[1] < ids[2] and parts[2].digest == PAIRS.digest
    assert all(part.relevance.positives.nnz == len(part.x) == len(part.y) for part in parts)


def test_each_point_is_what_training_on_that_share_gives():
    parts = split(PAIRS, "pair", (0.7, 0.1, 0.2), 0)
    test, told = parts.test, []
    how = {"metrics": ["MRR"], "callback": lambda *a: told.append(a)}
    curve = learning_curve(fit, parts.train, test, (0.3, 1), **how)
    lines = curve.per_query[MRR(), "y2x"]
    for part, line in zip(nested_parts(parts.train, (0.3, 1)), lines, strict=True):
        expected = evaluate(fit(part), test.x, test.y, test.relevance).per_query("MRR", "y2x")
        np.testing.assert_allclose(line, expected)
    assert told[-1][0] == told[-1][1] == sum(curve.n_pairs)
    records = curve.to_records()
    assert [r["fraction"] for r in records] == [0.3, 1.0, 0.3, 1.0]
    assert (records[1]["n_pairs"], records[1]["n"]) == (70, len(test.x))


def test_it_can_be_stopped_and_refuses_what_makes_no_curve():
    with pytest.raises(JobCancelled):
        learning_curve(fit, PAIRS, PAIRS, (0.1, 1), callback=lambda *a: True)
    with pytest.raises(ValueError, match="metric of ranks"):
        learning_curve(fit, PAIRS, PAIRS, metrics=["AUC"])
    for fractions in ((), (0, 1), (0.5, 0.5), (0.5, 1.2)):
        with pytest.raises(ValueError, match="ascending"):
            nested_parts(PAIRS, fractions)
