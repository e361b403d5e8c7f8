"""A connection to a scheduler, and what was sent through it already."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

from simviz.jobs.spec import JobError

_CONNECT_SECONDS = 5
_ANSWER_SECONDS = 1
#: A worker that was killed is started anew within so long.
_WORKER_SECONDS = 30
#: To a worker that is gone meanwhile data are sent so often, so many seconds apart.
_ATTEMPTS, _AGAIN_SECONDS = 5, 0.5
_LOST = "scheduler-connection-lost"  # as Dask gives its reason
#: Data sets that workers keep for the next job.
_KEPT = 4


class Link:
    """One connection; when it breaks, another one is made.

    Parameters
    ----------
    address : str
        Of the scheduler, such as "tcp://127.0.0.1:8786".
    hear : callable
        Called with every message ``[job_id, what, content]`` of a worker.

    Raises
    ------
    JobError
        If nobody answers there.
    """

    def __init__(self, address: str, hear: Callable[[Any], None]) -> None:
        from distributed import Client

        try:
            self.client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise lost(address) from error
        self.topic = f"simviz-{uuid4().hex}"
        self._hear = hear
        self._kept: OrderedDict[Any, Any] = OrderedDict()

    @property
    def is_open(self) -> bool:
        """Whether the scheduler is at the other end."""
        return bool(self.client.status == "running")

    def n_workers(self) -> int | None:
        """Workers that are there; None where the scheduler does not say so soon."""
        client = self.client
        with suppress(OSError, ValueError):
            if self.is_open:
                return len(client.sync(client.scheduler.ncores, callback_timeout=_ANSWER_SECONDS))
        return None

    def is_lost(self, error: BaseException) -> bool:
        """Whether an error of a job means that the scheduler was out of reach."""
        return (
            not self.is_open
            or isinstance(error, OSError | TimeoutError)
            or getattr(error, "reason", "") == _LOST
        )

    def listen(self) -> None:
        """Hear what workers tell.

        Said before every job: a scheduler that was started anew meanwhile, and found
        by the same connection, knows nothing of whoever listened to the last one.
        """
        self.client.subscribe_topic(self.topic, lambda event: self._hear(event[1]))

    def sent(self, name: Any, make: Callable[[], Any]) -> Any:
        """Data on the workers, sent unless they are there from an earlier job.

        Parameters
        ----------
        name : hashable
            What is the same for equal data.
        make : callable
            Answers the data.

        Returns
        -------
        distributed.Future
            Stands for them.
        """
        found = self._kept.get(name)
        if found is None or found.status != "finished":
            found = self._kept[name] = self.scatter(make())
        self._kept.move_to_end(name)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)  # jobs that use it hold it themselves
        return found

    def scatter(self, data: Any) -> Any:
        """Send data to a worker.

        Parameters
        ----------
        data : object
            What is sent, whole.

        Returns
        -------
        distributed.Future
            Stands for them.
        """
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._scatter(data)
            except TimeoutError:  # there is no worker
                raise
            except (OSError, KeyError):  # it was just killed; there may be another one
                if not self.is_open:
                    raise
                time.sleep(_AGAIN_SECONDS)
        return self._scatter(data)

    def _scatter(self, data: Any) -> Any:
        return self.client.scatter([data], hash=False, timeout=_WORKER_SECONDS)[0]

    def forget(self, name: Any) -> None:
        """Send these data anew when they are asked for next."""
        self._kept.pop(name, None)

    def close(self) -> None:
        """Let go of the scheduler, which drops whatever still waits there."""
        with suppress(OSError, TimeoutError):
            self.client.close(timeout=_CONNECT_SECONDS)


def lost(address: str) -> JobError:
    """The error of a job whose scheduler or workers cannot be reached."""
    return JobError(
        f"The cluster at {address} cannot be reached or has no workers, so this job was not "
        "done. See that its scheduler and workers run, then repeat the job."
    )
