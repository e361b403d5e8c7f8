"""How far an experiment is, and whether it should stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from simviz.callbacks import Callback
from simviz.exceptions import JobCancelled

#: Told in words what is done and how much is behind, in [0, 1]; answers True to stop.
Heard = Callable[[str, float], bool]
T = TypeVar("T")
R = TypeVar("R")


class Helpers(Protocol):
    """Who does parts of an experiment elsewhere, see `simviz.experiments.Team`."""

    def __call__(
        self,
        do: Callable[[T, Progress], R],
        parts: Sequence[tuple[T, float]],
        tell: Callable[[str, float], None],
    ) -> dict[T, R]:
        """Do every part; what each took is told as a weight."""


class Progress:
    """Tells how far an experiment is, and ends it when asked to.

    Parameters
    ----------
    heard : callable, optional
        ``heard(words, fraction) -> bool``; True stops.
    low, high : float
        What part of the whole this tells of.
    helpers : Helpers, optional
        Do what `each` is given; this process when omitted.

    Examples
    --------
    >>> told = []
    >>> progress = Progress(lambda words, fraction: told.append((words, fraction)))
    >>> for method, part in progress.over(["cca", "opca"]):
    ...     part(method, 0.5)
    >>> told
    [('cca', 0.25), ('opca', 0.75)]
    """

    def __init__(
        self,
        heard: Heard | None = None,
        low: float = 0.0,
        high: float = 1.0,
        helpers: Helpers | None = None,
    ) -> None:
        self._heard, self._low, self._high, self._helpers = heard, low, high, helpers
        # Shared by all parts: what is told never goes back.
        self._furthest = [low]

    def __call__(self, words: str, fraction: float = 0.0) -> None:
        """Tell what is done now.

        Parameters
        ----------
        words : str
            What is done.
        fraction : float, default=0
            How much of this part is behind, in [0, 1].

        Raises
        ------
        JobCancelled
            If the experiment is to stop.
        """
        if self._tell(words, fraction):
            raise JobCancelled("Cancelled.")

    def part(self, low: float, high: float) -> Progress:
        """What tells of a part of this.

        Parameters
        ----------
        low, high : float
            Where the part begins and ends, in [0, 1].

        Returns
        -------
        Progress
            Heard by the same.
        """
        width = self._high - self._low
        part = Progress(
            self._heard, self._low + low * width, self._low + high * width, self._helpers
        )
        part._furthest = self._furthest
        return part

    def over(self, things: Mapping[T, float] | Sequence[T]) -> list[tuple[T, Progress]]:
        """Each thing with a part of its own.

        Parameters
        ----------
        things : sequence, or mapping to float
            What is done one after the other; a mapping says how long each
            takes, in any unit.

        Returns
        -------
        list of (thing, Progress)
            In order.
        """
        weights = dict(things) if isinstance(things, Mapping) else dict.fromkeys(things, 1.0)
        total, done, parts = sum(weights.values()) or 1.0, 0.0, []
        for thing, weight in weights.items():
            parts.append((thing, self.part(done / total, (done + weight) / total)))
            done += weight
        return parts

    def each(
        self, do: Callable[[T, Progress], R], things: Mapping[T, float] | Sequence[T]
    ) -> dict[T, R]:
        """Do something with each thing, none of which needs another.

        Parameters
        ----------
        do : callable
            ``do(thing, progress)``. Helpers get a copy of it and of what it
            refers to: what it changes there is lost, what it answers comes
            back.
        things : sequence, or mapping to float
            As `over` takes them.

        Returns
        -------
        dict
            What each thing gave, in order.

        Raises
        ------
        JobCancelled
            If the experiment is to stop.

        Examples
        --------
        >>> Progress().each(lambda k, part: k**2, [2, 3])
        {2: 4, 3: 9}
        """
        if self._helpers is None:
            return {thing: do(thing, part) for thing, part in self.over(things)}
        weights = things if isinstance(things, Mapping) else dict.fromkeys(things, 1.0)
        return self._helpers(do, list(weights.items()), self)

    def listen(self, words: str) -> Callback:
        """A callback for a model's `set_callbacks`, or for an evaluation.

        Parameters
        ----------
        words : str
            What is done meanwhile.

        Returns
        -------
        callable
            ``callback(step, total, metrics) -> bool``. A model that is
            stopped by it stays valid: tell the progress again after the fit,
            which then raises `JobCancelled`.
        """

        def callback(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
            return self._tell(words, step / total if total else 0.0)

        return callback

    def _tell(self, words: str, fraction: float) -> bool:
        if self._heard is None:
            return False
        within = self._low + min(max(fraction, 0.0), 1.0) * (self._high - self._low)
        self._furthest[0] = max(self._furthest[0], within)
        return bool(self._heard(words, self._furthest[0]))
