"""A large data set is drawn in part: at random, the same each time, pairs together."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import has_note

from simviz.data import Items, PairSet
from simviz.pipeline import default_pipeline
from simviz.projection import draw, pipeline_map as module
from simviz.relevance import Relevance


@pytest.mark.parametrize(("n_x", "n_y", "each"), [(60, 90, 1), (20, 90, 2), (60, 90, 3)])
def test_pairs_stay_together_in_a_sample(n_x, n_y, each, monkeypatch):
    monkeypatch.setattr(module, "MAX_DRAWN", 25)
    # Each x item belongs to so many y items of its own, as far as there are any.
    columns = np.arange(min(n_x * each, n_y))
    sides = [
        Items([str(i) for i in range(n)], [f"word{i} thing{i % 7}" for i in range(n)], "text")
        for n in (n_x, n_y)
    ]
    pairs = PairSet(*sides, Relevance.from_pairs(columns // each, columns, shape=(n_x, n_y)))
    fitted = default_pipeline("lsa", pairs, n_components=3).fit(pairs)
    drawn, x, y = draw(fitted, pairs, seed=3)
    again = draw(fitted, pairs, seed=3)
    assert np.array_equal(x, again[1]) and np.array_equal(y, again[2])
    assert len(x) == min(n_x, 25) and len(y) == 25
    assert (np.diff(x) > 0).all() and (np.diff(y) > 0).all()
    belong = set(pairs.relevance.positives[x].indices.tolist())
    assert len(belong & set(y.tolist())) == min(len(belong), 25)
    assert has_note(drawn, "random sample of 25 of 90", "seed 3")
