"""Searches for good settings as jobs: how they are asked for, what they cost, what they answer."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from simviz.data import PairSet, split
from simviz.evaluation._search_fits import UnitBy, grouped
from simviz.evaluation.search import Selection, development, make_candidates, search
from simviz.exceptions import StoreError
from simviz.jobs.cost import MAX_SECONDS, Estimate, estimate
from simviz.jobs.spec import JobSpec, SplitSpec
from simviz.jobs.training import Report
from simviz.pipeline import default_pipeline
from simviz.store.records import usual_asking

_RIDGE = "model__regularization"
#: Settings of which so many are estimated; the others cost what lies between.
_ESTIMATED = 3


@dataclass(frozen=True, slots=True)
class Found:
    """What a search answers, as it is kept with its job.

    Parameters
    ----------
    tree : mapping
        The selection as JSON, and the seconds it took.
    """

    tree: Mapping[str, Any]

    def selection(self) -> Selection:
        """All settings that were tried.

        Returns
        -------
        Selection
            With the chosen one.

        Raises
        ------
        StoreError
            If the file is damaged.
        """
        try:
            return Selection.from_json(self.tree["selection"])
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"The result of this search is damaged ({error}).") from error

    @property
    def seconds(self) -> float:
        """The whole took so long."""
        return float(self.tree.get("seconds", 0.0))


def search_spec(
    spec: JobSpec,
    params: Mapping[str, Sequence[Any]],
    *,
    folds: int = 1,
    metric: str = "MRR",
    n_iter: int | None = None,
) -> JobSpec:
    """Ask for a search instead of a training.

    Parameters
    ----------
    spec : JobSpec
        Method, data and split, with the parameters that stay as they are.
    params : mapping of str to sequence
        Values to try.
    folds : int, default=1
        1 measures on the validation part; more cut train and validation
        together into folds.
    metric : str, default="MRR"
        What decides, by its name.
    n_iter : int, optional
        Draw so many settings at random instead of trying all.

    Returns
    -------
    JobSpec
        To be submitted like any other.

    Raises
    ------
    JobError
        If the request cannot be met.
    """
    asked = {
        "params": {name: list(values) for name, values in params.items()},
        "folds": folds,
        "metric": metric,
        "n_iter": n_iter,
    }
    kept = {name: value for name, value in spec.params.items() if name not in params}
    made = replace(spec, params=kept, search=asked)
    made.check()
    return made


def unit_of(how: SplitSpec, pairs: PairSet) -> UnitBy:
    """What is kept apart within train and validation, as the split keeps it apart."""
    if how.by not in ("column", "time"):
        return cast("UnitBy", how.by)
    usual = "split" if how.by == "column" else "date"
    sides = [(how.group_key or usual) in side.metadata for side in (pairs.x, pairs.y)]
    return "pair" if all(sides) else "x" if sides[0] else "y"


def run_search(spec: JobSpec, pairs: PairSet, report: Report) -> Found:
    """Try the settings; the test part is set aside first."""
    asked: Mapping[str, Any] = spec.search or {}
    how = spec.split
    start = time.monotonic()
    parts = split(pairs, how.by, how.fractions, how.seed, how.group_key)
    pipeline = default_pipeline(spec.method, parts.train, features=spec.features, **_started(spec))
    validate = asked["folds"] == 1

    def heard(step: int, total: int, metrics: Mapping[str, float], /) -> bool:
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
        callback=heard,
    )
    seconds = time.monotonic() - start
    return Found({"selection": found.to_json(), "seconds": round(seconds, 3)})


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
