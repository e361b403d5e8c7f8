"""Corrections, choices and uploads of a workspace."""

from __future__ import annotations

import os
import time

import pytest

from simviz.exceptions import StoreError
from simviz.store import Store, StoreLimits


@pytest.fixture
def kept(tmp_path, sentences):
    store = Store(tmp_path, StoreLimits(corrections=4))
    mine = store.workspaces.create()
    return store, mine, store.datasets.put(sentences, mine)


def test_the_last_word_on_an_input_and_a_target_holds(kept):
    store, mine, data = kept
    store.feedback.put(data, mine, [("SW dev", "developer", 1), ("SW dev", "nurse", -1)])
    assert store.feedback.put(data, mine, [("SW dev", "nurse", 1)]) == 2
    assert sorted(store.feedback.find(data, mine)) == [
        ("SW dev", "developer", 1.0),
        ("SW dev", "nurse", 1.0),
    ]


def test_corrections_are_their_owners_alone(kept):
    store, mine, data = kept
    other = store.workspaces.create()
    store.feedback.put(data, mine, [("a", "b", 1)])
    assert store.feedback.find(data, other) == []
    with pytest.raises(StoreError):
        store.feedback.put(data, other, [("a", "b", 1)])
    store.feedback.drop(data, other)
    assert store.feedback.find(data, mine) == [("a", "b", 1.0)]


def test_too_many_are_refused_and_none_of_them_kept(kept):
    store, mine, data = kept
    with pytest.raises(StoreError, match="corrections"):
        store.feedback.put(data, mine, [(f"x{i}", "b", 1) for i in range(5)])
    assert store.feedback.find(data, mine) == []
    assert store.feedback.put(data, mine, [(f"x{i}", "b", 1) for i in range(4)]) == 4


def test_they_can_be_taken_back_and_go_with_their_data(kept):
    store, mine, data = kept
    store.feedback.put(data, mine, [("a", "b", 1), ("a", "c", -1), ("d", "b", 1)])
    store.feedback.drop(data, mine, "a")
    assert store.feedback.find(data, mine) == [("d", "b", 1.0)]
    store.datasets.delete(data, mine)
    assert store.feedback.find(data, mine) == []


def test_decisions_on_pairs_stand_beside_corrections_and_go_one_by_one(kept):
    store, mine, data = kept
    store.feedback.put(data, mine, [("a", "b", 1)])
    store.decisions.put(data, mine, [("a", "b", "right"), ("a", "c", "y d"), ("e", "c", "wrong")])
    store.decisions.drop(data, mine, "a", "b")
    assert store.decisions.find(data, mine) == [("a", "c", "y d"), ("e", "c", "wrong")]
    assert store.feedback.find(data, mine) == [("a", "b", 1.0)]
    store.datasets.delete(data, mine)
    assert store.decisions.find(data, mine) == []


def test_choices_are_kept_a_workspace_and_go_with_their_data(store, mine, theirs, sentences):
    data = store.datasets.put(sentences, mine)
    assert store.view_preferences.get(data, mine, "direction") is None
    store.view_preferences.put(data, mine, "part", "test")
    store.view_preferences.put(data, mine, "direction", "y2x")
    store.view_preferences.put(data, mine, "direction", "mean")
    store.view_preferences.put("demo:icons", theirs, "direction", "x2y")
    again = Store(store.root)
    assert again.view_preferences.get(data, mine, "part") == "test"
    assert again.view_preferences.get(data, mine, "direction") == "mean"
    assert again.view_preferences.get("demo:icons", mine, "direction") is None
    assert again.view_preferences.get("demo:icons", theirs, "direction") == "x2y"
    store.datasets.delete(data, mine)
    assert store.view_preferences.get(data, mine, "part") is None


def test_choices_on_data_of_others_are_refused(store, mine, theirs, sentences):
    data = store.datasets.put(sentences, mine)
    with pytest.raises(StoreError):
        store.view_preferences.put(data, theirs, "part", "test")


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
    assert store.uploads.get(theirs) is None
    store.uploads.delete(mine)
    store.uploads.delete(mine)
    assert store.uploads.get(mine) is None


def test_corrections_are_those_of_the_upload_that_waits(store, mine, theirs):
    store.uploads.put(mine, FILES)
    assert store.uploads.corrections(mine) == {}
    corrected = {"roles": {"x": "é"}, "long": "x" * 70_000}
    for known in ({"space": "one"}, corrected):
        store.uploads.correct(mine, known)
    store.uploads.correct("gone", corrected)
    assert Store(store.root).uploads.corrections(mine) == corrected
    assert store.uploads.corrections(theirs) == store.uploads.corrections("gone") == {}
    store.uploads.put(mine, FILES)
    assert store.uploads.corrections(mine) == {}, "of the upload before"
    store.uploads.correct(mine, corrected)
    store.uploads.delete(mine)
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


@pytest.mark.parametrize("workspace", ["../datasets", "", "a/b", "x" * 65])
def test_only_workspaces_that_exist_keep_one(store, workspace):
    with pytest.raises(StoreError):
        store.uploads.put(workspace, FILES)
    with pytest.raises(StoreError, match="no longer exists"):
        store.uploads.put("nobody", FILES)


def test_what_is_damaged_is_nothing(store, mine):
    store.uploads.put(mine, FILES)
    path = store.root / "uploads" / mine
    path.write_bytes(path.read_bytes()[:60])
    assert store.uploads.get(mine) is None
