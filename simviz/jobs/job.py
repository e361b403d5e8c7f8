"""A job of this process, in memory until its last state is on the disk."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from copy import copy
from typing import Any

from simviz.jobs.folder import MAX_EVENTS, JobFolder
from simviz.jobs.selection import Found
from simviz.jobs.spec import JobSpec
from simviz.jobs.status import ACTIVE, Record, State
from simviz.store.run import RunFiles

#: A status on its way is written at most so often, in seconds.
_SAVE_SECONDS = 0.2


class Job:
    """What a queue knows about a job that waits or runs.

    All but `save` is called under the lock of the ledger.

    Parameters
    ----------
    id : str
        Its id.
    spec : JobSpec
        What is asked for.
    folder : JobFolder
        Its files.
    record : Record
        Its status.
    flag : Flag
        Tells the worker to stop.
    """

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
        """Bring the files up to date, unless they were a moment ago.

        Parameters
        ----------
        lock : lock
            Held while the state is copied, not while it is written.

        Returns
        -------
        bool
            Whether its last state is on the disk.
        """
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
