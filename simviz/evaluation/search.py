"""Model selection: which settings do best on pairs that were held out.

The test part takes no part in it: give `search` the training part and the
validation part of a `simviz.data.Split`, or let it cut both together
(`development`) into folds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from simviz.callbacks import Callback
from simviz.data import PairSet, Split
from simviz.evaluation._search_fits import (
    PairUnits,
    Score,
    Scorer,
    SharedFits,
    TrainFits,
    UnitBy,
    full_name,
    grouped,
)
from simviz.evaluation._search_result import NestedResult, Rule, Selection, Trial, fold_spread
from simviz.evaluation.metrics import Metric, parse_metric
from simviz.evaluation.result import Asking
from simviz.exceptions import JobCancelled
from simviz.pipeline import Pipeline

_OWN = ("pipeline", "units", "metric", "direction", "shared")


class UnitEstimator(BaseEstimator):
    """A pipeline as scikit-learn's search classes know estimators: fitted on rows of one array."""

    # The rows are numbers of units (`PairUnits`): queries, groups or linked pairs. `fit` and
    # `score` slice the pair set, both sides at once and without a leak, which slicing rows of
    # two unequal sides would not be.

    def __init__(
        self,
        pipeline: Pipeline,
        units: PairUnits,
        metric: Metric | str = "MRR",
        direction: Asking | None = None,
        shared: SharedFits | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.units = units
        self.metric = metric
        self.direction = direction
        self.shared = shared

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the pipeline and its method by short names too."""
        named = {}
        for name, value in params.items():
            is_own = name in _OWN or name.startswith("pipeline__")
            named[name if is_own else f"pipeline__{full_name(self.pipeline, name)}"] = value
        return cast("Self", super().set_params(**named))

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Train on some units."""
        chosen = _numbers(X)
        if self.shared is None:
            fits = TrainFits(self.units.take(chosen), self.units.by, self.units.group_key)
            self.pipeline_ = fits.fitted(self.pipeline)
        else:
            fits = self.shared.on(self.units, chosen)
            self.pipeline_ = fits.fitted(self.pipeline, self.shared.reach)
        self._train = fits.train
        return self

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Measure on some units."""
        check_is_fitted(self)
        metric = parse_metric(self.metric) if isinstance(self.metric, str) else self.metric
        test = self.units.take(_numbers(X), self._train)
        value, _ = Scorer(metric, self.direction).one(self.pipeline_, test)
        return value if metric.higher_is_better else -value


def _numbers(X: ArrayLike) -> NDArray[np.intp]:
    return np.asarray(X, dtype=np.intp).ravel()


__all__ = [
    "NestedResult",
    "PairUnits",
    "Selection",
    "SharedFits",
    "Trial",
    "UnitEstimator",
    "development",
    "nested_search",
    "search",
]

#: Candidates of one search at most.
MAX_CANDIDATES = 2_000


def search(
    pipeline: Pipeline,
    pairs: PairSet,
    params: Mapping[str, Any],
    *,
    cv: int | PairSet = 5,
    by: UnitBy = "pair",
    group_key: str | None = None,
    metric: Metric | str = "MRR",
    direction: Asking | None = None,
    n_iter: int | None = None,
    rule: Rule = "best",
    seed: int = 0,
    callback: Callback | None = None,
) -> Selection:
    """Try settings on held-out pairs, fitting once what they have in common."""
    measured = parse_metric(metric) if isinstance(metric, str) else metric
    candidates = make_candidates(params, n_iter, seed)
    groups = grouped(pipeline, candidates)
    n_folds = cv if isinstance(cv, int) else 1
    progress = _Progress(callback, n_folds * len(groups))
    scorer = Scorer(measured, direction, progress.scoring)
    found: list[list[Score]] = [[] for _ in candidates]
    for train, test in _folds(pairs, cv, by, group_key, seed):
        fits = TrainFits(train, by, group_key, seed, progress.fitting)
        for group in groups:
            scores = scorer.group(group, fits, test)
            for i, score in zip(group.members, scores, strict=True):
                found[i].append(score)
            progress.done()
    trials = tuple(_trial(c, s) for c, s in zip(candidates, found, strict=True))
    selection = Selection(
        trials,
        measured.name,
        n_folds,
        measured.higher_is_better,
        rule,
        n_fits=n_folds * len(groups),
        notes=tuple(dict.fromkeys(s.note for scores in found for s in scores if s.note)),
    )
    _ = selection.chosen  # says why, where nothing could be measured
    return selection


def nested_search(
    pipeline: Pipeline,
    pairs: PairSet,
    params: Mapping[str, Any],
    *,
    outer: int = 5,
    cv: int = 5,
    by: UnitBy = "pair",
    group_key: str | None = None,
    metric: Metric | str = "MRR",
    direction: Asking | None = None,
    n_iter: int | None = None,
    rule: Rule = "best",
    seed: int = 0,
    callback: Callback | None = None,
) -> NestedResult:
    """Measure what choosing achieves: search within each outer fold, test on it."""
    # The value of a chosen candidate on the folds that chose it is flattered (Cawley & Talbot
    # 2010); those of the outer folds are not.
    measured = parse_metric(metric) if isinstance(metric, str) else metric
    units = PairUnits.of(pairs, by, group_key)
    values, selections = [], []
    for i, (inside, outside) in enumerate(units.folds(outer, seed)):
        train = units.take(inside)
        found = search(
            pipeline,
            train,
            params,
            cv=cv,
            by=by,
            group_key=group_key,
            metric=measured,
            direction=direction,
            n_iter=n_iter,
            rule=rule,
            seed=seed,
            callback=None if callback is None else _within(callback, i, outer),
        )
        final = found.refit(pipeline, train, by, group_key, seed)
        value, _ = Scorer(measured, direction).one(final, units.take(outside, train))
        values.append(value)
        selections.append(found)
    return NestedResult(tuple(values), tuple(selections), measured.name)


def development(pairs: PairSet, parts: Split) -> PairSet:
    """Everything but the test part: train and validation together."""
    x, y = (
        np.union1d(index["train"], index["validation"]) for index in (parts.x_index, parts.y_index)
    )
    return pairs.take(x, y)


def make_candidates(
    params: Mapping[str, Any], n_iter: int | None, seed: int
) -> list[dict[str, Any]]:
    """Combinations of values: all of them, or some drawn at random."""
    from sklearn.model_selection import ParameterGrid, ParameterSampler

    if not params or any(isinstance(v, Sequence) and not len(v) for v in params.values()):
        raise ValueError("Name at least one parameter to search and at least one value of each.")
    if n_iter is None:
        if drawn := [name for name, values in params.items() if hasattr(values, "rvs")]:
            raise ValueError(
                f"{', '.join(drawn)} is a distribution, which is drawn from: give n_iter."
            )
        made = list(ParameterGrid(dict(params)))
    else:
        lists = [v for v in params.values() if not hasattr(v, "rvs")]
        all_lists = len(lists) == len(params)
        most = int(np.prod([len(v) for v in lists])) if all_lists else n_iter
        made = list(ParameterSampler(dict(params), min(n_iter, most), random_state=seed))
    if len(made) > MAX_CANDIDATES:
        raise ValueError(
            f"{len(made):,} combinations are more than the {MAX_CANDIDATES:,} of one search. "
            "Give fewer values, or draw some with n_iter."
        )
    return [{name: _plain(value) for name, value in candidate.items()} for candidate in made]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _folds(
    pairs: PairSet, cv: int | PairSet, by: UnitBy, group_key: str | None, seed: int
) -> Iterator[tuple[PairSet, PairSet]]:
    if not isinstance(cv, int):
        yield pairs, cv
        return
    units = PairUnits.of(pairs, by, group_key)
    for inside, outside in units.folds(cv, seed):
        train = units.take(inside)
        yield train, units.take(outside, train)


def _trial(params: Mapping[str, Any], scores: Sequence[Score]) -> Trial:
    values = tuple(score.value for score in scores)
    spread = nan if np.isnan(values).any() else fold_spread(values, [s.spread for s in scores])
    reason = next((score.note for score in scores if score.note), "")
    return Trial(params, values, spread, sum(score.seconds for score in scores), reason)


def _within(callback: Callback, i: int, n: int) -> Callback:
    """Progress of one of several searches."""
    return lambda step, total, metrics: callback(i * total + step, n * total, metrics)


class _Progress:
    """Turns progress within fits into progress of the search, and stops it."""

    _STEPS = 100

    def __init__(self, callback: Callback | None, n_parts: int) -> None:
        self._callback, self._n_parts = callback, n_parts
        self._done = self._furthest = 0

    def fitting(self, step: int, total: int, metrics: Mapping[str, float], /) -> bool:
        return self._tell(0.8 * step / total if total else 0.0)

    def scoring(self, step: int, total: int, metrics: Mapping[str, float], /) -> bool:
        return self._tell(0.8 + 0.2 * (step / total if total else 0.0))

    def done(self) -> None:
        self._done += 1
        if self._tell(0.0):
            raise JobCancelled("The search was stopped.")

    def _tell(self, within: float) -> bool:
        if self._callback is None:
            return False
        # A group may fit several times; the bar never goes back.
        step = round(self._STEPS * (self._done + min(within, 1.0)))
        self._furthest = max(self._furthest, step)
        return bool(self._callback(self._furthest, self._STEPS * self._n_parts, {}))
