import json
import shutil
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from waiting import LONG, finished, until, until_running

from simviz.evaluation import evaluate
from simviz.exceptions import DatasetError, StoreError
from simviz.jobs import JobError, JobQueue, JobSpec, SplitSpec
from simviz.jobs.queue import Job
from simviz.jobs.status import MAX_EVENTS, JobFolder, JobStatus
from simviz.store import Store
from simviz.store.directory import own_process


@pytest.fixture
def single(store):
    """A queue with one worker."""
    with JobQueue(store, max_workers=1) as jobs:
        yield jobs


def test_a_job_whose_directory_is_lost_can_be_asked_for_again(store, queue, ask):
    lost = queue.submit(ask())
    run_id = queue.wait(lost, LONG).run_id
    store.runs.drop(run_id)
    shutil.rmtree(store.jobs.folder(lost))
    again = queue.wait(queue.submit(ask()), LONG)
    assert (again.state, again.run_id, again.attempt) == ("succeeded", run_id, 2)


def test_a_job_trains_measures_and_is_kept(queue, store, ask, mine, sentences):
    status = queue.wait(queue.submit(ask("cca", n_components=8)), LONG)
    assert (status.state, status.fraction, status.attempt) == ("succeeded", 1.0, 1)
    assert status.created <= status.started <= status.finished
    stages = list(dict.fromkeys(event["stage"] for event in status.history))
    assert stages == ["reading", "features", "training", "scoring"]
    fractions = [event["fraction"] for event in status.history]
    assert fractions == sorted(fractions) and all(0 <= f <= 1 for f in fractions)

    run = store.runs.get(status.run_id, mine)
    assert run.spec == ask("cca", n_components=8).to_json()
    found, parts = run.part("test"), run.arrays()
    test = sentences.take(parts["x_test"], parts["y_test"])
    again = evaluate(run.pipeline(), test.x, test.y, test.relevance)
    # As text, for one NaN does not equal another.
    assert str(found.evaluation.to_records()) == str(found.records["run"])
    assert str(found.records["run"]) == str(again.to_records())
    assert found.evaluation.value("P@3") == again.value("P@3")  # not asked for at first
    assert run.info.summary["MRR"] == run.part("validation").evaluation.value("MRR")
    assert found.value("top-1", "x2y", "chance") == pytest.approx(1 / len(test.y))
    last = [r["value"] for r in found.curve if r["dimension"] == 8]
    assert np.mean(last) == pytest.approx(again.value("MRR"))
    assert set(run.about["seconds"]) == set(stages) and not run.maps()


def test_the_points_of_the_curve_can_be_asked_for(queue, ask):
    run = finished(queue, replace(ask("cca", n_components=6), dimensions=(1, 3, 100)))
    assert {record["dimension"] for record in run.part("test").curve} == {1, 3}


def test_what_succeeded_is_not_done_again(queue, store, ask, mine):
    first = queue.submit(ask())
    assert queue.submit(ask()) == first  # joined while it waits or runs
    queue.wait(first, LONG)
    assert queue.submit(ask()) == first
    other = queue.submit(ask(k1=1.5))
    assert other.split("-")[0] != first.split("-")[0]
    store.runs.delete(queue.wait(first).run_id, mine)
    assert queue.submit(ask()).endswith("-2")  # its result is gone


def test_the_result_is_found_where_the_job_is_forgotten(queue, store, ask, mine):
    first = queue.wait(queue.submit(ask()), LONG)
    store.jobs.unfollow(first.id, mine)
    store.sweep()
    again = queue.status(queue.submit(ask()))
    assert (again.state, again.run_id) == ("succeeded", first.run_id)


