import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from simviz.exceptions import StoreError
from simviz.exports.linear import described
from simviz.features import HashedText
from simviz.features.spans import word_shares
from simviz.features.text import TextCounts, Tfidf
from simviz.persistence import load_state, save_state

TEXTS = ["a red heart", "a car, a red car", "a sun and a moon", "Red sun"]

words = st.text(alphabet="abcé ñß-1'", max_size=25)
corpora = st.lists(words, min_size=1, max_size=8)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ngram_range": (1, 3)},
        {"analyzer": "char_wb", "ngram_range": (3, 5)},
        {"analyzer": "char_wb", "ngram_range": (1, 8)},
        {"analyzer": "char", "ngram_range": (2, 4)},
        {"lowercase": False},
        {"min_df": 2},
        {"max_df": 0.5},
        {"min_df": 0.25, "max_df": 2},
        {"stop_words": ["red", "a"]},
        {"stop_words": "english"},
    ],
)
def test_counts_equal_those_of_scikit_learn(options):
    ours = TextCounts(**options).fit(TEXTS)
    peer = CountVectorizer(**options, **({} if "analyzer" in options else WORDS)).fit(TEXTS)
    assert ours.vocabulary_ == list(peer.get_feature_names_out())
    unseen = [*TEXTS, "one more red heartbeat", ""]
    counts = ours.transform(unseen)
    np.testing.assert_array_equal(counts.toarray(), peer.transform(unseen).toarray())
    assert counts.has_canonical_format and counts.dtype == np.float32


WORDS = {"token_pattern": r"[^\W_]+"}


def test_words_of_any_script_stay_whole():
    text = "x y2 2011 ñandú corazón हिन्दी में ภาษาไทย красное сердце 赤い ハート"
    vocabulary = TextCounts().fit([text.replace("ñandú ", "Ñandú_")]).vocabulary_
    assert vocabulary == sorted(text.split())


def test_one_letter_written_in_two_ways_is_one_term():
    composed, decomposed = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
    assert composed != decomposed
    counts = TextCounts().fit([composed])
    assert counts.transform([decomposed]).sum() == 1


def test_most_frequent_terms_are_kept_and_ties_go_by_code_point():
    counts = TextCounts(max_features=2).fit(["b a", "c c", "b a", "c"])
    assert counts.vocabulary_ == ["a", "c"]


@pytest.mark.parametrize(
    ("options", "texts", "message"),
    [
        ({"analyzer": "words"}, TEXTS, "analyzer.*'words'"),
        ({"ngram_range": (0, 1)}, TEXTS, r"1 <= low <= high.*got \(0, 1\)"),
        ({"ngram_range": (2, 1)}, TEXTS, "1 <= low <= high"),
        ({"ngram_range": (1, 99)}, TEXTS, "high <= 10"),
        ({"ngram_range": (1, 2, 3)}, TEXTS, "two whole numbers"),
        ({"ngram_range": (1, 1.5)}, TEXTS, "two whole numbers"),
        ({"min_df": -1}, TEXTS, "min_df"),
        ({"min_df": 3, "max_df": 2}, TEXTS, "Lower min_df or raise max_df"),
        ({"min_df": 4}, TEXTS, "leave none of 7 terms.*in 1 to 3 of 4 texts"),
        ({"analyzer": "char", "stop_words": ["a"]}, TEXTS, "stop_words are words"),
        ({"stop_words": [1]}, TEXTS, "stop_words takes.*item 0 is a int"),
        ({}, ["?!", " "], "No term was found in 2 texts.*try analyzer='char_wb'"),
        ({}, [], "got none"),
        ({}, "one text", "Put a single text in a list"),
        ({}, ["text", None], "item 1 is a NoneType"),
        ({}, 3, "got a int"),
    ],
)
def test_errors_say_what_to_do(options, texts, message):
    with pytest.raises(ValueError, match=message):
        TextCounts(**options).fit(texts)


def test_parameters_of_tfidf_are_validated_too():
    with pytest.raises(ValueError, match=r"tf.*'cube'"):
        Tfidf(tf="cube").fit(TEXTS)


