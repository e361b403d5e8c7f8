import json
import shutil
import time
from dataclasses import replace

import numpy as np
import pytest

from simviz.exceptions import StoreError
from simviz.store import Store, StoreLimits, load_map
from simviz.store.directory import Directory

RUN, OTHER = "1" * 32, "2" * 32


def spec(dataset_id):
    return {"dataset_id": dataset_id, "method": "cca", "params": {"n_components": 2}}


@pytest.fixture
def dataset_id(store, mine, pairs):
    return store.datasets.put(pairs, mine)


@pytest.fixture
def run(store, mine, dataset_id, result):
    assert store.runs.put(RUN, result, spec(dataset_id), mine)
    return store.runs.get(RUN, mine)


def test_a_run_comes_back_part_by_part(store, mine, dataset_id, result, pairs, run):
    assert run.spec == spec(dataset_id) and run.about["notes"] == ["a"]
    assert run.measured == ("validation", "test")
    for name, expected in result.measured.items():
        part, ranking = run.part(name), expected.evaluation.rankings["x2y"]
        kept = part.evaluation
        assert part.curve == expected.curve and not run.read_objects(f"{name}/learning")
        assert str(part.records["run"]) == str(expected.evaluation.to_records())
        assert part.value("top-1", "x2y", "chance") == 1 / len(ranking.above)
        assert str(part.evaluations["chance"].to_records()) == str(part.records["chance"])
        np.testing.assert_array_equal(
            kept.roc.true_positives, expected.evaluation.roc.true_positives
        )
        np.testing.assert_array_equal(kept.rankings["x2y"].above, ranking.above)
    np.testing.assert_array_equal(run.arrays()["x_test"], np.arange(4, 12))
    expected = result.pipeline.similarity(pairs.x, pairs.y)
    np.testing.assert_array_equal(run.pipeline().similarity(pairs.x, pairs.y), expected)
    assert run.pipeline_bytes()[:2] == b"PK"
    (info,) = store.runs.find(mine)
    assert (info.id, info.method, info.seconds) == (RUN, "cca", 1.5)
    assert info.spec == spec(dataset_id)
    assert info.summary == result.measured["validation"].summary()
    assert info.n_bytes == sum(p.stat().st_size for p in run.folder.rglob("*.*"))


def test_ranks_answer_a_further_metric_of_a_run_and_of_what_it_is_compared_with(run, result):
    assert run.part("test").record("recall@3", "x2y") is None
    found = replace(run, extra_metric="recall@3").part("test")
    for name, evaluation in result.measured["test"].evaluations.items():
        (record, *_) = evaluation.to_records(["recall@3"])
        assert found.record("recall@3", "x2y", name) == record
        assert found.value("MRR", "x2y", name) == evaluation.value("MRR", "x2y")
    assert "recall@3" in found.metrics and "recall@3" not in run.part("test").metrics


def test_figures_are_read_again_when_their_file_changes(run):
    path = run.folder / "test" / "figures.json"
    assert run.part("test").value("MRR", "x2y") != 0.125
    figures = json.loads(path.read_text())
    for record in figures["records"]["run"]:
        record["value"] = 0.125
    path.write_text(json.dumps(figures))
    assert run.part("test").value("MRR", "x2y") == 0.125


def test_drawings_can_be_added_and_replaced_but_not_named_at_will(store, mine, drawn, run):
    run.put_map("mds-2-center", *drawn)
    drawing, x_drawn, _ = load_map(run, "mds-2-center")
    np.testing.assert_array_equal(drawing.y, drawn[0].y)
    np.testing.assert_array_equal(x_drawn, drawn[1])
    assert drawing.notes == ("näher",) and drawing.gap == drawn[0].gap
    assert drawing.quality.sample.tolist() == drawn[0].quality.sample.tolist()
    for seed in (1, 2):
        run.put_map("umap-2", replace(drawn[0], seed=seed), *drawn[1:])
    assert run.maps() == ("mds-2-center", "umap-2") and load_map(run, "umap-2")[0].seed == 2
    for name in ("../evil", "a/b", "", "A", "x" * 41, None, "\ud800"):
        with pytest.raises(StoreError, match="drawing"):
            run.put_map(name, *drawn)
        with pytest.raises(StoreError, match="drawing"):
            load_map(run, name)
    with pytest.raises(StoreError):
        load_map(run, "pca-2")
    for i in range(38):
        run.put_map(f"m{i}", *drawn)
    with pytest.raises(StoreError, match="at most 40"):
        run.put_map("one-more", *drawn)
    store.runs.delete(RUN, mine)
    with pytest.raises(StoreError, match="deleted"):
        run.put_map("late", *drawn)


