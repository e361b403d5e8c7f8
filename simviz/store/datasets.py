"""Data sets of the store."""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from simviz.data.cells import as_cells
from simviz.data.description import QuerySide, infer_query_side
from simviz.data.pairs import Items, PairSet
from simviz.datasets import DEMOS, load_demo
from simviz.exceptions import DatasetError, MissingLibraryError, StoreError
from simviz.persistence import load_records, save_state
from simviz.relevance import Relevance
from simviz.store.directory import (
    Connection,
    Directory,
    damaged,
    masked,
    not_found,
    printable,
    read_json,
    sync_tree,
    write_json,
)

_log = logging.getLogger(__name__)
#: Data sets whose id begins so are read from installed packages and belong to all.
DEMO_PREFIX = "demo:"
_NAMES = "names.json"


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """A data set as a list shows it.

    A demo, whose id is "demo:...", has not been read yet: its digest and kinds are empty, its
    numbers 0. `created` counts seconds since 1970, `notes` are what was said when it was read.
    """

    id: str
    name: str
    x_name: str
    y_name: str
    digest: str = ""
    x_kind: str = ""
    y_kind: str = ""
    n_x: int = 0
    n_y: int = 0
    n_judged: int = 0
    n_relevant: int = 0
    n_bytes: int = 0
    created: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def is_demo(self) -> bool:
        """Whether it is read from an installed package."""
        return self.id.startswith(DEMO_PREFIX)


def write_pairs(pairs: PairSet, folder: Path) -> None:
    """Write a pair set as ``pairs.simviz``, and what it and its sides are called."""
    y = None if pairs.y is pairs.x else _as_stored(pairs.y)
    objects = {"x": _as_stored(pairs.x), "y": y, "relevance": pairs.relevance}
    # Not compressed: somebody waits whenever it is read.
    save_state(objects | {"space": pairs.space}, folder / "pairs.simviz", level=0)
    write_json(folder / _NAMES, [pairs.name, pairs.x_name, pairs.y_name])


def read_pairs(folder: Path) -> PairSet:
    """Read what `write_pairs` wrote."""
    remedy = "Delete the data set and upload it again."
    names = read_json(folder / _NAMES, remedy)
    with damaged("The stored data set", remedy):
        objects = load_records(folder / "pairs.simviz", (Items, Relevance))
        objects["y"] = objects["x"] if objects["y"] is None else objects["y"]
        name, x_name, y_name = names
        return PairSet(**objects, name=name, x_name=x_name, y_name=y_name)


def _as_stored(items: Items) -> Items:
    """Items whose cells are of types that JSON knows: others become their texts."""
    columns = {
        name: as_cells([_as_json(cell) for cell in column.ravel()]).reshape(column.shape)
        for name, column in items.metadata.items()
        if column.dtype.kind == "O"
    }
    # Texts are not looked through again where nothing changes.
    return replace(items, metadata={**items.metadata, **columns}) if columns else items


def _as_json(value: Any) -> Any:
    """A cell as JSON knows it: what it does not know becomes its text."""
    if value is None or type(value) in (str, bool, float):
        return value
    if type(value) is int and abs(value) < 2**63:
        return value
    return str(value)


