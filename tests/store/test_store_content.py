import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

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
    assert (back.name, back.x_name, back.y_name) == (pairs.name, pairs.x_name, pairs.y_name)
    assert (back.x is back.y) == (pairs.x is pairs.y)
    assert back.relevance.unjudged == pairs.relevance.unjudged
    assert back.relevance.kind == pairs.relevance.kind
    assert back.relevance.threshold == pairs.relevance.threshold
    assert list(back.x.metadata) == list(pairs.x.metadata)


def test_cells_of_other_types_come_back_as_their_text(tmp_path):
    odd = np.array([np.float32(0.1), np.datetime64("2026-01-02"), 2**70], dtype=object)
    x = Items("abc", "abc", "text", {"odd": odd})
    write_pairs(PairSet(x, x, Relevance.identity(3)), tmp_path)
    back = read_pairs(tmp_path)
    assert back.x.metadata["odd"].tolist() == ["0.1", "2026-01-02", str(2**70)]
    assert back.x.digest == x.digest


def test_a_column_of_records_with_objects_is_refused(tmp_path):
    column = np.zeros(2, dtype=[("a", object)])
    x = Items("ab", "ab", "text", {"records": column})
    with pytest.raises(StoreError, match="cannot be stored"):
        write_pairs(PairSet(x, x, Relevance.identity(2)), tmp_path)


@pytest.mark.parametrize("name", ["pairs.json", "arrays.npz"])
@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\xfe", b"[" * 100_000])
def test_damaged_files_are_a_store_error(tmp_path, name, damage):
    write_pairs(PairSet.from_texts(["a", "b"], ["c", "d"]), tmp_path)
    (tmp_path / name).write_bytes(damage)
    with pytest.raises(StoreError):
        read_pairs(tmp_path)


def test_indices_from_a_damaged_file_are_not_trusted(tmp_path):
    from simviz.store.directory import read_arrays, write_arrays

    write_pairs(PairSet.from_texts(["a", "b"], ["c", "d"]), tmp_path)
    arrays = read_arrays(tmp_path / "arrays.npz")
    arrays["relevance.indices"] = arrays["relevance.indices"] + 7
    write_arrays(tmp_path / "arrays.npz", arrays)
    with pytest.raises(StoreError, match="damaged"):
        read_pairs(tmp_path)


def test_pickled_arrays_are_never_loaded(tmp_path):
    write_pairs(PairSet.from_texts(["a"], ["b"]), tmp_path)
    np.savez(tmp_path / "arrays.npz", evil=np.array([object()], dtype=object))
    with pytest.raises(StoreError):
        read_pairs(tmp_path)


def test_arrays_are_read_without_a_parser_that_threads_share(tmp_path, monkeypatch):
    from simviz.store.directory import read_arrays

    arrays = {
        "a": np.arange(6.0).reshape(2, 3),
        "f": np.asfortranarray(np.eye(3, dtype=np.float32)),
        "0": np.array(7, dtype=np.int8),
        "none": np.empty((0, 4)),
        "words": np.array(["ä", "bc"]),
        "big": np.arange(100_000),
        "bits": np.array([True, False]),
        "swapped": np.arange(3, dtype=">i4"),
    }
    np.savez_compressed(tmp_path / "arrays.npz", **arrays)
    expected = dict(np.load(tmp_path / "arrays.npz"))
    monkeypatch.setattr("ast.literal_eval", None)
    found = read_arrays(tmp_path / "arrays.npz")
    assert found.keys() == arrays.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype and found[name].flags.writeable
        assert found[name].flags.f_contiguous == array.flags.f_contiguous


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no array",
        b"\x93NUMPY\x01\x00\x0f\x00{'descr': '|O'}",
        b"\x93NUMPY\x01\x00\x35\x00{'descr': '<f8', 'fortran_order': 0, 'shape': (3,), }1234",
        b"\x93NUMPY\x01\x00\x36\x00{'descr': '<f8', 'fortran_order': 0, 'shape': (-1,), }1234",
    ],
)
def test_what_is_no_array_is_refused(tmp_path, content):
    from simviz.store.directory import read_arrays

    with zipfile.ZipFile(tmp_path / "arrays.npz", "w") as archive:
        archive.writestr("a.npy", content)
    with pytest.raises(StoreError, match=r"arrays\.npz of the store is damaged"):
        read_arrays(tmp_path / "arrays.npz")