def test_tfidf_by_hand():
    weights = Tfidf(normalize=False).fit(["a b b", "a c", "a"])
    np.testing.assert_allclose(weights.idf_, [0, np.log(3), np.log(3)])
    assert weights.n_texts_ == 3
    np.testing.assert_allclose(
        weights.transform(["a b b b c d"]).toarray(), [[0, 3 * np.log(3), np.log(3)]], rtol=1e-6
    )


def test_term_of_every_text_leaves_no_entry():
    weights = Tfidf().fit(["a b", "a c"])
    assert weights.transform(["a", "a b"]).nnz == 1


@pytest.mark.parametrize(("tf", "expected"), [("raw", 4.0), ("log1p", np.log(5)), ("log2", 3.0)])
def test_what_a_count_becomes(tf, expected):
    weights = Tfidf(tf=tf, normalize=False).fit(["b", "c"])
    got = weights.transform(["b b b b"]).toarray()
    np.testing.assert_allclose(got, [[expected * np.log(2), 0]], rtol=1e-6)


@settings(max_examples=40)
@given(corpora, corpora, st.sampled_from(["raw", "log1p", "log2"]))
def test_rows_have_length_one_or_are_empty(train, test, tf):
    weights = Tfidf("char_wb", (1, 3), tf=tf)
    if not any(text.strip() for text in train):
        return
    first = weights.fit_transform(train)
    for matrix in (first, weights.transform(test)):
        lengths = np.sqrt((matrix.toarray().astype(float) ** 2).sum(axis=1))
        assert matrix.dtype == np.float32
        assert np.all(np.isclose(lengths, 1, atol=1e-5) | (lengths == 0))
    np.testing.assert_array_equal(first.toarray(), weights.transform(train).toarray())


def test_no_texts_give_a_matrix_without_rows():
    assert Tfidf().fit(TEXTS).transform([]).shape == (0, 7)


@pytest.mark.parametrize("features", [TextCounts, Tfidf, HashedText])
def test_a_function_finds_the_words(features, tmp_path):
    def halves(text):
        return [text[:2], text[2:]]

    made = features(analyzer=halves, ngram_range=(1, 2), stop_words=["zz"])
    if features is HashedText:
        row = made.fit(["ABCD", "ZZY"]).transform(["abcd"])
        assert row.nnz == 3
    else:
        assert made.fit(["ABCD", "ZZY"]).vocabulary_ == ["ab", "ab cd", "cd", "y"]
    assert word_shares(made, "ABCD", ["ab"]) is None
    save_state({"x_features": made}, path := tmp_path / "made.simviz")
    with pytest.raises(StoreError, match=r"function 'halves'.*trusted"):
        load_state(path)
    again = load_state(path, trusted=[halves])["x_features"]
    assert (again.transform(["abcd"]) != made.transform(["abcd"])).nnz == 0
    with pytest.raises(StoreError, match=r"only the name.*def analyzer"):
        save_state({"x_features": features(analyzer=lambda text: [text])}, path)
    assert described(made) is None


def test_a_term_that_training_did_not_show_weighs_as_if_one_text_had_it():
    texts = ["a red heart", "a car, a red car", "a sun and a moon"]
    open_words = Tfidf(n_unseen=2**18, normalize=False).fit(texts)
    rare = open_words.transform(["moon moon"])
    unseen = open_words.transform(["zebra zebra"])
    assert unseen.data == pytest.approx(rare.data) == [2 * np.log(3)]
    first = len(open_words.vocabulary_)
    assert unseen.indices[0] >= first > rare.indices[0]
    assert open_words.names_in("a zebra")[unseen.indices[0]] == "zebra"
    # What training showed has the same weights with and without.
    known = Tfidf(normalize=False).fit(texts)
    np.testing.assert_array_equal(
        open_words.transform(texts).toarray()[:, :first], known.transform(texts).toarray()
    )
    assert open_words.transform(texts).nnz == known.transform(texts).nnz
    assert (open_words.fit_transform(texts) != open_words.transform(texts)).nnz == 0


@pytest.mark.parametrize(
    "limit", [{"min_df": 2}, {"min_df": 0.5}, {"max_df": 0.5}, {"max_df": 1}, {"max_features": 2}]
)
def test_terms_that_are_dropped_do_not_come_back_as_unseen(limit):
    with pytest.raises(ValueError, match="drop terms that it did"):
        TextCounts(n_unseen=8, **limit).fit(TEXTS)
