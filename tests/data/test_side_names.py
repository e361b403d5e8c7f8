"""What sides are called by the headings of their columns."""

from __future__ import annotations

import pytest

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
