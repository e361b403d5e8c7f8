"""A run: what was asked for, what was learned, how well it did, in memory and on disk."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from simviz._types import Index
from simviz.data.pairs import PairSet
from simviz.evaluation.curves import DimensionCurve
from simviz.evaluation.metrics import parse_metric
from simviz.evaluation.result import Direction, Evaluation, Record
from simviz.evaluation.roc import Roc
from simviz.exceptions import StoreError
from simviz.methods import all_methods
from simviz.pipeline import BlendPipeline, CSLSPipeline, Pipeline, load_pipeline
from simviz.projection import Gap, JointMap, Quality
from simviz.ranking import Ranking
from simviz.store.datasets import DEMO_PREFIX
from simviz.store.directory import (
    damaged,
    read_arrays,
    read_json,
    sync_tree,
    why_not_written,
    write_arrays,
    write_json,
)

Part = Literal["validation", "test"]
#: What is chosen of how a data set is looked at.
Shown = Literal["part", "direction"]
#: Parts of a split that a run is measured on, in the order of work.
MEASURED: tuple[Part, ...] = ("validation", "test")
#: What stands in place of a method's id where no method was trained.
BLEND, EXPERIMENT, IMPORTED, DIVISIONS = "blend", "experiment", "imported", "divisions"
CSLS = "csls"
#: What the runs that others are made of are to them.
ROLES = ("learned", "lexical", "scaled")
#: Most drawings kept with a run.
MAX_MAPS = 40
_DRAWING = re.compile(r"[0-9a-z-]{1,40}")
_AGAIN = "Delete the run and train it again."
_EVALUATION = "The evaluation of this run"
#: Begins the names of what is known of single points of a drawing.
_QUALITY = "quality:"
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run as a list shows it.

    Parameters
    ----------
    id : str
        Its id.
    dataset_id : str
        What it was trained on.
    method : str
        Id of the method.
    spec : mapping
        What was asked for, as JSON.
    summary : mapping of str to float
        The figures a list shows.
    name, note : str
        Given by its owner; empty at first.
    seconds : float
        It took to train and measure.
    n_bytes : int
        On disk.
    created : float
        Seconds since 1970.
    """

    id: str
    dataset_id: str
    method: str
    spec: Mapping[str, Any] = field(default_factory=dict)
    summary: Mapping[str, float] = field(default_factory=dict)
    name: str = ""
    note: str = ""
    seconds: float = 0.0
    n_bytes: int = 0
    created: float = 0.0

    @property
    def is_demo(self) -> bool:
        """Whether it was trained on a demo, and so belongs to all."""
        return self.dataset_id.startswith(DEMO_PREFIX)

    @property
    def is_derived(self) -> bool:
        """Whether it is made of other runs: two that are blended, or one scaled by CSLS."""
        return self.method in (BLEND, CSLS)

    @property
    def is_imported(self) -> bool:
        """Whether its scores are those of another system."""
        return self.method == IMPORTED


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What was found out on one part of a split.

    Parameters
    ----------
    evaluation : Evaluation
        Of what was trained.
    baselines : mapping of str to list of dict
        Tidy metrics of what knows nothing.
    curve : DimensionCurve or None
        Quality by dimension, where the method has such a curve.
    """

    evaluation: Evaluation
    baselines: Mapping[str, list[Record]]
    curve: DimensionCurve | None

    def write(self, folder: Path) -> None:
        """Write all files, see `RunPart`.

        Parameters
        ----------
        folder : Path
            An empty directory.
        """
        evaluation = self.evaluation
        arrays: Arrays = {}
        per_query: Arrays = {}
        for direction, ranking in evaluation.rankings.items():
            arrays |= _pack(ranking, f"ranking:{direction}:")
            for metric in evaluation.metrics:
                if metric.level == "query":
                    values = evaluation.per_query(metric, direction)
                    per_query[f"{direction}:{metric.name}"] = values
        for name in ("judged", "predicted"):
            scores = getattr(evaluation, name)
            if scores is not None:
                arrays[name] = scores
        tree = {
            "records": evaluation.to_records(),
            "baselines": dict(self.baselines),
            "metrics": [metric.name for metric in evaluation.metrics],
            "directions": list(evaluation.directions),
            "pool": evaluation.pool,
            "x_empty": evaluation.x_empty,
            "y_empty": evaluation.y_empty,
            "x_unknown": evaluation.x_unknown,
            "y_unknown": evaluation.y_unknown,
        }
        write_json(folder / "evaluation.json", tree)
        write_arrays(folder / "per_query.npz", per_query)
        if (roc := evaluation.roc) is not None:
            write_arrays(folder / "roc.npz", _pack(roc))
        write_arrays(folder / "arrays.npz", arrays)
        write_json(folder / "curve.json", [] if self.curve is None else self.curve.to_records())

    def summary(self) -> dict[str, float]:
        """The figures that a list of runs shows: of the side that asks first, and of all pairs."""
        wanted = (*self.evaluation.directions[:1], "pairs")
        records = self.evaluation.to_records()
        return {r["metric"]: r["value"] for r in records if r["direction"] in wanted}


def _versions() -> dict[str, str]:
    known = {name: version(name) for name in ("simviz", "numpy", "scikit-learn")}
    return known | {"python": platform.python_version()}


@dataclass(frozen=True, slots=True, eq=False)
class RunResult:
    """Everything that a run keeps.

    Parameters
    ----------
    pipeline : PairPipeline or BlendPipeline
        What was trained.
    measured : mapping of {"validation", "test"} to Measured
        How it did, by part of the split; an imported run may have one alone.
    parts : mapping of str to ndarray of int
        "x_train", "y_test", ...: the items of each part by their position.
    notes : tuple of str
        What to know about split and training.
    seconds : mapping of str to float
        Each stage took so long.
    versions : mapping of str to str
        Of Python and libraries, where it was trained.
    """

    pipeline: Pipeline
    measured: Mapping[Part, Measured]
    parts: Mapping[str, Index]
    notes: tuple[str, ...]
    seconds: Mapping[str, float]
    versions: Mapping[str, str] = field(default_factory=_versions)

    def summary(self) -> dict[str, float]:
        """What runs are ranked by: figures on the validation part, never on the test."""
        measured = self.measured.get("validation")
        return {} if measured is None else measured.summary()

    def write(self, folder: Path, spec: Mapping[str, Any]) -> int:
        """Write all files, and what was asked for, into an empty directory.

        Parameters
        ----------
        folder : Path
            The directory.
        spec : mapping
            The request, as JSON.

        Returns
        -------
        int
            Bytes written.
        """
        write_json(folder / "spec.json", dict(spec))
        self.pipeline.save(folder / "pipeline.simviz")
        for part, measured in self.measured.items():
            (folder / part).mkdir()
            measured.write(folder / part)
        write_arrays(folder / "arrays.npz", self.parts)
        meta = {
            "notes": list(self.notes),
            "seconds": dict(self.seconds),
            "sizes": {name: len(index) for name, index in self.parts.items()},
            "versions": dict(self.versions),
        }
        write_json(folder / "meta.json", meta)
        return sync_tree(folder)


@dataclass(frozen=True, slots=True)
class RunPart:
    """What a stored run found out on one part, read when it is asked for.

    Parameters
    ----------
    folder : Path
        Where its files are.
    """

    folder: Path

    def evaluation(self) -> dict[str, Any]:
        """Tidy metrics under "records", baselines and pool beside them."""
        with damaged(_EVALUATION):
            return dict(read_json(self.folder / "evaluation.json", _AGAIN))

    def records(self) -> list[dict[str, Any]]:
        """Tidy metrics, see `simviz.evaluation.Evaluation.to_records`."""
        with damaged(_EVALUATION):
            return list(self.evaluation()["records"])

    def per_query(self) -> Arrays:
        """Values of each query by "direction:metric", NaN for a skipped one."""
        return read_arrays(self.folder / "per_query.npz", _AGAIN)

    def roc(self) -> Arrays | None:
        """Arguments of `simviz.evaluation.Roc`, or None if none was traced."""
        path = self.folder / "roc.npz"
        return read_arrays(path, _AGAIN) if path.exists() else None

    def rankings(self) -> Arrays:
        """Ranks of the queries by "ranking:direction:name", and scores where judgments are."""
        return read_arrays(self.folder / "arrays.npz", _AGAIN)

    def curve(self) -> list[dict[str, Any]]:
        """Tidy quality by dimension; empty where the method has no such curve."""
        with damaged(_EVALUATION):
            return list(read_json(self.folder / "curve.json", _AGAIN))

    def learning(self) -> list[dict[str, Any]]:
        """Tidy quality by size of the training part; empty where nobody asked for it."""
        path = self.folder / "learning.json"
        with damaged(_EVALUATION):
            return list(read_json(path, _AGAIN)) if path.exists() else []

    def put_learning(self, records: list[dict[str, Any]]) -> None:
        """Keep the quality by size of the training part with the run.

        Parameters
        ----------
        records : list of dict
            See `simviz.evaluation.LearningCurve.to_records`.

        Raises
        ------
        StoreError
            If the run was deleted in the meantime, or the disk is full.
        """
        with _keeping_in(self.folder):
            write_json(self.folder / "learning.json", records)

    @property
    def is_swept(self) -> bool:
        """Whether smaller models of the method were trained, see `dimensions`."""
        return (self.folder / "dimensions.npz").exists()

    def dimensions(self) -> dict[int, dict[Direction, Ranking]]:
        """Ranks by smaller models of the method, by their dimensions; empty where none is kept."""
        found: dict[int, dict[Direction, Ranking]] = {}
        if not self.is_swept:
            return found
        with damaged(_EVALUATION):
            arrays = read_arrays(self.folder / "dimensions.npz", _AGAIN)
            for k, direction in {tuple(name.split(":")[:2]) for name in arrays}:
                ranking = _unpack_ranking(arrays, f"{k}:{direction}:")
                found.setdefault(int(k), {})[cast("Direction", direction)] = ranking
            return dict(sorted(found.items()))

    def put_dimensions(self, rankings: Mapping[int, Mapping[Direction, Ranking]]) -> None:
        """Keep how smaller models rank, by their dimensions, with the run.

        Parameters
        ----------
        rankings : mapping of int to mapping of {"x2y", "y2x"} to Ranking
            What each model's evaluation found.

        Raises
        ------
        StoreError
            If the run was deleted in the meantime, or the disk is full.
        """
        arrays: Arrays = {}
        for k, sides in rankings.items():
            for direction, ranking in sides.items():
                arrays |= _pack(ranking, f"{k}:{direction}:")
        with _keeping_in(self.folder):
            write_arrays(self.folder / "dimensions.npz", arrays)


@dataclass(frozen=True, slots=True)
class Run:
    """A stored run whose parts are read when they are asked for.

    Parameters
    ----------
    info : RunInfo
        What the index says.
    folder : Path
        Where its files are.
    """

    info: RunInfo
    folder: Path

    @property
    def id(self) -> str:
        """Its id."""
        return self.info.id

    @property
    def spec(self) -> dict[str, Any]:
        """What was asked for, as JSON."""
        with damaged("What was asked for in this run"):
            return dict(read_json(self.folder / "spec.json", _AGAIN))

    @property
    def meta(self) -> dict[str, Any]:
        """Times, sizes, versions and notes."""
        with damaged("What is known about this run"):
            return dict(read_json(self.folder / "meta.json", _AGAIN))

    def pipeline(self) -> Pipeline:
        """What was trained, ready for new items.

        Raises
        ------
        StoreError
            If its file is missing or damaged.
        """
        path = self.folder / "pipeline.simviz"
        try:
            return load_pipeline(path)
        except FileNotFoundError as error:
            raise StoreError(f"The pipeline of this run is missing. {_AGAIN}") from error
        except StoreError as error:  # where it lies is no visitor's business
            said = str(error).replace(str(path), "The pipeline of this run")
            raise StoreError(f"{said} {_AGAIN}") from error

    def pipeline_bytes(self) -> bytes:
        """The file of the pipeline, for a download.

        Raises
        ------
        StoreError
            If it cannot be read.
        """
        try:
            return (self.folder / "pipeline.simviz").read_bytes()
        except OSError as error:
            said = f"The pipeline of this run cannot be read ({error.strerror}). {_AGAIN}"
            raise StoreError(said) from error

    def take(self, pairs: PairSet, part: str) -> PairSet:
        """Take a part of its split out of the data set that it was trained on.

        Parameters
        ----------
        pairs : PairSet
            The data set.
        part : {"train", "validation", "test"}
            The part.

        Returns
        -------
        PairSet
            Its items and judgments.

        Raises
        ------
        StoreError
            If a file is missing or damaged.
        """
        at = self.arrays()
        return pairs.take(at[f"x_{part}"], at[f"y_{part}"])

    @property
    def measured(self) -> tuple[Part, ...]:
        """The parts of its split that it was measured on."""
        return tuple(part for part in MEASURED if self._part_folder(part) is not None)

    def part(self, name: Part) -> RunPart:
        """What it found out on a part of its split.

        Parameters
        ----------
        name : {"validation", "test"}
            The part.

        Returns
        -------
        RunPart
            Whose files are read when they are asked for.

        Raises
        ------
        StoreError
            If it was not measured on that part.
        """
        folder = self._part_folder(name)
        if folder is None:
            raise StoreError(f"This run was not measured on its {name} part.")
        return RunPart(folder)

    def arrays(self) -> Arrays:
        """Parts of the split ("x_test", "y_train", ...) as positions in the data set."""
        return read_arrays(self.folder / "arrays.npz", _AGAIN)

    def _part_folder(self, name: Part) -> Path | None:
        folder = self.folder / name
        return folder if folder.is_dir() else None

    def maps(self) -> tuple[str, ...]:
        """Names of the drawings that are kept, sorted."""
        return tuple(sorted(p.stem.removeprefix("map-") for p in self.folder.glob("map-*.npz")))

    def put_map(self, name: str, drawing: JointMap, x_drawn: Index, y_drawn: Index) -> None:
        """Keep a drawing with the run, in place of one of that name.

        Parameters
        ----------
        name : str
            Lower-case letters, digits and "-".
        drawing : JointMap
            The map.
        x_drawn, y_drawn : ndarray of int
            The items on it by their position in the data set.

        Raises
        ------
        StoreError
            If the name does not do, the run has too many drawings, or the disk is full.
        """
        present = self.maps()
        if name not in present and len(present) >= MAX_MAPS:
            raise StoreError(f"A run keeps at most {MAX_MAPS} drawings.")
        path = _map_path(self.folder, name)
        arrays: Arrays = {"x": drawing.x, "y": drawing.y, "x_drawn": x_drawn, "y_drawn": y_drawn}
        quality: dict[str, Any] | None = None
        if drawing.quality is not None:
            known = _pack(drawing.quality)
            quality = {k: v for k, v in known.items() if not isinstance(v, np.ndarray)}
            arrays |= {_QUALITY + k: v for k, v in known.items() if k not in quality}
        info = {
            "method": drawing.method,
            "balance": drawing.balance,
            "seed": drawing.seed,
            "quality": quality,
            "gap": [drawing.gap.distance_ratio, drawing.gap.mixing],
            "gap_balanced": [drawing.gap_balanced.distance_ratio, drawing.gap_balanced.mixing],
            "notes": list(drawing.notes),
            "share": drawing.share,
        }
        text = np.frombuffer(json.dumps(info).encode(), dtype=np.uint8)
        with _keeping_in(self.folder):
            write_arrays(path, {**arrays, "info": text})


@contextmanager
def _keeping_in(folder: Path) -> Iterator[None]:
    """Say why something more cannot be kept with a run."""
    try:
        yield
    except FileNotFoundError as error:
        raise StoreError("This run was deleted in the meantime.") from error
    except OSError as error:
        raise StoreError(why_not_written(folder, error)) from error


def _pack(record: Any, prefix: str = "") -> dict[str, Any]:
    """The fields of a dataclass by their names."""
    return {f"{prefix}{part.name}": getattr(record, part.name) for part in fields(record)}


def _unpack_ranking(arrays: Arrays, prefix: str) -> Ranking:
    return Ranking(**{part.name: arrays[f"{prefix}{part.name}"] for part in fields(Ranking)})


def load_evaluation(run: Run, part: Part = "test") -> Evaluation:
    """The evaluation of a run, from which any metric of ranks can be asked.

    Parameters
    ----------
    run : Run
        A stored run.
    part : {"validation", "test"}, default="test"
        On which part of its split.

    Returns
    -------
    Evaluation
        Equal to the one it was stored from.

    Raises
    ------
    StoreError
        If it was not measured on that part, or a file is missing or damaged.
    """
    kept = run.part(part)
    figures, arrays, roc = kept.evaluation(), kept.rankings(), kept.roc()
    with damaged(_EVALUATION):
        rankings = {
            cast(Direction, direction): _unpack_ranking(arrays, f"ranking:{direction}:")
            for direction in figures["directions"]
        }
        return Evaluation(
            rankings=rankings,
            pool=figures["pool"],
            metrics=tuple(parse_metric(name) for name in figures["metrics"]),
            roc=None if roc is None else Roc(**roc),
            judged=arrays.get("judged"),
            predicted=arrays.get("predicted"),
            x_empty=figures["x_empty"],
            y_empty=figures["y_empty"],
            x_unknown=figures["x_unknown"],
            y_unknown=figures["y_unknown"],
        )


def load_figures(run: Run, part: Part = "test") -> dict[str, Any]:
    """The figures of a run on a part of its split, see `RunPart.evaluation`."""
    figures = run.part(part).evaluation()
    if missing := {"records", "metrics", "directions", "pool"} - figures.keys():
        raise StoreError(f"The results of this run lack {', '.join(sorted(missing))}.")
    return figures


def load_map(run: Run, drawing: str) -> tuple[JointMap, Index, Index]:
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
    arrays = read_arrays(_map_path(run.folder, drawing))
    with damaged(f"The drawing {drawing!r} of this run"):
        info = json.loads(arrays["info"].tobytes())
        if (quality := info["quality"]) is not None:
            names = [name for name in arrays if name.startswith(_QUALITY)]
            quality |= {name.removeprefix(_QUALITY): arrays[name] for name in names}
            quality = Quality(**quality)
        loaded = JointMap(
            x=arrays["x"],
            y=arrays["y"],
            method=info["method"],
            balance=info["balance"],
            seed=info["seed"],
            quality=quality,
            gap=Gap(*info["gap"]),
            gap_balanced=Gap(*info["gap_balanced"]),
            notes=tuple(info["notes"]),
            share=info["share"],
        )
        return loaded, arrays["x_drawn"], arrays["y_drawn"]


def _map_path(folder: Path, name: str) -> Path:
    if not isinstance(name, str) or not _DRAWING.fullmatch(name):
        raise StoreError(
            "A drawing is named by at most 40 lower-case letters, digits and '-', such as 'mds-2'."
        )
    return folder / f"map-{name}.npz"


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
    if not run.info.is_derived:
        return _stops_early(run.info.method)
    params = run.info.spec.get("params", {})
    parts = [str(params.get(f"{role}_method", "")) for role in ROLES]
    # What a part that is made of others is made of stands in its file alone.
    is_deep = BLEND in parts or CSLS in parts
    return any(map(_stops_early, parts)) or (is_deep and _is_inside(run.pipeline()))


def _stops_early(method: str) -> bool:
    known = all_methods()
    return method in known and known[method].tags.stops_early


def _is_inside(pipeline: Pipeline) -> bool:
    """Whether a trained pipeline holds a method that stops early."""
    if isinstance(pipeline, BlendPipeline):
        return _is_inside(pipeline.learned_) or _is_inside(pipeline.lexical_)
    if isinstance(pipeline, CSLSPipeline):
        return _is_inside(pipeline.pipeline_)
    return pipeline.model_.tags.stops_early
