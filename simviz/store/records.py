"""What the store knows about things without opening them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simviz.data.description import WhoAsks, who_asks
from simviz.data.pairs import PairSet
from simviz.datasets import DEMOS

#: Data sets whose id begins so are read from installed packages and belong to all.
DEMO_PREFIX = "demo:"
#: The workspace of whoever sits at the computer that the app runs on.
LOCAL_WORKSPACE = "local"
#: What stands in place of a method's id where no method was trained.
BLEND, EXPERIMENT, IMPORTED = "blend", "experiment", "imported"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one workspace may keep, and for how long.

    Parameters
    ----------
    datasets, runs, shares : int
        Most data sets, runs and shares of a workspace.
    corrections : int
        Most corrections of the answers on one data set.
    bytes : int
        Most bytes of its data sets and runs together.
    demo_runs, demo_bytes : int
        The same for the runs of demos, which belong to all; the one that was
        not opened for longest makes room.
    idle_days : float
        Days after which a workspace that nobody opened is removed.
    """

    datasets: int = 30
    runs: int = 300
    shares: int = 100
    corrections: int = 2_000
    bytes: int = 4 * 2**30
    demo_runs: int = 300
    demo_bytes: int = 4 * 2**30
    idle_days: float = 30.0


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """A data set as a list shows it.

    Parameters
    ----------
    id : str
        Its id; "demo:..." for a demo.
    name, x_name, y_name : str
        As in `PairSet`.
    digest : str
        Of the content; empty for a demo, which has not been read yet.
    x_kind, y_kind : str
        Kind of the items of each side; empty for a demo.
    n_x, n_y, n_judged, n_relevant : int
        Items of each side, judged and relevant pairs; 0 for a demo.
    n_bytes : int
        On disk.
    created : float
        Seconds since 1970.
    notes : tuple of str
        What was said when it was read.
    """

    id: str
    name: str
    x_name: str
    y_name: str
    digest: str = ""
    x_kind: str = ""
    y_kind: str = ""
    n_x: int = 0
    n_y: int = 0
    n_judged: int = 0
    n_relevant: int = 0
    n_bytes: int = 0
    created: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def is_demo(self) -> bool:
        """Whether it is read from an installed package."""
        return self.id.startswith(DEMO_PREFIX)


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run as a list shows it.

    Parameters
    ----------
    id : str
        Its id.
    dataset_id : str
        What it was trained on.
    method : str
        Id of the method.
    spec : mapping
        What was asked for, as JSON.
    summary : mapping of str to float
        The figures a list shows.
    name, note : str
        Given by its owner; empty at first.
    seconds : float
        It took to train and measure.
    n_bytes : int
        On disk.
    created : float
        Seconds since 1970.
    """

    id: str
    dataset_id: str
    method: str
    spec: Mapping[str, Any] = field(default_factory=dict)
    summary: Mapping[str, float] = field(default_factory=dict)
    name: str = ""
    note: str = ""
    seconds: float = 0.0
    n_bytes: int = 0
    created: float = 0.0

    @property
    def is_demo(self) -> bool:
        """Whether it was trained on a demo, and so belongs to all."""
        return self.dataset_id.startswith(DEMO_PREFIX)

    @property
    def is_blend(self) -> bool:
        """Whether it is made of two other runs."""
        return self.method == BLEND

    @property
    def is_imported(self) -> bool:
        """Whether its scores are those of another system."""
        return self.method == IMPORTED


@dataclass(frozen=True, slots=True)
class Share:
    """A read-only view that was published.

    Parameters
    ----------
    token : str
        Its unguessable id.
    kind : str
        What is shown, such as "map" or "compare".
    run_ids, dataset_ids : tuple of str
        What may be read; whatever was deleted since is left out.
    view : mapping of str to str
        How it is shown: parameters of the page.
    created : float
        Seconds since 1970.
    expires : float, optional
        When its link stops working, likewise; None if it does not by itself.
    """

    token: str
    kind: str
    run_ids: tuple[str, ...]
    dataset_ids: tuple[str, ...]
    view: Mapping[str, str] = field(default_factory=dict)
    created: float = 0.0
    expires: float | None = None


def usual_asking(dataset_id: str, pairs: PairSet) -> WhoAsks:
    """Which side of a stored data set or a demo asks, and why."""
    demo = DEMOS.get(dataset_id.removeprefix(DEMO_PREFIX))
    if demo is None or not dataset_id.startswith(DEMO_PREFIX):
        return who_asks(pairs)
    name = pairs.x_name if demo.direction == "x2y" else pairs.y_name
    return WhoAsks(demo.direction, f"{name} ask: this demo is about them")
