"""What a worker does, wherever it runs: no state but its arguments."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

from simviz.data import PairSet
from simviz.exceptions import JobCancelled, JobError
from simviz.jobs.pool import limit_threads
from simviz.jobs.spec import JobResult, JobSpec, Models
from simviz.store.run import RunResult
from simviz.store.store import Store

#: Progress within a stage is reported at most so often, in seconds.
_REPORT_SECONDS = 0.1
#: What a job needs besides its request: the data set, and trained pipelines by their role.
Inputs = tuple[PairSet, Models]


class Channel(Protocol):
    """Where a worker puts its messages: a queue of any kind."""

    def put(self, message: Any, /) -> Any:
        """Add a message."""


class Flag(Protocol):
    """Whether a worker should stop: an event of any kind."""

    def is_set(self) -> bool:
        """Whether it should."""


def read_inputs(spec: JobSpec, store: Store) -> Inputs:
    """Read what a job needs from the store."""
    return store.datasets.get(spec.dataset_id), spec.models(store)


def run_job(
    spec: JobSpec,
    source: Store | Inputs,
    job_id: str,
    channel: Channel,
    stop: Flag,
    n_threads: int,
) -> RunResult | JobResult:
    """Read the data set unless it was sent along, do the job, return what is kept."""
    if stop.is_set():
        raise JobCancelled("Cancelled.")
    channel.put((job_id, "started", {"time": time.time()}))
    limit_threads(n_threads)
    report = _Reporter(job_id, channel, stop)
    report("reading", 0.0, {})
    pairs, models = read_inputs(spec, source) if isinstance(source, Store) else source
    if pairs.digest != spec.dataset_digest:
        raise JobError(
            "The data set is no longer the one this was asked for. Open it again and repeat."
        )
    if reason := spec.estimate(pairs).reason_to_refuse:
        raise JobError(reason)
    return spec.run(pairs, models, report)


class _Reporter:
    """Reports to the channel, but not more often than anybody can see."""

    def __init__(self, job_id: str, channel: Channel, stop: Flag) -> None:
        self._job_id, self._channel, self._stop = job_id, channel, stop
        self._start = time.monotonic()
        self._last = -_REPORT_SECONDS
        self._stage = ""
        self._known_metrics: set[str] = set()

    def __call__(self, stage: str, fraction: float, metrics: Mapping[str, float], /) -> bool:
        now = time.monotonic() - self._start
        is_news = stage != self._stage or not metrics.keys() <= self._known_metrics
        if is_news or now - self._last >= _REPORT_SECONDS:
            self._stage, self._last = stage, now
            self._known_metrics.update(metrics)
            event = {"seconds": round(now, 3), "stage": stage, "fraction": round(fraction, 4)}
            numbers = {name: float(value) for name, value in metrics.items()}
            self._channel.put((self._job_id, "progress", numbers | event))
        return self._stop.is_set()
