"""The work of a job: from pairs to a trained and measured model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from simviz.base import EmbeddingModel
from simviz.callbacks import Callback, within
from simviz.data import Items, PairSet, Split
from simviz.data.augment import augment, from_json
from simviz.evaluation._tuning_fits import UnitBy
from simviz.evaluation.curves import dimension_curve
from simviz.evaluation.metrics import Metric
from simviz.evaluation.result import DIRECTIONS, Direction, Evaluation, PartResult
from simviz.evaluation.scoring import ChanceScorer, PopularityScorer, Scorer, evaluate
from simviz.evaluation.tuning import Selection, development, search
from simviz.exceptions import JobCancelled
from simviz.jobs.cost import searched_pipeline
from simviz.pipeline import PairPipeline, Pipeline, default_pipeline
from simviz.store.datasets import default_query_side
from simviz.store.run import Part, RunResult

if TYPE_CHECKING:
    from simviz.jobs.spec import JobSpec, Report, SplitSpec


def train(
    spec: JobSpec,
    pairs: PairSet,
    report: Report,
    ready: Callable[[PairSet], Pipeline] | None = None,
) -> RunResult:
    """Split, fit and measure the data set that a request names.

    `ready` makes a pipeline of the training part in place of fitting one, such as a blend or
    imported scores. A true answer of `report` raises JobCancelled: there is no result then,
    however far the model came. A DatasetError or ValueError says where data or a parameter do not
    fit.
    """
    progress = _Progress(report)
    progress.report("reading")
    parts = spec.split.apply(pairs)
    notes = list(parts.notes)

    progress.report("features")
    pipeline: Pipeline
    if ready is not None:
        pipeline = ready(parts.train)
    else:
        # The method speaks first when its features are there.
        held_out = parts.validation, parts.test
        pipeline, more = fit(spec, parts.train, *held_out, progress.during("training"))
        if more:
            notes.append(f"Trained on {more:,} more texts, made from those of the training part.")
        notes += _shortfall(pipeline)
    progress.report("training", 1.0)

    progress.report("scoring")
    measured: dict[Part, PartResult] = {}
    query_direction = default_query_side(spec.dataset_id, pairs).direction
    done = 0.0
    for part, share in measurable(parts, pipeline if spec.may_lack_scores else None).items():
        callback = progress.during("scoring", done, done + share)
        measured[part] = measure(
            pipeline,
            parts.train,
            getattr(parts, part),
            spec.dimensions,
            callback,
            query_direction=query_direction,
        )
        done += share
        progress.report("scoring", done, _figures(part, measured[part].evaluation))

    index = {"x": parts.x_index, "y": parts.y_index}
    return RunResult(
        pipeline=pipeline,
        measured=measured,
        parts={f"{side}_{part}": at for side in index for part, at in index[side].items()},
        notes=tuple(notes),
        seconds=progress.seconds(),
    )


def fit(
    spec: JobSpec, train: PairSet, validation: PairSet, test: PairSet, callback: Callback
) -> tuple[PairPipeline, int]:
    """Fit what is asked for; return it and how many texts were made to be trained on."""
    learned = augmented(spec.augment, train, (validation, test))
    pipeline = default_pipeline(spec.method, learned, features=spec.features, **spec.params)
    pipeline.set_callbacks(callback)
    pipeline.fit(learned, validation)
    pipeline.set_callbacks()
    return pipeline, len(learned.x) - len(train.x)


def run_search(spec: JobSpec, pairs: PairSet, report: Report) -> Selection:
    """Try the settings without the test part."""
    request: Mapping[str, Any] = spec.search or {}
    how, parts = spec.split, spec.split.apply(pairs)
    pipeline = searched_pipeline(spec, parts.train)
    validate = request["folds"] == 1

    def callback(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
        return report("searching", step / total if total else 0.0, {})

    return search(
        pipeline,
        parts.train if validate else development(pairs, parts),
        request["params"],
        cv=parts.validation if validate else request["folds"],
        by=unit_of(how, pairs),
        group_key=how.group_key,
        metric=request["metric"],
        direction=default_query_side(spec.dataset_id, pairs).direction,
        n_iter=request["n_iter"],
        seed=how.seed,
        callback=callback,
    )


def unit_of(how: SplitSpec, pairs: PairSet) -> UnitBy:
    """What is kept apart within train and validation, as the split keeps it apart."""
    if how.by not in ("column", "time"):
        return cast("UnitBy", how.by)
    default = "split" if how.by == "column" else "date"
    sides = [(how.group_key or default) in side.metadata for side in (pairs.x, pairs.y)]
    return "pair" if all(sides) else "x" if sides[0] else "y"


def measure(
    pipeline: Pipeline,
    train: PairSet,
    held_out: PairSet,
    dimensions: Sequence[int] | None = None,
    callback: Callback | None = None,
    *,
    query_direction: Direction = "x2y",
    metric: Metric | None = None,
) -> PartResult:
    """Measure a trained pipeline, and what knows nothing, on a part of a split."""
    # By the usual metrics, and by a further one if asked.
    sides = (held_out.x, held_out.y, held_out.relevance)
    directions = DIRECTIONS if query_direction == "x2y" else DIRECTIONS[::-1]
    inner = within(callback, 0.0, 0.4)
    evaluation = evaluate(pipeline, *sides, directions=directions, callback=inner)
    if metric is not None and metric not in evaluation.metrics:
        evaluation = replace(evaluation, metrics=(*evaluation.metrics, metric))
    scorers: dict[str, Scorer[Items]] = {
        "popularity": PopularityScorer(train),
        "chance": ChanceScorer(),
    }
    baselines = {}
    for i, (name, scorer) in enumerate(scorers.items()):
        inner = within(callback, 0.4 + 0.2 * i, 0.6 + 0.2 * i)
        baselines[name] = evaluate(scorer, *sides, metrics=evaluation.metrics, callback=inner)
    curve = _curve(pipeline, held_out, dimensions, within(callback, 0.8, 1.0))
    return PartResult.of(evaluation, baselines, curve)


def measurable(parts: Split, imported: Pipeline | None) -> dict[Part, float]:
    """Parts to measure with their shares of the work, the smaller first: its figures come soon."""
    # An imported run has the parts for which it brings scores.
    held_out: dict[Part, PairSet] = {"validation": parts.validation, "test": parts.test}
    if imported is not None:
        scored = {part: pairs for part, pairs in held_out.items() if _has_scores(imported, pairs)}
        held_out = scored or held_out
    sizes = {part: len(pairs.x) * len(pairs.y) for part, pairs in held_out.items()}
    return {
        part: sizes[part] / sum(sizes.values()) for part in sorted(sizes, key=sizes.__getitem__)
    }


def _has_scores(pipeline: Pipeline, part: PairSet) -> bool:
    return any(block.any() for block in pipeline.iter_similarity(part.x, part.y))


def _figures(part: Part, evaluation: Evaluation) -> dict[str, float]:
    """What to tell while the rest is measured: MRR, else the first metric there is."""
    metric = next((m for m in evaluation.metrics if m.name == "MRR"), evaluation.metrics[0])
    value = evaluation.value(metric)
    return {} if value != value else {f"{part} {metric.name}": value}


def augmented(
    steps: Sequence[Mapping[str, Any]], part: PairSet, held_out: Sequence[PairSet]
) -> PairSet:
    """Return a training part with what augmenting it makes, texts of other parts excepted."""
    if not steps:
        return part
    return augment(part, from_json(steps), texts_of(held_out))


def texts_of(parts: Iterable[PairSet]) -> list[str]:
    """Texts of both sides of some parts: of what is held out, nothing is made."""
    sides = (side for part in parts for side in (part.x, part.y))
    return [text for side in sides if side.kind == "text" for text in side.content]


class _Progress:
    """Tells of progress within stages, times them, and stops the job."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._entered: dict[str, float] = {}

    def report(
        self, stage: str, done: float = 0.0, metrics: Mapping[str, float] | None = None
    ) -> None:
        if self._stops(stage, done, metrics or {}):
            raise JobCancelled("Cancelled.")

    def during(self, stage: str, start: float = 0.0, stop: float = 1.0) -> Callback:
        """A callback for work between two points of a stage."""

        def inner(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
            done = start + (stop - start) * (step / total if total else 1.0)
            return self._stops(stage, done, {"step": step, "total": total, **metrics})

        return inner

    def seconds(self) -> dict[str, float]:
        names = list(self._entered)
        times = [*self._entered.values(), time.monotonic()]
        return {name: times[i + 1] - times[i] for i, name in enumerate(names)}

    def _stops(self, stage: str, done: float, metrics: Mapping[str, float]) -> bool:
        self._entered.setdefault(stage, time.monotonic())
        return bool(self._report(stage, min(done, 1.0), metrics))


def _curve(
    pipeline: Pipeline,
    held_out: PairSet,
    dimensions: Sequence[int] | None,
    callback: Callback | None,
) -> list[dict[str, Any]]:
    """Quality by dimension from the one fit, where the method is nested."""
    if not isinstance(pipeline, PairPipeline):
        return []
    model = pipeline.model_
    if not isinstance(model, EmbeddingModel) or not model.tags.nested:
        return []
    requested = [k for k in dimensions or () if 1 <= k <= model.n_components_]
    return dimension_curve(
        pipeline.transform(held_out.x),
        pipeline.transform_y(held_out.y),
        held_out.relevance,
        requested or None,
        similarity="dot" if model.similarity_kind == "dot" else "cosine",
        callback=callback,
    ).to_records()


def _shortfall(pipeline: PairPipeline) -> list[str]:
    """Say where the data gave fewer dimensions than were asked for."""
    requested = getattr(pipeline.model, "n_components", None)
    actual = getattr(pipeline.model_, "n_components_", None)
    if requested is None or actual is None or actual >= requested:
        return []
    return [f"The data give {actual:,} dimensions of the {requested:,} asked for."]
