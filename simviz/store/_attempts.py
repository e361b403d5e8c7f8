"""The index of jobs: who follows which attempt."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from simviz.store._base import not_found, require_workspace
from simviz.store._shares import ShareStore

#: Finished jobs that a workspace sees at most.
_LISTED = 200


class AttemptStore(ShareStore):
    """Keeps the directories of jobs and who follows them; see `Store`.

    What is written in those directories is the business of `simviz.jobs`.
    """

    def add_attempt(self, digest: str, workspace: str, write: Callable[[Path], object]) -> str:
        """Make the directory of one more attempt at a request.

        Parameters
        ----------
        digest : str
            Of the request: 32 hexadecimal digits.
        workspace : str
            Who follows it.
        write : callable
            Fills the directory before anybody sees it.

        Returns
        -------
        str
            The id: the digest and the number of the attempt.

        Raises
        ------
        StoreError
            If the workspace is gone.
        """
        with self._draft() as draft:
            write(draft)
            with self._index.writing() as db:
                require_workspace(db, workspace)
                (last,) = db.execute(
                    "SELECT COALESCE(MAX(attempt), 0) FROM jobs WHERE digest=?", (digest,)
                ).fetchone()
                job_id = f"{digest}-{last + 1}"
                self._settle(draft, "jobs", job_id)
                db.execute(
                    "INSERT INTO jobs VALUES (?,?,?,?)", (job_id, digest, last + 1, time.time())
                )
                db.execute("INSERT INTO followers VALUES (?,?)", (job_id, workspace))
        return job_id

    def last_attempt(self, digest: str) -> str | None:
        """The newest attempt at a request, if there is any."""
        with self._index.reading() as db:
            row = db.execute(
                "SELECT id FROM jobs WHERE digest=? ORDER BY attempt DESC", (digest,)
            ).fetchone()
        return None if row is None else str(row["id"])

    def attempt_folder(self, job_id: str, workspace: str | None = None) -> Path:
        """The directory of an attempt.

        Parameters
        ----------
        job_id : str
            Its id.
        workspace : str, optional
            Who asks; whoever is trusted may leave it out.

        Returns
        -------
        Path
            A directory that exists.

        Raises
        ------
        StoreError
            If there is none that this workspace follows.
        """
        folder = self._folder("jobs", job_id)
        follows = workspace is None or workspace in self.followers(job_id)
        if not follows or not folder.is_dir():
            raise not_found("jobs")
        return folder

    def attempts(self, workspace: str | None = None) -> list[str]:
        """Attempts that a workspace follows, or all, newest first."""
        if workspace is None:
            query, values = "SELECT id FROM jobs ORDER BY created DESC, id", ()
        else:
            query = (
                "SELECT id FROM jobs JOIN followers ON job_id=id WHERE workspace=? "
                f"ORDER BY created DESC, id LIMIT {_LISTED}"
            )
            values = (workspace,)  # type: ignore[assignment]
        with self._index.reading() as db:
            if workspace is not None:
                require_workspace(db, workspace)
            return [row["id"] for row in db.execute(query, values)]

    def follow(self, job_id: str, workspace: str) -> None:
        """Add a workspace to those that see an attempt."""
        with self._index.writing() as db:
            require_workspace(db, workspace)
            db.execute("INSERT OR IGNORE INTO followers VALUES (?,?)", (job_id, workspace))

    def unfollow(self, job_id: str, workspace: str) -> None:
        """Take a workspace from those that see an attempt."""
        with self._index.writing() as db:
            db.execute("DELETE FROM followers WHERE job_id=? AND workspace=?", (job_id, workspace))

    def followers(self, job_id: str) -> frozenset[str]:
        """Workspaces that see an attempt."""
        with self._index.reading() as db:
            rows = db.execute("SELECT workspace FROM followers WHERE job_id=?", (job_id,))
            return frozenset(row["workspace"] for row in rows)
