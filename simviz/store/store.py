"""Store: data sets, runs, shares and jobs on disk, by workspace."""

from __future__ import annotations

import json
import logging
import secrets
import shutil
import sqlite3
import time
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from simviz.exceptions import StoreError
from simviz.store.datasets import Datasets, is_demo
from simviz.store.directory import (
    TRASH_SECONDS,
    UPLOAD_SECONDS,
    Connection,
    Directory,
    StoreLimits,
    damaged,
    is_full,
    is_workspace_id,
    masked,
    not_found,
    printable,
    refuse_beyond,
    sync,
)
from simviz.store.run import Preference, Run, RunInfo, RunResult

_log = logging.getLogger(__name__)
#: Opening a demo's run is noted at most so often, in seconds.
_OPENED_SECONDS = 600.0
#: Deleted runs that a workspace can bring back at most.
MAX_TRASH = 20
#: A workspace is noted as used at most so often, in seconds.
_TOUCH_SECONDS = 60.0
#: Finished jobs that a workspace sees at most.
MAX_JOBS = 200
#: Longest text of a correction, in characters.
_MAX_CORRECTION = 5_000
#: Under this name stands when a data set was opened last.
_Opened = Literal["opened"]
#: Whether two texts belong together; or what was decided on a pair.
V = TypeVar("V", bound=float | str)
#: Under this name corrections of the upload that waits stand, and as what is looked at.
_CORRECTED, _UPLOAD = "corrected", "upload"
_DELETE_CORRECTIONS = f"DELETE FROM shown WHERE workspace=? AND dataset_id='{_UPLOAD}'"
#: Longest description of how a view is shown, in characters of JSON.
_LONGEST_VIEW = 4_000
_TOKEN_BYTES = 18
_DAY = 86_400.0
_NOT_EXPIRED = "(expires IS NULL OR expires > ?)"


