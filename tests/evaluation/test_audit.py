"""Pairs that are wrong are found, named, and given a better partner; right ones are left."""

from __future__ import annotations

import itertools

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


WRONG = ((3, 150), (40, 99))


@pytest.fixture(scope="module")
def found():
    # Four wrong pairs among 216 that have so much in common come first by any seed; by this one
    # they get more than one half, and so a kind and a reason.
    return audit(swapped(*WRONG), seed=10)


@pytest.mark.parametrize("seed", range(3))
def test_swapped_pairs_come_first_by_any_seed(seed):
    values = audit(swapped(*WRONG), seed=seed)[["x_id", "probability_wrong"]].head(5)
    assert set(values["x_id"][:4]) == {"3", "150", "40", "99"}
    assert values["probability_wrong"][3] > 5 * values["probability_wrong"][4]


def test_swapped_pairs_come_first_with_their_own_partner(found):
    top = found.head(4)
    assert set(top["x_id"]) == {"3", "150", "40", "99"}
    better = dict(zip(top["x_id"], top["better_y_id"], strict=True))
    assert better == {"3": "150", "150": "3", "40": "99", "99": "40"}
    assert (top["probability_wrong"] > 0.5).all() and (top["kind"] == "swapped partner").all()
    assert found["probability_wrong"][4:].max() < 0.5
    assert len(found) == 216 and found["probability_wrong"].is_monotonic_decreasing
    assert "coche" not in top["why"][0] or "car" in top["why"][0]


def test_why_names_the_terms_of_the_better_partner(found):
    one = found[found["x_id"] == "3"].iloc[0]
    terms = {tuple(pair.split(" – ")) for pair in one["why"].split(", ")}
    assert terms and terms <= {(word, SPANISH[word]) for word in one["x"].split()}


def test_pairs_without_error_are_left_and_seeds_repeat():
    pairs = swapped()
    found = audit(pairs, seed=1)
    assert (found["probability_wrong"] > 0.5).sum() <= 0.02 * len(found)
    assert found.equals(audit(pairs, seed=1))


@pytest.mark.parametrize(("at", "seed"), [(17, 1), (55, 2), (93, 4)])
def test_exchanged_sides_are_told_and_no_right_pair_of_the_same_words(at, seed):
    x, y = both()
    x[at], y[at] = y[at], x[at]
    found = audit(PairSet.from_texts(x, y), seed=seed)
    assert found["x_id"][found["kind"] == "sides exchanged"].tolist() == [str(at)]
    assert found["x_id"][0] == str(at)


def test_several_partners_and_rejected_ones():
    _, y = both()
    queries = [" ".join(pair) for pair in itertools.product(SIZES, COLOURS)]
    row = np.repeat(np.arange(36), 6)
    column = np.arange(216)
    column[[5, 200]] = column[[200, 5]]
    grades = np.where(np.arange(216) % 2, 1.0, 2.0)
    judged = np.r_[row, 0], np.r_[column, 5], np.r_[grades, -1.0]
    relevance = Relevance.from_pairs(*judged, shape=(36, 216), unjudged="negative")
    found = audit(PairSet.from_texts(queries, y, relevance))
    assert len(found) == 216 and set(found["grade"]) == {1.0, 2.0}
    top = found.head(2)
    assert set(zip(top["x_id"], top["y_id"], strict=True)) == {("0", "200"), ("33", "5")}
    # What was judged is not proposed, also where a run swapped it away.
    given = set(zip(found["x_id"], found["y_id"], strict=True)) | {("0", "5")}
    assert not given & set(zip(found["x_id"], found["better_y_id"], strict=True))
    assert any("not relevant" in note for note in found.attrs["notes"])


def test_items_of_many_partners_get_others_than_those():
    _, y = both()
    queries = [" ".join(pair) for pair in itertools.product(SIZES, COLOURS)]
    y = [form.format(text) for text in y for form in ("{}", "un {}")]
    row, column = np.repeat(np.arange(36), 12), np.arange(432)
    column[[5, 400]] = column[[400, 5]]
    relevance = Relevance.from_pairs(row, column, shape=(36, 432), unjudged="negative")
    found = audit(PairSet.from_texts(queries, y, relevance))
    better = found.set_index(["x_id", "y_id"])["better_y_id"].to_dict()
    # Its neighbourhood has room for ten, all of which would be partners already.
    assert (better["0", "400"], better["33", "5"]) == ("5", "400")
    assert not better.keys() & set(zip(found["x_id"], found["better_y_id"], strict=True))


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


def test_progress_goes_on_and_stops():
    steps = []

    def watch(step, total, metrics):
        steps.append(step / total)
        return steps[-1] > 0.6

    with pytest.raises(JobCancelled):
        audit(swapped(), callback=watch)
    assert steps == sorted(steps) and 0.6 < steps[-1] < 1
    steps.clear()
    audit(swapped(), callback=lambda *step: steps.append(step[0] / step[1]))
    assert steps == sorted(steps) and steps[-1] == 1, "what follows a fit does not turn it back"


def test_too_few_pairs_are_refused():
    with pytest.raises(DatasetError, match="30"):
        audit(swapped().take(np.arange(20), np.arange(20)))
    assert simviz.audit is audit
