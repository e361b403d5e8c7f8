"""What happens on a worker of the cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from simviz.cluster.carried import Carried, CarriedRun
from simviz.data import PairSet
from simviz.exceptions import StoreError
from simviz.jobs.spec import JobError, JobSpec

#: Threads of one task; Dask sets it to 1 unless whoever starts a worker says otherwise.
_THREADS = "OMP_NUM_THREADS"
#: States of a worker whose scheduler is gone, or that was told to end.
_ENDED = ("closing", "closed", "failed")


@dataclass(frozen=True, slots=True)
class Task:
    """One job, as it is sent.

    Parameters
    ----------
    call : callable
        `simviz.jobs.work.run_job`.
    spec : JobSpec
        What is asked for.
    job_id : str
        Who tells.
    topic : str
        Where the app listens.
    version : str
        Of simviz in the app.
    """

    call: Callable[..., Any]
    spec: JobSpec
    job_id: str
    topic: str
    version: str


class TopicChannel:
    """Tells the app through the scheduler.

    Parameters
    ----------
    worker : distributed.Worker
        Who tells.
    topic : str
        What the app listens to.
    """

    def __init__(self, worker: Any, topic: str) -> None:
        self._worker, self._topic = worker, topic

    def put(self, message: tuple[str, str, Mapping[str, Any]], /) -> None:
        """Send a message: names and numbers."""
        job_id, what, content = message
        self._worker.log_event(self._topic, [job_id, what, dict(content)])


class Unwanted:
    """Whether nobody waits for the result of a task any more.

    The scheduler tells a worker at once when a job was cancelled, or when its
    app is gone; looking costs no message.

    Parameters
    ----------
    worker : distributed.Worker
        Where the task runs.
    key : str
        Its name.
    """

    def __init__(self, worker: Any, key: Any) -> None:
        self._worker, self._key = worker, key

    def is_set(self) -> bool:
        """Whether the task may end."""
        task = self._worker.state.tasks.get(self._key)
        return task is None or task.state == "cancelled" or self._worker.status.name in _ENDED


def work(task: Task, pairs: PairSet, runs: Mapping[str, CarriedRun | StoreError]) -> Any:
    """Do a job; see `simviz.jobs.work.run_job` for what it answers.

    Parameters
    ----------
    task : Task
        What to do.
    pairs : PairSet
        The data set.
    runs : mapping of str to CarriedRun or StoreError
        What a blend is made of.

    Returns
    -------
    RunFiles or Found
        What the app keeps.

    Raises
    ------
    JobError
        If this worker has another version of simviz than the app, and
        whatever the job raises.
    """
    from distributed import get_worker

    worker = get_worker()
    own = version("simviz")
    if own != task.version:
        raise JobError(
            f"The worker at {worker.address} has simviz {own}, the app {task.version}. "
            "Install the same version on all machines of the cluster and start them again."
        )
    channel = TopicChannel(worker, task.topic)
    stop = Unwanted(worker, worker.get_current_task())
    n_threads = int(os.environ.get(_THREADS, "1") or 1)
    return task.call(task.spec, Carried(pairs, runs), task.job_id, channel, stop, n_threads)
