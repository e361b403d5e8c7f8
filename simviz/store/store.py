"""Store: data sets, runs and shares on disk."""

from __future__ import annotations

from pathlib import Path

from simviz.store._shown import ShownStore
from simviz.store.records import Limits


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
