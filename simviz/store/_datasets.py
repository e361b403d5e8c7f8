"""Data sets of the store."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Sequence
from functools import lru_cache

from simviz.data.pairs import PairSet
from simviz.datasets import DEMOS, load_demo
from simviz.exceptions import DatasetError, StoreError
from simviz.store._base import (
    StoreBase,
    not_found,
    printable,
    refuse_beyond,
    refuse_bytes,
    require_workspace,
    used_bytes,
)
from simviz.store._content import read_pairs, write_pairs
from simviz.store.files import sync_tree
from simviz.store.records import DEMO_PREFIX, DatasetInfo


class DatasetStore(StoreBase):
    """Puts, opens, lists and deletes data sets; see `Store`."""

    def put_dataset(self, pairs: PairSet, workspace: str, notes: Sequence[str] = ()) -> str:
        """Keep a pair set in a workspace.

        Parameters
        ----------
        pairs : PairSet
            What to keep.
        workspace : str
            Whose it is.
        notes : sequence of str
            What to know about it, such as what a reader left out.

        Returns
        -------
        str
            Its id. The same content in the same workspace has the same id
            and is kept once, with the first names and notes.

        Raises
        ------
        StoreError
            If the workspace is full or gone, or a column cannot be stored.
        """
        digest = pairs.digest
        with self._index.reading() as db:
            require_workspace(db, workspace)
            dataset_id = _dataset_id(digest, workspace)
            self._check_room(db, workspace, dataset_id, 0)
        with self._draft() as draft:
            write_pairs(pairs, draft)
            size = sync_tree(draft)
            with self._index.writing() as db:
                if self._check_room(db, workspace, dataset_id, size):
                    self._settle(draft, "datasets", dataset_id)
                    db.execute(
                        "INSERT INTO datasets VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                        (
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
                        ),
                    )
        return dataset_id

    def get_dataset(self, dataset_id: str, workspace: str | None = None) -> PairSet:
        """Open a data set.

        Parameters
        ----------
        dataset_id : str
            Its id, or "demo:..." for a demo.
        workspace : str, optional
            Who asks; whoever is trusted (a job, a share) may leave it out.

        Returns
        -------
        PairSet
            As it was put.

        Raises
        ------
        StoreError
            If there is none for this workspace.
        """
        if is_demo(dataset_id):
            return _demo(dataset_id.removeprefix(DEMO_PREFIX))
        self.get_dataset_info(dataset_id, workspace)
        return read_pairs(self._folder("datasets", dataset_id))

    def get_dataset_info(self, dataset_id: str, workspace: str | None = None) -> DatasetInfo:
        """What is known about a data set, without opening it; see `get_dataset`."""
        if is_demo(dataset_id):
            found = {info.id: info for info in _demos()}
            if dataset_id not in found:
                raise not_found("datasets")
            return found[dataset_id]
        self._folder("datasets", dataset_id)
        with self._index.reading() as db:
            row = db.execute("SELECT * FROM datasets WHERE id=?", (dataset_id,)).fetchone()
        if row is None or (workspace is not None and row["workspace"] != workspace):
            raise not_found("datasets")
        return _info(row)

    def list_datasets(self, workspace: str) -> list[DatasetInfo]:
        """Data sets of a workspace, newest first, then the demos.

        Parameters
        ----------
        workspace : str
            Whose.

        Returns
        -------
        list of DatasetInfo
            Without their content.

        Raises
        ------
        StoreError
            If there is no such workspace.
        """
        with self._index.reading() as db:
            require_workspace(db, workspace)
            rows = db.execute(
                "SELECT * FROM datasets WHERE workspace=? ORDER BY created DESC, id", (workspace,)
            ).fetchall()
        return [*map(_info, rows), *_demos()]

    def delete_dataset(self, dataset_id: str, workspace: str) -> None:
        """Delete a data set and the runs trained on it.

        Parameters
        ----------
        dataset_id : str
            Its id.
        workspace : str
            Who asks.

        Raises
        ------
        StoreError
            If there is none in this workspace, or it is a demo.
        """
        if is_demo(dataset_id):
            raise StoreError("A demo belongs to all and cannot be deleted.")
        self.get_dataset_info(dataset_id, workspace)
        with self._index.writing() as db:
            runs = db.execute("SELECT id FROM runs WHERE dataset_id=?", (dataset_id,)).fetchall()
            db.execute("DELETE FROM runs WHERE dataset_id=?", (dataset_id,))
            gone = db.execute("SELECT id FROM trash WHERE dataset_id=?", (dataset_id,)).fetchall()
            db.execute("DELETE FROM trash WHERE dataset_id=?", (dataset_id,))
            db.execute("DELETE FROM feedback WHERE dataset_id=?", (dataset_id,))
            db.execute("DELETE FROM shown WHERE dataset_id=?", (dataset_id,))
            db.execute("DELETE FROM datasets WHERE id=?", (dataset_id,))
        self._discard("runs", [run["id"] for run in runs])
        self._discard("trash", [run["id"] for run in gone])
        self._discard("datasets", [dataset_id])

    def _check_room(
        self, db: sqlite3.Connection, workspace: str, dataset_id: str, size: int
    ) -> bool:
        """Whether the data set is new; refuses one for which there is no room."""
        require_workspace(db, workspace)
        if db.execute("SELECT 1 FROM datasets WHERE id=?", (dataset_id,)).fetchone():
            return False
        (count,) = db.execute(
            "SELECT COUNT(*) FROM datasets WHERE workspace=?", (workspace,)
        ).fetchone()
        refuse_beyond(self.limits.datasets, count, "data sets")
        refuse_bytes(self.limits.bytes, used_bytes(db, workspace), size)
        return True


def is_demo(dataset_id: object) -> bool:
    """Whether an id is that of a demo."""
    return isinstance(dataset_id, str) and dataset_id.startswith(DEMO_PREFIX)


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


def _dataset_id(digest: str, workspace: str) -> str:
    """An id that only who knows the workspace could compute."""
    h = hashlib.blake2b(digest_size=16, person=b"simviz dataset")
    h.update(f"{digest}|{workspace}".encode())
    return h.hexdigest()


def _info(row: sqlite3.Row) -> DatasetInfo:
    fields = dict(row)
    fields.pop("workspace")
    return DatasetInfo(**fields | {"notes": tuple(json.loads(fields["notes"]))})
