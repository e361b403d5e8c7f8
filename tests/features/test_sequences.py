"""Characters and trigrams: what is read of a text, and what of a new one."""

import json
import unicodedata

import numpy as np
import pytest

from simviz.features import Characters, Trigrams


def ids(characters, *texts):
    return characters.transform(list(texts)).toarray().astype(int).tolist()


def test_ids_name_characters_in_the_order_of_the_text():
    characters = Characters(max_length=6, min_count=1).fit(["cab", "b a"])
    assert characters.alphabet_ == [" ", "a", "b", "c"]
    assert ids(characters, "cab", "A\t B", "") == [
        [5, 3, 4, 0, 0, 0],
        [3, 2, 4, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
    ]


def test_what_training_did_not_show_is_unknown():
    characters = Characters(max_length=3, min_count=1).fit(["ab"])
    assert ids(characters, "azb", "\U0001f680", "\ud800") == [[2, 1, 3], [1, 0, 0], [1, 0, 0]]


def test_rare_characters_are_unknown_in_training_unless_all_are_rare():
    assert Characters().fit(["aab", "ba", "q"]).alphabet_ == ["a", "b"]
    assert Characters().fit(["ab"]).alphabet_ == ["a", "b"]


def test_one_letter_is_one_character_however_it_is_written():
    texts = ["café", unicodedata.normalize("NFD", "café"), "CAFÉ"]
    rows = ids(Characters(max_length=6, min_count=1).fit(texts), *texts)
    assert rows[0] == rows[1] == rows[2] and rows[0][4] == 0


def test_every_script_and_plane_is_read():
    texts = ["программист", "护士", "ممرضة", "नर्स", "👩‍⚕️"]
    characters = Characters(min_count=1).fit(texts)
    assert characters.alphabet_ == sorted({c for t in texts for c in t})
    assert all(1 not in row for row in ids(characters, *texts))
    json.dumps(characters.alphabet_, ensure_ascii=False).encode()


def test_halves_of_characters_are_not_learned():
    characters, trigrams = Characters(min_count=1), Trigrams()
    assert characters.fit(["a\ud800"]).alphabet_ == ["a"]
    assert trigrams.fit(["abc\ud800"]).vocabulary_ == ["abc"]


def test_long_texts_are_cut():
    matrix = Characters(max_length=5).fit(["abcdefgh"]).transform(["a" * 1_000, "b"])
    assert matrix.shape == (2, 5) and matrix.nnz == 6


@pytest.mark.parametrize("transformer", [Characters(), Trigrams()])
def test_blank_texts_teach_nothing(transformer):
    with pytest.raises(ValueError, match="no character in 2"):
        transformer.fit(["", "  "])
    with pytest.raises(ValueError, match="Put a single text in a list"):
        transformer.fit("a text")


def test_trigrams_are_counted_with_repetitions():
    trigrams = Trigrams(n_unseen=1).fit(["banana"])
    assert trigrams.vocabulary_ == ["ana", "ban", "nan"]
    np.testing.assert_array_equal(trigrams.transform(["banana"]).toarray(), [[2, 1, 1, 0]])


def test_a_text_too_short_for_a_trigram_is_a_term():
    trigrams = Trigrams().fit(["it", "bit", "i"])
    assert trigrams.vocabulary_ == ["bit", "i", "it"]
    np.testing.assert_array_equal(
        trigrams.transform(["IT", "it's", ""]).toarray()[:, :3], [[0, 0, 1], [0, 0, 0], [0, 0, 0]]
    )


def test_unseen_trigrams_keep_their_number_and_match_one_another():
    trigrams = Trigrams().fit(["clerk"])
    new = trigrams.transform(["welder", "welder", "baker"])
    assert new.sum(axis=1).tolist() == [4, 4, 3]
    assert (new[[0]] != new[[1]]).nnz == 0
    assert new[[0]].multiply(new[[2]]).nnz == 0
