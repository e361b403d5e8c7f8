import numpy as np
import pytest

from simviz.data.labels import parse_labels
from simviz.data.tables import read_table
from simviz.exceptions import DatasetError


def parse(*labels, name="label", delimiter=",", kind=None):
    lines = [delimiter.join(["x", "y", name])]
    lines += [delimiter.join(["a", "b", label]) for label in labels]
    table = read_table("\n".join(lines).encode(), "q.csv")
    return parse_labels(table, name, np.arange(len(labels)), kind)


def test_zero_becomes_judged_not_relevant_and_the_note_says_so():
    values, kind, notes = parse("1", "0", "2", "0")
    assert values.tolist() == [1, -1, 2, -1] and kind == "grade"
    assert "2 labels 0 in column 'label' became −1" in notes[0]


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
