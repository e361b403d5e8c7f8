from .auditing import audit as audit
from .blends import BlendCurve as BlendCurve, blend_curve as blend_curve
from .calibration import (
    Calibration as Calibration,
    CurveBands as CurveBands,
    Reliability as Reliability,
    ScoreCounts as ScoreCounts,
    curve_bands as curve_bands,
    reliability as reliability,
    score_counts as score_counts,
)
from .comparisons import (
    Comparisons as Comparisons,
    PowerAnalysis as PowerAnalysis,
    QueryValues as QueryValues,
    adjust_p_values as adjust_p_values,
    apply_correction as apply_correction,
    compare_all as compare_all,
    compare_all_evaluations as compare_all_evaluations,
    compare_evaluations as compare_evaluations,
    compared_metric as compared_metric,
    letter_display as letter_display,
    power_analysis as power_analysis,
    query_values as query_values,
    tie_groups as tie_groups,
)
from .curves import (
    DimensionCurve as DimensionCurve,
    LearningCurve as LearningCurve,
    dimension_curve as dimension_curve,
    dimension_grid as dimension_grid,
    learning_curve as learning_curve,
    nested_parts as nested_parts,
)
from .fusion import (
    ChosenBlend as ChosenBlend,
    RankFusion as RankFusion,
    choose_blend as choose_blend,
)
from .hubs import csls as csls
from .judged_pair_tests import (
    JudgedPairs as JudgedPairs,
    bootstrap_pairs as bootstrap_pairs,
    delong as delong,
    judged_pairs as judged_pairs,
)
from .metrics import (
    AUC as AUC,
    DEFAULT_METRICS as DEFAULT_METRICS,
    ERR as ERR,
    MAP as MAP,
    MRR as MRR,
    NDCG as NDCG,
    Metric as Metric,
    PartialAUC as PartialAUC,
    Pearson as Pearson,
    Precision as Precision,
    RankLoss as RankLoss,
    Recall as Recall,
    RPrecision as RPrecision,
    Spearman as Spearman,
    Success as Success,
    TopOne as TopOne,
    default_metric as default_metric,
    metric as metric,
    parse_metric as parse_metric,
)
from .repeated_splits import (
    RepeatedSplits as RepeatedSplits,
    evaluate_repeated_splits as evaluate_repeated_splits,
)
from .result import (
    Direction as Direction,
    Evaluation as Evaluation,
    Pool as Pool,
    Record as Record,
)
from .roc import Roc as Roc
from .run_values import RunValues as RunValues, read_run_values as read_run_values
from .scoring import (
    ChanceScorer as ChanceScorer,
    PopularityScorer as PopularityScorer,
    Scorer as Scorer,
    VectorScorer as VectorScorer,
    evaluate as evaluate,
    evaluate_part as evaluate_part,
)
from .significance import (
    Comparison as Comparison,
    confidence_interval as confidence_interval,
    corrected_resampled_t as corrected_resampled_t,
    paired_bootstrap as paired_bootstrap,
    paired_randomization as paired_randomization,
    paired_t as paired_t,
    paired_test as paired_test,
    partitioned_auc_t as partitioned_auc_t,
    standard_error as standard_error,
    unpaired_t as unpaired_t,
    wilcoxon as wilcoxon,
)
from .thresholds import (
    Estimate as Estimate,
    OperatingPoint as OperatingPoint,
    ThresholdErrors as ThresholdErrors,
    choose_threshold as choose_threshold,
    errors_at as errors_at,
    operating_point as operating_point,
)
from .trec import ImportedRun as ImportedRun, read_run as read_run
from .tuning import Tuned as Tuned, tune as tune
from .verdicts import Verdict as Verdict, verdict as verdict
from .what_if import Revision as Revision, WhatIf as WhatIf
