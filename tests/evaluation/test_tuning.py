"""Model selection: what is chosen, from what it is chosen, and how often anything is fitted."""

from __future__ import annotations

import pickle
from copy import deepcopy
from math import isnan

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_score,
)

from simviz.charts import draw
from simviz.data import Items, PairSet, split
from simviz.evaluation import evaluate
from simviz.evaluation._tuning_fits import PairUnits
from simviz.evaluation.tuning import Selection, Trial, UnitEstimator, development, search, tune
from simviz.exceptions import DatasetError, JobCancelled
from simviz.methods.cca import RidgeCCA
from simviz.methods.ssi import SSI
from simviz.pipeline import BlendPipeline, default_pipeline, load_pipeline
from simviz.relevance import Relevance

GRID = {"n_components": [2, 5, 12], "regularization": [0.1, 1.0]}


@pytest.fixture(scope="module")
def vectors():
    """Two noisy views of six hidden numbers: more than six components only add noise."""
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((90, 6))
    x, y = (Z @ rng.standard_normal((6, 25)) + 0.8 * rng.standard_normal((90, 25)) for _ in "xy")
    ids = [str(i) for i in range(90)]
    group = {"group": np.array([f"g{i // 3}" for i in range(90)])}
    return PairSet(Items(ids, x, "vector", group), Items(ids, y, "vector"), Relevance.identity(90))


def cca(pairs, **params):
    return default_pipeline("cca", pairs, shared=False, **params)


def by_hand(pipeline, units, folds, candidates, metric):
    """The search as anybody would write it, every candidate from scratch."""
    values = np.empty((len(candidates), len(folds)))
    for i, params in enumerate(candidates):
        named = {f"model__{name}": value for name, value in params.items()}
        for j, (inside, outside) in enumerate(folds):
            train = units.take(inside)
            test = units.take(outside, train)
            fitted = clone(pipeline).set_params(**named).fit(train)
            values[i, j] = evaluate(fitted, test, metrics=[metric]).value(metric)
    return values


@pytest.mark.parametrize("by", ["pair", "x", "y", "group"])
@pytest.mark.parametrize("metric", ["MRR", "AUC"])
def test_equals_a_loop_written_by_hand(vectors, by, metric):
    found = search(cca(vectors), vectors, GRID, cv=3, by=by, metric=metric, seed=4)
    units = PairUnits.of(vectors, by)
    params = [trial.params for trial in found.trials]
    theirs = by_hand(cca(vectors), units, units.folds(3, 4), params, metric)
    np.testing.assert_allclose([trial.values for trial in found.trials], theirs, atol=1e-6)
    assert found.n_fits == 3, "all six candidates meet on one decomposition a fold"
    best = theirs[params.index(found.selected.params)]
    assert best.mean() == pytest.approx(theirs.mean(axis=1).max(), abs=1e-6)
    assert found.selected.spread == pytest.approx(best.std(ddof=1) / np.sqrt(3), abs=1e-6)


def test_scikit_learns_grid_search_finds_the_same(vectors):
    units, pipeline = PairUnits.of(vectors, "x"), cca(vectors)
    ours = search(pipeline, vectors, GRID, cv=3, by="x")
    grid = GridSearchCV(UnitEstimator(pipeline, units), GRID, cv=units.folds(3, 0))
    grid.fit(np.arange(len(units)))
    means = grid.cv_results_["mean_test_score"]
    theirs = {
        repr(sorted(p.items())): m for p, m in zip(grid.cv_results_["params"], means, strict=True)
    }
    for trial in ours.trials:
        assert trial.mean == pytest.approx(theirs[repr(sorted(trial.params.items()))], abs=1e-6)
    assert grid.best_params_ == ours.selected.params
    refitted = grid.best_estimator_.pipeline_.similarity(vectors.x, vectors.y)
    own = ours.refit(pipeline, vectors).similarity(vectors.x, vectors.y)
    np.testing.assert_allclose(refitted, own, atol=1e-6)


