"""Hashed terms: the terms of the other features, in columns that a hash chooses."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.feature_extraction.text import HashingVectorizer

from simviz.features import HashedText, Tfidf

TEXTS = ["a red heart", "a car, a red car", "a sun and a moon", "Red sun", ""]
corpora = st.lists(st.text(alphabet="abcé ñß-1'\ud800", max_size=25), min_size=1, max_size=8)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize(
    "options", [{"ngram_range": (1, 2)}, {"analyzer": "char_wb", "ngram_range": (3, 4)}]
)
def test_equals_scikit_learn_where_both_have_the_same_terms(options, signed):
    ours = HashedText(512, idf=False, signed=signed, normalize=False, **options).fit(TEXTS)
    words = {} if "analyzer" in options else {"token_pattern": r"[^\W_]+"}
    peer = HashingVectorizer(
        n_features=512, alternate_sign=signed, norm=None, **options, **words
    ).fit(TEXTS)
    np.testing.assert_array_equal(ours.transform(TEXTS).toarray(), peer.transform(TEXTS).toarray())


@pytest.mark.parametrize("tf", ["raw", "log1p", "log2"])
def test_with_columns_enough_similarities_are_those_of_tfidf(tf):
    known = Tfidf(tf=tf).fit_transform(TEXTS)
    hashed = HashedText(2**20, tf=tf).fit_transform(TEXTS)
    np.testing.assert_allclose(
        (hashed @ hashed.T).toarray(), (known @ known.T).toarray(), atol=1e-6
    )


def test_idf_is_of_columns_and_empty_texts_are_empty_rows():
    hashed = HashedText(2**16, normalize=False).fit(TEXTS)
    assert hashed.n_texts_ == 5
    matrix = hashed.transform(["red", "", "?!", "neverseen"])
    np.testing.assert_allclose(np.abs(matrix[0].data), [np.log(5 / 3)], rtol=1e-6)
    assert np.diff(matrix.indptr).tolist() == [1, 0, 0, 1]
    np.testing.assert_allclose(np.abs(matrix[3].data), [np.log(5)], rtol=1e-6)
    assert (HashedText(64, idf=False).fit(TEXTS).idf_ == 1).all()
    assert HashedText(64).fit(TEXTS).transform([]).shape == (0, 64)


@settings(max_examples=40)
@given(corpora, st.sampled_from(["word", "char", "char_wb"]), st.booleans(), st.data())
def test_counting_in_parts_is_counting_at_once(texts, analyzer, idf, data):
    cut = data.draw(st.integers(0, len(texts)))
    hashed = HashedText(32, analyzer, (1, 2), idf=idf)
    whole = HashedText(32, analyzer, (1, 2), idf=idf).fit(texts)
    totals = hashed.count_totals(texts[:cut]).add(hashed.count_totals(texts[cut:]))
    parts = hashed.fit_totals(totals)
    np.testing.assert_array_equal(parts.idf_, whole.idf_)
    assert parts.n_texts_ == whole.n_texts_
    matrix = whole.transform(texts)
    lengths = np.sqrt((matrix**2).sum(axis=1))
    assert np.isclose(lengths, 1, atol=1e-5)[np.diff(matrix.indptr) > 0].all()


def test_bad_parameters_are_told():
    with pytest.raises(ValueError, match="n_features"):
        HashedText(0).fit(TEXTS)
    with pytest.raises(ValueError, match="ngram_range is two whole numbers"):
        HashedText(8, ngram_range=(2, 1), idf=False).fit(TEXTS)
    with pytest.raises(ValueError, match="got none"):
        HashedText(8).fit([])
    with pytest.raises(ValueError, match="item 1 is a int"):
        HashedText(8).fit(["a", 1])
    with pytest.raises(ValueError, match="stop_words are words"):
        HashedText(8, "char", stop_words=["a"]).fit(TEXTS)
