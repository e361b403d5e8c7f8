"""Text that is escaped reads as it was."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings, strategies as st

from simviz.markdown import escape_markdown


@given(st.text(alphabet=st.characters(blacklist_categories=("Cs", "Cc")), max_size=60))
@settings(max_examples=200)
def test_nothing_is_lost(text):
    shown = re.sub(r"\\([^\sA-Za-z0-9])", r"\1", escape_markdown(text))
    one_line = re.sub(r"\s+", " ", text)
    assert shown.replace("\u200b", "") == one_line.replace("\u200b", "")


def test_every_mark_is_escaped_and_what_begins_a_block_at_the_start():
    for mark in "\\`*_{}[]|<>~$^&":
        assert escape_markdown(f"a{mark}b") == f"a\\{mark}b"
    for mark in "#+-=":
        for space in ("", " "):
            assert escape_markdown(f"{space}{mark} a") == f"{space}\\{mark} a"
    for end in ".)":
        assert escape_markdown(f"1{end} one") == f"1\\{end} one"


@pytest.mark.parametrize("text", ["a -- b", "a -> b", "a <- b", "a <-> b", "a >= b", "a ~= b"])
def test_no_two_marks_are_drawn_as_one(text):
    escaped = escape_markdown(text)
    for joined in ("--", "->", "<-", ">=", "~="):
        assert joined not in escaped


def test_names_of_columns_are_heard_as_they_are_written():
    for name in ("Job title (raw)", "e-mail", "C#", "a + b", "Yes!", "x = y"):
        assert escape_markdown(name) == name


@pytest.mark.parametrize(
    "text", [":heart:", ":material/home:", ":red[x]", "http://a.b", "www.a.b", "me@a.b"]
)
def test_what_is_found_in_plain_text_is_broken_up(text):
    escaped = escape_markdown(text)
    assert "\u200b" in escaped
    for live in (":heart", ":material", ":red", "://", "www.", "@a"):
        assert live not in escaped
