"""Work on finished runs: measured further, drawn again, or brought from elsewhere."""

from __future__ import annotations

import hashlib
import logging
import re
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
from sklearn.base import clone

from simviz import compilation
from simviz.base import EmbeddingModel
from simviz.callbacks import Callback
from simviz.data import PairSet
from simviz.evaluation.curves import FRACTIONS, learning_curve
from simviz.evaluation.result import Direction
from simviz.evaluation.scoring import evaluate
from simviz.evaluation.trec import ImportedRun
from simviz.exceptions import JobCancelled, JobError, SimvizError, StoreError
from simviz.jobs.memory import watched
from simviz.jobs.spec import ImportSpec, JobSpec, SplitSpec
from simviz.jobs.training import fit
from simviz.jobs.worker import DaemonPool, limit_threads, submit_for, threads_per_job
from simviz.methods import all_methods
from simviz.pipeline import PairPipeline, Pipeline
from simviz.projection.joint import METHODS, Balance, JointMap
from simviz.projection.layout import align
from simviz.projection.pipeline_map import DRAWING, draw
from simviz.projection.quality import N_SEEDS, points_moved
from simviz.ranking import Ranking
from simviz.store.datasets import default_query_side
from simviz.store.run import IMPORTED, MEASURED, Part, Run, RunResult, load_map
from simviz.store.store import Store

#: Takes the share that is done, in [0, 1]; returns True to stop.
Report = Callable[[float], bool]
#: Pieces of work that may wait, and those that failed or were stopped that are remembered.
MAX_WAITING, _MAX_ENDED = 20, 100
#: Dimensions of a curve whose models are trained one by one.
_DIMENSIONS = (5, 10, 25, 50, 100, 200)
#: Pairs of a test part that are ranked at once, while somebody waits.
MAX_PAIRS = 100_000_000
#: What may be done about the gap between the sides; the first where a drawing does not say.
_BALANCES: tuple[Balance, ...] = ("center", "none", "rank")
#: Shares of the forces across the sides, in percent; the first where a drawing does not say.
SHARES = (70, 30, 50, 90)
#: The drawing that is made first, being quick, and the one that lies on it.
QUICK_LAYOUT, DEFAULT_LAYOUT = "mds-2", "two-sided-2"
_FLAT = [method for method in METHODS if method != "two-sided"]
_DRAWING = re.compile(
    rf"(?:({'|'.join(_FLAT)})-2(?:-({'|'.join(_BALANCES)}))?"
    rf"|two-sided-2(?:-({'|'.join(map(str, SHARES))}))?)"
)
#: Of the work of a drawing, what is done after the last epoch: its quality is measured then.
_LAYOUT = 0.9
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a piece of work is."""

    state: Literal["waiting", "working", "failed", "stopped"]
    fraction: float = 0.0
    message: str = ""

    @property
    def is_active(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ("waiting", "working")


class Background:
    """Does pieces of work one after the other, in a thread of its own; workspaces in turn."""

    def __init__(
        self,
        executor: Executor | None = None,
        *,
        busy: str = "Too much waits already. Ask again in a minute.",
        broken: str = "This could not be done.",
    ) -> None:
        self._executor = executor or DaemonPool(1, "simviz-background")
        self._busy, self._broken = busy, broken
        self._lock = threading.Lock()
        self._known: dict[Hashable, Progress] = {}

    def submit(
        self, key: Hashable, work: Callable[[Report], object], workspace: str = ""
    ) -> Progress:
        """Do a piece of work soon, unless it waits or runs already."""
        with self._lock:
            known = self._known.get(key)
            if known is not None and known.is_active:
                return known
            if sum(p.state == "waiting" for p in self._known.values()) >= MAX_WAITING:
                return Progress("failed", message=self._busy)
            waiting = self._known[key] = Progress("waiting")
        submit_for(self._executor, lambda: (workspace,), self._do, key, work)
        return waiting

    def progress(self, key: Hashable) -> Progress | None:
        """Return how far it is; None if it was never submitted, or is done."""
        with self._lock:
            return self._known.get(key)

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits or runs."""
        with self._lock:
            return not any(progress.is_active for progress in self._known.values())

    def stop(self, key: Hashable) -> None:
        """Stop a piece of work; it ends at its next step."""
        with self._lock:
            known = self._known.get(key)
            if known is not None and known.is_active:
                self._known[key] = replace(known, state="stopped")

    def forget(self, key: Hashable) -> None:
        """Forget that a piece of work failed."""
        with self._lock:
            known = self._known.get(key)
            if known is not None and not known.is_active:
                del self._known[key]

    def _do(self, key: Hashable, work: Callable[[Report], object]) -> None:
        if self._report(key, 0.0):
            return
        try:
            limit_threads(threads_per_job(2))
            with watched(key) as require:

                def report(fraction: float) -> bool:
                    require()
                    return self._report(key, fraction)

                work(report)
        except JobCancelled:
            self._end(key, Progress("stopped"))
        except (SimvizError, ValueError) as error:
            self._end(key, Progress("failed", message=str(error)))
        except Exception:
            _log.exception("work in the background failed")
            self._end(key, Progress("failed", message=self._broken))
        else:
            with self._lock:
                self._known.pop(key, None)

    def _report(self, key: Hashable, fraction: float) -> bool:
        """Note how far it is; return True if it is to stop."""
        with self._lock:
            if self._known[key].state == "stopped":
                return True
            self._known[key] = Progress("working", fraction)
            return False

    def _end(self, key: Hashable, progress: Progress) -> None:
        with self._lock:
            self._known[key] = progress
            ended = [key for key, known in self._known.items() if not known.is_active]
            for old in ended[:-_MAX_ENDED]:
                del self._known[old]


