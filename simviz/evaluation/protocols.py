"""Which test the published tables of a metric rest on."""

from __future__ import annotations

from dataclasses import dataclass

from simviz.evaluation.groups import Correction
from simviz.evaluation.metrics import AUC, MRR, Metric, TopOne, parse_metric


@dataclass(frozen=True, slots=True)
class Protocol:
    """A test and what was done about many comparisons.

    Parameters
    ----------
    test : str
        A name that `simviz.evaluation.compare` takes, or "subsets" for
        `simviz.evaluation.partitioned_auc_t`.
    correction : {"holm", "bonferroni", "none"}
        See `simviz.evaluation.adjust`.
    caution : str
        What a test of today would do otherwise, in a sentence.
    """

    test: str
    correction: Correction
    caution: str


_UNPAIRED = Protocol(
    "unpaired t",
    "bonferroni",
    "An unpaired test does not know that both runs answered the same queries, and finds less.",
)
_SUBSETS = Protocol(
    "subsets",
    "none",
    "The subsets are a partition: overlapping ones would find differences in pure noise.",
)
_PAIRED = Protocol(
    "t", "none", "Nothing is corrected: of twenty comparisons of equal runs, one shows a mark."
)


def published_protocol(metric: Metric | str) -> Protocol:
    """The test that published tables of a metric rest on.

    Parameters
    ----------
    metric : Metric or str
        Any metric.

    Returns
    -------
    Protocol
        Unpaired t with Bonferroni's correction for accuracy and reciprocal
        ranks; paired t over 50 subsets for the pooled AUC; paired t over
        queries for the others, as it was used on the gain of each query.

    Notes
    -----
    A gain that is not normalised would weigh queries with many answers more;
    here the values of the metric itself are tested.

    References
    ----------
    Platt, Toutanova & Yih (2010), Translingual document representations from
    discriminative projections. EMNLP.
    Yih, Toutanova, Platt & Meek (2011), Learning discriminative projections
    for text similarity measures. CoNLL.

    Examples
    --------
    >>> published_protocol("top-1").test, published_protocol("NDCG@3").test
    ('unpaired t', 't')
    """
    metric = parse_metric(metric) if isinstance(metric, str) else metric
    if isinstance(metric, TopOne | MRR):
        return _UNPAIRED
    if isinstance(metric, AUC) and metric.level == "roc":  # rank loss is one too
        return _SUBSETS
    return _PAIRED
