"""A store whose disk is full: it is read, made room in, and refuses what is new."""

import errno
import json
import os
import shutil
import sys
from collections import namedtuple

import pytest
from waiting import run_script

from simviz.data import PairSet
from simviz.exceptions import StoreError
from simviz.store.directory import SPARE_BYTES, IndexFile

Disk = namedtuple("Disk", "total used free")


@pytest.fixture
def fill(monkeypatch):
    """Says that so many bytes are free."""

    def say(free):
        monkeypatch.setattr(shutil, "disk_usage", lambda path: Disk(10**9, 10**9 - free, free))

    return say


# No byte can be written to any file, not even by SQLite: neither by who has the store open, nor
# by a process that begins then. Directories and empty files can still be made.
READ = """
    import json, resource, signal, sys
    from simviz.exceptions import StoreError
    from simviz.store import Store

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    open_before = Store(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    mine, token, run_id = sys.argv[2:]
    for store in (open_before, Store(sys.argv[1])):
        share = store.shares.resolve(token)
        run = store.runs.get(share.run_ids[0])
        run.pipeline(), run.part("test").evaluation
        assert run.info.id == run_id and store.datasets.get(share.dataset_ids[0])
        assert [run.id for run in store.runs.find(mine)] == [run_id]
        assert store.workspaces.has(mine) and store.shares.find(mine) == [share]
        store.workspaces.touch(mine)
        for write in (store.workspaces.create, lambda: store.shares.withdraw(token, mine)):
            try:
                write()
            except StoreError as error:
                print(json.dumps(str(error)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of a process")
def test_everything_is_read_where_nothing_can_be_written(store, mine, pairs, result):
    dataset_id = store.datasets.put(pairs, mine)
    store.runs.put("0" * 32, result, {"dataset_id": dataset_id, "method": "cca"}, mine)
    token = store.shares.publish(mine, "map", run_ids=["0" * 32])
    with IndexFile(store.root / "index.sqlite").writing() as db:
        db.execute("UPDATE workspaces SET touched=touched - 1000")
    done = run_script(READ, store.root, mine, token, "0" * 32)
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(said) == 4 and all(str(store.root) in text for text in said)
    assert store.shares.resolve(token).run_ids == ("0" * 32,)


def test_a_full_disk_takes_nothing_new_and_says_so(store, mine, pairs, fill):
    kept = store.datasets.put(pairs, mine)
    fill(SPARE_BYTES)
    other = PairSet.from_texts(["a"], ["b"])
    with pytest.raises(StoreError, match=r"full: 4\.2 of 1,000 MB are free.*Delete"):
        store.datasets.put(other, mine)
    assert store.is_full and store.datasets.get(kept, mine).digest == pairs.digest
    assert list((store.root / "drafts").iterdir()) == []
    fill(SPARE_BYTES + 1)
    assert store.datasets.put(other, mine) and not store.is_full


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_what_could_not_be_written_leaves_nothing(store, mine, pairs, monkeypatch, call):
    def refuse(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, refuse)
        with pytest.raises(StoreError, match=r"full.*free"):
            store.datasets.put(pairs, mine)
    assert all(info.is_demo for info in store.datasets.find(mine))
    assert [list((store.root / kind).iterdir()) for kind in ("drafts", "datasets")] == [[], []]
    assert store.datasets.put(pairs, mine)


def test_a_drawing_that_finds_no_room_is_refused_by_the_same_words(
    store, mine, result, drawn, monkeypatch
):
    store.runs.put("0" * 32, result, {"dataset_id": "demo:emoji", "method": "cca"}, mine)
    run = store.runs.get("0" * 32)

    def refuse(handle):
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StoreError, match=r"full.*free"):
        run.put_map("more", *drawn)


def test_a_full_disk_gives_its_spare_bytes_to_deletions(store, mine, pairs, fill):
    first, second = (
        store.datasets.put(one, mine) for one in (pairs, PairSet.from_texts(["a"], ["b"]))
    )
    spare = store.root / "spare"
    store.sweep()
    assert spare.stat().st_size == SPARE_BYTES
    store.datasets.delete(first, mine)
    assert spare.exists()
    fill(0)
    store.datasets.delete(second, mine)
    assert not spare.exists()
    store.sweep()
    assert not spare.exists()


def test_a_full_disk_is_swept_before_anything_is_refused(store, mine, pairs, monkeypatch):
    left = store.root / "drafts" / "1-2-3-abc"
    left.mkdir()  # by a process that was killed
    monkeypatch.setattr(
        shutil, "disk_usage", lambda path: Disk(10**9, 0, 0 if left.exists() else 10**9)
    )
    assert store.datasets.put(pairs, mine) and not left.exists()


def test_on_a_full_disk_a_deleted_run_is_gone_at_once(store, mine, pairs, result, fill):
    dataset_id = store.datasets.put(pairs, mine)
    for run_id in ("0" * 32, "1" * 32):
        store.runs.put(run_id, result, {"dataset_id": dataset_id, "method": "cca"}, mine)
    store.runs.delete("0" * 32, mine)
    assert len(store.runs.deleted(mine, dataset_id)) == 1
    fill(0)
    store.runs.delete("1" * 32, mine)
    assert store.runs.deleted(mine, dataset_id) == []
    assert list((store.root / "trash").iterdir()) == []
