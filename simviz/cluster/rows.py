"""Shares of rows that compute a loss and its gradient together, here or on workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from simviz.cluster.link import lost

Array = NDArray[np.floating]
#: Computes ``(loss, gradient)`` of a share of rows in steps, see
#: `simviz.methods._s2net_dense.Steps`; every one of a share's rows takes part.
Share = Any
Make = Callable[..., Share]

#: Sums over all rows that are exchanged in the middle of an evaluation.
EXCHANGES = 2
_ATTEMPTS = 20  # evaluations in which one worker after another is lost
_LOOK_SECONDS = 0.2
_PIECES = 8  # of the parameters, at most: each is a message to every worker
#: The shares of this process, by fit and number, with the step they wait at.
_SHARES: dict[tuple[str, int], list[Any]] = {}


class Moved(RuntimeError):  # noqa: N818 -- it is mended, and nobody sees it
    """A share is not on this worker, or not at this step: its worker was lost."""


def build(token: str, i: int, make: Make, own: Any, common: Any) -> None:
    """Make a share, which stays on this worker."""
    _SHARES[token, i] = [make(*own, *common), None, 0]


def begin(token: str, i: int, *pieces: Array) -> Array:
    """Start an evaluation of parameters that came in pieces; answers what is summed first."""
    if (token, i) not in _SHARES:
        raise Moved
    share = _SHARES[token, i]
    theta = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
    share[1], share[2] = share[0].steps(theta), 0
    return next(share[1])


def advance(token: str, i: int, step: int, *parts: Array) -> Any:
    """Go on with a sum over all; answers the next share of one, or loss and gradient."""
    share = _SHARES.get((token, i))
    if share is None or share[2] != step:
        raise Moved
    share[2] += 1
    try:
        return share[1].send(tree(parts, add))
    except StopIteration as end:
        return end.value


def drop(token: str) -> None:
    """Forget the shares of a fit."""
    for name in [name for name in _SHARES if name[0] == token]:
        _SHARES.pop(name, None)


def add(a: Any, b: Any) -> Any:
    """Sum of two arrays, or of two pairs of loss and gradient."""
    return (a[0] + b[0], a[1] + b[1]) if isinstance(a, tuple) else a + b


def branches(values: Sequence[Any], join: Callable[[Any, Any], Any], left: int = 2) -> list[Any]:
    """Join neighbours, then neighbours of those, until few are left.

    Parameters
    ----------
    values : sequence
        At least one.
    join : callable
        Of two values.
    left : int, default=2
        How many may be left.

    Returns
    -------
    list
        Those that are left, in order.

    Examples
    --------
    >>> branches("abcde", lambda a, b: f"({a}{b})")
    ['((ab)(cd))', 'e']
    """
    values = list(values)
    while len(values) > left:
        pairs = [join(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[len(values) - len(values) % 2 :]
    return values


def tree(values: Sequence[Any], join: Callable[[Any, Any], Any]) -> Any:
    """Join all values, as `branches` does.

    Parameters
    ----------
    values : sequence
        At least one.
    join : callable
        Of two values.

    Returns
    -------
    object
        Of all.

    Examples
    --------
    >>> tree("abcde", lambda a, b: f"({a}{b})")
    '(((ab)(cd))e)'
    """
    return branches(values, join, left=1)[0]


class LocalRows:
    """All shares in this process, one after another.

    Parameters
    ----------
    make : callable
        ``make(*own, *common)`` is a share.
    own : sequence of tuple
        What each share has for itself.
    common : tuple
        What all need.
    """

    def __init__(self, make: Make, own: Sequence[tuple[Any, ...]], common: tuple[Any, ...]):
        self._shares = [make(*o, *common) for o in own]

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Loss and gradient, summed over all shares."""
        running = [share.steps(theta) for share in self._shares]
        found: list[Any] = [next(steps) for steps in running]
        for _ in range(EXCHANGES):
            total, found = tree(found, add), []
            for steps in running:
                try:
                    found.append(steps.send(total))
                except StopIteration as end:
                    found.append(end.value)
        loss, gradient = tree(found, add)
        return loss, gradient

    def close(self) -> None:
        """Do nothing: it goes with its object."""


