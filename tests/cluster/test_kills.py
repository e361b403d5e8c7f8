"""A worker killed in a job or in a divided fit: what is learned is the same, bit for bit."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from threading import Timer
from types import ModuleType

import dask
import numpy as np
import pytest
import scipy.sparse as sp
from distributed import Client
from distributed.utils import get_mp_context
from local_cluster import cluster_here
from waiting import LONG, finished, until

from simviz.exceptions import JobError
from simviz.jobs.cluster_queue import cluster_queue
from simviz.methods._training import held_out_values
from simviz.methods.s2net import S2Net
from simviz.relevance import Relevance
from simviz.scale.lbfgs import Share, fit_s2net_lbfgs

#: Modules of the methods that learn here.
NEEDED = ["simviz.methods.s2net", "simviz.methods.ssi", "simviz.scale.lbfgs"]


def kill(client, places):
    for pid in client.run(os.getpid, workers=list(places)).values():
        os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def cluster():
    # Workers, and those in place of the killed ones, are forked from one process that has
    # imported what they need.
    forked = {"distributed.worker.multiprocessing-method": "forkserver"}
    with pytest.MonkeyPatch.context() as patch, dask.config.set(forked):
        # A new process runs the main module again, which a page tested before may be.
        patch.setitem(sys.modules, "__main__", ModuleType("__main__"))
        get_mp_context().set_forkserver_preload(["distributed", "simviz.jobs.worker", *NEEDED])
        with cluster_here(2) as made:
            yield made


@pytest.fixture(scope="module")
def client(cluster):
    with Client(cluster) as connected:
        yield connected


def test_a_worker_killed_in_a_job(cluster, client, store, theirs, ask, sentences):
    slow = ask("ssi", max_iter=60, patience=60, n_components=20)
    client.wait_for_workers(2, timeout=LONG)
    with cluster_queue(store, cluster.scheduler_address) as queue:
        of_others = store.datasets.put(sentences, theirs)
        expected = finished(queue, replace(slow, dataset_id=of_others, workspace=theirs))
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
    ours, alone = (r.pipeline().similarity(*both) for r in (run, expected))
    assert np.array_equal(ours, alone)
    assert str(run.part("test").records["run"]) == str(expected.part("test").records["run"])


@pytest.mark.soak("Dask looks a while before it gives up on a worker, and starts it anew")
def test_a_job_that_takes_the_memory_of_its_workers_at_once_fails(store, ask, monkeypatch):
    def hungry(*_):
        taken = []
        while True:
            taken.append(np.ones(10**7))

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "__main__", ModuleType("__main__"))
        with cluster_here(1, memory_limit="800 MB") as small:
            with cluster_queue(store, small.scheduler_address) as queue:
                monkeypatch.setattr("simviz.jobs.cluster_queue._work", hungry)
                status = queue.wait(queue.submit(ask("cca")), LONG)
                assert status.state == "failed" and "for lack of memory" in status.message
                monkeypatch.undo()
                status = queue.wait(queue.submit(ask("bm25")), LONG)
                assert status.state == "succeeded", status.message
                queue._executor.shutdown()


def data():
    rng = np.random.default_rng(0)
    shapes = [((600, 80), 0.1), ((600, 80), 0.1), ((80, 80), 0.05)]
    X, Y, how = (
        sp.random_array(shape, density=density, rng=rng, dtype=np.float32, format="csr")
        for shape, density in shapes
    )
    return X, sp.csr_array(Y + X @ how)


def model():
    return S2Net(5, loss="logistic", solver="lbfgs", init="random", max_iter=5)


@pytest.fixture(scope="module")
def expected():
    return fit_s2net_lbfgs(model(), *data(), n_shares=2)


def doomed(evaluation, share, flag):
    """Shares of which one ends its process, once, in the middle of its blocks."""

    class Doomed(Share):
        def __init__(self, X, Y, loss, how):
            super().__init__(X, Y, loss, how)
            self.is_it = int(loss.parts[0].pairs.place[0] > 0) == share  # of its rows among all
            self.evaluation = 0
            self.tick = self.meet

        def meet(self):
            if self.is_it and self.evaluation == evaluation:
                with suppress(FileExistsError):
                    os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
                    os.kill(os.getpid(), signal.SIGKILL)

        def steps(self, theta):
            self.evaluation += 1
            return super().steps(theta)

    return Doomed


@pytest.mark.parametrize("moment", ["block", "validation"])
def test_a_worker_killed_in_a_divided_fit(moment, client, expected, monkeypatch, tmp_path):
    flag, ours, evaluation, share = tmp_path / "killed", model(), 3, 1
    client.wait_for_workers(2, timeout=LONG)
    if moment == "block":
        monkeypatch.setattr("simviz.scale.lbfgs.Share", doomed(evaluation, share, str(flag)))
    else:
        score, scored = held_out_values, []

        def slow(*arguments):
            scored.append(1)
            if len(scored) == evaluation + 1:
                flag.touch()
                kill(client, [sorted(client.nthreads())[share]])
            return score(*arguments)

        monkeypatch.setattr("simviz.methods.s2net.held_out_values", slow)
    fit_s2net_lbfgs(ours, *data(), client=client, n_shares=2)
    assert flag.exists(), "nobody was killed"
    assert ours.n_iter_ == expected.n_iter_ and ours.loss_curve_ == expected.loss_curve_
    assert np.array_equal(ours.x_projection_, expected.x_projection_)
    assert np.array_equal(ours.y_projection_, expected.y_projection_)


@pytest.mark.soak("Data that a worker has no memory for take a minute")
def test_a_worker_killed_in_a_divided_fit_of_more_than_its_memory():
    n, d, words = 30_000, 20_000, 1_000
    rng = np.random.default_rng(0)
    terms = rng.integers(0, d, n * words, dtype=np.int32)
    starts = np.arange(0, n * words + 1, words, dtype=np.int32)
    X = sp.csr_array((rng.random(n * words, dtype=np.float32), terms, starts), (n, d))
    Y = sp.random_array((60, 300), density=0.2, rng=rng, dtype=np.float32, format="csr")
    judged = sp.csr_array((np.ones(n), (np.arange(n), np.arange(n) % 60)), (n, 60))

    def asked():
        return model().set_params(max_iter=2, validation_fraction=0, device="cpu")

    killed, heard = [], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "__main__", ModuleType("__main__"))
        with cluster_here(2, memory_limit="600 MB") as small, Client(small) as connected:

            def callback(step, total, metrics):
                heard.append(step)
                if heard.count(1) == 2 and not killed:
                    killed.append(min(connected.nthreads()))
                    kill(connected, killed)
                return False

            relevance = Relevance(judged, "negative")
            how = {"client": connected, "n_shares": 2}
            ours = fit_s2net_lbfgs(asked().set_callbacks(callback), X, Y, relevance, **how)
    alone = fit_s2net_lbfgs(asked(), X, Y, relevance, n_shares=2)
    assert killed and ours.n_iter_ == alone.n_iter_ == 2
    assert np.array_equal(ours.x_projection_, alone.x_projection_)
    assert np.array_equal(ours.y_projection_, alone.y_projection_)


def test_a_divided_fit_of_a_paused_worker_says_what_to_do(client, monkeypatch, tmp_path):
    go_on = tmp_path / "go on"

    class Held(Share):
        def __init__(self, *arguments):
            while not go_on.exists():
                time.sleep(0.01)
            super().__init__(*arguments)

    client.wait_for_workers(2, timeout=LONG)
    monkeypatch.setattr("simviz.scale.lbfgs.Share", Held)
    monkeypatch.setattr("simviz.scale.lbfgs._LOOKS", 1)
    monkeypatch.setattr("simviz.scale.lbfgs._MAX_PAUSES", 2)
    states = zip(sorted(client.nthreads()), ("running", "paused"), strict=True)
    paused = {"workers": {place: {"status": state} for place, state in states}}
    monkeypatch.setattr(client, "scheduler_info", lambda **_: paused)
    # Without the refusal the fit would wait for ever.
    end = Timer(LONG, go_on.touch)
    end.start()
    try:
        with pytest.raises(JobError, match="is paused, because it has taken"):
            fit_s2net_lbfgs(model(), *data(), client=client, n_shares=2)
    finally:
        end.cancel()
        go_on.touch()
