"""Broken, odd and hostile files: a sentence or a whole data set, never anything else.

As many cases are tried as the environment variable SIMVIZ_FUZZ_CASES says, 500 when
it says nothing; `make soak-readers` tries 20,000.
"""

import gzip
import io
import json
import os
import random
import struct
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings, strategies as st
from made_up import arrow, saved, zipped

from simviz.data import read_collection, read_pairs, reading_limits
from simviz.data.templates import TEMPLATES, make_template
from simviz.exceptions import DatasetError
from simviz.store import Store

CASES = int(os.environ.get("SIMVIZ_FUZZ_CASES", "500"))
PARTS = 20
TEXT = "x_id\tx\ty_id\ty\tgrade\n" + "".join(
    f"{i}\theart {i}\t{i % 3}\tred {i % 3}\t{i % 4}\n" for i in range(9)
)
ODD = [
    "\0", "\r", "\r\n", "\n\n", "\x1a", "\ufeff", "\u2028", "\u202e", "e\u0301", "\ud83d\ude00",
    "\U0001f468\u200d\U0001f469", '"', '""', '","', "'", "\t", ";", "|", "=1+1", "@x", "<script>",
    "1e999", "-1e999", "9" * 400, "9" * 5000, "0x1F", "nan", "inf", "-0", "1e-400", "{", "}", "[",
    "]", "[[[[", "\\ud800", "\\", "null", "true", "id", "NaN", "<DOC>", "</DOC>", "<top>", " ",
    "\x85", "ا", "ﷺ", "İ", "ß", "%%MatrixMarket", "-1", "2147483648", "-9223372036854775809",
]  # fmt: skip
ENDINGS = """.csv .tsv .jsonl .json .parquet .arrow .xlsx .zip .npz .npy .mtx .svmlight .gz .txt
.qrels .sgml .png .pickle""".split()


COLUMNS = {"x": ["a", "b"], "y": ["c", None], "v": [[1.0, 2], [3.0, 4]], "n": [1, 2]}


def seeds():
    """Good files of every format, which are then broken."""
    from test_formats import HEADER, workbook

    rows = "".join(
        f'<row r="{i}"><c r="A{i}" t="str"><v>a{i}</v></c><c r="B{i}"><v>{i}</v></c></row>'
        for i in range(2, 9)
    )
    dense = np.arange(6.0).reshape(3, 2)
    return {
        **{name: make_template(name) for name in TEMPLATES},
        "long.tsv": TEXT.encode(),
        "wide.json": json.dumps([{"x": "a", "y": i, "z": [i, 2]} for i in range(5)]).encode(),
        "packed.csv.gz": gzip.compress(TEXT.replace("\t", ",").encode()),
        "utf16.csv": TEXT.replace("\t", ";").encode("utf-16"),
        "book.xlsx": workbook(HEADER + rows),
        "table.arrow": arrow(COLUMNS),
        "both.npz": saved(np.savez, x=dense, y=dense, format=np.array("csr")),
        "one.npy": saved(np.save, dense),
        "x.npz": saved(sp.save_npz, sp.csr_array(dense)),
        "m.mtx": b"%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1\n2 3 2\n",
        "m.svmlight": b"0 1:1 3:2\n1 2:3\n",
    }


