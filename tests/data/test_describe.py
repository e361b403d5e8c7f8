import numpy as np
import pytest

from simviz.data import PairSet
from simviz.data.description import Spread, describe, scripts_of
from simviz.data.pairs import Items
from simviz.relevance import Relevance


def test_sides_words_and_grades_are_counted():
    x = Items(["a", "b", "c"], ["Red car", "car", "дом"], "text", {"lang": np.array(list("abc"))})
    pixels = np.zeros((2, 4, 6, 3), dtype=np.uint8)
    relevance = Relevance.from_pairs([0, 0, 1], [0, 1, 1], [2, 1, -1], shape=(3, 2))
    told = describe(PairSet(x, Items(["0", "1"], pixels, "image"), relevance))
    assert (told.x.n, told.x.n_linked, told.x.n_words) == (3, 1, 3)
    assert told.x.answers == Spread(2, 2, 2, 2)
    assert told.x.characters.middle == 3
    assert told.x.scripts == (("Latin", pytest.approx(2 / 3)), ("Cyrillic", pytest.approx(1 / 3)))
    assert told.x.columns == ("lang",)
    assert told.y.size == (4, 6, 3) and told.y.words is None
    assert told.n_shared_words is None
    assert told.grades == (("2", 1), ("1", 1), ("-1", 1))


def test_scores_are_put_into_intervals_and_vectors_are_told_by_their_width():
    scores = np.linspace(0, 5, 20)
    vectors = Items([str(i) for i in range(20)], np.eye(20), "vector")
    relevance = Relevance.from_pairs(range(20), range(20), scores, shape=(20, 20), kind="score")
    told = describe(PairSet(vectors, vectors, relevance))
    assert told.is_score and len(told.grades) == 10
    assert sum(n for _, n in told.grades) == 20
    assert told.grades[0][0] == "4.5 to 5"
    assert told.x.size == (20,) and told.x.filled == pytest.approx(0.05)


def test_of_much_text_some_is_read(monkeypatch):
    monkeypatch.setattr("simviz.data.description._CHARACTERS", 100)
    texts = [f"word{i:02d} text" for i in range(50)]
    told = describe(PairSet.from_texts(texts, texts))
    assert 5 <= told.x.n_read < 20 and told.x.n_words == told.x.n_read + 1
    assert told.x.characters.most == 11


def test_scripts_of_mixed_and_odd_texts():
    texts = ["", "héart", "한국어 text", "ελληνικά", "\ud800", "中文", "ＦＵＬＬ", "العربية"]
    assert scripts_of(texts) == [
        "no letters",
        "Latin",
        "Latin",
        "Greek",
        "no letters",
        "Chinese characters",
        "Latin",
        "Arabic",
    ]
