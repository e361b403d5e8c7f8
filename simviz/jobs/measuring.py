"""A finished run measured on one more part of its split."""

from __future__ import annotations

from collections.abc import Mapping

from simviz.data import PairSet
from simviz.jobs.asking import usual_asking
from simviz.jobs.background import Tell
from simviz.jobs.results import part_files
from simviz.jobs.spec import IMPORTED
from simviz.jobs.training import has_scores, measure
from simviz.store.run import Part, Run
from simviz.store.store import Store


def why_not_measured(run: Run, part: Part, pairs: PairSet) -> str:
    """Why a run cannot be measured on a part; empty where it can.

    Parameters
    ----------
    run : Run
        A stored run.
    part : {"validation", "test"}
        The part.
    pairs : PairSet
        The data set it was trained on.

    Returns
    -------
    str
        A sentence, or nothing.
    """
    if run.info.method == IMPORTED and not has_scores(run.pipeline(), _part(run, pairs, part)):
        return f"It was imported without scores for the {part} part."
    return ""


def measure_run(store: Store, run: Run, pairs: PairSet, part: Part, tell: Tell) -> None:
    """Measure a stored run on a part of its split, and keep what is found out with it.

    Parameters
    ----------
    store : Store
        Where the run is.
    run : Run
        With its pipeline and its split.
    pairs : PairSet
        The data set it was trained on.
    part : {"validation", "test"}
        The part.
    tell : callable
        Told how much is done, in [0, 1]; answers True to stop.

    Raises
    ------
    JobCancelled
        If it was told to stop.
    StoreError
        If the run was deleted in the meantime, or is damaged.
    """

    def heard(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
        return tell(step / total if total else 1.0)

    points = run.spec.get("dimensions")
    sides = _part(run, pairs, "train"), _part(run, pairs, part)
    asks = usual_asking(run.info.dataset_id, pairs).direction
    found = measure(run.pipeline(), *sides, points, heard, asks=asks)
    store.put_part(run.id, part, part_files(found))


def _part(run: Run, pairs: PairSet, part: str) -> PairSet:
    at = run.arrays()
    return pairs.take(at[f"x_{part}"], at[f"y_{part}"])
