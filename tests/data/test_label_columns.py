"""Which column judges the pairs: never all rows relevant without a word about it."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from simviz.data import from_frame, guess_roles, read_collection, read_pairs, read_table
from simviz.data.templates import make_template
from simviz.exceptions import DatasetError

YIH = ["same", "subset", "superset", "disjoint"]
OWN = ["fits", "hm", "fits", "no way"]


def rows(name, cells, x="query", y="ad", more=""):
    lines = [f"q{i % 2},d{i},{cell}{more}" for i, cell in enumerate(cells)]
    return "\n".join([f"{x},{y},{name}", *lines]).encode()


def label(data):
    return guess_roles(read_table(data, "q.csv")).label


def values(result):
    return sorted(result.pairs.relevance.matrix.data.tolist())


@pytest.mark.parametrize("name", ["label", "relation", "how_they_lie", "class", "4"])
def test_words_of_a_scale_are_the_label_whatever_their_name(name):
    result = read_pairs(rows(name, YIH), "q.csv")
    assert result.roles.label == name
    assert values(result) == [-1, 1, 1, 2]
    assert any("same = 2" in note and "disjoint = -1" in note for note in result.notes)


def test_words_that_may_describe_an_item_are_the_label_beside_two_texts_only():
    assert label(rows("available", ["yes", "no"])) == "available"
    more = rows("available,place", ["yes", "no", "no", "yes"], more=",here")
    assert label(more) is None
    assert any(
        "'available' ('yes', 'no') holds" in note for note in read_pairs(more, "q.csv").notes
    )


def test_a_side_is_no_label():
    roles = guess_roles(read_table(rows("lang", ["en"] * 4, y="match"), "q.csv"))
    assert (roles.x, roles.y, roles.label) == ("query", "match", None)
    roles = guess_roles(read_table(b"qid,query,label\n1,a,sport\n2,b,sport\n3,c,art\n", "q.csv"))
    assert (roles.x, roles.y, roles.label) == ("query", "label", None)
    assert label(b"question,passage,answer\na,b,yes\nc,d,no\n") is None


@pytest.mark.parametrize("name", ["label", "Relevance", "judgments", "verdict"])
def test_unknown_words_under_the_name_of_a_judgment_are_asked_for(name):
    with pytest.raises(DatasetError, match=r"'fits' \(2 rows\), 'hm' \(1 row\), 'no way'"):
        read_pairs(rows(name, OWN), "q.csv")
    roles = replace(guess_roles(read_table(rows(name, OWN), "q.csv")), label=None)
    notes = read_pairs(rows(name, OWN), "q.csv", roles).notes
    assert any(f"column '{name}' ('fits', 'hm', 'no way') holds judgments" in n for n in notes)


def test_unknown_words_under_another_name_are_named():
    result = read_pairs(rows("remark", OWN), "q.csv")
    assert result.roles.label is None and values(result) == [1, 1, 1, 1]
    [note] = [n for n in result.notes if "holds judgments" in n]
    assert note.startswith("Every row counts as a relevant pair")
    assert "column 'remark' ('fits', 'hm', 'no way')" in note


def test_what_follows_from_an_item_is_no_judgment():
    data = "query,ad,lang\n" + "".join(f"q{i % 3},d{i},{'ab'[i % 3 > 1]}\n" for i in range(12))
    result = read_pairs(data.encode(), "q.csv")
    assert "lang" in result.pairs.x.metadata
    assert not any("holds judgments" in note for note in result.notes)


def test_many_words_are_no_label():
    many = rows("label", [f"name {i}" for i in range(60)])
    result = read_pairs(many, "q.csv")
    assert result.roles.label is None
    assert any(
        "'label' ('name 0', 'name 1', 'name 2', …) holds judgments" in n for n in result.notes
    )
    assert read_pairs(rows("remark", [f"r {i}" for i in range(60)]), "q.csv").notes == (
        "Every pair that is not listed counts as not relevant.",
    )


@pytest.mark.parametrize("name", ["label", "remark"])
def test_given_words_tell_the_label(name):
    meaning = {"fits": 2, "hm": None, "No-way": 0}
    result = read_pairs(rows(name, OWN), "q.csv", labels=meaning)
    assert result.roles.label == name and values(result) == [-1, 2, 2]
    assert [(item.row, item.reason) for item in result.left_out] == [
        (3, "the label says: not judged")
    ]
    frame = pd.DataFrame({"query": list("aabb"), "ad": list("cdef"), name: OWN})
    assert values(from_frame(frame, labels=meaning)) == [-1, 2, 2]
    roles = replace(result.roles, labels={})
    assert values(read_pairs(rows(name, OWN), "q.csv", roles, labels=meaning)) == [-1, 2, 2]
    assert values(read_collection({"q.csv": rows(name, OWN)}, labels=meaning)) == [-1, 2, 2]


def test_given_words_that_stand_nowhere_are_refused():
    with pytest.raises(DatasetError, match="no column is read as the label"):
        read_pairs(rows("remark", OWN), "q.csv", labels={"other": 1})


@pytest.mark.parametrize("name", ["label", "remark"])
def test_judgments_beside_items_are_read_in_words(name):
    files = {
        "queries.csv": b"id,text\nq0,heart\nq1,car\n",
        "documents.csv": b"id,text\n" + b"".join(b"d%d,text %d\n" % (i, i) for i in range(4)),
        "relevance.csv": rows(name, YIH, "x_id", "y_id"),
    }
    assert values(read_collection(files)) == [-1, 1, 1, 2]
    own = files | {"relevance.csv": rows(name, OWN, "x_id", "y_id")}
    meaning = {"fits": 1, "hm": 1, "no way": -1}
    assert values(read_collection(own, labels=meaning)) == [-1, 1, 1, 1]
    if name == "label":
        with pytest.raises(DatasetError, match="'no way' \\(1 row\\)"):
            read_collection(own)
    else:
        assert any("'remark' ('fits'" in note for note in read_collection(own).notes)


def test_labels_without_judgments_are_refused():
    files = {"queries.csv": b"id,text\n1,a\n", "documents.csv": b"id,text\n1,b\n"}
    with pytest.raises(DatasetError, match="no file holds judgments"):
        read_collection(files, labels={"fits": 1})


def test_the_template_holds_the_words_of_a_scale():
    result = read_pairs(make_template("labels.csv"), "labels.csv")
    assert result.roles.label == "label" and values(result) == [-1, -1, 1, 1, 2]


def test_the_only_column_of_0_and_1_is_the_label_and_a_count_is_none():
    head, row = "no,question 1,question 2,{},by\n", "{0},left {0},right {0},{1},kim\n"
    lines = "".join(row.format(i, i % 2) for i in range(20))
    for name in ("Duplicate?", "ok", "paraphrase"):
        roles = guess_roles(read_table((head.format(name) + lines).encode(), "q.csv"))
        assert (roles.x, roles.y, roles.label) == ("question 1", "question 2", name)
    two = head.format("ok,checked") + lines.replace(",kim", ",1,kim").replace(",1,1,", ",1,0,")
    assert label(two.encode()) is None
    assert label(b"title,team,seen\na,x,3\nb,y,17\n") is None
