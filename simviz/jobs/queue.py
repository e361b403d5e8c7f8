"""Jobs in the background of the app's own process."""

from __future__ import annotations

import atexit
import logging
import queue
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager, suppress
from copy import copy
from pathlib import Path
from typing import Any

from simviz.exceptions import JobCancelled, JobError, StoreError
from simviz.jobs.folder import (
    INTERRUPTED,
    MAX_EVENTS,
    JobArchive,
    JobFolder,
    make_status,
    new_owner,
    retire_owner,
)
from simviz.jobs.pool import DaemonPool, Turns, submit_in_turn, threads_per_job
from simviz.jobs.selection import Found
from simviz.jobs.spec import JobSpec
from simviz.jobs.status import ACTIVE, JobStatus, Record, State, explain, is_mendable
from simviz.jobs.work import run_job
from simviz.store.files import own_process
from simviz.store.run import RunFiles
from simviz.store.store import Store

#: A status on its way is written at most so often, in seconds.
_SAVE_SECONDS = 0.2


class Job:
    """What a queue knows about a job that waits or runs."""

    # All but `save` is called under the lock of the ledger.

    def __init__(
        self, id: str, spec: JobSpec, folder: JobFolder, record: Record, flag: Any
    ) -> None:
        self.id, self.spec, self.folder, self.record, self.flag = id, spec, folder, record, flag
        self.future: Future[RunFiles | Found] | None = None
        #: Workspaces that wait for it; replaced as a whole, so that it may be read at any time.
        self.askers: tuple[str, ...] = (spec.workspace,)
        self.history: list[Mapping[str, Any]] = []
        self.traceback = ""
        self.is_dirty = False
        self._pending: list[Mapping[str, Any]] = []
        self._stride, self._heard = 1, 0
        self._is_thinned = False
        self._saved = 0.0

    def start(self, now: float) -> None:
        """Note that a worker has taken it."""
        self.record.state, self.record.started = "running", now
        self.is_dirty = True

    @property
    def is_active(self) -> bool:
        """Whether it waits or runs."""
        return self.record.state in ACTIVE

    def end(self, state: State, message: str, run_id: str | None) -> bool:
        """Give it its last state; False if it has one already."""
        record = self.record
        if not self.is_active:
            return False
        record.state, record.message, record.run_id = state, message, run_id
        record.finished = time.time()
        if state == "succeeded":
            record.fraction = 1.0
        self.is_dirty = True
        return True

    def hear(self, event: Mapping[str, Any]) -> None:
        """Note progress; of a long job every second event is forgotten, again and again."""
        self.record.stage = str(event["stage"])
        self.record.fraction = max(self.record.fraction, float(event["fraction"]))
        self.is_dirty = True
        self._heard += 1
        if self._heard % self._stride:
            return
        self.history.append(event)
        self._pending.append(event)
        if len(self.history) > MAX_EVENTS:
            self.history = self.history[::2]
            self._stride *= 2
            self._is_thinned = True

    def save(self, lock: AbstractContextManager[Any]) -> bool:
        """Bring the files up to date, unless they were a moment ago."""
        with lock:
            is_last = not self.is_active
            if not self.is_dirty or (
                not is_last and time.monotonic() - self._saved < _SAVE_SECONDS
            ):
                return False
            record, pending, thinned = copy(self.record), self._pending, self._is_thinned
            history = list(self.history)
            self._pending, self._is_thinned, self.is_dirty = [], False, False
        try:
            if thinned:
                self.folder.write_events(history)
            elif pending:
                self.folder.append_events(pending)
            if self.traceback:
                self.folder.write_traceback(self.traceback)
            self.folder.write_record(record)
        except OSError:
            with lock:
                self.is_dirty, self._is_thinned = True, True
            if not self.folder.path.exists():
                return is_last  # its workspace was deleted; there is nothing to keep
            raise
        self._saved = time.monotonic()
        return is_last


#: The writer looks up at least so often, in seconds.
_TICK = 0.2
#: Messages handled before what changed is written.
_BATCH = 500


