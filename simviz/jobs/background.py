"""Work in a thread of its own that tells how far it is: uploads, drawings, curves."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Literal

from simviz.callbacks import Callback
from simviz.exceptions import JobCancelled, SimvizError
from simviz.jobs.memory import limit_memory
from simviz.jobs.worker import DaemonPool, limit_threads, submit_for, threads_per_job

#: Takes the share that is done, in [0, 1]; returns True to stop.
ReportFraction = Callable[[float], bool]
#: Pieces of work that may wait, and those that failed or were stopped that are remembered.
MAX_WAITING, _MAX_ENDED = 20, 100
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """How far a piece of work is."""

    state: Literal["waiting", "working", "failed", "stopped"]
    fraction: float = 0.0
    message: str = ""

    @property
    def is_active(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ("waiting", "working")


class BackgroundTasks:
    """Does pieces of work one after the other, in a thread of its own; workspaces in turn."""

    def __init__(
        self,
        executor: Executor | None = None,
        *,
        busy: str = "Too much waits already. Ask again in a minute.",
        broken: str = "This could not be done.",
    ) -> None:
        self._executor = executor or DaemonPool(1, "simviz-background")
        self._busy, self._broken = busy, broken
        self._lock = threading.Lock()
        self._known: dict[Hashable, TaskProgress] = {}

    def submit(
        self, key: Hashable, work: Callable[[ReportFraction], object], workspace: str = ""
    ) -> TaskProgress:
        """Do a piece of work soon, unless it waits or runs already."""
        with self._lock:
            known = self._known.get(key)
            if known is not None and known.is_active:
                return known
            if sum(p.state == "waiting" for p in self._known.values()) >= MAX_WAITING:
                return TaskProgress("failed", message=self._busy)
            waiting = self._known[key] = TaskProgress("waiting")
        submit_for(self._executor, lambda: (workspace,), self._do, key, work)
        return waiting

    def progress(self, key: Hashable) -> TaskProgress | None:
        """Return how far it is; None if it was never submitted, or is done."""
        with self._lock:
            return self._known.get(key)

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits or runs."""
        with self._lock:
            return not any(progress.is_active for progress in self._known.values())

    def stop(self, key: Hashable) -> None:
        """Stop a piece of work; it ends at its next step."""
        with self._lock:
            known = self._known.get(key)
            if known is not None and known.is_active:
                self._known[key] = replace(known, state="stopped")

    def forget(self, key: Hashable) -> None:
        """Forget that a piece of work failed."""
        with self._lock:
            known = self._known.get(key)
            if known is not None and not known.is_active:
                del self._known[key]

    def _do(self, key: Hashable, work: Callable[[ReportFraction], object]) -> None:
        if self._report(key, 0.0):
            return
        try:
            limit_threads(threads_per_job(2))
            with limit_memory(key) as require:

                def report(fraction: float) -> bool:
                    require()
                    return self._report(key, fraction)

                work(report)
        except JobCancelled:
            self._end(key, TaskProgress("stopped"))
        except (SimvizError, ValueError) as error:
            self._end(key, TaskProgress("failed", message=str(error)))
        except Exception:
            _log.exception("work in the background failed")
            self._end(key, TaskProgress("failed", message=self._broken))
        else:
            with self._lock:
                self._known.pop(key, None)

    def _report(self, key: Hashable, fraction: float) -> bool:
        """Note how far it is; return True if it is to stop."""
        with self._lock:
            if self._known[key].state == "stopped":
                return True
            self._known[key] = TaskProgress("working", fraction)
            return False

    def _end(self, key: Hashable, progress: TaskProgress) -> None:
        with self._lock:
            self._known[key] = progress
            ended = [key for key, known in self._known.items() if not known.is_active]
            for old in ended[:-_MAX_ENDED]:
                del self._known[old]


def step_callback(report: ReportFraction, start: float = 0.0, share: float = 1.0) -> Callback:
    """Return a callback for a share of the work."""

    def callback(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
        return report(start + share * (step / total if total else 1.0))

    return callback
