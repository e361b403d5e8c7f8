from dataclasses import replace

import numpy as np
import pytest
from made_up import has_note

from simviz.data.pairs_from_tables import SkippedRow, read_pairs, to_pairs
from simviz.data.roles import ColumnRoles, guess_roles
from simviz.data.tables import read_table
from simviz.exceptions import DatasetError


def read(text, name="q.csv", roles=None):
    return read_pairs(text.encode(), name, roles)


def test_row_aligned_texts_are_pairs_that_belong_together():
    result = read("en,es\nheart,corazón\ncar,coche\n", "words.csv")
    pairs = result.pairs
    assert pairs.relevance.is_identity
    assert list(pairs.x.content) == ["heart", "car"] and list(pairs.y.ids) == ["0", "1"]
    assert (pairs.name, pairs.x_name, pairs.y_name) == ("words", "en", "es")
    assert result.left_out == () and has_note(result, "not listed counts as not relevant")


def test_equal_texts_merge_with_their_judgments():
    result = read("x,y\na,b\n a ,c\nd,b\na,b\n")
    assert result.pairs.relevance.matrix.toarray().tolist() == [[1, 1], [1, 0]]
    assert has_note(result, "1 row repeats a pair")
    graded = read("x,y,grade\na,b,1\nc,d,2\n").pairs
    assert graded.relevance.unjudged == result.pairs.relevance.unjudged == "negative"


def test_equal_ids_merge_and_equal_texts_with_other_ids_do_not():
    pairs = read("qid,query,docid,doc,note\n1,a,7,b,\n2,a,7,b,n/a\n").pairs
    assert list(pairs.x.ids) == ["1", "2"] and list(pairs.x.content) == ["a", "a"]
    assert pairs.shape == (2, 1) and not pairs.x.metadata, "an empty column says nothing"


FOLD = ColumnRoles("x", "y", split="fold")


@pytest.mark.parametrize(
    ("text", "roles", "message"),
    [
        ("qid,query,doc\n1,a,c\n1,b,d\n", None, "line 3, .*'1' stands for 'b' .* 'a' in line 2"),
        ("qid,query,doc\n1,a,c\n,b,d\n", None, r"line 3, column 'qid' is empty.*not use 'qid'"),
        ("x,y\na,\n,b\n", None, "no row has text in both column 'x' and column 'y'"),
        ("x,y,fold\na,b,train\nc,d,seven\n", FOLD, "line 3, column 'fold': 'seven' is no part"),
    ],
)
def test_what_cannot_be_understood_names_its_rows(text, roles, message):
    with pytest.raises(DatasetError, match=message):
        read(text, roles=roles)


def test_graded_judgments_keep_the_highest_and_report_conflicts():
    result = read("x,y,grade\na,b,1\na,b,3\na,c,0\na,c,2\nd,b,0\n")
    assert result.pairs.relevance.matrix.toarray().tolist() == [[3, 2], [-1, 0]]
    assert result.pairs.relevance.unjudged == "ignore"
    assert has_note(result, "2 rows repeat a pair", "highest")
    assert has_note(result, "1 pair is judged both relevant and not relevant (lines 4, 5)")


def test_rows_with_an_empty_side_or_label_are_left_out_by_number():
    result = read("x,y,label\n,b,1\na,b,1\nc, ,1\nd,e,\nf,g,0\n,,\n \t, ,1\n")
    assert result.left_out == (
        SkippedRow(2, "the x side is empty"),
        SkippedRow(4, "the y side is empty"),
        SkippedRow(5, "the label is empty"),
        SkippedRow(8, "both sides are empty"),
    )
    assert list(result.pairs.x.content) == ["a", "f"]
    assert has_note(result, "1 row left out because the label is empty (line 5)")


