"""What hangs on one line of the store, from a second side."""

import errno
import os
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from simviz.persistence import load_state, replacing, save_state
from simviz.store import run as store_run
from simviz.store.directory import write_bytes


def test_a_run_has_no_place_before_it_is_whole(store, mine, pairs, result, monkeypatch):
    dataset_id = store.datasets.put(pairs, mine)
    seen = []

    def stop(objects, path):
        seen.append([path.name for path in (store.root / "runs").iterdir()])
        raise RuntimeError("halfway")

    monkeypatch.setattr(store_run, "save_state", stop)
    with pytest.raises(RuntimeError, match="halfway"):
        store.runs.put("0" * 32, result, {"dataset_id": dataset_id, "method": "cca"}, mine)
    assert seen == [[]] and store.runs.find(mine) == []
    assert list((store.root / "runs").iterdir()) == []


def test_a_run_is_moved_to_its_place_at_once(store, mine, pairs, result, monkeypatch):
    dataset_id, write, drafts = store.datasets.put(pairs, mine), store_run.save_state, []

    def note(objects, path):
        drafts.append(path.parent.stat().st_ino)
        return write(objects, path)

    monkeypatch.setattr(store_run, "save_state", note)
    spec = {"dataset_id": dataset_id, "method": "cca"}
    store.runs.put("0" * 32, result, spec, mine)
    assert (store.root / "runs" / ("0" * 32)).stat().st_ino == drafts[-1]


def test_a_data_set_has_no_place_before_it_is_on_the_disk(store, mine, pairs, monkeypatch):
    seen, drafts, fsync = [], set(), os.fsync

    def look(handle):
        seen.append([path.name for path in (store.root / "datasets").iterdir()])
        drafts.update(path.stat().st_ino for path in (store.root / "drafts").iterdir())
        fsync(handle)

    monkeypatch.setattr(os, "fsync", look)
    dataset_id = store.datasets.put(pairs, mine)
    assert seen[0] == [] and seen[-1] == [dataset_id]
    # Moved at once, not copied file by file.
    assert (store.root / "datasets" / dataset_id).stat().st_ino in drafts


def test_a_file_is_the_old_one_until_the_new_one_is_on_the_disk(tmp_path, monkeypatch):
    path, seen, fsync = tmp_path / "status.json", [], os.fsync
    write_bytes(path, b"old")

    def look(handle):
        seen.append(path.read_bytes())
        fsync(handle)

    monkeypatch.setattr(os, "fsync", look)
    write_bytes(path, b"new")
    assert (seen, path.read_bytes()) == ([b"old"], b"new")
    assert [*tmp_path.iterdir()] == [path]


def test_a_file_that_is_not_written_to_its_end_leaves_the_one_before(tmp_path):
    path = tmp_path / "arrays.npy"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError, match="halfway"), replacing(path) as file:
        file.write(b"ne")
        raise RuntimeError("halfway")
    assert path.read_bytes() == b"old" and [*tmp_path.iterdir()] == [path]


def test_a_file_that_cannot_be_begun_says_why(tmp_path, monkeypatch):
    def refuse(*_args, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(OSError, match="No space"), replacing(tmp_path / "arrays.npy"):
        pass


def test_a_model_that_cannot_be_written_leaves_the_one_before(tmp_path, monkeypatch):
    path = tmp_path / "model.zip"
    save_state({"kept": {"array": np.arange(3)}}, path)
    write = zipfile.ZipFile.writestr

    def refuse(archive, name, data):
        if str(name).endswith(".safetensors"):
            raise OSError("No space left on device")
        write(archive, name, data)

    monkeypatch.setattr(zipfile.ZipFile, "writestr", refuse)
    with pytest.raises(OSError, match="No space"):
        save_state({"lost": {"array": np.arange(4)}}, path)
    assert [*load_state(path)] == ["kept"] and [*tmp_path.iterdir()] == [path]


def test_who_reads_the_index_keeps_nobody_from_writing(store, mine):
    (path,) = [p for p in store.root.iterdir() if p.is_file() and p.read_bytes()[:6] == b"SQLite"]
    with closing(sqlite3.connect(path)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT COUNT(*) FROM workspaces").fetchone()[0] >= 1
        assert store.workspaces.has(store.workspaces.create())
