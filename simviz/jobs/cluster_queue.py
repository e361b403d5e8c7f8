"""A queue whose jobs are done by a cluster."""

from __future__ import annotations

import atexit
import math
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any
from uuid import uuid4

from simviz._extras import require
from simviz.data import PairSet
from simviz.exceptions import JobError, SimvizError
from simviz.jobs import memory
from simviz.jobs.queue import JobQueue
from simviz.jobs.spec import JobSpec, Models
from simviz.jobs.worker import DaemonPool, run_job
from simviz.scale.dask import Link, is_unwanted, same_version, unreachable
from simviz.store.store import Store

#: Threads of one task; Dask sets it to 1 unless whoever starts a worker says otherwise.
_THREADS = "OMP_NUM_THREADS"
#: Of the memory of a worker, what a job may take.
_SHARE = 0.9
#: A job whose data vanished with a worker is sent again so often.
_RESENDS = 2


class _Connection:
    """Connects a job on a worker with the app: its channel and its flag to stop."""

    def __init__(self, worker: Any, topic: str) -> None:
        self._worker, self._topic, self._key = worker, topic, worker.get_current_task()
        self.memory_limit: int | None = worker.memory_manager.memory_limit

    def put(self, message: tuple[str, str, Mapping[str, Any]], /) -> None:
        """Send a message of names and numbers through the scheduler."""
        job_id, what, content = message
        self._worker.log_event(self._topic, [job_id, what, dict(content)])

    def is_set(self) -> bool:
        return is_unwanted(self._worker, self._key)


def _work(
    spec: JobSpec, job_id: str, topic: str, app_version: str, pairs: PairSet, models: Models
) -> Any:
    connection = _Connection(same_version(app_version, "the app"), topic)
    n_threads = int(os.environ.get(_THREADS, "1") or 1)
    # Dask ends a worker that takes 95 % of what it may; a job that stops before can say why.
    memory.set_limit(_SHARE * (connection.memory_limit or math.inf))
    return run_job(spec, (pairs, models), job_id, connection, connection, n_threads)


@dataclass(slots=True, eq=False)
class _Call:
    """A job that was submitted; `task` is its future on the cluster."""

    spec: JobSpec
    store: Store
    job_id: str
    channel: Any
    #: How many jobs of the same workspace were submitted before it.
    ahead: int = 0
    future: Future[Any] = field(default_factory=Future)
    task: Any = None


