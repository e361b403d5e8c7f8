"""Corrections, choices and uploads of a workspace."""

from __future__ import annotations

import os
import time

import pytest

from simviz.exceptions import StoreError
from simviz.store import Store, StoreLimits


def test_corrections_and_decisions_are_their_owners_and_go_with_their_data(tmp_path, sentences):
    store = Store(tmp_path, StoreLimits(corrections=4))
    mine, other = store.workspaces.create(), store.workspaces.create()
    data = store.datasets.put(sentences, mine)
    store.feedback.put(data, mine, [("a", "b", 1), ("a", "c", -1), ("d", "b", 1)])
    assert store.feedback.put(data, mine, [("a", "c", 1)]) == 3, "the last word holds"
    found = [("a", "b", 1.0), ("d", "b", 1.0), ("a", "c", 1.0)]
    assert store.feedback.find(data, mine) == found and store.feedback.find(data, other) == []
    with pytest.raises(StoreError):
        store.feedback.put(data, other, [("a", "b", 1)])
    with pytest.raises(StoreError, match="corrections"):
        store.feedback.put(data, mine, [("x", "b", 1), ("y", "b", 1)])
    assert store.feedback.put(data, mine, [("x", "b", 1)]) == 4, "none of too many is kept"
    store.decisions.put(data, mine, [("a", "b", "right"), ("a", "c", "y d"), ("e", "c", "wrong")])
    store.decisions.drop(data, mine, "a", "b")
    assert store.decisions.find(data, mine) == [("a", "c", "y d"), ("e", "c", "wrong")]
    store.feedback.drop(data, other)
    store.feedback.drop(data, mine, "a")
    assert store.feedback.find(data, mine) == [("d", "b", 1.0), ("x", "b", 1.0)]
    store.datasets.delete(data, mine)
    assert store.feedback.find(data, mine) == store.decisions.find(data, mine) == []


def test_choices_are_kept_a_workspace_and_go_with_their_data(store, mine, theirs, sentences):
    data, chosen = store.datasets.put(sentences, mine), store.view_preferences
    assert chosen.get(data, mine, "direction") is None and chosen.last(mine) is None
    for name, value in (("part", "test"), ("direction", "y2x"), ("direction", "mean")):
        chosen.put(data, mine, name, value)
    chosen.put("demo:icons", theirs, "direction", "x2y")
    again = Store(store.root).view_preferences
    assert [again.get(data, mine, name) for name in ("part", "direction")] == ["test", "mean"]
    assert again.get("demo:icons", mine, "direction") is None
    assert again.get("demo:icons", theirs, "direction") == "x2y"
    for opened in ("demo:icons", data, "demo:icons", data):
        chosen.put_last(opened, mine)
        assert chosen.last(mine) == opened
    assert chosen.last(theirs) is None
    with pytest.raises(StoreError):
        chosen.put(data, theirs, "part", "test")
    store.datasets.delete(data, mine)
    assert chosen.get(data, mine, "part") is None
    assert chosen.last(mine) == "demo:icons", "what is gone is not opened"


FILES = [("q.csv", b"x,y\na,b\n"), ("q.csv", b"\x00\xff"), ("../e vil.txt", b"")]


def aged(store, workspace, seconds):
    path = store.root / "uploads" / workspace
    os.utime(path, (time.time() - seconds,) * 2)


def test_the_last_upload_of_a_workspace_waits(store, mine, theirs):
    assert store.uploads.get(mine) is None
    store.uploads.put(mine, [("a.csv", b"1")])
    store.uploads.put(mine, FILES)
    created, files = Store(store.root).uploads.get(mine)
    assert files == FILES and abs(created - time.time()) < 60
    path = store.root / "uploads" / mine
    path.write_bytes(path.read_bytes()[:60])
    assert store.uploads.get(mine) is store.uploads.get(theirs) is None
    for _ in range(2):
        store.uploads.delete(mine)
        assert not path.exists()


def test_corrections_are_those_of_the_upload_that_waits(store, mine, theirs):
    store.uploads.put(mine, FILES)
    corrected = {"roles": {"x": "é"}, "long": "x" * 70_000}
    for known in ({"space": "one"}, corrected):
        store.uploads.correct(mine, known)
    store.uploads.correct("gone", corrected)
    assert Store(store.root).uploads.corrections(mine) == corrected
    assert store.uploads.corrections(theirs) == store.uploads.corrections("gone") == {}
    for forget in (lambda: store.uploads.put(mine, FILES), lambda: store.uploads.delete(mine)):
        store.uploads.correct(mine, corrected)
        forget()
        assert store.uploads.corrections(mine) == {}


def test_an_upload_goes_after_a_day_and_with_its_workspace(store, mine, theirs):
    for workspace in (mine, theirs):
        store.uploads.put(workspace, FILES)
    aged(store, mine, 86_000)
    store.sweep()
    assert store.uploads.get(mine) is not None
    aged(store, mine, 87_000)
    assert store.uploads.get(mine) is None
    store.sweep()
    store.workspaces.delete(theirs)
    assert not list((store.root / "uploads").iterdir())


def test_what_is_too_large_is_refused_and_the_oldest_make_room(tmp_path):
    store = Store(tmp_path, StoreLimits(upload_bytes=5_000))
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


@pytest.mark.parametrize("workspace", ["../datasets", "", "a/b", "x" * 65, "nobody"])
def test_only_workspaces_that_exist_keep_one(store, workspace):
    with pytest.raises(StoreError, match="workspace"):
        store.uploads.put(workspace, FILES)