class Datasets:
    """Data sets of a store."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def put(self, pairs: PairSet, workspace: str, notes: Sequence[str] = ()) -> str:
        """Keep a pair set in a workspace; return its id."""
        directory, digest = self._directory, pairs.digest
        # An id that only who knows the workspace could compute.
        text = f"{digest}|{workspace}".encode(errors="replace")
        dataset_id = hashlib.blake2b(text, digest_size=16, person=b"simviz dataset").hexdigest()
        with directory.index.reading() as db:
            self._has_room(db, workspace, dataset_id, 0)
        with directory.draft() as draft:
            write_pairs(pairs, draft)
            size = sync_tree(draft)
            with directory.index.writing() as db:
                if not self._has_room(db, workspace, dataset_id, size):
                    return dataset_id
                directory.place(draft, "datasets", dataset_id)
                names = (printable(name) for name in (pairs.name, pairs.x_name, pairs.y_name))
                kinds, relevance = (pairs.x.kind, pairs.y.kind), pairs.relevance
                row = (dataset_id, workspace, digest, *names, *kinds, *pairs.shape)
                row += (relevance.matrix.nnz, relevance.positives.nnz, size, time.time())
                db.insert("datasets", (*row, json.dumps([str(note) for note in notes])))
        details = {"workspace": masked(workspace), "id": dataset_id, "bytes": size}
        details |= dict(zip(("x", "y", "n_x", "n_y"), (*kinds, *pairs.shape), strict=True))
        _log.info("data set kept", details)
        return dataset_id

    def get(self, dataset_id: str, workspace: str | None = None) -> PairSet:
        """Open a data set."""
        if is_demo(dataset_id):
            return _demo(dataset_id.removeprefix(DEMO_PREFIX))
        self.info(dataset_id, workspace)
        return read_pairs(self._directory.folder("datasets", dataset_id))

    def info(self, dataset_id: str, workspace: str | None = None) -> DatasetInfo:
        """Return what is known about a data set, without opening it; see `get`."""
        if is_demo(dataset_id):
            demo = next((info for info in _demos() if info.id == dataset_id), None)
            if demo is None:
                raise not_found("datasets")
            return demo
        self._directory.folder("datasets", dataset_id)
        row = self._directory.index.one("SELECT * FROM datasets WHERE id=?", dataset_id)
        if row is None or (workspace is not None and row["workspace"] != workspace):
            raise not_found("datasets")
        return _info(row)

    def find(self, workspace: str) -> list[DatasetInfo]:
        """Return the data sets of a workspace, newest first, then the demos."""
        query = "SELECT * FROM datasets WHERE workspace=? ORDER BY created DESC, id"
        rows = self._directory.index.rows_of(workspace, query, workspace)
        return [*map(_info, rows), *_demos()]

    def rename(self, dataset_id: str, workspace: str, name: str, x_name: str, y_name: str) -> None:
        """Call a data set and its sides by other names, which are no part of the content."""
        if is_demo(dataset_id):
            raise StoreError("A demo belongs to all and cannot be renamed.")
        self.info(dataset_id, workspace)
        folder, names = self._directory.folder("datasets", dataset_id), (name, x_name, y_name)
        with self._directory.index.writing() as db:
            write_json(folder / _NAMES, names)
            query = "UPDATE datasets SET name=?, x_name=?, y_name=? WHERE id=?"
            db.execute(query, (*map(printable, names), dataset_id))

    def delete(self, dataset_id: str, workspace: str) -> None:
        """Delete a data set and the runs trained on it."""
        if is_demo(dataset_id):
            raise StoreError("A demo belongs to all and cannot be deleted.")
        self.info(dataset_id, workspace)
        gone = {"datasets": [dataset_id]}
        with self._directory.index.writing(deleting=True) as db:
            for table in ("runs", "trash"):
                rows = db.execute(f"SELECT id FROM {table} WHERE dataset_id=?", (dataset_id,))
                gone[table] = [row["id"] for row in rows]
            for table in ("runs", "trash", "feedback", "decisions", "shown"):
                db.execute(f"DELETE FROM {table} WHERE dataset_id=?", (dataset_id,))
            db.execute("DELETE FROM datasets WHERE id=?", (dataset_id,))
        for table in ("runs", "trash", "datasets"):
            self._directory.discard(table, gone[table])
        details = {"workspace": masked(workspace), "id": dataset_id, "runs": len(gone["runs"])}
        _log.info("data set deleted", details)

    def _has_room(self, db: Connection, workspace: str, dataset_id: str, size: int) -> bool:
        """Return whether the data set is new; refuse one for which there is no room."""
        db.require_workspace(workspace)
        if db.has("datasets", dataset_id):
            return False
        db.require_room("datasets", workspace, self._directory.limits, size)
        return True


def is_demo(dataset_id: object) -> bool:
    """Whether an id is that of a demo."""
    return isinstance(dataset_id, str) and dataset_id.startswith(DEMO_PREFIX)


def default_query_side(dataset_id: str, pairs: PairSet) -> QuerySide:
    """Which side of a stored data set or a demo asks, and why."""
    demo = DEMOS.get(dataset_id.removeprefix(DEMO_PREFIX))
    if demo is None or not dataset_id.startswith(DEMO_PREFIX):
        return infer_query_side(pairs)
    name = pairs.x_name if demo.direction == "x2y" else pairs.y_name
    return QuerySide(demo.direction, f"{name}, as the demo says")


@lru_cache(maxsize=8)
def _demo(name: str) -> PairSet:
    try:
        return load_demo(name)
    except (DatasetError, MissingLibraryError) as error:
        raise StoreError(str(error)) from error


def _demos() -> list[DatasetInfo]:
    return [
        DatasetInfo(DEMO_PREFIX + demo.id, demo.title, demo.x_name, demo.y_name)
        for demo in DEMOS.values()
    ]


def _info(row: sqlite3.Row) -> DatasetInfo:
    fields = dict(row)
    fields.pop("workspace")
    with damaged("The entry of a data set in the index"):
        return DatasetInfo(**fields | {"notes": tuple(json.loads(fields["notes"]))})
