"""What a search has tried and chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, isnan, nan
from typing import Any, Literal, Self

from sklearn.base import clone

from simviz.data import PairSet
from simviz.evaluation._search_fits import TrainFits, UnitBy, full_name
from simviz.evaluation.significance import mean, standard_error
from simviz.pipeline import Pipeline

Rule = Literal["best", "one_se"]
#: Parameters by which one candidate is simpler than another: -1 where less is simpler.
_SIMPLER = {
    "n_components": -1,
    "rank": -1,
    "hidden_units": -1,
    "n_layers": -1,
    "max_iter": -1,
    "regularization": 1,
}


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
    def chosen(self) -> Trial:
        """The candidate that the rule chooses."""
        return self.by_rule(self.rule)

    def by_rule(self, rule: Rule) -> Trial:
        """The candidate that a rule chooses."""
        if rule not in ("best", "one_se"):
            raise ValueError(f"rule must be 'best' or 'one_se', got {rule!r}.")
        measured = [trial for trial in self.trials if isfinite(trial.mean)]
        if not measured:
            reason = next((t.reason for t in self.trials if t.reason), "No query has an answer.")
            raise ValueError(f"None of {len(self.trials)} candidates could be measured: {reason}")
        sign = 1 if self.higher_is_better else -1
        top = max(measured, key=lambda trial: sign * trial.mean)
        reach = top.spread if rule == "one_se" and isfinite(top.spread) else 0.0
        near = [t for t in measured if sign * (top.mean - t.mean) <= reach]
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
        named = {full_name(pipeline, name): v for name, v in self.chosen.params.items()}
        chosen = clone(pipeline).set_params(**named)
        return TrainFits(pairs, by, group_key, seed).fitted(chosen)

    def to_records(self) -> list[dict[str, Any]]:
        """Tidy table: one record per candidate."""
        chosen = self.chosen
        return [
            {
                **trial.params,
                "value": trial.mean,
                "standard_error": trial.spread,
                "n_folds": self.n_folds,
                "seconds": trial.seconds,
                "chosen": trial is chosen,
                "reason": trial.reason,
            }
            for trial in self.trials
        ]

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON's types; NaN becomes None."""
        return {
            "metric": self.metric,
            "n_folds": self.n_folds,
            "higher_is_better": self.higher_is_better,
            "rule": self.rule,
            "n_fits": self.n_fits,
            "notes": list(self.notes),
            "trials": [
                {
                    "params": dict(trial.params),
                    "values": [_told(value) for value in trial.values],
                    "spread": _told(trial.spread),
                    "seconds": round(trial.seconds, 4),
                    "reason": trial.reason,
                }
                for trial in self.trials
            ],
        }

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> Self:
        """Read what `to_json` answered."""
        try:
            trials = tuple(
                Trial(
                    dict(trial["params"]),
                    tuple(map(_heard, trial["values"])),
                    _heard(trial["spread"]),
                    float(trial["seconds"]),
                    str(trial["reason"]),
                )
                for trial in tree["trials"]
            )
            return cls(
                trials,
                str(tree["metric"]),
                int(tree["n_folds"]),
                bool(tree["higher_is_better"]),
                tree["rule"],
                int(tree["n_fits"]),
                tuple(map(str, tree["notes"])),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"This is no stored search ({error}).") from error


@dataclass(frozen=True, slots=True)
class NestedResult:
    """What choosing by validation achieves on pairs that it never saw."""

    values: tuple[float, ...]
    selections: tuple[Selection, ...]
    metric: str

    @property
    def mean(self) -> float:
        """Mean over outer folds."""
        return mean(self.values)

    @property
    def standard_error(self) -> float:
        """Standard error over outer folds."""
        return standard_error(self.values)


def _complexity(params: Mapping[str, Any]) -> tuple[float, ...]:
    """Sorts simple candidates first; what is left open (None) is not simple."""
    found = []
    for name, value in params.items():
        sign = _SIMPLER.get(name.rpartition("__")[2])
        if sign is not None and not isinstance(value, str):
            found.append(float("inf") if value is None else -sign * float(value))
    return tuple(found)


def _told(value: float) -> float | None:
    return float(value) if isfinite(value) else None


def _heard(value: Any) -> float:
    return nan if value is None else float(value)


def fold_spread(values: Sequence[float], within: Sequence[float]) -> float:
    """Standard error over folds; of a single one, that over its queries."""
    return standard_error(values) if len(values) > 1 else float(within[0])
