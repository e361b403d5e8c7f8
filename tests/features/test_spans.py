import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from simviz.features import MultiHot, PretrainedText, TextCounts, Tfidf
from simviz.features.spans import character_weights

FORMS = [
    {},
    {"ngram_range": (1, 2)},
    {"stop_words": ["the"], "ngram_range": (2, 2)},
    {"analyzer": "char", "ngram_range": (2, 3)},
    {"analyzer": "char_wb", "ngram_range": (3, 5)},
    {"analyzer": "char_wb", "ngram_range": (5, 5), "lowercase": False},
]


@settings(max_examples=60)
@given(text=st.text("aA bB\n\téİß'1-the", max_size=40), form=st.sampled_from(FORMS))
def test_characters_add_up_to_the_terms_that_occur(text, form):
    features = TextCounts(**form)
    if not features._analyzer()(text):
        return
    features.fit([text])
    terms = features.get_feature_names_out()
    values = np.arange(1.0, len(terms) + 1)
    shown, weights = character_weights(features, text, terms, values)
    assert len(weights) == len(shown)
    if len(shown.lower()) == len(shown):
        assert weights.sum() == pytest.approx(values.sum())
    else:
        assert weights.sum() <= values.sum() + 1e-9


def test_a_value_stands_where_its_term_does():
    shown, weights = character_weights(
        Tfidf(ngram_range=(1, 2)), "Blue sea, blue SEA!", ["blue sea"], [14.0]
    )
    assert shown == "Blue sea, blue SEA!"
    assert np.flatnonzero(weights == 0).tolist() == [4, 8, 9, 14, 18]
    np.testing.assert_allclose(weights[weights > 0], 1.0)


def test_grams_at_the_edge_of_a_word_stand_inside_it():
    _, weights = character_weights(
        TextCounts(analyzer="char_wb", ngram_range=(3, 3)), "ab cd", [" ab", "cd "], [2.0, 4.0]
    )
    np.testing.assert_allclose(weights, [1, 1, 0, 2, 2])


def test_keywords_stand_between_their_delimiters():
    _, weights = character_weights(
        MultiHot(delimiter=";"), "Red car; sun", ["sun", "red car"], [3.0, 7.0]
    )
    np.testing.assert_allclose(weights, [1] * 7 + [0, 0] + [1] * 3)


def test_features_that_are_no_parts_of_a_text_have_no_places():
    assert character_weights(PretrainedText(), "a text", ["v0"], [1.0]) is None


def test_unknown_terms_stand_nowhere():
    assert not character_weights(TextCounts(), "red", ["blue"], [1.0])[1].any()
