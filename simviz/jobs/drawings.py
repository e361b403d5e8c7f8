"""Drawings that are made when somebody asks for them."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Literal, cast

from simviz.data import PairSet
from simviz.exceptions import SimvizError
from simviz.jobs.pool import DaemonPool, limit_threads, submit_in_turn, threads_per_job
from simviz.jobs.results import pack_map
from simviz.projection.drawing import draw
from simviz.projection.gap import Balance
from simviz.projection.joint import METHODS, Method
from simviz.store.run import Run

_log = logging.getLogger(__name__)


#: Pieces of work that may wait, and those that failed or were stopped that are remembered.
MAX_WAITING, _REMEMBERED = 20, 100


#: What may be done about the gap between the sides; the first where a drawing does not say.
_BALANCES: tuple[Balance, ...] = ("center", "none", "rank")


_NAME = re.compile(rf"({'|'.join(METHODS)})-2(?:-({'|'.join(_BALANCES)}))?")


#: Drawings that may wait, and failures that are remembered.
MAX_WAITING, _REMEMBERED = 20, 100


@dataclass(frozen=True, slots=True)
class Sketch:
    """How far a drawing is."""

    state: Literal["waiting", "drawing", "done", "failed"]
    fraction: float = 0.0
    message: str = ""


def kept_name(drawing: str) -> str:
    """The name under which a run keeps a drawing, see `drawing_name`."""
    return "{}-2-{}".format(*_parsed(drawing))


def _parsed(drawing: str) -> tuple[Method, Balance]:
    found = _NAME.fullmatch(drawing)
    if not found:
        raise ValueError(
            f"A drawing is a method ({', '.join(METHODS)}) and 2 dimensions, such as "
            f"'umap-2', and may name a balance ({', '.join(_BALANCES)}); got {drawing!r}."
        )
    return cast(Method, found[1]), cast(Balance, found[2] or _BALANCES[0])


class DrawingDesk:
    """Makes drawings of runs in the background and keeps them with the run."""

    # The same drawing is made once, however many ask for it. What is made is in the store:
    # everybody who may see the run sees the same picture.

    def __init__(self, executor: Executor | None = None) -> None:
        self._executor = executor or DaemonPool(1, "simviz-drawing")
        self._lock = threading.Lock()
        self._sketches: dict[tuple[str, str], Sketch] = {}

    def ask(self, run: Run, pairs: PairSet, drawing: str, workspace: str = "") -> Sketch:
        """Ask for a drawing, or how far it is."""
        method, balance = _parsed(drawing)
        key = run.id, drawing
        if kept_name(drawing) in run.maps():
            with self._lock:
                self._sketches.pop(key, None)
            return Sketch("done", 1.0)
        with self._lock:
            if key in self._sketches:
                return self._sketches[key]
            if sum(s.state == "waiting" for s in self._sketches.values()) >= MAX_WAITING:
                return Sketch("failed", message="Too many drawings wait. Ask again in a minute.")
            self._sketches[key] = Sketch("waiting")
        options = {"method": method, "balance": balance}
        whose = (workspace,)
        submit_in_turn(self._executor, lambda: whose, self._draw, run, pairs, drawing, options)
        return Sketch("waiting")

    def progress(self, run_id: str, drawing: str) -> Sketch | None:
        """How far a drawing is; None if it was not asked for, or is kept by now."""
        with self._lock:
            return self._sketches.get((run_id, drawing))

    def forget(self, run_id: str, drawing: str) -> None:
        """Forget that a drawing failed, so that it may be asked for again."""
        with self._lock:
            sketch = self._sketches.get((run_id, drawing))
            if sketch is not None and sketch.state == "failed":
                del self._sketches[run_id, drawing]

    def _draw(self, run: Run, pairs: PairSet, drawing: str, options: Mapping[str, Any]) -> None:
        key = run.id, drawing

        def heard(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
            # What comes after the last epoch, measuring the quality, takes a while too.
            self._tell(key, Sketch("drawing", 0.9 * step / total if total else 0.0))
            return False

        try:
            self._tell(key, Sketch("drawing"))
            limit_threads(threads_per_job(2))
            seed = int(run.spec["split"]["seed"])
            made = draw(
                run.pipeline(),
                pairs,
                seed=seed,
                callback=heard,
                **options,
            )
            run.put_map(kept_name(drawing), *pack_map(*made))
        except SimvizError as error:
            self._tell(key, Sketch("failed", message=str(error)))
        except Exception:
            _log.exception("Drawing %s of run %s failed.", drawing, run.id)
            self._tell(
                key, Sketch("failed", message="The drawing could not be made. Take another one.")
            )
        else:
            with self._lock:
                self._sketches.pop(key, None)

    def _tell(self, key: tuple[str, str], sketch: Sketch) -> None:
        with self._lock:
            self._sketches[key] = sketch
            failed = [k for k, s in self._sketches.items() if s.state == "failed"]
            for old in failed[:-_REMEMBERED]:
                del self._sketches[old]
