"""Evaluation you can trust: metrics as values, blocked scoring, curves."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simviz.evaluation.baselines import ChanceScorer, PopularityScorer, VectorScorer
    from simviz.evaluation.curves import DimensionCurve, dimension_curve, dimension_grid
    from simviz.evaluation.intervals import confidence_interval, standard_error
    from simviz.evaluation.metrics import (
        AUC,
        DEFAULT_METRICS,
        MAP,
        MRR,
        NDCG,
        Metric,
        PartialAUC,
        Pearson,
        Precision,
        RankLoss,
        Recall,
        Spearman,
        TopOne,
        parse_metric,
    )
    from simviz.evaluation.result import Direction, Evaluation, Pool, Record
    from simviz.evaluation.roc import Roc
    from simviz.evaluation.scoring import Scorer, evaluate

__all__ = [
    "AUC",
    "DEFAULT_METRICS",
    "MAP",
    "MRR",
    "NDCG",
    "ChanceScorer",
    "DimensionCurve",
    "Direction",
    "Evaluation",
    "Metric",
    "PartialAUC",
    "Pearson",
    "Pool",
    "PopularityScorer",
    "Precision",
    "RankLoss",
    "Recall",
    "Record",
    "Roc",
    "Scorer",
    "Spearman",
    "TopOne",
    "VectorScorer",
    "confidence_interval",
    "dimension_curve",
    "dimension_grid",
    "evaluate",
    "parse_metric",
    "standard_error",
]

_MODULES = ("metrics", "scoring", "result", "roc", "curves", "baselines", "intervals")


def __getattr__(name: str) -> object:
    if name in __all__:
        for module in _MODULES:
            members = vars(importlib.import_module(f"{__name__}.{module}"))
            if name in members:
                return members[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
