"""Workspaces of the store, and what each of them keeps besides data sets and runs."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from simviz.exceptions import StoreError
from simviz.store._datasets import Datasets
from simviz.store._directory import (
    WORKSPACE_ID,
    Directory,
    has_workspace,
    not_found,
    printable,
    refuse_beyond,
    require_workspace,
)
from simviz.store.run import MEASURED, Shown

#: A workspace is noted as used at most so often, in seconds.
_TOUCH_SECONDS = 60.0
#: Finished jobs that a workspace sees at most.
_LISTED = 200
#: Longest text of a correction, in characters.
_LONGEST = 5_000
#: Values of what is chosen of how a data set is looked at.
_CHOICES: Mapping[str, tuple[str, ...]] = {"part": MEASURED, "direction": ("x2y", "y2x", "mean")}
Verdict = tuple[str, str, float]


class Workspaces:
    """Workspaces of a store."""

    def __init__(self, directory: Directory) -> None:
        self._directory, self._index = directory, directory.index

    def create(self) -> str:
        """Make a workspace; return its id."""
        return self.open(secrets.token_urlsafe(18))

    def open(self, workspace: str) -> str:
        """Make a workspace of a given id unless it is there."""
        # Such an id can be guessed: it is for a server that one person uses.
        if not WORKSPACE_ID.fullmatch(workspace):
            raise StoreError(f"{workspace!r} cannot be the id of a workspace.")
        now = time.time()
        insert = "INSERT INTO workspaces VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING"
        self._index.execute(insert, workspace, now, now)
        return workspace

    def has(self, workspace: str) -> bool:
        """Whether there is such a workspace."""
        with self._index.reading() as db:
            return has_workspace(db, workspace)

    def touch(self, workspace: str) -> None:
        """Note that a workspace is in use, which keeps it from being swept."""
        now = time.time()
        with self._index.reading() as db:
            require_workspace(db, workspace)
            row = db.execute("SELECT touched FROM workspaces WHERE id=?", (workspace,)).fetchone()
        if row is not None and now - row["touched"] > _TOUCH_SECONDS:
            self._index.execute("UPDATE workspaces SET touched=? WHERE id=?", now, workspace)

    def delete(self, workspace: str) -> None:
        """Delete a workspace with all that belongs to it."""
        with self._index.writing() as db:
            require_workspace(db, workspace)
            db.execute("DELETE FROM workspaces WHERE id=?", (workspace,))
        self._directory.sweep()


class Attempts:
    """Directories of jobs and who follows them; what is in them belongs to `simviz.jobs`."""

    def __init__(self, directory: Directory) -> None:
        self._directory, self._index = directory, directory.index

    def add(self, digest: str, workspace: str, write: Callable[[Path], object]) -> str:
        """Make the directory of one more attempt at a request; return its id."""
        with self._directory.draft() as draft:
            write(draft)
            with self._index.writing() as db:
                require_workspace(db, workspace)
                query = "SELECT COALESCE(MAX(attempt), 0) FROM jobs WHERE digest=?"
                (last,) = db.execute(query, (digest,)).fetchone()
                job_id = f"{digest}-{last + 1}"
                self._directory.place(draft, "jobs", job_id)
                row = job_id, digest, last + 1, time.time()
                db.execute("INSERT INTO jobs VALUES (?,?,?,?)", row)
                db.execute("INSERT INTO followers VALUES (?,?)", (job_id, workspace))
        return job_id

    def last(self, digest: str) -> str | None:
        """Return the newest attempt at a request, if there is any."""
        query = "SELECT id FROM jobs WHERE digest=? ORDER BY attempt DESC"
        row = self._index.one(query, digest)
        return None if row is None else str(row["id"])

    def folder(self, job_id: str, workspace: str | None = None) -> Path:
        """Return the directory of an attempt."""
        folder = self._directory.folder("jobs", job_id)
        follows = workspace is None or workspace in self.followers(job_id)
        if not follows or not folder.is_dir():
            raise not_found("jobs")
        return folder

    def find(self, workspace: str | None = None) -> list[str]:
        """Return the attempts that a workspace follows, or all, newest first."""
        if workspace is None:
            rows = self._index.rows("SELECT id FROM jobs ORDER BY created DESC, id")
            return [row["id"] for row in rows]
        query = (
            "SELECT id FROM jobs JOIN followers ON job_id=id WHERE workspace=? "
            f"ORDER BY created DESC, id LIMIT {_LISTED}"
        )
        with self._index.reading() as db:
            require_workspace(db, workspace)
            return [row["id"] for row in db.execute(query, (workspace,))]

    def follow(self, job_id: str, workspace: str) -> None:
        """Add a workspace to those that see an attempt."""
        with self._index.writing() as db:
            require_workspace(db, workspace)
            db.execute("INSERT OR IGNORE INTO followers VALUES (?,?)", (job_id, workspace))

    def unfollow(self, job_id: str, workspace: str) -> None:
        """Take a workspace from those that see an attempt."""
        delete = "DELETE FROM followers WHERE job_id=? AND workspace=?"
        self._index.execute(delete, job_id, workspace)

    def followers(self, job_id: str) -> frozenset[str]:
        """Return the workspaces that see an attempt."""
        rows = self._index.rows("SELECT workspace FROM followers WHERE job_id=?", job_id)
        return frozenset(row["workspace"] for row in rows)


class Feedback:
    """Corrections of the answers on a data set."""

    def __init__(self, directory: Directory, datasets: Datasets) -> None:
        self._index, self._limits, self._datasets = directory.index, directory.limits, datasets

    def put(self, dataset_id: str, workspace: str, verdicts: Iterable[Verdict]) -> int:
        """Keep what somebody said about answers; return how many corrections there are."""
        self._datasets.info(dataset_id, workspace)
        now = time.time()
        rows = [
            (
                workspace,
                dataset_id,
                printable(x)[:_LONGEST],
                printable(y)[:_LONGEST],
                float(v),
                now,
            )
            for x, y, v in verdicts
        ]
        with self._index.writing() as db:
            require_workspace(db, workspace)
            db.executemany("INSERT OR REPLACE INTO feedback VALUES (?,?,?,?,?,?)", rows)
            query = "SELECT COUNT(*) FROM feedback WHERE workspace=? AND dataset_id=?"
            (count,) = db.execute(query, (workspace, dataset_id)).fetchone()
            refuse_beyond(self._limits.corrections, count - 1, "corrections")
        return int(count)

    def find(self, dataset_id: str, workspace: str) -> list[Verdict]:
        """Return the corrections of a data set, the oldest first."""
        query = (
            "SELECT input, target, verdict FROM feedback WHERE workspace=? AND dataset_id=? "
            "ORDER BY created, rowid"
        )
        rows = self._index.rows(query, workspace, dataset_id)
        return [(str(r["input"]), str(r["target"]), float(r["verdict"])) for r in rows]

    def drop(self, dataset_id: str, workspace: str, input: str | None = None) -> None:
        """Take corrections back, all or those of one input."""
        delete = (
            "DELETE FROM feedback WHERE workspace=? AND dataset_id=? AND (? IS NULL OR input=?)"
        )
        self._index.execute(delete, workspace, dataset_id, input, input)


class Choices:
    """How a data set is looked at: which part of the split, which direction."""

    def __init__(self, directory: Directory, datasets: Datasets) -> None:
        self._index, self._datasets = directory.index, datasets

    def put(self, dataset_id: str, workspace: str, name: Shown, value: str) -> None:
        """Remember one choice."""
        known = _CHOICES.get(name)
        if known is None:
            raise ValueError(f"name must be {' or '.join(map(repr, _CHOICES))}, got {name!r}.")
        if value not in known:
            raise ValueError(f"{name} must be {' or '.join(map(repr, known))}, got {value!r}.")
        self._datasets.info(dataset_id, workspace)
        with self._index.writing() as db:
            require_workspace(db, workspace)
            row = workspace, dataset_id, name, value
            db.execute("INSERT OR REPLACE INTO shown VALUES (?,?,?,?)", row)

    def get(self, dataset_id: str, workspace: str, name: Shown) -> str | None:
        """Return what was chosen last."""
        query = "SELECT value FROM shown WHERE workspace=? AND dataset_id=? AND name=?"
        row = self._index.one(query, workspace, dataset_id, name)
        return None if row is None else str(row["value"])
