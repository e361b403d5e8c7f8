"""A queue whose jobs are done by a cluster."""

from __future__ import annotations

import atexit
from importlib.util import find_spec

from simviz.cluster.executor import ClusterExecutor
from simviz.exceptions import SimvizError
from simviz.jobs.queue import JobQueue
from simviz.store.store import Store


class ClusterQueue(JobQueue):
    """A queue that knows who does its jobs; made by `cluster_queue`.

    Parameters
    ----------
    store : Store
        Where data sets and runs are.
    executor : ClusterExecutor
        Sends jobs to the cluster.
    limit : int
        Jobs of one workspace that may wait or run.
    """

    def __init__(self, store: Store, executor: ClusterExecutor, limit: int) -> None:
        super().__init__(store, executor=executor, limit=limit)
        self._cluster = executor

    def in_words(self, *, with_address: bool = True) -> str:
        """Who does the jobs.

        Parameters
        ----------
        with_address : bool, default=True
            Whether to say where; not every visitor has to know.

        Returns
        -------
        str
            A sentence.
        """
        n, at = self._cluster.n_workers(), f" at {self._cluster.address}" if with_address else ""
        if n is None:
            return f"Jobs are sent to a cluster{at}."
        workers = {0: "No worker is", 1: "1 worker is"}.get(n, f"{n} workers are")
        return f"Jobs are sent to a cluster{at}: {workers} there."


def cluster_queue(store: Store, address: str, limit: int = 8) -> ClusterQueue:
    """Train on a Dask cluster what would be trained in this process.

    Parameters
    ----------
    store : Store
        Where data sets and runs are; only this process writes there.
    address : str
        Of the scheduler, such as "tcp://127.0.0.1:8786".
    limit : int, default=8
        Jobs of one workspace that may wait or run.

    Returns
    -------
    ClusterQueue
        It can be made while the scheduler is away: jobs then fail with a
        sentence that says so, and can be repeated.

    Raises
    ------
    SimvizError
        If Dask is not installed.
    """
    if find_spec("distributed") is None:
        raise SimvizError(
            'Jobs on a cluster need Dask: pip install "simviz[cluster]". '
            "Without SIMVIZ_SCHEDULER they are done by the app itself."
        )
    executor = ClusterExecutor(address)
    # At the end of the process the queue closes first, and its jobs are called off.
    atexit.register(executor.shutdown, wait=False, cancel_futures=True)
    return ClusterQueue(store, executor, limit)
