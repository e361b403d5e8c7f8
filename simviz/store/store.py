"""Store: data sets, runs and shares on disk."""

from __future__ import annotations

from pathlib import Path

from simviz.store._datasets import Datasets
from simviz.store._directory import Directory
from simviz.store._runs import Runs
from simviz.store._shares import Shares
from simviz.store._workspaces import Attempts, Choices, Feedback, Workspaces
from simviz.store.records import Limits


class Store:
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
    workspaces, datasets, runs, shares, jobs, feedback, choices
        Its parts, each with methods to put, find, open and delete what it
        keeps.

    Raises
    ------
    StoreError
        If the directory cannot be used.

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
    >>> [info.n_relevant for info in store.datasets.find(mine) if not info.is_demo]
    [2]
    """

    def __init__(self, root: Path | str | None = None, limits: Limits | None = None) -> None:
        self._directory = directory = Directory(root, limits)
        self.root, self.limits = directory.root, directory.limits
        self.workspaces = Workspaces(directory)
        self.datasets = Datasets(directory)
        self.runs = Runs(directory)
        self.shares = Shares(directory, self.workspaces, self.datasets, self.runs)
        self.jobs = Attempts(directory)
        self.feedback = Feedback(directory, self.datasets)
        self.choices = Choices(directory, self.datasets)
        self.sweep()

    def sweep(self) -> int:
        """Remove what killed processes left and workspaces that nobody opened.

        Returns
        -------
        int
            How many workspaces were removed.
        """
        return self._directory.sweep()
