"""How often a test part was looked at."""

from __future__ import annotations

import time

from simviz.store._base import printable, require_workspace
from simviz.store._feedback import FeedbackStore


class LookStore(FeedbackStore):
    """Counts the looks at the test parts of a data set; see `Store`."""

    def count_look(self, dataset_id: str, workspace: str, part: str) -> int:
        """Note that a test part is looked at.

        Parameters
        ----------
        dataset_id : str
            Data set that the part is of.
        workspace : str
            Who looks.
        part : str
            Stands for the items of the part, whatever it was trained with.

        Returns
        -------
        int
            How often it was looked at, this time included.

        Raises
        ------
        StoreError
            If the data set does not belong to the workspace.
        """
        self.get_dataset_info(dataset_id, workspace)
        key = (workspace, dataset_id, printable(part))
        with self._index.writing() as db:
            require_workspace(db, workspace)
            db.execute(
                "INSERT INTO looks VALUES (?,?,?,1,?) ON CONFLICT DO UPDATE SET "
                "times = times + 1, last = excluded.last",
                (*key, time.time()),
            )
        return self.looks(dataset_id, workspace, part)[0]

    def looks(self, dataset_id: str, workspace: str, part: str) -> tuple[int, float | None]:
        """How often a test part was looked at, and when last.

        Parameters
        ----------
        dataset_id : str
            Data set that the part is of.
        workspace : str
            Whose looks.
        part : str
            As in `count_look`.

        Returns
        -------
        times : int
            0 where it was never looked at.
        last : float or None
            Seconds since 1970.
        """
        with self._index.reading() as db:
            row = db.execute(
                "SELECT times, last FROM looks WHERE workspace=? AND dataset_id=? AND part=?",
                (workspace, dataset_id, printable(part)),
            ).fetchone()
        return (0, None) if row is None else (int(row["times"]), float(row["last"]))
