"""The index: one SQLite file that says what exists and whose it is."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from simviz.exceptions import StoreError

SCHEMA_VERSION = 6
#: Seconds to wait for another process that is writing.
BUSY_SECONDS = 20.0

_SCHEMA = """
CREATE TABLE workspaces (id TEXT PRIMARY KEY, created REAL, touched REAL);
CREATE TABLE datasets (
    id TEXT PRIMARY KEY,
    workspace TEXT NOT NULL REFERENCES workspaces(id) ON DELETE CASCADE,
    digest TEXT, name TEXT, x_name TEXT, y_name TEXT, x_kind TEXT, y_kind TEXT,
    n_x INTEGER, n_y INTEGER, n_judged INTEGER, n_relevant INTEGER,
    n_bytes INTEGER, created REAL, notes TEXT
);
CREATE INDEX datasets_of ON datasets(workspace);
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    workspace TEXT REFERENCES workspaces(id) ON DELETE CASCADE,  -- NULL: a demo's, for all
    dataset_id TEXT NOT NULL,
    method TEXT, spec TEXT, summary TEXT, name TEXT, note TEXT,
    seconds REAL, n_bytes INTEGER, created REAL, opened REAL
);
CREATE INDEX runs_of ON runs(workspace, dataset_id);
CREATE TABLE shares (
    token TEXT PRIMARY KEY,
    workspace TEXT NOT NULL REFERENCES workspaces(id) ON DELETE CASCADE,
    kind TEXT, payload TEXT, created REAL
);
CREATE INDEX shares_of ON shares(workspace);
CREATE TABLE jobs (
    id TEXT PRIMARY KEY, digest TEXT NOT NULL, attempt INTEGER NOT NULL, created REAL,
    UNIQUE (digest, attempt)
);
CREATE TABLE followers (
    job_id TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE,
    workspace TEXT NOT NULL REFERENCES workspaces(id) ON DELETE CASCADE,
    PRIMARY KEY (workspace, job_id)
);
CREATE INDEX followers_of ON followers(job_id);
"""
#: What a version added to the one before it.
_ADDED = {
    2: """
CREATE TABLE feedback (
    workspace TEXT NOT NULL REFERENCES workspaces(id) ON DELETE CASCADE,
    dataset_id TEXT NOT NULL,
    input TEXT NOT NULL, target TEXT NOT NULL, verdict REAL, created REAL,
    PRIMARY KEY (workspace, dataset_id, input, target)
);
""",
    3: "ALTER TABLE shares ADD COLUMN expires REAL",  # NULL: never
    4: """
CREATE TABLE trash (
    id TEXT PRIMARY KEY,
    workspace TEXT NOT NULL REFERENCES workspaces(id) ON DELETE CASCADE,
    dataset_id TEXT NOT NULL,
    method TEXT, spec TEXT, summary TEXT, name TEXT, note TEXT,
    seconds REAL, n_bytes INTEGER, created REAL, opened REAL, deleted REAL
);
""",
    5: """
CREATE TABLE looks (
    workspace TEXT NOT NULL REFERENCES workspaces(id) ON DELETE CASCADE,
    dataset_id TEXT NOT NULL,
    part TEXT NOT NULL, times INTEGER, last REAL,
    PRIMARY KEY (workspace, dataset_id, part)
);
""",
    # Which part of the split is shown and who asks; looks at the test part are no longer counted.
    # Runs are ranked by their validation part alone, which those of demos and of other systems
    # lack.
    6: """
DROP TABLE looks;
CREATE TABLE shown (
    workspace TEXT NOT NULL REFERENCES workspaces(id) ON DELETE CASCADE,
    dataset_id TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (workspace, dataset_id, name)
);
UPDATE runs SET summary='{}' WHERE workspace IS NULL OR method='imported';
UPDATE trash SET summary='{}' WHERE method='imported';
""",
}


class Index:
    """Short transactions on the index file, each with a connection of its own."""

    # Connections are not shared between threads and not kept: opening one takes a fraction of a
    # millisecond, and nothing is left behind by a thread, a fork or a killed process.

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._explaining():
            self._switch_to_wal()
        with self.writing() as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == 0:
                _run(connection, _SCHEMA)
                version = 1
            for later in range(version + 1, SCHEMA_VERSION + 1):
                _run(connection, _ADDED[later])
                version = later
            connection.execute(f"PRAGMA user_version={version}")
            if version != SCHEMA_VERSION:
                raise StoreError(
                    f"The store at {path.parent} has version {version}, this simviz reads "
                    f"{SCHEMA_VERSION}. Set SIMVIZ_HOME to another directory, or use the "
                    "simviz that wrote it."
                )

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection whose statements see what is committed."""
        with self._explaining(), closing(self._connect()) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that no other writer overlaps; undone if it raises."""
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

    def execute(self, statement: str, *values: Any) -> int:
        """Run one statement in a transaction of its own; return how many rows it changed."""
        with self.writing() as connection:
            return connection.execute(statement, values).rowcount

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"The index {self.path} cannot be used ({error}). Check that the disk is not "
                "full and that the file is whole, or set SIMVIZ_HOME to another directory."
            ) from error

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

    def _connect(self) -> sqlite3.Connection:
        # isolation_level None: transactions begin and end where this file says so.
        connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA synchronous=FULL")
        return connection


def _run(connection: sqlite3.Connection, statements: str) -> None:
    """Run statements one by one: a script would end the transaction."""
    for statement in statements.split(";\n"):
        connection.execute(statement)