def mutated(rng, data, others):
    """One or several injuries."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        way = rng.randrange(9)
        if way == 0:
            del data[at:]
        elif way == 1 and data:
            for _ in range(rng.choice((1, 4, 40))):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        elif way == 2:
            data[at:at] = rng.choice(ODD).encode("utf-8", "surrogatepass") * rng.choice((1, 1, 50))
        elif way == 3:
            del data[at : at + rng.randrange(1, 40)]
        elif way == 4:
            data[at:at] = data[at : at + 60] * rng.choice((1, 30))
        elif way == 5:
            other = rng.choice(others)
            data[at:] = other[rng.randrange(len(other)) :]
        elif way == 6:
            data[at : at + 4] = struct.pack("<i", rng.choice((-1, 0, 2**31 - 1, 65_536)))
        elif way == 7:
            data = data.replace(b"\n", rng.choice((b"\r", b"\r\n", b"\n\r", b"")))
        else:
            word = rng.choice(ODD).encode("utf-8", "surrogatepass")
            data = data.replace(rng.choice((b"1", b"a", b",", b"\t")), word, 3)
        if not data:
            break
    return bytes(data)


def hostile_zip(rng, good):
    """Archives that lie, lead out, nest, repeat, or unpack to very much."""
    names = ["../x", "/etc/x", "a\\..\\b.csv", "C:x.csv", "a/" * 60 + "y.csv", "\u202egnp.csv"]
    names += ["x.jsonl", "qrels.tsv", "y.csv", "a.png", "b.zip", "n", " ", "x.npy", "x\0y.csv"]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", rng.choice((0, 8))) as archive:
        for _ in range(rng.randrange(1, 5)):
            entry = zipfile.ZipInfo(rng.choice(names))
            entry.compress_type = rng.choice((0, 8))
            entry.external_attr = rng.choice((0, 0, 0o120777 << 16, 0o755 << 16))
            if entry.filename not in archive.NameToInfo:
                bomb = b"0" * rng.choice((10, 10_000, 3_000_000))
                archive.writestr(entry, rng.choice((rng.choice(good), bomb, b"")))
    data = bytearray(buffer.getvalue())
    if rng.random() < 0.6:  # sizes, flags or offsets of the directory
        at = data.find(b"PK\x01\x02") + rng.randrange(4, 46)
        data[at : at + 4] = struct.pack("<I", rng.choice((0, 1, 2**31, 2**32 - 1, 99)))
    return bytes(data)


def case(rng, good):
    """File names and contents of one case."""
    name, data = rng.choice(list(good.items()))
    others = list(good.values())
    kind = rng.random()
    if kind < 0.12:
        return {rng.choice(("z.zip", "pictures.zip")): hostile_zip(rng, others)}
    if kind < 0.3:  # several files, one of them broken
        inside = zipfile.ZipFile(io.BytesIO(good[rng.choice(("collection.zip", "trec.zip"))]))
        files = {n: inside.read(n) for n in inside.namelist()}
        broken = rng.choice(list(files))
        files[broken] = mutated(rng, files[broken], others)
        if rng.random() < 0.3:
            files.update({rng.choice(("y.npz", "split.tsv", "ids.txt")): rng.choice(others)})
        return files
    if kind < 0.4:  # repacked, so that what is inside is broken, not the packing
        broken = mutated(rng, data, others)
        if rng.random() < 0.5:
            return {f"{name}.gz": gzip.compress(broken, 1)}
        return {"z.zip": zipped({name: broken}, zipfile.ZIP_STORED)}
    if kind < 0.5:
        name = f"q{rng.choice(ENDINGS)}"
    if kind > 0.97:
        return {name: rng.randbytes(rng.randrange(1, 300))}
    return {name: mutated(rng, data, others)}


def read(files):
    if len(files) == 1:
        name, data = next(iter(files.items()))
        if not name.endswith((".zip", ".npz", ".npy", ".mtx", ".svmlight")):
            return read_pairs(data, name)
    return read_collection(files, "case")


LIMITS = {"file_bytes": 2_000_000, "unpacked_bytes": 8_000_000, "cells": 200_000, "rows": 50_000}


@pytest.mark.parametrize("part", range(PARTS))
def test_no_file_leaves_anything_but_a_sentence_or_a_whole_data_set(part, tmp_path):
    store = Store(tmp_path / "store")
    workspace = store.workspaces.create()
    good = seeds()
    kept = 0
    for number in range(-(-CASES // PARTS)):
        seed = part * 1_000_003 + number
        files = case(random.Random(seed), good)
        try:
            with reading_limits(**LIMITS):
                result = read(files)
        except DatasetError as error:
            assert 10 < len(str(error)) < 2_500, seed
            name, *others = files
            assert others or ".zip" in name or name.removesuffix(".gz") in str(error), seed
            continue
        except Exception as error:
            error.add_note(f"case {seed}: { {n: d[:200] for n, d in files.items()} }")
            raise
        pairs = result.pairs
        assert pairs.relevance.shape == (len(pairs.x), len(pairs.y)), seed
        assert np.isfinite(pairs.relevance.matrix.data).all() and pairs.digest, seed
        if kept < 10:  # what was read can be stored and read back
            kept += 1
            found = store.datasets.put(pairs, workspace)
            assert store.datasets.get(found, workspace).digest == pairs.digest, seed
    assert kept > 0
    assert sum(not d.is_demo for d in store.datasets.find(workspace)) <= kept
    assert not [p for p in (tmp_path / "store").rglob("*") if ".part" in p.name]


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(
    text=st.text(alphabet=st.characters() | st.sampled_from(',;\t|"\n\r{}[]01.-eE'), max_size=200),
    header=st.sampled_from(
        ["", "x,y\n", "query\tdocument\tgrade\n", '{"x": "a", "y": ', "x;y;score\n"]
    ),
    name=st.sampled_from(["a.csv", "a.tsv", "a.jsonl", "a.txt", "a.json"]),
)
def test_any_text_is_read_or_refused(text, header, name):
    try:
        result = read_pairs((header + text).encode("utf-8", "surrogatepass"), name)
    except DatasetError as error:
        assert str(error)
    else:
        assert len(result.pairs.x) and len(result.pairs.y)
