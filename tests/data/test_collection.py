"""Several files as one data set: layouts that people have, and what is refused."""

import gzip
import json
import zipfile
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from made_up import arrow, has_note, saved, zipped
from PIL import Image

from simviz.data import read_collection
from simviz.data.collection.files import part_of
from simviz.data.limits import reading_limits
from simviz.exceptions import DatasetError

X = b'{"id": "a", "text": "heart", "lang": "en"}\n{"id": "b", "text": "car", "lang": "en"}\n'
Y = b'{"id": "1", "text": "coraz\xc3\xb3n"}\n{"id": "2", "text": "coche"}\n'
REL = b"x_id\ty_id\tgrade\na\t1\t2\nb\t2\t1\na\t2\t-1\n"


npy, npz, sparse = (partial(saved, write) for write in (np.save, np.savez, sp.save_npz))


def png(colour="red"):
    return saved(Image.new("RGB", (20, 10), colour).save, "PNG")


def dense(pairs):
    return pairs.relevance.matrix.toarray().tolist()


OWN = {
    "x.jsonl.gz": gzip.compress(X),
    "y.jsonl.gz": gzip.compress(Y),
    "relevance.tsv.gz": gzip.compress(REL),
    "split.tsv.gz": gzip.compress(b"x_id\tsplit\na\ttrain\nb\tdev\n"),
    "folds.tsv.gz": gzip.compress(b"fold\tx_id\n0\ta\n1\ta\n1\tb\n"),
    "README.md": b"# no data\n",
}


def test_a_folder_a_zip_and_uploads_give_the_same_pairs(tmp_path):
    for name, data in OWN.items():
        (tmp_path / name).write_bytes(data)
    read = [
        read_collection(tmp_path),
        read_collection(zipped(OWN), "own.zip"),
        read_collection(zipped({f"inner/{n}": d for n, d in OWN.items()}), "own.zip"),
        read_collection(OWN, "own"),
    ]
    assert len({result.pairs.digest for result in read}) == 1
    pairs = read[0].pairs
    assert dense(pairs) == [[2, -1], [0, 1]]
    assert pairs.relevance.unjudged == "ignore"
    assert list(pairs.x.metadata["split"]) == ["train", "validation"]
    assert list(pairs.x.metadata["fold"]) == ["0 | 1", "1"]
    assert list(pairs.x.metadata["lang"]) == ["en", "en"]
    assert any("Not used: README.md" in note for note in read[0].notes)
    assert read[0].roles.label == "grade"


def test_beir_with_one_file_of_judgments_a_part():
    line = '{{"_id": "{}", "title": "{}", "text": "{}", "metadata": {{}}}}\n'.format
    files = {
        "corpus.jsonl": (line("d1", "Hearts", "pump blood") + line("d2", "", "wheels")).encode(),
        "queries.jsonl": b'{"_id": "q1", "text": "heart"}\n{"_id": "q2", "text": "car"}\n',
        "qrels/train.tsv": b"query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n",
        "qrels/test.tsv": b"query-id\tcorpus-id\tscore\nq2\td2\t2\n",
    }
    result = read_collection(files, "beir")
    assert list(result.pairs.y.content) == ["Hearts pump blood", "wheels"]
    assert dense(result.pairs) == [[1, -1], [0, 2]]
    assert list(result.pairs.x.metadata["split"]) == ["train", "test"]
    assert (result.pairs.x_name, result.pairs.y_name) == ("queries", "corpus")


def test_trec_topics_documents_and_qrels():
    files = {
        "topics.txt": b"<top>\n<num> Number: 301\n<title> heart\n<desc> Description:\nx\n</top>\n"
        b"<top>\n<num> Number: 302\n<title> fast car\n</top>\n",
        "docs.sgml": b"<DOC>\n<DOCNO> FT-1 </DOCNO>\n<TITLE>Blood</TITLE><TEXT>a pump</TEXT>\n"
        b"</DOC>\n<DOC><DOCNO>FT-2</DOCNO><TEXT>four &amp; wheels</TEXT></DOC>\n",
        "qrels.txt": b"301 0 FT-1 2\n301 0 FT-2 0\n302 0 FT-2 1\n302 0 FT-9 1\n",
    }
    result = read_collection(files, "trec")
    assert list(result.pairs.x.content) == ["heart", "fast car"]
    assert list(result.pairs.y.content) == ["Blood a pump", "four & wheels"]
    assert dense(result.pairs) == [[2, -1], [0, 1]]
    assert result.left_out == ((4, "no y item has that id"),)


