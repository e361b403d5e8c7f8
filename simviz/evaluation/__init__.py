"""Evaluation you can trust: metrics as values, blocked scoring, curves."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simviz.evaluation.bands import CurveBands, curve_bands
    from simviz.evaluation.baselines import ChanceScorer, PopularityScorer, VectorScorer
    from simviz.evaluation.blends import BlendCurve, blend_curve
    from simviz.evaluation.calibration import Calibration, Reliability, reliability
    from simviz.evaluation.classes import ScoreCounts, score_counts
    from simviz.evaluation.curves import DimensionCurve, dimension_curve, dimension_grid
    from simviz.evaluation.errors import ThresholdErrors, errors_at
    from simviz.evaluation.groups import (
        Comparisons,
        adjust,
        compare_all,
        correct,
        letters,
        tie_groups,
    )
    from simviz.evaluation.intervals import confidence_interval, standard_error
    from simviz.evaluation.learning import LearningCurve, learning_curve, nested_parts
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
        default_metric,
        parse_metric,
    )
    from simviz.evaluation.pair_tests import JudgedPairs, bootstrap_pairs, delong, judged_pairs
    from simviz.evaluation.parts import evaluate_part
    from simviz.evaluation.power import Plan, queries_needed
    from simviz.evaluation.resampled import corrected_resampled_t, partitioned_auc_t
    from simviz.evaluation.result import Direction, Evaluation, Pool, Record
    from simviz.evaluation.roc import Roc
    from simviz.evaluation.run_comparisons import compare_all_evaluations, compare_evaluations
    from simviz.evaluation.scoring import Scorer, evaluate
    from simviz.evaluation.significance import (
        compare,
        paired_bootstrap,
        paired_randomization,
        paired_t,
        unpaired_t,
        wilcoxon,
    )
    from simviz.evaluation.units import QueryValues, compared_metric, query_values
    from simviz.evaluation.verdict import Comparison

__all__ = [
    "AUC",
    "DEFAULT_METRICS",
    "MAP",
    "MRR",
    "NDCG",
    "BlendCurve",
    "Calibration",
    "ChanceScorer",
    "Comparison",
    "Comparisons",
    "CurveBands",
    "DimensionCurve",
    "Direction",
    "Evaluation",
    "JudgedPairs",
    "LearningCurve",
    "Metric",
    "PartialAUC",
    "Pearson",
    "Plan",
    "Pool",
    "PopularityScorer",
    "Precision",
    "QueryValues",
    "RankLoss",
    "Recall",
    "Record",
    "Reliability",
    "Roc",
    "ScoreCounts",
    "Scorer",
    "Spearman",
    "ThresholdErrors",
    "TopOne",
    "VectorScorer",
    "adjust",
    "blend_curve",
    "bootstrap_pairs",
    "compare",
    "compare_all",
    "compare_all_evaluations",
    "compare_evaluations",
    "compared_metric",
    "confidence_interval",
    "correct",
    "corrected_resampled_t",
    "curve_bands",
    "default_metric",
    "delong",
    "dimension_curve",
    "dimension_grid",
    "errors_at",
    "evaluate",
    "evaluate_part",
    "judged_pairs",
    "learning_curve",
    "letters",
    "nested_parts",
    "paired_bootstrap",
    "paired_randomization",
    "paired_t",
    "parse_metric",
    "partitioned_auc_t",
    "queries_needed",
    "query_values",
    "reliability",
    "score_counts",
    "standard_error",
    "tie_groups",
    "unpaired_t",
    "wilcoxon",
]

_MODULES = (
    "metrics",
    "scoring",
    "parts",
    "result",
    "roc",
    "curves",
    "blends",
    "baselines",
    "intervals",
    "significance",
    "groups",
    "resampled",
    "power",
    "units",
    "pair_tests",
    "run_comparisons",
    "verdict",
    "classes",
    "bands",
    "calibration",
    "learning",
    "errors",
)


def __getattr__(name: str) -> object:
    if name in __all__:
        for module in _MODULES:
            members = vars(importlib.import_module(f"{__name__}.{module}"))
            if name in members:
                return members[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
