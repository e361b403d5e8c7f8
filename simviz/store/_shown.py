"""How a data set is looked at: which part of its split, and which side asks."""

from __future__ import annotations

from collections.abc import Mapping

from simviz.store._base import require_workspace
from simviz.store._feedback import FeedbackStore
from simviz.store.run import MEASURED, Shown

_VALUES: Mapping[str, tuple[str, ...]] = {"part": MEASURED, "direction": ("x2y", "y2x", "mean")}


class ShownStore(FeedbackStore):
    """Keeps how a data set is looked at; see `Store`."""

    def keep_shown(self, dataset_id: str, workspace: str, name: Shown, value: str) -> None:
        """Remember one choice of how a data set is looked at.

        Parameters
        ----------
        dataset_id : str
            A data set of the workspace, or a demo.
        workspace : str
            Who looks.
        name : {"part", "direction"}
            What was chosen.
        value : str
            "validation" or "test"; "x2y", "y2x" or "mean".

        Raises
        ------
        StoreError
            If the data set does not belong to the workspace.
        ValueError
            If there is no such choice or value.
        """
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
        """What was chosen last.

        Parameters
        ----------
        dataset_id : str
            Which data set.
        workspace : str
            Who looks.
        name : {"part", "direction"}
            Which choice.

        Returns
        -------
        str or None
            None where nobody has chosen.
        """
        with self._index.reading() as db:
            row = db.execute(
                "SELECT value FROM shown WHERE workspace=? AND dataset_id=? AND name=?",
                (workspace, dataset_id, name),
            ).fetchone()
        return None if row is None else str(row["value"])
