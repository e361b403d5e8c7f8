"""What does a job, and the threads that wait for jobs to do."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Any, NamedTuple, ParamSpec, TypeVar

from simviz import compilation
from simviz.data import PairSet
from simviz.exceptions import JobCancelled, JobError
from simviz.jobs.cost import Cost
from simviz.jobs.memory import limit_memory
from simviz.jobs.spec import JobResult, JobSpec, Models, Report
from simviz.store.run import RunResult
from simviz.store.store import Store

P = ParamSpec("P")
T = TypeVar("T")
#: Answers the workspaces that wait for a call, as they are when it is asked.
Waiting = Callable[[], Collection[str]]
#: Workspaces that were served that are remembered.
_MAX_SERVED = 10_000
#: Added to the niceness of the pool's threads.
_NICENESS = 10
#: Read by libraries that are loaded later, such as torch.
_VARIABLE = "OMP_NUM_THREADS"
#: Progress within a stage is reported at most so often, in seconds.
_REPORT_SECONDS = 0.1
#: What a job needs besides its request: the data set, and trained pipelines by their role.
Inputs = tuple[PairSet, Models]
#: A first step up to so many seconds may be preparation; and what other work slows down, at most.
_WARM_SECONDS, _MAX_LOAD = 1.0, 4.0


def run_job(
    spec: JobSpec, source: Store | Inputs, job_id: str, channel: Any, stop: Any, n_threads: int
) -> RunResult | JobResult:
    """Read the data set unless it was sent along, do the job, return what is kept."""
    # It runs in any process: messages go to whatever can `put` them, the flag is any event.
    if stop.is_set():
        raise JobCancelled("Cancelled.")
    channel.put((job_id, "started", {"time": time.time()}))
    limit_threads(n_threads)
    began = time.monotonic(), time.thread_time()
    unknown = Cost(0.0, 0)
    if compilation.progress() is not None:
        reporter(job_id, channel, stop, unknown, began)("compiling", 0.0, {})
        compilation.wait(spec.method, stop.is_set)
        began = time.monotonic(), time.thread_time()
    reporter(job_id, channel, stop, unknown, began)("reading", 0.0, {})
    if isinstance(source, Store):
        source = source.datasets.get(spec.dataset_id), spec.models(source)
    pairs, models = source
    if pairs.digest != spec.dataset_digest:
        raise JobError(
            "The data set is no longer the one this was asked for. Open it again and repeat."
        )
    expected = spec.estimate(pairs)
    if reason := expected.reason_to_refuse:
        raise JobError(reason)
    with limit_memory(job_id) as require:
        report = reporter(job_id, channel, stop, expected, began, require)
        return spec.run(pairs, models, report)


def reporter(
    job_id: str,
    channel: Any,
    stop: Any,
    expected: Cost,
    began: tuple[float, float],
    require: Callable[[], None] = lambda: None,
) -> Report:
    """Return what reports to the channel, but not more often than anybody can see."""
    last, last_stage = -_REPORT_SECONDS, ""
    known: set[str] = set()
    outlook = _TimeLeft(expected)

    def report(stage: str, done: float, metrics: Mapping[str, float], /) -> bool:
        nonlocal last, last_stage
        now = time.monotonic() - began[0]
        load = now / max(time.thread_time() - began[1], now / _MAX_LOAD, 1e-9)
        fraction, left = outlook.at(stage, done, now, max(1.0, load))
        is_new = stage != last_stage or not metrics.keys() <= known
        if is_new or now - last >= _REPORT_SECONDS:
            require()
            last, last_stage = now, stage
            known.update(metrics)
            event = {"seconds": round(now, 3), "stage": stage, "fraction": round(fraction, 4)}
            if left is not None:
                event["left"] = round(left, 3)
            numbers = {name: float(value) for name, value in metrics.items()}
            channel.put((job_id, "progress", numbers | event))
        return bool(stop.is_set())

    return report


class _TimeLeft:
    """How far a job is and what it may still take, from its estimate and its own pace."""

    def __init__(self, expected: Cost) -> None:
        self._stages, self._passes = expected.stages, expected.passes
        self._names = list(expected.stages)
        self._stage, self._began, self._first, self._has_moved = "", 0.0, 0.0, False
        self._fraction = 0.0

    def at(self, stage: str, done: float, now: float, load: float) -> tuple[float, float | None]:
        """Return the share that is done and the seconds left, None where they are not known."""
        is_part = stage in self._stages
        pace = self._pace(stage if is_part else "whole", done, now)
        if not is_part:
            self._fraction = max(self._fraction, done)
            return self._fraction, None if pace is None else pace * (1 - done)
        at, seconds = self._names.index(stage), [load * s for s in self._stages.values()]
        is_known = any(seconds)
        shares = seconds if is_known else [1.0] * len(seconds)
        fraction = (sum(shares[:at]) + done * shares[at]) / sum(shares)
        self._fraction = max(self._fraction, fraction)
        if not is_known:
            return self._fraction, None
        unit, trust = seconds[at], done
        if self._passes and at <= self._names.index("training"):
            if pace is None or stage != "training":
                return self._fraction, None
            # How many passes are made is a guess, as the estimate is: both count.
            pace, trust = self._passes * pace, (1 + done) / 2
        if pace is not None:
            unit += trust * (pace - unit)
        return self._fraction, (1 - done) * unit + sum(seconds[at + 1 :])

    def _pace(self, stage: str, done: float, now: float) -> float | None:
        """Return how long the whole stage takes by what has been timed of it."""
        if stage != self._stage:
            self._stage, self._first, self._has_moved = stage, done, False
        if done == self._first:
            self._began = now  # what comes before the first step is no step
        elif not self._has_moved and now - self._began < _WARM_SECONDS:
            self._began, self._first, self._has_moved = now, done, True  # nor is a first quick one
        moved = done - self._first
        return (now - self._began) / moved if moved > 0 else None


class RoundRobin:
    """Serves all who wait in turn, and what each of them waits for in order."""

    # Whoever was served longest ago is next, so that one who asks for twenty things at once
    # delays another by one of them.

    def __init__(self) -> None:
        self._served: dict[str, int] = {}
        self._count = 0
        self._lock = threading.Lock()

    def order(self, waiting: Sequence[Collection[str]]) -> list[int]:
        """Return the order in which all will be served if nobody else comes."""
        with self._lock:
            order = [i for i, _ in self._rounds(waiting)]
        return order + [i for i, workspaces in enumerate(waiting) if not workspaces]

    def take(self, waiting: Sequence[Collection[str]]) -> int:
        """Return which one is served next, and remember for whom."""
        with self._lock:
            for i, workspace in self._rounds(waiting):
                self._count += 1
                self._served.pop(workspace, None)
                self._served[workspace] = self._count
                if len(self._served) > _MAX_SERVED:
                    del self._served[next(iter(self._served))]  # served longest ago
                return i
        return 0

    def _rounds(self, waiting: Sequence[Collection[str]]) -> list[tuple[int, str]]:
        """Return what is served, one after the other, and for which workspace."""
        lines: dict[str, deque[int]] = {}
        for i, workspaces in enumerate(waiting):
            for workspace in workspaces:
                lines.setdefault(workspace, deque()).append(i)
        # Those who were never served come first, in the order of their asking.
        order = deque(sorted(lines, key=lambda workspace: self._served.get(workspace, 0)))
        served: dict[int, str] = {}
        while order:
            workspace = order.popleft()
            line = lines[workspace]
            while line and line[0] in served:
                line.popleft()
            if line:
                served[line.popleft()] = workspace
                order.append(workspace)
        return list(served.items())


class _Task(NamedTuple):
    """A call that waits, and those who wait for it, as they are when it is asked."""

    future: Future[Any]
    call: Callable[[], Any]
    workspaces: Waiting


class DaemonPool(Executor):
    """Runs calls in daemon threads: first come, first served, but all in turn."""

    # `concurrent.futures.ThreadPoolExecutor` joins its threads when the interpreter ends, before
    # anybody may tell them to stop: an app that is closed would hang until the last model is
    # trained. Where threads have a priority of their own (Linux), these give way to all others:
    # a page that is asked for need not wait for a share of a core that trains.

    def __init__(self, max_workers: int, name: str, order: RoundRobin | None = None) -> None:
        if max_workers < 1:
            raise ValueError(f"max_workers must be at least 1, got {max_workers}.")
        self._order = RoundRobin() if order is None else order
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
        return self.submit_for(lambda: ("",), fn, *args, **kwargs)

    def submit_for(
        self, workspaces: Waiting, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Call a function when it is the turn of somebody who waits for it."""
        future: Future[T] = Future()
        with self._changed:
            if self._is_shut:
                raise RuntimeError("This pool was shut down and takes no more calls.")
            self._tasks.append(_Task(future, lambda: fn(*args, **kwargs), workspaces))
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

    def join(self, timeout: float) -> None:
        """Wait for threads to end, for so many seconds in all; they do after `shutdown`."""
        end = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _next(self) -> _Task | None:
        """Wait for a call to make; None at the end."""
        with self._changed:
            while True:
                self._drop_cancelled()
                if self._tasks:
                    return self._tasks.pop(self._order.take([t.workspaces() for t in self._tasks]))
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
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
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


