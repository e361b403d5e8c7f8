"""Folders of Parquet files: what is read, in which order, and what is refused."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.preprocessing import FunctionTransformer

from simviz.exceptions import DatasetError
from simviz.features import TextCounts
from simviz.scale import SparseShards, TextFolder, read_pairs, write_features


def write(folder, name, **columns):
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / name, row_group_size=3)
    return folder


def everything(source):
    found = [batch for i in range(len(source)) for batch in source.batches(i)]
    texts = [text for part, _ in found for text in part]
    return texts, [i for _, part in found for i in part or ()]


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, "b.parquet", text=["t5", None, "t7"], key=[5, 6, 7])
    write(tmp_path, "a.parquet", text=[f"t{i}" for i in range(5)], key=list(range(5)))
    (tmp_path / "notes.txt").write_text("not read")
    return tmp_path


def test_files_are_read_in_the_order_of_their_names(folder):
    source = TextFolder(folder, id="key", batch_rows=2)
    assert [path.name for path in source.files] == ["a.parquet", "b.parquet"]
    assert (source.rows, source.n_items, len(source)) == ((5, 3), 8, 2)
    texts = ["t0", "t1", "t2", "t3", "t4", "t5", "", "t7"]
    assert everything(source) == (texts, [str(i) for i in range(8)])
    assert [len(t) for t, _ in source.batches(0)] == [2, 2, 1]
    assert next(TextFolder(folder).batches(0))[1] is None


def test_a_pattern_and_a_file_are_taken_too(folder, monkeypatch):
    assert TextFolder(folder / "b*.parquet").n_items == 3
    assert TextFolder(str(folder / "?.parquet")).n_items == 8
    assert TextFolder(folder / "a.parquet").n_items == 5
    monkeypatch.chdir(folder)
    assert TextFolder("*.parquet").n_items == 8


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
)
def test_texts_of_every_arrow_kind(tmp_path, kind):
    table = pa.table({"text": pa.array(["a", "b", None, "a"], kind)})
    pq.write_table(table, tmp_path / "one.parquet")
    assert everything(TextFolder(tmp_path))[0] == ["a", "b", "", "a"]


def test_what_is_missing_is_told(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    write(tmp_path / "none", "c.parquet", text=pa.array([], pa.string()))
    write(tmp_path / "numbers", "c.parquet", text=[1.5], key=[1])
    for given, words in (
        ((tmp_path / "empty",), r"no file \*\.parquet"),
        ((tmp_path / "nowhere",), "There is no file or directory"),
        ((folder, "txt"), r"a\.parquet has no column 'txt'\. Did you mean 'text'"),
        ((folder, "key"), r"'key' of .*a\.parquet should hold text, got int64"),
        ((tmp_path / "numbers",), r"c\.parquet should hold text, got double"),
        ((tmp_path / "none",), "1 file without any row"),
    ):
        with pytest.raises(DatasetError, match=words):
            TextFolder(*given)
    with pytest.raises(ValueError, match="batch_rows"):
        TextFolder(folder, batch_rows=0)


def test_a_broken_file_is_named(folder):
    (folder / "c.parquet").write_bytes(b"PAR1 and nothing")
    with pytest.raises(DatasetError, match=r"c\.parquet is no Parquet file"):
        TextFolder(folder)
    (folder / "c.parquet").unlink()
    source = TextFolder(folder)
    whole = (folder / "b.parquet").read_bytes()
    (folder / "b.parquet").write_bytes(whole[:4] + bytes(len(whole) - 300) + whole[-296:])
    with pytest.raises(DatasetError, match=r"b\.parquet is no Parquet file, cut off or damaged"):
        everything(source)


def test_rows_without_an_id_are_told(tmp_path):
    write(tmp_path, "a.parquet", text=["a", "b", "c"], key=["x", None, None])
    words = r"2 rows of .*a\.parquet without an id in column 'key'"
    with pytest.raises(DatasetError, match=words):
        everything(TextFolder(tmp_path, id="key"))


def test_features_are_written_in_order_with_ids(folder):
    counts = TextCounts().fit(["t0 t1 t2 t3", "t4 t5 t7"])
    shards = write_features(counts, TextFolder(folder, id="key", batch_rows=4), folder / "out")
    assert [matrix.shape[0] for matrix in shards] == [4, 1, 3]
    texts, ids = everything(TextFolder(folder, id="key"))
    rows = np.vstack([matrix.toarray() for matrix in shards])
    np.testing.assert_array_equal(rows, counts.transform(texts).toarray())
    assert [own for i in range(3) for own in shards.ids(i)] == ids
    with pytest.raises(ValueError, match="sparse features, got ndarray from FunctionTr"):
        dense = FunctionTransformer(lambda texts: np.ones((len(texts), 2)))
        write_features(dense, TextFolder(folder), folder / "dense")


@pytest.fixture
def items(tmp_path):
    counts = TextCounts().fit(["t"])
    sides = []
    for side, n in (("x", 5), ("y", 4)):
        rows = {"text": ["t"] * n, "id": [f"{side}{i}" for i in range(n)]}
        source = TextFolder(write(tmp_path / side, "1.parquet", **rows), id="id", batch_rows=2)
        sides.append(write_features(counts, source, tmp_path / f"{side} out"))
    return sides


def test_pairs_of_ids_become_pairs_of_rows(tmp_path, items):
    where = tmp_path / "pairs"
    write(where, "2.parquet", x_id=["x4"], y_id=["y0"], label=[2])
    write(where, "1.parquet", x_id=["x3", "x0"], y_id=["y2", "y3"], label=[1, 0])
    pairs = read_pairs(where, *items)
    assert (pairs.x.tolist(), pairs.y.tolist()) == ([0, 3, 4], [3, 2, 0])
    assert pairs.x.dtype == np.int32 and pairs.grade is None and pairs.unjudged == "negative"
    graded = read_pairs(where, *items, label="label")
    assert graded.grade.tolist() == [-1, 1, 2] and graded.unjudged == "ignore"


def test_ids_that_nobody_has_are_counted_and_shown(tmp_path, items, caplog):
    where = tmp_path / "pairs"
    x = ["x0", *(f"x{i}" for i in range(5, 13)), "x1"]
    write(where, "1.parquet", x_id=x, y_id=["y0", *["y1"] * 8, "z"])
    told = "9 pairs with an id that no item has, first on the x side 'x5', 'x6', 'x7', 'x8', 'x9'"
    with pytest.raises(DatasetError, match=told + "; on the y side 'z'"):
        read_pairs(where, *items)
    pairs = read_pairs(where, *items, skip_unknown=True)
    assert (pairs.x.tolist(), pairs.y.tolist()) == ([0], [0]) and told in caplog.text
    write(tmp_path / "none", "1.parquet", x_id=["a"], y_id=["b"])
    with pytest.raises(DatasetError, match="No pair of"):
        read_pairs(tmp_path / "none", *items, skip_unknown=True)


def test_ids_that_repeat_are_counted_and_shown(tmp_path, items):
    counts = TextCounts().fit(["t"])
    rows = {"text": ["t"] * 5, "id": ["a", "b", "a", "b", "c"]}
    source = TextFolder(write(tmp_path / "twice", "1.parquet", **rows), id="id")
    twice = write_features(counts, source, tmp_path / "twice out")
    write(tmp_path / "pairs", "1.parquet", x_id=["x0"], y_id=["a"])
    with pytest.raises(DatasetError, match=r"2 ids of the y side .* more than one item: 'a', 'b'"):
        read_pairs(tmp_path / "pairs", items[0], twice)
    bare = SparseShards.write(tmp_path / "bare", [counts.transform(["t"])])
    with pytest.raises(DatasetError, match=r"y side in .* have no ids"):
        read_pairs(tmp_path / "pairs", items[0], bare)


def test_grades_are_numbers(tmp_path, items):
    write(tmp_path / "pairs", "1.parquet", x_id=["x0", "x1"], y_id=["y0", "y0"], g=[1.0, None])
    with pytest.raises(DatasetError, match=r"1 row of .* without a number in column 'g'"):
        read_pairs(tmp_path / "pairs", *items, label="g")
    with pytest.raises(DatasetError, match=r"'x_id' .* should hold numbers, got string"):
        read_pairs(tmp_path / "pairs", *items, label="x_id")
    write(tmp_path / "flags", "1.parquet", x_id=["x0", "x1"], y_id=["y0", "y0"], g=[True, False])
    assert read_pairs(tmp_path / "flags", *items, label="g").grade.tolist() == [1, -1]