def test_the_other_search_classes_drive_it_too(vectors):
    units = PairUnits.of(vectors, "group")
    estimator, X = UnitEstimator(cca(vectors), units), np.arange(len(units))
    drawn = {"n_components": [2, 5, 8], "regularization": loguniform(0.01, 10)}
    random = RandomizedSearchCV(estimator, drawn, n_iter=4, cv=KFold(3), random_state=0).fit(X)
    assert 0.01 <= random.best_params_["regularization"] <= 10
    how = {"cv": KFold(2), "min_resources": 16, "random_state": 0}
    halving = HalvingGridSearchCV(estimator, {"n_components": [1, 2, 5]}, **how).fit(X)
    assert halving.best_params_ == {"n_components": 5}
    grouped = GridSearchCV(estimator, {"n_components": [2, 5]}, cv=GroupKFold(3))
    assert grouped.fit(X[:, None], groups=X // 2).best_params_ == {"n_components": 5}


def test_nested_methods_are_fitted_once_a_fold(vectors, monkeypatch):
    fits, fit = [], RidgeCCA._fit
    monkeypatch.setattr(
        RidgeCCA, "_fit", lambda self, *a: fits.append(self.n_components) or fit(self, *a)
    )
    search(cca(vectors), vectors, {"n_components": [2, 5, 12]}, cv=3, by="x")
    assert fits == [12, 12, 12]
    fits.clear()
    units = PairUnits.of(vectors, "x")
    grid = GridSearchCV(UnitEstimator(cca(vectors), units), {"n_components": [2, 5]}, cv=3)
    grid.fit(np.arange(len(units)))
    assert fits == [2, 2, 2, 5, 5, 5, 5], "and each candidate once in the hands of scikit-learn"


@pytest.mark.parametrize("by", ["pair", "x", "y", "group"])
def test_parts_never_share_what_they_must_not(vectors, by):
    units = PairUnits.of(vectors, by)
    folds = units.folds(4, 1)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(len(units)))
    for inside, outside in folds:
        train, test = units.take(inside), units.take(outside)
        for side in "xy" if by == "pair" else "x" if by == "group" else by:
            assert not set(getattr(train, side).ids) & set(getattr(test, side).ids)
        if by == "group":
            assert not set(train.x.metadata["group"]) & set(test.x.metadata["group"])
        assert test.relevance.unjudged == vectors.relevance.unjudged
    np.testing.assert_array_equal(folds[0][1], units.folds(4, 1)[0][1])
    assert any((a[1] != b[1]).any() for a, b in zip(folds, units.folds(4, 2), strict=True))


def test_the_test_part_is_never_touched(vectors, monkeypatch):
    parts = split(vectors, "pair", seed=2)
    whole = development(vectors, parts)
    held = set(parts.test.x.ids) | set(parts.test.y.ids)
    assert not held & (set(whole.x.ids) | set(whole.y.ids))
    assert len(whole.x) == len(parts.train.x) + len(parts.validation.x)
    seen, take = set(), Items.take

    def noted(items, index):
        part = take(items, index)
        seen.update(part.ids)
        return part

    monkeypatch.setattr(Items, "take", noted)
    pipeline = cca(parts.train)
    search(pipeline, whole, {"n_components": [2, 5]}, cv=3).refit(pipeline, whole)
    search(pipeline, parts.train, {"n_components": [2, 5]}, cv=parts.validation)
    assert seen and not seen & held


def test_finds_the_planted_best_value(vectors):
    grid = {"n_components": [1, 6, 25]}
    found = search(cca(vectors), vectors, grid, cv=5)
    assert found.selected.params == {"n_components": 6}
    units = PairUnits.of(vectors, "pair")
    inner = GridSearchCV(UnitEstimator(cca(vectors), units), grid, cv=3)
    outer = cross_val_score(inner, np.arange(len(units)), cv=KFold(3))
    assert outer.mean() == pytest.approx(found.selected.mean, abs=0.15)


