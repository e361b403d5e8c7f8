"""The tests of published tables, by metric."""

from __future__ import annotations

import pytest

from simviz.evaluation.comparisons import published_protocol
from simviz.evaluation.metrics import RankLoss
from simviz.evaluation.significance import TESTS


@pytest.mark.parametrize(
    ("metric", "test", "correction"),
    [
        ("top-1", "unpaired t", "bonferroni"),
        ("MRR", "unpaired t", "bonferroni"),
        ("AUC", "subsets", "none"),
        (RankLoss(), "subsets", "none"),
        ("AUC (by query)", "t", "none"),
        ("NDCG@3", "t", "none"),
        ("MAP", "t", "none"),
    ],
)
def test_each_metric_has_the_test_that_was_used(metric, test, correction):
    found = published_protocol(metric)
    assert (found.test, found.correction) == (test, correction)
    assert found.test in {*TESTS, "subsets"}
    assert found.caution.endswith(".")
