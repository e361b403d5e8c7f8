"""The taxonomy and the messy inputs that we wrote."""

from collections import Counter

import numpy as np
import pytest

import simviz
from simviz.data.augment import ListedSynonyms, mine
from simviz.data.pairs import GROUP_SEPARATOR
from simviz.datasets.job_titles import (
    load_job_titles,
    read_extra_words,
    read_inputs,
    read_synonyms,
    read_titles,
)

PARTS = ("pool", "validation", "test")


@pytest.fixture(scope="module")
def pairs():
    return load_job_titles()


def test_a_group_is_named_by_its_first_title():
    titles = read_titles()
    groups = {g for of in titles.values() for g in of}
    assert all(group in titles[group] for group in groups)


def test_titles_that_stand_in_several_groups_are_relevant_to_all_of_them(pairs):
    several = {title: of for title, of in read_titles().items() if len(of) > 1}
    assert set(several) == {"conductor", "controller", "editor"}
    x, y = pairs.x.content.tolist(), pairs.y.content.tolist()
    dense = pairs.relevance.positives[[x.index("conductor")]].toarray()[0]
    for title in ("violinist", "train guard", "conductor"):
        assert dense[y.index(title)] == 1
    assert dense[y.index("nurse")] == 0
    assert pairs.y.metadata["group"][y.index("conductor")] == GROUP_SEPARATOR.join(
        several["conductor"]
    )


def test_every_text_is_tidy_and_said_once():
    texts = [*read_titles(), *(text for part in PARTS for text in read_inputs(part))]
    folded = [text.casefold() for text in texts]
    assert len(set(folded)) == len(folded)
    assert all(text == " ".join(text.split()) and "|" not in text for text in texts)
    assert all(title == title.lower() for title in read_titles())


def test_inputs_for_training_are_no_items(pairs):
    assert not set(read_inputs("pool")) & set(pairs.x.content)
    assert set(read_inputs("test")) <= set(pairs.x.content)


def test_titles_train_and_inputs_test(pairs):
    parts = simviz.split(pairs, by="column")
    assert parts.train.x.content.tolist() == list(read_titles())
    assert parts.test.x.content.tolist() == list(read_inputs("test"))
    # Every title competes: each group has an input in the test.
    assert len(parts.test.y) == len(pairs.y)


def test_inputs_are_messy_in_several_ways(pairs):
    noise = Counter(pairs.x.metadata["noise"][pairs.x.metadata["split"] == "test"])
    assert set(noise) == {"extra words", "typo", "synonym", "abbreviation", "several"}
    assert min(noise["extra words"], noise["typo"], noise["synonym"]) >= 50


def test_a_title_within_an_input_is_mostly_the_one_meant():
    titles = read_titles()
    names = list(titles)
    for part in PARTS:
        gold = read_inputs(part)
        found = mine(list(gold), names)
        right = [gold[text] in titles[names[j]] for text, j in found]
        assert np.mean(right) > 0.9
    assert len(mine(list(read_inputs("pool")), names)) >= 100


def test_lists_of_words_do_something(pairs):
    train = simviz.split(pairs, by="column").train
    more = ListedSynonyms(read_synonyms()).transform(train)
    assert len(more.x) > 2 * len(train.x)
    words = read_extra_words()
    assert len(words) == len(set(words)) > 100
