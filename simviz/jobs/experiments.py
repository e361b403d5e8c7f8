"""Experiments as jobs: a table or figure of a paper, run again on a data set of the store."""

from __future__ import annotations

import time
from dataclasses import replace

from simviz.data import PairSet
from simviz.exceptions import JobError, StoreError
from simviz.experiments import Findings, Progress, Size, get_experiment
from simviz.jobs.selection import Found
from simviz.jobs.spec import EXPERIMENT, JobSpec
from simviz.jobs.training import Report
from simviz.store.records import DEMO_PREFIX

#: Training and test items of data that somebody brought, at most.
MOST_TRAIN, MOST_POOL = 5_000, 1_500


def experiment_spec(
    name: str, dataset_id: str, dataset_digest: str, *, size: Size = "demo", workspace: str = ""
) -> JobSpec:
    """Ask for an experiment."""
    spec = JobSpec(
        dataset_id, dataset_digest, EXPERIMENT, {"name": name, "size": size}, workspace=workspace
    )
    spec.check()
    return spec


def run_experiment(spec: JobSpec, pairs: PairSet, report: Report) -> Found:
    """Run an experiment."""
    name, size = str(spec.params["name"]), spec.params["size"]
    experiment = get_experiment(name)
    seed = spec.split.seed
    start = time.monotonic()
    own = spec.dataset_id != f"{DEMO_PREFIX}{experiment.demo}"
    if own:
        if reason := experiment.refusal(pairs):
            raise JobError(reason)
        data = experiment.prepared(pairs, seed=seed, n_train=MOST_TRAIN, n_pool=MOST_POOL)
    else:
        data = experiment.load(size=size, seed=seed)

    def heard(words: str, fraction: float) -> bool:
        return report(words, fraction, {})

    found = experiment.run(data, size=size, seed=seed, progress=Progress(heard))
    command = f"python -m simviz.experiments {name} --size {size} --seed {seed}"
    command += f" --data FOLDER --train {MOST_TRAIN} --pool {MOST_POOL}" if own else ""
    found = replace(found, seconds=round(time.monotonic() - start, 3), command=command)
    return Found({"findings": found.to_json(), "seconds": found.seconds})


def findings_of(found: Found) -> Findings:
    """What an experiment found, read again."""
    try:
        return Findings.from_json(found.tree["findings"])
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(
            f"The result of this experiment cannot be read ({error}). Run it again."
        ) from error
