"""The directory of a store: its index, its folders, and what makes them whole."""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from simviz.exceptions import StoreError
from simviz.store._index import Index
from simviz.store.files import is_alive, own_process, remove_tree, sync_folder
from simviz.store.records import Limits

#: Kinds of directories, each holding one directory an id.
FOLDERS = ("datasets", "runs", "jobs", "trash")
_ID = re.compile(r"[0-9a-f]{32}(-[0-9]{1,6})?")
WORKSPACE_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
#: A deleted run can be brought back for so long, in seconds.
TRASH_SECONDS = 3_600.0


class Directory:
    """Root, index and limits of a store, shared by its parts."""

    def __init__(self, root: Path | str | None = None, limits: Limits | None = None) -> None:
        self.root = Path(root) if root is not None else default_root()
        self.limits = limits or Limits()
        try:
            for name in (*FOLDERS, "drafts"):
                (self.root / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"The store cannot use the directory {self.root} ({error}). Set SIMVIZ_HOME to a "
                "directory that can be written."
            ) from error
        self.index = Index(self.root / "index.sqlite")

    def folder(self, kind: str, item_id: str) -> Path:
        """Where a thing lives; refuses ids that this store does not give."""
        if not isinstance(item_id, str) or not _ID.fullmatch(item_id):
            raise not_found(kind)
        return self.root / kind / item_id

    @contextmanager
    def draft(self) -> Iterator[Path]:
        """A directory to write in, gone at the end unless it was moved."""
        folder = self.root / "drafts" / f"{own_process()}-{secrets.token_hex(6)}"
        try:
            folder.mkdir()
            yield folder
        except OSError as error:
            raise StoreError(
                f"The store cannot write to {self.root} ({error}). "
                "Check that the disk is not full."
            ) from error
        finally:
            remove_tree(folder)

    def place(self, draft: Path, kind: str, item_id: str) -> None:
        """Move a draft to its place; to be called inside a writing transaction."""
        folder = self.folder(kind, item_id)
        remove_tree(folder)  # without a row it is what a killed process left
        draft.replace(folder)
        sync_folder(folder.parent)

    def discard(self, kind: str, item_ids: Iterable[str]) -> None:
        """Remove directories whose rows are gone, so that no reader meets half of one."""
        trash = []
        with self.index.writing() as db:
            for item_id in item_ids:
                # Somebody may have put the same thing again in the meantime.
                query = f"SELECT 1 FROM {kind} WHERE id=?"
                if db.execute(query, (item_id,)).fetchone() is None:
                    trash.append(self._to_drafts(self.folder(kind, item_id)))
        for folder in trash:
            remove_tree(folder)

    def _to_drafts(self, folder: Path) -> Path:
        """Move a directory to where it is removed even if this process dies."""
        trash = self.root / "drafts" / f"{own_process()}-{secrets.token_hex(6)}"
        with suppress(FileNotFoundError):
            folder.replace(trash)
        return trash

    def sweep(self) -> int:
        """Remove what killed processes left and workspaces that nobody opened."""
        # Called when a store is opened; a long-running app may call it daily.
        oldest = time.time() - self.limits.idle_days * 86_400
        with self.index.writing() as db:
            idle = db.execute("DELETE FROM workspaces WHERE touched < ?", (oldest,)).rowcount
            db.execute("DELETE FROM shares WHERE expires < ?", (time.time(),))
            db.execute(
                "DELETE FROM jobs WHERE created < ? OR id NOT IN (SELECT job_id FROM followers)",
                (oldest,),
            )
            db.execute("DELETE FROM trash WHERE deleted < ?", (time.time() - TRASH_SECONDS,))
        trash = []
        # Directories are moved into place inside transactions like this one, so
        # one without a row belongs to nobody.
        with self.index.writing() as db:
            self._bring_to_trash(db)
            for kind in FOLDERS:
                known = {row["id"] for row in db.execute(f"SELECT id FROM {kind}")}
                for folder in (self.root / kind).iterdir():
                    if folder.name not in known:
                        trash.append(self._to_drafts(folder))
        for draft in (self.root / "drafts").iterdir():
            if not is_alive(draft.name.rpartition("-")[0]):
                trash.append(draft)
        for folder in trash:
            remove_tree(folder)
        return idle

    def _bring_to_trash(self, db: sqlite3.Connection) -> None:
        """Finish a deletion, or a return from the trash, that a dead process began."""
        # Deleting and bringing back move a directory and change the index, and a process may die
        # in between. What the index says holds.
        query = "SELECT id FROM trash WHERE id NOT IN (SELECT id FROM runs)"
        for row in db.execute(query).fetchall():
            place, other = self.folder("trash", row["id"]), self.folder("runs", row["id"])
            if not place.is_dir() and other.is_dir():
                other.replace(place)
                sync_folder(place.parent)
            elif not place.is_dir():
                db.execute("DELETE FROM trash WHERE id=?", (row["id"],))


def default_root() -> Path:
    """Where the store is unless somebody says otherwise."""
    home = os.environ.get("SIMVIZ_HOME")
    return Path(home) if home else Path.home() / ".local" / "share" / "simviz"


def printable(text: str) -> str:
    """Text as the index can keep it: what UTF-8 cannot say becomes a question mark."""
    return str(text).encode("utf-8", "replace").decode()


def not_found(kind: str) -> StoreError:
    """The same words for what never existed, was deleted, or belongs to others."""
    what = {"datasets": "data set", "runs": "run", "jobs": "job", "trash": "run"}[kind]
    return StoreError(
        f"There is no such {what} here. It may have been deleted, or it belongs to another "
        "workspace; ask its owner to share it."
    )


def require_workspace(db: sqlite3.Connection, workspace: str) -> None:
    """Refuse a workspace that does not exist."""
    if not has_workspace(db, workspace):
        raise StoreError(
            "This workspace no longer exists; those that nobody opens for a long time are "
            "removed. Start a new one."
        )


def has_workspace(db: sqlite3.Connection, workspace: Any) -> bool:
    """Whether there is such a workspace."""
    if not isinstance(workspace, str) or not WORKSPACE_ID.fullmatch(workspace):
        return False
    query = "SELECT 1 FROM workspaces WHERE id=?"
    return db.execute(query, (workspace,)).fetchone() is not None


def placeholders(values: Sequence[object]) -> str:
    """Return as many question marks as there are values."""
    return ",".join("?" * len(values))


def count(db: sqlite3.Connection, table: str, workspace: str) -> int:
    """Return how many rows of a table belong to a workspace."""
    query = f"SELECT COUNT(*) FROM {table} WHERE workspace=?"
    return int(db.execute(query, (workspace,)).fetchone()[0])


def used_bytes(db: sqlite3.Connection, workspace: str) -> int:
    """Return the bytes of the data sets and runs of a workspace."""
    total = 0
    for table in ("datasets", "runs"):
        query = f"SELECT COALESCE(SUM(n_bytes), 0) FROM {table} WHERE workspace=?"
        total += int(db.execute(query, (workspace,)).fetchone()[0])
    return total


def refuse_beyond(limit: int, used: int, what: str) -> None:
    """Refuse one more when `limit` are there."""
    if used >= limit:
        raise StoreError(
            f"This workspace holds {used:,} {what}, as many as it may. Delete some first."
        )


def refuse_bytes(limit: int, used: int, more: int) -> None:
    """Refuse to grow beyond `limit` bytes."""
    if used + more > limit:
        raise StoreError(
            f"This needs {more / 1e6:,.1f} MB, and the workspace holds {used / 1e6:,.1f} of "
            f"{limit / 1e6:,.0f} MB. Delete data sets or runs first."
        )
