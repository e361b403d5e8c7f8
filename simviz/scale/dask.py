"""A Dask cluster: connecting, sending, sharing out, and what happens when a worker is lost."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial, reduce
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from simviz.exceptions import JobError

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")

CONNECT_SECONDS = 5
_ANSWER_SECONDS = 1
#: A worker that was killed is started anew within so long.
WORKER_SECONDS = 30
#: To a worker that is gone meanwhile data are sent so often, so many seconds apart.
_SENDS, _AGAIN_SECONDS = 5, 0.5
_CONNECTION_LOST = "scheduler-connection-lost"  # as Dask gives its reason
#: Data sets that workers keep for the next job.
_MAX_SENT = 4
#: States of a worker whose scheduler is gone, or that was told to end.
_ENDED = ("closing", "closed", "failed")


class WorkerLost(RuntimeError):  # noqa: N818 -- it is mended, and nobody sees it
    """A worker was lost with what it held."""


def unreachable(address: str) -> JobError:
    """Return the error of work whose scheduler or workers cannot be reached."""
    return JobError(
        f"The cluster at {address} cannot be reached or has no workers, so this job was not "
        "done. See that its scheduler and workers run, then repeat the job."
    )


def connect(address: str) -> Client:
    """Return a client of a scheduler, or raise `unreachable`."""
    from distributed import Client

    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise unreachable(address) from error


def with_retries(
    client: Client,
    address: str,
    attempt: Callable[[], T],
    n_attempts: int,
    pause: float = 0.0,
    final: tuple[type[BaseException], ...] = (),
) -> T:
    """Repeat what the loss of a worker interrupts; raise `unreachable` if it does not end well."""
    from distributed.client import ClosedClientError

    error: BaseException | None = None
    for _ in range(n_attempts):
        try:
            return attempt()
        except (WorkerLost, CancelledError, OSError, ClosedClientError) as reason:
            error = reason
            if client.status != "running" or isinstance(reason, final):
                break
            time.sleep(pause)
    raise unreachable(address) from error


def scatter(client: Client, parts: list[Any], **how: Any) -> list[Any]:
    """Send data to workers; `WorkerLost` where one of them went away meanwhile."""
    try:
        return list(client.scatter(parts, hash=False, **how))
    except (KeyError, AttributeError) as gone:
        # The scheduler has just lost one of them; or the client has given it up.
        if isinstance(gone, AttributeError) and client.status == "running":
            raise
        raise WorkerLost from gone


def same_version(expected: str, who: str) -> Any:
    """Return the worker that does this task, if it has the version of whoever sent it."""
    from distributed import get_worker

    worker, own = get_worker(), version("simviz")
    if own != expected:
        raise JobError(
            f"The worker at {worker.address} has simviz {own}, {who} {expected}. "
            "Install the same version on all machines of the cluster and start them again."
        )
    return worker


def is_unwanted(worker: Any, key: Any) -> bool:
    """Whether nobody waits for the result of a task any more; looking costs no message."""
    task = worker.state.tasks.get(key)
    return task is None or task.state == "cancelled" or worker.status.name in _ENDED


class Link:
    """One connection; when it breaks, another one is made."""

    def __init__(self, address: str, hear: Callable[[Any], None]) -> None:
        self.address, self.client = address, connect(address)
        self.topic = f"simviz-{uuid4().hex}"
        self._hear = hear
        self._futures: OrderedDict[Any, Any] = OrderedDict()

    @property
    def is_open(self) -> bool:
        """Whether the scheduler is at the other end."""
        return bool(self.client.status == "running")

    def n_workers(self) -> int | None:
        """Return the number of workers; None where the scheduler does not answer soon."""
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
            or getattr(error, "reason", "") == _CONNECTION_LOST
        )

    def listen(self) -> None:
        """Subscribe to what workers report."""
        # Before every job: a scheduler that was started anew meanwhile, and found by the
        # same connection, knows nothing of whoever listened to the last one.
        self.client.subscribe_topic(self.topic, lambda event: self._hear(event[1]))

    def sent(self, name: Any, make: Callable[[], Any]) -> Any:
        """Return data on the workers, sent unless they are there from an earlier job."""
        future = self._futures.get(name)
        if future is None or future.status != "finished":
            future = self._futures[name] = self.scatter(make())
        self._futures.move_to_end(name)
        while len(self._futures) > _MAX_SENT:
            self._futures.popitem(last=False)  # jobs that use it hold it themselves
        return future

    def scatter(self, data: Any) -> Any:
        """Send data to a worker; where it was just killed, there may be another one."""
        send = partial(scatter, self.client, [data], timeout=WORKER_SECONDS)
        # Without any worker it waits as long as one takes to be started, but once.
        no_worker = (TimeoutError,)
        retried = with_retries(self.client, self.address, send, _SENDS, _AGAIN_SECONDS, no_worker)
        return retried[0]

    def forget(self, name: Any) -> None:
        """Send these data anew when they are needed next."""
        self._futures.pop(name, None)

    def close(self) -> None:
        """Close the connection; the scheduler drops whatever still waits there."""
        with suppress(OSError, TimeoutError):
            self.client.close(timeout=CONNECT_SECONDS)


def map_parts(
    call: Callable[..., T], parts: Sequence[Any], *common: Any, client: Client | None = None
) -> Iterator[T]:
    """Yield ``call(part, *common)`` of each part, in their order."""
    if client is None:
        yield from (call(part, *common) for part in parts)
    else:
        yield from client.gather(_submit_parts(client, call, parts, common))


def map_reduce(
    call: Callable[..., T],
    join: Callable[[T, T], T],
    parts: Sequence[Any],
    *common: Any,
    client: Client | None = None,
) -> T:
    """Join the results of ``call(part, *common)`` of all parts, in their order."""
    if client is None:
        return reduce(join, map_parts(call, parts, *common))
    futures = _submit_parts(client, call, parts, common)
    submit = partial(client.submit, _reduce_copy, join, pure=False)
    return client.gather(tree_reduce(futures, submit))


def subtrees(values: Sequence[Any], join: Callable[[Any, Any], Any], left: int = 2) -> list[Any]:
    """Join neighbours, then neighbours of those, until few are left."""
    values = list(values)
    while len(values) > left:
        pairs = [join(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[len(values) - len(values) % 2 :]
    return values


def tree_reduce(values: Sequence[Any], join: Callable[[Any, Any], Any]) -> Any:
    """Join all values, as `subtrees` does."""
    return subtrees(values, join, left=1)[0]


def _submit_parts(
    client: Any, call: Callable[..., Any], parts: Sequence[Any], common: tuple[Any, ...]
) -> list[Any]:
    # In a list of one: what is sent could be taken for a collection and taken apart.
    sent = [client.scatter([value], broadcast=True, hash=False)[0] for value in common]
    return [client.submit(call, part, *sent, pure=False) for part in parts]


def _reduce_copy(join: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Join copies: a result of a worker may be needed again when another one is lost."""
    from copy import deepcopy

    return join(deepcopy(a), b)
