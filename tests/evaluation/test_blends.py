"""The one-pass curve of a blend against one evaluation at each weight."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

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


class At(Parts):
    """Their blend with one weight, computed as a blend does."""

    def __init__(self, parts, alpha):
        super().__init__(parts.learned.astype(float), parts.lexical.astype(float))
        self.alpha = alpha

    def iter_similarity(self, x, y, /, *, block_size=None):
        for learned, lexical in self.iter_parts(x, y, block_size=block_size):
            yield self.alpha * learned + (1.0 - self.alpha) * lexical


def sides(shape):
    return tuple(np.ones((n, 1)) for n in shape)


def assert_equal_to_evaluations(parts, relevance, alphas=ALPHAS, metrics=RANKS, **options):
    x, y = sides(parts.learned.shape)
    curve = blend_curve(parts, x, y, relevance, alphas, metrics=metrics, **options)
    for k, alpha in enumerate(curve.alphas):
        one = evaluate(At(parts, alpha), x, y, relevance, metrics, **options)
        for metric in one.metrics:
            for direction in one.directions:
                if metric.level == "query":
                    here = curve.per_query[metric.name, direction][k]
                    there, where = one.per_query(metric, direction), f"{direction} at {alpha}"
                    np.testing.assert_allclose(here, there, rtol=0, atol=1e-9, err_msg=where)
            for asked in (None, "mean"):
                here, there = curve.values(metric, asked)[k], one.value(metric, asked)
                np.testing.assert_allclose(here, there, rtol=0, atol=1e-9)
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
    shape = (12, 15)
    judged = (rng.random(shape) < 0.4) * rng.choice([-1, 1, 2], shape)
    relevance = Relevance.coerce(sp.csr_array(judged.astype(float)), *shape)
    assert relevance.unjudged == "ignore"
    parts = Parts(*scores("tied on the grid", shape, rng))
    metrics = [*RANKS, "AUC", "rank loss", "pAUC@0.3"]
    assert_equal_to_evaluations(parts, relevance, SOME, metrics)


def test_scores_are_correlated():
    rng = np.random.default_rng(4)
    shape = (10, 11)
    rows, columns = (rng.integers(0, n, 40) for n in shape)
    judged = Relevance.from_pairs(
        rows, columns, rng.normal(size=40), shape=shape, kind="score", unjudged="ignore"
    )
    parts = Parts(*scores("float32", shape, rng))
    curve = assert_equal_to_evaluations(parts, judged, SOME, ["Spearman", "Pearson"])
    assert 0 <= curve.best("Spearman") <= 1


def test_a_pipeline_blend_has_this_curve():
    left = [f"a {c} {t} today" for c in ("red", "blue", "gold") for t in ("car", "bus", "tram")]
    right = [f"{t} in {c} seen" for c in ("red", "blue", "gold") for t in ("car", "bus", "tram")]
    pairs = PairSet.from_texts(left, right)
    parts = [
        default_pipeline(method, pairs, **params).fit(pairs)
        for method, params in (("cl_lsi", {"n_components": 2, "shared": True}), ("bm25", {}))
    ]
    for normalization in ("global_std", "none", "minmax_query", "z_query"):
        blend = BlendPipeline.of(*parts, pairs, normalization=normalization)
        curve = blend_curve(blend, pairs.x, pairs.y, pairs.relevance, metrics=["MRR", "MAP"])
        for k in (0, 25, 50, 77, 100):
            one = evaluate(blend.with_alpha(ALPHAS[k]), pairs, metrics=["MRR", "MAP"])
            for metric in ("MRR", "MAP"):
                assert curve.values(metric)[k] == pytest.approx(one.value(metric), abs=1e-9)


def test_many_listed_pairs_are_counted_in_several_passes(monkeypatch):
    rng = np.random.default_rng(5)
    shape = (20, 25)
    relevance = Relevance(sp.csr_array((rng.random(shape) < 0.3) * 1.0), unjudged="negative")
    parts = Parts(*scores("sparse", shape, rng))
    whole = blend_curve(parts, *sides(shape), relevance, metrics=["MAP"])
    groups = blends.groups
    monkeypatch.setattr("simviz.evaluation.blends.groups", lambda indptr: groups(indptr, limit=10))
    again = blend_curve(parts, *sides(shape), relevance, metrics=["MAP"])
    np.testing.assert_array_equal(whole.per_query["MAP", "y2x"], again.per_query["MAP", "y2x"])


def test_groups_cover_all_queries_once():
    indptr = np.array([0, 4, 4, 30, 31, 33, 33])
    runs = list(blends.groups(indptr, 5))
    assert [(r.start, r.stop) for r in runs] == [(0, 2), (2, 3), (3, 6)]


def test_the_middle_of_equal_weights_is_the_best():
    parts, metrics = Parts(np.eye(4), np.zeros((4, 4))), ["MRR", "rank loss (by query)"]
    curve = blend_curve(parts, *sides((4, 4)), metrics=metrics)
    assert curve.values()[0] == pytest.approx(np.mean(1 / np.arange(1, 5)))
    assert (curve.values()[1:] == 1).all()
    assert curve.best() == pytest.approx(0.5)
    assert curve.best("rank loss (by query)", "x2y") == pytest.approx(0.5)
    assert curve.directions == ("x2y", "y2x")


@pytest.mark.parametrize("judged", [False, True])
def test_the_first_direction_is_what_is_told(judged):
    rng = np.random.default_rng(0)
    parts = Parts(*rng.normal(size=(2, 6, 4)))
    relevance = sp.csr_array(np.where(rng.random((6, 4)) < 0.5, 1.0, -1.0 if judged else 0.0))
    rel = Relevance(relevance, unjudged="ignore" if judged else "negative")
    asked = {"metrics": ["MRR", "MAP"], "directions": ["y2x", "x2y"]}
    curve = blend_curve(parts, *sides((6, 4)), rel, **asked)
    assert curve.directions == ("y2x", "x2y")
    np.testing.assert_array_equal(curve.values("MAP"), curve.values("MAP", "y2x"))
    both = [curve.values("MAP", direction) for direction in ("x2y", "y2x")]
    np.testing.assert_allclose(curve.values("MAP", "mean"), np.mean(both, axis=0))
    assert not np.allclose(*both)


def test_records_tell_everything():
    parts = Parts(np.eye(3), np.ones((3, 3)))
    curve = blend_curve(parts, *sides((3, 3)), alphas=[0, 1], metrics=["MRR", "top-1"])
    records = curve.to_records()
    assert len(records) == 2 * 2 * 2
    first = records[0]
    assert first["n"] == 3 and first["pool"] == "split"
    assert first["value"] == pytest.approx(11 / 18)
    judged = Relevance.coerce(sp.csr_array([[1.0, -1, 0]] * 3), 3, 3)
    pooled = blend_curve(parts, *sides((3, 3)), judged, [0.5], metrics=["AUC"]).to_records()
    assert [r["direction"] for r in pooled] == ["pairs"]


def test_without_relevant_pairs_nothing_is_best():
    none = Relevance(sp.csr_array((3, 3)), unjudged="negative")
    curve = blend_curve(Parts(np.eye(3), np.eye(3)), *sides((3, 3)), none)
    assert np.isnan(curve.values()).all() and np.isnan(curve.best())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alphas": [0.5, 1.5]}, "between 0"),
        ({"alphas": []}, "between 0"),
        ({"metrics": ["AUC"]}, "by query"),
        ({"metrics": ["Spearman"]}, "grades"),
        ({"metrics": []}, "at least one"),
        ({"pool": "some"}, "pool must be"),
        ({"directions": ["sideways"]}, "Directions here"),
    ],
)
def test_wrong_settings_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        blend_curve(Parts(np.eye(3), np.eye(3)), *sides((3, 3)), **options)


def test_wrong_scores_are_refused():
    wrong = np.eye(4)
    wrong[1, 2] = np.nan
    with pytest.raises(ValueError, match="finite"):
        blend_curve(Parts(np.eye(4), wrong), *sides((4, 4)))
    wrong[1, 2] = -np.inf
    with pytest.raises(ValueError, match="finite"):
        blend_curve(Parts(wrong, np.eye(4)), *sides((4, 4)), directions=["y2x"])
    judged = Relevance.coerce(sp.csr_array(np.where(np.eye(4), 1.0, -1.0)), 4, 4)
    with pytest.raises(ValueError, match="finite"):
        blend_curve(Parts(wrong, np.eye(4)), *sides((4, 4)), judged)
    with pytest.raises(ValueError, match="Both must hold"):
        blend_curve(Parts(np.eye(4), np.eye(4)[:, :3]), *sides((4, 4)))
    with pytest.raises(ValueError, match="3 rows"):
        blend_curve(Parts(np.eye(4)[:3], np.eye(4)[:3]), *sides((4, 4)))
    with pytest.raises(ValueError, match="was not measured"):
        blend_curve(Parts(np.eye(4), np.eye(4)), *sides((4, 4))).values("MAP")


def test_it_can_be_stopped_and_tells_how_far_it_is():
    told = []
    parts = Parts(np.eye(30), np.eye(30))
    blend_curve(parts, *sides((30, 30)), callback=lambda *a: told.append(a[:2]))
    assert told[-1] == (60, 60) and told == sorted(told)
    with pytest.raises(JobCancelled):
        blend_curve(parts, *sides((30, 30)), callback=lambda *_: True)