@dataclass(frozen=True, slots=True)
class Share:
    """A read-only view that was published under an unguessable `token`.

    Of `run_ids` and `dataset_ids`, whatever was deleted since is left out. A page of this
    `kind`, such as "map" or "compare", has `view` as its parameters. Times are seconds since
    1970; its link stops working when it `expires`, if it does.
    """

    token: str
    kind: str
    run_ids: tuple[str, ...]
    dataset_ids: tuple[str, ...]
    view: Mapping[str, str] = field(default_factory=dict)
    created: float = 0.0
    expires: float | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What a workspace holds: data sets, runs, shares and jobs, and bytes of the first two."""

    datasets: int
    runs: int
    shares: int
    jobs: int
    bytes: int


class Store:
    """Data sets, runs and shares on disk, safe against any sudden end.

    Files are written aside, brought to the disk and moved into place whole; only then does the
    index say that they exist. A process that is killed leaves nothing but what the next opening
    sweeps away. Several threads and processes of one machine may use one directory at once.

    Every data set and run belongs to a *workspace*, whose unguessable id is the only key to it.
    Demos (ids "demo:...") and the runs trained on them belong to all.

    `root` is made when it is missing; by default it is the environment variable ``SIMVIZ_HOME``,
    else ``~/.local/share/simviz``. It must lie on a local disk; StoreError says that it cannot be
    used. `running` are the seconds that this machine has been running.

    Examples
    --------
    >>> import tempfile
    >>> from simviz.data import PairSet
    >>> store = Store(tempfile.mkdtemp())
    >>> mine = store.workspaces.create()
    >>> pairs = PairSet.from_texts(["red heart", "car"], ["corazón", "coche"])
    >>> dataset_id = store.datasets.put(pairs, mine)
    >>> store.datasets.get(dataset_id, mine).digest == pairs.digest
    True
    """

    def __init__(
        self,
        root: Path | str | None = None,
        limits: StoreLimits | None = None,
        *,
        running: Callable[[], float] = time.monotonic,
    ) -> None:
        self._directory = directory = Directory(root, limits, running)
        self.root, self.limits = directory.root, directory.limits
        self.workspaces = Workspaces(directory)
        self.datasets = Datasets(directory)
        self.uploads = Uploads(directory)
        self.runs = Runs(directory)
        self.shares = Shares(directory, self.workspaces, self.datasets, self.runs)
        self.jobs = JobRecords(directory)
        self.feedback = PairNotes[float](directory, self.datasets, "feedback")
        self.decisions = PairNotes[str](directory, self.datasets, "decisions")
        self.view_preferences = ViewPreferences(directory, self.datasets)
        with suppress(OSError, StoreError):  # what is there can be read without
            directory.sweep()

    @property
    def is_full(self) -> bool:
        """Whether the disk has no room left for anything new."""
        return is_full(self.root)

    def sweep(self) -> int:
        """Remove what killed processes left, and workspaces that nobody opened; count these.

        Where the disk is full, deleted runs cannot be brought back any more. A StoreError says
        that the index cannot be written.
        """
        removed = self._directory.sweep()
        self._directory.index.set_aside()
        return removed


class _StorePart:
    """What parts of a store have in common: its directory and the index in it."""

    def __init__(self, directory: Directory) -> None:
        self._directory, self._index = directory, directory.index


class Workspaces(_StorePart):
    """Workspaces of a store."""

    def create(self) -> str:
        """Make a workspace; return its id."""
        return self.open(secrets.token_urlsafe(18))

    def open(self, workspace: str) -> str:
        """Make a workspace of a given id unless it is there."""
        # Such an id can be guessed: it is for a server that one person uses.
        if not is_workspace_id(workspace):
            raise StoreError(f"{workspace!r} cannot be the id of a workspace.")
        if self.has(workspace):
            return workspace
        now = time.time()
        insert = "INSERT INTO workspaces VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING"
        self._index.execute(insert, workspace, now, now)
        _log.info("workspace made", {"workspace": masked(workspace)})
        return workspace

    def has(self, workspace: str) -> bool:
        """Whether there is such a workspace."""
        with self._index.reading() as db:
            return is_workspace_id(workspace) and db.has("workspaces", workspace)

    def touch(self, workspace: str) -> None:
        """Note that a workspace is in use, which keeps it from being swept."""
        now, query = time.time(), "SELECT touched FROM workspaces WHERE id=?"
        for row in self._index.rows_of(workspace, query, workspace):
            if now - row["touched"] > _TOUCH_SECONDS:
                with suppress(StoreError):  # whoever reads needs no room on the disk
                    update = "UPDATE workspaces SET touched=? WHERE id=?"
                    self._index.execute(update, now, workspace)

    def usage(self, workspace: str) -> Usage:
        """Count what a workspace holds."""
        with self._index.reading() as db:
            db.require_workspace(workspace)
            return _usage(db, workspace)

    def delete(self, workspace: str) -> Usage:
        """Delete a workspace with all that belongs to it; return what that was."""
        with self._index.writing(deleting=True) as db:
            db.require_workspace(workspace)
            gone = _usage(db, workspace)
            db.execute("DELETE FROM workspaces WHERE id=?", (workspace,))
        self._directory.sweep()
        _log.info("workspace deleted", {"workspace": masked(workspace)} | asdict(gone))
        return gone


def _usage(db: Connection, workspace: str) -> Usage:
    tables = {"datasets": "datasets", "runs": "runs", "shares": "shares", "jobs": "followers"}
    counts = {name: db.count(table, "workspace=?", workspace) for name, table in tables.items()}
    return Usage(**counts, bytes=db.used_bytes(workspace))


class Uploads(_StorePart):
    """The last upload of each workspace that is not kept as a data set yet, for a day."""

    def put(self, workspace: str, files: Sequence[tuple[str, bytes]]) -> None:
        """Keep an upload in place of the one before; those of others may make room."""
        limits, size = self._directory.limits, sum(len(data) for _, data in files)
        if size > min(limits.bytes, limits.upload_bytes):
            raise StoreError(
                f"The upload has {size / 1e6:,.1f} MB, more than is kept before it is a data set."
            )
        place = self._place(workspace)
        with self._directory.draft() as draft:
            path = draft / "upload.zip"
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("names.json", json.dumps([name for name, _ in files]))
                for i, (_, data) in enumerate(files):
                    archive.writestr(str(i), data)
            sync(path)
            self._index.execute(_DELETE_CORRECTIONS, workspace)  # of the upload before
            with self._index.writing() as db:
                db.require_workspace(workspace)
                path.replace(place)
                sync(place.parent)
        others = (path for path in place.parent.iterdir() if path.is_file() and path != place)
        ages = {path: path.stat() for path in others}
        for path in sorted(ages, key=lambda path: ages[path].st_mtime):
            if size + sum(stat.st_size for stat in ages.values()) > limits.upload_bytes:
                path.unlink(missing_ok=True)
                del ages[path]

    def get(self, workspace: str) -> tuple[float, list[tuple[str, bytes]]] | None:
        """When the upload that waits was made, and its files by name."""
        place = self._place(workspace)
        try:
            created = place.stat().st_mtime
            if time.time() - created > UPLOAD_SECONDS:
                return None
            with zipfile.ZipFile(place) as archive:
                names = json.loads(archive.read("names.json"))
                return created, [(name, archive.read(str(i))) for i, name in enumerate(names)]
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None

    def correct(self, workspace: str, corrections: Mapping[str, Any]) -> None:
        """Keep what was corrected of the upload that waits."""
        with suppress(StoreError), self._index.writing() as db:  # only a reload would miss it
            db.require_workspace(workspace)
            row = workspace, _UPLOAD, _CORRECTED, json.dumps(corrections)
            db.insert("shown", row, unless="OR REPLACE")

    def corrections(self, workspace: str) -> dict[str, Any]:
        """Return what was corrected of the upload that waits."""
        query = "SELECT value FROM shown WHERE workspace=? AND dataset_id=? AND name=?"
        row = self._index.one(query, workspace, _UPLOAD, _CORRECTED)
        return {} if row is None else dict(json.loads(row["value"]))

    def delete(self, workspace: str) -> None:
        """Forget the upload that waits."""
        self._place(workspace).unlink(missing_ok=True)
        self._index.execute(_DELETE_CORRECTIONS, workspace)

    def _place(self, workspace: str) -> Path:
        if not is_workspace_id(workspace):
            raise StoreError(f"{workspace!r} cannot be the id of a workspace.")
        return self._directory.root / "uploads" / workspace


class Runs(_StorePart):
    """Runs of a store."""

    def put(self, run_id: str, result: RunResult, spec: Mapping[str, Any], workspace: str) -> bool:
        """Keep what came of a request; return False if there is such a run."""
        dataset_id, method = spec["dataset_id"], spec["method"]
        owner = None if is_demo(dataset_id) else workspace
        evicted: list[str] = []
        texts = json.dumps(dict(spec)), json.dumps(result.summary()), "", ""
        with self._directory.draft() as draft:
            size = result.write(draft)
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
        details = {"workspace": masked(workspace), "id": run_id, "method": method, "bytes": size}
        _log.info("run kept", details)
        return True

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
            with suppress(StoreError):  # whoever reads needs no room on the disk
                self._index.execute("UPDATE runs SET opened=? WHERE id=?", now, run_id)
        return Run(_run_info(row), folder=folder)

    def find(self, workspace: str, dataset_id: str | None = None) -> list[RunInfo]:
        """Runs of a workspace, newest first."""
        owned, values = "workspace=?", [workspace]
        if dataset_id is not None:
            owned, values = "workspace=? AND dataset_id=?", [workspace, dataset_id]
            if is_demo(dataset_id):
                owned, values = "workspace IS NULL AND dataset_id=?", [dataset_id]
        query = f"SELECT * FROM runs WHERE {owned} ORDER BY created DESC, id"
        return [_run_info(row) for row in self._index.rows_of(workspace, query, *values)]

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
        """Delete a run; for an hour, `restore` brings it back, but on a full disk."""
        self._require_own(run_id, workspace)
        now = time.time()
        with self._index.writing(deleting=True) as db:
            old = db.execute(
                "SELECT id FROM trash WHERE id=? OR (workspace=? AND (deleted < ? OR id NOT IN "
                "(SELECT id FROM trash WHERE workspace=? ORDER BY deleted DESC LIMIT ?)))",
                (run_id, workspace, now - TRASH_SECONDS, workspace, MAX_TRASH - 1),
            ).fetchall()
            db.executemany("DELETE FROM trash WHERE id=?", [(row["id"],) for row in old])
            db.execute("INSERT INTO trash SELECT *, ? FROM runs WHERE id=?", (now, run_id))
            db.execute("DELETE FROM runs WHERE id=?", (run_id,))
        self._directory.discard("trash", [row["id"] for row in old if row["id"] != run_id])
        with self._index.writing(deleting=True) as db:
            # Nobody has trained it again, or brought it back, since.
            if not db.has("runs", run_id) and db.has("trash", run_id):
                folder = self._directory.folder("runs", run_id)
                if folder.is_dir():  # nobody who swept up has moved it to the trash
                    trash = self._directory.folder("trash", run_id)
                    shutil.rmtree(trash, ignore_errors=True)
                    folder.replace(trash)
        _log.info("run deleted", {"workspace": masked(workspace), "id": run_id})
        if is_full(self._directory.root):  # there it cannot wait
            self._directory.sweep()

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
        return [_run_info(row) for row in self._index.rows(query, workspace, dataset_id, oldest)]

    def drop(self, run_id: str) -> None:
        """Delete a run whoever owns it: for jobs that were cancelled while they saved."""
        self._directory.folder("runs", run_id)
        self._index.execute("DELETE FROM runs WHERE id=?", run_id)
        self._directory.discard("runs", [run_id])

    def require_room(self, dataset_id: str, workspace: str) -> None:
        """Refuse one more run on a data set beyond what a workspace may keep."""
        if not is_demo(dataset_id):
            with self._index.reading() as db:
                self._check_room(db, workspace, dataset_id, 0)

    def _require_own(self, run_id: str, workspace: str) -> None:
        if self.get(run_id, workspace).info.is_demo:
            raise StoreError("Runs of a demo belong to all and cannot be changed.")

    def _check_room(self, db: Connection, workspace: str, dataset_id: str, size: int) -> None:
        db.require_workspace(workspace)
        if not db.count("datasets", "id=? AND workspace=?", dataset_id, workspace):
            raise not_found("datasets")
        db.require_room("runs", workspace, self._directory.limits, size)

    def _make_room_for_demos(self, db: Connection, newest: str) -> list[str]:
        """Delete the rows of demo runs not opened for longest, beyond the limits."""
        query = "SELECT id, n_bytes FROM runs WHERE workspace IS NULL ORDER BY opened DESC"
        rows, limits = db.execute(query).fetchall(), self._directory.limits
        n_demos, size, evicted = 0, 0, []
        for row in sorted(rows, key=lambda row: row["id"] != newest):
            n_demos, size = n_demos + 1, size + row["n_bytes"]
            if row["id"] != newest and (n_demos > limits.demo_runs or size > limits.demo_bytes):
                evicted.append(row["id"])
        db.executemany("DELETE FROM runs WHERE id=?", [(run_id,) for run_id in evicted])
        return evicted


def _run_info(row: sqlite3.Row) -> RunInfo:
    fields = dict(row)
    for name in ("workspace", "opened", "deleted"):
        fields.pop(name, None)
    with damaged("The entry of a run in the index"):
        for name in ("spec", "summary"):
            fields[name] = dict(json.loads(fields[name]))
        return RunInfo(**fields)


class JobRecords(_StorePart):
    """Directories of jobs and who follows them; what is in them belongs to `simviz.jobs`."""

    def add(self, digest: str, workspace: str, write: Callable[[Path], object]) -> str:
        """Make the directory of one more attempt at a request; return its id."""
        with self._directory.draft() as draft:
            write(draft)
            with self._index.writing() as db:
                db.require_workspace(workspace)
                query = "SELECT COALESCE(MAX(attempt), 0) FROM jobs WHERE digest=?"
                (last,) = db.execute(query, (digest,)).fetchone()
                job_id = f"{digest}-{last + 1}"
                self._directory.place(draft, "jobs", job_id)
                db.insert("jobs", (job_id, digest, last + 1, time.time()))
                db.insert("followers", (job_id, workspace))
                # Nobody sees older ones any more; they are swept.
                db.execute(
                    "DELETE FROM followers WHERE workspace=? AND job_id NOT IN (SELECT job_id "
                    "FROM followers JOIN jobs ON job_id=id WHERE workspace=? "
                    f"ORDER BY created DESC, id LIMIT {MAX_JOBS})",
                    (workspace, workspace),
                )
        return job_id

    def last(self, digest: str) -> str | None:
        """Return the newest attempt at a request, if there is any."""
        query = "SELECT id FROM jobs WHERE digest=? ORDER BY attempt DESC"
        row = self._index.one(query, digest)
        return None if row is None else str(row["id"])

    def has(self, job_id: str) -> bool:
        """Whether the directory of an attempt is there."""
        return self._directory.folder("jobs", job_id).is_dir()

    def folder(self, job_id: str, workspace: str | None = None) -> Path:
        """Return the directory of an attempt."""
        folder = self._directory.folder("jobs", job_id)
        follows = workspace is None or workspace in self.followers(job_id)
        if not follows or not folder.is_dir():
            raise not_found("jobs")
        return folder

    def find(self, workspace: str | None = None) -> list[str]:
        """Return the attempts that a workspace follows, or all, newest first."""
        order = "ORDER BY created DESC, id"
        if workspace is None:
            rows = self._index.rows(f"SELECT id FROM jobs {order}")
        else:
            query = "SELECT id FROM jobs JOIN followers ON job_id=id WHERE workspace=?"
            rows = self._index.rows_of(workspace, f"{query} {order} LIMIT {MAX_JOBS}", workspace)
        return [row["id"] for row in rows]

    def follow(self, job_id: str, workspace: str) -> None:
        """Add a workspace to those that see an attempt."""
        with self._index.writing() as db:
            db.require_workspace(workspace)
            db.insert("followers", (job_id, workspace), unless="OR IGNORE")

    def unfollow(self, job_id: str, workspace: str) -> None:
        """Take a workspace from those that see an attempt."""
        delete = "DELETE FROM followers WHERE job_id=? AND workspace=?"
        self._index.execute(delete, job_id, workspace)

    def followers(self, job_id: str) -> frozenset[str]:
        """Return the workspaces that see an attempt."""
        rows = self._index.rows("SELECT workspace FROM followers WHERE job_id=?", job_id)
        return frozenset(row["workspace"] for row in rows)


class PairNotes(Generic[V]):
    """Corrections of the answers on a data set, or decisions on its pairs."""

    def __init__(self, directory: Directory, datasets: Datasets, table: str) -> None:
        self._index, self._limits, self._datasets = directory.index, directory.limits, datasets
        self._table = table

    def put(self, dataset_id: str, workspace: str, verdicts: Iterable[tuple[str, str, V]]) -> int:
        """Keep what somebody said about answers; return how many corrections there are."""
        self._datasets.info(dataset_id, workspace)
        now, longest = time.time(), _MAX_CORRECTION
        with self._index.writing() as db:
            db.require_workspace(workspace)
            for x, y, verdict in verdicts:
                texts = printable(x)[:longest], printable(y)[:longest]
                row = (workspace, dataset_id, *texts, verdict, now)
                db.insert(self._table, row, unless="OR REPLACE")
            count = db.count(self._table, "workspace=? AND dataset_id=?", workspace, dataset_id)
            refuse_beyond(self._limits.corrections, count - 1, "corrections")
        return count

    def find(self, dataset_id: str, workspace: str) -> list[tuple[str, str, V]]:
        """Return the corrections of a data set, the oldest first."""
        of = f"FROM {self._table} WHERE workspace=? AND dataset_id=? ORDER BY created, rowid"
        rows = self._index.rows(f"SELECT input, target, verdict {of}", workspace, dataset_id)
        return [tuple(row) for row in rows]

    def drop(
        self, dataset_id: str, workspace: str, input: str | None = None, target: str | None = None
    ) -> None:
        """Take corrections back, all, those of one input or the one of a pair."""
        delete = (
            f"DELETE FROM {self._table} WHERE workspace=? AND dataset_id=? "
            "AND (? IS NULL OR input=?) AND (? IS NULL OR target=?)"
        )
        self._index.execute(delete, workspace, dataset_id, input, input, target, target)


class ViewPreferences:
    """How a data set is looked at: which part of the split, which direction."""

    def __init__(self, directory: Directory, datasets: Datasets) -> None:
        self._index, self._datasets = directory.index, datasets

    def put(self, dataset_id: str, workspace: str, name: Preference | _Opened, value: str) -> None:
        """Remember one choice."""
        self._datasets.info(dataset_id, workspace)
        with self._index.writing() as db:
            db.require_workspace(workspace)
            db.insert("shown", (workspace, dataset_id, name, value), unless="OR REPLACE")

    def get(self, dataset_id: str, workspace: str, name: Preference) -> str | None:
        """Return what was chosen last."""
        query = "SELECT value FROM shown WHERE workspace=? AND dataset_id=? AND name=?"
        row = self._index.one(query, workspace, dataset_id, name)
        return None if row is None else str(row["value"])

    def put_last(self, dataset_id: str, workspace: str) -> None:
        """Remember that a data set was opened now."""
        self.put(dataset_id, workspace, "opened", f"{time.time():.6f}")

    def last(self, workspace: str) -> str | None:
        """Return the data set that was opened last."""
        query = "SELECT dataset_id FROM shown WHERE workspace=? AND name='opened' "
        query += "ORDER BY CAST(value AS REAL) DESC LIMIT 1"
        row = self._index.one(query, workspace)
        return None if row is None else str(row["dataset_id"])


class Shares:
    """Views of a store that were published."""

    def __init__(
        self, directory: Directory, workspaces: Workspaces, datasets: Datasets, runs: Runs
    ) -> None:
        self._directory, self._index = directory, directory.index
        self._workspaces, self._datasets, self._runs = workspaces, datasets, runs

    def publish(
        self,
        workspace: str,
        kind: str,
        run_ids: Sequence[str] = (),
        dataset_ids: Sequence[str] = (),
        view: Mapping[str, str] | None = None,
        days: float | None = None,
    ) -> str:
        """Let everybody who has the token read some runs and data sets."""
        if days is not None and not days > 0:
            raise ValueError(f"days must be positive, got {days!r}.")
        runs = [self._runs.get(run_id, workspace).info for run_id in dict.fromkeys(run_ids)]
        datasets = dict.fromkeys([*dataset_ids, *(run.dataset_id for run in runs)])
        for dataset_id in datasets:
            self._datasets.info(dataset_id, workspace)
        if not datasets:
            raise StoreError("There is nothing to share. Choose a run or a data set first.")
        shown = {printable(k): printable(v) for k, v in (view or {}).items()}
        if len(json.dumps(shown)) > _LONGEST_VIEW:
            raise StoreError("The settings of this view are too long to share.")
        payload = {"run_ids": [run.id for run in runs], "dataset_ids": list(datasets)}
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        now = time.time()
        expires = None if days is None else now + days * _DAY
        with self._index.writing() as db:
            db.require_workspace(workspace)
            count = db.count("shares", f"workspace=? AND {_NOT_EXPIRED}", workspace, now)
            refuse_beyond(self._directory.limits.shares, count, "shares")
            text = json.dumps(payload | {"view": shown})
            db.insert("shares", (token, workspace, printable(kind), text, now, expires))
        details = {"workspace": masked(workspace), "view": masked(token), "runs": len(runs)}
        _log.info("view published", details)
        return token

    def resolve(self, token: str) -> Share:
        """Find what was published; its ids may be opened without a workspace."""
        # Looking at a share keeps the workspace it comes from.
        key = printable(token)
        with self._index.reading() as db:
            query = f"SELECT * FROM shares WHERE token=? AND {_NOT_EXPIRED}"
            row = db.execute(query, (key, time.time())).fetchone()
            share = None if row is None else _share(db, row)
        if share is None or not share.dataset_ids:
            raise StoreError(
                "This shared view does not exist. It may have expired or been withdrawn; ask "
                "whoever sent the link, or look at a demo meanwhile."
            )
        self._workspaces.touch(row["workspace"])
        return share

    def withdraw(self, token: str, workspace: str) -> None:
        """End a share; its link stops working at once."""
        delete = "DELETE FROM shares WHERE token=? AND workspace=?"
        ended = self._index.execute(delete, printable(token), printable(workspace))
        if not ended:
            raise StoreError("This workspace has no such share; it may be withdrawn already.")
        details = {"workspace": masked(workspace), "view": masked(token)}
        _log.info("view withdrawn", details)

    def find(self, workspace: str) -> list[Share]:
        """Shares of a workspace, newest first."""
        query = f"SELECT * FROM shares WHERE workspace=? AND {_NOT_EXPIRED} "
        query += "ORDER BY created DESC, token"
        with self._index.reading() as db:
            db.require_workspace(workspace)
            return [_share(db, row) for row in db.execute(query, (workspace, time.time()))]


def _share(db: Connection, row: sqlite3.Row) -> Share:
    fields = dict(row)
    fields.pop("workspace")
    with damaged("The entry of a shared view in the index"):
        payload = json.loads(fields.pop("payload"))
        runs = tuple(i for i in payload["run_ids"] if db.has("runs", i))
        datasets = (i for i in payload["dataset_ids"] if is_demo(i) or db.has("datasets", i))
        view = dict(payload["view"])
        return Share(run_ids=runs, dataset_ids=tuple(datasets), view=view, **fields)
