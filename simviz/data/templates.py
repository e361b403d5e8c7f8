"""Small files to begin with, one for each shape that can be read."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from simviz.exceptions import DatasetError
from simviz.registry import unknown_name

Rows = Sequence[tuple[object, ...]]

#: File name to what the file shows, one for each shape that is read.
TEMPLATES: Mapping[str, str] = MappingProxyType(
    {
        "pairs.tsv": "A pair a row: words in two languages",
        "judgments.csv": "A judgment a row: questions and answers with a grade",
        "judgments.parquet": "The same, with typed columns",
        "labels.csv": "A judgment in words: same, subset, superset, disjoint",
        "scores.csv": "Scores: how similar two sentences are",
        "titles.jsonl": "Titles with the group they belong to",
        "groups.csv": "Groups: items and the number of their group",
        "triplets.csv": "Triplets: what belongs to the anchor, and what does not",
        "collection.zip": "Queries, documents and judgments in three files",
        "trec.zip": "TREC: topics, documents and qrels",
        "pictures.zip": "Pictures with a table of keywords",
        "folders.zip": "Pictures in folders, which are their keywords",
        "captions.zip": "Texts on one side, pictures on the other",
        "vectors.npz": "Vectors: both sides as arrays x and y",
        "texts-and-vectors.jsonl": "Texts on one side, vectors on the other",
    }
)
_GRADED = (
    ("query", "document", "grade"),
    ("how to boil an egg", "Put the egg into boiling water for seven minutes.", 2),
    ("how to boil an egg", "Fresh eggs sink, old eggs float.", 1),
    ("how to boil an egg", "Sharpen a knife at an angle of fifteen degrees.", 0),
    ("why is bread sour", "Lactic acid from the leaven makes bread sour.", 2),
    ("why is bread sour", "Put the egg into boiling water for seven minutes.", 0),
)
_LABELLED = (
    ("query", "ad", "label"),
    ("running shoes", "Shoes for runners", "same"),
    ("running shoes", "Trail running shoes", "subset"),
    ("running shoes", "Leather office chairs", "disjoint"),
    ("flights to rome", "Low fares to all of Italy", "superset"),
    ("flights to rome", "Shoes for runners", "disjoint"),
)
_WORDS = (("english", "spanish"), ("bread", "pan"), ("egg", "huevo"), ("knife", "cuchillo"))
_TITLES = (
    ("title", "group_id", "group_name"),
    ("night nurse", "g1", "nurses"),
    ("registered nurse (RN)", "g1", "nurses"),
    ("lorry driver", "g2", "drivers"),
    ("truck driver, long distance", "g2", "drivers"),
)
_SCORES = (
    ("sentence_1", "sentence_2", "score"),
    ("A man slices bread.", "Someone cuts a loaf.", 4.2),
    ("A man slices bread.", "A man bakes bread.", 2.1),
    ("An egg boils in a pot.", "A pot stands on the stove.", 1.5),
    ("An egg boils in a pot.", "Water with an egg in it is boiling.", 4.6),
)
_GROUPS = (
    ("title", "group_id"),
    ("night nurse", 1),
    ("registered nurse (RN)", 1),
    ("staff nurse", 1),
    ("lorry driver", 2),
    ("truck driver, long distance", 2),
)
_TRIPLETS = (
    ("anchor", "positive", "negative"),
    ("boil an egg", "Seven minutes in boiling water.", "Fresh eggs sink, old eggs float."),
    ("sharpen a knife", "Hold it at fifteen degrees.", "Bread knives have teeth."),
    ("bake bread", "Forty minutes in a hot oven.", "Bread freezes well."),
)
_CAPTIONS = (
    ("file", "caption"),
    ("red-square.png", "a red square on white paper"),
    ("blue-square.png", "a blue square on white paper"),
    ("blue-circle.png", "a round blue disc on white paper"),
)
_PICTURES = (
    ("red-square.png", "red|square", "#b03a2e", False),
    ("blue-square.png", "blue|square", "#2e6fb0", False),
    ("blue-circle.png", "blue|circle", "#2e6fb0", True),
)


def make_template(name: str) -> bytes:
    r"""A small file of one shape, to be filled with one's own pairs."""
    if name not in TEMPLATES:
        raise DatasetError(unknown_name("template", name, TEMPLATES))
    pictures = [("file", "keywords"), *((file, words) for file, words, _, _ in _PICTURES)]
    made: Mapping[str, Callable[[], bytes]] = {
        "pairs.tsv": lambda: _delimited(_WORDS, "\t"),
        "judgments.csv": lambda: _delimited(_GRADED),
        "labels.csv": lambda: _delimited(_LABELLED),
        "scores.csv": lambda: _delimited(_SCORES),
        "groups.csv": lambda: _delimited(_GROUPS),
        "triplets.csv": lambda: _delimited(_TRIPLETS),
        "titles.jsonl": lambda: _lines(_TITLES),
        "judgments.parquet": _parquet,
        "collection.zip": _collection,
        "trec.zip": _trec,
        "pictures.zip": lambda: _pictures(pictures),
        "captions.zip": lambda: _pictures(_CAPTIONS),
        "folders.zip": lambda: _pictures(None),
        "vectors.npz": _vectors,
        "texts-and-vectors.jsonl": _mixed,
    }
    return made[name]()