def test_demos_are_trained_once_for_all(queue, store, mine, theirs):
    digest = store.datasets.get("demo:emoji").digest
    spec = JobSpec("demo:emoji", digest, "bm25", workspace=mine)
    first = queue.submit(spec)
    assert queue.submit(replace(spec, workspace=theirs)) == first
    status = queue.wait(first, LONG)
    for one in (mine, theirs):
        assert [job.id for job in queue.jobs(one)] == [first]
        run = store.runs.get(status.run_id, one)
    # Nobody learns who asked first: a workspace's id is its key.
    assert status.spec.workspace == ""
    files = [*store.jobs.folder(first).iterdir(), *run.folder.rglob("*.*")]
    assert not any(mine.encode() in path.read_bytes() for path in files)


def test_a_long_job_is_cancelled_at_once_and_gives_way(single, store, ask, endless, mine):
    job_id = single.submit(endless())
    until(lambda: (single.status(job_id).eta_seconds or 0) > 0)
    status = single.status(job_id)
    assert status.stage == "training" and any("loss" in event for event in status.history)
    assert single.cancel(job_id, mine)
    assert single.status(job_id).state == "cancelled"
    assert not single.cancel(job_id)  # it is over
    # Its thread is free again, and there is no result.
    assert single.wait(single.submit(ask()), LONG).state == "succeeded"
    status = single.wait(job_id, LONG)
    assert (status.state, status.run_id) == ("cancelled", None) and status.history
    assert not store.runs.has(endless().digest)


def test_what_was_cancelled_or_failed_is_attempted_anew(single, ask, endless, mine, monkeypatch):
    blocker, cancelled = single.submit(endless()), single.submit(ask())
    single.cancel(cancelled)
    single.cancel(blocker)
    with monkeypatch.context() as patched:
        patched.setattr("simviz.jobs.spec.train", lambda *a: (_ for _ in ()).throw(ValueError))
        failed = single.repeat(cancelled, mine)
        assert single.wait(failed, LONG).state == "failed"
    succeeded = single.repeat(failed, mine)
    assert single.wait(succeeded, LONG).state == "succeeded"
    attempts = [single.status(i).attempt for i in (cancelled, failed, succeeded)]
    assert attempts == [1, 2, 3]
    assert single.repeat(cancelled, mine) == succeeded


def test_a_job_cancelled_while_it_saves_leaves_no_run(store, ask, monkeypatch):
    with JobQueue(store) as queue:
        saved, go = threading.Event(), threading.Event()
        put = store.runs.put

        def slowly(*arguments):
            answer = put(*arguments)
            saved.set()
            go.wait(LONG)
            return answer

        monkeypatch.setattr(store.runs, "put", slowly)
        job_id = queue.submit(ask())
        assert saved.wait(LONG) and store.runs.has(ask().digest)
        assert queue.cancel(job_id)
        go.set()
        until(lambda: not store.runs.has(ask().digest))
        assert queue.wait(job_id, LONG).state == "cancelled"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (DatasetError("Bring more pairs."), "Bring more pairs."),
        (TypeError("inner"), "TypeError"),
        (MemoryError("inner"), "memory"),
    ],
)
def test_errors_are_said_plainly_and_bugs_kept_for_the_keeper(
    queue, store, ask, monkeypatch, error, words
):
    def fail(*arguments):
        raise error

    monkeypatch.setattr("simviz.jobs.spec.train", fail)
    status = queue.wait(queue.submit(ask()), LONG)
    assert status.state == "failed" and words in status.message and "inner" not in status.message
    kept = (store.jobs.folder(status.id) / "traceback.txt").read_text()
    assert type(error).__name__ in kept and "run_job" in kept


def test_a_data_set_or_split_that_does_not_fit_is_noticed(queue, ask):
    nowhere = SplitSpec(by="group", group_key="nowhere")
    changes = (({"dataset_digest": "f" * 32}, "no longer"), ({"split": nowhere}, "nowhere"))
    for change, words in changes:
        status = queue.wait(queue.submit(replace(ask(), **change)), LONG)
        assert status.state == "failed" and words in status.message


