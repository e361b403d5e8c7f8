"""Curves of a finished run: models of fewer pairs or dimensions, trained for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from sklearn.base import clone

from simviz.base import EmbeddingModel
from simviz.callbacks import Callback
from simviz.data import PairSet
from simviz.evaluation.curves import FRACTIONS, learning_curve
from simviz.evaluation.result import DIRECTIONS, Direction
from simviz.evaluation.scoring import evaluate
from simviz.exceptions import JobCancelled
from simviz.jobs.background import ReportFraction, step_callback
from simviz.jobs.spec import JobSpec
from simviz.jobs.training import fit
from simviz.methods import all_methods
from simviz.pipeline import PairPipeline, Pipeline
from simviz.ranking import Ranking
from simviz.store.datasets import default_query_side
from simviz.store.run import MEASURED, Part, Run

#: Dimensions of a curve whose models are trained one by one.
_DIMENSIONS = (5, 10, 25, 50, 100, 200)


def why_no_curve(run: Run) -> str:
    """Why a run cannot have a learning curve; empty where it can."""
    return JobSpec.from_json(run.spec).why_no_curve


def train_on_shares(run: Run, pairs: PairSet, part: Part, report: ReportFraction) -> None:
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
        pipeline, _ = fit(spec, part, validation, test, step_callback(report, done, share))
        done += share
        if report(min(1.0, done)):
            raise JobCancelled("Stopped.")
        return pipeline

    side: Literal["x", "y"] = "y" if spec.split.by == "y" else "x"
    held_out = test if part == "test" else validation
    curve = learning_curve(fitted, train, held_out, seed=spec.split.seed, side=side)
    run.write_objects(f"{part}/learning", {"records": curve.to_records()})


def smaller_dimensions(run: Run) -> list[int]:
    """Dimensions at which smaller models of a run's method are trained for its curve."""
    cls = all_methods().get(run.info.method)
    if cls is None or not issubclass(cls, EmbeddingModel) or cls.tags.nested:
        return []
    own = cls(**JobSpec.from_json(run.spec).params).get_params().get("n_components", 0)
    return [k for k in _DIMENSIONS if k < own]


def train_dimensions(run: Run, pairs: PairSet, report: ReportFraction) -> None:
    """Train smaller models of a run's method, and keep how they rank both parts with the run."""
    train, *held_out = (run.take(pairs, name) for name in ("train", "validation", "test"))
    parts: dict[Part, PairSet] = dict(zip(MEASURED, held_out, strict=True))
    dimensions = smaller_dimensions(run)
    first = default_query_side(run.info.dataset_id, pairs).direction
    directions = DIRECTIONS if first == "x2y" else DIRECTIONS[::-1]
    ranks: dict[Part, dict[int, Mapping[Direction, Ranking]]] = {part: {} for part in run.measured}
    fraction = 0.0

    def callback(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
        return report(fraction)

    smaller = _smaller(run, dimensions, train, parts["validation"], parts["test"], callback)
    for k, pipeline in zip(dimensions, smaller, strict=False):
        for part, rankings in ranks.items():
            sides = parts[part].x, parts[part].y, parts[part].relevance
            rankings[k] = evaluate(pipeline, *sides, ["MRR"], directions=directions).rankings
        fraction += k / sum(dimensions)
        if report(fraction):
            raise JobCancelled("Stopped.")
    for part, rankings in ranks.items():
        run.write_objects(f"{part}/smaller", {"ranks": rankings})


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