def test_ids_of_three_lists_are_told_apart():
    without_header = {
        "queries.tsv": b"7\theart\n8\tcar\n",
        "collection.tsv": b"1\tblood pump\n2\tfour wheels\n",
        "qrels.tsv": b"7\t0\t1\t1\n8\t0\t2\t1\n",
    }
    assert dense(read_collection(without_header).pairs) == [[1, 0], [0, 1]]
    grades_like_ids = {
        "x.csv": b"id,text\n1,a b\n2,c d\n",
        "y.csv": b"id,text\n1,e f\n2,g h\n3,i j\n",
        "relevance.tsv": b"x_id\ty_id\tgrade\n1\t3\t1\n1\t9\t2\n2\t2\t2\n",
    }
    assert dense(read_collection(grades_like_ids).pairs) == [[0, 0, 1], [0, 2, 0]]


def test_lines_of_two_languages_pair_by_number_and_keep_gaps():
    files = {"x.txt": b"heart\n\ncar\nred\n", "y.txt": "corazón\nx\ncoche\n\n".encode()}
    result = read_collection(files)
    assert list(result.pairs.relevance.positives.nonzero()[0]) == [0, 1]
    assert list(result.pairs.y.content[[0, 2]]) == ["corazón", "coche"]
    assert any("2 items have no partner" in note for note in result.notes)


VECTORS = np.array([[1.0, 0, 2], [0, 3, 0]], dtype=np.float32)
NPY = npy(VECTORS)


def vector_files():
    rows = [list(map(float, row)) for row in VECTORS]
    table = pa.table({"id": ["1", "2"], "embedding": rows})
    lines = "\n".join(json.dumps({"id": str(i + 1), "v": r}) for i, r in enumerate(rows))
    return {
        "y.npy": NPY,
        "y.npz": sparse(sp.csr_array(VECTORS)),
        "y_dense.npz": npz(vectors=VECTORS),
        "y.svmlight": b"0 1:1 3:2\n0 2:3\n",
        "y.mtx": b"%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1\n1 3 2\n2 2 3\n",
        "y.parquet": saved(lambda file: pq.write_table(table, file)),
        "y.arrow": arrow({"id": ["1", "2"], "v": pa.array(rows, pa.list_(pa.float32(), 3))}),
        "y.jsonl": lines.encode(),
    }


@pytest.mark.parametrize("name", vector_files())
def test_texts_on_one_side_and_vectors_on_the_other(name):
    files = {"x.jsonl": X, "relevance.tsv": REL, name: vector_files()[name]}
    if not name.endswith(("parquet", "jsonl", "arrow")):
        files["y_ids.txt"] = b"1\n2\n"
    pairs = read_collection(files).pairs
    assert (pairs.x.kind, pairs.y.kind) == ("text", "vector")
    content = pairs.y.content.toarray() if sp.issparse(pairs.y.content) else pairs.y.content
    assert content.tolist() == VECTORS.tolist()
    assert list(pairs.y.ids) == ["1", "2"] and dense(pairs) == [[2, -1], [0, 1]]


def test_both_sides_in_one_npz_or_two_npy_pair_row_by_row():
    result = read_collection({"v.npz": npz(x=VECTORS, y=VECTORS[:, :2])})
    assert not [note for note in result.notes if "Not used" in str(note)]
    one = result.pairs
    two = read_collection({"x.npy": npy(VECTORS), "y.npy": npy(VECTORS[:, :2])}).pairs
    assert one.digest == two.digest and one.relevance.is_identity


