"""Augmentation is part of what a job is asked, and happens on the training part alone."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from simviz.data import PairSet, split
from simviz.jobs import JobError, JobSpec
from simviz.jobs.training import augmented, train

TYPOS = {"kind": "typos", "share": 0.3}
BASE = JobSpec("d" * 32, "0" * 32, "ssi", {"n_components": 5}, workspace="me")


def quiet(stage, fraction, metrics):
    return False


@pytest.fixture
def pairs():
    colours, things = ["red", "blue", "green", "gold", "pink"], ["car", "bus", "tram", "ship"]
    texts = [f"{colour} {thing}" for colour in colours for thing in things]
    return PairSet.from_texts(texts, texts)


def test_steps_are_part_of_the_request():
    more = replace(BASE, augment=(TYPOS,))
    other = replace(BASE, augment=(TYPOS | {"share": 0.2},))
    assert len({BASE.digest, more.digest, other.digest}) == 3
    assert "augment" not in BASE.to_json(), "old requests keep their ids"
    back = JobSpec.from_json(json.loads(json.dumps(more.to_json())), "me")
    assert back == more and back.digest == more.digest
    assert JobSpec.from_json(BASE.to_json(), "me") == BASE


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({"kind": "typo"}, "Did you mean 'typos'"),
        ({"kind": "typos", "share": 3}, "between 0 and 1"),
        ({"kind": "synonyms", "synonyms": [["a"]]}, "lawyer = attorney"),
    ],
)
def test_what_cannot_be_done_is_refused_at_once(step, words):
    replace(BASE, augment=(TYPOS,)).check()
    with pytest.raises(JobError, match=words):
        replace(BASE, augment=(step,)).check()


def test_texts_of_other_parts_are_not_made(pairs):
    parts = split(pairs, seed=1)
    kept = [*parts.test.x.content, *parts.validation.x.content]
    exchange = [[a, b] for a in ("red", "blue", "green", "gold", "pink") for b in
                ("red", "blue", "green", "gold", "pink") if a != b]  # fmt: skip
    held_out = parts.validation, parts.test
    more = augmented([{"kind": "synonyms", "synonyms": exchange}], parts.train, held_out)
    assert not set(more.x.content) & set(kept)
    assert augmented([], parts.train, held_out) is parts.train


def test_a_run_says_how_many_texts_were_made_and_measures_the_same_test(pairs):
    spec = JobSpec("d", pairs.digest, "cca", {"n_components": 4})
    plain = train(spec, pairs, quiet)
    more = train(replace(spec, augment=(TYPOS,)), pairs, quiet)
    assert any("more texts, made from those of the training part" in n for n in more.notes)
    assert not any("more texts" in n for n in plain.notes)
    for part in plain.parts:
        assert plain.parts[part].tolist() == more.parts[part].tolist()
    assert not (plain.pipeline.transform(pairs.x) == more.pipeline.transform(pairs.x)).all()
