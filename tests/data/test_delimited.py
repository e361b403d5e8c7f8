import csv
import io

import pytest
from hypothesis import given, settings, strategies as st

from simviz.data.tables import (
    QuoteError,
    iter_records,
    read_records,
    sniff_delimiter,
)
from simviz.exceptions import DatasetError

CELL = st.text(st.sampled_from("ab\",;\t\n\r '|é"), max_size=6)


def rows_of(text, delimiter=",", quoted=True):
    return [fields for _, fields in iter_records(text, delimiter, quoted)]


@settings(deadline=None, derandomize=True, max_examples=300)
@given(
    st.lists(st.lists(CELL, min_size=2, max_size=4), min_size=1, max_size=5),
    st.sampled_from(",;\t|"),
)
def test_what_the_standard_writer_writes_is_read_back(rows, delimiter):
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter).writerows(rows)
    expected = [row for row in rows if any(row)]
    assert rows_of(buffer.getvalue(), delimiter) == expected


def test_lines_are_counted_as_an_editor_counts():
    text = 'x,y\r\n\r\n"two\nlines",b\rc,"three\r\nmore\nlines"\n\nlast,e'
    assert [line for line, _ in iter_records(text, ",")] == [1, 3, 5, 9]


def test_spaces_around_quotes_do_not_unbind_them():
    assert rows_of('x, "a, b" ,c') == [["x", "a, b", "c"]]


def test_a_record_may_end_in_an_empty_cell():
    assert rows_of('"a",\n"b",') == [["a", ""], ["b", ""]]


def test_a_quote_inside_a_plain_cell_is_a_character():
    assert rows_of('5" pipe,b "c" d') == [['5" pipe', 'b "c" d']]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('x,y\na,"never closed\nb,c\n', 2, "never closed"),
        ('x,y\na,b\n"said" he,c\n', 3, "goes on"),
    ],
)
def test_broken_quotes_name_their_line(text, line, what):
    with pytest.raises(QuoteError, match=what) as caught:
        rows_of(text)
    assert caught.value.line == line
    with pytest.raises(DatasetError, match=rf"q\.csv, line {line}: .*{what}.*twice"):
        read_records("q.csv", text + "d,e,f\n", ",")


def test_tab_separated_text_without_quoting_keeps_its_quotes():
    text = 'x\ty\n"Yes," he said\tb\n5"\tc\n'
    records, notes = read_records("t.tsv", text, "\t")
    assert records[1] == (2, ['"Yes," he said', "b"])
    assert "no quoting" in notes[0]


def test_two_stray_quotes_do_not_swallow_the_lines_between():
    text = 'x\ty\n"one\ta\ntwo\tb\nthree"\tc\n'
    records, _ = read_records("t.tsv", text, "\t")
    assert [line for line, _ in records] == [1, 2, 3, 4]
    assert records[1][1] == ['"one', "a"]


def test_a_quoted_cell_may_span_lines_where_lines_alone_make_no_table():
    records, notes = read_records("t.csv", 'x,y\n"one\ntwo",b\n', ",")
    assert records == [(1, ["x", "y"]), (2, ["one\ntwo", "b"])] and notes == []


@pytest.mark.parametrize(
    ("text", "suffix", "delimiter"),
    [
        ('x,y\n"a, b; c",d\n', ".csv", ","),
        ("x\ty\none, two, three\tb\nfour, five, six\tc\n", "", "\t"),
        ('x;y\n"rot; rund";b, c\nblau;d, e\n', ".csv", ";"),
        ("x|y\na, b|c\n", ".txt", "|"),
        # Both stand in the header: the lines decide.
        ("x;text, y\na;b\nc;d, e, f\ng;h\n", ".csv", ";"),
        # Both fit: the name decides.
        ("a,b\tc,d\n1,2\t3,4\n", ".tsv", "\t"),
        ("a,b\tc,d\n1,2\t3,4\n", ".csv", ","),
        ('"x, first"\t"y, second"\n"a"\t"b"\n', ".csv", "\t"),
        ("one column\nof words\n", ".csv", None),
    ],
)
def test_sniffing(text, suffix, delimiter):
    assert sniff_delimiter(text, suffix) == delimiter


def test_sniffing_survives_a_sample_that_ends_within_quotes():
    text = 'x;y\n"' + "long, text\n" * 40_000 + '";b\n'
    assert sniff_delimiter(text) == ";"
