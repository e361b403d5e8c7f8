"""What is said of a file: what changes it comes first, the rest is folded."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest
from waiting import LONG

from simviz.data import ColumnRoles, read_pairs
from simviz.workbench.data import review

MESSY = (
    "a;b;rel;one;two;two\n"
    "für;x;1;p;q;r\n"
    "für;y;0;s;t;u\n"
    "café;x;1;p;q;r\n"
    "café;x;0;p;q;r\n"
    "für;z;1;q;q;q\n"
    "thé;z;1;r;r;r\n"
    "thé;x;1;s;s;s\n"
    ";z;1\n"
)


def test_what_changes_the_file_comes_first_and_each_once():
    said = read_pairs(MESSY.encode("latin-1"), "messy.csv").notes
    told = review.ordered_notes(said)
    assert any("left out because" in line for line in said)
    assert not any("left out because" in line for line in told)  # these rows have their own list
    assert len(told) == len(set(told)) and len(told) > 4
    first = " ".join(told[:3])
    for words in ("Windows-1252", "3 columns were dropped", "both relevant and"):
        assert words in first
    assert "not listed" in told[-1]


def test_columns_that_were_dropped_for_the_same_reason_are_one_note():
    lines = b"one;two;a.b (c);x;y\np;q;r;a;b\ns;t;u;a;b"
    said = read_pairs(lines, "dropped.csv", ColumnRoles("x", "y")).notes
    many = [note for note in said if note.kind == "dropped"]
    assert [note.rows for note in many] == [(2, 3)] * 3
    (told,) = review.ordered_notes(many)
    assert told.startswith("3 columns were dropped") and told.endswith("'one', 'two', 'a.b (c)'.")
    assert review.ordered_notes(many[:1]) == many[:1]


def test_more_than_a_few_are_folded_and_nothing_is_markup():
    def page():
        from simviz.data.cells import Note
        from simviz.workbench.data import review

        review.show_notes([Note(f"<b>{i}</b> columns") for i in range(12)])
        review.show_notes([Note(f"{i} columns") for i in range(4)])
        review.show_notes([])

    app = AppTest.from_function(page, default_timeout=LONG).run()
    assert not app.exception
    many, few = [b.proto.body for b in app.get("html") if "<style" not in b.proto.body]
    assert "<summary>9 more notes</summary>" in many and "<b>" not in many
    assert many.count("<li>") == 12 and "&lt;b&gt;11" in many
    assert "<details" not in few and few.count("<li>") == 4


def test_a_column_that_may_judge_the_pairs_comes_first():
    lines = [f"q{i // 2};a{i};{'so' if i % 2 else 'other'};{'x' * i}" for i in range(8)]
    said = read_pairs("\n".join(["query;ad;remark;rest", *lines]).encode(), "q.csv").notes
    assert "column 'remark' ('other', 'so') holds judgments" in review.ordered_notes(said)[0]