def test_a_second_run_of_that_id_changes_nothing(store, mine, dataset_id, result, run):
    before = store.runs.find(mine)
    assert not store.runs.put(RUN, result, spec(dataset_id), mine)
    assert store.runs.find(mine) == before
    assert not list((store.root / "drafts").iterdir())


def test_runs_belong_to_their_workspace(store, theirs, dataset_id, result, run):
    words = set()
    for run_id in (RUN, OTHER):
        for call in (store.runs.get, store.runs.rename, store.runs.delete):
            with pytest.raises(StoreError) as error:
                call(run_id, theirs)
            words.add(str(error.value))
    assert len(words) == 1  # the answer does not tell whether it exists
    assert store.runs.find(theirs) == [] == store.runs.find(theirs, dataset_id)
    with pytest.raises(StoreError):
        store.runs.put(OTHER, result, spec(dataset_id), theirs)  # another's data set


def test_runs_of_demos_belong_to_all(store, mine, theirs, result):
    store.runs.put(RUN, result, spec("demo:emoji"), mine)
    assert store.runs.get(RUN, theirs).info.is_demo
    assert [r.id for r in store.runs.find(theirs, "demo:emoji")] == [RUN]
    assert store.runs.find(theirs, "demo:icons") == []
    for change in (store.runs.rename, store.runs.delete):
        with pytest.raises(StoreError, match="belong to all"):
            change(RUN, mine)


def test_runs_are_named_noted_and_deleted(store, mine, run):
    store.runs.rename(RUN, mine, name="best \ud800")
    store.runs.rename(RUN, mine, note="n" * 9_999)
    info = store.runs.get(RUN, mine).info
    assert info.name == "best ?" and len(info.note) == 5_000
    store.runs.delete(RUN, mine)
    assert not store.runs.has(RUN) and not list((store.root / "runs").iterdir())


def test_the_demo_run_opened_least_recently_makes_room(tmp_path, result, monkeypatch):
    store = Store(tmp_path, StoreLimits(demo_runs=2))
    mine = store.workspaces.create()
    clock = iter(range(10**9, 2 * 10**9, 10_000))
    monkeypatch.setattr("time.time", lambda: float(next(clock)))
    store.runs.put("a" * 32, result, spec("demo:emoji"), mine)
    store.runs.put("b" * 32, result, spec("demo:emoji"), mine)
    store.runs.get("a" * 32)
    store.runs.put("c" * 32, result, spec("demo:icons"), mine)
    assert [store.runs.has(i * 32) for i in "abc"] == [True, False, True]
    assert sorted(p.name[0] for p in (tmp_path / "runs").iterdir()) == ["a", "c"]


def test_a_share_shows_what_was_published_until_it_is_withdrawn(
    store, mine, theirs, dataset_id, run
):
    token = store.shares.publish(mine, "map", run_ids=[RUN], view={"k": "20"})
    share = store.shares.resolve(token)
    assert (share.kind, share.run_ids, share.dataset_ids) == ("map", (RUN,), (dataset_id,))
    assert share.view == {"k": "20"} and len(token) >= 24
    assert store.shares.find(mine) == [share] and store.shares.find(theirs) == []
    with pytest.raises(StoreError):
        store.shares.withdraw(token, theirs)
    store.shares.withdraw(token, mine)
    words = set()
    for wrong in (token, "never"):
        with pytest.raises(StoreError) as error:
            store.shares.resolve(wrong)
        words.add(str(error.value))
    assert len(words) == 1
    with pytest.raises(StoreError):
        store.shares.withdraw(token, mine)


