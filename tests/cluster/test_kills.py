"""Whatever dies, and whenever, what is learned is the same bit for bit.

``make kills`` tries all moments and prints them; `make test` tries some.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest
import scipy.sparse as sp
from distributed import Client

from simviz.cluster import cluster_queue, fit_s2net
from simviz.cluster.here import cluster_here
from simviz.cluster.rows import ClusterRows
from simviz.cluster.s2net import Share
from simviz.jobs import JobError
from simviz.methods.s2net import S2Net
from simviz.store import Store

LONG = 120.0
SEED = 0
ALL = bool(os.environ.get("SIMVIZ_KILLS"))
#: Where a share ends its own process, in the middle of what it does.
INSIDE = ("building", "begin", "first sum", "block", "second sum", "gradient")
OUTSIDE = ("sending", "between evaluations", "validation", "both workers")
FITS = (*INSIDE, *OUTSIDE)
#: Stage of a job, and passes of its training that are behind when its worker is killed.
JOBS = [("reading", 0), ("features", 0), ("scoring", 0), ("drawing", 0)]
JOBS += [("training", step) for step in (0, 1, 10, 30, 45, 59)]


def some(moments, few):
    return moments if ALL else [moment for moment in moments if moment in few]


def report(words):
    if ALL:
        sys.stdout.write(f"| {words} | same bits |\n")


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


def data():
    rng = np.random.default_rng(SEED)
    X, Y = (sp.random_array((600, 80), density=0.1, rng=rng, format="csr") for _ in range(2))
    return X, sp.csr_array(Y + X @ sp.random_array((80, 80), density=0.05, rng=rng))


def model():
    return S2Net(5, loss="logistic", solver="lbfgs", init="random", max_iter=5)


@pytest.fixture(scope="module")
def expected():
    return fit_s2net(model(), *data(), n_shares=2)


def doomed(moment, evaluation, share, flag):
    """Shares of which one ends its process, once."""

    class Doomed(Share):
        def __init__(self, X, loss, *common):
            super().__init__(X, loss, *common)
            self.number = int(loss.parts[0].pairs.place[0] > 0)  # of its rows among all
            self.evaluation = 0
            self.meet("building")

        def meet(self, where):
            due = where == "building" or self.evaluation == evaluation
            if where == moment and due and self.number == share:
                with suppress(FileExistsError):
                    os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
                    os.kill(os.getpid(), signal.SIGKILL)

        def steps(self, theta):
            self.evaluation += 1
            self.tick = lambda: self.meet("block")
            self.meet("begin")
            running = super().steps(theta)
            found = next(running)
            for where in ("first sum", "second sum"):
                total = yield found
                self.meet(where)
                try:
                    found = running.send(total)
                except StopIteration as end:
                    self.meet("gradient")
                    return end.value

    return Doomed


@pytest.mark.parametrize("moment", some(FITS, ("block", "validation")))
def test_a_worker_killed_in_a_divided_fit(moment, client, expected, monkeypatch, tmp_path):
    rng = np.random.default_rng([SEED, FITS.index(moment)])
    evaluation, share = int(rng.integers(1, 6)), int(rng.integers(2))
    flag = tmp_path / "killed"
    ours = model()
    client.wait_for_workers(2, timeout=LONG)
    places = sorted(client.nthreads())
    if moment != "both workers":
        places = places[share : share + 1]

    def once(now):
        if now == moment and not flag.exists():
            flag.touch()
            kill(client, places)

    def heard(step, total, metrics):
        if step == evaluation:
            once("between evaluations")
            once("both workers")
        return False

    if moment in INSIDE:
        deadly = doomed(moment, evaluation, share, str(flag))
        monkeypatch.setattr("simviz.cluster.s2net.Share", deadly)
    elif moment == "sending":
        send, sent = ClusterRows._scatter, []

        def scatter(self, *arguments):
            sent.append(1)
            if len(sent) == 3 + evaluation:  # the first three were the data
                once("sending")
            return send(self, *arguments)

        monkeypatch.setattr(ClusterRows, "_scatter", scatter)
    elif moment == "validation":
        score, scored = S2Net.score, []

        def slow(self, *arguments):
            scored.append(1)
            if len(scored) == evaluation + 1:
                once("validation")
            return score(self, *arguments)

        monkeypatch.setattr(S2Net, "score", slow)
    fit_s2net(ours.set_callbacks(heard), *data(), client=client, n_shares=2)
    assert flag.exists(), "nobody was killed"
    assert ours.n_iter_ == expected.n_iter_ and ours.loss_curve_ == expected.loss_curve_
    assert np.array_equal(ours.x_projection_, expected.x_projection_)
    assert np.array_equal(ours.y_projection_, expected.y_projection_)
    report(f"divided fit | {moment} | evaluation {evaluation}, share {share}")


@pytest.fixture(scope="module")
def by_nobody(cluster, tmp_path_factory):
    """Does a job that nobody disturbs, in another store."""
    store = Store(tmp_path_factory.mktemp("undisturbed"))

    def run(spec, pairs):
        mine = store.create_workspace()
        asked = replace(spec, dataset_id=store.put_dataset(pairs, mine), workspace=mine)
        with cluster_queue(store, cluster.scheduler_address) as queue:
            job_id = queue.submit(asked)
            found = store.get_run(queue.wait(job_id, LONG).run_id)
            queue._executor.shutdown()
        return found

    return run


@pytest.mark.parametrize(("stage", "step"), some(JOBS, [("training", 30)]))
def test_a_worker_killed_in_a_job(stage, step, cluster, client, store, ask, sentences, by_nobody):
    slow = ask("ssi", max_iter=60, patience=60, n_components=20)
    expected = by_nobody(slow, sentences)
    client.wait_for_workers(2, timeout=LONG)
    with cluster_queue(store, cluster.scheduler_address) as queue:
        job_id = queue.submit(slow)

        def reached(event):
            return event["stage"] == stage and event.get("step", step) >= step

        until(lambda: any(map(reached, queue.status(job_id).history)))
        at = queue.status(job_id)
        (where,) = [w.address for w in cluster.scheduler.workers.values() if w.processing]
        kill(client, [where])
        status = queue.wait(job_id, LONG)
        queue._executor.shutdown()
    assert status.state == "succeeded", status.message
    clocks = [event["seconds"] for event in status.history]
    assert any(later <= sooner for sooner, later in pairwise(clocks)), "nobody was killed"
    run = store.get_run(status.run_id)
    both = (sentences.x, sentences.y)
    ours, theirs = (r.pipeline().similarity(*both) for r in (run, expected))
    assert np.array_equal(ours, theirs)
    assert str(run.records()) == str(expected.records()) and run.maps() == expected.maps()
    passes = at.history[-1].get("step", 0)
    report(f"job | {stage} | after pass {passes:.0f} of 60")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def in_another_process(port):
    """A cluster as `make cluster` starts it, which can be killed as a whole."""
    call = [sys.executable, "-m", "simviz.cluster", "--workers", "1", "--port", str(port)]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            process.stdout.readline()  # it waits
            yield process
        finally:
            process.kill()


@pytest.mark.skipif(not ALL, reason="make kills; without real processes it is tried elsewhere")
def test_a_scheduler_killed_under_a_fit_and_a_job(store, ask, endless, mine):
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    with cluster_queue(store, address) as queue:
        with in_another_process(port) as process, Client(address) as client:
            job_id = queue.submit(endless())
            until(lambda: any("loss" in event for event in queue.status(job_id).history))
            os.kill(process.pid, signal.SIGKILL)
            status = queue.wait(job_id, LONG)
            assert status.state == "failed" and "cannot be reached" in status.message
        with in_another_process(port) as process, Client(address) as client:

            def heard(step, total, metrics):
                if step == 2:
                    os.kill(process.pid, signal.SIGKILL)
                return False

            with pytest.raises(JobError, match="cannot be reached"):
                fit_s2net(model().set_callbacks(heard), *data(), client=client)
        with in_another_process(port), Client(address) as client:
            again = queue.submit(ask("cca", n_components=4))
            assert queue.wait(again, LONG).state == "succeeded"
            assert fit_s2net(model(), *data(), client=client).n_iter_ == 5
        queue._executor.shutdown(cancel_futures=True)
    report("scheduler | under a fit and under a job")


def until(condition):
    """Wait for what happens elsewhere; the limit only ends a hang."""
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.002)
