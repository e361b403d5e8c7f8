"""A pool of threads that the interpreter does not wait for."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Collection
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Any, NamedTuple, ParamSpec, TypeVar

from simviz.jobs.turns import Turns

P = ParamSpec("P")
T = TypeVar("T")
#: Added to the niceness of the pool's threads.
_GIVE_WAY = 10


class _Task(NamedTuple):
    """A call that waits, and those who wait for it, as they are when it is asked."""

    future: Future[Any]
    call: Callable[[], Any]
    whose: Callable[[], Collection[str]]


class DaemonPool(Executor):
    """Runs calls in daemon threads: first come, first served, but all in turn.

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
    turns : Turns, optional
        Says whose call is next where calls of several wait, see `submit_for`.

    Examples
    --------
    >>> with DaemonPool(2, "example") as pool:
    ...     pool.submit(pow, 2, 10).result()
    1024
    """

    def __init__(self, max_workers: int, name: str, turns: Turns | None = None) -> None:
        if max_workers < 1:
            raise ValueError(f"max_workers must be at least 1, got {max_workers}.")
        self._turns = Turns() if turns is None else turns
        self._tasks: list[_Task] = []
        self._changed = threading.Condition()
        self._is_shut = False
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{i}", daemon=True)
            for i in range(max_workers)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a function soon, see `concurrent.futures.Executor.submit`."""
        return self.submit_for(_nobody, fn, *args, **kwargs)

    def submit_for(
        self,
        whose: Callable[[], Collection[str]],
        fn: Callable[P, T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Future[T]:
        """Call a function when it is the turn of somebody who waits for it.

        Parameters
        ----------
        whose : callable
            Answers who waits for this call; asked each time a thread is free.
        fn : callable
            What to call.
        *args, **kwargs
            What to call it with.

        Returns
        -------
        Future
            Of what it answers.

        Raises
        ------
        RuntimeError
            If the pool was shut down.
        """
        future: Future[T] = Future()
        with self._changed:
            if self._is_shut:
                raise RuntimeError("This pool was shut down and takes no more calls.")
            self._tasks.append(_Task(future, lambda: fn(*args, **kwargs), whose))
            self._changed.notify()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls, see `concurrent.futures.Executor.shutdown`."""
        waiting: list[_Task] = []
        with self._changed:
            self._is_shut = True
            if cancel_futures:
                waiting, self._tasks = self._tasks, []
            self._changed.notify_all()
        for task in waiting:  # their callbacks may ask for the lock
            task.future.cancel()
        if wait:
            for thread in self._threads:
                thread.join()

    def _next(self) -> _Task | None:
        """Wait for a call to make; None at the end."""
        with self._changed:
            while True:
                self._drop_cancelled()
                if self._tasks:
                    return self._tasks.pop(self._turns.take([t.whose() for t in self._tasks]))
                if self._is_shut:
                    return None
                self._changed.wait()

    def _drop_cancelled(self) -> None:
        """Forget what nobody wants any more: it takes nobody's turn."""
        for task in self._tasks:
            if task.future.cancelled():
                task.future.set_running_or_notify_cancel()  # whoever waits for it is told
        self._tasks = [task for task in self._tasks if not task.future.cancelled()]

    def _work(self) -> None:
        if sys.platform == "linux":  # elsewhere it would be the whole process
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _GIVE_WAY)
        while (task := self._next()) is not None:
            future, call = task.future, task.call
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


def submit_in_turn(
    executor: Executor, whose: Callable[[], Collection[str]], fn: Callable[..., T], *args: Any
) -> Future[T]:
    """Submit a call for somebody, where the executor knows of turns.

    Parameters
    ----------
    executor : Executor
        A `DaemonPool`, or another one, which then has an order of its own.
    whose : callable
        See `DaemonPool.submit_for`.
    fn : callable
        What to call.
    *args
        What to call it with.

    Returns
    -------
    Future
        Of what it answers.
    """
    if isinstance(executor, DaemonPool):
        return executor.submit_for(whose, fn, *args)
    return executor.submit(fn, *args)


def _nobody() -> Collection[str]:
    return ("",)
