"""Data sets of the store."""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data.cells import as_cells
from simviz.data.description import QuerySide, infer_query_side
from simviz.data.pairs import Items, PairSet
from simviz.datasets import DEMOS, load_demo
from simviz.exceptions import DatasetError, StoreError
from simviz.relevance import Relevance
from simviz.store.directory import (
    Connection,
    Directory,
    damaged,
    masked,
    not_found,
    printable,
    read_arrays,
    read_json,
    sync_tree,
    write_arrays,
    write_json,
)

_log = logging.getLogger(__name__)
#: Data sets whose id begins so are read from installed packages and belong to all.
DEMO_PREFIX = "demo:"
FORMAT = "simviz-pairs-1"
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """A data set as a list shows it.

    Parameters
    ----------
    id : str
        Its id; "demo:..." for a demo.
    name, x_name, y_name : str
        As in `PairSet`.
    digest : str
        Of the content; empty for a demo, which has not been read yet.
    x_kind, y_kind : str
        Kind of the items of each side; empty for a demo.
    n_x, n_y, n_judged, n_relevant : int
        Items of each side, judged and relevant pairs; 0 for a demo.
    n_bytes : int
        On disk.
    created : float
        Seconds since 1970.
    notes : tuple of str
        What was said when it was read.
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
    """Write a pair set as ``pairs.json`` and ``arrays.npz``."""
    arrays: Arrays = {}
    relevance = pairs.relevance
    one_collection = pairs.x is pairs.y
    tree = {
        "format": FORMAT,
        "names": [pairs.name, pairs.x_name, pairs.y_name],
        "space": pairs.space,
        "x": _pack_items(pairs.x, "x", arrays),
        "y": None if one_collection else _pack_items(pairs.y, "y", arrays),
        "relevance": {
            "unjudged": relevance.unjudged,
            "kind": relevance.kind,
            "threshold": relevance.threshold,
            "matrix": _pack(relevance.matrix, "relevance", arrays),
        },
    }
    write_arrays(folder / "arrays.npz", arrays)
    write_json(folder / "pairs.json", tree)


def read_pairs(folder: Path) -> PairSet:
    """Read what `write_pairs` wrote."""
    remedy = "Delete the data set and upload it again."
    tree = read_json(folder / "pairs.json", remedy)
    arrays = read_arrays(folder / "arrays.npz", remedy)
    with damaged("The stored data set", remedy):
        if tree["format"] != FORMAT:
            raise StoreError(
                f"The data set is stored as {tree['format']!r}, this version reads {FORMAT!r}. "
                "Upload it again."
            )
        x = _unpack_items(tree["x"], arrays)
        y = x if tree["y"] is None else _unpack_items(tree["y"], arrays)
        judged = tree["relevance"]
        relevance = Relevance(
            _unpack(judged["matrix"], arrays),
            unjudged=judged["unjudged"],
            kind=judged["kind"],
            threshold=judged["threshold"],
        )
        name, x_name, y_name = tree["names"]
        names = {"name": name, "x_name": x_name, "y_name": y_name}
        return PairSet(x, y, relevance, **names, space=tree.get("space"))


def _pack_items(items: Items, side: str, arrays: Arrays) -> dict[str, Any]:
    is_text = items.kind in ("text", "keyword")
    content, name = items.content, f"{side}.content"
    columns = [
        [name, _pack(column, f"{side}.metadata.{i}", arrays)]
        for i, (name, column) in enumerate(items.metadata.items())
    ]
    return {
        "kind": items.kind,
        "ids": items.ids.tolist(),
        "content": {"texts": content.tolist()} if is_text else _pack(content, name, arrays),
        "metadata": columns,
    }


def _unpack_items(tree: dict[str, Any], arrays: Arrays) -> Items:
    content = tree["content"]
    value = content["texts"] if "texts" in content else _unpack(content, arrays)
    metadata = {name: _unpack(column, arrays) for name, column in tree["metadata"]}
    return Items(tree["ids"], value, tree["kind"], metadata)


def _pack(values: Any, name: str, arrays: Arrays) -> dict[str, Any]:
    if sp.issparse(values):
        for part in ("data", "indices", "indptr"):
            arrays[f"{name}.{part}"] = getattr(values, part)
        return {"csr": name, "shape": values.shape}
    if values.dtype.kind == "O":
        return {"shape": values.shape, "values": [_as_json(value) for value in values.ravel()]}
    arrays[name] = values
    return {"array": name}


def _unpack(tree: dict[str, Any], arrays: Arrays) -> Any:
    if "array" in tree:
        return arrays[tree["array"]]
    if "values" in tree:
        return as_cells(tree["values"]).reshape(tree["shape"])
    data, indices, indptr = (
        arrays[f"{tree['csr']}.{part}"] for part in ("data", "indices", "indptr")
    )
    matrix = sp.csr_array((data, indices, indptr), shape=tuple(tree["shape"]))
    # The constructor may narrow the index type, which the digest counts.
    matrix.indices, matrix.indptr = indices, indptr
    matrix.check_format(full_check=True)
    return matrix


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
                if self._has_room(db, workspace, dataset_id, size):
                    directory.place(draft, "datasets", dataset_id)
                    row = (
                        dataset_id,
                        workspace,
                        digest,
                        *(printable(n) for n in (pairs.name, pairs.x_name, pairs.y_name)),
                        pairs.x.kind,
                        pairs.y.kind,
                        *pairs.shape,
                        pairs.relevance.matrix.nnz,
                        pairs.relevance.positives.nnz,
                        size,
                        time.time(),
                        json.dumps([str(note) for note in notes]),
                    )
                    db.insert("datasets", row)
                    details = {"workspace": masked(workspace), "id": dataset_id, "bytes": size}
                    details |= {"x": pairs.x.kind, "y": pairs.y.kind}
                    details |= dict(zip(("n_x", "n_y"), pairs.shape, strict=True))
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
        path = self._directory.folder("datasets", dataset_id) / "pairs.json"
        tree, names = read_json(path), [name, x_name, y_name]
        with self._directory.index.writing() as db:
            write_json(path, {**tree, "names": names})
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
            for table in ("runs", "trash", "feedback", "shown"):
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


def usual_asking(dataset_id: str, pairs: PairSet) -> QuerySide:
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
    except DatasetError as error:
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