class ClusterExecutor(Executor):
    """Runs jobs of `simviz.jobs.JobQueue` on the workers of a Dask scheduler."""

    # Data sets and trained parts are read here and travel through Dask, so that workers need no
    # disk of this machine; progress and results come back the same way. A connection is made
    # when the first job comes, and anew after it broke.

    def __init__(self, address: str) -> None:
        self.address = address
        self._link: Link | None = None
        self._calls: dict[str, _Call] = {}
        # Reading, connecting and sending take a while; nobody who asks waits for it.
        self._sender = DaemonPool(1, "simviz-cluster")

    def n_workers(self) -> int | None:
        """Return the number of workers; None where it is not known."""
        link = self._link
        return None if link is None else link.n_workers()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Send a job soon."""
        if fn is not run_job or kwargs or len(args) != 6:
            raise TypeError("This executor runs the jobs of a JobQueue and nothing else.")
        spec, store, job_id, channel = args[:4]
        ahead = sum(c.spec.workspace == spec.workspace for c in list(self._calls.values()))
        call = self._calls[job_id] = _Call(spec, store, job_id, channel, ahead)
        call.future.add_done_callback(lambda future: self._forget(call))
        self._sender.submit(self._send, call)
        return call.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let go of the cluster, see `concurrent.futures.Executor.shutdown`."""
        calls = list(self._calls.values())
        if cancel_futures:
            for call in calls:
                call.future.cancel()
        elif wait:
            for call in calls:
                call.future.exception()
        self._sender.shutdown(wait=wait, cancel_futures=cancel_futures)
        self._disconnect()

    # -- inside -----------------------------------------------------------------------

    def _connect(self) -> Link:
        """Return the connection; a new one where there is none that works."""
        if self._link is not None and not self._link.is_open:
            self._disconnect()
        if self._link is None:
            self._link = Link(self.address, self._pass_on)
        return self._link

    def _disconnect(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def _send(self, call: _Call, resends: int = _RESENDS) -> None:
        """Read what a job needs and hand it over; must not raise."""
        if call.future.done():
            return
        try:
            link, spec = self._connect(), call.spec
            link.listen()
            name = spec.dataset_id, spec.dataset_digest
            pairs = link.sent(name, lambda: call.store.datasets.get(spec.dataset_id))
            models: Any = spec.models(call.store)
            if models:  # they may be large, and a graph is no place for them
                models = link.scatter(models)
            sent = spec, call.job_id, link.topic, version("simviz"), pairs, models
            # Dask learns from names how long jobs of a method take.
            key = f"simviz_{spec.method}-{uuid4().hex}"
            # The first jobs of all come before the second ones of any.
            call.task = link.client.submit(_work, *sent, key=key, pure=False, priority=-call.ahead)
            call.task.add_done_callback(lambda task: self._finish(call, link, task, resends))
            if call.future.cancelled():
                self._forget(call)
        except Exception as error:
            gone = self._link is None or self._link.is_lost(error)
            known = isinstance(error, SimvizError)
            self._fail(call, unreachable(self.address) if gone and not known else error)

    def _pass_on(self, message: Any) -> None:
        """Pass on a message of a worker, with the time of this machine's clock."""
        job_id, what, content = message
        call = self._calls.get(job_id)
        if call is not None:
            now = {"time": time.time()} if "time" in content else {}
            call.channel.put((job_id, what, content | now))

    def _finish(self, call: _Call, link: Link, task: Any, resends: int) -> None:
        """Pass on the result of a job; called in a thread of the client."""
        if call.future.done():
            return
        try:
            if task.status == "error":
                error = task.exception()
                self._fail(call, error.with_traceback(task.traceback()))
                return
            result = task.result()  # raises where it was called off or got lost
            if call.future.set_running_or_notify_cancel():
                call.future.set_result(result)
        except BaseException as error:
            self._repeat(call, link, error, resends)

    def _repeat(self, call: _Call, link: Link, error: BaseException, resends: int) -> None:
        """Send a job again of which nothing came back, or say why not."""
        if link.is_lost(error):
            self._fail(call, unreachable(self.address))
        elif resends:
            # Its data were on a worker that is gone.
            link.forget((call.spec.dataset_id, call.spec.dataset_digest))
            try:
                self._sender.submit(self._send, call, resends - 1)
            except RuntimeError as shut:
                self._fail(call, shut)
        else:
            self._fail(call, error)

    def _fail(self, call: _Call, error: BaseException) -> None:
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        # Where its data were on its worker alone, they are gone with it, and so is the task.
        if isinstance(error, KilledWorker | FutureCancelledError):
            error = JobError(
                "The workers that computed this ended one after another, most likely for lack of "
                "memory. Take a sample of the data or fewer components."
            )
        if call.future.set_running_or_notify_cancel():
            call.future.set_exception(error)

    def _forget(self, call: _Call) -> None:
        """Forget a job; what still waits or runs for it may stop."""
        self._calls.pop(call.job_id, None)
        task, call.task = call.task, None
        if task is not None:
            task.release()  # the scheduler tells the worker; nobody waits for it


class ClusterQueue(JobQueue):
    """A queue that knows who does its jobs; made by `cluster_queue`."""

    def __init__(self, store: Store, executor: ClusterExecutor, limit: int) -> None:
        super().__init__(store, executor=executor, limit=limit)
        self._cluster = executor

    def describe(self, *, with_address: bool = True) -> str:
        """Say who does the jobs."""
        n, at = self._cluster.n_workers(), f" at {self._cluster.address}" if with_address else ""
        if n is None:
            return f"Jobs are sent to a cluster{at}."
        workers = {0: "No worker is", 1: "1 worker is"}.get(n, f"{n} workers are")
        return f"Jobs are sent to a cluster{at}: {workers} there."


def cluster_queue(store: Store, address: str, limit: int = 8) -> ClusterQueue:
    """Train on a Dask cluster what would be trained in this process."""
    require("cluster", "A cluster (SIMVIZ_SCHEDULER)")
    executor = ClusterExecutor(address)
    # At the end of the process the queue closes first, and its jobs are called off.
    atexit.register(executor.shutdown, wait=False, cancel_futures=True)
    return ClusterQueue(store, executor, limit)
