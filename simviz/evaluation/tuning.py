"""Model selection: which settings do best on pairs that were held out.

The test part takes no part in it: give `search` the training part and the validation part of a
`simviz.data.Split`, or let it cut both together (`development`) into folds. What choosing achieves
on pairs that it never saw, `sklearn.model_selection.cross_val_score` says of a search class over a
`UnitEstimator`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from simviz.base import PairModel
from simviz.callbacks import Callback, terminal_progress
from simviz.data import PairSet, Split, default_direction
from simviz.data.pairs import as_pairs
from simviz.data.splitting import suggest_split
from simviz.evaluation._tuning_fits import (
    PairUnits,
    Score,
    Scorer,
    TrainFits,
    UnitBy,
    full_name,
    grouped,
)
from simviz.evaluation.metrics import Metric, check_choice, default_metric, parse_metric
from simviz.evaluation.result import Asking
from simviz.evaluation.significance import mean, standard_error
from simviz.exceptions import JobCancelled
from simviz.pipeline import BestPipeline, Pipeline, default_pipeline

if TYPE_CHECKING:
    import pandas as pd

Rule = Literal["best", "one_se"]
#: Candidates of one search at most.
MAX_CANDIDATES = 2_000
#: Parameters by which one candidate is simpler than another: -1 where less is simpler.
_SIMPLER = {"regularization": 1} | dict.fromkeys(
    ("n_components", "rank", "hidden_units", "n_layers", "max_iter"), -1
)
_OWN = ("pipeline", "units", "metric", "direction")


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
    # A nested method is fitted once a fold, with the most components that are asked for, and
    # measured at all others by growing the products; methods with a regularisation path
    # decompose once for all ridges; features are fitted once a fold on its training pairs; all
    # weights of a blend are measured in one pass. Each value is that of fitting the candidate
    # alone, to rounding. A method that stops early watches an eighth of the training pairs of
    # the fold, never what it is scored on.
    measured = parse_metric(metric)
    candidates = make_candidates(params, n_iter, seed)
    groups = grouped(pipeline, candidates)
    n_folds = cv if isinstance(cv, int) else 1
    progress = _Progress(callback, n_folds * len(groups))
    scorer = Scorer(measured, direction, progress.scoring)
    scores_of: list[list[Score]] = [[] for _ in candidates]
    for train, test in _folds(pairs, cv, by, group_key, seed):
        fits = TrainFits(train, by, group_key, seed, progress.fitting)
        for group in groups:
            scores = scorer.group(group, fits, test)
            for i, score in zip(group.members, scores, strict=True):
                scores_of[i].append(score)
            progress.done()
    trials = tuple(_trial(c, s) for c, s in zip(candidates, scores_of, strict=True))
    notes = dict.fromkeys(s.note for scores in scores_of for s in scores if s.note)
    how = measured.name, n_folds, measured.higher_is_better, rule
    selection = Selection(trials, *how, n_fits=n_folds * len(groups), notes=tuple(notes))
    _ = selection.selected  # says why, where nothing could be measured
    return selection


def tune(
    pipeline: Pipeline | str | PairModel | type[PairModel],
    pairs: PairSet,
    params: Mapping[str, Any],
    *,
    folds: int = 5,
    metric: Metric | str | None = None,
    n_iter: int | None = None,
    seed: int = 0,
    callback: Callback | None = None,
) -> Tuned:
    """Choose settings by cross-validation, and fit the best on all pairs.

    Parameters
    ----------
    pipeline : PairPipeline, BlendPipeline, str, PairModel or type
        Need not be fitted; a method is put into its `default_pipeline`.
    pairs : PairSet
        Without those that are to test the result.
    params : mapping of str to sequence
        Values to try by parameter of the method, as in scikit-learn's grid search.
    folds : int, default=5
        Parts, each held out once; what must not be known from training is kept
        apart as in `simviz.data.split`.
    metric : Metric or str, optional
        What to choose by; `default_metric` when omitted.
    n_iter : int, optional
        Combinations that are drawn; all when omitted.
    seed : int, default=0
        Of the folds and the draw.
    callback : callable, optional
        See `simviz.callbacks`; when omitted, a terminal shows progress.

    Returns
    -------
    Tuned

    Raises
    ------
    ValueError
        If there is no such parameter, nothing to try, or nothing can be measured.
    JobCancelled
        If `callback` asked to stop.

    Examples
    --------
    >>> from simviz import PairSet
    >>> words = [f"{a} {b}" for a in ("red", "blue", "old") for b in ("car", "bus", "tram")]
    >>> pairs = PairSet.from_texts(words, words)
    >>> tune("bm25", pairs, {"k1": [0.5, 1.2]}, folds=3).params
    {'k1': 0.5}
    """
    pairs = as_pairs(pairs)
    is_pipeline = isinstance(pipeline, Pipeline)
    made: Pipeline = clone(pipeline) if is_pipeline else default_pipeline(pipeline, pairs)
    suggestion = suggest_split(pairs)
    by: UnitBy = suggestion.by if suggestion.by in ("x", "y", "group") else "pair"
    key = suggestion.group_key if by == "group" else None
    selection = search(
        made,
        pairs,
        params,
        cv=folds,
        by=by,
        group_key=key,
        metric=default_metric(pairs.relevance) if metric is None else metric,
        direction=default_direction(pairs),
        n_iter=n_iter,
        seed=seed,
        callback=callback or terminal_progress("Choosing"),
    )
    return Tuned(selection, selection.refit(made, pairs, by, key, seed))


def development(pairs: PairSet, parts: Split) -> PairSet:
    """Everything but the test part: train and validation together."""
    sides = parts.x_index, parts.y_index
    return pairs.take(*(np.union1d(index["train"], index["validation"]) for index in sides))


def make_candidates(
    params: Mapping[str, Any], n_iter: int | None, seed: int
) -> list[dict[str, Any]]:
    """Combinations of values: all of them, or some drawn at random."""
    from sklearn.model_selection import ParameterGrid, ParameterSampler

    if not params or any(isinstance(v, Sequence) and not len(v) for v in params.values()):
        raise ValueError("Name at least one parameter to search and at least one value of each.")
    drawn = [name for name, values in params.items() if hasattr(values, "rvs")]
    if n_iter is not None:
        n = n_iter if drawn else min(n_iter, len(ParameterGrid(dict(params))))
        made = list(ParameterSampler(dict(params), n, random_state=seed))
    elif drawn:
        raise ValueError(
            f"{', '.join(drawn)} is a distribution, which is drawn from: give n_iter."
        )
    else:
        made = list(ParameterGrid(dict(params)))
    if len(made) > MAX_CANDIDATES:
        raise ValueError(
            f"{len(made):,} combinations are more than the {MAX_CANDIDATES:,} of one search. "
            "Give fewer values, or draw some with n_iter."
        )
    return [
        {name: v.item() if isinstance(v, np.generic) else v for name, v in candidate.items()}
        for candidate in made
    ]


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
    # Over folds; of a single one, over its queries.
    spread = standard_error(values) if len(values) > 1 else scores[0].spread
    reason = next((score.note for score in scores if score.note), "")
    seconds = sum(score.seconds for score in scores)
    return Trial(params, values, nan if np.isnan(values).any() else spread, seconds, reason)


class _Progress:
    """Turns progress within fits into progress of the search, and stops it."""

    _STEPS = 100

    def __init__(self, callback: Callback | None, n_parts: int) -> None:
        self._callback, self._n_parts = callback, n_parts
        self._done = self._furthest = 0

    def fitting(self, step: int, total: int, metrics: Mapping[str, float], /) -> bool:
        return self._report(0.8 * step / total if total else 0.0)

    def scoring(self, step: int, total: int, metrics: Mapping[str, float], /) -> bool:
        return self._report(0.8 + 0.2 * (step / total if total else 0.0))

    def done(self) -> None:
        self._done += 1
        if self._report(0.0):
            raise JobCancelled("The search was stopped.")

    def _report(self, within: float) -> bool:
        if self._callback is None:
            return False
        # A group may fit several times; the bar never goes back.
        step = round(self._STEPS * (self._done + min(within, 1.0)))
        self._furthest = max(self._furthest, step)
        return bool(self._callback(self._furthest, self._STEPS * self._n_parts, {}))


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate and what became of it."""

    params: Mapping[str, Any]
    values: tuple[float, ...]
    spread: float = nan
    seconds: float = 0.0
    reason: str = ""

    @property
    def mean(self) -> float:
        """Mean over folds; NaN if it failed on one."""
        return nan if any(map(isnan, self.values)) else mean(self.values)