class ClusterRows:
    """Shares on the workers of a cluster, where their data stay.

    An evaluation is one graph of tasks: parameters are sent in pieces, one a
    worker, which pass them on to one another; sums go from worker to worker by
    a tree, and loss and gradient come back, by way of the scheduler only where
    workers cannot be reached. Where a worker is lost, its shares are built anew
    on the others and the evaluation is repeated: shares are summed in the same
    order wherever they are, so that the result is the same.

    Parameters
    ----------
    make, own, common
        As for `LocalRows`.
    client : distributed.Client
        Of the cluster.
    tick : callable
        Called while it waits; may raise to stop.
    """

    def __init__(
        self, make: Make, own: Sequence[tuple[Any, ...]], common: tuple[Any, ...],
        client: Any, tick: Callable[[], None],
    ) -> None:  # fmt: skip
        self._make, self._own, self._common = make, own, common
        self._client, self._tick = client, tick
        self._direct = client.direct_to_workers is not False
        self._address = client.scheduler.address
        self._token = uuid4().hex
        self._places: list[str] = []

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Loss and gradient, summed over all shares.

        Raises
        ------
        JobError
            If the scheduler is lost, or one worker after another.
        """
        from distributed.client import ClosedClientError

        error: BaseException | None = None
        for _ in range(_ATTEMPTS):
            try:
                if not self._places:
                    self._place()
                return self._evaluate(theta)
            except (Moved, CancelledError, OSError, ClosedClientError) as reason:
                self._places = []
                self._direct &= not isinstance(reason, OSError)
                error = reason
                if self._client.status != "running":
                    break
        raise lost(self._address) from error

    def close(self) -> None:
        """Let workers forget their shares."""
        with suppress(OSError, ValueError, AttributeError):  # the last: of a closed client
            self._client.run(drop, self._token)

    def _place(self) -> None:
        """Send every worker its shares."""
        workers = sorted(self._client.nthreads())
        if not workers:
            self._client.wait_for_workers(1, timeout=60)
            workers = sorted(self._client.nthreads())
        places = [workers[i % len(workers)] for i in range(len(self._own))]
        common = self._send(self._common, places[:1])
        built = [
            self._submit(build, i, self._make, self._send(own, [place]), common, at=place)
            for i, (own, place) in enumerate(zip(self._own, places, strict=True))
        ]
        self._wait(built)
        self._places = places

    def _evaluate(self, theta: Array) -> tuple[float, Array]:
        # Workers get the pieces that they lack from one another, all at once. (A broadcast
        # of Dask's waits for ever for a worker that is killed meanwhile.)
        places = sorted(set(self._places))
        pieces = self._scatter(np.array_split(theta, min(len(places), _PIECES)), places)
        at = list(enumerate(self._places))
        found = [self._submit(begin, i, *pieces, at=place) for i, place in at]
        for step in range(EXCHANGES):
            # The last two are joined by whoever needs the sum: that is one journey less.
            parts = branches(found, self._add)
            found = [self._submit(advance, i, step, *parts, at=place) for i, place in at]
        loss, gradient = tree(self._wait(branches(found, self._add)), add)
        return loss, gradient if gradient.flags.writeable else gradient.copy()

    def _submit(self, call: Callable[..., Any], i: int, *arguments: Any, at: str) -> Any:
        # Elsewhere if that worker is gone: there the share is missed, which is noticed.
        where = {"workers": [at], "allow_other_workers": True, "pure": False}
        return self._client.submit(call, self._token, i, *arguments, **where)

    def _add(self, a: Any, b: Any) -> Any:
        return self._client.submit(add, a, b, pure=False)

    def _send(self, data: Any, places: list[str]) -> Any:
        return self._scatter([data], places)[0]

    def _scatter(self, parts: list[Any], places: list[str]) -> list[Any]:
        try:
            return self._client.scatter(parts, workers=places, hash=False, direct=self._direct)
        except (KeyError, AttributeError) as gone:
            # The scheduler has just lost one of them; or the client has given it up.
            if isinstance(gone, AttributeError) and self._client.status == "running":
                raise
            raise Moved from gone

    def _wait(self, futures: Any) -> Any:
        """The results, listening meanwhile to who may want to stop."""
        from distributed import wait

        while True:
            try:
                with self._client.as_current():
                    wait(futures, timeout=_LOOK_SECONDS)
            except TimeoutError:
                self._tick()
            else:
                return self._client.gather(futures, direct=self._direct)