def test_links_between_the_items_of_one_collection():
    links = {"ids.txt": b"a\nb\n", "relevance.tsv": b"x_id\ty_id\tgrade\na\tb\t1\n"}
    pairs = read_collection({"x.npz": sparse(sp.csr_array(VECTORS)), **links}).pairs
    assert pairs.x is pairs.y and dense(pairs) == [[0, 1], [0, 0]]


def test_images_by_folder_by_keywords_by_caption_and_by_judgments():
    by_folder = read_collection({"red/1.png": png(), "blue_sky/2.png": png("blue")}).pairs
    assert list(by_folder.x.content) == ["red", "blue sky"] and by_folder.y.kind == "image"
    table = b"file,keywords\n1.png,red|warm\n2.png,blue\n"
    images = {"a/1.png": png(), "a/2.png": png("blue")}
    by_words = read_collection({**images, "keywords.csv": table}).pairs
    assert list(by_words.x.content) == ["red", "warm", "blue"]
    rows = b'1.png,"a red, warm square of paper"\n2.png,a blue square on the wall\n'
    by_caption = read_collection({**images, "captions.csv": b"file,caption\n" + rows}).pairs
    assert by_caption.x.kind == "text" and len(by_caption.x) == 2
    judged = {"queries.jsonl": X, "qrels.tsv": b"query\timage\tgrade\na\t1.png\t1\nb\t2\t1\n"}
    mixed = read_collection(images | judged).pairs
    assert (mixed.x.kind, mixed.y.kind) == ("text", "image") and dense(mixed) == [[1, 0], [0, 1]]


