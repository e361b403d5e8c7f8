"""A run: what was asked for, what was learned, how well it did."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.exceptions import StoreError
from simviz.pipeline import Pipeline, load_pipeline
from simviz.store.files import read_arrays, read_json, sync_tree, write_arrays, write_json
from simviz.store.records import RunInfo

#: Most drawings kept with a run.
MAX_MAPS = 40
_DRAWING = re.compile(r"[0-9a-z-]{1,40}")
_INFO = "info"
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class RunFiles:
    """Everything a run keeps.

    Parameters
    ----------
    spec : mapping
        What was asked for, as JSON.
    pipeline : PairPipeline or BlendPipeline
        What was trained.
    evaluation : mapping
        As JSON: "records" (tidy metrics), and whatever belongs beside them.
    per_query : mapping of str to ndarray
        Values of each query by "direction:metric".
    roc : mapping of str to ndarray or None
        Arrays that describe the curve, by the names of `Roc`.
    arrays : mapping of str to ndarray
        Other arrays: parts of the split, ranks.
    curve : list of mapping
        Tidy quality by dimension; empty where there is none.
    maps : mapping of str to (arrays, info)
        Drawings by name: arrays "x" and "y", and JSON about them.
    meta : mapping
        Times, sizes, versions, notes, as JSON.
    summary : mapping of str to float
        The figures a list of runs shows.
    seconds : float
        The whole took so long.
    """

    spec: Mapping[str, Any]
    pipeline: Pipeline
    evaluation: Mapping[str, Any]
    per_query: Mapping[str, NDArray[Any]]
    roc: Mapping[str, NDArray[Any]] | None
    arrays: Mapping[str, NDArray[Any]]
    curve: list[Any]
    maps: Mapping[str, tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]]
    meta: Mapping[str, Any]
    summary: Mapping[str, float]
    seconds: float

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
        write_json(folder / "evaluation.json", dict(self.evaluation))
        write_arrays(folder / "per_query.npz", self.per_query)
        if self.roc is not None:
            write_arrays(folder / "roc.npz", self.roc)
        write_arrays(folder / "arrays.npz", self.arrays)
        write_json(folder / "curve.json", self.curve)
        for drawing, (arrays, info) in self.maps.items():
            write_map(folder, drawing, arrays, info)
        write_json(folder / "meta.json", dict(self.meta))
        return sync_tree(folder)


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

    def evaluation(self) -> dict[str, Any]:
        """Tidy metrics under "records", baselines and pool beside them."""
        return dict(read_json(self.folder / "evaluation.json"))

    def records(self) -> list[dict[str, Any]]:
        """Tidy metrics, see `simviz.evaluation.Evaluation.to_records`."""
        return list(self.evaluation()["records"])

    def per_query(self) -> Arrays:
        """Values of each query by "direction:metric", NaN for a skipped one."""
        return read_arrays(self.folder / "per_query.npz")

    def roc(self) -> Arrays | None:
        """Arguments of `simviz.evaluation.Roc`, or None if none was traced."""
        path = self.folder / "roc.npz"
        return read_arrays(path) if path.exists() else None

    def arrays(self) -> Arrays:
        """Parts of the split ("x_test", "y_train", ...) and ranks of the queries."""
        return read_arrays(self.folder / "arrays.npz")

    def curve(self) -> list[dict[str, Any]]:
        """Tidy quality by dimension; empty where the method has no such curve."""
        return list(read_json(self.folder / "curve.json"))

    def learning(self) -> list[dict[str, Any]]:
        """Tidy quality by size of the training part; empty where nobody asked for it."""
        path = self.folder / "learning.json"
        return list(read_json(path)) if path.exists() else []

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


def map_path(folder: Path, drawing: str) -> Path:
    """The file of a drawing.

    Raises
    ------
    StoreError
        If the name does not do.
    """
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
