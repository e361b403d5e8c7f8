"""How far an experiment is, whether it should stop, and what is kept of it."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from simviz.callbacks import Callback
from simviz.exceptions import JobCancelled
from simviz.features._base import Transformer
from simviz.persistence import load_state, save_state, state_digest

#: Told in words what is done and how much is behind, in [0, 1]; answers True to stop.
Listener = Callable[[str, float], bool]
T = TypeVar("T")
R = TypeVar("R")

WORTH_KEEPING = 10.0  # seconds that a fit took
_SECONDS = "seconds"  # of the processor, beside what a fit learned


def request_key(*request: Any) -> str:
    """Name of a request by all that it says: what differs anywhere has another one."""
    # Methods and features by their class, parameters and what they have learned; data by their
    # content. What cannot be told apart by its content is refused, for its kept result could be
    # taken for that of another.
    return state_digest({"request": _by_content(request)})


def _by_content(part: Any) -> Any:
    """A part of a request with the digests of data in place of them."""
    if isinstance(part, tuple):
        return tuple(map(_by_content, part))
    return getattr(part, "digest", part)


class Progress:
    """Tells how far an experiment is, and ends it when asked to.

    ``heard(words, fraction)`` ends it by answering True; `low` and `high` say what part of the
    whole this tells of, and `folder` has what was `fitted`.

    Examples
    --------
    >>> heard = []
    >>> progress = Progress(lambda words, fraction: heard.append((words, fraction)))
    >>> for method, part in progress.over(["cca", "opca"]):
    ...     part(method, 0.5)
    >>> heard
    [('cca', 0.25), ('opca', 0.75)]
    """

    def __init__(
        self,
        heard: Listener | None = None,
        low: float = 0.0,
        high: float = 1.0,
        folder: Path | None = None,
    ) -> None:
        self._heard, self._low, self._high = heard, low, high
        self._folder = folder
        # Shared by all parts: what is reported never goes back.
        self._furthest = [low]
        self._spent = [0.0]
        self._is_stopped = [False]

    def __call__(self, message: str, fraction: float = 0.0) -> None:
        """Report what is done now, and how much of this part is behind; JobCancelled ends it."""
        if self._report(message, fraction):
            raise JobCancelled("Cancelled.")

    def part(self, low: float, high: float) -> Progress:
        """Progress of the part from `low` to `high`, in [0, 1]."""
        width = self._high - self._low
        low, high = self._low + low * width, self._low + high * width
        part = Progress(self._heard, low, high, self._folder)
        part._furthest, part._spent = self._furthest, self._spent
        part._is_stopped = self._is_stopped
        return part

    @property
    def spent(self) -> float:
        """Processor seconds that all fits took, those too whose results were read again."""
        return self._spent[0]

    @contextmanager
    def fitting(self) -> Iterator[None]:
        """Count what is done meanwhile as a fit, which may get fewer dimensions than asked for."""
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*is more than the data can give", UserWarning)
            yield
        self._spent[0] += time.process_time() - begin

    def over(self, things: Mapping[T, float] | Sequence[T]) -> list[tuple[T, Progress]]:
        """Each thing, in order, with a part of its own; a mapping says how long each takes."""
        weights = dict(things) if isinstance(things, Mapping) else dict.fromkeys(things, 1.0)
        total = sum(weights.values()) or 1.0
        ends = itertools.pairwise(itertools.accumulate(weights.values(), initial=0.0))
        parts = (self.part(low / total, high / total) for low, high in ends)
        return list(zip(weights, parts, strict=True))

    def each(
        self, do: Callable[[T, Progress], R], things: Mapping[T, float] | Sequence[T]
    ) -> dict[T, R]:
        """Do something with each thing, none of which needs another, see `over`.

        Examples
        --------
        >>> Progress().each(lambda k, part: k**2, [2, 3])
        {2: 4, 3: 9}
        """
        return {thing: do(thing, part) for thing, part in self.over(things)}

    def fitted(self, model: Any, *data: Any) -> Any:
        """The same model or pipeline, fitted to data; read again where a run was ended after it.

        It may get fewer dimensions than were asked for. With the model, all of its parameters and
        its features, the data name what is kept, which is only what took long to learn.
        """
        file = self._folder and self._folder / f"{request_key(_SECONDS, model, *data)}.simviz"
        if file and file.exists():
            own = {type(part) for part in vars(model).values() if isinstance(part, Transformer)}
            learned = load_state(file, lambda learned, _: learned, trusted=tuple(own))
            self._spent[0] += learned.pop(_SECONDS)
            vars(model).update(learned)
            return model
        begin, before = time.monotonic(), self.spent
        with self.fitting():
            model.fit(*data)
        if file and not self._is_stopped[0] and time.monotonic() - begin >= WORTH_KEEPING:
            file.parent.mkdir(parents=True, exist_ok=True)
            learned = {n: v for n, v in vars(model).items() if n[0] != "_" and n[-1] == "_"}
            save_state({**learned, _SECONDS: self.spent - before}, file)
        return model

    def listen(self, message: str) -> Callback:
        """A callback for a model's `set_callbacks`, or for an evaluation.

        A model that is stopped by it stays valid: call the progress again after the fit, which
        then raises `JobCancelled`.
        """

        def callback(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
            return self._report(message, step / total if total else 0.0)

        return callback

    def _report(self, message: str, fraction: float) -> bool:
        if self._heard is None:
            return False
        within = self._low + min(max(fraction, 0.0), 1.0) * (self._high - self._low)
        self._furthest[0] = max(self._furthest[0], within)
        self._is_stopped[0] |= bool(self._heard(message, self._furthest[0]))
        return self._is_stopped[0]
