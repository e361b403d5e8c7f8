import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from simviz.data.roles import SCALES, label_words, parse_labels
from simviz.data.tables import read_table
from simviz.exceptions import DatasetError


def parse(*cells, name="label", delimiter=",", kind=None, labels=None):
    lines = [delimiter.join(["x", "y", name])]
    lines += [delimiter.join(["a", "b", cell]) for cell in cells]
    table = read_table("\n".join(lines).encode(), "q.csv")
    return parse_labels(table, name, np.arange(len(cells)), kind, labels=labels)


def test_zero_becomes_judged_not_relevant_and_the_note_says_so():
    values, kind, notes = parse("1", "0", "2", "0")
    assert values.tolist() == [1, -1, 2, -1] and kind == "grade"
    assert "2 labels 0 in column 'label': judged not relevant" in notes[0]


def test_words_are_read_and_shown():
    values, _, notes = parse("Exact", "partial", "Not-Relevant", "YES", "0")
    assert values.tolist() == [2, 1, -1, 1, -1]
    assert "exact = 2" in notes[0] and "not relevant = -1" in notes[0]


def test_an_unknown_word_names_row_and_column():
    with pytest.raises(DatasetError, match=r"q\.csv, line 3, column 'label': 'blue' is not a lab"):
        parse("1", "blue", "2")


def test_nothing_known_is_not_judged():
    values, _, _ = parse("1", "NaN", "", "n/a")
    assert np.isnan(values).tolist() == [False, True, True, True]


def test_an_infinite_label_names_its_row():
    with pytest.raises(DatasetError, match=r"line 3, column 'label': '1e999' is too large"):
        parse("1", "1e999")


def test_all_negative_is_refused_and_all_positive_is_not():
    with pytest.raises(DatasetError, match="all of the 3 labels say 'not relevant'"):
        parse("0", "-1", "no")
    assert parse("1", "2")[0].tolist() == [1, 2]


def test_no_label_at_all_is_refused():
    with pytest.raises(DatasetError, match="holds no label"):
        parse("", "nan")


def test_many_fractions_are_scores_and_few_are_grades():
    fractions = [f"{i / 16}" for i in range(1, 16)]
    values, kind, notes = parse("0", *fractions)
    assert kind == "score" and values[0] == 0 and "from the middle, 0.46875" in notes[0]
    assert parse("0.5", "1", "1.5", "0")[1] == "grade"
    assert parse("0.5", "1", "1.5", "0", name="similarity")[1] == "score"
    assert parse(*fractions, kind="grade")[1] == "grade"


def test_a_decimal_comma_counts_where_semicolons_separate():
    assert parse("0,5", "1", delimiter=";")[0].tolist() == [0.5, 1]
    with pytest.raises(DatasetError, match="'0_5' is not a label"):
        parse("0_5", "1", delimiter=";")


@pytest.mark.parametrize(
    ("words", "grades"),
    [
        ("same subset superset disjoint", [2, 1, 1, -1]),
        ("superset disjoint", [1, -1]),
        ("same different", [1, -1]),
        ("yes no", [1, -1]),
        ("True False", [1, -1]),
        ("match no-match not_a_match", [1, -1, -1]),
        ("positive negative", [1, -1]),
        ("duplicate not_duplicate", [1, -1]),
        ("relevant not-relevant irrelevant", [1, -1, -1]),
        ("relevant partially_relevant irrelevant", [2, 1, -1]),
        ("highly-relevant relevant irrelevant", [2, 1, -1]),
        ("good fair bad", [2, 1, -1]),
        ("perfect excellent good fair bad", [4, 3, 2, 1, -1]),
        ("exact substitute complement irrelevant", [3, 2, 1, -1]),
        ("E S C I", [3, 2, 1, -1]),
        ("exact partial irrelevant", [2, 1, -1]),
        ("yes partial no", [2, 1, -1]),
    ],
)
def test_the_words_of_a_scale_keep_its_order(words, grades):
    assert parse(*words.split())[0].tolist() == grades


def test_letters_mean_nothing_beside_other_words():
    with pytest.raises(DatasetError, match=r"'a' \(1 row\), 'b' \(1 row\), 'c' \(1 row\)"):
        parse("A", "B", "C")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_spelling_and_order_of_rows_change_no_grade(data):
    scale = data.draw(st.sampled_from(SCALES))
    words = data.draw(st.lists(st.sampled_from(sorted(scale)), min_size=1, max_size=30))
    cells = [*words, max(scale, key=scale.get), "3", "", "n/a"]
    gaps, edges = (
        st.sampled_from([" ", "  ", "-", "_", "\u00a0"]),
        st.sampled_from(["", " ", "\t"]),
    )
    odd = [
        data.draw(edges) + data.draw(gaps).join(word.split(" ")) + data.draw(edges)
        for word in cells
    ]
    odd = [data.draw(st.sampled_from([str.upper, str.title, str.lower]))(cell) for cell in odd]
    order = data.draw(st.permutations(range(len(odd))))
    expected = parse(*cells)[0]
    found = parse(*(odd[i] for i in order))[0]
    assert np.array_equal(found, expected[list(order)], equal_nan=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("a<>&\"'*=+@é\u202e$`", min_size=1, max_size=60), min_size=2, unique=True))
def test_any_word_can_be_given_a_meaning(words):
    cells = ['"' + f"w{w}".replace('"', '""') + '"' for w in words]
    with pytest.raises(DatasetError, match="is not a label that can be understood"):
        parse(*cells)
    meaning = {f"w{w}": i + 1 for i, w in enumerate(words)}
    assert parse(*cells, labels=meaning)[0].tolist() == list(range(1, len(words) + 1))


def test_unknown_words_are_listed_with_counts_and_what_to_do():
    with pytest.raises(DatasetError) as error:
        parse("same", "odd", "hm", "odd", "2")
    assert "'odd' (2 rows), 'hm' (1 row)." in str(error.value)
    assert "labels={'odd': 1, 'hm': -1}" in str(error.value)
    assert "'same'" not in str(error.value)


def test_what_is_given_goes_before_what_is_known():
    meaning = {"Same": 1, " hm": 0, "can't tell": None, "none": -1, "2": 5}
    values, _, notes = parse("same", "hm", "can't tell", "none", "2", "3", "", labels=meaning)
    assert np.array_equal(values, [1, -1, np.nan, -1, 5, 3, np.nan], equal_nan=True)
    assert "2 = 5, same = 1, hm = 0, none = -1, can't tell = not judged" in notes[0]


def test_meanings_that_cannot_be_are_refused():
    with pytest.raises(DatasetError, match="labels says 'a' = 'high'"):
        parse("a", labels={"a": "high"})
    with pytest.raises(DatasetError, match="gives 'not so' two meanings, 1 and 0"):
        parse("not so", labels={"Not-so": 1, "not so": 0})
    _, _, notes = parse("same", labels={"sane": 2})
    assert "None of the words in labels stands in column 'label'." in notes


def test_words_are_counted_in_one_spelling():
    table = read_table(b"x,y,g\na,b,hm\nc,d,HM \ne,f,same\ng,h,1\ni,j,\n", "q.csv")
    found = [(w.word, w.count, w.grade) for w in label_words(table, "g")]
    assert found == [("same", 1, 1), ("hm", 2, None)]
