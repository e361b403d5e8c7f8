"""Pairs that are wrong are found, named, and given a better partner; right ones are left."""

from __future__ import annotations

import itertools
from contextlib import nullcontext

import numpy as np
import pytest

import simviz
from simviz import PairSet, Relevance, audit
from simviz.data import Items
from simviz.exceptions import DatasetError, JobCancelled

SIZES = ("big", "small", "tiny", "huge", "wide", "long")
COLOURS = ("red", "blue", "green", "white", "black", "yellow")
THINGS = ("car", "house", "flower", "ship", "dress", "table")
SPANISH = dict(
    zip(
        (*SIZES, *COLOURS, *THINGS),
        "grande pequeño diminuto enorme ancho largo rojo azul verde blanco negro amarillo "
        "coche casa flor barco vestido mesa".split(),
        strict=True,
    )
)


def both():
    """English and Spanish, 216 phrases in order."""
    phrases = list(itertools.product(SIZES, COLOURS, THINGS))
    x = [" ".join(words) for words in phrases]
    return x, [" ".join(SPANISH[word] for word in reversed(words)) for words in phrases]


def swapped(*pairs):
    x, y = both()
    for a, b in pairs:
        y[a], y[b] = y[b], y[a]
    return PairSet.from_texts(x, y)


WRONG = {"3": "150", "150": "3", "40": "99", "99": "40"}


def test_swapped_pairs_come_first_with_their_own_partner():
    # Four wrong pairs among 216 that have so much in common come first by any seed; by this one
    # they get more than one half, and so a kind and a reason.
    found = audit(swapped((3, 150), (40, 99)), seed=10)
    top, chance = found.head(4), found["probability_wrong"]
    assert dict(zip(top["x_id"], top["better_y_id"], strict=True)) == WRONG
    assert (chance[:4] > 0.5).all() and (top["kind"] == "swapped partner").all()
    assert chance[4:].max() < 0.5 and chance.is_monotonic_decreasing and len(found) == 216
    for x, why in zip(top["x"], top["why"], strict=True):
        terms = {tuple(pair.split(" – ")) for pair in why.split(", ")}
        assert terms and terms <= {(word, SPANISH[word]) for word in x.split()}
    other = audit(swapped((3, 150), (40, 99)), seed=1)
    assert set(other["x_id"][:4]) == WRONG.keys()
    assert other["probability_wrong"][3] > 5 * other["probability_wrong"][4]


def test_pairs_without_error_are_left_and_seeds_repeat():
    pairs = swapped()
    found = audit(pairs, seed=1)
    assert (found["probability_wrong"] > 0.5).sum() <= 0.02 * len(found)
    assert found.equals(audit(pairs, seed=1))


def test_exchanged_sides_are_told_and_no_right_pair_of_the_same_words():
    x, y = both()
    x[55], y[55] = y[55], x[55]
    found = audit(PairSet.from_texts(x, y), seed=2)
    assert found["x_id"][found["kind"] == "sides exchanged"].tolist() == ["55"]
    assert found["x_id"][0] == "55"


def test_several_partners_and_rejected_ones():
    _, y = both()
    queries = [" ".join(pair) for pair in itertools.product(SIZES, COLOURS)]
    y = [form.format(text) for text in y for form in ("{}", "un {}")]
    row, column = np.repeat(np.arange(36), 12), np.arange(432)
    column[[5, 400]] = column[[400, 5]]
    grades = np.where(np.arange(432) % 2, 1.0, 2.0)
    judged = np.r_[row, 0], np.r_[column, 5], np.r_[grades, -1.0]
    relevance = Relevance.from_pairs(*judged, shape=(36, 432), unjudged="negative")
    found = audit(PairSet.from_texts(queries, y, relevance))
    assert len(found) == 432 and set(found["grade"]) == {1.0, 2.0}
    top = found.head(2)
    assert set(zip(top["x_id"], top["y_id"], strict=True)) == {("0", "400"), ("33", "5")}
    better = found.set_index(["x_id", "y_id"])["better_y_id"].to_dict()
    # Its neighbourhood has room for ten, all of which would be partners already; what was judged
    # is not proposed, also where a run swapped it away.
    assert better["33", "5"] == "400"
    given = better.keys() | {("0", "5")}
    assert not given & set(zip(found["x_id"], found["better_y_id"], strict=True))
    assert any("not relevant" in note for note in found.attrs["notes"])


def test_keywords_of_texts_are_audited_by_new_texts():
    x, _ = both()
    words = list(SPANISH.values())
    keyword = {word: at for at, word in enumerate(SPANISH)}
    row = np.array([keyword[word] for text in x for word in text.split()])
    column = np.repeat(np.arange(len(x)), 3)
    assert words[row[7 * 3 + 1]] == "azul"
    row[7 * 3 + 1] = words.index("negro")
    sides = Items(words, words, "keyword"), Items([str(i) for i in range(len(x))], x, "text")
    found = audit(PairSet(*sides, Relevance.from_pairs(row, column, shape=(len(words), len(x)))))
    first = found.iloc[0]
    assert (first["x"], first["y_id"], first["better_x"]) == ("negro", "7", "azul")
    assert list(found.columns[:4]) == ["x_id", "y_id", "x", "y"]


def test_vectors_are_audited_by_their_cosine_too():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 16))
    y = x + 0.3 * rng.normal(size=x.shape)
    y[[4, 9]] = y[[9, 4]]
    sides = [Items([str(i) for i in range(120)], side, "vector") for side in (x, y)]
    found = audit(PairSet(*sides, Relevance.identity(120), space="one"))
    assert set(found.head(2)["x_id"]) == {"4", "9"}


@pytest.mark.parametrize("stop", [0.6, None])
def test_progress_goes_on_and_stops(stop):
    steps = []

    def watch(step, total, metrics):
        steps.append(step / total)
        return stop is not None and steps[-1] > stop

    with pytest.raises(JobCancelled) if stop else nullcontext():
        audit(swapped(), callback=watch)
    assert steps == sorted(steps) and (stop or 1) <= steps[-1] <= 1
    assert (steps[-1] < 1) == bool(stop)


def test_too_few_pairs_are_refused():
    with pytest.raises(DatasetError, match="30"):
        audit(swapped().take(np.arange(20), np.arange(20)))
    assert simviz.audit is audit
