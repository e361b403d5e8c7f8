"""Files of every format as columns of text."""

import csv
import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from made_up import saved

from simviz.data.limits import reading_limits
from simviz.data.tables import QuoteError, iter_records, read_records, read_table, sniff_delimiter
from simviz.exceptions import DatasetError


def parquet_bytes(columns, **options):
    return saved(lambda file: pq.write_table(pa.table(columns), file, **options))


def cells(table):
    return {name: list(column) for name, column in table.frame.items()}


SAME = {"x": ["red, round", "car"], "y": ["rojo", 'un "coche"']}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", b'x,y\n"red, round",rojo\ncar,"un ""coche"""\n'),
        ("a.csv", b'x;y\r\nred, round;rojo\r\ncar;"un ""coche"""\r\n'),
        ("a.csv", b'sep=;\nx;y\nred, round;rojo\ncar;"un ""coche"""\n'),
        ("a.tsv", b'x\ty\nred, round\trojo\ncar\tun "coche"\n'),
        ("a.txt", b'x|y\nred, round|rojo\ncar|un "coche"\n'),
        ("a.jsonl", b'{"x":"red, round","y":"rojo"}\n\n{"y":"un \\"coche\\"","x":"car"}\n'),
        ("upload", b'{"x":"red, round","y":"rojo"}\n{"x":"car","y":"un \\"coche\\""}\n'),
        ("a.parquet", parquet_bytes(SAME)),
        ("a.csv", parquet_bytes(SAME)),
        ("a.tsv.gz", gzip.compress(b'x\ty\nred, round\trojo\ncar\tun "coche"\n', mtime=0)),
        ("a.csv", b'\xef\xbb\xbfx,y\n"red, round",rojo\ncar,"un ""coche"""\n'),
        ("a.csv", 'x,y\n"red, round",rojo\ncar,"un ""coche"""\n'.encode("utf-16")),
    ],
)
def test_every_format_gives_the_same_cells(name, data, tmp_path):
    assert cells(read_table(data, name)) == SAME
    path = tmp_path / name
    path.write_bytes(data)
    assert cells(read_table(path)) == SAME


def test_rows_bear_the_numbers_of_an_editor():
    table = read_table(b'x,y\r\n\r\n"two\nlines",b\rc,"three\r\nmore\nlines"\n\nd,e\n', "q.csv")
    assert table.rows.tolist() == [3, 5, 9] and table.unit == "line"
    assert read_table(b"sep=,\nx,y\na,b\n", "q.csv").rows.tolist() == [3]
    assert read_table(b'\n{"x": 1, "y": 2}\n', "q.jsonl").rows.tolist() == [2]
    table = read_table(parquet_bytes(SAME), "q.parquet")
    assert table.rows.tolist() == [1, 2] and table.place(1) == "q.parquet, row 2"


def test_header_names_are_trimmed_told_apart_and_never_missing():
    table = read_table(b" x , y ,y,,y_2\na,b,c,d,e\n", "q.csv")
    assert list(table.frame) == ["x", "y", "y_3", "column_4", "y_2"]
    assert any("two columns 'y'" in n for n in table.notes)
    assert any("column 4 has no name" in n for n in table.notes)


def test_a_file_without_header_can_be_read():
    table = read_table(b"a,b\nc,d\n", "q.csv", header=False)
    assert cells(table) == {"column_1": ["a", "c"], "column_2": ["b", "d"]}
    assert table.rows.tolist() == [1, 2]


def test_short_rows_are_filled_with_a_note_that_names_them():
    table = read_table(b"x,y,z\na,b\nc,d,e\nf,g\n", "q.csv")
    assert list(table["z"]) == ["", "e", ""]
    assert "2 rows with fewer cells than the header's 3 (lines 2, 4)" in table.notes[0]
    beyond = read_table(b"x,y\na,b,,\n", "q.csv")
    assert cells(beyond) == {"x": ["a"], "y": ["b"]} and beyond.notes == ()


def test_a_very_long_cell_is_read_whole_and_pointed_out():
    table = read_table(b"x,y\na,b\nc," + b"d" * 1_000_000 + b"\n", "q.csv")
    assert len(table["y"][1]) == 1_000_000
    assert "line 3, column 'y' (1,000,000 characters)" in table.notes[0]


def test_kinds_of_columns():
    table = read_table(b"a,b,c,d\n1,x,,007\n2.5,3,nan,8\n,,,\n", "q.csv")
    assert dict(table.kinds) == {"a": "number", "b": "text", "c": "empty", "d": "text"}


