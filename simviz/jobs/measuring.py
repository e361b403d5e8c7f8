"""Measuring finished runs again: one more part, or by the size of training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from simviz.callbacks import Callback
from simviz.data import PairSet
from simviz.evaluation.curves import FRACTIONS, learning_curve
from simviz.exceptions import JobCancelled
from simviz.jobs.background import Tell
from simviz.jobs.results import part_files
from simviz.jobs.spec import BLEND, IMPORTED, JobSpec
from simviz.jobs.training import has_scores, measure
from simviz.pipeline import Pipeline, default_pipeline
from simviz.store.records import usual_asking
from simviz.store.run import Part, Run
from simviz.store.store import Store


def why_not_measured(run: Run, part: Part, pairs: PairSet) -> str:
    """Why a run cannot be measured on a part; empty where it can."""
    if run.info.method == IMPORTED and not has_scores(run.pipeline(), _part(run, pairs, part)):
        return f"It was imported without scores for the {part} part."
    return ""


def measure_run(store: Store, run: Run, pairs: PairSet, part: Part, tell: Tell) -> None:
    """Measure a stored run on a part of its split, and keep what is found out with it."""

    def heard(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
        return tell(step / total if total else 1.0)

    points = run.spec.get("dimensions")
    sides = _part(run, pairs, "train"), _part(run, pairs, part)
    asks = usual_asking(run.info.dataset_id, pairs).direction
    found = measure(run.pipeline(), *sides, points, heard, asks=asks)
    store.put_part(run.id, part, part_files(found))


def _part(run: Run, pairs: PairSet, part: str) -> PairSet:
    at = run.arrays()
    return pairs.take(at[f"x_{part}"], at[f"y_{part}"])


def why_no_curve(run: Run) -> str:
    """Why a run cannot have a learning curve; empty where it can."""
    if run.info.method == BLEND:
        return "A blend is not trained; look at the curves of its two parts."
    if run.info.method == IMPORTED:
        return "Imported scores are not trained here."
    return ""


def learning_records(run: Run, pairs: PairSet, part: Part, tell: Tell) -> list[dict[str, Any]]:
    """Train a run's method on shares of its training part, and measure on another part."""
    spec = JobSpec.from_json(run.spec)
    at = run.arrays()
    train, validation, test = (
        pairs.take(at[f"x_{part}"], at[f"y_{part}"]) for part in ("train", "validation", "test")
    )
    done = [0.0]

    def during(share: float) -> Callback:
        def heard(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
            return tell(done[0] + share * (step / total if total else 1.0))

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
    held_out = test if part == "test" else validation
    curve = learning_curve(fit, train, held_out, seed=spec.split.seed, side=side)
    return [dict(record) for record in curve.to_records()]


def augmented_part(spec: JobSpec, part: PairSet, held: tuple[PairSet, ...]) -> PairSet:
    """A share of the training part with what augmenting it makes, as the run had it."""
    if not spec.augment:
        return part
    from simviz.data.augment import augment, from_json

    sides = (side for other in held for side in (other.x, other.y))
    texts = [text for side in sides if side.kind == "text" for text in side.content]
    return augment(part, from_json(spec.augment), texts)
