"""A pool of threads that the interpreter does not wait for."""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_Task = tuple["Future[Any]", Callable[[], Any]]
#: Added to the niceness of the pool's threads.
_GIVE_WAY = 10


class DaemonPool(Executor):
    """Runs calls in daemon threads, first come, first served.

    `concurrent.futures.ThreadPoolExecutor` joins its threads when the
    interpreter ends, before anybody may tell them to stop: an app that is
    closed would hang until the last model is trained. Where threads have a
    priority of their own (Linux), these give way to all others: a page that
    is asked for need not wait for a share of a core that trains.

    Parameters
    ----------
    max_workers : int
        Calls that run at once.
    name : str
        Of the threads.

    Examples
    --------
    >>> with DaemonPool(2, "example") as pool:
    ...     pool.submit(pow, 2, 10).result()
    1024
    """

    def __init__(self, max_workers: int, name: str) -> None:
        if max_workers < 1:
            raise ValueError(f"max_workers must be at least 1, got {max_workers}.")
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_shut = False
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{i}", daemon=True)
            for i in range(max_workers)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a function soon, see `concurrent.futures.Executor.submit`."""
        with self._lock:
            if self._is_shut:
                raise RuntimeError("This pool was shut down and takes no more calls.")
            future: Future[T] = Future()
            self._tasks.put((future, lambda: fn(*args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls, see `concurrent.futures.Executor.shutdown`."""
        with self._lock:
            if not self._is_shut:
                self._is_shut = True
                if cancel_futures:
                    self._cancel_waiting()
                for _ in self._threads:
                    self._tasks.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _cancel_waiting(self) -> None:
        while True:
            try:
                task = self._tasks.get_nowait()
            except queue.Empty:
                return
            if task is not None:
                task[0].cancel()

    def _work(self) -> None:
        if sys.platform == "linux":  # elsewhere it would be the whole process
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _GIVE_WAY)
        while (task := self._tasks.get()) is not None:
            future, call = task
            if future.set_running_or_notify_cancel():
                try:
                    result = call()
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
                    del result
            # What a result holds may be large, and the next call long in coming.
            del task, future, call
