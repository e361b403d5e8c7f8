"""The n-gram matcher against the formula of its paper, set by set."""

import numpy as np
import pytest

from simviz.data import PairSet
from simviz.features import Trigrams
from simviz.methods.ngram_matcher import NgramMatcher
from simviz.pipeline import default_pipeline, load_pipeline

TITLES = ["clerk", "bank clerk", "banker", "clerk of works", "banana seller", "it", "ox"]


def by_hand(query, candidate):
    """M − match, with match = |symmetric difference| − |intersection|."""
    q, c = ({text[i : i + 3] for i in range(len(text) - 2)} for text in (query, candidate))
    return len(query) - (len(q ^ c) - len(q & c))


def similarity(queries, candidates):
    trigrams = Trigrams().fit([*candidates, "some other training text"])
    X, Y = trigrams.transform(queries), trigrams.transform(candidates)
    return NgramMatcher().fit(Y).similarity(X, Y)


def test_scores_are_those_of_the_paper():
    queries = ["senior bank clerk", "banananana", "abc", "zookeeper's zoo"]
    expected = [[by_hand(q, c) for c in TITLES[:5]] for q in queries]
    np.testing.assert_array_equal(similarity(queries, TITLES[:5]), expected)


def test_the_longest_contained_title_wins():
    assert TITLES[similarity(["junior bank clerk"], TITLES)[0].argmax()] == "bank clerk"


def test_short_texts_find_their_like_then_the_shortest():
    scores = similarity(["IT"], TITLES)[0]
    assert TITLES[scores.argmax()] == "it"
    others = [i for i in np.argsort(-scores, kind="stable") if TITLES[i] != "it"]
    assert TITLES[others[0]] == "ox" and TITLES[others[1]] == "clerk"


@pytest.mark.parametrize("blank", ["", "   "])
def test_nothing_scores_nothing(blank):
    assert not similarity([blank], TITLES).any()


def test_a_default_pipeline_reads_trigrams_and_survives_storing(tmp_path):
    pairs = PairSet.from_texts([f"the {t}" for t in TITLES], TITLES)
    pipeline = default_pipeline("ngram_matcher", pairs).fit(pairs)
    assert isinstance(pipeline.x_features, Trigrams) and pipeline.y_features is None
    pipeline.save(tmp_path / "matcher.simviz")
    loaded = load_pipeline(tmp_path / "matcher.simviz")
    new = PairSet.from_texts(["baker", "clerks", "ΩΨΦ"], ["bakery", "clerk", "ΩΨΦΔ"])
    scores = pipeline.similarity(new.x, new.y)
    np.testing.assert_array_equal(loaded.similarity(new.x, new.y), scores)
    np.testing.assert_array_equal(scores.argmax(axis=1), [0, 1, 2])
