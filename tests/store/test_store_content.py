import json
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from safetensors.numpy import load, save

from simviz.data import Items, PairSet
from simviz.data.cells import mended
from simviz.exceptions import StoreError
from simviz.relevance import Relevance
from simviz.store.datasets import read_pairs, write_pairs

anything = st.text(st.characters(), max_size=8)  # lone surrogates and NUL included
cell = st.one_of(st.none(), anything, st.booleans(), st.integers(), st.floats())


@st.composite
def items(draw, n):
    kind = draw(st.sampled_from(["text", "keyword", "image", "dense", "sparse"]))
    ids = draw(st.lists(anything, min_size=n, max_size=n, unique_by=mended))
    seed = draw(st.integers(0, 1000))
    rng = np.random.default_rng(seed)
    if kind in ("text", "keyword"):
        content = draw(st.lists(anything, min_size=n, max_size=n))
    elif kind == "image":
        shape = (n, 3, 2, 3) if seed % 2 else (n, 3, 2)
        content = rng.integers(0, 256, shape, dtype=np.uint8)
    elif kind == "dense":
        content = rng.normal(size=(n, 3)).astype(draw(st.sampled_from(["f4", "f8", ">f8"])))
    else:
        content = sp.random_array((n, 4), density=0.5, rng=rng, format="csr")
        if seed % 2:
            content.indices = content.indices.astype(np.int64)
            content.indptr = content.indptr.astype(np.int64)
    metadata = {
        "objects": np.array(draw(st.lists(cell, min_size=n, max_size=n)), dtype=object),
        "ints": rng.integers(0, 9, n),
        "days": np.arange(n).astype("datetime64[D]"),
        draw(anything): np.array([f"{i}é" for i in range(n)]),
    }
    return Items(ids, content, "vector" if kind in ("dense", "sparse") else kind, metadata)


@st.composite
def pair_sets(draw):
    n_x, n_y = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    x = draw(items(n_x))
    y = x if n_x == n_y and draw(st.booleans()) else draw(items(n_y))
    n = draw(st.integers(0, 5))
    rows = draw(st.lists(st.integers(0, n_x - 1), min_size=n, max_size=n))
    columns = draw(st.lists(st.integers(0, n_y - 1), min_size=n, max_size=n))
    kind = draw(st.sampled_from(["grade", "score"]))
    values = st.sampled_from([-1.0, 1.0, 2.5]) if kind == "grade" else st.floats(-2, 2)
    relevance = Relevance.from_pairs(
        rows,
        columns,
        draw(st.lists(values, min_size=n, max_size=n)),
        shape=(n_x, n_y),
        unjudged=draw(st.sampled_from(["negative", "ignore", None])),
        kind=kind,
        threshold=draw(st.sampled_from([None, 0.1])) if kind == "score" else None,
    )
    return PairSet(x, y, relevance, name="a name", x_name="left", y_name="rechts ✓")


@settings(max_examples=60)
@given(pairs=pair_sets())
def test_a_pair_set_comes_back_with_its_digest_names_and_meaning(pairs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("content")
    write_pairs(pairs, folder)
    back = read_pairs(folder)
    assert back.digest == pairs.digest
    assert (back.x is back.y) == (pairs.x is pairs.y)
    assert list(back.x.metadata) == list(pairs.x.metadata)
    for name in ("name", "x_name", "y_name"):
        assert getattr(back, name) == getattr(pairs, name)
    for name in ("unjudged", "kind", "threshold"):
        assert getattr(back.relevance, name) == getattr(pairs.relevance, name)


def test_cells_of_other_types_come_back_as_their_text(tmp_path):
    odd = np.array([np.float32(0.1), np.datetime64("2026-01-02"), 2**70], dtype=object)
    several = np.array([["a", None], [1, 2.5], [True, ""]], dtype=object)
    x = Items("abc", "abc", "text", {"odd": odd, "several": several})
    write_pairs(PairSet(x, x, Relevance.identity(3)), tmp_path)
    back = read_pairs(tmp_path).x
    assert back.metadata["odd"].tolist() == ["0.1", "2026-01-02", str(2**70)]
    assert back.metadata["several"].tolist() == several.tolist() and back.digest == x.digest


def test_a_column_of_records_with_objects_is_refused(tmp_path):
    column = np.zeros(2, dtype=[("a", object)])
    x = Items("ab", "ab", "text", {"records": column})
    with pytest.raises(StoreError, match="cannot be stored"):
        write_pairs(PairSet(x, x, Relevance.identity(2)), tmp_path)


@pytest.mark.parametrize("name", ["pairs.simviz", "names.json"])
@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\xfe", b"[" * 100_000])
def test_damaged_files_are_a_store_error(tmp_path, name, damage):
    write_pairs(PairSet.from_texts(["a", "b"], ["c", "d"]), tmp_path)
    (tmp_path / name).write_bytes(damage)
    with pytest.raises(StoreError, match="Delete the data set"):
        read_pairs(tmp_path)


def written_again(path, tree=lambda tree: tree, arrays=lambda arrays: arrays):
    """Change what a file of the store says, as damage or a stranger might."""
    with zipfile.ZipFile(path) as archive:
        found = json.loads(archive.read("objects.json")), load(archive.read("arrays.safetensors"))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("objects.json", json.dumps(tree(found[0])))
        archive.writestr("arrays.safetensors", save(arrays(found[1])))


def test_indices_from_a_damaged_file_are_not_trusted(tmp_path):
    write_pairs(PairSet.from_texts(["a", "b"], ["c", "d"]), tmp_path)
    name = "relevance.matrix.indices"
    path = tmp_path / "pairs.simviz"
    written_again(path, arrays=lambda arrays: arrays | {name: arrays[name] + 7})
    with pytest.raises(StoreError, match="damaged"):
        read_pairs(tmp_path)


@pytest.mark.parametrize("dtype", ["|O", "O", "no type"])
def test_objects_are_made_of_no_bytes(tmp_path, dtype):
    days = np.arange(2).astype("datetime64[D]")
    x = Items("ab", "ab", "text", {"day": days})
    write_pairs(PairSet(x, x, Relevance.identity(2)), tmp_path)

    def of_objects(tree):
        (column,) = tree["objects"]["x"]["params"]["metadata"]["values"]
        assert column["dtype"] == days.dtype.str
        column["dtype"] = dtype
        return tree

    assert read_pairs(tmp_path).x.metadata["day"].tolist() == days.tolist()
    written_again(tmp_path / "pairs.simviz", tree=of_objects)
    with pytest.raises(StoreError, match="damaged"):
        read_pairs(tmp_path)


def test_texts_that_repeat_are_read_back(tmp_path):
    n = 40_000
    x = Items([str(i) for i in range(n)], ["the same words in all of them"] * n, "text")
    write_pairs(PairSet(x, x, Relevance.identity(n)), tmp_path)
    assert read_pairs(tmp_path).x.digest == x.digest
