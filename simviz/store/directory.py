"""The directory of a store: files that appear whole, folders, and the index that counts."""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import re
import secrets
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from simviz.exceptions import StoreError
from simviz.persistence import lock, reason_of, replacing

_log = logging.getLogger(__name__)
#: Kinds of directories, each holding one directory an id.
FOLDERS = ("datasets", "runs", "jobs", "trash")
_ID = re.compile(r"[0-9a-f]{32}(-[0-9]{1,6})?")
_WORKSPACE_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
#: A deleted run can be brought back for so long, in seconds.
TRASH_SECONDS = 3_600.0
#: An upload waits for so long to be kept as a data set, in seconds.
UPLOAD_SECONDS = 86_400.0
#: What is removed for its age was as old at a sweep so long before, in seconds of running.
SEEN_SECONDS = 86_400.0
#: The workspace of whoever sits at the computer that the app runs on.
LOCAL_WORKSPACE = "local"
#: Of the tables and of the files of what they name: raised with every change of either.
SCHEMA_VERSION = 10
#: Seconds to wait for another process that is writing.
BUSY_SECONDS = 20.0
#: Bytes set aside beside the index, which are given up for deletions on a full disk; with no more
#: than that free, nothing new is kept.
SPARE_BYTES = 4 * 2**20
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """How much one workspace may keep, and for how long.

    `corrections` are those of the answers on one data set; `bytes` are of all its data sets and
    runs. Runs of demos belong to all; beyond `demo_runs` and `demo_bytes` the one that was not
    opened for longest makes room, beyond `upload_bytes` the oldest uploads that are not kept as
    data sets yet. After `idle_days` a workspace that nobody opened is removed, once it was found
    so at two sweeps at least a day of running apart.
    """

    datasets: int = 30
    runs: int = 300
    shares: int = 100
    corrections: int = 2_000
    bytes: int = 4 * 2**30
    demo_runs: int = 300
    demo_bytes: int = 4 * 2**30
    upload_bytes: int = 2 * 2**30
    idle_days: float = 30.0


