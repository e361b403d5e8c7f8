"""Whose turn it is where several wait for the same."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Sequence

#: Those who were served that are remembered.
_REMEMBERED = 10_000


class Turns:
    """Serves all who wait in turn, and what each of them waits for in order.

    Whoever was served longest ago is next, so that one who asks for twenty
    things at once delays another by one of them.

    Examples
    --------
    >>> turns = Turns()
    >>> waiting = [("ann",), ("ann",), ("ann",), ("bob",), ("bob",)]
    >>> turns.order(waiting)
    [0, 3, 1, 4, 2]
    >>> turns.take(waiting)
    0
    >>> turns.order(waiting[1:])  # ann was served, so bob is next
    [2, 0, 3, 1]
    """

    def __init__(self) -> None:
        self._served: dict[str, int] = {}
        self._count = 0
        self._lock = threading.Lock()

    def order(self, waiting: Sequence[Collection[str]]) -> list[int]:
        """The order in which all will be served if nobody else comes.

        Parameters
        ----------
        waiting : sequence of collection of str
            For each thing, in the order in which they were asked for, those who
            wait for it. What several wait for is served at the first turn of
            any of them.

        Returns
        -------
        list of int
            Indices of `waiting`; what nobody waits for comes last.
        """
        with self._lock:
            found = [i for i, _ in self._rounds(waiting)]
        return found + [i for i, whose in enumerate(waiting) if not whose]

    def take(self, waiting: Sequence[Collection[str]]) -> int:
        """Serve the next.

        Parameters
        ----------
        waiting : sequence of collection of str
            As in `order`; not empty.

        Returns
        -------
        int
            Index of what is served.
        """
        with self._lock:
            for i, whose in self._rounds(waiting):
                self._count += 1
                self._served.pop(whose, None)
                self._served[whose] = self._count
                if len(self._served) > _REMEMBERED:
                    del self._served[next(iter(self._served))]  # served longest ago
                return i
        return 0

    def _rounds(self, waiting: Sequence[Collection[str]]) -> list[tuple[int, str]]:
        """What is served, and whose turn it is then."""
        lines: dict[str, deque[int]] = {}
        for i, whose in enumerate(waiting):
            for one in whose:
                lines.setdefault(one, deque()).append(i)
        # Those who were never served come first, in the order of their asking.
        turn = deque(sorted(lines, key=lambda one: self._served.get(one, 0)))
        found: list[tuple[int, str]] = []
        seen: set[int] = set()
        while turn:
            one = turn.popleft()
            line = lines[one]
            while line and line[0] in seen:
                line.popleft()
            if line:
                seen.add(line[0])
                found.append((line.popleft(), one))
                turn.append(one)
        return found
