"""Learning curves of runs, made when somebody asks for them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, Literal

from simviz.callbacks import Callback
from simviz.data import PairSet
from simviz.evaluation.learning import FRACTIONS, learning_curve
from simviz.exceptions import JobCancelled, SimvizError
from simviz.jobs.pool import DaemonPool
from simviz.jobs.spec import BLEND, IMPORTED, JobSpec
from simviz.jobs.threads import limit_threads, threads_per_job
from simviz.pipeline import Pipeline, default_pipeline
from simviz.store.run import Run

_log = logging.getLogger(__name__)
#: Curves that may wait, and those that failed or were stopped that are remembered.
MAX_WAITING, _REMEMBERED = 20, 100


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a learning curve is.

    Parameters
    ----------
    state : {"waiting", "training", "done", "failed", "stopped"}
        "done": it is kept with the run.
    fraction : float
        How much is done, in [0, 1].
    message : str
        Why it failed.
    """

    state: Literal["waiting", "training", "done", "failed", "stopped"]
    fraction: float = 0.0
    message: str = ""

    @property
    def is_active(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ("waiting", "training")


def why_no_curve(run: Run) -> str:
    """Why a run cannot have a learning curve; empty where it can.

    Parameters
    ----------
    run : Run
        What was trained.

    Returns
    -------
    str
        A sentence, or nothing.
    """
    if run.info.method == BLEND:
        return "A blend is not trained; look at the curves of its two parts."
    if run.info.method == IMPORTED:
        return "Imported scores are not trained here."
    return ""


class LearningDesk:
    """Trains a run's method on shares of its training part, in the background.

    The last point is the run itself. A curve is made once, however many ask
    for it, and kept with the run.

    Parameters
    ----------
    executor : concurrent.futures.Executor, optional
        Trains; one thread of its own when omitted.
    """

    def __init__(self, executor: Executor | None = None) -> None:
        self._executor = executor or DaemonPool(1, "simviz-learning")
        self._lock = threading.Lock()
        self._known: dict[str, Progress] = {}

    def ask(self, run: Run, pairs: PairSet) -> Progress:
        """Ask for the learning curve of a run.

        Parameters
        ----------
        run : Run
            What was trained.
        pairs : PairSet
            The data set it was trained on.

        Returns
        -------
        Progress
            As it is now. What failed or was stopped is begun anew.
        """
        if run.learning():
            return Progress("done", 1.0)
        if reason := why_no_curve(run):
            return Progress("failed", message=reason)
        with self._lock:
            known = self._known.get(run.id)
            if known is not None and known.is_active:
                return known
            if sum(p.state == "waiting" for p in self._known.values()) >= MAX_WAITING:
                return Progress("failed", message="Too many curves wait. Ask again in a minute.")
            self._known[run.id] = Progress("waiting")
        self._executor.submit(self._make, run, pairs)
        return Progress("waiting")

    def progress(self, run_id: str) -> Progress | None:
        """How far a curve is; None if it was not asked for, or is kept by now."""
        with self._lock:
            return self._known.get(run_id)

    def stop(self, run_id: str) -> None:
        """Stop making a curve; the fit under way ends at its next step."""
        with self._lock:
            known = self._known.get(run_id)
            if known is not None and known.is_active:
                self._known[run_id] = replace(known, state="stopped")

    def _make(self, run: Run, pairs: PairSet) -> None:
        if not self._tell(run.id, 0.0):
            return
        try:
            limit_threads(threads_per_job(2))
            run.put_learning(learning_records(run, pairs, lambda f: not self._tell(run.id, f)))
        except JobCancelled:
            self._end(run.id, Progress("stopped"))
        except (SimvizError, ValueError) as error:
            self._end(run.id, Progress("failed", message=str(error)))
        except Exception:
            _log.exception("The learning curve of run %s failed.", run.id)
            self._end(run.id, Progress("failed", message="The curve could not be made."))
        else:
            with self._lock:
                self._known.pop(run.id, None)

    def _tell(self, run_id: str, fraction: float) -> bool:
        """Note how far it is; False if it is to stop."""
        with self._lock:
            if self._known[run_id].state == "stopped":
                return False
            self._known[run_id] = Progress("training", fraction)
            return True

    def _end(self, run_id: str, progress: Progress) -> None:
        with self._lock:
            self._known[run_id] = progress
            ended = [key for key, known in self._known.items() if not known.is_active]
            for old in ended[:-_REMEMBERED]:
                del self._known[old]


def learning_records(run: Run, pairs: PairSet, tell: Any) -> list[dict[str, Any]]:
    """Train a run's method on shares of its training part, and measure on its test part.

    Parameters
    ----------
    run : Run
        What was trained; the last point is measured as it stands.
    pairs : PairSet
        The data set it was trained on.
    tell : callable
        Told how much is done, in [0, 1]; answers True to stop.

    Returns
    -------
    list of dict
        See `simviz.evaluation.LearningCurve.to_records`.

    Raises
    ------
    JobCancelled
        If it was told to stop.
    """
    spec = JobSpec.from_json(run.spec)
    at = run.arrays()
    train, validation, test = (
        pairs.take(at[f"x_{part}"], at[f"y_{part}"]) for part in ("train", "validation", "test")
    )
    done = [0.0]

    def during(share: float) -> Callback:
        def heard(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
            return bool(tell(done[0] + share * (step / total if total else 1.0)))

        return heard

    whole = train.relevance.positives.nnz
    work = sum(share for share in FRACTIONS if share < 1)

    def fit(part: PairSet) -> Pipeline:
        if part is train:
            return run.pipeline()
        share = part.relevance.positives.nnz / whole / work
        learned = augmented_part(spec, part, (validation, test))
        pipeline = default_pipeline(spec.method, learned, features=spec.features, **spec.params)
        pipeline.set_callbacks(during(share))
        pipeline.fit(learned, validation)
        pipeline.set_callbacks()
        done[0] += share
        if tell(min(1.0, done[0])):
            raise JobCancelled("Stopped.")
        return pipeline

    side: Literal["x", "y"] = "y" if spec.split.by == "y" else "x"
    curve = learning_curve(fit, train, test, seed=spec.split.seed, side=side)
    return [dict(record) for record in curve.to_records()]


def augmented_part(spec: JobSpec, part: PairSet, held: tuple[PairSet, ...]) -> PairSet:
    """A share of the training part with what augmenting it makes, as the run had it."""
    if not spec.augment:
        return part
    from simviz.data.augment import augment, from_json

    sides = (side for other in held for side in (other.x, other.y))
    texts = [text for side in sides if side.kind == "text" for text in side.content]
    return augment(part, from_json(spec.augment), texts)