class Directory:
    """Root, index and limits of a store, shared by its parts."""

    def __init__(
        self,
        root: Path | str | None = None,
        limits: StoreLimits | None = None,
        running: Callable[[], float] = time.monotonic,
    ) -> None:
        self._running = running
        self._seen_old: dict[str, dict[str, float]] = {}
        self.root = default_root() if root is None else Path(root)
        self.limits = limits or StoreLimits()
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            # Refuses the store of another version, to which nothing may be added.
            self.index = IndexFile(self.root / "index.sqlite")
            for name in (*FOLDERS, "drafts", "uploads"):
                (self.root / name).mkdir(exist_ok=True)
        except OSError as error:
            raise _unusable(self.root, error) from error

    def folder(self, kind: str, item_id: str) -> Path:
        """Where a thing lives; refuses ids that this store does not give."""
        if not isinstance(item_id, str) or not _ID.fullmatch(item_id):
            raise not_found(kind)
        return self.root / kind / item_id

    @contextmanager
    def draft(self) -> Iterator[Path]:
        """A directory to write in, gone at the end unless it was moved."""
        if is_full(self.root):
            self.sweep()
            if is_full(self.root):
                _log.warning("disk full", {"free": shutil.disk_usage(self.root).free})
                raise StoreError(why_not_written(self.root))
        folder = self._new_draft()
        try:
            folder.mkdir()
            yield folder
        except OSError as error:
            raise StoreError(why_not_written(self.root, error)) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _new_draft(self) -> Path:
        return self.root / "drafts" / f"{own_process()}-{secrets.token_hex(6)}"

    def place(self, draft: Path, kind: str, item_id: str) -> None:
        """Move a draft to its place; to be called inside a writing transaction."""
        folder = self.folder(kind, item_id)
        shutil.rmtree(folder, ignore_errors=True)  # without a row it is what a killed process left
        draft.replace(folder)
        sync(folder.parent)

    def discard(self, kind: str, item_ids: Iterable[str]) -> None:
        """Remove directories whose rows are gone, so that no reader meets half of one."""
        trash = []
        with self.index.writing(deleting=True) as db:
            for item_id in item_ids:
                # Somebody may have put the same thing again in the meantime.
                if not db.has(kind, item_id):
                    trash.append(self._to_drafts(self.folder(kind, item_id)))
        for folder in trash:
            shutil.rmtree(folder, ignore_errors=True)

    def _to_drafts(self, folder: Path) -> Path:
        """Move a directory to where it is removed even if this process dies."""
        trash = self._new_draft()
        with suppress(FileNotFoundError):
            folder.replace(trash)
        return trash

    def sweep(self) -> int:
        """Remove what killed processes left and workspaces that nobody opened."""
        # Called when a store is opened and when the disk is full; a long-running app may call it
        # now and then. What needs no index goes first, to make room for the rest.
        for draft in (self.root / "drafts").iterdir():
            if not is_alive(draft.name.rpartition("-")[0]):
                shutil.rmtree(draft, ignore_errors=True)
        now = time.time()
        for path in (self.root / "uploads").iterdir():
            with suppress(OSError):  # kept as a data set meanwhile; or not ours
                if is_full(self.root) or now - path.stat().st_mtime > UPLOAD_SECONDS:
                    path.unlink()
        oldest = now - self.limits.idle_days * 86_400
        trash_seconds = 0.0 if is_full(self.root) else TRASH_SECONDS
        with self.index.writing(deleting=True) as db:
            idle = self._delete_old(db, "workspaces", "touched", oldest)
            db.execute("DELETE FROM shares WHERE expires < ?", (now,))
            self._delete_old(db, "jobs", "created", oldest)
            db.execute("DELETE FROM jobs WHERE id NOT IN (SELECT job_id FROM followers)")
            db.execute("DELETE FROM trash WHERE deleted < ?", (now - trash_seconds,))
        trash = []
        # Directories are moved into place inside transactions like this one, so
        # one without a row belongs to nobody.
        with self.index.writing(deleting=True) as db:
            self._bring_to_trash(db)
            for path in (self.root / "uploads").iterdir():
                if not db.has("workspaces", path.name) and not path.is_dir():
                    path.unlink(missing_ok=True)
            for kind in FOLDERS:
                known = {row["id"] for row in db.execute(f"SELECT id FROM {kind}")}
                for folder in (self.root / kind).iterdir():
                    if folder.name not in known and _ID.fullmatch(folder.name):
                        trash.append(self._to_drafts(folder))
        for folder in trash:
            shutil.rmtree(folder, ignore_errors=True)
        if idle or trash:
            _log.info("swept", {"workspaces": idle, "directories": len(trash)})
        return idle

    def _delete_old(self, db: Connection, table: str, column: str, oldest: float) -> int:
        """Delete rows that are old now and were at a sweep a day of running ago; how many."""
        # A clock that is wrong at one sweep, and mended by the next, deletes nothing.
        now, known = self._running(), self._seen_old.get(table, {})
        rows = db.execute(f"SELECT id FROM {table} WHERE {column} < ?", (oldest,))
        seen = self._seen_old[table] = {row["id"]: known.get(row["id"], now) for row in rows}
        old = [(row_id,) for row_id, since in seen.items() if now - since >= SEEN_SECONDS]
        db.executemany(f"DELETE FROM {table} WHERE id=?", old)
        return len(old)

    def _bring_to_trash(self, db: Connection) -> None:
        """Finish a deletion, or a return from the trash, that a dead process began."""
        # Deleting and bringing back move a directory and change the index, and a process may die
        # in between. What the index says holds.
        query = "SELECT id FROM trash WHERE id NOT IN (SELECT id FROM runs)"
        for row in db.execute(query).fetchall():
            place, other = self.folder("trash", row["id"]), self.folder("runs", row["id"])
            if not place.is_dir() and other.is_dir():
                other.replace(place)
                sync(place.parent)
            elif not place.is_dir():
                db.execute("DELETE FROM trash WHERE id=?", (row["id"],))


def default_root() -> Path:
    """``SIMVIZ_HOME``, else ``~/.local/share/simviz``."""
    return Path(os.environ.get("SIMVIZ_HOME") or Path.home() / ".local" / "share" / "simviz")


