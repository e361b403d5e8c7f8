"""Which side asks: as a demo says, else as the data look."""

from __future__ import annotations

from simviz.data.asking import WhoAsks, who_asks
from simviz.data.pairs import PairSet
from simviz.datasets import DEMOS
from simviz.store.records import DEMO_PREFIX


def usual_asking(dataset_id: str, pairs: PairSet) -> WhoAsks:
    """Which side of a stored data set or a demo asks, and why.

    Parameters
    ----------
    dataset_id : str
        Its id; a demo says itself who asks.
    pairs : PairSet
        Its content.

    Returns
    -------
    WhoAsks
        As `simviz.data.who_asks` guesses, where it is no demo.
    """
    demo = DEMOS.get(dataset_id.removeprefix(DEMO_PREFIX))
    if demo is None or not dataset_id.startswith(DEMO_PREFIX):
        return who_asks(pairs)
    name = pairs.x_name if demo.direction == "x2y" else pairs.y_name
    return WhoAsks(demo.direction, f"{name} ask: this demo is about them")
