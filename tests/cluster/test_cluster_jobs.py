"""Jobs on a Dask cluster look as they do in the app's own process."""

from __future__ import annotations

import copy
import pickle
import socket
from dataclasses import replace

import numpy as np
import pytest
from local_cluster import cluster_here
from waiting import LONG, until, until_running

from simviz.data import Items, PairSet
from simviz.jobs import JobQueue, JobSpec, SplitSpec, blend_spec, memory, search_spec
from simviz.jobs.cluster_queue import ClusterExecutor, cluster_queue
from simviz.jobs.training import train
from simviz.jobs.worker import run_job
from simviz.relevance import Relevance


def in_threads(n_workers, **how):
    # By this protocol what travels is pickled, even between threads.
    return cluster_here(n_workers, processes=False, protocol="tcp://", **how)


@pytest.fixture(scope="module")
def cluster():
    with in_threads(2) as made:
        yield made


@pytest.fixture
def executor(cluster):
    made = ClusterExecutor(cluster.scheduler_address)
    yield made
    made.shutdown(cancel_futures=True)


@pytest.fixture
def remote(store, executor):
    with JobQueue(store, executor=executor) as jobs:
        yield jobs


def tasks(cluster):
    """What the scheduler still knows of jobs."""
    return [key for key in cluster.scheduler.tasks if str(key).startswith("simviz_")]


def workers_rest(cluster):
    """Whether workers execute nothing, and the scheduler knows of no job."""
    is_busy = any(worker.state.executing for worker in cluster.workers.values())
    return not is_busy and not tasks(cluster)


def test_a_job_ends_with_the_same_model_measures_and_stages(remote, store, ask, sentences):
    spec = ask("cca", n_components=8)
    status = remote.wait(remote.submit(spec), LONG)
    assert status.state == "succeeded" and status.fraction == 1.0, status.message
    assert status.created <= status.started <= status.finished
    stages = list(dict.fromkeys(event["stage"] for event in status.history))
    assert stages == ["reading", "features", "training", "scoring"]
    run, expected = store.runs.get(status.run_id), train(spec, sentences, lambda *_: False)
    for name in ("x_projection_", "y_projection_"):
        ours, theirs = (getattr(p.model_, name) for p in (run.pipeline(), expected.pipeline))
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-8)
    assert str(run.part("test").records["run"]) == str(expected.measured["test"].records["run"])


def test_the_memory_of_a_worker_counts(store, ask):
    # Dask gives a worker that takes more than 80 % nothing to do.
    try:
        with in_threads(1, memory_limit=int(memory.taken_bytes() / 0.75)) as cluster:
            with cluster_queue(store, cluster.scheduler_address) as queue:
                status = queue.wait(queue.submit(ask("ssi", n_components=400_000)), LONG)
                queue._executor.shutdown()
    finally:
        memory.set_limit(float("inf"))
    assert status.state == "failed" and "GB of memory" in status.message


def test_it_is_said_who_does_the_jobs(cluster, store, ask):
    with cluster_queue(store, cluster.scheduler_address) as queue:
        at = f"Jobs are sent to a cluster at {cluster.scheduler_address}"
        assert queue.describe() == f"{at}."  # it has not been asked yet
        queue.wait(queue.submit(ask()), LONG)
        assert queue.describe() == f"{at}: 2 workers are there."
        nameless = queue.describe(with_address=False)
        assert nameless == "Jobs are sent to a cluster: 2 workers are there."
        queue._executor.shutdown()
        assert queue.describe() == f"{at}."


def test_who_comes_late_does_not_wait_for_all_of_another(store, theirs, ask, endless):
    digest = store.datasets.get("demo:emoji").digest
    with in_threads(1) as cluster, cluster_queue(store, cluster.scheduler_address) as queue:
        running = queue.submit(endless())
        until_running(queue, running)
        many = [queue.submit(ask(k1=1 + i / 10)) for i in range(5)]
        late = queue.submit(JobSpec("demo:emoji", digest, "bm25", workspace=theirs))
        assert queue.status(late).queue_position == 2
        executor = queue._executor
        until(lambda: all(call.task is not None for call in list(executor._calls.values())))
        queue.cancel(running)
        statuses = [queue.wait(job_id, LONG) for job_id in (*many, late)]
        assert {status.state for status in statuses} == {"succeeded"}
        *began, late_began = [status.started for status in statuses]
        assert began == sorted(began)
        # A worker may have been given two of them before.
        assert sum(start < late_began for start in began) <= 2
        executor.shutdown()


def test_data_are_sent_once_and_results_are_not_left_behind(remote, cluster, executor, ask):
    for method in ("bm25", "tfidf_cosine"):
        assert remote.wait(remote.submit(ask(method)), LONG).state == "succeeded"
    assert len([k for k in cluster.scheduler.tasks if "PairSet" in str(k)]) == 1
    until(lambda: not tasks(cluster))
    assert not executor._calls


