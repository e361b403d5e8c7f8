"""Forms and progress are derived from the class, never written twice."""

from __future__ import annotations

import inspect
import math
import pickle

import pytest
from sklearn.base import clone

from simviz.methods import all_methods
from simviz.methods.cca import RidgeCCA
from simviz.methods.heterogeneous_svd import HeterogeneousSVD
from simviz.methods.ssi import SSI
from simviz.params import param_specs

METHODS = all_methods()


@pytest.mark.parametrize("method", METHODS)
def test_every_parameter_has_words_a_default_and_a_range(method):
    cls = METHODS[method]
    specs = param_specs(cls)
    assert [s.name for s in specs] == list(inspect.signature(cls).parameters)
    for spec in specs:
        assert len(spec.description) > 20, spec.name
        assert spec.default is not inspect.Parameter.empty
        if spec.kind == "choice":
            assert spec.default in spec.choices or (spec.optional and spec.default is None)


def test_kinds_follow_the_constraints():
    cca = {s.name: s for s in param_specs(RidgeCCA)}
    assert (cca["n_components"].kind, cca["n_components"].low) == ("int", 1)
    assert cca["rank"].optional
    assert (cca["regularization"].kind, cca["regularization"].high) == ("float", None)
    assert cca["shared"].kind == "bool"
    weight = {s.name: s for s in param_specs(HeterogeneousSVD)}["negative_weight"]
    assert weight.choices == ("balanced", "paper", "per_x", "per_y")
    margin = {s.name: s for s in param_specs(SSI)}["margin"]
    assert (margin.low, margin.closed) == (0, "neither")


def test_values_outside_the_range_are_named():
    for name, value in {"n_components": 0, "regularization": -1, "shared": "yes"}.items():
        with pytest.raises(ValueError, match=name):
            RidgeCCA(**{name: value}).fit([[1.0], [2.0]], [[1.0], [3.0]])


def test_callbacks_are_told_and_forgotten_by_copies(monkeypatch):
    # Nothing is told inside an iteration, however long it takes.
    monkeypatch.setattr("simviz.methods._training.PAUSE", math.inf)
    told = []
    sides = [[1.0, 0], [0, 1]], [[0, 1.0], [1, 0]]
    model = SSI(4, max_iter=2).set_callbacks(lambda *news: told.append(news)).fit(*sides)
    assert [(step, total) for step, total, _ in told] == [(1, 2), (2, 2)]
    assert told[0][2].keys() == {"loss"}
    for copy in (clone(model), pickle.loads(pickle.dumps(model))):
        assert not copy._notify(1, 1)
    model.set_callbacks().fit(*sides)
    assert len(told) == 2
