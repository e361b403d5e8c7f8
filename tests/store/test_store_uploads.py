"""An upload waits for a day to become a data set, one a workspace, in bounded room."""

import os
import time

import pytest

from simviz.exceptions import StoreError
from simviz.store import Limits, Store

FILES = [("q.csv", b"x,y\na,b\n"), ("q.csv", b"\x00\xff"), ("../e vil.txt", b"")]


def aged(store, workspace, seconds):
    path = store.root / "uploads" / workspace
    os.utime(path, (time.time() - seconds,) * 2)


def test_the_last_upload_of_a_workspace_waits(tmp_path):
    store = Store(tmp_path)
    mine, other = store.workspaces.create(), store.workspaces.create()
    assert store.uploads.get(mine) is None
    store.uploads.put(mine, [("a.csv", b"1")])
    store.uploads.put(mine, FILES)
    created, files = Store(tmp_path).uploads.get(mine)
    assert files == FILES and abs(created - time.time()) < 60
    assert store.uploads.get(other) is None
    store.uploads.correct(mine, '{"é": 1}')
    store.uploads.correct(other, "nothing to correct")
    store.uploads.correct(mine, "x" * 70_000)
    assert store.uploads.get(mine) == (created, files)
    assert (store.uploads.corrections(mine), store.uploads.corrections(other)) == ('{"é": 1}', "")
    store.uploads.delete(mine)
    store.uploads.delete(mine)
    assert store.uploads.corrections(mine) == ""
    assert store.uploads.get(mine) is None


def test_an_upload_goes_after_a_day_and_with_its_workspace(tmp_path):
    store = Store(tmp_path)
    mine, other = store.workspaces.create(), store.workspaces.create()
    for workspace in (mine, other):
        store.uploads.put(workspace, FILES)
    aged(store, mine, 86_000)
    store.sweep()
    assert store.uploads.get(mine) is not None
    aged(store, mine, 87_000)
    assert store.uploads.get(mine) is None
    store.sweep()
    store.workspaces.delete(other)
    assert not list((tmp_path / "uploads").iterdir())


def test_what_is_too_large_is_refused_and_the_oldest_make_room(tmp_path):
    store = Store(tmp_path, Limits(upload_bytes=5_000))
    one, two, three = (store.workspaces.create() for _ in range(3))
    for age, workspace in ((300, one), (200, two)):
        store.uploads.put(workspace, [("a", b"x" * 1_500)])
        aged(store, workspace, age)
    store.uploads.put(three, [("a", b"x" * 1_900)])
    assert store.uploads.get(one) is None
    assert store.uploads.get(two) is not None and store.uploads.get(three) is not None
    with pytest.raises(StoreError, match="more than is kept"):
        store.uploads.put(three, [("a", b"x" * 5_001)])
    assert store.uploads.get(three)[1][0][1] == b"x" * 1_900


@pytest.mark.parametrize("workspace", ["../datasets", "", "a/b", "x" * 65])
def test_only_workspaces_that_exist_keep_one(tmp_path, workspace):
    store = Store(tmp_path)
    with pytest.raises(StoreError):
        store.uploads.put(workspace, FILES)
    with pytest.raises(StoreError, match="no longer exists"):
        store.uploads.put("nobody", FILES)


def test_what_is_damaged_is_nothing(tmp_path):
    store = Store(tmp_path)
    mine = store.workspaces.create()
    store.uploads.put(mine, FILES)
    path = tmp_path / "uploads" / mine
    path.write_bytes(path.read_bytes()[:60])
    assert store.uploads.get(mine) is None