@dataclass(frozen=True, slots=True)
class Selection:
    """All candidates of a search, and the one that is chosen."""

    trials: tuple[Trial, ...]
    metric: str
    n_folds: int
    higher_is_better: bool = True
    rule: Rule = "best"
    n_fits: int = 0
    notes: tuple[str, ...] = field(default=())

    @property
    def selected(self) -> Trial:
        """The candidate that the rule chooses."""
        return self.by_rule(self.rule)

    def by_rule(self, rule: Rule) -> Trial:
        """The candidate that a rule chooses."""
        check_choice("rule", rule, ("best", "one_se"))
        measured = [trial for trial in self.trials if isfinite(trial.mean)]
        if not measured:
            reason = next((t.reason for t in self.trials if t.reason), "No query has an answer.")
            raise ValueError(f"None of {len(self.trials)} candidates could be measured: {reason}")
        sign = 1 if self.higher_is_better else -1
        top = max(measured, key=lambda trial: sign * trial.mean)
        tolerance = top.spread if rule == "one_se" and isfinite(top.spread) else 0.0
        near = [t for t in measured if sign * (top.mean - t.mean) <= tolerance]
        return min(near, key=lambda t: (_complexity(t.params), -sign * t.mean))

    def refit(
        self,
        pipeline: Pipeline,
        pairs: PairSet,
        by: UnitBy = "pair",
        group_key: str | None = None,
        seed: int = 0,
    ) -> Pipeline:
        """Train with the chosen values on everything but the test part."""
        named = {full_name(pipeline, name): v for name, v in self.selected.params.items()}
        selected = clone(pipeline).set_params(**named)
        return TrainFits(pairs, by, group_key, seed).fitted(selected)

    def to_records(self) -> list[dict[str, Any]]:
        """Tidy table: one record per candidate."""
        selected = self.selected
        return [
            {
                **trial.params,
                "value": trial.mean,
                "standard_error": trial.spread,
                "n_folds": self.n_folds,
                "seconds": trial.seconds,
                "chosen": trial is selected,
                "reason": trial.reason,
            }
            for trial in self.trials
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Tuned(BestPipeline):
    """What `tune` found; answers all that its best pipeline does.

    Parameters
    ----------
    selection : Selection
        All combinations, with their values on each fold.
    best : PairPipeline or BlendPipeline
        Fitted on all pairs with the values that were chosen.
    """

    selection: Selection
    best: Pipeline

    @property
    def params(self) -> dict[str, Any]:
        """The values that were chosen."""
        return dict(self.selection.selected.params)

    def to_frame(self) -> pd.DataFrame:
        """One row a combination, with its mean over folds and standard error."""
        import pandas as pd

        return pd.DataFrame(self.selection.to_records())

    def __repr__(self) -> str:
        selected = self.selection.selected
        return f"Tuned({self.params}, {self.selection.metric} {selected.mean:.3f})"


def _complexity(params: Mapping[str, Any]) -> tuple[float, ...]:
    """Sorts simple candidates first; what is left open (None) is not simple."""
    results = []
    for name, value in params.items():
        sign = _SIMPLER.get(name.rpartition("__")[2])
        if sign is not None and not isinstance(value, str):
            results.append(float("inf") if value is None else -sign * float(value))
    return tuple(results)


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
    ) -> None:
        self.pipeline = pipeline
        self.units = units
        self.metric = metric
        self.direction = direction

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the pipeline and its method by short names too."""
        named = {}
        for name, value in params.items():
            is_own = name in _OWN or name.startswith("pipeline__")
            named[name if is_own else f"pipeline__{full_name(self.pipeline, name)}"] = value
        return cast("Self", super().set_params(**named))

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Train on some units."""
        units = np.asarray(X, dtype=np.intp).ravel()
        self._train = self.units.take(units)
        fits = TrainFits(self._train, self.units.by, self.units.group_key)
        self.pipeline_ = fits.fitted(self.pipeline)
        return self

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Measure on some units."""
        check_is_fitted(self)
        metric = parse_metric(self.metric) if isinstance(self.metric, str) else self.metric
        test = self.units.take(np.asarray(X, dtype=np.intp).ravel(), self._train)
        scorer = Scorer(metric, self.direction)
        value = scorer.one(self.pipeline_, test.x, test.y, test.relevance).value
        return value if metric.higher_is_better else -value