class Ledger:
    """Hears the workers through a channel and is the only one to write a status."""

    # States change in memory, under one lock, and are seen at once; a thread brings the files up
    # to date. A job leaves the ledger when its last state is on the disk.

    def __init__(self, channel: Any, turns: Turns) -> None:
        self.channel = channel
        self._turns = turns
        self.lock = threading.RLock()
        self._left = threading.Condition(self.lock)
        self._jobs: dict[str, Job] = {}
        self.is_closed = False
        self._writer = threading.Thread(target=self._write, name="simviz-jobs", daemon=True)

    def open(self) -> None:
        """Start to write."""
        self._writer.start()

    def add(self, job: Job) -> None:
        """Take a job in."""
        with self.lock:
            self._jobs[job.id] = job

    def get(self, job_id: str) -> Job | None:
        """A job that is not yet on the disk for good."""
        with self.lock:
            return self._jobs.get(job_id)

    def follow(self, job_id: str, workspace: str) -> None:
        """Let one more workspace wait for a job, if it is not over."""
        with self.lock:
            job = self._jobs.get(job_id)
            if job is not None and workspace not in job.askers:
                job.askers = (*job.askers, workspace)

    def unfollow(self, job_id: str, workspace: str) -> None:
        """Let a workspace wait for a job no longer."""
        with self.lock:
            job = self._jobs.get(job_id)
            if job is not None:
                job.askers = tuple(one for one in job.askers if one != workspace)

    def n_active(self) -> int:
        """Jobs that wait or run."""
        with self.lock:
            return sum(job.is_active for job in self._jobs.values())

    def status(self, job_id: str, *, history: bool = True) -> JobStatus | None:
        """What is known about a job; None if it has left."""
        with self.lock:
            job = self._jobs.get(job_id)
            if job is None:
                return None
            position = self._position(job) if job.record.state == "queued" else None
            events = tuple(job.history) if history else ()
            return make_status(job_id, job.record, job.spec, events, position)

    def _position(self, job: Job) -> int:
        """The number of a job in the line; 1 if a worker has it and is not heard of yet."""
        waiting = [
            other
            for other in self._jobs.values()
            if other.record.state == "queued" and not (other.future and other.future.running())
        ]
        order = self._turns.order([other.askers for other in waiting])
        return next((n for n, i in enumerate(order, 1) if waiting[i] is job), 1)

    def end(self, job: Job, state: State, message: str = "", run_id: str | None = None) -> bool:
        """Give a job its last state; False if it has one already."""
        with self.lock:
            ended = job.end(state, message, run_id)
        self.wake()
        return ended

    def stop(self, job: Job, state: State, message: str) -> bool:
        """End a job and tell its worker; False if it had ended."""
        with self.lock:
            stopped = self.end(job, state, message)
            job.flag.set()
            future = job.future
        if future is not None:
            future.cancel()  # if it still waits; its callback finds the job ended
        return stopped

    def wait(self, job_id: str, timeout: float | None) -> None:
        """Wait until a job has left."""
        with self._left:
            self._left.wait_for(lambda: job_id not in self._jobs, timeout)

    def interrupt(self) -> None:
        """Stop all jobs; the writer ends when the last has left."""
        with self.lock:
            self.is_closed = True
            jobs = list(self._jobs.values())
        for job in jobs:
            self.stop(job, "interrupted", INTERRUPTED)
        self.wake()

    def close(self, timeout: float) -> None:
        """Interrupt, and wait for the files."""
        self.interrupt()
        self._writer.join(timeout)

    def wake(self) -> None:
        """Let the writer look up."""
        try:
            self.channel.put(None)
        except Exception:  # a channel of a process that is gone; the writer looks up by itself
            _log.debug("The channel of the jobs is closed.", exc_info=True)

    def _write(self) -> None:
        while True:
            try:
                self._hear()
                with self.lock:
                    jobs = list(self._jobs.values())
                for job in jobs:
                    self._tend(job)
                with self.lock:
                    if self.is_closed and not self._jobs:
                        return
            except Exception:
                _log.exception("The files of a job could not be written; trying again.")
                time.sleep(1.0)

    def _hear(self) -> None:
        """Take what has come, waiting a moment for the first."""
        for i in range(_BATCH):
            try:
                message = self.channel.get(True, _TICK) if i == 0 else self.channel.get(False)
            except queue.Empty:
                return
            except (EOFError, OSError):  # a channel of a process that is gone
                time.sleep(_TICK)
                return
            if message is None:
                continue
            job_id, what, content = message
            with self.lock:
                job = self._jobs.get(job_id)
                if job is None or job.record.state not in ACTIVE:
                    continue
                if what == "started":
                    job.start(content["time"])
                else:
                    job.hear(content)

    def _tend(self, job: Job) -> None:
        """Bring the files of one job up to date."""
        if job.is_active and (job.folder.is_asked_to_cancel or not job.folder.path.exists()):
            self.stop(job, "cancelled", "Cancelled.")
        if job.save(self.lock):
            with self._left:
                del self._jobs[job.id]
                self._left.notify_all()


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