REFUSED = {
    "two x sides": ({"x.csv": X, "queries.csv": X, "y.csv": Y}, "both look like the items"),
    "nothing known": ({"a.csv": X, "b.csv": Y}, "it is not clear which file holds what"),
    "one side": ({"x.jsonl": X}, "one side only"),
    "no common id": ({"x.jsonl": X, "y.jsonl": Y}, "no id occurs on both sides"),
    "strange ids": (
        {"x.jsonl": X, "y.jsonl": Y, "qrels.tsv": b"a\tb\tc\nv\tw\t1\n"},
        "no row names an item of both sides",
    ),
    "objects": ({"x.npy": npy(np.array([{}])), "y.npy": NPY}, "which are never unpickled"),
    "ids too few": ({"x.npy": NPY, "x_ids.txt": b"1\n", "y.npy": NPY}, "2 rows, but 1 ids"),
    "nan": ({"x.npy": npy(VECTORS * np.nan), "y.npy": NPY}, "NaN or infinity"),
    "two texts": ({"x.csv": b"id,text\n1,a\n1,b\n", "y.csv": Y}, "id '1' stands for 'b' here"),
    "zip in zip": (
        {"all.zip": zipped({"x.zip": zipped({"a.csv": X}), "y.jsonl": Y})},
        "is a zip archive, not a table",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_understood_is_refused_with_a_remedy(case):
    files, message = REFUSED[case]
    with pytest.raises(DatasetError, match=message):
        read_collection(files)


def test_links_out_of_a_folder_and_in_a_zip_are_not_followed(tmp_path):
    secret = tmp_path / "secret.jsonl"
    secret.write_bytes(X)
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "y.jsonl").write_bytes(Y)
    (folder / "x.jsonl").symlink_to(secret)
    with pytest.raises(DatasetError, match="one side only"):
        read_collection(folder)
    entry = zipfile.ZipInfo("x.jsonl")
    entry.external_attr = 0o120777 << 16
    with pytest.raises(DatasetError, match="holds a link"):
        read_collection(zipped({entry: "/etc/passwd"}), "l.zip")


def test_limits_hold_for_the_whole(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(X)
    (tmp_path / "y.jsonl").write_bytes(Y)
    for limit in ({"files": 1}, {"unpacked_bytes": 50}):
        with reading_limits(**limit), pytest.raises(DatasetError, match=r"limit|more than"):
            read_collection(tmp_path)
    with reading_limits(images=1), pytest.raises(DatasetError, match="the limit is 1"):
        read_collection({"red/1.png": png(), "blue/2.png": png()})


def test_parts_can_be_named():
    files = {"first.jsonl": X, "second.jsonl": Y, "third.tsv": REL}
    parts = {"x": "first.jsonl", "y": "second.jsonl", "relevance": "third.tsv"}
    assert dense(read_collection(files, parts=parts).pairs) == [[2, -1], [0, 1]]
    with pytest.raises(DatasetError, match="no file 'fourth'"):
        read_collection(files, parts={"x": "fourth"})


def test_names_tell_the_parts():
    parts = {"x_split.tsv": "about", "y.npz": "y", "data/topics": "x", "x_ids.txt": "ids"}
    parts |= {"robust04.qrels": "relevance", "images/a.PNG": "images", "LICENSE": "left_over"}
    assert {path: part_of(path)[0] for path in parts} == parts


def test_where_ids_are_the_same_names_say_which_side_and_which_judgments():
    files = {"x.csv": b"id,text\n1,a\n2,b\n", "y.csv": b"id,text\n1,c\n2,d\n"}
    files["y_meta.csv"] = b"id,kind\n1,p\n2,q\n"
    files["relevance_3level.tsv"] = b"x_id\ty_id\tgrade\n1\t2\t3\n"
    files["relevance.tsv"] = b"x_id\ty_id\tgrade\n1\t1\t1\n2\t2\t1\n"
    result = read_collection(files)
    assert list(result.pairs.y.metadata["kind"]) == ["p", "q"]
    assert dense(result.pairs) == [[1, 0], [0, 1]]
    assert has_note(result, "Not used: relevance_3level.tsv")


def test_files_and_columns_can_be_chosen_and_are_told():
    files = {
        "queries.csv": b"id,text\nq1,heart\n",
        "documents.csv": b"id,headline,body\nd1,Pump,moves blood\n",
        "judgments.csv": b"q,d,grade,kim\nq1,d1,2,1\n",
    }
    result = read_collection(files)
    assert result.pairs.y.content.tolist() == ["moves blood"]
    assert result.parts["y"][0] == "documents.csv"
    assert result.parts["y_text"] == ("body", "id", "headline")
    assert result.parts["label"] == ("grade", "kim", "")
    parts = {"y_text": "headline", "label": ""}
    chosen = read_collection(files, parts=parts)
    assert chosen.pairs.y.content.tolist() == ["Pump"]
    assert chosen.parts["label"][0] == "" and dense(chosen.pairs) == [[1]]
    assert chosen.pairs.y.metadata["body"].tolist() == ["moves blood"]
    swapped = read_collection(files, parts={"x": "documents.csv", "y": "queries.csv"}).pairs
    assert swapped.x.ids.tolist() == ["d1"]
    for wrong in ({"y_text": "words"}, {"label": "words"}):
        with pytest.raises(DatasetError, match="column 'words'"):
            read_collection(files, parts=wrong)


@pytest.mark.parametrize(
    "names", [("a.csv", "b.csv", "c.csv"), ("c.csv", "products.csv", "b.csv")]
)
def test_where_names_do_not_tell_the_table_that_lists_ids_of_two_others_judges_them(names):
    x = "nr,ask\n" + "".join(f"{i},question {i}\n" for i in range(9))
    y = "sku,called\n" + "".join(f"p{i},product {i}\n" for i in range(12))
    judged = "nr,sku,note\n" + "".join(f"{i},p{i + k},{k}\n" for i in range(9) for k in range(3))
    files = dict(zip(names, map(str.encode, (x, y, judged)), strict=True))
    for order in (1, -1):
        pairs = read_collection(dict(list(files.items())[::order])).pairs
        assert pairs.x.content[0] == "question 0" and pairs.y.content[0] == "product 0"
        assert pairs.relevance.positives.nnz == 18 and pairs.relevance.negatives.nnz == 9
