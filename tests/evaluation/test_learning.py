"""Quality against the size of the training part."""

from __future__ import annotations

import numpy as np
import pytest

from simviz.data import PairSet, split
from simviz.evaluation import MRR, evaluate
from simviz.evaluation.curves import learning_curve, nested_parts
from simviz.exceptions import JobCancelled
from simviz.pipeline import default_pipeline

WORDS = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnr"]
PAIRS = PairSet.from_texts([f"{w} x" for w in WORDS], [f"{w} y" for w in WORDS])


def fit(part):
    return default_pipeline("lsa", part, n_components=5, random_state=0).fit(part)


@pytest.mark.parametrize("side", ["x", "y"])
def test_shares_lie_within_one_another(side):
    parts = nested_parts(PAIRS, (0.1, 0.5, 1), seed=1, side=side)
    ids = [set(part.x.ids) for part in parts]
    assert [len(i) for i in ids] == [10, 50, 100]
    assert ids[0] < ids[1] < ids[2]
    assert parts[2].digest == PAIRS.digest
    assert all(part.relevance.positives.nnz == len(part.x) == len(part.y) for part in parts)


@pytest.mark.parametrize("fractions", [(), (0, 1), (0.5, 0.5), (0.5, 1.2)])
def test_shares_must_ascend(fractions):
    with pytest.raises(ValueError, match="ascending"):
        nested_parts(PAIRS, fractions)


def test_each_point_is_what_training_on_that_share_gives():
    parts = split(PAIRS, "pair", (0.7, 0.1, 0.2), 0)
    told = []
    curve = learning_curve(
        fit, parts.train, parts.test, (0.3, 1), metrics=["MRR"], callback=lambda *a: told.append(a)
    )
    test = parts.test
    for part, line in zip(
        nested_parts(parts.train, (0.3, 1)), curve.per_query[MRR(), "y2x"], strict=True
    ):
        expected = evaluate(fit(part), test.x, test.y, test.relevance).per_query("MRR", "y2x")
        np.testing.assert_allclose(line, expected)
    assert told[-1][0] == told[-1][1] == sum(curve.n_pairs)
    records = curve.to_records()
    assert [r["fraction"] for r in records] == [0.3, 1.0, 0.3, 1.0]
    assert records[1]["n_pairs"] == 70
    assert records[1]["n"] == len(test.x)


def test_it_can_be_stopped_and_refuses_metrics_of_all_pairs():
    with pytest.raises(JobCancelled):
        learning_curve(fit, PAIRS, PAIRS, (0.1, 1), callback=lambda *a: True)
    with pytest.raises(ValueError, match="metric of ranks"):
        learning_curve(fit, PAIRS, PAIRS, metrics=["AUC"])
