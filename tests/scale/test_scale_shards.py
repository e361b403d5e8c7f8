"""Sparse features on disk: what was written is read, and nothing else."""

import json
import tempfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

from simviz.exceptions import StoreError
from simviz.scale import SparseShards


def parts(sizes=(5, 0, 8), d=7, seed=0):
    rng = np.random.default_rng(seed)
    shape = {"density": 0.4, "rng": rng, "dtype": np.float32, "format": "csr"}
    return [sp.random_array((n, d), **shape) for n in sizes]


def test_shards_are_what_was_written_and_stay_on_the_disk(tmp_path):
    written = parts()
    shards = SparseShards.write(tmp_path, iter(written))
    assert (len(shards), shards.n_items, shards.n_features) == (3, 13, 7)
    assert shards.starts.tolist() == [0, 5, 5, 13] and shards.ids(0) is None
    for found, matrix in zip([*shards, shards[-1]], [*written, written[-1]], strict=True):
        assert isinstance(found, sp.csr_array)
        np.testing.assert_array_equal(found.toarray(), matrix.toarray())
    with pytest.raises(IndexError):
        shards[3]
    for array in (shards[0].data, shards[0].indices):
        while not isinstance(array, np.memmap):
            array = array.base
            assert array is not None, "copied into memory"


@settings(max_examples=40)
@given(st.lists(st.integers(0, 12), max_size=20))
def test_rows_are_taken_in_the_order_asked_for(rows):
    with tempfile.TemporaryDirectory() as folder:
        shards = SparseShards.write(folder, parts())
        taken = shards.take(rows)
        assert taken.dtype == np.float32
        np.testing.assert_array_equal(taken.toarray(), sp.vstack(parts()).toarray()[rows])
        for wrong in ([3, 13], [0, -1]):
            with pytest.raises(IndexError, match=f"0 to 12, got {min(wrong)} to {max(wrong)}"):
                shards.take(wrong)


def test_ids_of_any_letters_survive(tmp_path):
    ids = [["a", "", "ñandú", "\ud800", "東京"], [], [str(i) for i in range(8)]]
    shards = SparseShards.write(tmp_path, parts(), ids)
    assert [shards.ids(i) for i in range(3)] == ids
    for matrices, own_ids, words in (
        (parts(), [["a"]], "5 rows and 1 ids"),
        ([*parts(), sp.csr_array((2, 3))], None, r"got \[3, 7\]"),
        ([], None, "no shard"),
    ):
        with pytest.raises(ValueError, match=words):
            SparseShards.write(tmp_path / "other", matrices, own_ids)


def test_a_folder_is_complete_or_refused(tmp_path):
    with pytest.raises(StoreError, match=r"no meta\.json"):
        SparseShards(tmp_path)
    SparseShards.write(tmp_path, parts())
    with pytest.raises(StoreError, match="holds shards already"):
        SparseShards.write(tmp_path, parts())

    def broken():
        yield parts()[0]
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        SparseShards.write(tmp_path / "other", broken())
    with pytest.raises(StoreError, match="not written to its end"):
        SparseShards(tmp_path / "other")
    assert not [p for p in (tmp_path / "other").iterdir() if p.name.startswith(".")]


def test_damage_is_told_before_it_does_harm(tmp_path):
    SparseShards.write(tmp_path, parts())
    outside = np.load(tmp_path / "00000.indices.npy")
    outside[0] = 7_000_000
    np.save(tmp_path / "00000.indices.npy", outside)
    with pytest.raises(StoreError, match="lie outside of 5 x 7"):
        SparseShards(tmp_path)[0]
    np.save(tmp_path / "00002.data.npy", np.ones(3, dtype=np.float32))
    with pytest.raises(StoreError, match="holds float32 of shape"):
        SparseShards(tmp_path)[2]
    (tmp_path / "00002.data.npy").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot be read"):
        SparseShards(tmp_path)[2]
    np.save(tmp_path / "00002.data.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(StoreError, match="cannot be read"):
        SparseShards(tmp_path)[2]
    meta = json.loads((tmp_path / "meta.json").read_text())
    (tmp_path / "meta.json").write_text(json.dumps({**meta, "format": "other"}))
    with pytest.raises(StoreError, match="format 'other', expected"):
        SparseShards(tmp_path)
    (tmp_path / "meta.json").write_text(json.dumps({"format": meta["format"]}))
    with pytest.raises(StoreError, match="does not say what there is"):
        SparseShards(tmp_path)
