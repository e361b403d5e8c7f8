"""Topics of a trained pipeline on the items of a data set."""

from __future__ import annotations

import pytest

from simviz.data import PairSet
from simviz.explain.topics import RunTopics, has_topics, topic_rows
from simviz.methods import all_methods
from simviz.pipeline import default_pipeline

X = ["the red cat of the old house sleeps", "the dog runs to the green park", ""]
Y = ["el gato rojo de la casa vieja duerme", "el perro corre al parque verde", "zz zz zz zz zz zz"]


@pytest.fixture(scope="module")
def pairs():
    return PairSet.from_texts(X[:2] * 4 + X[2:], Y[:2] * 4 + Y[2:], x_name="English")


def topics_of(method, pairs, **params):
    pipeline = default_pipeline(method, pairs, n_components=2, **params).fit(pairs)
    return RunTopics.of(pipeline, pairs)


@pytest.mark.parametrize("method", ["jplsa", "cplsa", "pltm", "plsa", "lda"])
def test_topics_of_every_model_are_told(method, pairs):
    found = topics_of(method, pairs)
    assert len(found.perplexities) > 1 and found.perplexities[-1] < found.perplexities[0]
    tokens = found.x_theta.T @ found.x_tokens + found.y_theta.T @ found.y_tokens
    english, spanish = set(" ".join(X).split()), set(" ".join(Y).split())
    for topic in found.topics:
        assert topic.share == pytest.approx(tokens[topic.topic] / tokens.sum())
        assert topic.x_terms or topic.y_terms
        assert set(topic.x_terms) <= english, "each side with the terms that it uses"
        assert set(topic.y_terms) <= spanish


def test_items_lead_to_topics_and_back(pairs):
    found = topics_of("jplsa", pairs, shared=False)
    cat, dog = (found.leading("x", i)[0][0] for i in (0, 1))
    assert cat != dog
    typical = set(found.typical("y", cat, 9))
    assert typical >= {0, 2, 4, 6} and not typical & {1, 3, 5, 7}
    named = found.named(cat)
    assert "cat" in named.x_terms and "gato" in named.y_terms
    assert found.leading("x", 8) == [], "nothing is known of an empty text"
    assert 8 not in found.typical("x", cat, 9) and found.leading("x", 0, least=1.1) == []
    assert found.label(cat, 1, "y") == named.y_terms[0]
    head, first, *_ = topic_rows(found, pairs, 1)
    assert head[:3] == ["topic", "share of tokens", "English: terms"]
    row, item = dict(zip(head, first, strict=True)), found.typical("x", first[0] - 1, 1)[0]
    assert row["English: typical ids"] == str(pairs.x.ids[item])
    assert row["English: typical"] == pairs.x.content[item]


def test_one_collection_has_one_column_of_terms():
    texts = [f"{a} {b} {a}{b} or {b}{a} then {a}" for a in "abcd" for b in "efgh"]
    single = PairSet.from_texts(texts, texts)
    one = PairSet(single.x, single.x, single.relevance, x_name="notes")
    found = topics_of("plsa", one)
    rows = topic_rows(found, one)
    assert found.one_side and len(rows[0]) == 6 and len(rows) == 3
    assert found.topics[0].x_terms == found.topics[0].y_terms


def test_topic_models_have_topics_and_others_none(pairs):
    family = {name for name, cls in all_methods().items() if cls.tags.family == "topic"}
    assert {name for name in [*all_methods(), "nosuch"] if has_topics(name)} == family
    with pytest.raises(ValueError, match="CCA has no topics"):
        RunTopics.of(default_pipeline("cca", pairs, n_components=1).fit(pairs), pairs)
