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
from simviz.store.directory import write_bytes


def test_nothing_has_a_place_before_it_is_on_the_disk(store, mine, pairs, result, monkeypatch):
    spec, fsync = {"dataset_id": "demo:emoji", "method": "cca"}, os.fsync
    for kind, put in (
        ("datasets", lambda: store.datasets.put(pairs, mine)),
        ("runs", lambda: store.runs.put("0" * 32, result, spec, mine)),
    ):
        seen, drafts, place = [], set(), store.root / kind

        def look(handle, seen=seen, drafts=drafts, place=place):
            seen.append([*place.iterdir()])
            drafts.update(path.stat().st_ino for path in (store.root / "drafts").iterdir())
            fsync(handle)

        monkeypatch.setattr(os, "fsync", look)
        put()
        assert seen[0] == [] and seen[-1] == [*place.iterdir()] != []
        # Moved at once, not copied file by file.
        assert seen[-1][0].stat().st_ino in drafts


def test_a_run_that_is_not_written_to_its_end_leaves_nothing(
    store, mine, pairs, result, monkeypatch
):
    dataset_id = store.datasets.put(pairs, mine)

    def stop(*_):
        raise RuntimeError("halfway")

    monkeypatch.setattr("simviz.store.run.save_state", stop)
    with pytest.raises(RuntimeError, match="halfway"):
        store.runs.put("0" * 32, result, {"dataset_id": dataset_id, "method": "cca"}, mine)
    assert store.runs.find(mine) == [*(store.root / "runs").iterdir()] == []


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
