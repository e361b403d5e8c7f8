import numpy as np
import pytest
import scipy.sparse as sp

from simviz.data.pairs import KINDS
from simviz.features import default_features, empty_share, why_impossible
from simviz.features._defaults import INPUTS

CONTENT = {
    "text": ["a red heart", "a car"],
    "keyword": ["heart", "car"],
    "image": np.eye(16, dtype=np.uint8)[None] * 255,
    "vector": np.eye(3),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("input", INPUTS)
def test_every_cell_gives_features_or_the_reason(kind, input):
    reason = why_impossible(kind, input)
    if reason is None:
        content = CONTENT[kind]
        matrix = default_features(kind, input, content=content).fit_transform(content)
        assert matrix.shape[0] == len(content)
        assert empty_share(matrix) == 0
        if input == "counts":
            assert matrix.min() >= 0
    else:
        spelt = input in ("characters", "trigrams") and kind in ("image", "vector")
        read = input == "pretrained" and kind in ("keyword", "image")
        assert (kind, input) == ("image", "counts") or spelt or read
        with pytest.raises(ValueError, match="Choose a method that reads vectors"):
            default_features(kind, input)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_negative_vectors_are_not_counts(form):
    content = form(np.array([[1.0, -1.0]]))
    assert "below 0" in why_impossible("vector", "counts", content=content)
    assert why_impossible("vector", "tfidf", content=content) is None
    assert why_impossible("vector", "counts", content=abs(content)) is None


@pytest.mark.parametrize("input", ["tfidf", "counts", "vectors"])
def test_short_texts_get_characters_and_long_ones_words(input):
    short = ["five words are too few"] * 3
    long = ["six words are enough for words"] * 2
    assert default_features("text", input, content=short + long).analyzer == "char_wb"
    assert default_features("text", input, content=short[:1] + long).analyzer == "word"
    assert default_features("text", input).analyzer == "word"


def test_options_win():
    decided = default_features("text", "tfidf", content=["car"], ngram_range=(1, 2), tf="log2")
    assert (decided.analyzer, decided.ngram_range, decided.tf) == ("word", (1, 2), "log2")
    assert default_features("text", "counts", content=["car"], min_df=2).ngram_range == (3, 5)


def test_near_misses_are_answered():
    with pytest.raises(ValueError, match="Did you mean 'counts'"):
        default_features("text", "count")
    with pytest.raises(ValueError, match="Did you mean 'image'"):
        why_impossible("images", "counts")
