"""Jobs in the background of the app's own process."""

from __future__ import annotations

import atexit
import logging
import queue
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from simviz.exceptions import JobCancelled, StoreError
from simviz.jobs.archive import JobArchive, new_owner, retire_owner
from simviz.jobs.failures import explain, is_mendable
from simviz.jobs.folder import JobFolder
from simviz.jobs.job import Job
from simviz.jobs.ledger import Ledger
from simviz.jobs.pool import DaemonPool, submit_in_turn
from simviz.jobs.selection import Found
from simviz.jobs.spec import JobError, JobSpec
from simviz.jobs.status import ACTIVE, JobStatus, Record
from simviz.jobs.threads import threads_per_job
from simviz.jobs.turns import Turns
from simviz.jobs.work import run_job
from simviz.store.process import own_process
from simviz.store.run import RunFiles
from simviz.store.store import Store

_log = logging.getLogger(__name__)


class JobQueue:
    """Trains in the background, a few jobs at a time, and remembers all of them.

    Workspaces are served in turn, each in the order of its requests.

    A job is a directory of the store. Workers only put messages into a
    channel; one thread of this object reads them and writes the files, so
    that a status has one writer. A request that succeeded is answered from
    the store; one that waits or runs is joined; anything else is a new
    attempt.

    Parameters
    ----------
    store : Store
        Where data sets and runs are.
    max_workers : int, default=2
        Jobs that run at once.
    executor : concurrent.futures.Executor, optional
        Runs the jobs; a pool of threads when omitted. Another one, such as a
        Dask client's ``get_executor()``, may run them elsewhere on the same
        store, given a `channel` and flags that reach there, in its own order.
    channel : queue.Queue, optional
        What workers talk through.
    new_flag : callable, default=threading.Event
        Makes what tells a worker to stop.
    limit : int, default=8
        Jobs of one workspace that may wait or run.
    total_limit : int, default=200
        Jobs of all workspaces that may wait or run.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> mine = store.create_workspace()
    >>> pairs = store.get_dataset("demo:emoji")
    >>> with JobQueue(store) as jobs:
    ...     job_id = jobs.submit(JobSpec("demo:emoji", pairs.digest, "bm25", workspace=mine))
    ...     status = jobs.wait(job_id, timeout=60)
    >>> status.state, store.get_run(status.run_id).info.method
    ('succeeded', 'bm25')
    """

    def __init__(
        self,
        store: Store,
        max_workers: int = 2,
        executor: Executor | None = None,
        *,
        channel: Any = None,
        new_flag: Callable[[], Any] = threading.Event,
        limit: int = 8,
        total_limit: int = 200,
    ) -> None:
        self.store = store
        self.limit, self.total_limit = limit, total_limit
        self._n_threads = threads_per_job(max_workers)
        self._own_executor = executor is None
        turns = Turns()
        self._executor = executor or DaemonPool(max_workers, "simviz-job", turns)
        self._new_flag = new_flag
        self._archive = JobArchive(store)
        self._archive.settle_all()
        self._ledger = Ledger(queue.Queue() if channel is None else channel, turns)
        self._owner = new_owner()
        self._ledger.open()
        # An app that ends says so in its jobs, rather than leave it to the next one.
        atexit.register(self.close)

    # -- asking -----------------------------------------------------------------------

    def submit(self, spec: JobSpec) -> str:
        """Ask for a job.

        Parameters
        ----------
        spec : JobSpec
            What is asked for, with a workspace.

        Returns
        -------
        str
            Id of the job that answers it: one that has succeeded, or waits or
            runs already, or a new one.

        Raises
        ------
        JobError
            If the request is wrong or too many jobs wait.
        StoreError
            If the workspace or the data set is not there.
        """
        spec.check()
        self.store.touch_workspace(spec.workspace)
        self.store.get_dataset_info(spec.dataset_id, spec.workspace)
        digest = spec.digest
        with self._ledger.lock:
            if self._ledger.is_closed:
                raise JobError("The app is shutting down; it takes no more jobs.")
            last = self.store.last_attempt(digest)
            if last is not None:
                state = self.status(last).state
                if state in ACTIVE or (state == "succeeded" and self._archive.is_kept(last, spec)):
                    self.store.follow(last, spec.workspace)
                    self._ledger.follow(last, spec.workspace)
                    return last
            if self.store.has_run(digest):
                return self._add(spec, Record("succeeded", fraction=1.0, run_id=digest))
            self._check_room(spec.workspace)
            job_id = self._add(spec, Record(owner=self._owner))
            self._start(job_id, spec)
            return job_id

    def repeat(self, job_id: str, workspace: str) -> str:
        """Ask for the same as an earlier job.

        Parameters
        ----------
        job_id, workspace : str
            The job and who asks.

        Returns
        -------
        str
            Id of the job that answers it, see `submit`.

        Raises
        ------
        JobError
            If its request cannot be read, or as `submit` says.
        StoreError
            If there is no such job for this workspace.
        """
        spec = self.status(job_id, workspace).spec
        if spec is None:
            raise JobError("The request of this job cannot be read. Ask for it anew.")
        return self.submit(spec.asked_by(workspace))

    def cancel(self, job_id: str, workspace: str | None = None) -> bool:
        """Stop a job, at once as far as anybody sees.

        The status changes before this returns. A call of linear algebra that
        is under way ends behind it, and what it finds is dropped.

        Parameters
        ----------
        job_id : str
            The job.
        workspace : str, optional
            Who asks. Where others wait for the same job of a demo, it goes
            on for them and only leaves the list of this workspace.

        Returns
        -------
        bool
            Whether the job stops.

        Raises
        ------
        StoreError
            If there is no such job for this workspace.
        """
        folder = self._archive.folder(job_id, workspace)
        if workspace is not None and self.store.followers(job_id) - {workspace}:
            self.store.unfollow(job_id, workspace)
            self._ledger.unfollow(job_id, workspace)
            return False
        job = self._ledger.get(job_id)
        if job is not None:
            return self._ledger.stop(job, "cancelled", "Cancelled.")
        if not self._archive.status(job_id, history=False).is_active:
            return False
        folder.ask_to_cancel()  # the process that runs it looks there
        return True

    # -- looking ----------------------------------------------------------------------

    def status(self, job_id: str, workspace: str | None = None) -> JobStatus:
        """What is known about a job.

        Parameters
        ----------
        job_id : str
            The job.
        workspace : str, optional
            Who asks; whoever is trusted may leave it out.

        Returns
        -------
        JobStatus
            With its history.

        Raises
        ------
        StoreError
            If there is no such job for this workspace.
        """
        self._archive.folder(job_id, workspace)
        return self._ledger.status(job_id) or self._archive.status(job_id)

    def jobs(self, workspace: str) -> list[JobStatus]:
        """Jobs of a workspace, newest first.

        Parameters
        ----------
        workspace : str
            Whose.

        Returns
        -------
        list of JobStatus
            Without their histories.

        Raises
        ------
        StoreError
            If there is no such workspace.
        """
        found = []
        for job_id in self.store.attempts(workspace):
            status = self._ledger.status(job_id, history=False)
            with suppress(StoreError):  # deleted since the list was read
                found.append(status or self._archive.status(job_id, history=False))
        return found

    def result(self, job_id: str, workspace: str | None = None) -> Found:
        """What a search found.

        Parameters
        ----------
        job_id : str
            The job.
        workspace : str, optional
            Who asks; whoever is trusted may leave it out.

        Returns
        -------
        Found
            All settings and the chosen one; `StoreError` where there is none.
        """
        return self._archive.result(job_id, workspace)

    def wait(self, job_id: str, timeout: float | None = None) -> JobStatus:
        """Wait until a job of this queue has ended and its files are written.

        Parameters
        ----------
        job_id : str
            The job.
        timeout : float, optional
            Seconds; the job may still run afterwards.

        Returns
        -------
        JobStatus
            As it is then.
        """
        self._ledger.wait(job_id, timeout)
        return self.status(job_id)

    # -- ending -----------------------------------------------------------------------

    def close(self, timeout: float = 10.0) -> None:
        """Stop all jobs, which then read interrupted, and wait for the files.

        Parameters
        ----------
        timeout : float, default=10.0
            Seconds to wait at most.
        """
        if self._owner.partition("/")[0] != own_process():
            return  # a fork of the process whose jobs these are
        self._ledger.close(timeout)
        if self._own_executor:
            self._executor.shutdown(wait=False, cancel_futures=True)
        retire_owner(self._owner)
        atexit.unregister(self.close)

    def __enter__(self) -> JobQueue:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # -- inside -----------------------------------------------------------------------

    def _add(self, spec: JobSpec, record: Record) -> str:
        record.created = time.time()
        if record.state not in ACTIVE:
            record.started = record.finished = record.created

        def write(path: Path) -> None:
            folder = JobFolder(path)
            folder.write_spec(spec)
            folder.write_record(record)

        return self.store.add_attempt(spec.digest, spec.workspace, write)

    def _start(self, job_id: str, spec: JobSpec) -> None:
        folder = JobFolder(self.store.attempt_folder(job_id))
        record = Record(created=time.time(), owner=self._owner)
        job = Job(job_id, spec, folder, record, self._new_flag())
        self._ledger.add(job)
        call = spec, self.store, job_id, self._ledger.channel, job.flag, self._n_threads
        try:
            job.future = submit_in_turn(self._executor, lambda: job.askers, run_job, *call)
        except RuntimeError as error:  # the executor was shut down by somebody else
            self._fail(job, error)
            return
        # Called in the worker's thread, or here if the executor is that fast.
        job.future.add_done_callback(lambda future: self._finish(job, future))

    def _check_room(self, workspace: str) -> None:
        if self._ledger.n_active() >= self.total_limit:
            raise JobError("Too many jobs are waiting. Try again in a few minutes.")
        own = sum(status.is_active for status in self.jobs(workspace))
        if own >= self.limit:
            raise JobError(
                f"{own} of your jobs wait or run, as many as may. Wait for one or cancel it."
            )

    def _finish(self, job: Job, future: Future[RunFiles | Found]) -> None:
        """Turn what a worker left into a state; must not raise."""
        try:
            if future.cancelled():
                self._ledger.end(job, "cancelled", "Cancelled.")
                return
            error = future.exception()
            if error is None:
                self._keep(job, future.result())
            else:
                self._fail(job, error)
        except BaseException as error:
            self._fail(job, error)
        finally:
            job.future = None  # what it holds may be large

    def _keep(self, job: Job, files: RunFiles | Found) -> None:
        """Store a run, unless the job was cancelled before it is there."""
        if not job.is_active:
            return
        if isinstance(files, Found):
            job.folder.write_result(files.tree)
            self._ledger.end(job, "succeeded")
            return
        spec = job.spec
        run_id = spec.digest
        is_new = self.store.put_run(run_id, files, spec.dataset_id, spec.method, spec.workspace)
        if not self._ledger.end(job, "succeeded", run_id=run_id) and is_new:
            self.store.drop_run(run_id)

    def _fail(self, job: Job, error: BaseException) -> None:
        if isinstance(error, JobCancelled):
            self._ledger.end(job, "cancelled", "Cancelled.")
            return
        job.traceback = "".join(traceback.format_exception(error))
        if not is_mendable(error):
            _log.error("Job %s failed.", job.id, exc_info=error)
        self._ledger.end(job, "failed", explain(error))
