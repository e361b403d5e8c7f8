from dataclasses import replace

import pytest

from simviz.data.roles import Roles, guess_roles
from simviz.data.tables import read_table
from simviz.exceptions import DatasetError


def guess(header, *rows):
    text = "\n".join([header, *(rows or ["some words,other words,1"])])
    return guess_roles(read_table(text.encode(), "q.csv"))


def given(roles):
    fields = ("x", "y", "x_id", "y_id", "label", "split", "group")
    return {f: getattr(roles, f) for f in fields if getattr(roles, f) is not None}


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        ("en,es", "heart,corazón", {"x": "en", "y": "es"}),
        ("document,query", "long text,word", {"x": "query", "y": "document"}),
        ("x_text,y_text,score", "a,b,0.5", {"x": "x_text", "y": "y_text", "label": "score"}),
        ("sentence1,sentence2,number", "a,b,3", {"x": "sentence1", "y": "sentence2"}),
        (
            "qid,query,docid,document,relevance",
            "1,a,2,b,1",
            {"x": "query", "y": "document", "x_id": "qid", "y_id": "docid", "label": "relevance"},
        ),
        (
            "queryText,queryId,docText,docId",
            "a,1,b,2",
            {"x": "queryText", "x_id": "queryId", "y": "docText", "y_id": "docId"},
        ),
        (
            "x_id,y_id,grade",
            "q1,d1,2",
            {"x": "x_id", "y": "y_id", "x_id": "x_id", "y_id": "y_id", "label": "grade"},
        ),
        (
            "title,group_id,group_name,is_preferred",
            "nurse,7,care,1",
            {"x": "title", "y": "group_name", "y_id": "group_id"},
        ),
        (
            "topic,left,right,part,verdict",
            "t1,a,b,dev,x",
            {"x": "left", "y": "right", "group": "topic", "split": "part"},
        ),
        # A class name is no judgment where nothing else could be the other side.
        ("text,label", "a nice film,comedy", {"x": "text", "y": "label"}),
    ],
)
def test_roles_from_names(header, row, expected):
    roles = guess(header, row)
    expected = expected | ({"label": "number"} if "number" in header else {})
    assert given(roles) == expected
    assert set(roles.reasons) == set(expected)


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


def test_a_label_with_a_typing_error_is_still_the_label():
    assert guess("x,y,label", "a,b,1", "c,d,0", "e,f,oops").label == "label"


def test_any_two_columns_get_roles():
    roles = guess("1,2", "3,4")
    assert {roles.x, roles.y} == {"1", "2"}
    roles = guess("id,uid", "3,4")
    assert {roles.x, roles.y} == {"id", "uid"}


def test_corrections_are_checked():
    table = read_table(b"query,document,grade\na,b,1\n", "q.csv")
    roles = guess_roles(table)
    with pytest.raises(DatasetError, match=r"q\.csv has no column 'docment'. Did you mean 'docu"):
        replace(roles, y="docment").check(table)
    with pytest.raises(DatasetError, match="'query' cannot be both x and y"):
        Roles(x="query", y="query").check(table)
    with pytest.raises(DatasetError, match="'grade' cannot be both y and label"):
        replace(roles, y="grade").check(table)
