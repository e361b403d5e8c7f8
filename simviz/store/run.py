"""A run: what was asked for, what was learned, how well it did."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simviz.evaluation.metrics import parse_metric
from simviz.exceptions import StoreError
from simviz.pipeline import Pipeline, load_pipeline
from simviz.store.files import read_arrays, read_json, sync_tree, write_arrays, write_json
from simviz.store.records import RunInfo

Part = Literal["validation", "test"]
#: What is chosen of how a data set is looked at.
Shown = Literal["part", "direction"]
#: Parts of a split that a run is measured on, in the order of work.
MEASURED: tuple[Part, ...] = ("validation", "test")
#: Most drawings kept with a run.
MAX_MAPS = 40
_DRAWING = re.compile(r"[0-9a-z-]{1,40}")
_INFO = "info"
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class PartFiles:
    """What a run found out on one part of its split.

    Parameters
    ----------
    evaluation : mapping
        As JSON: "records" (tidy metrics), and whatever belongs beside them.
    per_query : mapping of str to ndarray
        Values of each query by "direction:metric".
    roc : mapping of str to ndarray or None
        Arrays that describe the curve, by the names of `Roc`.
    rankings : mapping of str to ndarray
        Ranks of the queries by "ranking:direction:name", and both scores
        ("judged", "predicted") where judgments are scores.
    curve : list of mapping
        Tidy quality by dimension; empty where there is none.
    """

    evaluation: Mapping[str, Any]
    per_query: Mapping[str, NDArray[Any]]
    roc: Mapping[str, NDArray[Any]] | None
    rankings: Mapping[str, NDArray[Any]]
    curve: list[Any]

    def write(self, folder: Path) -> None:
        """Write all files.

        Parameters
        ----------
        folder : Path
            An empty directory.
        """
        write_json(folder / "evaluation.json", dict(self.evaluation))
        write_arrays(folder / "per_query.npz", self.per_query)
        if self.roc is not None:
            write_arrays(folder / "roc.npz", self.roc)
        write_arrays(folder / "arrays.npz", self.rankings)
        write_json(folder / "curve.json", self.curve)

    def summary(self) -> dict[str, float]:
        """The figures that a list of runs shows: of the side that asks first, and of all pairs."""
        wanted = (*self.evaluation["directions"][:1], "pairs")
        told = self.evaluation["records"]
        return {r["metric"]: r["value"] for r in told if r["direction"] in wanted}


@dataclass(frozen=True, slots=True, eq=False)
class RunFiles:
    """Everything a run keeps.

    Parameters
    ----------
    spec : mapping
        What was asked for, as JSON.
    pipeline : PairPipeline or BlendPipeline
        What was trained.
    measured : mapping of {"validation", "test"} to PartFiles
        What was found out, by part; at least one.
    arrays : mapping of str to ndarray
        Parts of the split: "x_train", "y_test", ...
    maps : mapping of str to (arrays, info)
        Drawings by name: arrays "x" and "y", and JSON about them.
    meta : mapping
        Times, sizes, versions, notes, as JSON.
    seconds : float
        The whole took so long.
    """

    spec: Mapping[str, Any]
    pipeline: Pipeline
    measured: Mapping[Part, PartFiles]
    arrays: Mapping[str, NDArray[Any]]
    maps: Mapping[str, tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]]
    meta: Mapping[str, Any]
    seconds: float

    @property
    def summary(self) -> dict[str, float]:
        """What runs are ranked by: figures on the validation part, never on the test."""
        measured = self.measured.get("validation")
        return {} if measured is None else measured.summary()

    def write(self, folder: Path) -> int:
        """Write all files into an empty directory.

        Parameters
        ----------
        folder : Path
            The directory.

        Returns
        -------
        int
            Bytes written.
        """
        write_json(folder / "spec.json", dict(self.spec))
        self.pipeline.save(folder / "pipeline.simviz")
        for part, files in self.measured.items():
            (folder / part).mkdir()
            files.write(folder / part)
        write_arrays(folder / "arrays.npz", self.arrays)
        for drawing, (arrays, info) in self.maps.items():
            write_map(folder, drawing, arrays, info)
        write_json(folder / "meta.json", dict(self.meta))
        return sync_tree(folder)


@dataclass(frozen=True, slots=True)
class RunPart:
    """What a stored run found out on one part, read when it is asked for.

    Metrics go by the names that they have now, whatever they were called when
    the run was stored.

    Parameters
    ----------
    folder : Path
        Where its files are.
    """

    folder: Path

    def evaluation(self) -> dict[str, Any]:
        """Tidy metrics under "records", baselines and pool beside them."""
        told = dict(read_json(self.folder / "evaluation.json"))
        if "records" in told:
            told["records"] = _renamed(told["records"])
        if "metrics" in told:
            told["metrics"] = [metric_name(name) for name in told["metrics"]]
        if "baselines" in told:
            told["baselines"] = {k: _renamed(lines) for k, lines in told["baselines"].items()}
        return told

    def records(self) -> list[dict[str, Any]]:
        """Tidy metrics, see `simviz.evaluation.Evaluation.to_records`."""
        return list(self.evaluation()["records"])

    def per_query(self) -> Arrays:
        """Values of each query by "direction:metric", NaN for a skipped one."""
        arrays = read_arrays(self.folder / "per_query.npz")
        parted = ((key.partition(":"), values) for key, values in arrays.items())
        return {f"{side}:{metric_name(name)}": values for (side, _, name), values in parted}

    def roc(self) -> Arrays | None:
        """Arguments of `simviz.evaluation.Roc`, or None if none was traced."""
        path = self.folder / "roc.npz"
        return read_arrays(path) if path.exists() else None

    def rankings(self) -> Arrays:
        """Ranks of the queries, see `PartFiles`."""
        return read_arrays(self.folder / "arrays.npz")

    def curve(self) -> list[dict[str, Any]]:
        """Tidy quality by dimension; empty where the method has no such curve."""
        return _renamed(read_json(self.folder / "curve.json"))

    def learning(self) -> list[dict[str, Any]]:
        """Tidy quality by size of the training part; empty where nobody asked for it."""
        path = self.folder / "learning.json"
        return _renamed(read_json(path)) if path.exists() else []

    def put_learning(self, records: list[dict[str, Any]]) -> None:
        """Keep the quality by size of the training part with the run.

        Parameters
        ----------
        records : list of dict
            See `simviz.evaluation.LearningCurve.to_records`.

        Raises
        ------
        StoreError
            If the run was deleted in the meantime.
        """
        try:
            write_json(self.folder / "learning.json", records)
        except FileNotFoundError as error:
            raise StoreError("This run was deleted in the meantime.") from error


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
        return dict(read_json(self.folder / "spec.json"))

    @property
    def meta(self) -> dict[str, Any]:
        """Times, sizes, versions and notes."""
        return dict(read_json(self.folder / "meta.json"))

    def pipeline(self) -> Pipeline:
        """What was trained, ready for new items."""
        return load_pipeline(self.folder / "pipeline.simviz")

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
            raise StoreError(f"The pipeline of this run cannot be read ({error}).") from error

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
        return read_arrays(self.folder / "arrays.npz")

    def _part_folder(self, name: Part) -> Path | None:
        folder = self.folder / name
        if folder.is_dir():
            return folder
        # Before parts had directories, what stood beside the pipeline was the test.
        old = name == "test" and (self.folder / "evaluation.json").exists()
        return self.folder if old else None

    def maps(self) -> tuple[str, ...]:
        """Names of the drawings that are kept, sorted."""
        return tuple(sorted(p.stem.removeprefix("map-") for p in self.folder.glob("map-*.npz")))

    def map(self, drawing: str) -> tuple[Arrays, dict[str, Any]]:
        """One drawing.

        Parameters
        ----------
        drawing : str
            One of `maps`.

        Returns
        -------
        arrays : dict of str to ndarray
            Positions "x" and "y", and the items they stand for.
        info : dict
            What is known about it.

        Raises
        ------
        StoreError
            If there is no such drawing.
        """
        arrays = read_arrays(map_path(self.folder, drawing))
        try:
            info = _decoded(arrays.pop(_INFO))
        except (KeyError, ValueError) as error:
            raise StoreError(f"The drawing {drawing!r} of this run is damaged.") from error
        return arrays, info

    def put_map(
        self, drawing: str, arrays: Mapping[str, NDArray[Any]], info: Mapping[str, Any]
    ) -> None:
        """Keep another drawing with the run, in place of one of that name.

        Parameters
        ----------
        drawing : str
            Its name: lower-case letters, digits and "-".
        arrays : mapping of str to ndarray
            Positions "x" and "y", and the items they stand for.
        info : mapping
            What is known about it, as JSON.

        Raises
        ------
        StoreError
            If the name does not do or the run has too many drawings.
        """
        present = self.maps()
        if drawing not in present and len(present) >= MAX_MAPS:
            raise StoreError(f"A run keeps at most {MAX_MAPS} drawings.")
        try:
            write_map(self.folder, drawing, arrays, info)
        except FileNotFoundError as error:
            raise StoreError("This run was deleted in the meantime.") from error


def metric_name(name: str) -> str:
    """The name that a metric has now; one that nothing here measures keeps its own."""
    try:
        return parse_metric(name).name
    except ValueError:
        return name


def _renamed(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Records with the names that metrics have now."""
    return [{**record, "metric": metric_name(record["metric"])} for record in records]


def map_path(folder: Path, drawing: str) -> Path:
    """The file of a drawing."""
    if not isinstance(drawing, str) or not _DRAWING.fullmatch(drawing):
        raise StoreError(
            "A drawing is named by at most 40 lower-case letters, digits and '-', such as 'mds-2'."
        )
    return folder / f"map-{drawing}.npz"


def write_map(
    folder: Path, drawing: str, arrays: Mapping[str, NDArray[Any]], info: Mapping[str, Any]
) -> None:
    """Write a drawing; arrays and what is known about them are one file."""
    text = np.frombuffer(json.dumps(dict(info)).encode(), dtype=np.uint8)
    write_arrays(map_path(folder, drawing), {**arrays, _INFO: text})


def _decoded(raw: NDArray[Any]) -> dict[str, Any]:
    return dict(json.loads(raw.tobytes()))
