"""What data sets are made of, who asks, and which columns tell items apart."""

import numpy as np
import pytest
import scipy.sparse as sp

from simviz.data import Items, PairSet, default_direction, infer_query_side
from simviz.data.cells import are_distinct, as_text, factorize
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


NAMES = ("queries", "Search terms", "raw_title", "keywords", "user input", "question_1")


@pytest.mark.parametrize(
    ("x", "y", "names", "expected"),
    [
        *((SHORT, SHORT, ("titles", n), ("y2x", f"{n}, by its name")) for n in NAMES),
        *((LONG, SHORT, (n, "titles"), ("x2y", f"{n}, by its name")) for n in NAMES),
        # A name that only begins so tells nothing, nor do two.
        (SHORT, SHORT, ("x", "rawhide"), ("x2y", "x, the left side")),
        (LONG, SHORT, ("queries", "tags"), ("y2x", "tags, the shorter side")),
        (LONG, SHORT, ("x", "y"), ("y2x", "y, the shorter side")),
        (SHORT, LONG, ("x", "y"), ("x2y", "x, the shorter side")),
        (LONG, [text[:12] for text in LONG], ("x", "y"), ("x2y", "x, the left side")),
    ],
)
def test_a_name_tells_who_asks_and_else_a_much_shorter_text(x, y, names, expected):
    assert infer_query_side(pair_set(x, y, x_name=names[0], y_name=names[1])) == expected


def test_keywords_ask_for_pictures_and_texts():
    pictures = np.zeros((3, 4, 4), dtype=np.uint8)
    assert default_direction(pair_set(pictures, SHORT, "image", "keyword")) == "y2x"
    assert default_direction(pair_set(SHORT, LONG, "keyword", "text")) == "x2y"
    assert default_direction(pair_set(pictures, SHORT, "image", "text")) == "x2y"


def test_of_judged_pairs_the_side_asks_that_can_be_wrong():
    one_each = sp.csr_array(np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]))
    pairs = pair_set(
        SHORT + LONG[:1], SHORT[:2], relevance=Relevance(one_each, "ignore"), x_name="queries"
    )
    reason = "y, the only side whose answers can be ranked wrongly"
    assert infer_query_side(pairs) == ("y2x", reason)
    assert infer_query_side(pairs.swap()).direction == "x2y"


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


def test_columns_of_both_sides_are_joined():
    some = np.array(["a", float("nan"), None], dtype=object)
    assert joined_column(items(3, kind=some), items(1), "kind").tolist() == ["a", *[MISSING] * 3]
    numbers = joined_column(items(1), items(2, length=[3, 4]), "length")
    assert numbers.dtype == np.float64
    np.testing.assert_array_equal(numbers, [np.nan, 3.0, 4.0])
    joined = joined_column(items(1, year=[2001]), items(1, year=["old"]), "year")
    assert joined.tolist() == ["2001", "old"]
    with pytest.raises(KeyError):
        joined_column(items(1), items(1), "kind")


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


def test_repeats_are_found():
    assert are_distinct([]) and are_distinct(["a", "b"]) and not are_distinct(["a", "b", "a"])
    codes, first, distinct = factorize(as_text(["b", "a", "b"]))
    assert [list(distinct[codes]), list(distinct)] == [["b", "a", "b"], ["b", "a"]]
    assert first.tolist() == [0, 1]
