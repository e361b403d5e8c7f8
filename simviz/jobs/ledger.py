"""The jobs of this process: their states in memory, their files behind it."""

from __future__ import annotations

import logging
import queue
import threading
import time
from typing import Any

from simviz.jobs.archive import INTERRUPTED, make_status
from simviz.jobs.job import Job
from simviz.jobs.status import ACTIVE, JobStatus, State
from simviz.jobs.turns import Turns

_log = logging.getLogger(__name__)
#: The writer looks up at least so often, in seconds.
_TICK = 0.2
#: Messages handled before what changed is written.
_BATCH = 500


class Ledger:
    """Hears the workers through a channel and is the only one to write a status.

    States change in memory, under one lock, and are seen at once; a thread
    brings the files up to date. A job leaves the ledger when its last state
    is on the disk.

    Parameters
    ----------
    channel : queue.Queue or alike
        Brings ``(job_id, what, content)``, or None to look up.
    turns : Turns
        Knows in which order those who wait are served.

    Attributes
    ----------
    lock : RLock
        Guards all jobs.
    """

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
