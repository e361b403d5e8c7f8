"""Work on finished runs in the background, whoever looks on: asked for once, stopped when told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Literal

from simviz.exceptions import JobCancelled, SimvizError
from simviz.jobs.drawings import _REMEMBERED, MAX_WAITING, _log
from simviz.jobs.pool import DaemonPool, limit_threads, threads_per_job

#: Told how much is done, in [0, 1]; answers True to stop.
Tell = Callable[[float], bool]


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
    """Does pieces of work one after the other; each once, however many ask for it."""

    def __init__(self, executor: Executor | None = None) -> None:
        self._executor = executor or DaemonPool(1, "simviz-background")
        self._lock = threading.Lock()
        self._known: dict[Hashable, Progress] = {}

    def ask(self, key: Hashable, work: Callable[[Tell], None]) -> Progress:
        """Ask for a piece of work."""
        with self._lock:
            known = self._known.get(key)
            if known is not None and known.is_active:
                return known
            if sum(p.state == "waiting" for p in self._known.values()) >= MAX_WAITING:
                return Progress("failed", message="Too much waits already. Ask again in a minute.")
            waiting = self._known[key] = Progress("waiting")
        self._executor.submit(self._do, key, work)
        return waiting

    def progress(self, key: Hashable) -> Progress | None:
        """How far it is; None if it was not asked for, or is done."""
        with self._lock:
            return self._known.get(key)

    def stop(self, key: Hashable) -> None:
        """Stop a piece of work; it ends at its next step."""
        with self._lock:
            known = self._known.get(key)
            if known is not None and known.is_active:
                self._known[key] = replace(known, state="stopped")

    def _do(self, key: Hashable, work: Callable[[Tell], None]) -> None:
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
            self._end(key, Progress("failed", message="This could not be done."))
        else:
            with self._lock:
                self._known.pop(key, None)

    def _tell(self, key: Hashable, fraction: float) -> bool:
        """Note how far it is; True if it is to stop."""
        with self._lock:
            if self._known[key].state == "stopped":
                return True
            self._known[key] = Progress("working", fraction)
            return False

    def _end(self, key: Hashable, progress: Progress) -> None:
        with self._lock:
            self._known[key] = progress
            ended = [known for known, told in self._known.items() if not told.is_active]
            for old in ended[:-_REMEMBERED]:
                del self._known[old]
