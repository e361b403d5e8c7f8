"""The words on a drawing follow its measured quality."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simviz.projection import map_quality
from simviz.projection.quality import trust_level
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
        (1.0, "Map quality: good"),
        (0.5, "Map quality: good"),
        (0.49, "Map quality: fair"),
        (0.1, "Map quality: rough"),
        (0.05, "Map quality: poor"),
        (0.0, "Map quality: poor"),
    ],
)
def test_level_falls_with_the_neighbours_kept(quality, overlap, words):
    kept = replace(quality, cross_overlap=overlap, random_cross_overlap=0.0)
    assert trust_level(kept) == words


def test_level_counts_what_is_kept_beyond_chance(quality):
    lucky = replace(quality, cross_overlap=0.5, random_cross_overlap=0.5)
    assert trust_level(lucky) == "Map quality: poor"
    assert trust_level(replace(lucky, cross_overlap=0.2)) == "Map quality: poor"
    assert trust_level(replace(lucky, cross_overlap=0.8)) == "Map quality: good"
