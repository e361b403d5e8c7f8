import time

import pytest

from simviz.data import PairSet
from simviz.datasets import DEMOS
from simviz.exceptions import StoreError
from simviz.store import Limits, Store

HOSTILE = [
    "",
    ".",
    "..",
    "../../etc/passwd",
    "/etc/passwd",
    "a" * 32 + "/..",
    "A" * 32,
    "0" * 32 + "\n",
    "0" * 32 + "\0",
    "\ud800",
    "demo:../../x",
    "demo:",
    None,
    7,
    b"0" * 32,
    "' OR 1=1 --",
]


def many(n, start=0):
    return PairSet.from_texts([f"{start + i}" for i in range(n)], [f"y{i}" for i in range(n)])


def test_workspaces_are_unguessable_and_known(store):
    ids = {store.create_workspace() for _ in range(20)}
    assert len(ids) == 20 and min(map(len, ids)) >= 24
    assert all(map(store.has_workspace, ids))
    assert not store.has_workspace("nobody")


@pytest.mark.parametrize("workspace", HOSTILE)
def test_unknown_workspaces_are_refused_everywhere(store, pairs, workspace):
    for call in (
        store.touch_workspace,
        store.list_datasets,
        store.list_runs,
        store.list_shares,
        store.delete_workspace,
        lambda w: store.put_dataset(pairs, w),
        lambda w: store.publish(w, "map", dataset_ids=["demo:icons"]),
    ):
        with pytest.raises(StoreError, match="workspace"):
            call(workspace)


def test_a_data_set_is_kept_once_and_described(store, mine, pairs):
    first = store.put_dataset(pairs, mine, notes=["3 rows left out"])
    assert store.put_dataset(pairs, mine) == first
    (info,) = (d for d in store.list_datasets(mine) if not d.is_demo)
    assert (info.id, info.name, info.notes) == (first, "words", ("3 rows left out",))
    assert (info.n_x, info.n_y, info.n_relevant, info.n_judged) == (12, 12, 12, 12)
    assert (info.x_kind, info.digest) == ("text", pairs.digest)
    on_disk = sum(p.stat().st_size for p in (store.root / "datasets" / first).iterdir())
    assert info.n_bytes == on_disk
    assert store.get_dataset(first, mine).digest == pairs.digest


def test_a_data_set_belongs_to_its_workspace(store, mine, theirs, pairs):
    own = store.put_dataset(pairs, mine)
    other = store.put_dataset(pairs, theirs)
    assert own != other
    unknown = "0" * 32
    words = set()
    for dataset_id in (own, unknown):
        with pytest.raises(StoreError) as error:
            store.get_dataset(dataset_id, theirs)
        words.add(str(error.value))
        with pytest.raises(StoreError):
            store.delete_dataset(dataset_id, theirs)
    assert len(words) == 1  # the answer does not tell whether it exists
    assert store.get_dataset(own).digest == pairs.digest  # a job is trusted


@pytest.mark.parametrize("dataset_id", HOSTILE)
def test_hostile_data_set_ids_are_refused(store, mine, dataset_id):
    for call in (store.get_dataset, store.get_dataset_info):
        with pytest.raises(StoreError):
            call(dataset_id, mine)
    with pytest.raises(StoreError):
        store.delete_dataset(dataset_id, mine)
    with pytest.raises(StoreError):
        store.get_run(dataset_id)
    with pytest.raises(StoreError):
        store.attempt_folder(dataset_id)
    with pytest.raises(StoreError):
        store.resolve(dataset_id)


def test_demos_are_there_for_all_and_need_no_state(store, mine):
    demos = [d for d in store.list_datasets(mine) if d.is_demo]
    assert [d.id for d in demos] == [f"demo:{name}" for name in DEMOS]
    assert store.get_dataset("demo:emoji", mine) is store.get_dataset("demo:emoji")
    assert not list((store.root / "datasets").iterdir())
    with pytest.raises(StoreError, match="belongs to all"):
        store.delete_dataset("demo:emoji", mine)


def test_deleting_a_data_set_deletes_its_runs(store, mine, pairs, files):
    dataset_id = store.put_dataset(pairs, mine)
    store.put_run("1" * 32, files, dataset_id, "cca", mine)
    store.delete_dataset(dataset_id, mine)
    assert store.list_runs(mine) == []
    for kind in ("datasets", "runs", "drafts"):
        assert not list((store.root / kind).iterdir())


def test_quotas_are_said_clearly(tmp_path):
    store = Store(tmp_path, Limits(datasets=2))
    mine, other = store.create_workspace(), store.create_workspace()
    kept = [store.put_dataset(many(3, start), mine) for start in (0, 10)]
    with pytest.raises(StoreError, match="holds 2 data sets, as many as it may"):
        store.put_dataset(many(3, 20), mine)
    assert store.put_dataset(many(3, 10), mine) == kept[1]  # there already
    store.put_dataset(many(3), other)
    store.delete_dataset(kept[0], mine)
    store.put_dataset(many(3, 20), mine)


def test_bytes_are_bounded_and_nothing_is_left_of_a_refusal(tmp_path):
    store = Store(tmp_path, Limits(bytes=5_000))
    mine = store.create_workspace()
    store.put_dataset(many(3), mine)
    with pytest.raises(StoreError, match=r"holds 0\.0 of 0 MB"):
        store.put_dataset(many(2_000), mine)
    assert len(list((tmp_path / "datasets").iterdir())) == 1
    assert not list((tmp_path / "drafts").iterdir())


def test_idle_workspaces_are_swept_with_all_they_own(tmp_path, pairs, files, monkeypatch):
    store = Store(tmp_path)
    idle, busy = store.create_workspace(), store.create_workspace()
    lost = store.put_dataset(pairs, idle)
    kept = store.put_dataset(pairs, busy)
    store.put_run("1" * 32, files, lost, "cca", idle)
    store.put_run("2" * 32, files, "demo:emoji", "cca", idle)
    token = store.publish(idle, "map", run_ids=["1" * 32])
    later = time.time() + 31 * 86_400
    monkeypatch.setattr(time, "time", lambda: later)
    store.touch_workspace(busy)
    again = Store(tmp_path)
    assert not again.has_workspace(idle) and again.has_workspace(busy)
    assert again.get_dataset(kept, busy).digest == pairs.digest
    assert not again.has_run("1" * 32) and again.has_run("2" * 32)
    assert [p.name for p in (tmp_path / "datasets").iterdir()] == [kept]
    with pytest.raises(StoreError):
        again.resolve(token)


def test_a_workspace_can_be_deleted(store, mine, theirs, pairs):
    store.put_dataset(pairs, mine)
    kept = store.put_dataset(pairs, theirs)
    store.delete_workspace(mine)
    assert not store.has_workspace(mine)
    assert [p.name for p in (store.root / "datasets").iterdir()] == [kept]


def test_the_root_comes_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMVIZ_HOME", str(tmp_path / "here"))
    assert Store().root == tmp_path / "here"
    monkeypatch.delenv("SIMVIZ_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Store().root == tmp_path / ".local" / "share" / "simviz"


def test_a_root_that_cannot_be_used_is_explained(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="SIMVIZ_HOME"):
        Store(tmp_path / "file")
    (tmp_path / "index.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match="index"):
        Store(tmp_path)


def test_a_store_of_a_later_version_is_refused(tmp_path):
    import sqlite3

    Store(tmp_path)
    with sqlite3.connect(tmp_path / "index.sqlite") as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(StoreError, match="version 99"):
        Store(tmp_path)