def test_a_share_ends_when_it_was_to_end(store, mine, monkeypatch):
    now = time.time()
    token = store.shares.publish(mine, "map", dataset_ids=["demo:emoji"], days=7)
    endless = store.shares.publish(mine, "map", dataset_ids=["demo:emoji"])
    (_, week) = sorted(store.shares.find(mine), key=lambda share: share.expires is not None)
    assert week.expires == pytest.approx(now + 7 * 86_400, abs=30)
    monkeypatch.setattr(time, "time", lambda: now + 7 * 86_400 - 60)
    store.sweep()
    assert store.shares.resolve(token) == week, "until its last minute"
    monkeypatch.setattr(time, "time", lambda: now + 7 * 86_400 + 60)
    with pytest.raises(StoreError, match="expired"):
        store.shares.resolve(token)
    assert [share.token for share in store.shares.find(mine)] == [endless]
    store.sweep()
    monkeypatch.setattr(time, "time", lambda: now)
    assert [share.token for share in store.shares.find(mine)] == [endless], "the other is gone"
    for days in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="days"):
            store.shares.publish(mine, "map", dataset_ids=["demo:emoji"], days=days)


def test_shares_are_bounded_and_those_that_ended_or_were_withdrawn_make_room(
    tmp_path, monkeypatch
):
    store, now = Store(tmp_path, StoreLimits(shares=2)), time.time()
    mine, theirs = store.workspaces.create(), store.workspaces.create()

    def publish(workspace=mine):
        return store.shares.publish(workspace, "map", dataset_ids=["demo:emoji"], days=1)

    publish(theirs)
    for later in (0, 2 * 86_400):
        monkeypatch.setattr(time, "time", lambda later=later: now + later)
        publish()
        token = publish()
        with pytest.raises(StoreError, match="holds 2 shares"):
            publish()
    store.shares.withdraw(token, mine)
    publish()


def test_only_ones_own_things_can_be_shared(store, mine, theirs, dataset_id, run):
    for who, what, words in (
        (theirs, {"run_ids": [RUN]}, "no such run"),
        (theirs, {"dataset_ids": [dataset_id]}, "no such data set"),
        (mine, {}, "nothing to share"),
        (mine, {"run_ids": [RUN], "view": {"q": "x" * 5_000}}, "too long"),
    ):
        with pytest.raises(StoreError, match=words):
            store.shares.publish(who, "map", **what)
    of_demo = store.shares.publish(theirs, "map", dataset_ids=["demo:emoji"])
    assert store.shares.resolve(of_demo).run_ids == ()


def test_attempts_are_counted_and_followed(store, mine, theirs):
    digest = "d" * 32
    first, second = (
        store.jobs.add(digest, who, lambda folder: (folder / "spec.json").touch())
        for who in (mine, theirs)
    )
    assert (first, second) == (f"{digest}-1", f"{digest}-2")
    assert store.jobs.last(digest) == second and store.jobs.last("e" * 32) is None
    assert store.jobs.find(mine) == [first] and len(store.jobs.find()) == 2
    assert (store.jobs.folder(first) / "spec.json").exists()
    store.jobs.follow(second, mine)
    store.jobs.unfollow(second, theirs)
    assert store.jobs.followers(second) == {mine}
    store.jobs.unfollow(second, mine)
    store.sweep()
    with pytest.raises(StoreError):
        store.jobs.folder(second)


def test_a_deleted_run_can_be_brought_back_whole(store, mine, theirs, dataset_id, run):
    store.runs.rename(RUN, mine, name="best", note="kept")
    before = store.runs.get(RUN, mine)
    token = store.shares.publish(mine, "map", [RUN])
    store.runs.delete(RUN, mine)
    assert not store.runs.has(RUN) and store.runs.find(mine) == []
    assert store.shares.resolve(token).run_ids == (), "a share does not show what was deleted"
    assert [r.name for r in store.runs.deleted(mine, dataset_id)] == ["best"]
    assert store.runs.deleted(theirs, dataset_id) == []
    with pytest.raises(StoreError):
        store.runs.restore(RUN, theirs)
    again = Store(store.root)  # opening sweeps, and leaves it
    again.runs.restore(RUN, mine)
    after = again.runs.get(RUN, mine)
    assert after.info == before.info and after.about == run.about
    assert store.shares.resolve(token).run_ids == (RUN,)
    with pytest.raises(StoreError):
        store.runs.restore(RUN, mine)
    assert store.runs.deleted(mine, dataset_id) == []