def why_no_curve(run: Run) -> str:
    """Why a run cannot have a learning curve; empty where it can."""
    return JobSpec.from_json(run.spec).why_no_curve


def train_on_shares(run: Run, pairs: PairSet, part: Part, report: Report) -> None:
    """Train a run's method on shares of its training part, and keep how good that is on a part."""
    spec = JobSpec.from_json(run.spec)
    train, validation, test = (run.take(pairs, name) for name in ("train", "validation", "test"))
    done = 0.0
    whole = train.relevance.positives.nnz
    work = sum(share for share in FRACTIONS if share < 1)

    def fitted(part: PairSet) -> Pipeline:
        nonlocal done
        if part is train:
            return run.pipeline()
        share = part.relevance.positives.nnz / whole / work
        pipeline, _ = fit(spec, part, validation, test, _callback(report, done, share))
        done += share
        if report(min(1.0, done)):
            raise JobCancelled("Stopped.")
        return pipeline

    side: Literal["x", "y"] = "y" if spec.split.by == "y" else "x"
    held_out = test if part == "test" else validation
    curve = learning_curve(fitted, train, held_out, seed=spec.split.seed, side=side)
    run.keep(f"{part}/learning", {"records": curve.to_records()})


def smaller_dimensions(run: Run) -> list[int]:
    """Dimensions at which smaller models of a run's method are trained for its curve."""
    cls = all_methods().get(run.info.method)
    if cls is None or not issubclass(cls, EmbeddingModel) or cls.tags.nested:
        return []
    own = cls(**JobSpec.from_json(run.spec).params).get_params().get("n_components", 0)
    return [k for k in _DIMENSIONS if k < own]