REFUSED = [
    ("q.jsonl", b'{"query": {"text": "a"}, "answers": [{"text": "b"}]}', r"side.*'answers'"),
    ("q.csv", b"", r"q\.csv is empty"),
    ("q.parquet", b"", r"q\.parquet is empty"),
    ("q.csv", b"\n \n", r"only blank lines"),
    ("q.csv", b"words\nheart\n", r"one column only \(line 1 is 'words'\)"),
    ("q.csv", b"x,y\n", r"q\.csv has a header \('x', 'y'\) but no row"),
    ("q.csv", b"x,y\na,b\nc,d,e\n", r"q\.csv, line 3 has 3 cells .*column 'y' is 'e'.*commas"),
    ("q.csv", b'x,y\na,"b\nc,d,e\n', r"q\.csv, line 2: a quoted cell is never closed"),
    ("q.csv", b"x,y\na,b\0\n", r"q\.csv, line 2: the file holds NUL"),
    ("q.csv", b"\x89PNG\r\n\x1a\n\0\0", r"q\.csv is a PNG image, not a table"),
    ("q.parquet", b"\x89PNG\r\n\x1a\n\0\0", r"q\.parquet is a PNG image, not a table"),
    ("q.parquet", b"x,y\na,b\n", r"q\.parquet is not a Parquet file"),
    ("q.csv", b"PK\x03\x04", r"a zip archive, not a table"),
    ("q.parquet", parquet_bytes(SAME)[:-9], r"Parquet file that is cut off or damaged"),
    ("q.parquet", parquet_bytes(SAME)[:4], r"Parquet file that is"),
    ("q.parquet", parquet_bytes({"x": ["a"]}), r"one column only \('x'\)"),
    ("q.parquet", parquet_bytes({"x": [], "y": []}), r"columns but no rows"),
    ("q.parquet", parquet_bytes({"a": [[[1]]], "b": [{"c": 2}]}), r"no column that can be read"),
    ("q.jsonl", b'{"x": 1, "y": 2}\n{"x": 1, "y": \n', r"line 2 is not valid.* at character 15 "),
    ("q.jsonl", b'{"x": 1, "y": 2}\n[1, 2]\n', r"line 2 is a JSON list, not an object"),
    ("q.json", b'[\n{"x": 1, "y": 2}\n', r"breaks off after object 1"),
    ("q.json", b'[{"x": 1, "y": 2}, 3]', r"object 2 is a JSON int, not an object"),
    ("q.jsonl", b'{"x": 1}\n', r"one column only"),
    ("q.jsonl", b"\n\n", r"no line with an object"),
    ("q.jsonl", b'{"x": ' + b"[" * 200_000, r"line 1 is (nested too deeply|not valid JSON)"),
    ("q.jsonl", b'{"x": 1' + b"0" * 5000 + b', "y": 2}', r"line 1 is not valid JSON"),
]


@pytest.mark.parametrize(("name", "data", "message"), REFUSED)
def test_what_cannot_be_read_is_refused_with_place_and_remedy(name, data, message):
    with pytest.raises(DatasetError, match=message) as caught:
        read_table(data, name)
    assert len(str(caught.value)) < 500


def test_objects_inside_objects_are_columns_of_their_own():
    lines = [
        {"query": {"text": "a", "by": {"name": "Ann"}}, "answer": {"text": "b"}},
        {"query": {"text": "c"}, "answer": {"text": "d"}, "query.text": "twice", "none": {}},
    ]
    table = read_table("\n".join(map(json.dumps, lines)).encode(), "q.jsonl")
    assert list(table.frame) == ["query.text", "query.by.name", "answer.text"]
    assert table.frame["query.text"].tolist() == ["a", "c"]
    assert table.frame["query.by.name"].tolist() == ["Ann", ""]


def test_few_rows_with_too_many_cells_are_left_out_and_named():
    lines = [f"question {i},answer {i}" for i in range(200)]
    lines[40], lines[90] = "a,b,c", "d,e,,"
    table = read_table("\n".join(["x,y", *lines]).encode(), "q.csv")
    assert len(table) == 199 and 42 not in table.rows and 92 in table.rows
    (note,) = table.notes
    assert note.kind == "lost" and note.rows == (42,)
    assert "1 row with more cells than the header's 2 left out (line 42)" in note
    lines[50], lines[60] = "f,g,h", "i,j,k"
    with pytest.raises(DatasetError, match="line 42 has 3 cells but the header has 2"):
        read_table("\n".join(["x,y", *lines]).encode(), "q.csv")