def test_what_was_killed_while_it_deleted_or_brought_back_can_be_brought_back(
    store, mine, dataset_id, run
):
    store.runs.delete(RUN, mine)
    # The directory had been moved back, or not yet away, when the process died.
    (store.root / "trash" / RUN).replace(store.root / "runs" / RUN)
    again = Store(store.root)
    assert not again.runs.has(RUN)
    assert [r.id for r in again.runs.deleted(mine, dataset_id)] == [RUN]
    again.runs.restore(RUN, mine)
    assert again.runs.get(RUN, mine).spec == spec(dataset_id)


def test_a_deletion_that_somebody_sweeps_meanwhile_keeps_the_run(
    store, mine, dataset_id, monkeypatch, run
):
    discard = Directory.discard

    def swept(self, kind, ids):  # between both steps of deleting
        discard(self, kind, ids)
        if kind == "trash":
            Store(store.root)

    monkeypatch.setattr(Directory, "discard", swept)
    store.runs.delete(RUN, mine)
    monkeypatch.undo()
    store.runs.restore(RUN, mine)
    assert store.runs.get(RUN, mine).spec == spec(dataset_id)


def test_a_deleted_run_without_its_files_is_offered_no_more(store, mine, dataset_id, run):
    store.runs.delete(RUN, mine)
    shutil.rmtree(store.root / "trash" / RUN)
    store.sweep()
    assert store.runs.deleted(mine, dataset_id) == []


def test_deleted_runs_leave_after_an_hour_and_with_what_they_belong_to(
    store, mine, dataset_id, result, monkeypatch, run
):
    def left(*kinds):
        return [path for kind in kinds for path in (store.root / kind).iterdir()]

    store.runs.delete(RUN, mine)
    store.sweep()
    assert left("trash")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3_700)
    assert store.runs.deleted(mine, dataset_id) == []
    store.sweep()
    assert not left("trash")
    for run_id in (RUN, OTHER):
        store.runs.put(run_id, result, spec(dataset_id), mine)
    token = store.shares.publish(mine, "compare", run_ids=[RUN, OTHER])
    store.runs.delete(RUN, mine)
    assert store.shares.resolve(token).run_ids == (OTHER,)
    store.datasets.delete(dataset_id, mine)
    assert not left("trash", "runs", "datasets", "drafts") and store.runs.find(mine) == []
    with pytest.raises(StoreError, match="does not exist"):
        store.shares.resolve(token)
    with pytest.raises(StoreError):
        store.runs.restore(RUN, mine)


def test_a_run_trained_again_after_its_deletion_stays(store, mine, dataset_id, result):
    for _ in range(2):
        store.runs.put(RUN, result, spec(dataset_id), mine)
        store.runs.delete(RUN, mine)
    store.runs.put(RUN, result, spec(dataset_id), mine)
    store.runs.restore(RUN, mine)
    assert store.runs.get(RUN, mine).spec == spec(dataset_id)
    assert store.runs.deleted(mine, dataset_id) == []
    store.sweep()
    assert store.runs.get(RUN, mine).spec and not list((store.root / "trash").iterdir())


def test_only_the_last_deleted_runs_are_kept_and_none_beyond_the_limits(
    tmp_path, pairs, result, monkeypatch
):
    monkeypatch.setattr("simviz.store.store.MAX_TRASH", 2)
    store = Store(tmp_path, StoreLimits(runs=1))
    mine = store.workspaces.create()
    dataset_id = store.datasets.put(pairs, mine)
    for digit in "123":
        store.runs.put(digit * 32, result, spec(dataset_id), mine)
        store.runs.delete(digit * 32, mine)
    assert [r.id[0] for r in store.runs.deleted(mine, dataset_id)] == ["3", "2"]
    assert len(list((tmp_path / "trash").iterdir())) == 2
    store.runs.put(RUN, result, spec(dataset_id), mine)
    for refused in (
        lambda: store.runs.restore("3" * 32, mine),
        lambda: store.runs.put("4" * 32, result, spec(dataset_id), mine),
    ):
        with pytest.raises(StoreError, match="holds 1 runs"):
            refused()
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [RUN]