def test_scores_keep_zero_and_ignore_what_is_not_listed():
    rows = [f"a{i},b{i},{i / 20}" for i in range(20)]
    pairs = read("\n".join(["x,y,score", *rows])).pairs
    assert pairs.relevance.kind == "score" and pairs.relevance.unjudged == "ignore"
    assert pairs.relevance.matrix.nnz == 20 and pairs.relevance.threshold == 0.475


def test_columns_describe_the_side_that_they_follow_from():
    result = read(
        "query,doc,lang,year,noise,grade\na,d1,en,1999,1,1\na,d2,en,2001,2,1\nb,d1,es,1999,3,1\n"
    )
    x, y = result.pairs.x.metadata, result.pairs.y.metadata
    assert list(x) == ["lang"] and list(y) == ["year"]
    assert y["year"].dtype == np.int64 and y["year"].tolist() == [1999, 2001]
    assert has_note(result, "'noise' was dropped", "('1' in line 2, '2' in line 3)")


def test_metadata_types_and_names():
    result = read("x,y,x_code,x_size,x_note\na,b,007,1.5,p\nc,d,008,,\n")
    metadata = result.pairs.x.metadata
    assert list(metadata) == ["code", "size", "note"]
    assert metadata["code"].tolist() == ["007", "008"]
    assert metadata["size"].dtype == np.float64 and np.isnan(metadata["size"][1])
    assert metadata["note"].tolist() == ["p", ""]
    # Doubles tell whole numbers apart up to 2⁵³.
    large = read(f"x,y,x_n,x_more\na,b,{2**53 - 1},{2**53}\nc,d,1,2\n").pairs.x.metadata
    assert large["n"].tolist() == [2**53 - 1, 1] and large["n"].dtype == np.int64
    assert large["more"].dtype == np.float64


def test_split_and_group_are_kept_under_their_names():
    result = read("query,doc,topic,set\na,d1,7,TRAIN\nb,d1,8,dev\na,d2,7,train\nc,d3,7,test\n")
    x = result.pairs.x.metadata
    assert x["split"].tolist() == ["train", "validation", "test"]
    assert x["group"].tolist() == ["7", "8", "7"]
    assert "split" not in result.pairs.y.metadata


def test_a_few_items_in_several_parts_count_as_train():
    rows = [f"a{i},b{i},{'train' if i % 2 else 'test'}" for i in range(30)]
    result = read("\n".join(["x,y,split", *rows, "a0,b3,train", "a5,b2,train"]))
    parts = result.pairs.x.metadata["split"]
    assert parts[:3].tolist() == ["train", "train", "test"]
    assert result.pairs.y.metadata["split"][[0, 2]].tolist() == ["test", "train"]
    assert has_note(result, "1 x item stands in several parts", "would leak")


def test_a_split_that_contradicts_itself_everywhere_is_dropped():
    rows = [f"a{i % 3},b{i % 5},{'train' if i % 2 else 'test'}" for i in range(30)]
    result = read("\n".join(["x,y,split", *rows]))
    assert "split" not in result.pairs.x.metadata
    assert has_note(result, "'split' of q.csv was dropped")


def test_corrected_roles_are_obeyed():
    data = b"first,second,third\na,b,c\nd,e,f\n"
    table = read_table(data, "q.csv")
    roles = replace(guess_roles(table), x="third", y="first", ignored=("second",))
    result = to_pairs(table, roles)
    assert list(result.pairs.x.content) == ["c", "f"]
    assert not result.pairs.x.metadata and result.roles is roles
    kept = to_pairs(table, replace(roles, unjudged="ignore")).pairs
    assert kept.relevance.unjudged == "ignore"
    assert table.frame.equals(read_table(data, "q.csv").frame), "the table is left alone"


def test_names_of_sides_do_not_need_text():
    pairs = read("x_id\ty_id\tgrade\nq1\td1\t2\nq1\td2\t1\n", "qrels.tsv").pairs
    assert list(pairs.x.ids) == list(pairs.x.content) == ["q1"]
    assert pairs.relevance.matrix.toarray().tolist() == [[2, 1]]
