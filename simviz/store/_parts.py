"""Which part of its split a data set is looked at by."""

from __future__ import annotations

from simviz.store._base import require_workspace
from simviz.store._feedback import FeedbackStore
from simviz.store.run import MEASURED, Part


class PartStore(FeedbackStore):
    """Keeps which part is shown of a data set; see `Store`."""

    def show_part(self, dataset_id: str, workspace: str, part: Part) -> None:
        """Remember the part that is looked at.

        Parameters
        ----------
        dataset_id : str
            A data set of the workspace, or a demo.
        workspace : str
            Who looks.
        part : {"validation", "test"}
            The part.

        Raises
        ------
        StoreError
            If the data set does not belong to the workspace.
        ValueError
            If there is no such part.
        """
        if part not in MEASURED:
            raise ValueError(f"part must be 'validation' or 'test', got {part!r}.")
        self.get_dataset_info(dataset_id, workspace)
        with self._index.writing() as db:
            require_workspace(db, workspace)
            db.execute(
                "INSERT OR REPLACE INTO shown_parts VALUES (?,?,?)", (workspace, dataset_id, part)
            )

    def shown_part(self, dataset_id: str, workspace: str) -> Part | None:
        """The part that was looked at last.

        Parameters
        ----------
        dataset_id : str
            Which data set.
        workspace : str
            Who looks.

        Returns
        -------
        {"validation", "test"} or None
            None where nobody has chosen one.
        """
        with self._index.reading() as db:
            row = db.execute(
                "SELECT part FROM shown_parts WHERE workspace=? AND dataset_id=?",
                (workspace, dataset_id),
            ).fetchone()
        return None if row is None else row["part"]