def train_dimensions(run: Run, pairs: PairSet, report: Report) -> None:
    """Train smaller models of a run's method, and keep how they rank both parts with the run."""
    train, *held_out = (run.take(pairs, name) for name in ("train", "validation", "test"))
    parts: dict[Part, PairSet] = dict(zip(MEASURED, held_out, strict=True))
    dimensions = smaller_dimensions(run)
    asks = default_query_side(run.info.dataset_id, pairs).direction
    directions: tuple[Direction, ...] = ("x2y", "y2x") if asks == "x2y" else ("y2x", "x2y")
    ranks: dict[Part, dict[int, Mapping[Direction, Ranking]]] = {part: {} for part in run.measured}
    reached = 0.0

    def callback(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
        return report(reached)

    smaller = _smaller(run, dimensions, train, parts["validation"], parts["test"], callback)
    for k, pipeline in zip(dimensions, smaller, strict=False):
        for part, rankings in ranks.items():
            sides = parts[part].x, parts[part].y, parts[part].relevance
            rankings[k] = evaluate(pipeline, *sides, ["MRR"], directions=directions).rankings
        reached += k / sum(dimensions)
        if report(reached):
            raise JobCancelled("Stopped.")
    for part, rankings in ranks.items():
        run.keep(f"{part}/smaller", {"ranks": rankings})


def _smaller(
    run: Run,
    dimensions: Sequence[int],
    train: PairSet,
    validation: PairSet,
    test: PairSet,
    callback: Callback,
) -> Iterator[PairPipeline]:
    """Pipelines of ascending dimensions; where a method can, each starts from the one before."""
    spec, own = JobSpec.from_json(run.spec), run.pipeline()
    assert isinstance(own, PairPipeline)
    if spec.augment or not hasattr(own.model, "fit_dimensions"):
        for k in dimensions:
            one = replace(spec, params={**spec.params, "n_components": k})
            yield fit(one, train, validation, test, callback)[0]
        return
    sides = [(own.rows(part.x, "x"), own.rows(part.y, "y")) for part in (train, validation)]
    judged = train.relevance, validation.relevance
    model = clone(own.model).set_callbacks(callback)
    for fitted in model.fit_dimensions(dimensions, *sides[0], judged[0], *sides[1], judged[1]):
        pipeline = clone(own)
        pipeline.x_features_, pipeline.y_features_ = own.x_features_, own.y_features_
        pipeline.model_ = fitted.set_callbacks()
        yield pipeline


def kept_name(drawing: str) -> str:
    """Return the name under which a run keeps a drawing: "mds-2-center", "two-sided-2-70"."""
    options = _options(drawing)
    share = options.get("share")
    how = options["balance"] if share is None else f"{100 * share:.0f}"
    return f"{options['method']}-2-{how}"


def draw_run(
    background: Background, run: Run, pairs: PairSet, drawing: str, workspace: str = ""
) -> Progress | None:
    """Have a drawing made and kept with the run, once for all; return None if it is there."""
    key = (run.id, drawing)
    if kept_name(drawing) in run.maps():
        background.forget(key)
        return None
    if (progress := background.progress(key)) is not None:
        return progress
    return background.submit(key, lambda report: draw_now(run, pairs, drawing, report), workspace)


def draw_now(
    run: Run, pairs: PairSet, drawing: str, report: Report = lambda fraction: False
) -> None:
    """Make a drawing and keep it with the run."""
    seed = int(run.spec["split"]["seed"])
    callback = _callback(report, 0.0, _LAYOUT)
    options = _options(drawing)
    compilation.wait(options["method"], lambda: report(0.0))
    made, *drawn = draw(run.pipeline(), pairs, seed=seed, callback=callback, **options)
    if made.method == "two-sided" and DRAWING in run.maps():
        made = aligned_drawing(made, load_map(run, DRAWING)[0])
    run.put_map(kept_name(drawing), made, *drawn)


def aligned_drawing(made: JointMap, first: JointMap) -> JointMap:
    """A drawing turned to lie on another, what is in its lower left corner there again."""
    points = np.concatenate([made.x, made.y])
    points = points - points.mean(axis=0)
    turned = align(points, np.concatenate([first.x, first.y]))
    turned = turned - turned.mean(axis=0)
    if not (size := np.linalg.norm(turned)) > 0:
        return made
    # In its own units: new items are placed by a kernel of their size.
    turned *= np.linalg.norm(points) / size
    # Items of which nothing is known lie in one place outside all others.
    is_apart = (points == points.min(axis=0)).all(axis=1)
    if is_apart.any() and not is_apart.all():
        rest = turned[~is_apart]
        turned[is_apart] = rest.min(axis=0) - 0.03 * np.ptp(rest, axis=0)
    return replace(made, x=turned[: len(made.x)], y=turned[len(made.x) :])


def redraw_run(
    background: Background, run: Run, pairs: PairSet, drawing: str, workspace: str = ""
) -> Progress | None:
    """Draw a kept drawing from other seeds, to keep where items land; None if that is known."""
    name, key = kept_name(drawing), (run.id, drawing, "seeds")
    made, x_drawn, y_drawn = load_map(run, name)
    quality = made.quality
    if quality is None or quality.moved is not None:
        background.forget(key)
        return None
    if (progress := background.progress(key)) is not None:
        return progress

    def work(report: Report) -> None:
        pipeline, drawn = run.pipeline(), pairs.take(x_drawn, y_drawn)
        others = []
        for k in range(N_SEEDS):
            callback = _callback(report, k / N_SEEDS, 1 / N_SEEDS)
            seed = made.seed + 1 + k
            options = _options(drawing) | {"seed": seed, "quality": False, "callback": callback}
            other = draw(pipeline, drawn, **options)[0]
            others.append((other.x, other.y))
            if report((k + 1) / N_SEEDS):
                raise JobCancelled("Stopped.")
        moved = points_moved((made.x, made.y), others)
        run.put_map(name, replace(made, quality=replace(quality, moved=moved)), x_drawn, y_drawn)

    return background.submit(key, work, workspace)


def _options(drawing: str) -> dict[str, Any]:
    """Return the options of `joint_map` that a drawing's name stands for."""
    match = _DRAWING.fullmatch(drawing)
    if not match:
        raise ValueError(
            f"A drawing is a method ({', '.join(_FLAT)}) and 2 dimensions, such as 'umap-2', and "
            f"may name a balance ({', '.join(_BALANCES)}), or 'two-sided-2' and may name percent "
            f"({', '.join(map(str, SHARES))}); got {drawing!r}."
        )
    if match[1] is None:
        return {"method": "two-sided", "share": int(match[3] or SHARES[0]) / 100}
    return {"method": match[1], "balance": match[2] or _BALANCES[0]}


def _callback(report: Report, start: float = 0.0, share: float = 1.0) -> Callback:
    """Return a callback for a share of the work."""

    def callback(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
        return report(start + share * (step / total if total else 1.0))

    return callback


def keep_run(
    store: Store,
    dataset_id: str,
    pairs: PairSet,
    run: ImportedRun,
    split: SplitSpec,
    workspace: str,
) -> str:
    """Measure imported scores as a trained method is, and keep them as a run."""
    params = {"name": run.name[:80], "scores": _digest(run), "notes": list(run.notes)}
    spec = ImportSpec(dataset_id, pairs.digest, IMPORTED, params, split, workspace=workspace)
    if spec.is_demo:
        raise JobError(
            "Runs on a demo are seen by all visitors. Keep the demo's pairs as a data set of your "
            "own first, then import the run there."
        )
    # A side that is not divided competes whole.
    shares = [share**2 if split.by == "pair" else share for share in split.fractions[1:]]
    n_pairs = len(pairs.x) * len(pairs.y) * sum(shares)
    if n_pairs > MAX_PAIRS:
        raise JobError(
            f"Validation and test have about {n_pairs:,.0f} pairs; up to {MAX_PAIRS:,} are "
            "measured at once. Measure it in Python, or choose smaller parts."
        )
    run_id = spec.digest
    if store.runs.has(run_id):
        return run_id
    result = spec.run(pairs, {"scores": run.pipeline}, lambda stage, fraction, metrics: False)
    if not store.runs.put(run_id, cast(RunResult, result), spec.to_json(), workspace):
        raise StoreError("There is such a run already.")
    return run_id


def _digest(run: ImportedRun) -> str:
    """Of the scores, whatever the file is called."""
    h = hashlib.blake2b(digest_size=16)
    for part, dtype in (("indptr", "<i8"), ("indices", "<i8"), ("data", "<f8")):
        h.update(getattr(run.scores, part).astype(dtype).tobytes())
    return h.hexdigest()
