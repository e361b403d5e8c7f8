"""Data that several tests make up."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import scipy.sparse as sp

from simviz.data import Items, PairSet
from simviz.relevance import Relevance

COLOURS = ("red", "blue", "green", "gold", "grey")
THINGS = ("car", "bus", "tram", "ship", "bike", "train")
LEFT = [f"a {colour} {thing} today" for colour in COLOURS for thing in THINGS[:4]]
RIGHT = [f"{thing} in {colour} seen here" for colour in COLOURS for thing in THINGS[:4]]


def words_and_pictures():
    """Four keywords, and pictures of them."""
    rng = np.random.default_rng(0)
    words = Items([*"abcd"], ["sun", "moon", "star", "sea"], "keyword")
    pictures = Items([*"123456"], rng.integers(0, 255, (6, 64, 64), dtype=np.uint8), "image")
    shown = Relevance.from_pairs([0, 1, 2, 3, 0, 1], range(6), shape=(4, 6))
    return PairSet(words, pictures, shown)


def saved(write, *arguments, **named):
    """The bytes of what writes to a file."""
    buffer = io.BytesIO()
    write(buffer, *arguments, **named)
    return buffer.getvalue()


def zipped(files, compression=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def arrow(columns, new=None):
    """The bytes of an Arrow file, or of a stream."""
    import pyarrow as pa

    table, buffer = pa.table(columns), io.BytesIO()
    with (new or pa.ipc.new_file)(buffer, table.schema) as writer:
        writer.write_table(table)
    return buffer.getvalue()


def has_note(result, *parts):
    return any(all(part in note for part in parts) for note in result.notes)


def loud(n=300, seed=0):
    """Items of ten topics, and of noise that varies most and says nothing."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, 10, n)
    noise = 3 * rng.normal(size=(2, n, 4))
    relevance = Relevance(sp.csr_array((topic[:, None] == topic).astype(float)))
    return (*(np.hstack([np.eye(10)[topic], one]) for one in noise), relevance)
