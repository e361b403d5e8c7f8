"""Work on finished runs in the background: started once, however many ask for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Literal

from simviz.exceptions import JobCancelled, SimvizError
from simviz.jobs.pool import DaemonPool, limit_threads, submit_for, threads_per_job

#: Takes the share that is done, in [0, 1]; returns True to stop.
Tell = Callable[[float], bool]
#: Pieces of work that may wait, and those that failed or were stopped that are remembered.
MAX_WAITING, _REMEMBERED = 20, 100
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a piece of work is."""

    state: Literal["waiting", "working", "failed", "stopped"]
    fraction: float = 0.0
    message: str = ""

    @property
    def is_active(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ("waiting", "working")


class Background:
    """Does pieces of work one after the other, workspaces in turn.

    Parameters
    ----------
    executor : concurrent.futures.Executor, optional
        Does the work; a thread of its own when omitted.
    busy, broken : str
        What to say where too much waits, and after a bug.
    """

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
        self._known: dict[Hashable, Progress] = {}

    def submit(
        self, key: Hashable, work: Callable[[Tell], object], workspace: str = ""
    ) -> Progress:
        """Do a piece of work soon, unless it waits or runs already."""
        with self._lock:
            known = self._known.get(key)
            if known is not None and known.is_active:
                return known
            if sum(p.state == "waiting" for p in self._known.values()) >= MAX_WAITING:
                return Progress("failed", message=self._busy)
            waiting = self._known[key] = Progress("waiting")
        submit_for(self._executor, lambda: (workspace,), self._do, key, work)
        return waiting

    def progress(self, key: Hashable) -> Progress | None:
        """Return how far it is; None if it was never submitted, or is done."""
        with self._lock:
            return self._known.get(key)

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

    def _do(self, key: Hashable, work: Callable[[Tell], object]) -> None:
        if self._tell(key, 0.0):
            return
        try:
            limit_threads(threads_per_job(2))
            work(lambda fraction: self._tell(key, fraction))
        except JobCancelled:
            self._end(key, Progress("stopped"))
        except (SimvizError, ValueError) as error:
            self._end(key, Progress("failed", message=str(error)))
        except Exception:
            _log.exception("Work in the background failed: %s.", key)
            self._end(key, Progress("failed", message=self._broken))
        else:
            with self._lock:
                self._known.pop(key, None)

    def _tell(self, key: Hashable, fraction: float) -> bool:
        """Note how far it is; return True if it is to stop."""
        with self._lock:
            if self._known[key].state == "stopped":
                return True
            self._known[key] = Progress("working", fraction)
            return False

    def _end(self, key: Hashable, progress: Progress) -> None:
        with self._lock:
            self._known[key] = progress
            ended = [key for key, known in self._known.items() if not known.is_active]
            for old in ended[:-_REMEMBERED]:
                del self._known[old]
