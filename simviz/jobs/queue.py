"""Jobs in the background of the app's own process."""

from __future__ import annotations

import atexit
import logging
import math
import threading
import time
import traceback
from collections.abc import Mapping
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from simviz.exceptions import JobCancelled, JobError, SimvizError, StoreError
from simviz.jobs.spec import JobResult, JobSpec
from simviz.jobs.status import (
    ACTIVE,
    MAX_EVENTS,
    JobFolder,
    JobStatus,
    State,
    is_living,
    new_owner,
    retire_owner,
)
from simviz.jobs.worker import DaemonPool, RoundRobin, run_job, submit_for, threads_per_job
from simviz.store.directory import masked, own_process, why_not_written, write_bytes
from simviz.store.run import RunResult
from simviz.store.store import Store

_INTERRUPTED = "The app was restarted before this was finished. Repeat it to start anew."
#: The files of a job that changes are written at most so often, in seconds.
_SAVE_SECONDS = 0.2
#: The writer waits for news at most so long, in seconds.
_WAIT_SECONDS = 0.2
_log = logging.getLogger(__name__)


class Job:
    """A job that waits or runs in this process."""

    # All but `save` is called under the lock of the queue.

    def __init__(self, status: JobStatus, spec: JobSpec, folder: JobFolder) -> None:
        self.status, self.spec, self.folder = status, spec, folder
        self.flag = threading.Event()
        self.future: Future[RunResult | JobResult] | None = None
        #: Workspaces that wait for it; replaced as a whole, so that it may be read at any time.
        self.workspaces: tuple[str, ...] = (spec.workspace,)
        self.history: list[Mapping[str, Any]] = []
        self.traceback = ""
        self._is_changed = False
        self._stride, self._n_events = 1, 0
        self._saved = 0.0

    def change(self, **changes: Any) -> None:
        """Note what is new about it."""
        self.status = replace(self.status, **changes)
        self._is_changed = True

    def add_event(self, event: Mapping[str, Any]) -> None:
        """Note progress; of a long job every second event is dropped, again and again."""
        fraction = max(self.status.fraction, float(event["fraction"]))
        ends = self.status.ends
        if (left := event.get("left")) is not None:
            ends = min(time.time() + left, math.inf if ends is None else ends)
        self.change(stage=str(event["stage"]), fraction=fraction, ends=ends)
        at, self._n_events = self._n_events, self._n_events + 1
        if at % self._stride:
            return
        self.history.append(event)
        if len(self.history) > MAX_EVENTS:
            self.history = self.history[::2]
            self._stride *= 2

    def end(self, state: State, message: str = "", run_id: str | None = None) -> bool:
        """Give it its last state; return False if it has one already."""
        if not self.status.is_active:
            return False
        done = {"fraction": 1.0} if state == "succeeded" else {}
        self.change(state=state, message=message, run_id=run_id, finished=time.time(), **done)
        return True

    def save(self, lock: AbstractContextManager[Any]) -> bool:
        """Write what changed, unless it was a moment ago; return True after the last time."""
        with lock:
            status, is_last = self.status, not self.status.is_active
            is_recent = time.monotonic() - self._saved < _SAVE_SECONDS
            if not self._is_changed or (is_recent and not is_last):
                return False
            self._is_changed = False
        try:
            if is_last:
                self.folder.write_history(self.history)
            if self.traceback:
                text = self.traceback.encode("utf-8", "replace")
                write_bytes(self.folder.path / "traceback.txt", text)
            self.folder.write_status(status)
        except OSError:
            with lock:
                self._is_changed = True
            if not self.folder.path.exists():
                return is_last  # its workspace was deleted; there is nothing to keep
            raise
        self._saved = time.monotonic()
        return is_last


