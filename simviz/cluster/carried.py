"""What a worker has in place of a store: only what its job needs, brought along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simviz.data import PairSet
from simviz.exceptions import StoreError
from simviz.jobs.spec import BLEND, JobSpec
from simviz.pipeline import Pipeline
from simviz.store.store import Store

_ROLES = ("learned", "lexical")


@dataclass(frozen=True, slots=True)
class CarriedRun:
    """A finished run, as far as another job builds on it.

    Parameters
    ----------
    spec : mapping
        What was asked for, as JSON.
    trained : PairPipeline or BlendPipeline
        What was learned.
    """

    spec: Mapping[str, Any]
    trained: Pipeline

    def pipeline(self) -> Pipeline:
        """What was trained, ready for new items."""
        return self.trained


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """A data set and some runs that travel with a job.

    It answers the questions that a job asks a store, and nothing else: who
    may see what was decided before anything was sent.

    Parameters
    ----------
    pairs : PairSet
        The data set of the job.
    runs : mapping of str to CarriedRun or StoreError, optional
        Runs by their ids; an error is raised where the job asks for it.
    """

    pairs: PairSet
    runs: Mapping[str, CarriedRun | StoreError] = field(default_factory=dict)

    def get_dataset(self, dataset_id: str, workspace: str | None = None) -> PairSet:
        """The data set, whatever its id is here.

        Parameters
        ----------
        dataset_id, workspace : str
            As `Store.get_dataset` takes them; there is only one to give.

        Returns
        -------
        PairSet
            The one that was brought.
        """
        return self.pairs

    def get_run(self, run_id: str, workspace: str | None = None) -> CarriedRun:
        """A run that was brought.

        Parameters
        ----------
        run_id, workspace : str
            As `Store.get_run` takes them.

        Returns
        -------
        CarriedRun
            With specification and pipeline.

        Raises
        ------
        StoreError
            The one that the store answered, or if it was not brought.
        """
        found = self.runs.get(run_id, StoreError(f"Run {run_id} was not sent along."))
        if isinstance(found, StoreError):
            raise found
        return found


def runs_of(spec: JobSpec, store: Store) -> dict[str, CarriedRun | StoreError]:
    """The runs that a job builds on.

    Parameters
    ----------
    spec : JobSpec
        What is asked for, with its workspace.
    store : Store
        Where the runs are.

    Returns
    -------
    dict of str to CarriedRun or StoreError
        Those of a blend, by id; of any other job none.
    """
    found: dict[str, CarriedRun | StoreError] = {}
    for run_id in (spec.params[role] for role in _ROLES) if spec.method == BLEND else ():
        try:
            run = store.get_run(run_id, spec.workspace)
            found[run_id] = CarriedRun(run.spec, run.pipeline())
        except StoreError as error:
            found[run_id] = error
    return found
