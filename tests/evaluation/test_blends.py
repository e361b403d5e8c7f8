"""The one-pass curve of a blend against one evaluation at each weight."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from made_up import LEFT, RIGHT
from scorers import Table

from simviz.data import PairSet
from simviz.evaluation import blends, evaluate
from simviz.evaluation.blends import ALPHAS, blend_curve
from simviz.exceptions import JobCancelled
from simviz.pipeline import BlendPipeline, default_pipeline
from simviz.relevance import Relevance

RANKS = ["MRR", "top-1", "MAP", "P@5", "recall@3", "NDCG@3", "NDCG@10 (linear)", "AUC (by query)"]
SOME = ALPHAS[::10]


class Parts:
    """Two matrices of similarities."""

    def __init__(self, learned, lexical):
        self.learned, self.lexical = learned, lexical

    def iter_parts(self, x, y, /, *, block_size=None):
        size = block_size or 7
        for i in range(0, len(self.learned), size):
            yield self.learned[i : i + size], self.lexical[i : i + size]


def sides(shape):
    return tuple(np.ones((n, 1)) for n in shape)


def ones(n):
    """One pair a row: the learned scores know it, the lexical ones know nothing."""
    return Parts(np.eye(n), np.zeros((n, n))), *sides((n, n))


def assert_equal_to_evaluations(parts, relevance, alphas=ALPHAS, metrics=RANKS, **options):
    x, y = sides(parts.learned.shape)
    curve = blend_curve(parts, x, y, relevance, alphas, metrics=metrics, **options)
    learned, lexical = parts.learned.astype(float), parts.lexical.astype(float)
    for k, alpha in enumerate(curve.alphas):
        blended = Table(alpha * learned + (1.0 - alpha) * lexical)
        one = evaluate(blended, x, y, relevance, metrics, **options)
        for metric in one.metrics:
            pairs = [(curve.values(metric, d)[k], one.value(metric, d)) for d in (None, "mean")]
            if metric.level == "query":
                for direction in one.directions:
                    here = curve.per_query[metric.name, direction][k]
                    pairs.append((here, one.per_query(metric, direction)))
            for here, there in pairs:
                np.testing.assert_allclose(here, there, rtol=0, atol=1e-9, err_msg=f"{alpha}")
    return curve


def scores(kind, shape, rng):
    if kind == "float32":
        return [rng.normal(size=shape).astype(np.float32) for _ in range(2)]
    if kind == "mixed types":
        return [rng.normal(size=shape).astype(np.float32), rng.normal(size=shape)]
    if kind == "sparse":
        return [rng.normal(size=shape), rng.random(shape) * (rng.random(shape) < 0.2)]
    if kind == "tied on the grid":  # many competitors meet the target exactly at some weight
        return [rng.integers(0, 4, shape) / 4, rng.integers(0, 4, shape) / 10]
    if kind == "nearly tied":
        return [0.5 + 1e-16 * rng.integers(-3, 4, shape), 0.5 + 1e-17 * rng.normal(size=shape)]
    if kind == "equal":
        both = rng.integers(0, 3, shape) / 3
        return [both, both.copy()]
    if kind == "far apart":
        return [rng.normal(size=shape) * 1e-12, rng.normal(size=shape) * 1e9]
    return [np.zeros(shape), np.zeros(shape)]


KINDS = ["float32", "mixed types", "sparse", "tied on the grid"]
KINDS += ["nearly tied", "equal", "far apart", "constant"]


@pytest.mark.parametrize("kind", KINDS)
def test_curve_is_an_evaluation_at_each_weight(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    shape = (24, 30)
    graded = (rng.random(shape) < 0.1) * rng.integers(1, 4, shape)
    relevance = Relevance(sp.csr_array(graded.astype(float)), unjudged="negative")
    alphas = ALPHAS if kind == "tied on the grid" else SOME
    assert_equal_to_evaluations(Parts(*scores(kind, shape, rng)), relevance, alphas)


@pytest.mark.parametrize("direction", ["x2y", "y2x"])
@pytest.mark.parametrize("block_size", [1, 5, 100])
def test_blocks_and_directions_change_nothing(direction, block_size):
    rng = np.random.default_rng(0)
    parts = Parts(*scores("tied on the grid", (20, 20), rng))
    options = {"directions": [direction], "block_size": block_size}
    assert_equal_to_evaluations(parts, None, SOME, ["MRR", "MAP"], **options)


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.sampled_from(KINDS), st.sets(st.floats(0, 1), min_size=1))
def test_any_grid_of_weights(seed, kind, alphas):
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 7)), int(rng.integers(1, 7)))
    graded = (rng.random(shape) < 0.4) * 1.0
    relevance = Relevance(sp.csr_array(graded), unjudged="negative")
    parts = Parts(*scores(kind, shape, rng))
    assert_equal_to_evaluations(parts, relevance, sorted(alphas), ["MRR", "NDCG@3"])


def test_judged_pools_have_pooled_metrics_too():
    rng = np.random.default_rng(3)
    judged = (rng.random((12, 15)) < 0.4) * rng.choice([-1, 1, 2], (12, 15))
    relevance = Relevance(sp.csr_array(judged.astype(float)), unjudged="ignore")
    parts = Parts(*scores("tied on the grid", judged.shape, rng))
    metrics = [*RANKS, "AUC", "rank loss", "pAUC@0.3"]
    curve = assert_equal_to_evaluations(parts, relevance, SOME, metrics)
    pooled = [r["metric"] for r in curve.to_records() if r["direction"] == "pairs"]
    assert set(pooled) == {"AUC", "rank loss", "pAUC@0.3"}


def test_scores_are_correlated():
    rng = np.random.default_rng(4)
    rows, columns = rng.integers(0, [[10], [11]], (2, 40))
    how = {"shape": (10, 11), "kind": "score", "unjudged": "ignore"}
    judged = Relevance.from_pairs(rows, columns, rng.normal(size=40), **how)
    parts = Parts(*scores("float32", (10, 11), rng))
    curve = assert_equal_to_evaluations(parts, judged, SOME, ["Spearman", "Pearson"])
    assert 0 <= curve.best("Spearman") <= 1


@pytest.mark.parametrize("normalization", ["global_std", "none", "minmax_query", "z_query"])
def test_a_pipeline_blend_has_this_curve(normalization):
    pairs = PairSet.from_texts(LEFT, RIGHT)
    learned = default_pipeline("cl_lsi", pairs, n_components=2, shared=True).fit(pairs)
    lexical = default_pipeline("bm25", pairs).fit(pairs)
    blend = BlendPipeline.of(learned, lexical, pairs, normalization=normalization)
    curve = blend_curve(blend, pairs.x, pairs.y, pairs.relevance, metrics=["MRR", "MAP"])
    for k in (0, 25, 77, 100):
        one = evaluate(blend.with_alpha(ALPHAS[k]), pairs, metrics=["MRR", "MAP"])
        for metric in one.metrics:
            assert curve.values(metric)[k] == pytest.approx(one.value(metric), abs=1e-9)


def test_many_listed_pairs_are_counted_in_several_passes(monkeypatch):
    rng, shape, cut = np.random.default_rng(5), (20, 25), blends.groups
    relevance = Relevance(sp.csr_array((rng.random(shape) < 0.3) * 1.0), unjudged="negative")
    runs = list(cut(np.array([0, 4, 4, 30, 31, 33, 33]), 5))
    assert [(r.start, r.stop) for r in runs] == [(0, 2), (2, 3), (3, 6)]
    monkeypatch.setattr(blends, "groups", lambda indptr: cut(indptr, limit=10))
    assert_equal_to_evaluations(Parts(*scores("sparse", shape, rng)), relevance, SOME, ["MAP"])


def test_the_middle_of_equal_weights_is_the_best():
    curve = blend_curve(*ones(4), metrics=["MRR", "rank loss (by query)"])
    assert curve.values()[0] == pytest.approx(np.mean(1 / np.arange(1, 5)))
    assert (curve.values()[1:] == 1).all()
    assert curve.best() == curve.best("rank loss (by query)", "x2y") == pytest.approx(0.5)


@pytest.mark.parametrize("unjudged", ["negative", "ignore"])
def test_the_first_direction_is_what_is_told(unjudged):
    rng = np.random.default_rng(0)
    parts = Parts(*rng.normal(size=(2, 6, 4)))
    judged = np.where(rng.random((6, 4)) < 0.5, 1.0, -1.0 if unjudged == "ignore" else 0.0)
    relevance = Relevance(sp.csr_array(judged), unjudged=unjudged)
    directions = ["y2x", "x2y"]
    curve = assert_equal_to_evaluations(parts, relevance, SOME, ["MAP"], directions=directions)
    assert curve.directions == ("y2x", "x2y")
    np.testing.assert_array_equal(curve.values("MAP"), curve.values("MAP", "y2x"))
    assert not np.allclose(curve.values("MAP"), curve.values("MAP", "x2y"))


def test_records_tell_everything():
    curve = blend_curve(*ones(3), alphas=[0, 1], metrics=["MRR", "top-1"])
    first, *others = curve.to_records()
    assert len(others) == 2 * 2 * 2 - 1
    assert (first["n"], first["pool"]) == (3, "split")
    assert first["value"] == pytest.approx(11 / 18)


def test_without_relevant_pairs_nothing_is_best():
    none = Relevance(sp.csr_array((3, 3)), unjudged="negative")
    curve = blend_curve(*ones(3), none)
    assert np.isnan(curve.values()).all() and np.isnan(curve.best())


def test_wrong_settings_are_refused():
    for options, words in (
        ({"alphas": [0.5, 1.5]}, "between 0"),
        ({"alphas": []}, "between 0"),
        ({"metrics": ["AUC"]}, "by query"),
        ({"metrics": ["Spearman"]}, "grades"),
        ({"metrics": []}, "at least one"),
        ({"pool": "some"}, "pool must be"),
        ({"directions": ["sideways"]}, "Directions here"),
    ):
        with pytest.raises(ValueError, match=words):
            blend_curve(*ones(3), **options)
    with pytest.raises(ValueError, match="was not measured"):
        blend_curve(*ones(4)).values("MAP")


def test_wrong_scores_are_refused():
    right, nan, infinite = np.eye(4), np.eye(4), np.eye(4)
    nan[1, 2], infinite[1, 2] = np.nan, -np.inf
    judged = Relevance(sp.csr_array(np.where(np.eye(4), 1.0, -1.0)), unjudged="ignore")
    for learned, lexical, options, words in (
        (right, nan, {}, "finite"),
        (infinite, right, {"directions": ["y2x"]}, "finite"),
        (infinite, right, {"relevance": judged}, "finite"),
        (right, right[:, :3], {}, "Both must hold"),
        (right[:3], right[:3], {}, "3 rows"),
    ):
        with pytest.raises(ValueError, match=words):
            blend_curve(Parts(learned, lexical), *sides((4, 4)), **options)


def test_it_can_be_stopped_and_tells_how_far_it_is():
    told = []
    blend_curve(*ones(30), callback=lambda *a: told.append(a[:2]))
    assert told[-1] == (60, 60) and told == sorted(told)
    with pytest.raises(JobCancelled):
        blend_curve(*ones(30), callback=lambda *_: True)
