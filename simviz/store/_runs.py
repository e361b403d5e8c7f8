"""Runs of the store."""

from __future__ import annotations

import json
import sqlite3
import time

from simviz.exceptions import StoreError
from simviz.store._datasets import is_demo
from simviz.store._directory import (
    TRASH_SECONDS,
    Directory,
    count,
    not_found,
    placeholders,
    printable,
    refuse_beyond,
    refuse_bytes,
    require_workspace,
    used_bytes,
)
from simviz.store.files import remove_tree, sync_folder, sync_tree
from simviz.store.records import RunInfo
from simviz.store.run import Part, PartFiles, Run, RunFiles, metric_name

#: Opening a demo's run is noted at most so often, in seconds.
_OPENED_SECONDS = 600.0
#: Deleted runs that a workspace can bring back at most.
_DELETED = 20
_LONGEST_NAME = 200
_LONGEST_NOTE = 5_000


class Runs:
    """Runs of a store."""

    def __init__(self, directory: Directory) -> None:
        self._directory, self._index = directory, directory.index

    def put(
        self, run_id: str, files: RunFiles, dataset_id: str, method: str, workspace: str
    ) -> bool:
        """Keep a run."""
        owner = None if is_demo(dataset_id) else workspace
        evicted: list[str] = []
        with self._directory.draft() as draft:
            size = files.write(draft)
            with self._index.writing() as db:
                if db.execute("SELECT 1 FROM runs WHERE id=?", (run_id,)).fetchone():
                    return False
                if owner is not None:
                    self._check_run_room(db, owner, dataset_id, size)
                self._directory.place(draft, "runs", run_id)
                now = time.time()
                spec, summary = json.dumps(dict(files.spec)), json.dumps(dict(files.summary))
                named = (run_id, owner, dataset_id, method, spec, summary, "", "")
                row = (*named, files.seconds, size, now, now)
                db.execute(f"INSERT INTO runs VALUES ({placeholders(row)})", row)
                if owner is None:
                    evicted = self._make_room_for_demos(db, run_id)
        self._directory.discard("runs", evicted)
        return True

    def put_part(self, run_id: str, part: Part, files: PartFiles) -> None:
        """Keep what a run found out on one more part of its split."""
        place = self._directory.folder("runs", run_id) / part
        with self._directory.draft() as draft:
            files.write(draft)
            sync_tree(draft)
            with self._index.writing() as db:
                if _row(db, run_id) is None:
                    raise StoreError("This run was deleted in the meantime.")
                if place.exists():
                    return
                draft.replace(place)
                sync_folder(place.parent)
                if part == "validation":  # what runs are ranked by
                    db.execute(
                        "UPDATE runs SET summary=? WHERE id=?",
                        (json.dumps(files.summary()), run_id),
                    )

    def has(self, run_id: str) -> bool:
        """Whether a run is there, whoever owns it."""
        with self._index.reading() as db:
            return _row(db, run_id) is not None

    def get(self, run_id: str, workspace: str | None = None) -> Run:
        """Open a run."""
        folder = self._directory.folder("runs", run_id)
        with self._index.reading() as db:
            row = _row(db, run_id)
        if row is None or (workspace is not None and row["workspace"] not in (None, workspace)):
            raise not_found("runs")
        now = time.time()
        if row["workspace"] is None and now - row["opened"] > _OPENED_SECONDS:
            self._index.execute("UPDATE runs SET opened=? WHERE id=?", now, run_id)
        return Run(_info(row), folder)

    def find(self, workspace: str, dataset_id: str | None = None) -> list[RunInfo]:
        """Runs of a workspace, newest first."""
        query = "SELECT * FROM runs WHERE workspace=?"
        values: tuple[str, ...] = (workspace,)
        if dataset_id is not None:
            query += " AND dataset_id=?"
            values += (dataset_id,)
            if is_demo(dataset_id):
                query = "SELECT * FROM runs WHERE workspace IS NULL AND dataset_id=?"
                values = (dataset_id,)
        with self._index.reading() as db:
            require_workspace(db, workspace)
            rows = db.execute(query + " ORDER BY created DESC, id", values).fetchall()
        return [_info(row) for row in rows]

    def rename(
        self, run_id: str, workspace: str, name: str | None = None, note: str | None = None
    ) -> None:
        """Give a run a name or a note."""
        self._require_own(run_id, workspace)
        with self._index.writing() as db:
            for column, text, longest in (
                ("name", name, _LONGEST_NAME),
                ("note", note, _LONGEST_NOTE),
            ):
                if text is not None:
                    db.execute(
                        f"UPDATE runs SET {column}=? WHERE id=?",
                        (printable(text)[:longest], run_id),
                    )

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
            is_run = _row(db, run_id) is not None
            if not is_run and db.execute("SELECT 1 FROM trash WHERE id=?", (run_id,)).fetchone():
                folder = self._directory.folder("runs", run_id)
                if folder.is_dir():  # nobody who swept up has moved it to the trash
                    trash = self._directory.folder("trash", run_id)
                    remove_tree(trash)
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
            if _row(db, run_id) is None:
                self._check_run_room(db, workspace, row["dataset_id"], row["n_bytes"])
                if not place.is_dir():
                    raise not_found("trash")
                self._directory.place(place, "runs", run_id)
                kept = tuple(row)[:-1]
                db.execute(f"INSERT INTO runs VALUES ({placeholders(kept)})", kept)
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

    def _check_run_room(
        self, db: sqlite3.Connection, workspace: str, dataset_id: str, size: int
    ) -> None:
        require_workspace(db, workspace)
        owned = db.execute(
            "SELECT 1 FROM datasets WHERE id=? AND workspace=?", (dataset_id, workspace)
        ).fetchone()
        if owned is None:
            raise not_found("datasets")
        limits = self._directory.limits
        refuse_beyond(limits.runs, count(db, "runs", workspace), "runs")
        refuse_bytes(limits.bytes, used_bytes(db, workspace), size)

    def _make_room_for_demos(self, db: sqlite3.Connection, newest: str) -> list[str]:
        """Delete the rows of demo runs not opened for longest, beyond the limits."""
        rows = db.execute(
            "SELECT id, n_bytes FROM runs WHERE workspace IS NULL ORDER BY opened DESC"
        ).fetchall()
        kept, size, evicted = 0, 0, []
        for row in sorted(rows, key=lambda row: row["id"] != newest):
            kept, size = kept + 1, size + row["n_bytes"]
            beyond = (
                kept > self._directory.limits.demo_runs or size > self._directory.limits.demo_bytes
            )
            if beyond and row["id"] != newest:
                evicted.append(row["id"])
        db.executemany("DELETE FROM runs WHERE id=?", [(run_id,) for run_id in evicted])
        return evicted


def _row(db: sqlite3.Connection, run_id: str) -> sqlite3.Row | None:
    found: sqlite3.Row | None = db.execute("SELECT * FROM runs WHERE id=?", (run_id,)).fetchone()
    return found


def _info(row: sqlite3.Row) -> RunInfo:
    fields = dict(row)
    for name in ("workspace", "opened", "deleted"):
        fields.pop(name, None)
    for name in ("spec", "summary"):
        fields[name] = json.loads(fields[name])
    fields["summary"] = {metric_name(k): value for k, value in fields["summary"].items()}
    return RunInfo(**fields)