def submit_for(
    executor: Executor, workspaces: Waiting, fn: Callable[..., T], *args: Any
) -> Future[T]:
    """Submit a call for some workspaces, where the executor serves them in turn."""
    if isinstance(executor, DaemonPool):
        return executor.submit_for(workspaces, fn, *args)
    return executor.submit(fn, *args)


def threads_per_job(max_workers: int, cores: int | None = None) -> int:
    """Threads of linear algebra for each of some jobs, one core left for pages."""
    if cores is None:
        affinity = getattr(os, "sched_getaffinity", None)
        cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, (cores - 1) // max_workers)


def limit_threads(n: int) -> None:
    """Limit BLAS, OpenMP and compiled kernels, from the thread of a job."""
    # The limit of OpenBLAS holds for the whole process, whichever thread sets it (that of OpenMP
    # and numba only for the thread). Setting it for a while would therefore take effect in pages
    # and other jobs at random, and the last one to leave would restore what another still needs.
    # So it is set for good: pages, whose products are small, compute with as many threads as a
    # job does.
    import numba
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    os.environ.setdefault(_VARIABLE, str(n))
    threadpool_limits(limits=n)  # not as a context: nothing is to be restored
    numba.set_num_threads(max(1, min(n, numba.config.NUMBA_NUM_THREADS)))