def test_jobs_belong_to_who_follows_them(queue, ask, theirs):
    job_id = queue.submit(ask())
    words = set()
    for wrong in (job_id, "0" * 32 + "-1", "", "..", "../x", "0" * 32 + "-1/..", None, "\ud800"):
        for call in (queue.status, queue.cancel, queue.repeat):
            with pytest.raises(StoreError) as error:
                call(wrong, theirs)
            words.add(str(error.value))
    assert len(words) == 1  # the answer does not tell whether it exists
    assert queue.jobs(theirs) == []
    for refused in (
        lambda: queue.submit(ask(workspace=theirs)),  # another's data set
        lambda: queue.submit(ask(workspace="nobody")),
        lambda: queue.jobs("nobody"),
    ):
        with pytest.raises(StoreError):
            refused()


@pytest.mark.parametrize(
    ("limit", "words"),
    [({"limit": 2}, "2 of your jobs wait or run"), ({"total_limit": 2}, "Too many jobs")],
)
def test_so_many_jobs_wait_at_once(store, ask, endless, mine, limit, words):
    with JobQueue(store, max_workers=1, **limit) as queue:
        first = queue.submit(endless())
        queue.submit(ask())
        with pytest.raises(JobError, match=words):
            queue.submit(ask(k1=1.5))
        assert queue.submit(ask()) == queue.jobs(mine)[0].id  # joins what waits
        queue.cancel(first)
        queue.submit(ask(k1=1.5))


def test_a_job_whose_workspace_is_deleted_stops(single, store, endless, mine):
    job_id = single.submit(endless())
    until_running(single, job_id)
    store.workspaces.delete(mine)
    with pytest.raises(StoreError):
        single.wait(job_id, LONG)
    assert job_id not in single._jobs


def test_closing_interrupts_and_a_new_queue_can_repeat(store, ask, endless, mine):
    queue = JobQueue(store, max_workers=1)
    first, second = queue.submit(endless()), queue.submit(ask())
    until_running(queue, first)
    queue.close()
    with pytest.raises(JobError, match="shutting down"):
        queue.submit(ask())
    with JobQueue(store) as later:
        assert [later.status(i).state for i in (first, second)] == ["interrupted"] * 2
        assert "restarted" in later.status(first).message
        again = later.repeat(second, mine)
        assert later.wait(again, LONG).state == "succeeded" and again.endswith("-2")


def left_behind(store, ask, owner, state="running"):
    status = JobStatus("", state, created=1.0, started=2.0, owner=owner)

    def write(path):
        JobFolder(path).write_spec(ask())
        JobFolder(path).write_status(status)

    return store.jobs.add(ask().digest, ask().workspace, write)


@pytest.mark.parametrize("state", ["queued", "running"])
@pytest.mark.parametrize(
    "owner",
    ["", "1-1-1/x", own_process(), f"{own_process()}/gone"],
    ids=["nobody", "another boot", "this process", "a queue that is gone"],
)
def test_jobs_of_a_process_that_died_read_interrupted(store, ask, owner, state):
    job_id = left_behind(store, ask, owner, state)
    with JobQueue(store) as queue:
        assert JobFolder(store.jobs.folder(job_id)).read_status().state == "interrupted"
        assert queue.status(job_id).state == "interrupted"
        assert queue.submit(ask()).endswith("-2")


def test_a_job_killed_after_its_run_was_stored_has_succeeded(store, ask):
    with JobQueue(store) as queue:
        done = queue.wait(queue.submit(ask()), LONG)
    store.jobs.unfollow(done.id, ask().workspace)
    job_id = left_behind(store, ask, "1-1-1/x")
    with JobQueue(store) as queue:
        status = queue.status(job_id)
    assert (status.state, status.run_id) == ("succeeded", done.run_id)


