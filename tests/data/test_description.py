"""What data sets are made of, who asks, and which columns tell items apart."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.data import Items, PairSet, default_direction, infer_query_side
from simviz.data.description import (
    MISSING,
    Spread,
    describe,
    joined_column,
    paired_column,
    scripts_of,
    telling_columns,
)
from simviz.datasets import DEMOS
from simviz.relevance import Relevance
from simviz.store.datasets import default_query_side


def test_sides_words_and_grades_are_counted():
    x = Items(["a", "b", "c"], ["Red car", "car", "дом"], "text", {"lang": np.array(list("abc"))})
    pixels = np.zeros((2, 4, 6, 3), dtype=np.uint8)
    relevance = Relevance.from_pairs([0, 0, 1], [0, 1, 1], [2, 1, -1], shape=(3, 2))
    told = describe(PairSet(x, Items(["0", "1"], pixels, "image"), relevance))
    assert (told.x.n, told.x.n_linked, told.x.n_words) == (3, 1, 3)
    assert told.x.answers == Spread(2, 2, 2)
    assert told.x.characters.median == 3
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
    monkeypatch.setattr("simviz.data.description.CHARACTERS", 100)
    texts = [f"word{i:02d} text" for i in range(50)]
    texts[1:5] = [f"{text} that is not read" for text in texts[1:5]]
    told = describe(PairSet.from_texts(texts, texts))
    assert 5 <= told.x.n_read < 20 and told.x.n_words == told.x.n_read + 1
    assert told.x.characters.high == 28, "all are measured"


def test_scripts_of_mixed_and_odd_texts():
    texts = ["", "héart", "한국어 text", "ελληνικά", "\ud800", "中文", "ＦＵＬＬ", "العربية"]
    names = "no letters,Latin,Latin,Greek,no letters,Chinese characters,Latin,Arabic"
    assert scripts_of(texts) == names.split(",")


SHORT = ["an ox", "an elk", "a cow"]
LONG = ["a heavy animal that pulls", "a large deer with antlers", "an animal kept for milk"]


def pair_set(x, y, x_kind="text", y_kind="text", relevance=None, **names):
    sides = [
        Items([str(i) for i in range(len(side))], side, kind)
        for side, kind in ((x, x_kind), (y, y_kind))
    ]
    return PairSet(*sides, Relevance.coerce(relevance, len(x), len(y)), **names)


@pytest.mark.parametrize(
    "name", ["queries", "Search terms", "raw_title", "keywords", "user input", "question_1"]
)
def test_a_name_tells(name):
    assert default_direction(pair_set(SHORT, SHORT, x_name="titles", y_name=name)) == "y2x"
    assert default_direction(pair_set(LONG, SHORT, x_name=name, y_name="titles")) == "x2y"


def test_names_that_only_begin_so_or_stand_on_both_sides_tell_nothing():
    assert default_direction(pair_set(SHORT, SHORT, x_name="x", y_name="rawhide")) == "x2y"
    both = pair_set(LONG, SHORT, x_name="queries", y_name="tags")
    assert infer_query_side(both) == ("y2x", "tags, the shorter side")


def test_keywords_ask_for_pictures_and_texts():
    pictures = np.zeros((3, 4, 4), dtype=np.uint8)
    assert default_direction(pair_set(pictures, SHORT, "image", "keyword")) == "y2x"
    assert default_direction(pair_set(SHORT, LONG, "keyword", "text")) == "x2y"
    assert default_direction(pair_set(pictures, SHORT, "image", "text")) == "x2y"


def test_the_shorter_of_two_texts_asks_only_where_the_other_is_much_longer():
    assert infer_query_side(pair_set(LONG, SHORT)) == ("y2x", "y, the shorter side")
    assert infer_query_side(pair_set(LONG, [t[:12] for t in LONG])) == ("x2y", "x, the left side")
    assert default_direction(pair_set(SHORT, LONG)) == "x2y"


def test_of_judged_pairs_the_side_asks_that_can_be_wrong():
    one_each = sp.csr_array(np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]))
    pairs = pair_set(
        SHORT + LONG[:1], SHORT[:2], relevance=Relevance(one_each, "ignore"), x_name="queries"
    )
    reason = "y, the only side whose answers can be ranked wrongly"
    assert infer_query_side(pairs) == ("y2x", reason)
    assert infer_query_side(pairs.swap()).direction == "x2y"


def test_exchanged_sides_are_guessed_alike_where_anything_tells():
    for pairs in (pair_set(LONG, SHORT), pair_set(SHORT, SHORT, x_name="pages", y_name="tags")):
        assert {default_direction(pairs), default_direction(pairs.swap())} == {"x2y", "y2x"}


def test_a_demo_names_its_query_side():
    pairs = pair_set(SHORT, SHORT, x_name="keywords", y_name="icons")
    assert default_direction(pairs) == "x2y"
    assert default_query_side("demo:icons", pairs).direction == DEMOS["icons"].direction == "y2x"
    assert default_query_side("demo:icons", pairs).reason.startswith("icons")
    assert default_query_side("icons", pairs) == infer_query_side(pairs)


def items(n, **columns):
    metadata = {name: np.asarray(values) for name, values in columns.items()}
    return Items([str(i) for i in range(n)], ["text"] * n, "text", metadata)


def test_columns_of_either_side_are_offered():
    x = items(4, kind=["a", "a", "b", "b"], name=["p", "q", "r", "s"], same=["c"] * 4)
    y = items(2, length=[1.5, 2.5], constant=[1, 1])
    assert telling_columns(x, y) == ("kind", "length")


def test_side_without_the_column_is_missing():
    x, y = items(2, kind=np.array(["a", None], dtype=object)), items(1)
    assert joined_column(x, y, "kind").tolist() == ["a", MISSING, MISSING]
    numbers = joined_column(items(1), items(2, length=[3, 4]), "length")
    assert numbers.dtype == np.float64
    np.testing.assert_array_equal(numbers, [np.nan, 3.0, 4.0])


def test_numbers_and_words_of_one_name_become_words():
    joined = joined_column(items(1, year=[2001]), items(1, year=["old"]), "year")
    assert joined.tolist() == ["2001", "old"]


def test_missing_numbers_among_objects_are_no_group():
    column = np.array(["a", float("nan"), "a", "b", "b", None], dtype=object)
    joined = joined_column(items(6, kind=column), items(1), "kind").tolist()
    assert joined == ["a", MISSING, "a", "b", "b", MISSING, MISSING]


def test_side_without_the_column_takes_it_through_its_pairs():
    belongs = Relevance.from_pairs(
        [0, 1, 1, 2, 2], [0, 0, 1, 0, 2], [1, 3, 1, 1, -1], shape=(4, 3)
    )
    y = items(3, kind=["a", "b", "c"], year=[2000, 2010, 1990])
    pairs = PairSet(items(4), y, belongs)
    assert paired_column(pairs, "kind").tolist() == ["a", "a", "a", MISSING, "a", "b", "c"]
    numbers = paired_column(pairs, "year")
    np.testing.assert_array_equal(numbers[:4], [2000, 2005, 2000, np.nan])
    turned = PairSet(y, items(4), belongs.T)
    assert paired_column(turned, "kind").tolist()[3:] == ["a", "a", "a", MISSING]
    unknown = PairSet(
        items(1), items(3, kind=[None, None, "c"]), Relevance(sp.csr_array([[1, 1, 1]]))
    )
    assert paired_column(unknown, "kind")[0] == "c", "what is not known has no vote"
    both = PairSet(items(3, kind=[None, "q", "r"]), y, Relevance.identity(3))
    assert paired_column(both, "kind").tolist()[0] == MISSING, "its own column says nothing"


def test_unknown_column_is_refused():
    with pytest.raises(KeyError):
        joined_column(items(1), items(1), "kind")


def test_equal_hashes_are_no_repeats_and_repeats_are_found():
    from simviz.data.cells import are_distinct, as_text, factorize

    assert are_distinct([]) and are_distinct(["a", "b"]) and not are_distinct(["a", "b", "a"])
    for values in (["b", "a", "b"], ["b", "a"]):
        codes, first, distinct = factorize(as_text(values))
        assert list(distinct[codes]) == values and list(distinct) == ["b", "a"]
        assert first.tolist() == [0, 1]