def _lines(rows: Rows) -> bytes:
    lines = [json.dumps(dict(zip(map(str, rows[0]), row, strict=True))) for row in rows[1:]]
    return ("\n".join(lines) + "\n").encode()


def _sides() -> tuple[dict[object, str], dict[object, str]]:
    """Ids of the questions and answers that are judged."""
    sides: tuple[dict[object, str], dict[object, str]] = ({}, {})
    for row in _GRADED[1:]:
        for side, text, letter in zip(sides, row, "qd", strict=False):
            side.setdefault(text, f"{letter}{len(side) + 1}")
    return sides


def _collection() -> bytes:
    x, y = _sides()
    qrels = [("query-id", "corpus-id", "score"), *((x[a], y[b], g) for a, b, g in _GRADED[1:])]
    return _zip(
        {
            "queries.jsonl": _lines([("_id", "text"), *((i, t) for t, i in x.items())]),
            "corpus.jsonl": _lines(
                [("_id", "title", "text"), *((i, "", t) for t, i in y.items())]
            ),
            "qrels/test.tsv": _delimited(qrels, "\t"),
        }
    )


def _trec() -> bytes:
    x, y = _sides()
    topics = [f"<top>\n<num> Number: {i}\n<title> {t}\n</top>\n" for t, i in x.items()]
    documents = [f"<DOC>\n<DOCNO>{i}</DOCNO>\n<TEXT>{t}</TEXT>\n</DOC>\n" for t, i in y.items()]
    qrels = [f"{x[a]} 0 {y[b]} {g}\n" for a, b, g in _GRADED[1:]]
    files = {"topics.txt": topics, "documents.sgml": documents, "qrels.txt": qrels}
    return _zip({name: "".join(lines).encode() for name, lines in files.items()})


def _vectors() -> bytes:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, 4)).astype(np.float32)
    buffer = io.BytesIO()
    np.savez(buffer, x=x, y=(x + rng.normal(scale=0.1, size=x.shape)).astype(np.float32))
    return buffer.getvalue()


def _mixed() -> bytes:
    rng = np.random.default_rng(0)
    rows = [(spanish, rng.normal(size=4).round(3).tolist()) for _, spanish in _WORDS[1:]]
    return _lines([("word", "vector"), *rows])


def _zip(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)  # without the time of day
    return buffer.getvalue()


def _delimited(rows: Rows, delimiter: str = ",") -> bytes:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()


def _parquet() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = zip(_GRADED[0], zip(*_GRADED[1:], strict=True), strict=True)
    buffer = io.BytesIO()
    pq.write_table(pa.table({str(name): list(cells) for name, cells in columns}), buffer)
    return buffer.getvalue()


def _pictures(table: Rows | None) -> bytes:
    """Three pictures with a table, or in folders named after their colours."""
    from PIL import Image, ImageDraw

    files = {} if table is None else {"keywords.csv": _delimited(table)}
    for file, _, colour, is_round in _PICTURES:
        picture, png = Image.new("RGB", (64, 64), "white"), io.BytesIO()
        pen = ImageDraw.Draw(picture)
        (pen.ellipse if is_round else pen.rectangle)((12, 12, 52, 52), fill=colour)
        picture.save(png, "PNG")
        files[file if table is not None else f"{file.split('-')[0]}/{file}"] = png.getvalue()
    return _zip(files)