def test_progress_is_heard_and_a_wish_to_cancel_is_granted(remote, cluster, store, ask, endless):
    job_id = remote.submit(endless())
    until(lambda: any("loss" in event for event in remote.status(job_id).history))
    assert remote.status(job_id).stage == "training"
    assert remote.cancel(job_id) and remote.status(job_id).state == "cancelled"
    until(lambda: workers_rest(cluster))
    assert not store.runs.has(endless().digest)
    assert remote.wait(remote.submit(ask()), LONG).state == "succeeded"


def test_jobs_that_wait_are_cancelled_too_and_closing_stops_all(cluster, store, ask, endless):
    executor = ClusterExecutor(cluster.scheduler_address)
    queue = JobQueue(store, executor=executor)
    first = [queue.submit(replace(endless(), split=SplitSpec(seed=i))) for i in range(2)]
    until(lambda: all(queue.status(i).state == "running" for i in first))
    waits = queue.submit(ask())
    assert queue.status(waits).queue_position == 1
    assert queue.cancel(waits) and queue.status(waits).state == "cancelled"
    queue.close()
    assert [queue.status(i).state for i in first] == ["interrupted"] * 2
    until(lambda: workers_rest(cluster))
    executor.shutdown()
    with pytest.raises(RuntimeError):
        executor.submit(run_job, *[endless(), store, "x", None, None, 1])


def test_workers_stop_when_the_app_is_gone(cluster, store, endless):
    executor = ClusterExecutor(cluster.scheduler_address)
    with JobQueue(store, executor=executor) as queue:
        job_id = queue.submit(endless())
        until_running(queue, job_id)
        client = executor._link.client  # as if its machine had lost power
        client.loop.add_callback(client.scheduler_comm.comm.abort)
        until(lambda: not any(w.state.executing for w in cluster.workers.values()))
        status = queue.wait(job_id, LONG)
        assert status.state == "failed" and "cannot be reached" in status.message
    executor.shutdown(cancel_futures=True)


def test_searches_and_blends_travel_too(remote, store, ask, mine):
    def done(spec):
        status = remote.wait(remote.submit(spec), LONG)
        assert status.state == "succeeded", status.message
        return status

    search = done(search_spec(ask("cca"), {"n_components": [2, 4]}))
    assert len(remote.result(search.id).value.trials) == 2
    parts = [done(spec).run_id for spec in (ask("cca", n_components=5), ask("bm25"))]
    spec = blend_spec(*(store.runs.get(i).info for i in parts), 0.3, workspace=mine)
    assert store.runs.get(done(spec).run_id).pipeline().alpha == 0.3
    store.runs.delete(parts[0], mine)
    other = replace(spec, params={**spec.params, "alpha": 0.2})
    status = remote.wait(remote.submit(other), LONG)
    assert status.state == "failed"
    assert "The learned run of this blend cannot be opened" in status.message


def test_bugs_are_said_plainly_and_kept_for_the_keeper(remote, store, ask, monkeypatch):
    def fail(*arguments):
        raise TypeError("inner")

    monkeypatch.setattr("simviz.jobs.spec.train", fail)  # workers of the fixture are threads
    status = remote.wait(remote.submit(ask()), LONG)
    assert status.state == "failed" and "TypeError" in status.message
    kept = (store.jobs.folder(status.id) / "traceback.txt").read_text()
    assert "inner" in kept and "run_job" in kept


def test_another_version_on_a_worker_is_noticed(remote, ask, monkeypatch):
    # Of the app alone: the worker, which is a thread of it, asks in another module.
    monkeypatch.setattr("simviz.jobs.cluster_queue.version", lambda name: "0.0.1")
    status = remote.wait(remote.submit(ask()), LONG)
    assert status.state == "failed" and "Install the same version" in status.message


def test_a_job_outlives_its_scheduler_and_can_be_repeated(store, ask, endless, mine, monkeypatch):
    monkeypatch.setattr("simviz.scale.dask.CONNECT_SECONDS", 2)
    monkeypatch.setattr("simviz.scale.dask.WORKER_SECONDS", 2)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with cluster_queue(store, f"tcp://127.0.0.1:{port}") as queue:
        early = queue.wait(queue.submit(ask()), LONG)  # there is no scheduler yet
        with in_threads(1, port=port):
            job_id = queue.submit(endless())
            until_running(queue, job_id)
        lost = queue.wait(job_id, LONG)
        again = queue.wait(queue.submit(ask()), LONG)
        for status in (early, lost, again):
            assert status.state == "failed" and "cannot be reached" in status.message
        with in_threads(1, port=port):
            done = queue.wait(queue.repeat(again.id, mine), LONG)
            assert done.state == "succeeded", done.message
            assert done.history and done.attempt == 3
            queue._executor.shutdown(cancel_futures=True)


def test_a_data_set_is_the_same_after_its_journey(sentences):
    items = Items(["a"], ["b"], "text", {"label": np.array(["c"], dtype=object)})
    links = PairSet(items, items, Relevance.identity(1))
    for pairs in (sentences, links):
        for again in (pickle.loads(pickle.dumps(pairs)), copy.deepcopy(pairs)):
            assert again.x.digest == pairs.x.digest and again.digest == pairs.digest
            assert (again.x is again.y) == (pairs.x is pairs.y)