def claim(root: Path) -> IO[str] | None:
    """Keep the servers of other processes from a directory while the returned file is open."""
    # Who is alive (`is_alive`) cannot be asked across containers that share a directory: each
    # would sweep up what the other writes. The lock holds there too.
    try:
        root.mkdir(parents=True, exist_ok=True)
        file = (root / "server.lock").open("a+")
    except OSError as error:
        if error.errno in _FULL:
            return None  # what is kept can still be read
        raise _unusable(root, error) from error
    if not lock(file):
        file.seek(0)
        other = file.read(20)
        file.close()
        raise StoreError(
            f"Another simviz, process {other}, serves the directory {root}. Use that one, end it, "
            "or set SIMVIZ_HOME to another directory and start this one again."
        )
    with suppress(OSError):  # a full disk
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
    return file


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


def is_workspace_id(workspace: object) -> bool:
    """Return whether something can be the id of a workspace."""
    return isinstance(workspace, str) and _WORKSPACE_ID.fullmatch(workspace) is not None


def masked(secret: str) -> str:
    """What stands in the log for an id that is a key: always the same, and no key."""
    return hashlib.blake2b(secret.encode(), digest_size=4, person=b"simviz log").hexdigest()


def is_full(root: Path) -> bool:
    """Whether the disk of a store has no room left for anything new."""
    return shutil.disk_usage(root).free <= SPARE_BYTES


def _unusable(root: Path, error: OSError) -> StoreError:
    return StoreError(
        f"The store cannot use the directory {root} ({error}). Set SIMVIZ_HOME to a directory "
        "that can be written."
    )


def why_not_written(root: Path, error: OSError | sqlite3.Error | None = None) -> str:
    """Why something could not be written, and what to do: a full disk is told from others."""
    is_refused = getattr(error, "errno", None) in _FULL
    is_refused |= getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    disk = shutil.disk_usage(root)
    if not is_refused and not is_full(root):
        return (
            f"The store at {root} cannot be used ({error}). Check that files there may be "
            "written, or set SIMVIZ_HOME to another directory."
        )
    return (
        f"The disk with the data of simviz (SIMVIZ_HOME) is full: {disk.free / 1e6:,.1f} of "
        f"{disk.total / 1e6:,.0f} MB are free. What is kept can still be read. Delete data sets "
        "or runs that are no longer needed, or have whoever runs this server make room, and try "
        "again."
    )


def refuse_beyond(limit: int, used: int, what: str) -> None:
    """Refuse one more when `limit` are there."""
    if used >= limit:
        _log.info("refused", {"what": what, "used": used, "limit": limit})
        raise StoreError(
            f"This workspace holds {used:,} {what}, as many as it may. Delete some first."
        )


class Connection(sqlite3.Connection):
    """A connection to the index, with the questions that all parts of a store ask."""

    def has(self, table: str, item_id: str) -> bool:
        """Return whether a table has a row of this id."""
        return self.execute(f"SELECT 1 FROM {table} WHERE id=?", (item_id,)).fetchone() is not None

    def count(self, table: str, where: str, *values: object) -> int:
        """Return how many rows a condition holds for."""
        query = f"SELECT COUNT(*) FROM {table} WHERE {where}"
        return int(self.execute(query, values).fetchone()[0])

    def used_bytes(self, workspace: str) -> int:
        """Return the bytes of all data sets and runs of a workspace."""
        query = "SELECT COALESCE(SUM(n_bytes), 0) FROM {} WHERE workspace=?"
        tables = "datasets", "runs"
        return sum(self.execute(query.format(t), (workspace,)).fetchone()[0] for t in tables)

    def insert(self, table: str, row: Sequence[object], *, unless: str = "") -> None:
        """Add a row; `unless` says what SQLite does where there is one."""
        values = ",".join("?" * len(row))
        self.execute(f"INSERT {unless} INTO {table} VALUES ({values})", row)

    def require_workspace(self, workspace: Any) -> None:
        """Refuse a workspace that does not exist."""
        if not is_workspace_id(workspace) or not self.has("workspaces", workspace):
            raise StoreError(
                "This workspace no longer exists; those that nobody opens for a long time are "
                "removed. Start a new one."
            )

    def require_room(self, table: str, workspace: str, limits: StoreLimits, more: int) -> None:
        """Refuse a data set or run, of so many bytes, beyond what a workspace may keep."""
        n, used = self.count(table, "workspace=?", workspace), self.used_bytes(workspace)
        refuse_beyond(getattr(limits, table), n, {"datasets": "data sets"}.get(table, table))
        if used + more > limits.bytes:
            details = {"what": "bytes", "used": used, "more": more, "limit": limits.bytes}
            _log.info("refused", details)
            raise StoreError(
                f"This needs {more / 1e6:,.1f} MB, and the workspace holds {used / 1e6:,.1f} of "
                f"{limits.bytes / 1e6:,.0f} MB. Delete data sets or runs first."
            )


