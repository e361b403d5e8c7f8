"""Shares of the store: read-only views under unguessable ids."""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
from collections.abc import Mapping, Sequence
from typing import Any

from simviz.exceptions import StoreError
from simviz.store._datasets import Datasets, is_demo
from simviz.store._directory import Directory, printable, refuse_beyond, require_workspace
from simviz.store._runs import Runs
from simviz.store._workspaces import Workspaces
from simviz.store.records import Share

#: Longest description of how a view is shown, in characters of JSON.
_LONGEST_VIEW = 4_000
_TOKEN_BYTES = 18
_DAY = 86_400.0
_ALIVE = "(expires IS NULL OR expires > ?)"


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
        payload = {
            "run_ids": [run.id for run in runs],
            "dataset_ids": list(datasets),
            "view": shown,
        }
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        now = time.time()
        expires = None if days is None else now + days * _DAY
        with self._index.writing() as db:
            require_workspace(db, workspace)
            (count,) = db.execute(
                f"SELECT COUNT(*) FROM shares WHERE workspace=? AND {_ALIVE}", (workspace, now)
            ).fetchone()
            refuse_beyond(self._directory.limits.shares, count, "shares")
            db.execute(
                "INSERT INTO shares VALUES (?,?,?,?,?,?)",
                (token, workspace, printable(kind), json.dumps(payload), now, expires),
            )
        return token

    def resolve(self, token: str) -> Share:
        """Find what was published; its ids may be opened without a workspace."""
        # Looking at a share keeps the workspace it comes from.
        key = printable(token)
        with self._index.reading() as db:
            query = f"SELECT * FROM shares WHERE token=? AND {_ALIVE}"
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

    def find(self, workspace: str) -> list[Share]:
        """Shares of a workspace, newest first."""
        with self._index.reading() as db:
            require_workspace(db, workspace)
            rows = db.execute(
                f"SELECT * FROM shares WHERE workspace=? AND {_ALIVE} "
                "ORDER BY created DESC, token",
                (workspace, time.time()),
            ).fetchall()
            return [_share(db, row) for row in rows]


def _share(db: sqlite3.Connection, row: sqlite3.Row) -> Share:
    payload: dict[str, Any] = json.loads(row["payload"])

    def there(table: str, item_id: str) -> bool:
        query = f"SELECT 1 FROM {table} WHERE id=?"
        return db.execute(query, (item_id,)).fetchone() is not None

    return Share(
        token=row["token"],
        kind=row["kind"],
        run_ids=tuple(i for i in payload["run_ids"] if there("runs", i)),
        dataset_ids=tuple(i for i in payload["dataset_ids"] if is_demo(i) or there("datasets", i)),
        view=payload["view"],
        created=row["created"],
        expires=row["expires"],
    )
