import sqlite3
from contextlib import closing

import pytest

from simviz.exceptions import StoreError
from simviz.store import Store
from simviz.store.directory import Limits


@pytest.fixture
def kept(tmp_path, sentences):
    store = Store(tmp_path, Limits(corrections=4))
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


def test_an_index_of_the_version_before_is_brought_up_to_date(tmp_path, sentences):
    store = Store(tmp_path)
    mine = store.workspaces.create()
    data = store.datasets.put(sentences, mine)
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as db, db:
        db.execute("DROP TABLE feedback")
        db.execute("DROP TABLE trash")
        db.execute("DROP TABLE shown")
        db.execute("ALTER TABLE shares DROP COLUMN expires")
        db.execute("PRAGMA user_version=1")
    again = Store(tmp_path)
    assert again.datasets.get(data, mine).digest == sentences.digest
    assert again.feedback.put(data, mine, [("a", "b", 1)]) == 1
