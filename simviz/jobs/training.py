"""The work of a job: from pairs to a trained, measured and drawn model."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simviz.base import EmbeddingModel
from simviz.callbacks import Callback
from simviz.data import Items, PairSet, Split, split
from simviz.data.augment import augment, from_json
from simviz.evaluation.baselines import ChanceScorer, PopularityScorer
from simviz.evaluation.curves import DimensionCurve, dimension_curve
from simviz.evaluation.result import Evaluation, Record
from simviz.evaluation.scoring import Scorer, evaluate
from simviz.exceptions import JobCancelled
from simviz.jobs.blending import blended
from simviz.jobs.drawing import draw
from simviz.jobs.spec import JobSpec
from simviz.pipeline import PairPipeline, Pipeline, default_pipeline
from simviz.projection import JointMap

#: Stages in their order, each with its share of the bar.
STAGES = {"reading": 0.02, "features": 0.08, "training": 0.6, "scoring": 0.18, "drawing": 0.12}
Index = NDArray[np.intp]


class Report(Protocol):
    """Hears how far a job is, and tells it to stop."""

    def __call__(self, stage: str, fraction: float, metrics: Mapping[str, float], /) -> bool:
        """Hear of progress.

        Parameters
        ----------
        stage : str
            A key of `STAGES`.
        fraction : float
            Of the whole job that is done, in [0, 1].
        metrics : mapping of str to float
            What is known so far.

        Returns
        -------
        bool
            True to stop.
        """


@dataclass(frozen=True, slots=True, eq=False)
class RunResult:
    """What a job found out.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        What was trained.
    evaluation : Evaluation
        On the test part, both directions.
    validation : list of Record or None
        The same metrics on the validation part, to choose by; None for demos,
        whose test parts are open to all, and for an imported run without
        scores there.
    baselines : mapping of str to list of Record
        The same metrics of scorers that know nothing ("chance") or only how
        popular an item is ("popularity").
    curve : DimensionCurve or None
        Quality by dimension, for nested methods.
    parts : mapping of str to ndarray of int
        "x_train", "y_test", ...: the items of each part by their position.
    drawing : JointMap
        Both sides on one map.
    x_drawn, y_drawn : ndarray of int
        The items on it by their position.
    notes : tuple of str
        What to know about split and training.
    seconds : mapping of str to float
        Each stage took so long.
    """

    pipeline: Pipeline
    evaluation: Evaluation
    validation: list[Record] | None
    baselines: Mapping[str, list[Record]]
    curve: DimensionCurve | None
    parts: Mapping[str, Index]
    drawing: JointMap
    x_drawn: Index
    y_drawn: Index
    notes: tuple[str, ...]
    seconds: Mapping[str, float]


def train(
    spec: JobSpec,
    pairs: PairSet,
    report: Report,
    blend_of: tuple[Pipeline, Pipeline] | None = None,
    ready: Pipeline | None = None,
) -> RunResult:
    """Split, fit, measure and draw.

    Parameters
    ----------
    spec : JobSpec
        What is asked for.
    pairs : PairSet
        The data set it names.
    report : callable
        Hears of progress; a true answer stops the job.
    blend_of : tuple of two pipelines, optional
        The parts of a blend, trained on the same split, in place of fitting.
    ready : PairPipeline, optional
        What needs no fitting, such as imported scores.

    Returns
    -------
    RunResult
        Everything a run keeps.

    Raises
    ------
    JobCancelled
        If `report` asked to stop. There is no result then, however far the
        model came.
    DatasetError, ValueError
        If the data or a parameter do not fit; the text says what to do.

    Examples
    --------
    >>> colours, things = ["red", "blue", "green", "gold"], ["car", "bus", "tram", "ship"]
    >>> texts = [f"{colour} {thing}" for colour in colours for thing in things]
    >>> pairs = PairSet.from_texts(texts, texts)
    >>> spec = JobSpec("d", pairs.digest, "bm25")
    >>> result = train(spec, pairs, lambda stage, fraction, metrics: False)
    >>> round(result.evaluation.value("top-1"), 3)
    0.917
    """
    progress = _Progress(report)
    progress.enter("reading")
    how = spec.split
    parts = split(pairs, how.by, how.fractions, how.seed, how.group_key)
    notes = list(parts.notes)

    progress.enter("features")
    pipeline: Pipeline
    if ready is not None:
        pipeline = ready
    elif blend_of is not None:
        pipeline = blended(spec, blend_of, parts.train)
    else:
        learned = augmented(spec.augment, parts)
        if more := len(learned.x) - len(parts.train.x):
            notes.append(f"Trained on {more:,} more texts, made from those of the training part.")
        pipeline = default_pipeline(spec.method, learned, features=spec.features, **spec.params)
        # The method speaks first when its features are there.
        pipeline.set_callbacks(progress.during("training"))
        pipeline.fit(learned, parts.validation)
        pipeline.set_callbacks()
        notes += _shortfall(pipeline)
    progress.enter("training", 1.0)

    progress.enter("scoring")
    test = parts.test
    sides = (test.x, test.y, test.relevance)
    evaluation = evaluate(pipeline, *sides, callback=progress.during("scoring", 0.0, 0.35))
    # An imported run may have scores for the test queries alone.
    unknown = spec.is_demo or (ready is not None and not _has_scores(ready, parts.validation))
    validation = None if unknown else _validate(pipeline, parts.validation, evaluation)
    scorers: dict[str, Scorer[Items]] = {
        "popularity": PopularityScorer(parts.train),
        "chance": ChanceScorer(),
    }
    baselines = {}
    for i, (name, scorer) in enumerate(scorers.items()):
        heard = progress.during("scoring", 0.4 + 0.2 * i, 0.6 + 0.2 * i)
        measured = evaluate(scorer, *sides, metrics=evaluation.metrics, callback=heard)
        baselines[name] = measured.to_records()
    curve = _curve(spec, pipeline, test, progress)

    progress.enter("drawing")
    drawing, x_drawn, y_drawn = draw(pipeline, pairs, seed=how.seed)
    progress.enter("drawing", 1.0)
    index = {"x": parts.x_index, "y": parts.y_index}
    return RunResult(
        pipeline=pipeline,
        evaluation=evaluation,
        validation=validation,
        baselines=baselines,
        curve=curve,
        parts={f"{side}_{part}": at for side in index for part, at in index[side].items()},
        drawing=drawing,
        x_drawn=x_drawn,
        y_drawn=y_drawn,
        notes=tuple(notes),
        seconds=progress.seconds(),
    )


def _has_scores(pipeline: Pipeline, part: PairSet) -> bool:
    """Whether any pair of a part has a score other than 0."""
    return any(block.any() for block in pipeline.iter_similarity(part.x, part.y))


def _validate(pipeline: Pipeline, part: PairSet, tested: Evaluation) -> list[Record]:
    """The metrics of the test on the validation part: what runs are chosen by."""
    sides = (part.x, part.y, part.relevance)
    return evaluate(pipeline, *sides, metrics=tested.metrics).to_records()


def augmented(steps: Sequence[Mapping[str, Any]], parts: Split) -> PairSet:
    """The training part with what augmenting it makes, texts of other parts excepted.

    Parameters
    ----------
    steps : sequence of mapping
        See `simviz.data.augment.from_json`.
    parts : Split
        Train, validation and test.

    Returns
    -------
    PairSet
        The training part itself where there are no steps.

    Raises
    ------
    DatasetError
        If a step is unknown, or a side is not made of texts.
    """
    if not steps:
        return parts.train
    kept_apart = (side for part in (parts.validation, parts.test) for side in (part.x, part.y))
    held = [text for side in kept_apart if side.kind == "text" for text in side.content]
    return augment(parts.train, from_json(steps), held)


class _Progress:
    """Turns progress within stages into progress of the job, and stops it."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._entered: dict[str, float] = {}
        self._fraction = 0.0

    def enter(self, stage: str, done: float = 0.0) -> None:
        """Say that a stage has come so far; raises JobCancelled if asked to stop."""
        if self._tell(stage, done, {}):
            raise JobCancelled("Cancelled.")

    def during(self, stage: str, start: float = 0.0, stop: float = 1.0) -> Callback:
        """A callback for work between two points of a stage."""

        def heard(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
            done = start + (stop - start) * (step / total if total else 1.0)
            return self._tell(stage, done, {"step": step, "total": total, **metrics})

        return heard

    def seconds(self) -> dict[str, float]:
        """How long each stage took."""
        names = list(self._entered)
        times = [*self._entered.values(), time.monotonic()]
        return {name: times[i + 1] - times[i] for i, name in enumerate(names)}

    def _tell(self, stage: str, done: float, metrics: Mapping[str, float]) -> bool:
        self._entered.setdefault(stage, time.monotonic())
        before = sum(share for name, share in list(STAGES.items())[: list(STAGES).index(stage)])
        # A method may restart its count; the bar never goes back.
        self._fraction = max(self._fraction, before + STAGES[stage] * min(done, 1.0))
        return bool(self._report(stage, self._fraction, metrics))


def _curve(
    spec: JobSpec, pipeline: Pipeline, test: PairSet, progress: _Progress
) -> DimensionCurve | None:
    """Quality by dimension from the one fit, where the method is nested."""
    if not isinstance(pipeline, PairPipeline):
        return None
    model = pipeline.model_
    if not isinstance(model, EmbeddingModel) or not model.tags.nested:
        return None
    known = model.n_components_
    wanted = None if spec.dimensions is None else [k for k in spec.dimensions if 1 <= k <= known]
    return dimension_curve(
        pipeline.transform(test.x),
        pipeline.transform_y(test.y),
        test.relevance,
        wanted or None,
        similarity="dot" if model.similarity_kind == "dot" else "cosine",
        callback=progress.during("scoring", 0.8, 1.0),
    )


def _shortfall(pipeline: PairPipeline) -> list[str]:
    """Say where the data gave fewer dimensions than were asked for."""
    asked = getattr(pipeline.model, "n_components", None)
    given = getattr(pipeline.model_, "n_components_", None)
    if asked is None or given is None or given >= asked:
        return []
    return [f"The data give {given:,} dimensions of the {asked:,} asked for."]
