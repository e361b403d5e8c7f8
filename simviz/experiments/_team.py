"""Workers of a Dask cluster that share the parts of an experiment."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from importlib.metadata import version
from typing import Any, Self, TypeVar
from uuid import uuid4

from simviz.exceptions import JobCancelled, SimvizError
from simviz.experiments._progress import Progress

T = TypeVar("T")
R = TypeVar("R")

_CONNECT_SECONDS = 5
_TELL_SECONDS = 0.2
_ATTEMPTS = 3
_LOST = (
    "The cluster at {} cannot be reached or lost its workers. See that its scheduler and workers "
    "run, then repeat the experiment."
)
#: States of a worker whose scheduler is gone, or that was told to end.
_ENDED = ("closing", "closed", "failed")


class _Gone(RuntimeError):  # noqa: N818 -- it is mended, and nobody sees it
    """A worker was lost while data were sent."""


class Team:
    """Does parts of an experiment on other machines, each part as a whole.

    What all parts need is sent once, passed on from worker to worker, and
    stays there until they are done; what one of them makes of it, such as features, serves the
    next one on that worker. A part whose worker is lost is done anew by
    another.

    Parameters
    ----------
    address : str
        Of a Dask scheduler, such as "tcp://127.0.0.1:8786".

    Raises
    ------
    SimvizError
        If Dask is not installed, or nobody answers there.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise SimvizError(
                'A cluster needs Dask: pip install "simviz[cluster]". Without a scheduler the '
                "experiment is done by this process."
            ) from error
        self._address = address
        try:
            self._client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise SimvizError(_LOST.format(address)) from error

    def __call__(
        self,
        do: Callable[[T, Progress], R],
        parts: Sequence[tuple[T, float]],
        tell: Callable[[str, float], None],
    ) -> dict[T, R]:
        """Do every part, as many at once as there are workers.

        Parameters
        ----------
        do : callable
            ``do(thing, progress)``; it is sent to the workers with all that it
            refers to.
        parts : sequence of (thing, float)
            What is done, and how long each takes, in any unit.
        tell : callable
            ``tell(words, fraction)``, called in this thread; may raise to stop.

        Returns
        -------
        dict
            What each thing gave, in order.

        Raises
        ------
        SimvizError
            If the scheduler is lost, or whatever a part raises.
        """
        from distributed.client import ClosedClientError

        done: dict[int, R] = {}
        error: BaseException | None = None
        for _ in range(_ATTEMPTS):
            try:
                self._some(do, parts, tell, done)
                return {thing: done[i] for i, (thing, _) in enumerate(parts)}
            except (CancelledError, OSError, ClosedClientError, _Gone) as reason:
                error = reason  # what was sent, or who had it, is lost
                if self._client.status != "running":
                    break
        raise SimvizError(_LOST.format(self._address)) from error

    def close(self) -> None:
        """Let go of the scheduler, which drops whatever still waits there."""
        with suppress(OSError, TimeoutError):
            self._client.close(timeout=_CONNECT_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # -- inside -----------------------------------------------------------------------

    def _some(
        self, do: Any, parts: Sequence[tuple[Any, float]], tell: Any, done: dict[int, Any]
    ) -> None:
        """Do the parts that are not done yet."""
        from distributed import KilledWorker, as_completed

        topic = f"simviz-team-{uuid4().hex}"
        heard: queue.SimpleQueue[tuple[int, str, float]] = queue.SimpleQueue()
        self._client.subscribe_topic(topic, lambda event: heard.put(event[1]))
        total = sum(weight for _, weight in parts) or 1.0
        behind = [float(i in done) for i in range(len(parts))]
        # In a list of one: whatever it is, it is sent as it is.
        try:
            # To one of them; the others fetch it there when they need it.
            shared = self._client.scatter([do], hash=False)[0]
        except (KeyError, AttributeError) as gone:
            # The scheduler has just lost a worker; or the client has given it up.
            if isinstance(gone, AttributeError) and self._client.status == "running":
                raise
            raise _Gone from gone
        own = version("simviz")
        # Those that take longest begin first.
        left = sorted((i for i in range(len(parts)) if i not in done), key=lambda i: -parts[i][1])
        numbers = {
            self._client.submit(_part, shared, parts[i][0], (topic, i, own), pure=False): i
            for i in left
        }

        def say(words: str) -> None:
            tell(words, sum(b * w for b, (_, w) in zip(behind, parts, strict=True)) / total)

        try:
            ended = as_completed(numbers, loop=self._client.loop)
            while ended.count():
                for future in _within(ended, _TELL_SECONDS):
                    i = numbers[future]
                    done[i], behind[i] = future.result(), 1.0
                with suppress(queue.Empty):
                    while True:
                        i, words, fraction = heard.get_nowait()
                        behind[i] = max(behind[i], fraction)
                        say(words)
        except KilledWorker as error:
            raise SimvizError(
                "The workers that did a part of this ended one after another, most likely for "
                "lack of memory. Keep fewer items (--train, --pool)."
            ) from error
        finally:
            for future in numbers:
                future.release()
            with suppress(OSError, ValueError, AttributeError):  # the last: of a closed client
                self._client.unsubscribe_topic(topic)


def _within(ended: Any, seconds: float) -> list[Any]:
    """Those that have ended, after at most so long."""
    end = time.monotonic() + seconds
    while ended.is_empty() and time.monotonic() < end:
        time.sleep(seconds / 10)
    return [] if ended.is_empty() else ended.next_batch(block=False)


def _part(do: Any, thing: Any, how: tuple[str, int, str]) -> Any:
    """Do one part, on a worker."""
    from distributed import get_worker

    topic, i, asked = how
    worker, own = get_worker(), version("simviz")
    if own != asked:
        raise SimvizError(
            f"The worker at {worker.address} has simviz {own}, whoever asks {asked}. Install the "
            "same version on all machines of the cluster and start them again."
        )
    key: Any = worker.get_current_task()
    told = [-_TELL_SECONDS]

    def heard(words: str, fraction: float) -> bool:
        if time.monotonic() - told[0] >= _TELL_SECONDS:
            told[0] = time.monotonic()
            worker.log_event(topic, (i, words, fraction))
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled" or worker.status.name in _ENDED

    try:
        return do(thing, Progress(heard))
    except JobCancelled:
        if heard("", 0.0):  # nobody waits for it
            return None
        raise