class IndexFile:
    """Short transactions on the index file, each with a connection of its own."""

    # Connections are not shared between threads and not kept: opening one takes a fraction of a
    # millisecond, and nothing is left behind by a thread, a fork or a killed process.

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            with self._explaining(), closing(self._connect("rwc")) as connection:
                connection.execute("PRAGMA user_version")
        if self._is_made():
            return
        with self._explaining():
            self._switch_to_wal()
        with self.writing() as connection:
            if not self._is_made():  # by nobody else meanwhile
                self._refuse_beside_data()
                schema = resources.files("simviz.store").joinpath("schema.sql")
                # One by one: a script would end the transaction.
                for statement in schema.read_text(encoding="utf-8").split(";\n"):
                    connection.execute(statement)
                connection.insert("written_by", (version("simviz"),))
                connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def _is_made(self) -> bool:
        """Whether there are tables; refuses those of another version."""
        with self.reading() as connection:
            (number,) = connection.execute("PRAGMA user_version").fetchone()
            if number in (0, SCHEMA_VERSION):
                return bool(number)
            writer = "another simviz"
            with suppress(sqlite3.OperationalError):  # it may have no such table
                (known,) = connection.execute("SELECT simviz FROM written_by").fetchone()
                writer = f"simviz {known}"
        root = self.path.parent
        raise StoreError(
            f"The store at {root} was written by {writer} and has version {number}; simviz "
            f"{version('simviz')} reads version {SCHEMA_VERSION}. Nothing in it was changed. Use "
            "the simviz that wrote it, or set SIMVIZ_HOME to another directory. Its data sets "
            f"lie as plain files in {root / 'datasets'}, a directory each: texts and ids as "
            "JSON, numbers and pictures as arrays; files that end in .simviz are zips of both."
        )

    def _refuse_beside_data(self) -> None:
        """Begin no new index where an old one is lost: all it named would be swept."""
        root = self.path.parent
        left = [n for n in FOLDERS if (root / n).is_dir() and any((root / n).glob("[0-9a-f]*"))]
        if left:
            raise StoreError(
                f"The index {self.path} is missing or empty, and there are {' and '.join(left)} "
                "beside it. Bring it back from a backup, or set SIMVIZ_HOME to another directory."
            )

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection whose statements see what is committed."""
        with self._explaining(), closing(self._connect_to_read()) as connection:
            yield connection

    @contextmanager
    def writing(self, *, deleting: bool = False) -> Iterator[Connection]:
        """A transaction that no other writer overlaps; undone if it raises."""
        if deleting and is_full(self.path.parent):
            self._spare.unlink(missing_ok=True)
        with self._explaining(), closing(self._connect()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def one(self, query: str, *values: Any) -> sqlite3.Row | None:
        """Return the first row of a query; None if there is none."""
        with self.reading() as connection:
            row: sqlite3.Row | None = connection.execute(query, values).fetchone()
            return row

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """Return all rows of a query."""
        with self.reading() as connection:
            return connection.execute(query, values).fetchall()

    def rows_of(self, workspace: str, query: str, *values: Any) -> list[sqlite3.Row]:
        """Return all rows of a query about a workspace, which must exist."""
        with self.reading() as connection:
            connection.require_workspace(workspace)
            return connection.execute(query, values).fetchall()

    def execute(self, statement: str, *values: Any) -> int:
        """Run one statement in a transaction of its own; return how many rows it changed."""
        with self.writing(deleting=statement.startswith("DELETE")) as connection:
            return connection.execute(statement, values).rowcount

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if isinstance(error, sqlite3.OperationalError):
                raise StoreError(why_not_written(self.path.parent, error)) from error
            raise StoreError(
                f"The index {self.path} cannot be used ({error}). Check that the file is whole, "
                "or set SIMVIZ_HOME to another directory."
            ) from error

    def set_aside(self) -> None:
        """Set bytes aside that deletions may use up when the disk is full."""
        free = shutil.disk_usage(self.path.parent).free
        if not self._spare.exists() and free > 4 * SPARE_BYTES:
            # Random bytes: a file system that compresses would keep nothing of zeros.
            write_bytes(self._spare, os.urandom(SPARE_BYTES))

    @property
    def _spare(self) -> Path:
        return self.path.with_name("spare")

    def _switch_to_wal(self) -> None:
        """Turn the write-ahead log on; SQLite does not wait for others doing the same."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                with closing(self._connect()) as connection:
                    connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def _connect_to_read(self) -> Connection:
        """A connection that also reads where nothing can be written."""
        try:
            return self._connect()
        except sqlite3.OperationalError as error:
            log = self.path.with_name(f"{self.path.name}-wal")
            is_behind = log.exists() and log.stat().st_size > 0
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY or is_behind:
                raise
            # SQLite makes two files beside an index to read it, for which there is no room. With
            # an empty log all that is known stands in the index itself, and nobody can change it.
            return self._connect("ro&immutable=1")

    def _connect(self, mode: str = "rw") -> Connection:
        # isolation_level None: transactions begin and end where this file says so.
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            factory=Connection,
        )
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA foreign_keys=ON")
            connection.execute("PRAGMA synchronous=FULL")  # reads the file
        except BaseException:
            connection.close()
            raise
        return connection


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a file; a reader sees the old content or the new, never a part."""
    with replacing(path, sync=True) as file:
        file.write(data)


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file, see `write_bytes`."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Text from the web may hold lone surrogates; reading passes them on too.
    write_bytes(path, text.encode("utf-8", "surrogatepass"))


def read_json(path: Path, remedy: str = "") -> Any:
    """What a JSON file holds."""
    with damaged(f"The file {path.name} of the store", remedy):
        return json.loads(path.read_bytes())


@contextmanager
def damaged(what: str, remedy: str = "") -> Iterator[None]:
    """Say that something stored cannot be read, whatever its damage leads to."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        # Where it lies is no visitor's business.
        message = f"{what} is damaged and cannot be read ({reason_of(error)}). {remedy}"
        raise StoreError(message.rstrip()) from error