def test_random_draws_follow_their_seed(vectors):
    drawn = {"regularization": loguniform(0.01, 10), "n_components": [3, 6]}
    runs = [search(cca(vectors), vectors, drawn, cv=3, n_iter=5, seed=seed) for seed in (0, 0, 1)]
    told = [[trial.params for trial in run.trials] for run in runs]
    assert told[0] == told[1] != told[2] and len(told[0]) == 5
    assert [t.values for t in runs[0].trials] == [t.values for t in runs[1].trials]
    few = search(cca(vectors), vectors, {"n_components": [3, 6]}, cv=3, n_iter=50)
    assert len(few.trials) == 2, "no more than there are"


def test_validation_part_gives_errors_over_its_queries(vectors):
    parts = split(vectors, "pair", (0.5, 0.3, 0.2))
    found = search(cca(parts.train), parts.train, GRID, cv=parts.validation)
    fitted = cca(parts.train, **found.selected.params).fit(parts.train)
    record = evaluate(fitted, parts.validation, metrics=["MRR"]).to_records()[-1]
    ours, theirs = (found.selected.mean, found.selected.spread), ("value", "standard_error")
    assert ours == pytest.approx([record[name] for name in theirs], abs=1e-6)
    assert found.n_folds == 1


def test_weights_of_a_blend_are_one_fit(sentences):
    learned = default_pipeline("cca", sentences, n_components=5, shared=True)
    blend = BlendPipeline(learned, default_pipeline("bm25", sentences))
    found = search(blend, sentences, {"alpha": [0.0, 0.3, 1.0]}, cv=3)
    assert found.n_fits == 3
    units = PairUnits.of(sentences, "pair")
    inside, outside = units.folds(3, 0)[0]
    train = units.take(inside)
    one = clone(blend).set_params(alpha=0.3).fit(train)
    value = evaluate(one, units.take(outside, train), metrics=["MRR"]).value("MRR")
    [trial] = [t for t in found.trials if t.params["alpha"] == 0.3]
    assert trial.values[0] == pytest.approx(value, abs=1e-9)
    deep = search(blend, sentences, {"learned__model__n_components": [2, 4]}, cv=2)
    assert deep.n_fits == 4


def test_methods_that_stop_early_watch_their_own_training_pairs(sentences, monkeypatch):
    watched, fit = [], SSI._fit_iter

    def noted(self, X, Y, relevance, validation):
        watched.append((X.shape[0], validation[0].shape[0]))
        return fit(self, X, Y, relevance, validation)

    monkeypatch.setattr(SSI, "_fit_iter", noted)
    pipeline = default_pipeline("ssi", sentences, n_components=3, max_iter=2, shared=True)
    search(pipeline, sentences, {"margin": [0.5, 1.0]}, cv=3)
    assert watched == [(35, 5)] * 6


def test_keywords_that_were_not_learned_are_no_candidates():
    words = Items([f"w{i}" for i in range(6)], [f"word {i}" for i in range(6)], "keyword")
    content = np.random.default_rng(0).standard_normal((30, 4))
    items = Items([str(i) for i in range(30)], content, "vector")
    # The last keyword belongs to one item alone.
    columns = [i % 5 for i in range(29)] + [5]
    pairs = PairSet(items, words, Relevance.from_pairs(range(30), columns, shape=(30, 6)))
    units = PairUnits.of(pairs, "x")
    train = units.take(np.arange(20))
    test = units.take(np.arange(20, 30), train)
    assert list(test.y.ids) == list(train.y.ids) and "w5" not in test.y.ids
    collection = PairSet(items, items, Relevance.from_pairs([0, 2, 4], [1, 3, 5], shape=(30, 30)))
    part = PairUnits.of(collection, "pair").take([0, 1])
    assert part.x is part.y


