"""Searches for good settings as jobs: how they are asked for, what they cost, what they answer."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from simviz.data import PairSet, split
from simviz.evaluation._search_fits import UnitBy, grouped
from simviz.evaluation.search import development, make_candidates, search
from simviz.jobs.cost import MAX_SECONDS, Estimate, estimate
from simviz.pipeline import default_pipeline
from simviz.store.datasets import usual_asking

if TYPE_CHECKING:
    from simviz.jobs.spec import JobSpec, Report, SplitSpec

_RIDGE = "model__regularization"
#: Settings of which so many are estimated; the others cost what lies between.
_ESTIMATED = 3


def unit_of(how: SplitSpec, pairs: PairSet) -> UnitBy:
    """What is kept apart within train and validation, as the split keeps it apart."""
    if how.by not in ("column", "time"):
        return cast("UnitBy", how.by)
    usual = "split" if how.by == "column" else "date"
    sides = [(how.group_key or usual) in side.metadata for side in (pairs.x, pairs.y)]
    return "pair" if all(sides) else "x" if sides[0] else "y"


def run_search(spec: JobSpec, pairs: PairSet, report: Report) -> dict[str, Any]:
    """Try the settings without the test part; return the tree of a `JobResult`."""
    asked: Mapping[str, Any] = spec.search or {}
    how = spec.split
    start = time.monotonic()
    parts = split(pairs, how.by, how.fractions, how.seed, how.group_key)
    pipeline = default_pipeline(spec.method, parts.train, features=spec.features, **_started(spec))
    validate = asked["folds"] == 1

    def callback(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
        return report("searching", step / total if total else 0.0, {})

    found = search(
        pipeline,
        parts.train if validate else development(pairs, parts),
        asked["params"],
        cv=parts.validation if validate else asked["folds"],
        by=unit_of(how, pairs),
        group_key=how.group_key,
        metric=asked["metric"],
        direction=usual_asking(spec.dataset_id, pairs).direction,
        n_iter=asked["n_iter"],
        seed=how.seed,
        callback=callback,
    )
    seconds = time.monotonic() - start
    return {"selection": found.to_json(), "seconds": round(seconds, 3)}


def estimate_search(spec: JobSpec, pairs: PairSet) -> Estimate:
    """What a search will cost.

    Parameters
    ----------
    spec : JobSpec
        With what to search.
    pairs : PairSet
        The whole data set.

    Returns
    -------
    Estimate
        Fits that settings share are counted once; a reason to refuse where a
        setting cannot be trained or all together take too long.
    """
    asked: Mapping[str, Any] = spec.search or {}
    try:
        candidates = make_candidates(asked["params"], asked["n_iter"], spec.split.seed)
        pipeline = default_pipeline(spec.method, pairs, features=spec.features, **_started(spec))
        groups = grouped(pipeline, candidates)
    except ValueError as error:
        return Estimate(0.0, 0, str(error))
    # The largest setting of some groups, from the first to the last, stands for all.
    step = max(1, (len(groups) - 1) // (_ESTIMATED - 1))
    costs = []
    for group in groups[::step][:_ESTIMATED]:
        largest = dict(spec.params) | _largest([candidates[i] for i in group.members])
        costs.append(estimate(spec.method, pairs, largest, spec.features))
    # Ridges share a decomposition at best; where they do not, each is a fit.
    n_fits = sum(len({repr(own.get(_RIDGE)) for own in group.free}) for group in groups)
    if reason := next((c.reason_to_refuse for c in costs if c.reason_to_refuse), None):
        return Estimate(0.0, 0, reason)
    share = 1 - spec.split.fractions[2]
    folds = asked["folds"]
    share *= 1 if folds == 1 else (folds - 1) / folds
    mean = sum(cost.seconds for cost in costs) / len(costs)
    seconds = share * mean * n_fits * folds
    reason = None
    if seconds > MAX_SECONDS:
        reason = (
            f"This search would take about {seconds / 3_600:.1f} hours; jobs may take "
            f"{MAX_SECONDS / 3_600:.0f}. Give fewer values or folds, or draw some at random."
        )
    return Estimate(seconds, max(cost.bytes for cost in costs), reason)


def _started(spec: JobSpec) -> dict[str, Any]:
    """Parameters to begin with: a first value of each that is searched."""
    first = {name: values[0] for name, values in (spec.search or {})["params"].items()}
    return {**spec.params, **first}


def _largest(settings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The most of each number among settings, else the first value."""
    found = dict(settings[0])
    for setting in settings[1:]:
        for name, value in setting.items():
            both = (found[name], value)
            if all(isinstance(v, int | float) for v in both):
                found[name] = max(both)
    return found
