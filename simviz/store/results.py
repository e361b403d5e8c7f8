"""Results as files of a run, and back."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from importlib.metadata import version
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from simviz.data.pairs import PairSet
from simviz.evaluation.curves import DimensionCurve
from simviz.evaluation.metrics import parse_metric
from simviz.evaluation.result import Direction, Evaluation, Record
from simviz.evaluation.roc import Roc
from simviz.evaluation.scoring import evaluate
from simviz.exceptions import SimvizError, StoreError
from simviz.methods import all_methods
from simviz.pipeline import BlendPipeline, Pipeline
from simviz.projection import Gap, JointMap, Quality
from simviz.projection.drawing import drawing_name
from simviz.ranking import Ranking
from simviz.store.run import Part, PartFiles, Run, RunFiles

Arrays = dict[str, NDArray[Any]]
Index = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What was found out on one part of a split."""

    evaluation: Evaluation
    baselines: Mapping[str, list[Record]]
    curve: DimensionCurve | None


@dataclass(frozen=True, slots=True, eq=False)
class RunResult:
    """What a job found out.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        What was trained.
    measured : mapping of {"validation", "test"} to Measured
        How it did, by part of the split; an imported run may have one alone.
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
    measured: Mapping[Part, Measured]
    parts: Mapping[str, Index]
    drawing: JointMap
    x_drawn: Index
    y_drawn: Index
    notes: tuple[str, ...]
    seconds: Mapping[str, float]


def to_files(spec: Mapping[str, Any], result: RunResult) -> RunFiles:
    """Everything that a run keeps of a result."""
    drawn = pack_map(result.drawing, result.x_drawn, result.y_drawn)
    return RunFiles(
        spec=spec,
        pipeline=result.pipeline,
        measured={part: part_files(measured) for part, measured in result.measured.items()},
        arrays=dict(result.parts),
        maps={drawing_name(result.drawing): drawn},
        meta={
            "notes": list(result.notes),
            "seconds": dict(result.seconds),
            "sizes": {name: len(index) for name, index in result.parts.items()},
            "versions": {name: version(name) for name in ("simviz", "numpy", "scikit-learn")}
            | {"python": platform.python_version()},
        },
        seconds=sum(result.seconds.values()),
    )


def part_files(measured: Measured) -> PartFiles:
    """Everything that a run keeps of one part."""
    evaluation = measured.evaluation
    rankings: Arrays = {}
    per_query: Arrays = {}
    for direction, ranking in evaluation.rankings.items():
        for part in fields(Ranking):
            rankings[f"ranking:{direction}:{part.name}"] = getattr(ranking, part.name)
        for metric in evaluation.metrics:
            if metric.level == "query":
                values = evaluation.per_query(metric, direction)
                per_query[f"{direction}:{metric.name}"] = values
    for name in ("judged", "predicted"):
        scores = getattr(evaluation, name)
        if scores is not None:
            rankings[name] = scores
    roc = evaluation.roc
    return PartFiles(
        evaluation={
            "records": evaluation.to_records(),
            "baselines": dict(measured.baselines),
            "metrics": [metric.name for metric in evaluation.metrics],
            "directions": list(evaluation.directions),
            "pool": evaluation.pool,
            "x_empty": evaluation.x_empty,
            "y_empty": evaluation.y_empty,
        },
        per_query=per_query,
        roc=None if roc is None else {f.name: getattr(roc, f.name) for f in fields(Roc)},
        rankings=rankings,
        curve=[] if measured.curve is None else list(measured.curve.to_records()),
    )


def load_evaluation(run: Run, part: Part = "test", pairs: PairSet | None = None) -> Evaluation:
    """The evaluation of a run, from which any metric of ranks can be asked.

    Parameters
    ----------
    run : Run
        A stored run.
    part : {"validation", "test"}, default="test"
        On which part of its split.
    pairs : PairSet, optional
        The data set it was trained on. Scores of judged pairs, which older
        runs did not keep, are then computed again by its pipeline.

    Returns
    -------
    Evaluation
        Equal to the one it was stored from. Where older runs cannot be asked
        for their scores, it has none.

    Raises
    ------
    StoreError
        If it was not measured on that part, or a file is missing or damaged.
    """
    kept = run.part(part)
    told, arrays, roc = kept.evaluation(), kept.rankings(), kept.roc()
    try:
        rankings = {
            cast(Direction, direction): Ranking(
                **{f.name: arrays[f"ranking:{direction}:{f.name}"] for f in fields(Ranking)}
            )
            for direction in told["directions"]
        }
        found = Evaluation(
            rankings=rankings,
            pool=told["pool"],
            metrics=tuple(parse_metric(name) for name in told["metrics"]),
            roc=None if roc is None else Roc(**roc),
            judged=arrays.get("judged"),
            predicted=arrays.get("predicted"),
            x_empty=told["x_empty"],
            y_empty=told["y_empty"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"The evaluation of this run is damaged ({error}).") from error
    if pairs is None or found.pool != "judged" or found.predicted is not None:
        return found
    return replace(found, predicted=_scores_again(run, part, pairs))


def load_figures(run: Run, part: Part = "test") -> dict[str, Any]:
    """The figures of a run on a part of its split, see `PartFiles.evaluation`."""
    told = run.part(part).evaluation()
    if missing := {"records", "metrics", "directions", "pool"} - told.keys():
        raise StoreError(f"The results of this run lack {', '.join(sorted(missing))}.")
    is_old = any("n_certain" not in record for record in told["records"])
    if told["pool"] == "judged" and is_old:
        told["records"] = load_evaluation(run, part).to_records()
        told["baselines"] = {
            name: [record for record in records if record["direction"] == "pairs"]
            for name, records in told.get("baselines", {}).items()
        }
    return told


def _scores_again(run: Run, part: Part, pairs: PairSet) -> NDArray[np.float64] | None:
    """What a run says of the judged pairs of a part; None where its pipeline cannot say it."""
    at = run.arrays()
    held_out = pairs.take(at[f"x_{part}"], at[f"y_{part}"])
    try:
        pipeline = run.pipeline()
        sides = held_out.x, held_out.y, held_out.relevance
        return evaluate(pipeline, *sides, metrics=["MRR"]).predicted
    except (SimvizError, ValueError):
        return None


def pack_map(
    drawing: JointMap, x_drawn: NDArray[np.integer], y_drawn: NDArray[np.integer]
) -> tuple[Arrays, dict[str, Any]]:
    """A map as arrays and JSON, for `simviz.store.Run.put_map`.

    Parameters
    ----------
    drawing : JointMap
        The map.
    x_drawn, y_drawn : ndarray of int
        The items on it by their position in the data set.

    Returns
    -------
    arrays : dict of str to ndarray
        Positions and what is known of single points.
    info : dict
        What is known of the whole.
    """
    arrays: Arrays = {"x": drawing.x, "y": drawing.y, "x_drawn": x_drawn, "y_drawn": y_drawn}
    quality: dict[str, Any] | None = None
    if drawing.quality is not None:
        quality = {}
        for part in fields(Quality):
            value = getattr(drawing.quality, part.name)
            if isinstance(value, np.ndarray):
                arrays[f"quality:{part.name}"] = value
            else:
                quality[part.name] = value
    info = {
        "method": drawing.method,
        "balance": drawing.balance,
        "seed": drawing.seed,
        "quality": quality,
        "gap": [drawing.gap.distance_ratio, drawing.gap.mixing],
        "gap_balanced": [drawing.gap_balanced.distance_ratio, drawing.gap_balanced.mixing],
        "notes": list(drawing.notes),
    }
    return arrays, info


def load_map(run: Run, drawing: str) -> tuple[JointMap, NDArray[np.intp], NDArray[np.intp]]:
    """One drawing of a run.

    Parameters
    ----------
    run : Run
        A stored run.
    drawing : str
        One of ``run.maps()``.

    Returns
    -------
    drawing : JointMap
        The map.
    x_drawn, y_drawn : ndarray of int
        The items on it by their position in the data set.

    Raises
    ------
    StoreError
        If there is no such drawing or it is damaged.
    """
    arrays, info = run.map(drawing)
    try:
        loaded = JointMap(
            x=arrays["x"],
            y=arrays["y"],
            method=info["method"],
            balance=info["balance"],
            seed=info["seed"],
            quality=None if info["quality"] is None else _quality(info["quality"], arrays),
            gap=Gap(*info["gap"]),
            gap_balanced=Gap(*info["gap_balanced"]),
            notes=tuple(info["notes"]),
        )
        return loaded, arrays["x_drawn"], arrays["y_drawn"]
    except (KeyError, TypeError) as error:
        raise StoreError(f"The drawing {drawing!r} of this run is damaged ({error}).") from error


def _quality(told: Mapping[str, Any], arrays: Arrays) -> Quality:
    kept: dict[str, Any] = {
        name.removeprefix("quality:"): value
        for name, value in arrays.items()
        if name.startswith("quality:")
    }
    return Quality(**told, **kept)


def stopped_by_validation(run: Run) -> bool:
    """Whether the training of a run watched the validation part and stopped by it.

    Parameters
    ----------
    run : Run
        A stored run.

    Returns
    -------
    bool
        As the tag ``stops_early`` of its method says; of a blend, whether
        that holds of any part. What another system did is not known: False.

    Raises
    ------
    StoreError
        If a blend of blends has to be read and cannot be.
    """
    if not run.info.is_blend:
        return _stops_early(run.info.method)
    params = run.info.spec.get("params", {})
    parts = [str(params.get(f"{role}_method", "")) for role in ("learned", "lexical")]
    # What a blend inside a blend is made of stands in its file alone.
    return any(map(_stops_early, parts)) or ("blend" in parts and _is_inside(run.pipeline()))


def _stops_early(method: str) -> bool:
    known = all_methods()
    return method in known and known[method].tags.stops_early


def _is_inside(pipeline: Pipeline) -> bool:
    """Whether a trained pipeline holds a method that stops early."""
    if isinstance(pipeline, BlendPipeline):
        return _is_inside(pipeline.learned_) or _is_inside(pipeline.lexical_)
    return pipeline.model_.tags.stops_early
