"""Workspaces of the store: one's own by name, and those of strangers."""

import time

import pytest

from simviz.exceptions import StoreError
from simviz.jobs import JobQueue, JobSpec
from simviz.store import Store, StoreLimits
from simviz.store.directory import SEEN_SECONDS, IndexFile
from simviz.store.store import Usage


def test_a_workspace_by_name_is_made_once(tmp_path):
    made = []
    for _ in range(2):
        store = Store(tmp_path)
        assert store.workspaces.open("local") == "local"
        with IndexFile(store.root / "index.sqlite").reading() as db:
            made.append([tuple(row) for row in db.execute("SELECT created FROM workspaces")])
    assert made[0] == made[1] and len(made[0]) == 1
    for bad in ("", "a b", "../up", "x" * 65):
        with pytest.raises(StoreError):
            store.workspaces.open(bad)


def test_without_a_limit_of_days_nothing_is_swept(tmp_path):
    running = [0.0]
    store = Store(tmp_path, StoreLimits(idle_days=float("inf")), running=lambda: running[0])
    store.workspaces.open("local")
    with IndexFile(store.root / "index.sqlite").writing() as db:
        db.execute("UPDATE workspaces SET touched=0")
    for now in (SEEN_SECONDS, 2 * SEEN_SECONDS):
        running[0] = now
        assert store.sweep() == 0 and store.workspaces.has("local")


def test_a_clock_that_is_ahead_at_one_sweep_deletes_nothing(tmp_path, monkeypatch):
    now, running = [time.time()], [0.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    store = Store(tmp_path, running=lambda: running[0])
    mine = store.workspaces.create()
    job = store.jobs.add("0" * 32, mine, lambda folder: None)

    def sweep(days, hours):
        now[0] += days * 86_400
        running[0] += hours * 3_600
        return store.sweep()

    assert sweep(31, 30) == 0 and store.workspaces.has(mine)  # ahead
    assert sweep(0, 23) == 0
    assert sweep(-31, 1) == 0  # mended: what was seen meanwhile counts no more
    assert sweep(31, 30) == 0 and store.jobs.find(mine) == [job]
    store.workspaces.touch(mine)
    assert sweep(0, 30) == 0 and store.workspaces.has(mine)  # its owner came
    assert sweep(31, 1) == 0
    assert sweep(0, 24) == 1 and not store.workspaces.has(mine)


def test_a_deleted_workspace_leaves_nothing_and_touches_no_other(
    store, mine, theirs, pairs, result
):
    for owner, run_id in ((mine, "0" * 32), (theirs, "1" * 32)):
        dataset_id = store.datasets.put(pairs, owner)
        spec = {"dataset_id": dataset_id, "method": "cca"}
        store.runs.put(run_id, result, spec, owner)
        store.feedback.put(dataset_id, owner, [("a", "b", 1.0)])
        store.view_preferences.put(dataset_id, owner, "part", "test")
        store.shares.publish(owner, "map", run_ids=[run_id])
        store.uploads.put(owner, [("a.csv", b"x,y")])
        store.jobs.add(run_id, owner, lambda folder: (folder / "spec.json").touch())
        deleted = f"2{run_id[1:]}"
        store.runs.put(deleted, result, spec, owner)
        store.runs.delete(deleted, owner)
    demo = {"dataset_id": "demo:emoji", "method": "cca"}
    store.runs.put("3" * 32, result, demo, mine)
    theirs_before = store.workspaces.usage(theirs)
    used = store.workspaces.usage(mine)
    size = sum(i.n_bytes for i in [*store.datasets.find(mine), *store.runs.find(mine)])
    assert used == Usage(1, 1, 1, 1, size) and size > 0
    assert store.workspaces.delete(mine) == used
    assert not store.workspaces.has(mine) and store.workspaces.usage(theirs) == theirs_before
    with IndexFile(store.root / "index.sqlite").reading() as db:
        for table in ("datasets", "runs", "trash", "shares", "followers", "feedback", "shown"):
            rows = db.execute(f"SELECT DISTINCT workspace FROM {table}").fetchall()
            assert {row["workspace"] for row in rows} <= {theirs, None}, table
    kinds = ("datasets", "jobs", "runs", "trash", "drafts")
    assert [len(list((store.root / kind).iterdir())) for kind in kinds] == [1, 1, 2, 1, 0]
    assert store.runs.get("3" * 32, theirs).info.is_demo, "that of a demo belongs to all"
    assert store.uploads.get(mine) is None and store.uploads.get(theirs) is not None
    with pytest.raises(StoreError, match="no longer exists"):
        store.workspaces.delete(mine)


def test_only_the_newest_jobs_of_a_workspace_are_kept(store, mine, theirs, monkeypatch):
    monkeypatch.setattr("simviz.store.store.MAX_JOBS", 3)
    other = store.jobs.add("f" * 32, theirs, lambda folder: None)
    ids = [store.jobs.add(f"{i:032x}", mine, lambda folder: None) for i in range(5)]
    assert store.workspaces.usage(mine).jobs == 3 and store.jobs.find(mine) == ids[:1:-1]
    store.sweep()
    kept = {folder.name for folder in (store.root / "jobs").iterdir()}
    assert kept == {*ids[2:], other}


def test_a_job_whose_run_would_find_no_room_is_refused_before_it_trains(tmp_path, pairs, result):
    store = Store(tmp_path, StoreLimits(runs=1))
    mine = store.workspaces.create()
    dataset_id = store.datasets.put(pairs, mine)
    store.runs.put("0" * 32, result, {"dataset_id": dataset_id, "method": "cca"}, mine)
    with JobQueue(store) as queue:
        with pytest.raises(StoreError, match=r"holds 1 runs, as many as it may\. Delete"):
            queue.submit(JobSpec(dataset_id, pairs.digest, "bm25", workspace=mine))
        assert queue.jobs(mine) == []
        store.runs.delete("0" * 32, mine)
        assert queue.submit(JobSpec(dataset_id, pairs.digest, "bm25", workspace=mine))
