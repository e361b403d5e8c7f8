"""Findings say what a figure means, with its n and its baseline."""

from __future__ import annotations

import pytest

from simviz.evaluation.tables import finding

NAMES = {"query_name": "queries", "answer_name": "documents"}


@pytest.mark.parametrize(
    ("metric", "value", "baseline", "words"),
    [
        (
            "top-1",
            0.584,
            0.0026,
            "CCA puts the right one first for 58 % of 1,385 queries of the test part, out of "
            "all documents; guessing by popularity does for 0.3 %.",
        ),
        (
            "P@5",
            0.32,
            0.066,
            "Of its first 5 answers (documents), CCA gets 1.6 right on average, over 1,385 "
            "queries of the test part; guessing by popularity gets 0.3.",
        ),
        (
            "MRR",
            0.6432,
            None,
            "CCA reaches MRR 0.643 over 1,385 queries of the test part (1 is always "
            "first, ½ always second).",
        ),
        (
            "MAP",
            0.5,
            0.25,
            "CCA reaches MAP 0.500 over 1,385 queries of the test part (1 would be "
            "everything relevant before everything else); guessing by popularity reaches 0.250.",
        ),
    ],
)
def test_sentences(metric, value, baseline, words):
    assert finding("CCA", metric, value, 1385, baseline=baseline, **NAMES) == words


@pytest.mark.parametrize("metric", ["top-1", "P@5", "MRR"])
def test_queries_are_named_in_brackets(metric):
    names = {**NAMES, "query_name": "Job title (raw)"}
    assert "1,385 queries (Job title (raw)) of the" in finding("CCA", metric, 0.3, 1385, **names)
