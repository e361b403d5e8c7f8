"""Metrics of judged pairs, each as often as its item was drawn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simviz.evaluation.differences import LEVEL
from simviz.evaluation.metrics import AUC, Metric, PartialAUC, Pearson, RankLoss, Spearman

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]
#: Values of a metric under draws of items: how often each was drawn, one row a
#: draw, and the item of each pair.
Weighted = Callable[[Ints, Ints], Reals]


def weighted(metric: Metric, score: Reals, relevant: Bools, judged: Reals | None) -> Weighted:
    """A metric of these pairs, each as often as its weight says."""
    if isinstance(metric, Pearson):  # Spearman is one too
        if judged is None:
            raise ValueError(f"{metric} compares scores, but these judgments are grades.")
        correlation = _spearman if isinstance(metric, Spearman) else _pearson
        return correlation(judged, score)
    if isinstance(metric, PartialAUC):
        area = _area(score, relevant, metric.max_fpr)
        if not metric.standardized:
            return area
        chance = metric.max_fpr / 2
        return lambda *drawn: (1 + (area(*drawn) - chance) / (1 - chance)) / 2
    if isinstance(metric, AUC) and metric.level == "roc":
        area = _area(score, relevant, 1.0)
        return (lambda *drawn: 1 - area(*drawn)) if isinstance(metric, RankLoss) else area
    raise ValueError(
        f"{metric} is not among the metrics that are tested by judged pairs: AUC, rank loss, "
        "partial AUC, Pearson and Spearman."
    )


def _area(score: Reals, relevant: Bools, max_fpr: float) -> Weighted:
    """Mean height of the ROC curve up to a false-positive rate; the pairs are sorted once."""
    order, starts = _tied(-score)
    positive = relevant[order]

    def of(counts: Ints, place: Ints) -> Reals:
        from simviz._numba import threads_for
        from simviz.evaluation._kernels import roc_areas

        areas = np.empty(len(counts))
        with threads_for(len(counts) * len(place)):
            roc_areas(counts, place[order], positive, starts, max_fpr, areas)
        return areas

    return of


def _pearson(judged: Reals, score: Reals) -> Weighted:
    """Correlation of both scores."""
    # Scaling changes no correlation, and keeps sums of squares from cancelling.
    a, b = ((v - v.mean()) / (v.std() or 1.0) for v in (judged, score))
    products = np.column_stack([np.ones(len(a)), a, b, a * a, b * b, a * b])

    def of(counts: Ints, place: Ints) -> Reals:
        by_item = np.zeros((counts.shape[1], products.shape[1]))
        np.add.at(by_item, place, products)
        n, *sums = (counts @ by_item).T
        mean_a, mean_b, aa, bb, ab = (total / n for total in sums)
        aa, bb, ab = aa - mean_a**2, bb - mean_b**2, ab - mean_a * mean_b
        # As the metric has it: chance where the run says one thing of all pairs.
        scale = np.sqrt(np.maximum(aa, LEVEL) * np.maximum(bb, LEVEL))
        value = np.where(bb > LEVEL, ab / scale, 0.0)
        return np.where(aa > LEVEL, np.clip(value, -1, 1), np.nan)

    return of


def _spearman(judged: Reals, score: Reals) -> Weighted:
    """Correlation of mid-ranks; both lists are sorted once."""
    a_order, a_starts = _tied(judged)
    b_order, b_starts = _tied(score)

    def of(counts: Ints, place: Ints) -> Reals:
        from simviz._numba import threads_for
        from simviz.evaluation._kernels import rank_correlations

        values = np.empty(len(counts))
        with threads_for(len(counts) * len(place)):
            rank_correlations(counts, place, a_order, a_starts, b_order, b_starts, values)
        return values

    return of


def _tied(values: Reals) -> tuple[Ints, Ints]:
    """Order of some values, and where each run of equal ones begins and the last ends."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1], True])
    return order, starts