def test_failures_are_kept_with_their_reason(vectors):
    tried = {"regularization": [-1.0, 1.0], "rank": [None, 4]}
    found = search(cca(vectors, n_components=3), vectors, tried, cv=2)
    bad = [t for t in found.trials if t.params["regularization"] == -1.0]
    assert all(isnan(t.mean) and "regularization" in t.reason for t in bad)
    with pytest.raises(ValueError, match="None of 1 candidates could be measured: The"):
        search(cca(vectors), vectors, {"regularization": [-1.0]}, cv=2)


def test_wrong_requests_say_what_to_do(vectors):
    for params, options, words in (
        ({"n_component": [1]}, {}, "did you mean|n_components"),
        ({}, {}, "at least one parameter"),
        ({"n_components": []}, {}, "at least one value"),
        ({"regularization": loguniform(1, 2)}, {}, "give n_iter"),
        ({"regularization": np.linspace(0, 1, 3_000).tolist()}, {}, "more than"),
        ({"n_components": [2]}, {"cv": 1}, "at least 2"),
        ({"n_components": [2]}, {"by": "column"}, "cut by"),
    ):
        with pytest.raises((ValueError, DatasetError), match=words):
            search(cca(vectors), vectors, params, **options)
    all_linked = PairSet(vectors.x, vectors.y, Relevance(np.ones((90, 90)), unjudged="negative"))
    with pytest.raises(DatasetError, match="hang together"):
        PairUnits.of(all_linked, "pair")


def test_it_tells_how_far_it_is_and_stops_when_asked(vectors):
    heard = []
    search(cca(vectors), vectors, GRID, cv=3, callback=lambda *a: heard.append(a[:2]))
    steps = [step / total for step, total in heard]
    assert steps == sorted(steps) and steps[-1] == 1.0
    with pytest.raises(JobCancelled):
        search(cca(vectors), vectors, GRID, cv=3, callback=lambda step, *_: step > 100)


def test_what_was_tuned_answers_as_its_best_pipeline(sentences, tmp_path):
    tuned = tune("cca", sentences, {"n_components": [2, 3]}, folds=2)
    tuned.save(tmp_path / "best.simviz")
    copies = pickle.loads(pickle.dumps(tuned)), deepcopy(tuned)
    expected = tuned.best.similarity(sentences.x, sentences.y)
    for same in (tuned, *copies, load_pipeline(tmp_path / "best.simviz")):
        np.testing.assert_array_equal(same.similarity(sentences.x, sentences.y), expected)
    drawn = draw(tuned, sentences)
    np.testing.assert_array_equal(drawn.map.x, draw(tuned.best, sentences).map.x)
    assert not hasattr(tuned, "no_such_method")
    lexical = tune("bm25", sentences, {"k1": [1.0]}, folds=2)
    assert hasattr(tuned, "transform_y") and not hasattr(lexical, "transform_y")


def test_one_standard_error_chooses_the_simplest_near_the_best():
    def trial(k, ridge, value):
        return Trial({"n_components": k, "regularization": ridge}, (value, value), 0.03)

    trials = (trial(50, 1.0, 0.6), trial(20, 1.0, 0.58), trial(20, 0.1, 0.58), trial(5, 1.0, 0.4))
    found = Selection(trials, "MRR", 2)
    assert found.selected is trials[0]
    assert found.by_rule("one_se") is trials[1]
    worse = Selection(trials, "rank loss", 2, higher_is_better=False, rule="one_se")
    assert worse.selected is trials[3]
    failed = Selection((Trial({"a": 1}, (float("nan"),), reason="too few"),), "MRR", 1)
    assert isnan(failed.trials[0].mean)
    with pytest.raises(ValueError, match="too few"):
        _ = failed.selected
    with pytest.raises(ValueError, match="one_se"):
        found.by_rule("first")
    assert [r["chosen"] for r in found.to_records()] == [True, False, False, False]
