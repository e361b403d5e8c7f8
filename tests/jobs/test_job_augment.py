"""Augmentation is part of what a job is asked, and happens on the training part alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from made_up import has_note

from simviz.data import PairSet, split
from simviz.jobs import JobSpec
from simviz.jobs.training import augmented, train

TYPOS = {"kind": "typos", "share": 0.3}
COLOURS = ["red", "blue", "green", "gold", "pink"]


@pytest.fixture
def pairs():
    texts = [f"{colour} {thing}" for colour in COLOURS for thing in ("car", "bus", "tram", "ship")]
    return PairSet.from_texts(texts, texts)


def test_texts_of_other_parts_are_not_made(pairs):
    parts = split(pairs, seed=1)
    held_out = parts.validation, parts.test
    kept = {text for part in held_out for text in part.x.content}
    steps = [{"kind": "synonyms", "synonyms": [*map(list, permutations(COLOURS, 2))]}]
    more = augmented(steps, parts.train, held_out)
    assert not set(more.x.content) & kept
    assert augmented([], parts.train, held_out) is parts.train


def test_a_run_says_how_many_texts_were_made_and_measures_the_same_test(pairs):
    spec = JobSpec("d", pairs.digest, "cca", {"n_components": 4})
    plain, more = (
        train(replace(spec, augment=steps), pairs, lambda *_: False) for steps in ((), (TYPOS,))
    )
    words = "more texts, made from those of the training part"
    assert (has_note(plain, words), has_note(more, words)) == (False, True)
    for part, index in plain.parts.items():
        assert index.tolist() == more.parts[part].tolist()
    assert not (plain.pipeline.transform(pairs.x) == more.pipeline.transform(pairs.x)).all()