def sync_tree(folder: Path) -> int:
    """Make sure that a directory and all that is in it are on the disk; return its bytes."""
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        sync(path)
    return sum(path.stat().st_size for path in paths if path.is_file())


def sync(path: Path) -> None:
    """Make sure that a file, or the names in a directory, are on the disk."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return  # not every platform opens directories
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@cache
def _own(pid: int) -> str:
    return f"{pid}-{start_time(pid)}-{boot_id()}"


def own_process() -> str:
    """A name for this process that no later process repeats."""
    return _own(os.getpid())


def is_alive(process: str) -> bool:
    """Whether the process that `own_process` described is still running."""
    number, _, rest = process.partition("-")
    if not (number.isascii() and number.isdigit() and len(number) < 10 and int(number)):
        return False
    pid = int(number)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it lives and belongs to another user
    return rest == f"{start_time(pid)}-{boot_id()}"


def start_time(pid: int) -> str:
    """Clock ticks between boot and the start of a process; "0" where nobody tells."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "0"
    # The name of the program stands in parentheses and may hold anything.
    fields = stat.rpartition(")")[2].split()
    return "0" if fields[0] in "ZX" else fields[19]


@cache
def boot_id() -> str:
    """Which start of the machine this is."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().replace("-", "")[:12]
    except OSError:
        return "0"
