"""Workbooks, Arrow, JSON arrays, frames, vectors, groups, triplets, thresholds."""

import json
import random
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pyarrow as pa
import pytest
from made_up import arrow, has_note, zipped

from simviz.data import (
    ReadingLimits,
    from_frame,
    get_limits,
    guess_roles,
    read_pairs,
    read_table,
    reading_limits,
    to_pairs,
)
from simviz.data.tables import QuoteError, iter_records, read_regular
from simviz.exceptions import DatasetError

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
REL = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'


def workbook(rows, extra=None, sheets=("Pairs",)):
    parts = {
        "xl/workbook.xml": f"<workbook {MAIN} {REL}><sheets>"
        + "".join(f'<sheet name="{s}" r:id="r{i}"/>' for i, s in enumerate(sheets))
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": "<Relationships>"
        + "".join(
            f'<Relationship Id="r{i}" Target="worksheets/sheet{i}.xml"/>'
            for i, _ in enumerate(sheets)
        )
        + "</Relationships>",
        "xl/sharedStrings.xml": f"<sst {MAIN}><si><t>query</t></si>"
        "<si><r><t>docu</t></r><r><t>ment</t></r></si></sst>",
        "xl/styles.xml": f'<styleSheet {MAIN}><numFmts><numFmt numFmtId="170" formatCode="dd/mm'
        '/yy"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/>'
        "</cellXfs></styleSheet>",
        "xl/worksheets/sheet0.xml": f"<worksheet {MAIN}><sheetData>{rows}</sheetData></worksheet>",
    }
    return zipped(parts | (extra or {}))


HEADER = '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>'


def test_a_workbook_is_read_with_its_dates_gaps_and_kinds():
    rows = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c>'
        '<c r="C1" t="inlineStr"><is><t>day</t></is></c><c r="D1" t="str"><v>n</v></c></row>'
        '<row r="3"><c r="A3" t="str"><v>a</v></c><c r="C3" s="1"><v>45000</v></c>'
        '<c r="D3"><v>2</v></c></row>'
        '<row r="4"><c r="A4" t="b"><v>1</v></c><c r="B4" t="e"><v>#N/A</v></c>'
        '<c r="C4" s="2"><v>45000.5</v></c><c r="D4"><f>1+1</f><v>2.5</v></c></row>'
    )
    table = read_table(workbook(rows, sheets=("Pairs", "Other")), "book.xlsx")
    assert {k: list(v) for k, v in table.frame.items()} == {
        "query": ["a", "true"],
        "document": ["", ""],
        "day": ["2023-03-15", "2023-03-15 12:00:00"],
        "n": ["2", "2.5"],
    }
    assert list(table.rows) == [3, 4] and table.unit == "row"
    assert "sheet 'Pairs' was read, of 2" in table.notes[0]
    one = '<row r="{0}"><c r="A{0}" t="str"><v>a</v></c></row>'
    alone = workbook(one.format(1) + one.format(2), sheets=("Info", "Pairs"))
    with pytest.raises(DatasetError, match=r"one column only .* sheet 'Info' was read, of 2"):
        read_table(alone, "book.xlsx")
    with pytest.raises(DatasetError, match=r"no sheet 'Pears'. Did you mean 'Pairs'"):
        read_table(workbook(HEADER), "book.xlsx", sheet="Pears")


BAD_BOOKS = {
    "entities": (
        workbook(HEADER, {"xl/sharedStrings.xml": '<!DOCTYPE a [<!ENTITY b "c">]><sst/>'}),
        "declares entities",
    ),
    "empty": (workbook(""), "'Pairs' is empty"),
    "header only": (workbook(HEADER), "no row below it"),
    "far cell": (workbook(HEADER + '<row r="2"><c r="XFD2"><v>1</v></c></row>'), "column 16,384"),
    "bad index": (workbook(HEADER + '<row><c t="s"><v>99</v></c></row>'), "damaged"),
    "bad number": (workbook(HEADER + "<row><c><v>1,5</v></c></row>"), "damaged"),
    "no xml": (workbook(HEADER, {"xl/workbook.xml": "<"}), "damaged"),
    "lacks a sheet": (workbook(HEADER, sheets=()), "lists no sheet"),
}


