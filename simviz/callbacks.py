"""Progress reports from inside a fit, and the wish to stop.

A callback is any callable ``callback(step, total, metrics) -> bool | None``. It is called in the
thread that trains, at least once a second in a fit that lasts longer. A true answer stops the fit;
the model is then valid, and its ``n_iter_`` tells how far it came. An evaluation that is stopped
raises `simviz.exceptions.JobCancelled`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any, Protocol, Self

_DRAWN_EVERY = 0.1  # seconds


class Callback(Protocol):
    """What is called while a model trains."""

    def __call__(self, step: int, total: int, metrics: Mapping[str, float], /) -> bool | None:
        """Hear of a step; answer True to stop.

        Parameters
        ----------
        step, total : int
            Steps done and steps planned, ``step <= total``.
        metrics : mapping of str to float
            What is known so far, such as "loss".

        Returns
        -------
        bool or None
            True to stop.
        """


def terminal_progress(what: str) -> Callback:
    """A line of progress on standard error, where that is a terminal.

    Parameters
    ----------
    what : str
        What goes on, in a word.

    Returns
    -------
    callable
        A callback that draws it, and never asks to stop.
    """
    drawn = 0.0

    def show(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
        nonlocal drawn
        now = time.monotonic()
        if sys.stderr is None or not sys.stderr.isatty():
            return False
        if now - drawn > _DRAWN_EVERY or step == total:
            drawn = now
            share = step / max(total, 1)
            bar = "█" * round(30 * share)
            sys.stderr.write(f"\r{what} {bar:░<30} {share:4.0%}" + "\n" * (step == total))
            sys.stderr.flush()
        return False

    return show


def within(callback: Callback | None, start: float, stop: float) -> Callback:
    """A callback for a piece of what another one hears of, in thousandths.

    Parameters
    ----------
    callback : callable or None
        The other one, if there is one.
    start, stop : float
        Where the piece begins and ends, of 0 to 1.

    Returns
    -------
    callable
        Which answers as the other one does.
    """

    def inner(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
        done = start + (stop - start) * (step / total if total else 1.0)
        return callback is not None and bool(callback(round(1_000 * done), 1_000, metrics))

    return inner


class CallbackMixin:
    """Adds `set_callbacks`; callbacks are dropped by cloning and pickling."""

    _callbacks: tuple[Callback, ...]

    def set_callbacks(self, *callbacks: Callback) -> Self:
        """Attach callbacks for the fits to come, in place of earlier ones.

        Parameters
        ----------
        *callbacks : callable
            See `simviz.callbacks`; none at all removes them.

        Returns
        -------
        self
        """
        self._callbacks = callbacks
        return self

    def _notify(self, step: int, total: int, **metrics: float) -> bool:
        """Tell every callback; True if any of them asks to stop."""
        answers = [bool(call(step, total, metrics)) for call in getattr(self, "_callbacks", ())]
        return any(answers)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())  # type: ignore[call-overload]
        state.pop("_callbacks", None)
        return state