def test_a_job_of_a_living_process_is_left_alone_but_hears_a_wish(store, ask, mine):
    code = (
        "from simviz.store.directory import own_process; print(own_process(), flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        job_id = left_behind(store, ask, f"{other.stdout.readline().strip()}/x")
        with JobQueue(store) as queue:
            assert queue.status(job_id).state == "running"
            assert queue.submit(ask()) == job_id
            assert queue.cancel(job_id, mine)
            assert queue.status(job_id).state == "running"  # its process will say
            assert JobFolder(store.jobs.folder(job_id)).is_cancel_requested
            other.communicate("\n", timeout=LONG)
            assert queue.status(job_id).state == "interrupted"
            assert not queue.cancel(job_id, mine)


def test_a_wish_left_in_the_directory_is_heard(single, store, endless):
    job_id = single.submit(endless())
    until_running(single, job_id)
    with JobQueue(store) as second:  # as another process would, from the files alone
        until(lambda: second.status(job_id).state == "running")  # they follow the memory
        assert second.cancel(job_id)
    assert single.wait(job_id, LONG).state == "cancelled"


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"state": "happy"}', b"\xff", b"null"])
def test_damaged_files_of_a_job_are_tolerated(store, ask, mine, damage):
    with JobQueue(store) as queue:
        job_id = queue.wait(queue.submit(ask()), LONG).id
        path = store.jobs.folder(job_id)
        assert queue.status(job_id).history
        (path / "history.json").write_bytes(damage)
        assert queue.status(job_id).history == ()
        (path / "spec.json").write_bytes(damage)
        assert queue.status(job_id).spec is None
        with pytest.raises(JobError, match="cannot be read"):
            queue.repeat(job_id, mine)
        (path / "status.json").write_bytes(damage)
        assert queue.status(job_id).state == "succeeded"  # its run is there
        store.runs.drop(ask().digest)
        (path / "status.json").unlink()
        assert queue.jobs(mine)[0].state == "interrupted"


def test_odd_values_in_a_status_are_tolerated(store, ask):
    job_id = left_behind(store, ask, "")
    path = store.jobs.folder(job_id) / "status.json"
    odd = {"state": "failed", "fraction": 7, "started": "x", "run_id": 3, "finished": float("nan")}
    path.write_text(json.dumps(odd))
    with JobQueue(store) as queue:
        status = queue.status(job_id)
    assert (status.fraction, status.started, status.finished, status.run_id) == (1, *[None] * 3)


def test_the_history_of_a_long_job_stays_bounded(tmp_path, ask):
    folder = JobFolder(tmp_path)
    job = Job(JobStatus("x-1", "running", started=1.0), ask(), folder)
    lock = threading.RLock()
    for i in range(5_000):
        job.add_event({"stage": "training", "fraction": i / 5_000, "seconds": i})
        job._saved = 0.0
        if i % 7 == 0:
            job.save(lock)
    job.end("succeeded")
    assert job.save(lock)
    kept = [event["seconds"] for event in folder.read_history()]
    assert kept == [event["seconds"] for event in job.history]
    assert MAX_EVENTS / 3 < len(kept) <= MAX_EVENTS and kept[-1] > 4_900
    assert len(set(np.diff(kept))) == 1, "evenly spread"


def test_a_full_disk_delays_what_is_written_but_loses_nothing(tmp_path, ask, monkeypatch):
    folder = JobFolder(tmp_path)
    job = Job(JobStatus("x-1", "running", started=1.0), ask(), folder)
    job.add_event({"stage": "training", "fraction": 0.5, "seconds": 1})
    job.end("failed")
    lock = threading.RLock()
    with monkeypatch.context() as patched:
        refuse = lambda *_, **__: (_ for _ in ()).throw(OSError)  # noqa: E731
        patched.setattr(folder, "write_history", refuse)
        with pytest.raises(OSError):
            job.save(lock)
    assert folder.read_status() is None and job.save(lock)
    assert folder.read_status().state == "failed" and len(folder.read_history()) == 1


def test_two_queues_of_one_store_share_what_is_done(tmp_path, ask):
    with JobQueue(Store(tmp_path)) as one, JobQueue(Store(tmp_path)) as two:
        job_id = one.submit(ask())
        assert two.submit(ask()) == job_id
        one.wait(job_id, LONG)
        assert two.status(job_id).state == "succeeded"