@pytest.mark.parametrize("case", BAD_BOOKS)
def test_a_bad_workbook_is_refused(case):
    data, message = BAD_BOOKS[case]
    with pytest.raises(DatasetError, match=message):
        read_table(data, "b.xlsx")


def test_arrow_feather_and_streams_are_read():
    columns = {"x": ["a", None], "y": ["b", "c"], "n": [1.0, 2.5]}
    texts = {"x": ["a", ""], "y": ["b", "c"], "n": ["1", "2.5"]}
    for new in (pa.ipc.new_file, pa.ipc.new_stream):
        read = read_table(arrow(columns, new), "t.arrow")
        assert {k: list(v) for k, v in read.frame.items()} == texts


def test_an_array_of_objects_is_read_and_counted():
    data = json.dumps([{"x": "a", "y": "b"}, {"x": "c", "y": "d", "z": [{"k": 1}]}], indent=1)
    table = read_table(data.encode(), "t.json")
    assert list(table.frame) == ["x", "y"] and table.place(1) == "t.json, object 2"
    deep = b'[{"x": ' + b"[" * 60 + b"]" * 60 + b', "y": 1}]'
    with pytest.raises(DatasetError, match="object 1 is nested too deeply"):
        read_table(deep, "t.json")


class HubDataset:
    """What a dataset of a hub offers of itself."""

    column_names = ("query", "document")

    def __init__(self, table):
        self._table = table

    def with_format(self, kind):
        assert kind == "arrow"
        return self

    def __getitem__(self, rows):
        return self._table.slice(0)


def test_frames_of_any_library_are_read():
    table = pa.table({"query": ["a", "b"], "document": ["c", "d"]})
    # Frames of libraries that are not known here.
    stream = SimpleNamespace(__arrow_c_stream__=table.__arrow_c_stream__)
    interchange = SimpleNamespace(__dataframe__=table.__dataframe__)
    frames = [table, stream, HubDataset(table), table.to_pandas(), interchange]
    assert len({from_frame(frame).pairs.digest for frame in frames}) == 1
    hub = from_frame({"train": HubDataset(table.slice(0, 1)), "test": HubDataset(table.slice(1))})
    assert list(hub.pairs.x.metadata["split"]) == ["train", "test"]
    with pytest.raises(DatasetError, match="A list is no data frame"):
        from_frame([1])
    with pytest.raises(DatasetError, match="cannot be read as a table"):
        from_frame(pd.DataFrame({"x": ["a", 1], "y": [object(), {}]}))


def test_an_index_of_pandas_is_no_column():
    frame = pd.DataFrame({"query": ["a", "b"], "document": ["c", "d"]}, index=["r", "s"])
    assert from_frame(frame).pairs.x.metadata == {}


def test_columns_of_lists_are_vectors():
    vectors = {"a": [1, 2.5], "b": [0, 1], "c": [1, 2.5]}
    data = "\n".join(json.dumps({"query": q, "v": v}) for q, v in vectors.items()).encode()
    table = read_table(data, "v.jsonl")
    assert table.kinds["v"] == "vector" and table["v"][0] == "1, 2.5"
    pairs = read_pairs(data, "v.jsonl").pairs
    assert pairs.y.kind == "vector" and pairs.y.content.tolist() == [[1, 2.5], [0, 1]]
    assert pairs.relevance.matrix.toarray().tolist() == [[1, 0], [0, 1], [1, 0]]
    with pytest.raises(DatasetError, match="can only be a side"):
        to_pairs(table, guess_roles(table).__class__("query", "query", x_id="v"))


def test_members_of_a_group_belong_together():
    data = b"title,cluster_id\nnurse,1\nRN,1\ndriver,2\ntrucker,2\nrider,2\nking,3\n"
    result = read_pairs(data, "t.csv")
    assert result.roles.shape == "groups" and "repeats" in result.roles.reasons["shape"]
    pairs = result.pairs
    assert pairs.x is pairs.y
    assert pairs.relevance.matrix.sum(axis=1).tolist() == [1, 1, 2, 2, 2, 0]
    assert list(pairs.x.metadata["group"]) == ["1", "1", "2", "2", "2", "3"]
    assert has_note(result, "1 item stands alone")
    too_many = pytest.raises(DatasetError, match="make 8 pairs; the limit is 7")
    with reading_limits(pairs=7), too_many:
        read_pairs(data, "t.csv")
    with pytest.raises(DatasetError, match="no group has two items"):
        roles = guess_roles(read_table(b"title,cluster_id\na,1\nb,1\n", "t.csv"))
        to_pairs(read_table(b"title,cluster_id\na,1\nb,2\n", "t.csv"), roles)


