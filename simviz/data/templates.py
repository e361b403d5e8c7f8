"""Small files to begin with, one for each shape that can be read."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from simviz.exceptions import DatasetError
from simviz.registry import unknown_name

_FOLDER = Path(__file__).with_name("_templates")
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


def make_template(name: str) -> bytes:
    r"""A small file of one shape, to be filled with one's own pairs."""
    if name not in TEMPLATES:
        raise DatasetError(unknown_name("template", name, TEMPLATES))
    buffer = io.BytesIO()
    if name == "judgments.parquet":
        from pyarrow import csv, parquet

        parquet.write_table(csv.read_csv(_FOLDER / "judgments.csv"), buffer)
    elif name == "vectors.npz":
        rng = np.random.default_rng(0)
        x = rng.normal(size=(6, 4)).astype(np.float32)
        np.savez(buffer, x=x, y=(x + rng.normal(scale=0.1, size=x.shape)).astype(np.float32))
    elif name.endswith(".zip"):
        # What is in the zip lies in a folder of its name.
        folder = _FOLDER / name.removesuffix(".zip")
        with zipfile.ZipFile(buffer, "w") as archive:
            for path in sorted(folder.rglob("*.*")):
                inner = zipfile.ZipInfo(path.relative_to(folder).as_posix())  # without a time
                archive.writestr(inner, path.read_bytes())
    else:
        return (_FOLDER / name).read_bytes()
    return buffer.getvalue()
