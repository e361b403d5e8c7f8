"""What sides are called by the headings of their columns."""

from dataclasses import replace

import pytest

from simviz.data import PairSet
from simviz.data.cells import is_noun, side_name


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("queries", "queries"),
        ("English names", "English names"),
        ("Stellen-Anzeigen", "Stellen-Anzeigen"),
        ("商品", "商品"),
        ("Bez. lang", "left items (Bez. lang)"),
        ("b titel ?", "left items (b titel ?)"),
        ("text1", "left items (text1)"),
        ("a", "left items (a)"),
        ("Left", "left items"),
        ("column 1", "left items"),
        ("", "left items"),
        ("a\n b", "left items (a b)"),
        ("Bezeichnung (lang, nur für Kunden)", "left items (Bezeichnung (lang, nur …)"),
    ],
)
def test_a_heading_that_is_no_noun_stands_in_brackets(heading, name):
    assert side_name(heading, "x") == name
    assert is_noun(heading) is (name == heading)


def test_the_right_side_has_its_own_name():
    assert side_name("b?", "y") == "right items (b?)" and side_name("right", "y") == "right items"


@pytest.mark.parametrize(
    ("names", "nouns", "headings"),
    [
        (("queries", "documents"), ("queries", "documents"), ("queries", "documents")),
        (("Bez. lang", "b ?"), ("left items", "right items"), ("Bez. lang", "b ?")),
        (("a (b", ""), ("left items", "right items"), ("a (b", "right items")),
    ],
)
def test_sentences_have_nouns_and_headings_what_the_column_says(names, nouns, headings):
    pairs = PairSet.from_texts(["red"], ["rot"], x_name=names[0], y_name=names[1])
    read = replace(pairs, x_name=side_name(names[0], "x"), y_name=side_name(names[1], "y"))
    assert pairs.nouns == read.nouns == nouns
    assert read.headings == headings
    assert read.swap().headings == headings[::-1]
