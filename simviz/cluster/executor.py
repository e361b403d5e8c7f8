"""Sends the jobs of a queue to a Dask cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, cast
from uuid import uuid4

from simviz.cluster.carried import runs_of
from simviz.cluster.link import Link, lost
from simviz.cluster.remote import Task, work
from simviz.exceptions import SimvizError
from simviz.jobs.pool import DaemonPool
from simviz.jobs.spec import JobError, JobSpec
from simviz.jobs.work import Channel
from simviz.store.store import Store

#: A job whose data vanished with a worker is sent so often.
_ATTEMPTS = 3


@dataclass(slots=True, eq=False)
class _Call:
    """A job on its way."""

    call: Callable[..., Any]
    spec: JobSpec
    store: Store
    job_id: str
    channel: Channel
    #: How many jobs of the same workspace are on their way before it.
    ahead: int = 0
    attempts: int = 0
    future: Future[Any] = field(default_factory=Future)
    remote: Any = None


class ClusterExecutor(Executor):
    """Runs jobs of `simviz.jobs.JobQueue` on the workers of a Dask scheduler.

    Data sets and trained parts are read here and travel through Dask, so that
    workers need no disk of this machine; progress and results come back the
    same way. A connection is made when the first job comes, and anew after it
    broke.

    Parameters
    ----------
    address : str
        Of the scheduler, such as "tcp://127.0.0.1:8786".
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._link: Link | None = None
        self._calls: dict[str, _Call] = {}
        # Reading, connecting and sending take a while; nobody who asks waits for it.
        self._sender = DaemonPool(1, "simviz-cluster")

    def n_workers(self) -> int | None:
        """How many workers there are.

        Returns
        -------
        int or None
            None before the first job, and where the scheduler is lost.
        """
        link = self._link
        return None if link is None else link.n_workers()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Send a job soon.

        Parameters
        ----------
        fn : callable
            `simviz.jobs.work.run_job`.
        *args : tuple
            Its arguments. Store and channel stay here; the worker is given
            what stands for them. What tells it to stop is the cancelling of
            the answer, and its threads are those that it was started with.
        **kwargs : dict
            None are taken.

        Returns
        -------
        Future
            Of what the job answers.

        Raises
        ------
        TypeError
            If these are not the arguments of a job.
        RuntimeError
            If the executor was shut down.
        """
        if kwargs or len(args) != 6 or not isinstance(args[0], JobSpec):
            raise TypeError("This executor runs the jobs of a JobQueue and nothing else.")
        spec, store, job_id, channel = args[:4]
        ahead = sum(c.spec.workspace == spec.workspace for c in list(self._calls.values()))
        call = _Call(fn, spec, cast(Store, store), job_id, channel, ahead)
        self._calls[job_id] = call
        call.future.add_done_callback(lambda future: self._ended(call))
        self._sender.submit(self._send, call)
        return call.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let go of the cluster, see `concurrent.futures.Executor.shutdown`.

        Parameters
        ----------
        wait : bool, default=True
            Whether to wait until the jobs that were sent have ended.
        cancel_futures : bool, default=False
            Cancel them, those that run among them.
        """
        calls = list(self._calls.values())
        if cancel_futures:
            for call in calls:
                call.future.cancel()
        elif wait:
            for call in calls:
                call.future.exception()
        self._sender.shutdown(wait=wait, cancel_futures=cancel_futures)
        self._unlink()

    # -- inside -----------------------------------------------------------------------

    def _linked(self) -> Link:
        """The connection; a new one where there is none that works."""
        if self._link is not None and not self._link.is_open:
            self._unlink()
        if self._link is None:
            self._link = Link(self.address, self._hear)
        return self._link

    def _unlink(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def _send(self, call: _Call) -> None:
        """Read what a job needs and hand it over; must not raise."""
        if call.future.done():
            return
        try:
            link, spec = self._linked(), call.spec
            link.listen()
            name = spec.dataset_id, spec.dataset_digest
            pairs = link.sent(name, lambda: call.store.get_dataset(spec.dataset_id))
            runs: Any = runs_of(spec, call.store)
            if runs:  # models may be large, and a graph is no place for them
                runs = link.scatter(runs)
            call.attempts += 1
            task = Task(call.call, spec, call.job_id, link.topic, version("simviz"))
            # Dask learns from names how long jobs of a method take.
            key = f"simviz_{spec.method}-{uuid4().hex}"
            # The first jobs of all come before the second ones of any.
            call.remote = link.client.submit(
                work, task, pairs, runs, key=key, pure=False, priority=-call.ahead
            )
            call.remote.add_done_callback(lambda remote: self._answered(call, link, remote))
            if call.future.cancelled():
                self._ended(call)
        except Exception as error:
            gone = self._link is None or self._link.is_lost(error)
            known = isinstance(error, SimvizError)
            self._fail(call, lost(self.address) if gone and not known else error)

    def _hear(self, message: Any) -> None:
        """Pass on what a worker tells, with the time of this machine's clock."""
        job_id, what, content = message
        call = self._calls.get(job_id)
        if call is not None:
            now = {"time": time.time()} if "time" in content else {}
            call.channel.put((job_id, what, content | now))

    def _answered(self, call: _Call, link: Link, remote: Any) -> None:
        """Pass on what became of a job; called in a thread of the client."""
        if call.future.done():
            return
        try:
            if remote.status == "error":
                error = remote.exception()
                self._fail(call, error.with_traceback(remote.traceback()))
                return
            result = remote.result()  # raises where it was called off or got lost
            if call.future.set_running_or_notify_cancel():
                call.future.set_result(result)
        except BaseException as error:
            self._interrupted(call, link, error)

    def _interrupted(self, call: _Call, link: Link, error: BaseException) -> None:
        """A job of which nothing came back: send it again, or say why not."""
        if link.is_lost(error):
            self._fail(call, lost(self.address))
        elif call.attempts < _ATTEMPTS:
            # Its data were on a worker that is gone.
            link.forget((call.spec.dataset_id, call.spec.dataset_digest))
            try:
                self._sender.submit(self._send, call)
            except RuntimeError as shut:
                self._fail(call, shut)
        else:
            self._fail(call, error)

    def _fail(self, call: _Call, error: BaseException) -> None:
        from distributed import KilledWorker

        if isinstance(error, KilledWorker):
            error = JobError(
                "The workers that computed this ended one after another, most likely for lack of "
                "memory. Take a sample of the data or fewer components."
            )
        if call.future.set_running_or_notify_cancel():
            call.future.set_exception(error)

    def _ended(self, call: _Call) -> None:
        """Forget a job; what still waits or runs for it may stop."""
        self._calls.pop(call.job_id, None)
        remote, call.remote = call.remote, None
        if remote is not None:
            remote.release()  # the scheduler tells the worker; nobody waits for it
