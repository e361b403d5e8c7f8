"""A model follows pairs that are marked, and nothing that is held out is learned from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from simviz.data import Items, PairSet, split
from simviz.data.augment import Feedback
from simviz.evaluation import WhatIf
from simviz.exceptions import DatasetError
from simviz.pipeline import default_pipeline
from simviz.relevance import Relevance

SPECTRAL = ["cca", "cl_lsi", "heterogeneous_svd", "opca"]


def _pairs(**changed):
    colours = ["red", "blue", "green", "gold", "grey", "pink"]
    things = ["car", "bus", "tram", "ship", "bike", "kite"]
    x = [f"{colour} {thing}" for colour in colours for thing in things]
    y = [f"{thing}o {colour}a" for colour in colours for thing in things]
    ids = [f"n{i}" for i in range(len(x))]
    sides = Items([f"x-{i}" for i in ids], x, "text"), Items([f"y-{i}" for i in ids], y, "text")
    return PairSet(*sides, changed.pop("relevance", Relevance.identity(len(x))), **changed)


@pytest.fixture(scope="module")
def parts():
    return split(_pairs(), "pair", fractions=(0.6, 0.2, 0.2))


def _fitted(method, parts, train=None, **params):
    train = train or parts.train
    return default_pipeline(method, train, **{"n_components": 6, **params}).fit(train)


def _ids(parts, i, j, part="train"):
    own = getattr(parts, part)
    return str(own.x.ids[i]), str(own.y.ids[j])


def _score(pipeline, train, i, j):
    return float(pipeline.similarity(train.x.take([i]), train.y.take([j]))[0, 0])


@pytest.mark.parametrize("method", SPECTRAL)
def test_a_spectral_method_is_what_a_fit_with_the_same_pairs_is(method, parts):
    fitted, train = _fitted(method, parts), parts.train
    found = WhatIf(fitted, parts).revise([_ids(parts, 0, 3)], [_ids(parts, 1, 1)])
    matrix = train.relevance.matrix.toarray()
    matrix[0, 3], matrix[1, 1] = 1, -1
    assert np.array_equal(found.train.relevance.matrix.toarray(), matrix)
    assert found.train.relevance.unjudged == "negative"
    whole = _fitted(method, parts, found.train).similarity(train.x, train.y)
    assert np.allclose(found.pipeline.similarity(train.x, train.y), whole, atol=1e-4)
    assert not np.allclose(fitted.similarity(train.x, train.y), whole, atol=1e-2)


@pytest.mark.parametrize("method", [*SPECTRAL, "s2net"])
def test_marks_bring_items_together_and_apart(method, parts):
    fitted, train = _fitted(method, parts), parts.train
    marks = [_ids(parts, 0, 3)], [_ids(parts, 0, 0)]
    found = WhatIf(fitted, parts).revise(*marks)
    for j, sign in ((3, 1), (0, -1)):
        moved = _score(found.pipeline, train, 0, j) - _score(fitted, train, 0, j)
        assert sign * moved > 1e-4


def test_the_fitted_pipeline_and_its_parameters_stay(parts):
    fitted, train = _fitted("s2net", parts), parts.train
    before = fitted.similarity(train.x, train.y)
    what_if = WhatIf(fitted, parts)
    found = what_if.revise([_ids(parts, 0, 3)])
    assert _score(found.pipeline, train, 0, 3) > before[0, 3] + 0.01, "one mark is followed"
    assert np.array_equal(fitted.similarity(train.x, train.y), before)
    assert found.pipeline.model_.get_params(deep=False) == fitted.model_.get_params(deep=False)
    assert found.pipeline.x_features_ is fitted.x_features_
    none = what_if.revise()
    assert none.pipeline is fitted and none.comparison.difference == 0


def test_what_it_brought_is_told_of_the_validation_part(parts):
    fitted = _fitted("cca", parts)
    found = WhatIf(fitted, parts, directions=["x2y"]).revise([_ids(parts, 0, 3)])
    n = len(parts.validation.x)
    assert found.comparison.n == len(found.differences) == n
    gain = found.after.value("MRR", "x2y") - found.before.value("MRR", "x2y")
    assert found.comparison.difference == pytest.approx(gain)


@pytest.mark.parametrize("part", ["validation", "test"])
def test_a_held_out_item_is_refused(part, parts):
    what_if = WhatIf(_fitted("cca", parts), parts)
    (x, y), (held_x, held_y) = _ids(parts, 0, 0), _ids(parts, 0, 0, part)
    for pair in ((held_x, y), (x, held_y), (held_x, held_y)):
        for marks in (([pair], []), ([], [pair])):
            with pytest.raises(DatasetError, match=f"is in the {part} part"):
                what_if.revise(*marks)
    text, target = (str(getattr(getattr(parts, part), side).content[0]) for side in "xy")
    for said, words in (
        ((text.upper(), str(parts.train.y.content[0])), f"is in the {part} part"),
        (("redd carr", target), f"“{target}” is not in the training part"),
    ):
        with pytest.raises(DatasetError, match=words):
            what_if.apply([Feedback([(*said, 1.0)])])
    with pytest.raises(DatasetError, match="item of the training part"):
        what_if.revise([(x, "nobody")])


def test_a_pair_of_shared_items_that_is_held_out_is_refused():
    # Where one side is divided, the other stands in all parts: only the pair is held out.
    parts = split(_pairs(), "x", fractions=(0.6, 0.2, 0.2))
    what_if = WhatIf(_fitted("cca", parts), parts)
    assert set(parts.test.y.ids) & set(parts.train.y.ids)
    found = what_if.revise([_ids(parts, 0, 0)])
    assert found.train.relevance.positives.nnz >= parts.train.relevance.positives.nnz
    both = replace(parts, test=parts.train)
    with pytest.raises(DatasetError, match="is in the test part"):
        WhatIf(what_if.pipeline, both).revise([_ids(parts, 0, 0)])


def test_nothing_of_the_test_part_is_read(parts):
    class Unread:
        def __getattr__(self, name):
            assert name in ("x", "y"), name
            return Items(["held"], ["out"], "text")

    what_if = WhatIf(_fitted("cca", parts), replace(parts, test=Unread()))
    assert what_if.revise([_ids(parts, 0, 3)]).comparison.n


def test_what_a_method_cannot_learn_is_said(parts):
    with pytest.raises(DatasetError, match="CCA learns only from pairs that belong together"):
        WhatIf(_fitted("cca", parts), parts).revise(apart=[_ids(parts, 0, 3)])
    revised = WhatIf(_fitted("heterogeneous_svd", parts), parts).revise(apart=[_ids(parts, 0, 3)])
    assert revised.train.relevance.negatives.nnz == 1
    with pytest.raises(DatasetError, match="Mark first what does belong to it"):
        WhatIf(_fitted("s2net", parts), parts).revise(apart=[_ids(parts, 0, 0)])
    for method, reason in (("tfidf_cosine", "does not learn"), ("ssi", "a whole training")):
        fitted = default_pipeline(method, parts.train).fit(parts.train)
        with pytest.raises(ValueError, match=reason):
            WhatIf(fitted, parts)


def test_texts_that_are_new_are_learned_as_by_training_again(parts):
    train, fitted = parts.train, _fitted("cca", parts)
    found = WhatIf(fitted, parts).apply([Feedback([("redd carr", str(train.y.content[0]), 1.0)])])
    assert len(found.train.x) == len(train.x) + 1
    new = found.train.x.take([len(train.x)])
    # The features are those of the texts before, so the vocabularies differ from a whole fit's.
    again = fitted._without_model()
    rows = fitted.rows(found.train.x, "x"), fitted.rows(found.train.y, "y")
    again.model_ = clone(fitted.model_).fit(*rows, found.train.relevance)
    scores = found.pipeline.similarity(new, train.y)
    assert np.allclose(scores, again.similarity(new, train.y), atol=1e-4)
    assert not np.allclose(scores, fitted.similarity(new, train.y))


def test_a_mark_weighs_as_a_usual_pair():
    grades = Relevance.from_pairs([*range(36)], [*range(36)], [3] * 35 + [1], shape=(36, 36))
    parts = split(_pairs(relevance=grades), "pair", fractions=(0.6, 0.2, 0.2))
    what_if = WhatIf(_fitted("heterogeneous_svd", parts), parts)
    found = what_if.revise([_ids(parts, 0, 5)], [_ids(parts, 1, 5)]).train.relevance
    assert (found.matrix[0, 5], found.matrix[1, 5]) == (3, -3)
