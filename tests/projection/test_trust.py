"""The words on a drawing follow its measured quality."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simviz.projection import map_quality
from simviz.projection.trust import trust_level, trust_sentences
from simviz.relevance import Relevance


@pytest.fixture(scope="module")
def quality():
    points = np.random.default_rng(0).normal(size=(40, 2))
    return map_quality(
        points[:20], points[20:], points[:20], points[20:], relevance=Relevance.identity(20)
    )


@pytest.mark.parametrize(
    ("overlap", "words"),
    [
        (1.0, "Close to the model"),
        (0.5, "Close to the model"),
        (0.49, "A fair sketch"),
        (0.1, "A rough sketch"),
        (0.05, "Only a hint"),
        (0.0, "Only a hint"),
    ],
)
def test_level_falls_with_the_neighbours_kept(quality, overlap, words):
    assert trust_level(replace(quality, overlap=overlap)) == words


def test_sentences_tell_the_numbers(quality):
    told = trust_sentences(replace(quality, overlap=0.234, mrr_space=0.5, mrr_map=0.25))
    assert "23 % near" in told[0]
    assert "Trustworthiness 1.00" in told[1]
    assert "0.50 in the model and 0.25 on the drawing" in told[3]


def test_search_is_told_only_where_something_is_relevant(quality):
    assert len(trust_sentences(replace(quality, mrr_space=None, mrr_map=None))) == 3
