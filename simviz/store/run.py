"""A run: what was asked for, what was learned, how well it did, in memory and on disk."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from simviz._types import Index
from simviz.data.pairs import PairSet
from simviz.data.splitting import PARTS, Split
from simviz.evaluation.metrics import METRICS
from simviz.evaluation.result import Evaluation, PartResult
from simviz.evaluation.roc import Roc
from simviz.exceptions import StoreError
from simviz.methods import all_methods
from simviz.persistence import load_records, save_state
from simviz.pipeline import BlendPipeline, CSLSPipeline, Pipeline, load_pipeline
from simviz.projection import JointMap, ModalityGap, Quality
from simviz.ranking import Ranking
from simviz.store.datasets import DEMO_PREFIX
from simviz.store.directory import damaged, read_json, sync_tree, why_not_written, write_json

Part = Literal["validation", "test"]
#: What is chosen of how a data set is looked at.
Preference = Literal["part", "direction"]
#: Parts of a split that a run is measured on, in the order of work.
MEASURED: tuple[Part, ...] = ("validation", "test")
#: What stands in place of a method's id where no method was trained.
BLEND, EXPERIMENT, IMPORTED = "blend", "experiment", "imported"
DIVISIONS, AUDIT = "divisions", "audit"
CSLS = "csls"
#: What the runs that others are made of are to them.
DERIVED_ROLES = ("learned", "lexical", "scaled")
#: Most drawings kept with a run.
MAX_MAPS = 40
_DRAWING = re.compile(r"[0-9a-z-]{1,40}")
_RETRAIN = "Delete the run and train it again."
_EVALUATION = "The evaluation of this run"
Arrays = dict[str, NDArray[Any]]
#: What files of a run may hold besides arrays and what JSON knows.
_RECORDS = (Evaluation, Ranking, Roc, *METRICS, JointMap, Quality, ModalityGap)


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run as a list shows it.

    Its `spec` is what was asked for, as JSON, its `summary` the figures a list shows; name and
    note are given by its owner. Training and measuring took so many `seconds`; `created` counts
    them since 1970.
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


def _versions() -> dict[str, str]:
    known = {name: version(name) for name in ("simviz", "numpy", "scikit-learn")}
    return known | {"python": platform.python_version()}


@dataclass(frozen=True, slots=True, eq=False)
class RunResult:
    """Everything that a run keeps.

    It is `measured` by part of the split; an imported run may have one alone. `parts` have the
    items of each by their position, as "x_train", "y_test" and so on; `notes` say what to know
    about split and training, `seconds` how long each stage took, and `versions` are those of
    Python and libraries where it was trained.
    """

    pipeline: Pipeline
    measured: Mapping[Part, PartResult]
    parts: Mapping[str, Index]
    notes: tuple[str, ...]
    seconds: Mapping[str, float]
    versions: Mapping[str, str] = field(default_factory=_versions)

    def summary(self) -> dict[str, float]:
        """What runs are ranked by: figures on the validation part, never on the test."""
        measured = self.measured.get("validation")
        return {} if measured is None else measured.summary()

    @property
    def about(self) -> dict[str, Any]:
        """Notes, times, sizes and versions, and what tells its split from others."""
        digest = hashlib.blake2b(digest_size=8)
        for name in (f"{side}_{part}" for part in MEASURED for side in "xy"):
            digest.update(self.parts.get(name, np.empty(0)).astype(np.int64).tobytes() + b"|")
        return {
            "notes": list(self.notes),
            "seconds": dict(self.seconds),
            "sizes": {name: len(index) for name, index in self.parts.items()},
            "versions": dict(self.versions),
            "split": digest.hexdigest(),
        }

    def write(self, folder: Path) -> int:
        """Write all files into an empty directory; return their bytes."""
        self.pipeline.save(folder / "pipeline.simviz")
        for name, measured in self.measured.items():
            (folder / name).mkdir()
            write_part(measured, folder / name)
        save_state({"parts": self.parts}, folder / "parts.simviz")
        write_json(folder / "about.json", self.about)
        return sync_tree(folder)


def write_part(measured: PartResult, folder: Path) -> None:
    """Write the figures of a part, and what they are of, into an empty directory."""
    figures = {f.name: getattr(measured, f.name) for f in fields(measured)}
    for name, evaluation in figures.pop("evaluations").items():
        save_state({name: evaluation}, folder / f"{name}.simviz")
    write_json(folder / "figures.json", figures)


class _Stored(Mapping[str, Evaluation]):
    """The evaluations of a part, each read when it is asked for."""

    def __init__(self, folder: Path, names: Collection[str]) -> None:
        self._folder, self._names = folder, names

    def __getitem__(self, name: str) -> Evaluation:
        if name not in self._names:
            raise KeyError(name)
        path = self._folder / f"{name}.simviz"
        with damaged(_EVALUATION, _RETRAIN):
            return _read_evaluation(path, path.stat().st_mtime_ns)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@lru_cache(maxsize=64)
def _read_evaluation(path: Path, changed: int) -> Evaluation:
    """An evaluation, until its file changes."""
    return cast(Evaluation, load_records(path, _RECORDS)[path.stem])


@lru_cache(maxsize=1_200)
def _read_part(folder: Path, changed: int, extra_metric: str) -> PartResult:
    """The figures of a part, with those of a further metric, until its file changes."""
    if extra_metric:
        return _read_part(folder, changed, "").with_metric(extra_metric)
    with damaged(_EVALUATION):
        figures = read_json(folder / "figures.json", _RETRAIN)
        return PartResult(**figures, evaluations=_Stored(folder, figures["records"]))


@dataclass(frozen=True, slots=True)
class Run:
    """A stored run whose parts are read when they are asked for.

    What is missing or damaged raises a StoreError. `extra_metric` is a metric that its figures
    hold besides those that were asked for at first.
    """

    info: RunInfo
    folder: Path = field(default=Path(), kw_only=True)
    extra_metric: str = field(default="", kw_only=True)

    @property
    def id(self) -> str:
        """Its id."""
        return self.info.id

    @property
    def cache_key(self) -> str:
        """What stands for it in caches: a run never changes."""
        return self.id

    @property
    def spec(self) -> Mapping[str, Any]:
        """What was asked for, as JSON."""
        return self.info.spec

    @property
    def about(self) -> dict[str, Any]:
        """See `RunResult.about`."""
        with damaged("What is known about this run"):
            return dict(read_json(self.folder / "about.json", _RETRAIN))

    def pipeline(self) -> Pipeline:
        """What was trained, ready for new items."""
        path = self.folder / "pipeline.simviz"
        try:
            return load_pipeline(path)
        except FileNotFoundError as error:
            raise StoreError(f"The pipeline of this run is missing. {_RETRAIN}") from error
        except StoreError as error:  # where it lies is no visitor's business
            message = str(error).replace(str(path), "The pipeline of this run")
            raise StoreError(f"{message} {_RETRAIN}") from error

    def pipeline_bytes(self) -> bytes:
        """The file of the pipeline, for a download."""
        try:
            return (self.folder / "pipeline.simviz").read_bytes()
        except OSError as error:
            message = f"The pipeline of this run cannot be read ({error.strerror}). {_RETRAIN}"
            raise StoreError(message) from error

    def take(self, pairs: PairSet, part: str) -> PairSet:
        """Take a part of its split out of the data set that it was trained on."""
        at = self.arrays()
        return pairs.take(at[f"x_{part}"], at[f"y_{part}"])

    def split(self, pairs: PairSet) -> Split:
        """Split the data set that it was trained on as it was then."""
        how, at = self.spec["split"], self.arrays()
        x, y = ({part: at[f"{side}_{part}"] for part in PARTS} for side in "xy")
        train, validation, test = (self.take(pairs, part) for part in PARTS)
        return Split(train, validation, test, how["by"], how["seed"], x, y)

    @property
    def measured(self) -> tuple[Part, ...]:
        """The parts of its split that it was measured on."""
        return tuple(part for part in MEASURED if (self.folder / part).is_dir())

    def part(self, name: Part) -> PartResult:
        """What it found out on a part of its split; ranks are read when they are asked for."""
        if name not in self.measured:
            raise StoreError(f"This run was not measured on its {name} part.")
        folder = self.folder / name
        with damaged(_EVALUATION):
            changed = (folder / "figures.json").stat().st_mtime_ns
            return _read_part(folder, changed, self.extra_metric)

    def value(self, metric: str, direction: str, part: Part = "validation") -> float:
        """A figure, by default that by which runs are ranked; NaN where it was not measured."""
        measured = part in self.measured
        return self.part(part).value(metric, direction) if measured else float("nan")

    def arrays(self) -> Arrays:
        """Parts of the split ("x_test", "y_train", ...) as positions in the data set."""
        return cast(Arrays, self.read_objects("parts")["parts"])

    def read_objects(self, name: str) -> Mapping[str, Any]:
        """What was kept with the run under a name, see `write_objects`; empty for nothing."""
        path = self.folder / f"{name}.simviz"
        with damaged(f"The file {path.name} of this run", _RETRAIN):
            return load_records(path, _RECORDS) if path.exists() else {}

    def write_objects(self, name: str, objects: Mapping[str, Any]) -> None:
        """Keep arrays, JSON or records with the run, in place of what has that name.

        The name is that of a file, such as "test/learning". A StoreError says that the run was
        deleted in the meantime, or that the disk is full.
        """
        try:
            save_state(objects, self.folder / f"{name}.simviz", sync=True)
        except FileNotFoundError as error:
            raise StoreError("This run was deleted in the meantime.") from error
        except OSError as error:
            raise StoreError(why_not_written(self.folder, error)) from error

    def has_smaller(self, part: Part) -> bool:
        """Whether smaller models of the method were trained, whose ranks on a part are kept."""
        return (self.folder / part / "smaller.simviz").exists()

    def maps(self) -> tuple[str, ...]:
        """Names of the drawings that are kept, sorted."""
        paths = self.folder.glob("map-*.simviz")
        return tuple(sorted(path.stem.removeprefix("map-") for path in paths))

    def put_map(self, name: str, drawing: JointMap, x_drawn: Index, y_drawn: Index) -> None:
        """Keep a drawing with the run, in place of one of that name, and which items are on it.

        A name has lower-case letters, digits and "-"; items are positions in the data set. A
        StoreError says that the name does not do, that there are too many drawings, or that the
        disk is full.
        """
        present = self.maps()
        if name not in present and len(present) >= MAX_MAPS:
            raise StoreError(f"A run keeps at most {MAX_MAPS} drawings.")
        self.write_objects(_map_name(name), {"map": drawing, "x": x_drawn, "y": y_drawn})


def load_map(run: Run, drawing: str) -> tuple[JointMap, Index, Index]:
    """One of ``run.maps()``, and the positions in the data set of the items on it."""
    objects = run.read_objects(_map_name(drawing))
    with damaged(f"The drawing {drawing!r} of this run"):
        return objects["map"], objects["x"], objects["y"]


def _map_name(name: str) -> str:
    if not isinstance(name, str) or not _DRAWING.fullmatch(name):
        raise StoreError(
            "A drawing is named by at most 40 lower-case letters, digits and '-', such as 'mds-2'."
        )
    return f"map-{name}"


def stopped_by_validation(run: Run) -> bool:
    """Whether the training of a run watched the validation part and stopped by it.

    The tag ``stops_early`` of its method says so; for a blend, any part may. What another
    system did is not known: False. A blend of blends that cannot be read raises a StoreError.
    """
    if not run.info.is_derived:
        return _stops_early(run.info.method)
    params = run.info.spec.get("params", {})
    parts = [str(params.get(f"{role}_method", "")) for role in DERIVED_ROLES]
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