def test_nested_values_are_left_out_with_a_note():
    lines = [{"x": "a", "y": "b", "z": 1}, {"x": "c", "y": "d", "z": [1, 2], "w": [{"v": 1}]}]
    data = "\n".join(map(json.dumps, lines)).encode()
    table = read_table(data, "q.jsonl")
    assert list(table.frame) == ["x", "y"]
    assert "2 columns with lists or objects left out" in table.notes[0]
    assert "'z' (first in line 2)" in table.notes[0]
    ragged = {"z": [[1, 2], [3]], "v": [[1.0, None], [2.0, 3.0]], "w": [b"\0", b"\1"]}
    nested = parquet_bytes({"x": ["a", "c"], "y": ["b", "d"], **ragged})
    table = read_table(nested, "q.parquet")
    assert list(table.frame) == ["x", "y"] and "'z', 'v', 'w'" in table.notes[0]


def test_scalars_become_the_text_a_person_would_write():
    table = read_table(
        b'{"x": 1.0, "y": true, "z": null}\n{"x": 2.5, "y": "t", "z": NaN, "w": 1}\n', "q.jsonl"
    )
    assert cells(table) == {"x": ["1", "2.5"], "y": ["true", "t"], "z": ["", ""], "w": ["", "1"]}
    typed = {"i": [1, None], "f": [0.5, float("nan")], "b": [True, False]}
    typed["t"] = pa.array([0, 1], pa.timestamp("ms"))
    typed["d"] = pa.array(["k", None]).dictionary_encode()
    table = read_table(parquet_bytes(typed), "q.parquet")
    assert list(table["i"]) == ["1", ""] and list(table["f"]) == ["0.5", ""]
    assert list(table["b"]) == ["true", "false"]
    assert table["t"][1].startswith("1970-01-01 00:00:00.001")
    assert list(table["d"]) == ["k", ""]


def test_half_a_surrogate_pair_cannot_get_in():
    table = read_table(b'{"x": "a\\ud800", "y": "\\ud83d\\ude00"}\n', "q.jsonl")
    assert cells(table) == {"x": ["a\ufffd"], "y": ["\N{GRINNING FACE}"]}
    # A separator of Unicode does not end a line.
    assert len(read_table('{"x": "a\u2028b\x85", "y": "c"}\n'.encode(), "q.jsonl")) == 1


def test_a_small_parquet_that_stands_for_much_text_is_refused():
    word = pa.DictionaryArray.from_arrays(
        np.zeros(100_000, dtype=np.int32), pa.array(["w" * 100_000])
    )
    bomb = parquet_bytes({"x": word, "y": word})
    assert len(bomb) < 1_000_000
    refused = pytest.raises(DatasetError, match="more than 5,000,000 characters once unpacked")
    with reading_limits(file_bytes=5_000_000), refused:
        read_table(bomb, "q.parquet")


def test_too_many_columns_or_cells_are_refused():
    with reading_limits(columns=5, cells=20):
        for data in (b"a,b,c,d,e,f\n1,2,3,4,5,6\n", b"a,b\n" + b"1,2\n" * 11):
            with pytest.raises(DatasetError, match="the limit is"):
                read_table(data, "q.csv")
        # Every line has keys of its own: cells grow with the square of the lines.
        keys = b"\n".join(b'{"k%d": 1}' % i for i in range(9))
        with pytest.raises(DatasetError, match=r"line 5: more than 5 keys or 20 cells"):
            read_table(keys, "q.jsonl")
        columns = {c: ["a"] * 11 for c in "ab"}
        with pytest.raises(DatasetError, match=r"11 rows of 2 columns"):
            read_table(parquet_bytes(columns), "q.parquet")


def test_too_many_columns_are_counted_beyond_any_sample():
    for name, between in (("wide.csv", ","), ("wide.tsv.txt", "\t")):
        header = between.join(f"c{i}" for i in range(300_000))
        for text in (f"{header}\n{header}\n", f'\n{header}\n"a\nb"{between}1\n'):
            with pytest.raises(DatasetError, match=r"has 300,000 columns; the limit is 1,000"):
                read_table(text.encode(), name)


CELL = st.text(st.sampled_from("ab\",;\t\n\r '|é"), max_size=6)


def rows_of(text, delimiter=",", quoted=True):
    return [fields for _, fields in iter_records(text, delimiter, quoted)]


@settings(max_examples=300)
@given(
    st.lists(st.lists(CELL, min_size=2, max_size=4), min_size=1, max_size=5),
    st.sampled_from(",;\t|"),
)
def test_what_the_standard_writer_writes_is_read_back(rows, delimiter):
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter).writerows(rows)
    expected = [row for row in rows if any(row)]
    assert rows_of(buffer.getvalue(), delimiter) == expected


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('x, "a, b" ,c', [["x", "a, b", "c"]]),  # spaces around quotes do not unbind them
        ('"a",\n"b",', [["a", ""], ["b", ""]]),
        ('5" pipe,b "c" d', [['5" pipe', 'b "c" d']]),  # inside a plain cell, characters
    ],
)
def test_quotes_bind_where_they_enclose_a_cell(text, rows):
    assert rows_of(text) == rows


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
