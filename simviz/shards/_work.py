"""The same function on every part: here one after another, or on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")


def each(
    call: Callable[..., T], parts: Sequence[Any], *common: Any, client: Client | None = None
) -> Iterator[T]:
    """Yield ``call(part, *common)`` of each part, in their order.

    Parameters
    ----------
    call : callable
        Of a part and of what all need.
    parts : sequence
        What to go through.
    *common : object
        Sent to every worker once.
    client : distributed.Client, optional
        Of a cluster; without one it is done here, one part after another.

    Yields
    ------
    object
        Results.
    """
    if client is None:
        yield from (call(part, *common) for part in parts)
    else:
        yield from client.gather(_submitted(client, call, parts, common))


def joined(
    call: Callable[..., T],
    join: Callable[[T, T], T],
    parts: Sequence[Any],
    *common: Any,
    client: Client | None = None,
) -> T:
    """Join the results of ``call(part, *common)`` of all parts, in their order.

    Parameters
    ----------
    call : callable
        Of a part and of what all need.
    join : callable
        Of two neighbouring results; associative, may change the first.
    parts : sequence
        At least one.
    *common : object
        Sent to every worker once.
    client : distributed.Client, optional
        Of a cluster, where neighbours are joined by a tree; without one all are
        added to the first, one after another.

    Returns
    -------
    object
        Of all parts.
    """
    if client is None:
        results: Iterable[T] = iter(each(call, parts, *common))
        total = next(iter(results))
        for result in results:
            total = join(total, result)
        return total
    futures = _submitted(client, call, parts, common)
    while len(futures) > 1:
        pairs = zip(futures[::2], futures[1::2], strict=False)
        odd = futures[len(futures) - len(futures) % 2 :]
        futures = [client.submit(_joined, join, a, b, pure=False) for a, b in pairs] + odd
    return client.gather(futures[0])


def _submitted(
    client: Any, call: Callable[..., Any], parts: Sequence[Any], common: tuple[Any, ...]
) -> list[Any]:
    # In a list of one: what is sent could be taken for a collection and taken apart.
    sent = [client.scatter([value], broadcast=True, hash=False)[0] for value in common]
    return [client.submit(call, part, *sent, pure=False) for part in parts]


def _joined(join: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """A result of a worker may be asked for again when one is lost: it is not changed."""
    from copy import deepcopy

    return join(deepcopy(a), b)