def test_triplets_become_judgments_with_the_lines_they_came_from():
    data = b"anchor,positive,negative_1,negative_2\na,b,c,d\na,b,e,\n,f,g,h\n"
    result = read_pairs(data, "t.csv")
    assert result.roles.negatives == ("negative_1", "negative_2")
    pairs = result.pairs
    assert list(pairs.y.content) == ["b", "c", "d", "e"]
    assert pairs.relevance.matrix.toarray().tolist() == [[1, -1, -1, -1]]
    assert {item.row for item in result.left_out} == {4}
    assert list(result.table.frame) == ["anchor", "positive", "negative_1", "negative_2"]


def test_a_threshold_of_scores_can_be_chosen():
    data = b"x,y,score\na,b,0.2\nc,d,0.7\ne,f,1.0\n"
    table = read_table(data, "s.csv")
    roles = guess_roles(table)
    assert to_pairs(table, roles).pairs.relevance.threshold == 0.6
    result = to_pairs(table, replace(roles, threshold=0.9))
    assert result.pairs.relevance.threshold == 0.9
    assert result.pairs.relevance.positives.nnz == 1
    assert has_note(result, "relevant from 0.9")


def test_limits_come_from_the_environment_or_the_context(monkeypatch):
    monkeypatch.setenv("SIMVIZ_MAX_ROWS", "1")
    assert get_limits().rows == 1
    with reading_limits(rows=2) as limits:
        assert limits.rows == get_limits().rows == 2
    with pytest.raises(DatasetError, match="2 rows; the limit is 1"):
        read_table(b"x,y\na,b\nc,d\n", "q.csv")
    monkeypatch.setenv("SIMVIZ_MAX_ROWS", "many")
    with pytest.raises(DatasetError, match="SIMVIZ_MAX_ROWS is 'many'"):
        get_limits()
    monkeypatch.delenv("SIMVIZ_MAX_ROWS")
    assert get_limits() == ReadingLimits()


PIECES = ["a", "b c", "", '"', '""', '"q"', '"d,e"', ",", "\t", "\n", "\r\n", "\r", " ", "é", "\0"]


def test_pyarrow_reads_what_the_csv_module_reads_or_declines():
    rng = random.Random(1)
    accepted = 0
    for _ in range(4000):
        rows = [",".join(rng.choices(PIECES[: rng.choice((7, 15))], k=2)) for _ in range(4)]
        text = "x,y\n" + rng.choice(["\n", "\n", "\r\n"]).join(rows)
        text += rng.choice(["", "\n", "\n\n"])
        found = read_regular("t.csv", text, ",")
        if found is None:
            continue
        accepted += 1
        try:
            records = list(iter_records(text, ","))[1:]
        except QuoteError as error:
            pytest.fail(f"{text!r}: {error}")
        columns, lines, _ = found
        assert [line for line, _ in records] == list(lines), text
        cells = [list(pair) for pair in zip(*columns.values(), strict=True)]
        assert [fields for _, fields in records] == cells, text
    assert accepted > 200


def test_a_large_file_is_read_as_a_small_one_is():
    rng = random.Random(0)
    lines = [f'café{rng.randrange(99)},"a, {i % 9}",{rng.randrange(3)}' for i in range(90_000)]
    text = "query,document,grade\n" + "\n".join(lines) + "\n"
    assert len(text) > 2**20
    large = read_pairs(text.encode(), "q.csv")
    marked = "\ufeff" + text.replace("\n", "\r\n", 1)
    for changed in (marked, text + ",,\n", text.replace("\n", "\r")):
        other = read_pairs(changed.encode(), "q.csv")
        assert other.pairs.digest == large.pairs.digest
        assert list(other.table.rows)[:90_000] == list(large.table.rows)
