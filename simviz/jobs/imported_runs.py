"""Runs that were made elsewhere: their scores are measured and stored as a run."""

from __future__ import annotations

import hashlib
from typing import cast

from simviz.data import PairSet
from simviz.evaluation.trec import ImportedRun
from simviz.exceptions import JobError, StoreError
from simviz.jobs.spec import ImportSpec, SplitSpec
from simviz.store.run import IMPORTED, RunResult
from simviz.store.store import Store

#: Pairs of a test part that are ranked at once, while somebody waits.
MAX_PAIRS = 100_000_000


def import_run(
    store: Store,
    dataset_id: str,
    pairs: PairSet,
    run: ImportedRun,
    split: SplitSpec,
    workspace: str,
) -> str:
    """Measure imported scores as a trained method is, and keep them as a run."""
    params = {"name": run.name[:80], "scores": _digest(run), "notes": list(run.notes)}
    spec = ImportSpec(dataset_id, pairs.digest, IMPORTED, params, split, workspace=workspace)
    if spec.is_demo:
        raise JobError(
            "Runs on a demo are seen by all visitors. Keep the demo's pairs as a data set of your "
            "own first, then import the run there."
        )
    # A side that is not divided competes whole.
    shares = [share**2 if split.by == "pair" else share for share in split.fractions[1:]]
    n_pairs = len(pairs.x) * len(pairs.y) * sum(shares)
    if n_pairs > MAX_PAIRS:
        raise JobError(
            f"Validation and test have about {n_pairs:,.0f} pairs; up to {MAX_PAIRS:,} are "
            "measured at once. Measure it in Python, or choose smaller parts."
        )
    run_id = spec.digest
    if store.runs.has(run_id):
        return run_id
    result = spec.run(pairs, {"scores": run.pipeline}, lambda stage, fraction, metrics: False)
    if not store.runs.put(run_id, cast(RunResult, result), spec.to_json(), workspace):
        raise StoreError("There is such a run already.")
    return run_id


def _digest(run: ImportedRun) -> str:
    """Of the scores, whatever the file is called."""
    h = hashlib.blake2b(digest_size=16)
    for part, dtype in (("indptr", "<i8"), ("indices", "<i8"), ("data", "<f8")):
        h.update(getattr(run.scores, part).astype(dtype).tobytes())
    return h.hexdigest()
