"""Progress reports from inside a fit, and the wish to stop.

A callback is any callable ``callback(step, total, metrics) -> bool | None``.
It is called in the thread that trains, at least once a second in a fit that
lasts longer. A true answer stops the fit; the model is then valid, and its
``n_iter_`` tells how far it came. An evaluation that is stopped raises
`simviz.exceptions.JobCancelled`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self


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
