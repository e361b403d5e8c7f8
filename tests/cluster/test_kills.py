"""A worker killed in a job: what is learned is the same, bit for bit."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import replace
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest
from distributed import Client

from simviz.jobs.dask import cluster_queue
from simviz.jobs.local_cluster import cluster_here
from simviz.store import Store

LONG = 120.0


def kill(client, places):
    for pid in client.run(os.getpid, workers=list(places)).values():
        os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def cluster():
    # A process that is spawned runs the main module again, which a page tested before may be.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "__main__", ModuleType("__main__"))
        with cluster_here(2) as made:
            yield made


@pytest.fixture(scope="module")
def client(cluster):
    with Client(cluster) as connected:
        yield connected


@pytest.fixture(scope="module")
def by_nobody(cluster, tmp_path_factory):
    """Does a job that nobody disturbs, in another store."""
    store = Store(tmp_path_factory.mktemp("undisturbed"))

    def run(spec, pairs):
        mine = store.workspaces.create()
        asked = replace(spec, dataset_id=store.datasets.put(pairs, mine), workspace=mine)
        with cluster_queue(store, cluster.scheduler_address) as queue:
            job_id = queue.submit(asked)
            found = store.runs.get(queue.wait(job_id, LONG).run_id)
            queue._executor.shutdown()
        return found

    return run


def test_a_worker_killed_in_a_job(cluster, client, store, ask, sentences, by_nobody):
    slow = ask("ssi", max_iter=60, patience=60, n_components=20)
    expected = by_nobody(slow, sentences)
    client.wait_for_workers(2, timeout=LONG)
    with cluster_queue(store, cluster.scheduler_address) as queue:
        job_id = queue.submit(slow)

        def is_half_way(event):
            return event["stage"] == "training" and event.get("step", 0) >= 30

        until(lambda: any(map(is_half_way, queue.status(job_id).history)))
        (where,) = [w.address for w in cluster.scheduler.workers.values() if w.processing]
        kill(client, [where])
        status = queue.wait(job_id, LONG)
        queue._executor.shutdown()
    assert status.state == "succeeded", status.message
    clocks = [event["seconds"] for event in status.history]
    assert any(later <= sooner for sooner, later in pairwise(clocks)), "nobody was killed"
    run = store.runs.get(status.run_id)
    both = (sentences.x, sentences.y)
    ours, theirs = (r.pipeline().similarity(*both) for r in (run, expected))
    assert np.array_equal(ours, theirs)
    assert str(run.part("test").records()) == str(expected.part("test").records())


def until(condition):
    """Wait for what happens elsewhere; the limit only ends a hang."""
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.002)
