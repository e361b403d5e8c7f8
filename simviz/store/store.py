"""Store: data sets, runs and shares on disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from simviz.store._base import not_found, printable, refuse_beyond, require_workspace
from simviz.store._shares import ShareStore
from simviz.store.records import Limits
from simviz.store.run import MEASURED, Shown

#: Finished jobs that a workspace sees at most.
_LISTED = 200


class AttemptStore(ShareStore):
    """Keeps the directories of jobs and who follows them; see `Store`."""

    # What is written in those directories is the business of `simviz.jobs`.

    def add_attempt(self, digest: str, workspace: str, write: Callable[[Path], object]) -> str:
        """Make the directory of one more attempt at a request."""
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
        """The directory of an attempt."""
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


#: Longest text of a correction, in characters.
_LONGEST = 5_000
Verdict = tuple[str, str, float]


class FeedbackStore(AttemptStore):
    """Keeps the corrections of a data set; see `Store`."""

    def put_feedback(self, dataset_id: str, workspace: str, verdicts: Iterable[Verdict]) -> int:
        """Keep what somebody said about answers."""
        self.get_dataset_info(dataset_id, workspace)
        rows = [
            (workspace, dataset_id, printable(x)[:_LONGEST], printable(y)[:_LONGEST], float(told))
            for x, y, told in verdicts
        ]
        with self._index.writing() as db:
            require_workspace(db, workspace)
            now = time.time()
            for row in rows:
                db.execute("INSERT OR REPLACE INTO feedback VALUES (?,?,?,?,?,?)", (*row, now))
            (count,) = db.execute(
                "SELECT COUNT(*) FROM feedback WHERE workspace=? AND dataset_id=?",
                (workspace, dataset_id),
            ).fetchone()
            refuse_beyond(self.limits.corrections, count - 1, "corrections")
        return int(count)

    def list_feedback(self, dataset_id: str, workspace: str) -> list[Verdict]:
        """The corrections of a data set, the oldest first."""
        with self._index.reading() as db:
            rows = db.execute(
                "SELECT input, target, verdict FROM feedback WHERE workspace=? AND dataset_id=? "
                "ORDER BY created, rowid",
                (workspace, dataset_id),
            ).fetchall()
        return [(str(r["input"]), str(r["target"]), float(r["verdict"])) for r in rows]

    def drop_feedback(self, dataset_id: str, workspace: str, input: str | None = None) -> None:
        """Take corrections back."""
        with self._index.writing() as db:
            db.execute(
                "DELETE FROM feedback WHERE workspace=? AND dataset_id=? "
                "AND (? IS NULL OR input=?)",
                (workspace, dataset_id, input, input),
            )


_VALUES: Mapping[str, tuple[str, ...]] = {"part": MEASURED, "direction": ("x2y", "y2x", "mean")}


class ShownStore(FeedbackStore):
    """Keeps how a data set is looked at; see `Store`."""

    def keep_shown(self, dataset_id: str, workspace: str, name: Shown, value: str) -> None:
        """Remember one choice of how a data set is looked at."""
        known = _VALUES.get(name)
        if known is None:
            raise ValueError(f"name must be {' or '.join(map(repr, _VALUES))}, got {name!r}.")
        if value not in known:
            raise ValueError(f"{name} must be {' or '.join(map(repr, known))}, got {value!r}.")
        self.get_dataset_info(dataset_id, workspace)
        with self._index.writing() as db:
            require_workspace(db, workspace)
            db.execute(
                "INSERT OR REPLACE INTO shown VALUES (?,?,?,?)",
                (workspace, dataset_id, name, value),
            )

    def shown(self, dataset_id: str, workspace: str, name: Shown) -> str | None:
        """What was chosen last."""
        with self._index.reading() as db:
            row = db.execute(
                "SELECT value FROM shown WHERE workspace=? AND dataset_id=? AND name=?",
                (workspace, dataset_id, name),
            ).fetchone()
        return None if row is None else str(row["value"])


class Store(ShownStore):
    """Data sets, runs and shares on disk, safe against any sudden end.

    Files are written aside, brought to the disk and moved into place whole;
    only then does the index say that they exist. A process that is killed
    leaves nothing but what the next opening sweeps away. Several threads and
    processes of one machine may use one directory at once.

    Every data set and run belongs to a *workspace*, whose unguessable id is
    the only key to it. Demos (ids "demo:...") and the runs trained on them
    belong to all.

    Parameters
    ----------
    root : Path, optional
        Directory of the store; made when it is missing. By default the
        environment variable ``SIMVIZ_HOME``, else ``~/.local/share/simviz``.
        It must lie on a local disk.
    limits : Limits, optional
        How much a workspace may keep.

    Attributes
    ----------
    root : Path
        Where it is.
    limits : Limits
        How much a workspace may keep.

    Raises
    ------
    StoreError
        If the directory cannot be used.

    Examples
    --------
    >>> import tempfile
    >>> from simviz.data import PairSet
    >>> store = Store(tempfile.mkdtemp())
    >>> mine = store.create_workspace()
    >>> pairs = PairSet.from_texts(["red heart", "car"], ["corazón", "coche"])
    >>> dataset_id = store.put_dataset(pairs, mine)
    >>> store.get_dataset(dataset_id, mine).digest == pairs.digest
    True
    >>> [info.n_relevant for info in store.list_datasets(mine) if not info.is_demo]
    [2]
    """

    def __init__(self, root: Path | str | None = None, limits: Limits | None = None) -> None:
        super().__init__(root, limits)
        self.sweep()
