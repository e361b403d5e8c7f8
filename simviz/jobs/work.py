"""What a worker does, wherever it runs: no state but its arguments."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

from simviz.data import PairSet
from simviz.exceptions import JobCancelled, JobError
from simviz.jobs.blending import Trained, parts_of
from simviz.jobs.cost import estimate
from simviz.jobs.experiments import run_experiment
from simviz.jobs.pool import limit_threads
from simviz.jobs.results import to_files
from simviz.jobs.selection import Found, estimate_search, run_search
from simviz.jobs.spec import BLEND, EXPERIMENT, JobSpec
from simviz.jobs.training import train
from simviz.store.run import RunFiles

#: Progress within a stage is told at most so often, in seconds.
_TELL_SECONDS = 0.1


class Source(Protocol):
    """Where a worker finds what its job is about: a store, or what was sent along."""

    def get_dataset(self, dataset_id: str) -> PairSet:
        """A data set by its id."""

    def get_run(self, run_id: str, workspace: str | None = None) -> Trained:
        """A finished run that this workspace may see."""


class Channel(Protocol):
    """Where a worker puts what it has to tell: a queue of any kind."""

    def put(self, message: Any, /) -> Any:
        """Add a message."""


class Flag(Protocol):
    """Whether a worker should stop: an event of any kind."""

    def is_set(self) -> bool:
        """Whether it should."""


def run_job(
    spec: JobSpec, store: Source, job_id: str, channel: Channel, stop: Flag, n_threads: int
) -> RunFiles | Found:
    """Read the data set, train, and answer with the files of the run."""
    if stop.is_set():
        raise JobCancelled("Cancelled.")
    channel.put((job_id, "started", {"time": time.time()}))
    limit_threads(n_threads)
    report = _Reporter(job_id, channel, stop)
    report("reading", 0.0, {})
    pairs = store.get_dataset(spec.dataset_id)
    if pairs.digest != spec.dataset_digest:
        raise JobError(
            "The data set is no longer the one this was asked for. Open it again and repeat."
        )
    if spec.method == BLEND:  # its parts were measured within the limits
        return to_files(spec, train(spec, pairs, report, parts_of(spec, store)))
    if spec.method == EXPERIMENT:
        return run_experiment(spec, pairs, report)
    is_search = spec.search is not None
    expected = (
        estimate_search(spec, pairs) if is_search else estimate(spec.method, pairs, spec.params)
    )
    if expected.reason_to_refuse:
        raise JobError(expected.reason_to_refuse)
    if is_search:
        return run_search(spec, pairs, report)
    return to_files(spec, train(spec, pairs, report))


class _Reporter:
    """Tells the channel, but not more often than anybody can see."""

    def __init__(self, job_id: str, channel: Channel, stop: Flag) -> None:
        self._job_id, self._channel, self._stop = job_id, channel, stop
        self._start = time.monotonic()
        self._told = -_TELL_SECONDS
        self._stage = ""
        self._named: set[str] = set()

    def __call__(self, stage: str, fraction: float, metrics: Mapping[str, float], /) -> bool:
        now = time.monotonic() - self._start
        is_news = stage != self._stage or not metrics.keys() <= self._named
        if is_news or now - self._told >= _TELL_SECONDS:
            self._stage, self._told = stage, now
            self._named.update(metrics)
            event = {"seconds": round(now, 3), "stage": stage, "fraction": round(fraction, 4)}
            numbers = {name: float(value) for name, value in metrics.items()}
            self._channel.put((self._job_id, "progress", numbers | event))
        return self._stop.is_set()
