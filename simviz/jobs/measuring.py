"""Work on finished runs: one more part measured, a learning curve, another drawing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, cast

from simviz.callbacks import Callback
from simviz.data import PairSet
from simviz.evaluation.curves import FRACTIONS, learning_curve
from simviz.exceptions import JobCancelled
from simviz.jobs.background import Background, Progress, Tell
from simviz.jobs.spec import JobSpec
from simviz.jobs.training import augmented_part, has_scores, measure
from simviz.pipeline import Pipeline, default_pipeline
from simviz.projection.drawing import draw
from simviz.projection.joint import METHODS, Balance, Method
from simviz.store.datasets import usual_asking
from simviz.store.run import Part, Run
from simviz.store.store import Store

#: What may be done about the gap between the sides; the first where a drawing does not say.
_BALANCES: tuple[Balance, ...] = ("center", "none", "rank")
_DRAWING = re.compile(rf"({'|'.join(METHODS)})-2(?:-({'|'.join(_BALANCES)}))?")
#: Of the work of a drawing, what is done after the last epoch: its quality is measured then.
_LAYOUT = 0.9


def why_not_measured(run: Run, part: Part, pairs: PairSet) -> str:
    """Why a run cannot be measured on a part; empty where it can."""
    if run.info.is_imported and not has_scores(run.pipeline(), _part(run, pairs, part)):
        return f"It was imported without scores for the {part} part."
    return ""


def measure_run(store: Store, run: Run, pairs: PairSet, part: Part, tell: Tell) -> None:
    """Measure a stored run on a part of its split, and keep what is found out with it."""
    points = run.spec.get("dimensions")
    sides = _part(run, pairs, "train"), _part(run, pairs, part)
    asks = usual_asking(run.info.dataset_id, pairs).direction
    found = measure(run.pipeline(), *sides, points, _callback(tell), asks=asks)
    store.runs.put_part(run.id, part, found)


def _part(run: Run, pairs: PairSet, part: str) -> PairSet:
    at = run.arrays()
    return pairs.take(at[f"x_{part}"], at[f"y_{part}"])


def why_no_curve(run: Run) -> str:
    """Why a run cannot have a learning curve; empty where it can."""
    return JobSpec.from_json(run.spec).why_no_curve


def learning_records(run: Run, pairs: PairSet, part: Part, tell: Tell) -> list[dict[str, Any]]:
    """Train a run's method on shares of its training part, and measure on another part."""
    spec = JobSpec.from_json(run.spec)
    train, validation, test = (_part(run, pairs, name) for name in ("train", "validation", "test"))
    done = 0.0
    whole = train.relevance.positives.nnz
    work = sum(share for share in FRACTIONS if share < 1)

    def fit(part: PairSet) -> Pipeline:
        nonlocal done
        if part is train:
            return run.pipeline()
        share = part.relevance.positives.nnz / whole / work
        learned = augmented_part(spec.augment, part, (validation, test))
        pipeline = default_pipeline(spec.method, learned, features=spec.features, **spec.params)
        pipeline.set_callbacks(_callback(tell, done, share))
        pipeline.fit(learned, validation)
        pipeline.set_callbacks()
        done += share
        if tell(min(1.0, done)):
            raise JobCancelled("Stopped.")
        return pipeline

    side: Literal["x", "y"] = "y" if spec.split.by == "y" else "x"
    held_out = test if part == "test" else validation
    curve = learning_curve(fit, train, held_out, seed=spec.split.seed, side=side)
    return [dict(record) for record in curve.to_records()]


def kept_name(drawing: str) -> str:
    """Return the name under which a run keeps a drawing, see `drawing_name`."""
    return "{}-2-{}".format(*_parsed(drawing))


def draw_run(
    background: Background, run: Run, pairs: PairSet, drawing: str, workspace: str = ""
) -> Progress | None:
    """Have a drawing made and kept with the run, once for all; return None if it is there."""
    method, balance = _parsed(drawing)
    name, key = kept_name(drawing), (run.id, drawing)
    if name in run.maps():
        background.forget(key)
        return None
    if (progress := background.progress(key)) is not None:
        return progress

    def work(tell: Tell) -> None:
        seed = int(run.spec["split"]["seed"])
        callback = _callback(tell, 0.0, _LAYOUT)
        made = draw(
            run.pipeline(), pairs, seed=seed, callback=callback, method=method, balance=balance
        )
        run.put_map(name, *made)

    return background.submit(key, work, workspace)


def _parsed(drawing: str) -> tuple[Method, Balance]:
    found = _DRAWING.fullmatch(drawing)
    if not found:
        raise ValueError(
            f"A drawing is a method ({', '.join(METHODS)}) and 2 dimensions, such as "
            f"'umap-2', and may name a balance ({', '.join(_BALANCES)}); got {drawing!r}."
        )
    return cast(Method, found[1]), cast(Balance, found[2] or _BALANCES[0])


def _callback(tell: Tell, start: float = 0.0, share: float = 1.0) -> Callback:
    """Return a callback for a share of the work."""

    def callback(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
        return tell(start + share * (step / total if total else 1.0))

    return callback
