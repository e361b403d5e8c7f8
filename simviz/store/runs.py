"""Runs of the store."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections.abc import Mapping
from typing import Any

from simviz.exceptions import StoreError
from simviz.store.datasets import is_demo
from simviz.store.directory import (
    TRASH_SECONDS,
    Connection,
    Directory,
    not_found,
    printable,
    sync,
    sync_tree,
)
from simviz.store.run import Measured, Part, Run, RunInfo, RunResult, metric_name

#: Opening a demo's run is noted at most so often, in seconds.
_OPENED_SECONDS = 600.0
#: Deleted runs that a workspace can bring back at most.
_DELETED = 20


class Runs:
    """Runs of a store."""

    def __init__(self, directory: Directory) -> None:
        self._directory, self._index = directory, directory.index

    def put(self, run_id: str, result: RunResult, spec: Mapping[str, Any], workspace: str) -> bool:
        """Keep what came of a request; return False if there is such a run."""
        dataset_id, method = spec["dataset_id"], spec["method"]
        owner = None if is_demo(dataset_id) else workspace
        evicted: list[str] = []
        texts = json.dumps(dict(spec)), json.dumps(result.summary()), "", ""
        with self._directory.draft() as draft:
            size = result.write(draft, spec)
            with self._index.writing() as db:
                if db.has("runs", run_id):
                    return False
                if owner is not None:
                    self._check_room(db, owner, dataset_id, size)
                self._directory.place(draft, "runs", run_id)
                now = time.time()
                seconds = sum(result.seconds.values())
                row = (run_id, owner, dataset_id, method, *texts, seconds, size, now, now)
                db.insert("runs", row)
                if owner is None:
                    evicted = self._make_room_for_demos(db, run_id)
        self._directory.discard("runs", evicted)
        return True

    def put_part(self, run_id: str, part: Part, measured: Measured) -> None:
        """Keep what a run found out on one more part of its split."""
        place = self._directory.folder("runs", run_id) / part
        summary = json.dumps(measured.summary())
        with self._directory.draft() as draft:
            measured.write(draft)
            sync_tree(draft)
            with self._index.writing() as db:
                if not db.has("runs", run_id):
                    raise StoreError("This run was deleted in the meantime.")
                if place.exists():
                    return
                draft.replace(place)
                sync(place.parent)
                if part == "validation":  # what runs are ranked by
                    db.execute("UPDATE runs SET summary=? WHERE id=?", (summary, run_id))

    def has(self, run_id: str) -> bool:
        """Whether a run is there, whoever owns it."""
        with self._index.reading() as db:
            return db.has("runs", run_id)

    def get(self, run_id: str, workspace: str | None = None) -> Run:
        """Open a run."""
        folder = self._directory.folder("runs", run_id)
        row = self._index.one("SELECT * FROM runs WHERE id=?", run_id)
        if row is None or (workspace is not None and row["workspace"] not in (None, workspace)):
            raise not_found("runs")
        now = time.time()
        if row["workspace"] is None and now - row["opened"] > _OPENED_SECONDS:
            self._index.execute("UPDATE runs SET opened=? WHERE id=?", now, run_id)
        return Run(_info(row), folder)

    def find(self, workspace: str, dataset_id: str | None = None) -> list[RunInfo]:
        """Runs of a workspace, newest first."""
        owned, values = "workspace=?", [workspace]
        if dataset_id is not None:
            owned, values = "workspace=? AND dataset_id=?", [workspace, dataset_id]
            if is_demo(dataset_id):
                owned, values = "workspace IS NULL AND dataset_id=?", [dataset_id]
        query = f"SELECT * FROM runs WHERE {owned} ORDER BY created DESC, id"
        return [_info(row) for row in self._index.rows_of(workspace, query, *values)]

    def rename(
        self, run_id: str, workspace: str, name: str | None = None, note: str | None = None
    ) -> None:
        """Give a run a name or a note."""
        self._require_own(run_id, workspace)
        with self._index.writing() as db:
            for column, text, longest in (("name", name, 200), ("note", note, 5_000)):
                if text is not None:
                    values = printable(text)[:longest], run_id
                    db.execute(f"UPDATE runs SET {column}=? WHERE id=?", values)

    def delete(self, run_id: str, workspace: str) -> None:
        """Delete a run; for an hour, `restore` brings it back."""
        self._require_own(run_id, workspace)
        now = time.time()
        with self._index.writing() as db:
            old = db.execute(
                "SELECT id FROM trash WHERE id=? OR (workspace=? AND (deleted < ? OR id NOT IN "
                "(SELECT id FROM trash WHERE workspace=? ORDER BY deleted DESC LIMIT ?)))",
                (run_id, workspace, now - TRASH_SECONDS, workspace, _DELETED - 1),
            ).fetchall()
            db.executemany("DELETE FROM trash WHERE id=?", [(row["id"],) for row in old])
            db.execute("INSERT INTO trash SELECT *, ? FROM runs WHERE id=?", (now, run_id))
            db.execute("DELETE FROM runs WHERE id=?", (run_id,))
        self._directory.discard("trash", [row["id"] for row in old if row["id"] != run_id])
        with self._index.writing() as db:
            # Nobody has trained it again, or brought it back, since.
            if not db.has("runs", run_id) and db.has("trash", run_id):
                folder = self._directory.folder("runs", run_id)
                if folder.is_dir():  # nobody who swept up has moved it to the trash
                    trash = self._directory.folder("trash", run_id)
                    shutil.rmtree(trash, ignore_errors=True)
                    folder.replace(trash)

    def restore(self, run_id: str, workspace: str) -> None:
        """Bring back a run that was deleted."""
        place = self._directory.folder("trash", run_id)
        with self._index.writing() as db:
            row = db.execute(
                "SELECT * FROM trash WHERE id=? AND workspace=?", (run_id, workspace)
            ).fetchone()
            if row is None:
                raise not_found("trash")
            if not db.has("runs", run_id):
                self._check_room(db, workspace, row["dataset_id"], row["n_bytes"])
                if not place.is_dir():
                    raise not_found("trash")
                self._directory.place(place, "runs", run_id)
                db.insert("runs", tuple(row)[:-1])
            db.execute("DELETE FROM trash WHERE id=?", (run_id,))

    def deleted(self, workspace: str, dataset_id: str) -> list[RunInfo]:
        """Runs that can be brought back."""
        query = (
            "SELECT * FROM trash WHERE workspace=? AND dataset_id=? AND deleted >= ? "
            "ORDER BY deleted DESC, id"
        )
        oldest = time.time() - TRASH_SECONDS
        return [_info(row) for row in self._index.rows(query, workspace, dataset_id, oldest)]

    def drop(self, run_id: str) -> None:
        """Delete a run whoever owns it: for jobs that were cancelled while they saved."""
        self._directory.folder("runs", run_id)
        self._index.execute("DELETE FROM runs WHERE id=?", run_id)
        self._directory.discard("runs", [run_id])

    def _require_own(self, run_id: str, workspace: str) -> None:
        if self.get(run_id, workspace).info.is_demo:
            raise StoreError("Runs of a demo belong to all and cannot be changed.")

    def _check_room(self, db: Connection, workspace: str, dataset_id: str, size: int) -> None:
        db.require_workspace(workspace)
        query = "SELECT 1 FROM datasets WHERE id=? AND workspace=?"
        if db.execute(query, (dataset_id, workspace)).fetchone() is None:
            raise not_found("datasets")
        db.require_room("runs", workspace, self._directory.limits, size)

    def _make_room_for_demos(self, db: Connection, newest: str) -> list[str]:
        """Delete the rows of demo runs not opened for longest, beyond the limits."""
        rows = db.execute(
            "SELECT id, n_bytes FROM runs WHERE workspace IS NULL ORDER BY opened DESC"
        ).fetchall()
        limits = self._directory.limits
        kept, size, evicted = 0, 0, []
        for row in sorted(rows, key=lambda row: row["id"] != newest):
            kept, size = kept + 1, size + row["n_bytes"]
            if row["id"] != newest and (kept > limits.demo_runs or size > limits.demo_bytes):
                evicted.append(row["id"])
        db.executemany("DELETE FROM runs WHERE id=?", [(run_id,) for run_id in evicted])
        return evicted


def _info(row: sqlite3.Row) -> RunInfo:
    fields = dict(row)
    for name in ("workspace", "opened", "deleted"):
        fields.pop(name, None)
    for name in ("spec", "summary"):
        fields[name] = json.loads(fields[name])
    fields["summary"] = {metric_name(k): value for k, value in fields["summary"].items()}
    return RunInfo(**fields)
