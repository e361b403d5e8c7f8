"""Workspaces of the store: one's own by name, and those of strangers."""

import sqlite3

import pytest

from simviz.exceptions import StoreError
from simviz.store import Limits, Store


def test_a_workspace_by_name_is_made_once(tmp_path):
    store = Store(tmp_path)
    assert store.workspaces.open("local") == "local"
    with store._directory.index.reading() as db:
        (made,) = db.execute("SELECT created FROM workspaces").fetchone()
    assert Store(tmp_path).workspaces.open("local") == "local"
    with store._directory.index.reading() as db:
        assert [tuple(row) for row in db.execute("SELECT created FROM workspaces")] == [(made,)]
    for bad in ("", "a b", "../up", "x" * 65):
        with pytest.raises(StoreError):
            store.workspaces.open(bad)


def test_without_a_limit_of_days_nothing_is_swept(tmp_path):
    store = Store(tmp_path, Limits(idle_days=float("inf")))
    store.workspaces.open("local")
    with store._directory.index.writing() as db:
        db.execute("UPDATE workspaces SET touched=0")
    assert store.sweep() == 0 and store.workspaces.has("local")
    assert Store(tmp_path, Limits(idle_days=30)).workspaces.has("local") is False


def test_a_store_of_the_version_before_is_brought_up(tmp_path):
    Store(tmp_path)
    with sqlite3.connect(tmp_path / "index.sqlite") as db:
        db.execute("DROP TABLE trash")
        db.execute("DROP TABLE shown")
        db.execute("ALTER TABLE shares DROP COLUMN expires")
        db.execute("PRAGMA user_version=2")
    db.close()
    store = Store(tmp_path)
    mine = store.workspaces.create()
    assert (
        store.shares.resolve(store.shares.publish(mine, "map", dataset_ids=["demo:emoji"])).expires
        is None
    )
