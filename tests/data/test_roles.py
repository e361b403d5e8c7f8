"""Roles of columns, and what the words of labels mean."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from made_up import has_note

from simviz.data import from_frame, read_collection, read_pairs
from simviz.data.roles import SCALES, ColumnRoles, guess_roles, label_words, parse_labels
from simviz.data.tables import read_table
from simviz.data.templates import make_template
from simviz.exceptions import DatasetError


def guess(header, *rows):
    text = "\n".join([header, *(rows or ["some words,other words,1"])])
    return guess_roles(read_table(text.encode(), "q.csv"))


def columns_of(roles):
    fields = ("x", "y", "x_id", "y_id", "label", "split", "group")
    return " ".join(f"{f}={getattr(roles, f)}" for f in fields if getattr(roles, f) is not None)


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        ("en,es", "heart,corazón", "x=en y=es"),
        ("document,query", "long text,word", "x=query y=document"),
        ("x_text,y_text,score", "a,b,0.5", "x=x_text y=y_text label=score"),
        ("sentence1,sentence2,number", "a,b,3", "x=sentence1 y=sentence2 label=number"),
        (
            "qid,query,docid,doc,grade",
            "1,a,2,b,1",
            "x=query y=doc x_id=qid y_id=docid label=grade",
        ),
        (
            "queryText,queryId,docText,docId",
            "a,1,b,2",
            "x=queryText y=docText x_id=queryId y_id=docId",
        ),
        ("x_id,y_id,grade", "q1,d1,2", "x=x_id y=y_id x_id=x_id y_id=y_id label=grade"),
        (
            "title,group_id,group_name,is_preferred",
            "nurse,7,care,1",
            "x=title y=group_name y_id=group_id",
        ),
        ("topic,left,right,part,verdict", "t1,a,b,dev,x", "x=left y=right split=part group=topic"),
        # A class name is no judgment where nothing else could be the other side.
        ("text,label", "a nice film,comedy", "x=text y=label"),
    ],
)
def test_roles_from_names(header, row, expected):
    roles = guess(header, row)
    assert columns_of(roles) == expected
    assert set(roles.reasons) == {word.split("=")[0] for word in expected.split()}


def test_columns_with_a_side_in_their_name_describe_that_side():
    roles = guess("query,query_lang,doc_title,doc_text,doc_year", "a,en,t,a long text,1999")
    assert (roles.x, roles.y) == ("query", "doc_text")
    assert roles.x_metadata == ("query_lang",)
    assert roles.y_metadata == ("doc_title", "doc_year")


def test_a_column_of_parts_is_the_split_whatever_its_name():
    assert guess("a,b,c", "s,t,train", "u,v,test").split == "c"
    # One word alone may be a coincidence.
    assert guess("a,b,c", "s,t,test").split is None


def test_a_constant_column_is_no_side():
    roles = guess("text,lang,name", "a,en,b", "c,en,d")
    assert (roles.x, roles.y) == ("text", "name")


def test_numbers_are_no_side_though_a_last_line_says_total():
    lines = [f"{i};drill {i};{i},99;Bohrer {i}" for i in range(20)]
    text = "\n".join(["Nr.;Bez. lang;Preis;b titel ?", *lines, "total;;;"])
    roles = guess_roles(read_table(text.encode(), "t.csv"))
    assert (roles.x, roles.y) == ("Bez. lang", "b titel ?")


def test_a_label_with_a_typing_error_is_still_the_label():
    assert guess("x,y,label", "a,b,1", "c,d,0", "e,f,oops").label == "label"


@pytest.mark.parametrize("names", ["1,2", "id,uid"])
def test_any_two_columns_get_roles(names):
    roles = guess(names, "3,4")
    assert {roles.x, roles.y} == set(names.split(","))


def test_corrections_are_checked():
    table = read_table(b"query,document,grade\na,b,1\n", "q.csv")
    roles = guess_roles(table)
    with pytest.raises(DatasetError, match=r"q\.csv has no column 'docment'. Did you mean 'docu"):
        replace(roles, y="docment").check(table)
    with pytest.raises(DatasetError, match="'query' cannot be both x and y"):
        ColumnRoles(x="query", y="query").check(table)
    with pytest.raises(DatasetError, match="'grade' cannot be both y and label"):
        replace(roles, y="grade").check(table)


def parse(*cells, name="label", delimiter=",", kind=None, labels=None):
    lines = [delimiter.join(["x", "y", name])]
    lines += [delimiter.join(["a", "b", cell]) for cell in cells]
    table = read_table("\n".join(lines).encode(), "q.csv")
    return parse_labels(table, name, np.arange(len(cells)), kind, labels=labels)


def test_zero_becomes_judged_not_relevant_and_the_note_says_so():
    values, kind, notes = parse("1", "0", "2", "0")
    assert values.tolist() == [1, -1, 2, -1] and kind == "grade"
    assert "2 labels 0 in column 'label': judged not relevant" in notes[0]
    values, _, notes = parse("Exact", "partial", "Not-Relevant", "YES", "0")
    assert values.tolist() == [2, 1, -1, 1, -1]
    assert "exact = 2" in notes[0] and "not relevant = -1" in notes[0]


@pytest.mark.parametrize(
    ("cells", "options", "message"),
    [
        (("1", "blue", "2"), {}, r"q\.csv, line 3, column 'label': 'blue' is not a lab"),
        (("1", "1e999"), {}, r"line 3, column 'label': '1e999' is too large"),
        (("0", "-1", "no"), {}, "all of the 3 labels say 'not relevant'"),
        (("", "nan"), {}, "holds no label"),
        (("0_5", "1"), {"delimiter": ";"}, "'0_5' is not a label"),
        # Letters mean nothing beside other words.
        (("A", "B", "C"), {}, r"'a' \(1 row\), 'b' \(1 row\), 'c' \(1 row\)"),
        (("a",), {"labels": {"a": "high"}}, "labels says 'a' = 'high'"),
        (("not so",), {"labels": {"Not-so": 1, "not so": 0}}, "'not so' two meanings, 1 and 0"),
    ],
)
def test_labels_that_cannot_be_understood_are_refused(cells, options, message):
    with pytest.raises(DatasetError, match=message):
        parse(*cells, **options)


def test_many_fractions_are_scores_and_few_are_grades():
    fractions = [f"{i / 16}" for i in range(1, 16)]
    values, kind, notes = parse("0", *fractions)
    assert kind == "score" and values[0] == 0 and "from the middle, 0.46875" in notes[0]
    assert parse("0.5", "1", "1.5", "0")[1] == "grade"
    assert parse("0.5", "1", "1.5", "0", name="similarity")[1] == "score"
    assert parse(*fractions, kind="grade")[1] == "grade"


def test_a_decimal_comma_counts_where_semicolons_separate():
    assert parse("0,5", "1", delimiter=";")[0].tolist() == [0.5, 1]
    assert parse("1", "2")[0].tolist() == [1, 2], "all may be relevant"


@pytest.mark.parametrize(
    ("words", "grades"),
    [
        ("same subset superset disjoint different", [2, 1, 1, -1, -1]),
        ("yes True match positive duplicate same", [1, 1, 1, 1, 1, 1]),
        ("no False no-match not_a_match negative not_duplicate yes", [-1, -1, -1, -1, -1, -1, 1]),
        ("relevant not-relevant irrelevant", [1, -1, -1]),
        ("relevant partially_relevant irrelevant", [2, 1, -1]),
        ("highly-relevant relevant irrelevant", [2, 1, -1]),
        ("perfect excellent good fair bad", [4, 3, 2, 1, -1]),
        ("exact substitute complement irrelevant", [3, 2, 1, -1]),
        ("E S C I", [3, 2, 1, -1]),
        ("exact partial irrelevant", [2, 1, -1]),
        ("yes partial no", [2, 1, -1]),
    ],
)
def test_the_words_of_a_scale_keep_its_order(words, grades):
    assert parse(*words.split())[0].tolist() == grades


@settings(max_examples=60)
@given(st.data())
def test_spelling_and_order_of_rows_change_no_grade(data):
    scale = data.draw(st.sampled_from(SCALES))
    words = data.draw(st.lists(st.sampled_from(sorted(scale)), min_size=1, max_size=30))
    cells = [*words, max(scale, key=scale.get), "3", "", "n/a"]
    gap, edge = st.sampled_from([" ", "  ", "-", "_", "\u00a0"]), st.sampled_from(["", " ", "\t"])
    odd = [data.draw(edge) + data.draw(gap).join(w.split(" ")) + data.draw(edge) for w in cells]
    odd = [data.draw(st.sampled_from([str.upper, str.title, str.lower]))(cell) for cell in odd]
    order = data.draw(st.permutations(range(len(odd))))
    expected = parse(*cells)[0]
    found = parse(*(odd[i] for i in order))[0]
    assert np.array_equal(found, expected[list(order)], equal_nan=True)


def test_unknown_words_are_listed_with_counts_and_what_to_do():
    with pytest.raises(DatasetError) as error:
        parse("same", "hm", "odd", "odd", "2")
    assert "'odd' (2 rows), 'hm' (1 row)." in str(error.value)
    assert "labels={'odd': 1, 'hm': -1}" in str(error.value)
    assert "'same'" not in str(error.value)


def test_what_is_given_goes_before_what_is_known():
    meaning = {"Same": 1, " hm": 0, "can't tell": None, "none": -1, "2": 5}
    cells = ("same", "hm", "can't tell", "none", "2", "3", "", "NaN", "n/a")
    values, _, notes = parse(*cells, labels=meaning)
    assert np.array_equal(values, [1, -1, np.nan, -1, 5, 3, *[np.nan] * 3], equal_nan=True)
    assert "2 = 5, same = 1, hm = 0, none = -1, can't tell = not judged" in notes[0]
    _, _, notes = parse("same", labels={"sane": 2})
    assert "None of the words in labels stands in column 'label'." in notes


def test_words_are_counted_in_one_spelling():
    table = read_table(b"x,y,g\na,b,hm\nc,d,HM \ne,f,same\ng,h,1\ni,j,\n", "q.csv")
    found = [(w.word, w.count, w.grade) for w in label_words(table, "g")]
    assert found == [("same", 1, 1), ("hm", 2, None)]


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
    assert has_note(result, "same = 2", "disjoint = -1")


def test_words_that_may_describe_an_item_are_the_label_beside_two_texts_only():
    assert label(rows("available", ["yes", "no"])) == "available"
    more = rows("available,place", ["yes", "no", "no", "yes"], more=",here")
    assert label(more) is None
    assert has_note(read_pairs(more, "q.csv"), "'available' ('yes', 'no') holds")


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
    for column, result in (
        (name, read_pairs(rows(name, OWN), "q.csv", roles)),
        ("remark", read_pairs(rows("remark", OWN), "q.csv")),
    ):
        assert result.roles.label is None and values(result) == [1, 1, 1, 1]
        [note] = [note for note in result.notes if "holds judgments" in note]
        assert note.startswith("Every row counts as a relevant pair")
        assert f"column '{column}' ('fits', 'hm', 'no way')" in note


def test_what_follows_from_an_item_is_no_judgment():
    data = "query,ad,lang\n" + "".join(f"q{i % 3},d{i},{'ab'[i % 3 > 1]}\n" for i in range(12))
    result = read_pairs(data.encode(), "q.csv")
    assert "lang" in result.pairs.x.metadata
    assert not any("holds judgments" in note for note in result.notes)


def test_many_words_are_no_label():
    many = rows("label", [f"name {i}" for i in range(60)])
    result = read_pairs(many, "q.csv")
    assert result.roles.label is None
    assert has_note(result, "'label' ('name 0', 'name 1', 'name 2', …) holds judgments")
    assert read_pairs(rows("remark", [f"r {i}" for i in range(60)]), "q.csv").notes == (
        "Every pair that is not listed counts as not relevant.",
    )


@pytest.mark.parametrize("name", ["label", "remark"])
def test_given_words_tell_the_label(name):
    meaning = {"fits": 2, "hm": None, "No-way": 0}
    result = read_pairs(rows(name, OWN), "q.csv", labels=meaning)
    assert result.roles.label == name and values(result) == [-1, 2, 2]
    assert result.left_out == ((3, "the label says: not judged"),)
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
