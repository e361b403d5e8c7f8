"""Corrections by hand: what people said about answers."""

from __future__ import annotations

import time
from collections.abc import Iterable

from simviz.store._attempts import AttemptStore
from simviz.store._base import printable, refuse_beyond, require_workspace

#: Longest text of a correction, in characters.
_LONGEST = 5_000
Verdict = tuple[str, str, float]


class FeedbackStore(AttemptStore):
    """Keeps the corrections of a data set; see `Store`."""

    def put_feedback(self, dataset_id: str, workspace: str, verdicts: Iterable[Verdict]) -> int:
        """Keep what somebody said about answers.

        Parameters
        ----------
        dataset_id : str
            Data set that the answers are from.
        workspace : str
            Who says so.
        verdicts : iterable of (str, str, float)
            Input, text or group of the y side, and above 0 where they belong
            together, below 0 where they do not. The last one on an input and
            a target holds.

        Returns
        -------
        int
            How many are kept now.

        Raises
        ------
        StoreError
            If the data set does not belong to the workspace, or there are too
            many corrections.
        """
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
        """The corrections of a data set, the oldest first.

        Parameters
        ----------
        dataset_id : str
            Which data set.
        workspace : str
            Whose corrections.

        Returns
        -------
        list of (str, str, float)
            As they were given.
        """
        with self._index.reading() as db:
            rows = db.execute(
                "SELECT input, target, verdict FROM feedback WHERE workspace=? AND dataset_id=? "
                "ORDER BY created, rowid",
                (workspace, dataset_id),
            ).fetchall()
        return [(str(r["input"]), str(r["target"]), float(r["verdict"])) for r in rows]

    def drop_feedback(self, dataset_id: str, workspace: str, input: str | None = None) -> None:
        """Take corrections back.

        Parameters
        ----------
        dataset_id : str
            Which data set.
        workspace : str
            Whose corrections.
        input : str, optional
            Only those on this input; all when omitted.
        """
        with self._index.writing() as db:
            db.execute(
                "DELETE FROM feedback WHERE workspace=? AND dataset_id=? "
                "AND (? IS NULL OR input=?)",
                (workspace, dataset_id, input, input),
            )