class JobQueue(AbstractContextManager["JobQueue"]):
    """Trains in the background, a few jobs at a time, and remembers all of them.

    Workspaces are served in turn, each in the order of its requests.

    A job is a directory of the store, and one thread of this object writes its files, so that a
    status has one writer. States change in memory, under one lock, and are seen at once; a job
    leaves the memory when its last state is on the disk. A request that succeeded is answered from
    the store; one that waits or runs is joined; anything else is a new attempt.

    Jobs run in an executor, by default a pool of threads. At most `limit` jobs of one workspace,
    and `total_limit` of all, may wait or run; `submit` and `repeat` raise JobError beyond, and if
    a request is wrong. Methods raise StoreError where this workspace has no such job, data set or
    result.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> mine = store.workspaces.create()
    >>> pairs = store.datasets.get("demo:emoji")
    >>> with JobQueue(store) as jobs:
    ...     job_id = jobs.submit(JobSpec("demo:emoji", pairs.digest, "bm25", workspace=mine))
    ...     status = jobs.wait(job_id)
    >>> status.state, store.runs.get(status.run_id).info.method
    ('succeeded', 'bm25')
    """

    def __init__(
        self,
        store: Store,
        max_workers: int = 2,
        executor: Executor | None = None,
        *,
        limit: int = 8,
        total_limit: int = 200,
    ) -> None:
        self.store = store
        self.limit, self.total_limit = limit, total_limit
        self._n_threads = threads_per_job(max_workers)
        self._own_executor = executor is None
        self._order = RoundRobin()
        self._executor = executor or DaemonPool(max_workers, "simviz-job", self._order)
        self._has_changes = threading.Event()
        self._owner = new_owner()
        self._lock = threading.RLock()
        self._job_left = threading.Condition(self._lock)
        self._jobs: dict[str, Job] = {}
        self._is_closed = False
        for job_id in store.jobs.find():  # what a process that is gone has left
            try:
                self._read_status(self._folder(job_id))
            except StoreError:
                _log.warning("job could not be read", {"id": job_id}, exc_info=True)
        self._writer = threading.Thread(target=self._write_files, name="simviz-jobs", daemon=True)
        self._writer.start()
        # An app that ends says so in its jobs, rather than leave it to the next one.
        atexit.register(self.close)

    def submit(self, spec: JobSpec) -> str:
        """Return the job that answers a request: one that succeeded, waits or runs, or is new."""
        spec.check()
        self.store.workspaces.touch(spec.workspace)
        self.store.datasets.info(spec.dataset_id, spec.workspace)
        digest = spec.digest
        with self._lock:
            if self._is_closed:
                raise JobError("The app is shutting down; it takes no more jobs.")
            last = self.store.jobs.last(digest)
            if last is not None and self.store.jobs.has(last):
                state, has_result = self.status(last).state, self.store.runs.has(digest)
                if not spec.makes_run:
                    has_result = self._folder(last).read_result() is not None
                if state in ACTIVE or (state == "succeeded" and has_result):
                    self.store.jobs.follow(last, spec.workspace)
                    job = self._jobs.get(last)
                    if job is not None and spec.workspace not in job.workspaces:
                        job.workspaces = (*job.workspaces, spec.workspace)
                    return last
            if self.store.runs.has(digest):
                return self._add(spec, "succeeded", fraction=1.0, run_id=digest).id
            if sum(job.status.is_active for job in self._jobs.values()) >= self.total_limit:
                raise JobError("Too many jobs are waiting. Try again in a few minutes.")
            own = sum(status.is_active for status in self.jobs(spec.workspace))
            if own >= self.limit:
                _log.info("refused", {"what": "jobs", "used": own, "limit": self.limit})
                raise JobError(
                    f"{own} of your jobs wait or run, as many as may. Wait for one or cancel it."
                )
            if spec.makes_run:
                self.store.runs.require_room(spec.dataset_id, spec.workspace)
            status = self._add(spec, "queued", owner=self._owner)
            details = {"workspace": masked(spec.workspace), "id": status.id, "method": spec.method}
            _log.info("job queued", details)
            self._start(status, spec)
            return status.id

    def repeat(self, job_id: str, workspace: str) -> str:
        """Ask for the same as an earlier job, see `submit`."""
        spec = self.status(job_id, workspace).spec
        if spec is None:
            raise JobError("The request of this job cannot be read. Ask for it anew.")
        return self.submit(replace(spec, workspace=workspace))

    def cancel(self, job_id: str, workspace: str | None = None) -> bool:
        """Stop a job, at once as far as anybody sees; return whether it stops.

        The status changes before this returns. A call of linear algebra that is under way ends
        behind it, and what it finds is dropped. Where others wait for the same job of a demo, it
        goes on for them and only leaves the list of this workspace.
        """
        folder = self._folder(job_id, workspace)
        with self._lock:
            job = self._jobs.get(job_id)
        if workspace is not None and self.store.jobs.followers(job_id) - {workspace}:
            self.store.jobs.unfollow(job_id, workspace)
            if job is not None:
                with self._lock:
                    job.workspaces = tuple(one for one in job.workspaces if one != workspace)
            return False
        if job is not None:
            return self._stop(job, "cancelled", "Cancelled.")
        if not self._status(job_id, history=False).is_active:
            return False
        folder.request_cancel()  # the process that runs it looks there
        return True

    def status(self, job_id: str, workspace: str | None = None) -> JobStatus:
        """What is known about a job, with its history; the trusted may leave out who asks."""
        self._folder(job_id, workspace)
        return self._status(job_id)

    def jobs(self, workspace: str) -> list[JobStatus]:
        """Jobs of a workspace, newest first, without their histories."""
        statuses = []
        for job_id in self.store.jobs.find(workspace):
            with suppress(StoreError):  # deleted since the list was read
                statuses.append(self._status(job_id, history=False))
        return statuses

    def result(self, job_id: str, workspace: str | None = None) -> JobResult:
        """What a search found; the trusted may leave out who asks."""
        result = self._folder(job_id, workspace).read_result()
        if result is None:
            raise StoreError("This job has no result of a search. Repeat it.")
        return result

    def wait(self, job_id: str, timeout: float | None = None) -> JobStatus:
        """Wait until a job of this queue has ended and its files are written.

        After `timeout` seconds, it may still run.
        """
        with self._job_left:
            self._job_left.wait_for(lambda: job_id not in self._jobs, timeout)
        return self.status(job_id)

    def close(self, timeout: float = 10.0) -> None:
        """Stop all jobs, which then read interrupted, and wait for the files.

        It takes `timeout` seconds at most, and a tenth of them for jobs to stop.
        """
        if self._owner.partition("/")[0] != own_process():
            return  # a fork of the process whose jobs these are
        with self._lock:
            self._is_closed = True
            jobs = list(self._jobs.values())
        for job in jobs:
            self._stop(job, "interrupted", _INTERRUPTED)
        self._has_changes.set()
        self._writer.join(timeout)
        if self._own_executor and isinstance(self._executor, DaemonPool):
            self._executor.shutdown(wait=False, cancel_futures=True)
            # CPython 3.11 ends a daemon thread that comes back from a library after the
            # interpreter has ended; where that unwinds C++, the whole process aborts.
            self._executor.join(timeout / 10)
        retire_owner(self._owner)
        atexit.unregister(self.close)

    def __exit__(self, *exc: object) -> None:
        self.close()

    def put(self, message: tuple[str, str, Mapping[str, Any]], /) -> None:
        """Hear from a worker that a job has begun, or how far it is.

        The message is the id of the job, "started" or "progress", and the time or how far it is.
        """
        job_id, what, content = message
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None or not job.status.is_active:
                return
            if what == "started":
                job.change(state="running", started=content["time"])
            else:
                job.add_event(content)
        self._has_changes.set()

    # -- starting and ending jobs -----------------------------------------------------

    def _add(self, spec: JobSpec, state: State, **known: Any) -> JobStatus:
        now = time.time()
        if state not in ACTIVE:
            known |= {"started": now, "finished": now}
        status = JobStatus("", state, replace(spec, workspace=""), created=now, **known)

        def write(path: Path) -> None:
            folder = JobFolder(path)
            folder.write_spec(spec)
            folder.write_status(status)

        return replace(status, id=self.store.jobs.add(spec.digest, spec.workspace, write))

    def _start(self, status: JobStatus, spec: JobSpec) -> None:
        job = Job(status, spec, self._folder(status.id))
        self._jobs[status.id] = job
        call = spec, self.store, status.id, self, job.flag, self._n_threads
        try:
            job.future = submit_for(self._executor, lambda: job.workspaces, run_job, *call)
        except RuntimeError as error:  # the executor was shut down by somebody else
            self._fail(job, error)
            return
        # Called in the worker's thread, or here if the executor is that fast.
        job.future.add_done_callback(lambda future: self._finish(job, future))

    def _finish(self, job: Job, future: Future[RunResult | JobResult]) -> None:
        """Turn what a worker left into a state; must not raise."""
        try:
            if future.cancelled():
                self._end(job, "cancelled", "Cancelled.")
            elif (error := future.exception()) is not None:
                self._fail(job, error)
            else:
                self._store_result(job, future.result())
        except BaseException as error:
            self._fail(job, error)
        finally:
            job.future = None  # what it holds may be large

    def _store_result(self, job: Job, result: RunResult | JobResult) -> None:
        """Store what came of a job, unless the job was cancelled before it is there."""
        if not job.status.is_active:
            return
        if isinstance(result, JobResult):
            try:
                job.folder.write_result(result)
            except OSError as error:
                raise StoreError(why_not_written(self.store.root, error)) from error
            self._end(job, "succeeded")
            return
        spec = job.spec
        run_id = spec.digest
        is_new = self.store.runs.put(run_id, result, spec.to_json(), spec.workspace)
        if not self._end(job, "succeeded", run_id=run_id) and is_new:
            self.store.runs.drop(run_id)

    def _fail(self, job: Job, error: BaseException) -> None:
        if isinstance(error, JobCancelled):
            self._end(job, "cancelled", "Cancelled.")
            return
        job.traceback = "".join(traceback.format_exception(error))
        message = str(error)
        if isinstance(error, MemoryError):
            message = "There was not enough memory. Take a sample of the data or fewer components."
        elif not isinstance(error, SimvizError | ValueError):
            _log.error("job failed", {"id": job.status.id}, exc_info=error)
            message = (
                f"Something went wrong inside simviz ({type(error).__name__}). This is a bug; "
                "the details are kept with the job."
            )
        self._end(job, "failed", message)

    def _end(self, job: Job, state: State, message: str = "", run_id: str | None = None) -> bool:
        """Give a job its last state; return False if it has one already."""
        with self._lock:
            ended = job.end(state, message, run_id)
        if ended:
            known, now = job.status, time.time()
            took = round(now - (known.started or known.created or now), 1)
            details = {"id": known.id, "method": job.spec.method, "state": state, "seconds": took}
            _log.info("job ended", details)
        self._has_changes.set()
        return ended

    def _stop(self, job: Job, state: State, message: str) -> bool:
        """End a job and tell its worker; return False if it had ended."""
        with self._lock:
            stopped = self._end(job, state, message)
            job.flag.set()
            future = job.future
        if future is not None:
            future.cancel()  # if it still waits; its callback finds the job ended
        return stopped

    # -- reading the files ------------------------------------------------------------

    def _folder(self, job_id: str, workspace: str | None = None) -> JobFolder:
        return JobFolder(self.store.jobs.folder(job_id, workspace))

    def _status(self, job_id: str, *, history: bool = True) -> JobStatus:
        """Return what the memory, else the files say of a job, whoever runs or ran it."""
        with self._lock:
            job = self._jobs.get(job_id)
            if job is not None:
                position = self._position(job) if job.status.state == "queued" else None
                events = tuple(job.history) if history else ()
                return replace(job.status, queue_position=position, history=events)
        folder = self._folder(job_id)
        status = self._read_status(folder)
        return replace(status, history=folder.read_history()) if history else status

    def _position(self, job: Job) -> int:
        """Return the place of a job in the line; 1 if a worker has it but did not say so yet."""
        waiting = [
            other
            for other in self._jobs.values()
            if other.status.state == "queued" and not (other.future and other.future.running())
        ]
        order = self._order.order([other.workspaces for other in waiting])
        return next((n for n, i in enumerate(order, 1) if waiting[i] is job), 1)

    def _read_status(self, folder: JobFolder) -> JobStatus:
        """Return the status on disk; a job whose process is gone is interrupted for good."""
        known = folder.read_status()
        if known is not None and not (known.is_active and not is_living(known.owner)):
            return known
        status = known or JobStatus(folder.path.name, "interrupted", folder.read_spec())
        if self.store.runs.has(status.digest):
            # It was killed between storing its run and saying so.
            status = replace(status, state="succeeded", run_id=status.digest, fraction=1.0)
        elif folder.read_result() is not None:
            status = replace(status, state="succeeded", fraction=1.0)
        else:
            status = replace(status, state="interrupted", message=_INTERRUPTED)
        status = replace(status, finished=status.finished or status.started or status.created)
        with suppress(OSError):  # it may have been deleted meanwhile
            folder.write_status(status)
        return status

    # -- writing the files ------------------------------------------------------------

    def _write_files(self) -> None:
        is_failing = False
        while True:
            self._has_changes.wait(_WAIT_SECONDS)
            self._has_changes.clear()
            try:
                with self._lock:
                    jobs = list(self._jobs.values())
                for job in jobs:
                    folder = job.folder
                    if job.status.is_active and (
                        folder.is_cancel_requested or not folder.path.exists()
                    ):
                        self._stop(job, "cancelled", "Cancelled.")
                    if job.save(self._lock):
                        with self._job_left:
                            del self._jobs[job.status.id]
                            self._job_left.notify_all()
                with self._lock:
                    if self._is_closed and not self._jobs:
                        return
                is_failing = False
            except Exception:
                if not is_failing:  # a full disk may stay full for long
                    _log.exception("files of a job could not be written; trying again")
                is_failing = True
                time.sleep(1.0)
