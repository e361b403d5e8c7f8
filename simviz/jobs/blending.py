"""Blends of two finished runs: how they are asked for, and what they are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from simviz.data import PairSet
from simviz.exceptions import JobError, StoreError
from simviz.jobs.spec import BLEND, JobSpec
from simviz.pipeline import BlendPipeline, Pipeline

if TYPE_CHECKING:
    from simviz.store.records import RunInfo


def blend_spec(
    learned: RunInfo,
    lexical: RunInfo,
    alpha: float,
    *,
    normalization: str = "global_std",
    workspace: str = "",
) -> JobSpec:
    """Ask for a blend of two runs, which is then measured like any run.

    Parameters
    ----------
    learned, lexical : RunInfo
        Finished runs on one split of one data set.
    alpha : float
        Weight of the learned one, from 0 to 1.
    normalization : {"global_std", "none"}, default="global_std"
        How scores are brought to one scale, see
        `simviz.pipeline.BlendPipeline`.
    workspace : str, default=""
        Who asks.

    Returns
    -------
    JobSpec
        Naming both runs.

    Raises
    ------
    JobError
        If the runs were not trained on the same pairs, or a setting does not
        fit.
    """
    for what, words in (("dataset_digest", "data"), ("split", "split")):
        if learned.spec.get(what) != lexical.spec.get(what):
            raise JobError(
                f"These two runs were not trained on the same {words}, so that one may have seen "
                "what the other is tested on. Train both on one split and blend those."
            )
    asked = JobSpec.from_json(learned.spec, workspace)
    spec = JobSpec(
        dataset_id=asked.dataset_id,
        dataset_digest=asked.dataset_digest,
        method=BLEND,
        params={
            "learned": learned.id,
            "lexical": lexical.id,
            "alpha": round(float(alpha), 6),
            "normalization": normalization,
            # What a list of runs calls it, even when a part was deleted.
            "learned_method": learned.method,
            "lexical_method": lexical.method,
        },
        split=asked.split,
        workspace=workspace,
    )
    spec.check()
    return spec


class Trained(Protocol):
    """A finished run, as far as a blend needs it."""

    @property
    def spec(self) -> Mapping[str, Any]:
        """What was asked for, as JSON."""

    def pipeline(self) -> Pipeline:
        """What was trained."""


class Runs(Protocol):
    """Where finished runs are: a store, or what was sent along."""

    def get_run(self, run_id: str, workspace: str | None = None) -> Trained:
        """A run that this workspace may see."""


def parts_of(spec: JobSpec, store: Runs) -> tuple[Pipeline, Pipeline]:
    """The trained pipelines that a blend is made of."""
    found = []
    for role in ("learned", "lexical"):
        try:
            run = store.get_run(spec.params[role], spec.workspace)
            told = JobSpec.from_json(run.spec)
            if (told.dataset_digest, told.split) != (spec.dataset_digest, spec.split):
                raise JobError(f"The {role} run was trained on other pairs than this blend is of.")
            found.append(run.pipeline())
        except StoreError as error:
            raise JobError(f"The {role} run of this blend cannot be opened: {error}") from error
    return found[0], found[1]


def blended(spec: JobSpec, parts: tuple[Pipeline, Pipeline], train: PairSet) -> BlendPipeline:
    """Put the parts together."""
    how = spec.params
    return BlendPipeline.of(*parts, train, how["alpha"], normalization=how["normalization"])
