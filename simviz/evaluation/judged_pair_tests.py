"""Tests of metrics that pool judged pairs: a bootstrap over items, and DeLong's.

Where every query has one judged candidate there is nothing to test query by
query: what can be drawn again are the pairs. Pairs that share an item depend
on each other, so items are drawn, each with all of its pairs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz._types import Ints, Reals
from simviz.evaluation import significance
from simviz.evaluation.metrics import (
    AUC,
    TIE_TOLERANCE,
    Metric,
    PartialAUC,
    Pearson,
    RankLoss,
    Spearman,
)
from simviz.evaluation.result import Evaluation
from simviz.evaluation.significance import Comparison

Bools = NDArray[np.bool_]
#: Values of a metric under draws of items: how often each was drawn, one row a
#: draw, and the item of each pair.
Weighted = Callable[[Ints, Ints], Reals]
#: Pairs of draws held at a time.
_DRAWN = 1_000_000
#: Draws of items; the error of a standard error is then about 1.6 %.
RESAMPLES = 2_000
UNIT = "judged pair"


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
        scale = np.sqrt(np.maximum(aa, TIE_TOLERANCE) * np.maximum(bb, TIE_TOLERANCE))
        value = np.where(bb > TIE_TOLERANCE, ab / scale, 0.0)
        return np.where(aa > TIE_TOLERANCE, np.clip(value, -1, 1), np.nan)

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


@dataclass(frozen=True, slots=True, eq=False)
class Resamples:
    """What runs did as they are, and under draws of each kind."""

    exact: Reals
    values: dict[str, tuple[Reals, int]]
    df: int

    def error(self, i: int, j: int | None = None) -> float:
        """Standard error of what a run did, or of the difference of two."""
        spread = {
            kind: _variance(values[i] if j is None else values[i] - values[j], n)
            for kind, (values, n) in self.values.items()
        }
        if len(spread) == 1:
            return math.sqrt(next(iter(spread.values())))
        twice = sum(variance for kind, variance in spread.items() if kind != "pairs")
        # Estimates of three variances may leave less than nothing.
        return math.sqrt(max(twice - spread["pairs"], min(spread.values())))


def resample_runs(
    runs: Sequence[JudgedPairs], metric: Metric, n_resamples: int, random_state: int
) -> Resamples:
    """Runs on the same judged pairs under the same draws."""
    first = runs[0]
    values = [weighted(metric, run.score, run.relevant, run.judged) for run in runs]
    kinds = first.units if len(first.units) == 1 else (*first.units, "pairs")
    items = {"pairs": np.arange(len(first)), "x items": first.x, "y items": first.y}
    values_of: dict[str, tuple[Reals, int]] = {}
    for number, kind in enumerate(kinds):
        seed = np.random.default_rng([random_state, number])
        values_of[kind] = resample(values, items[kind], n_resamples, seed)
    once = np.ones((1, len(first)), dtype=np.int64), items["pairs"]
    exact = np.array([one(*once)[0] for one in values])
    # An area rests on its rarer class, a correlation on all pairs.
    counted = np.ones(len(first), dtype=bool)
    if metric.level == "roc":
        counted = first.relevant == (2 * first.relevant.sum() <= len(first))
    df = min(len(np.unique(items[kind][counted])) for kind in first.units) - 1
    return Resamples(exact, values_of, df)


def resample(
    metrics: list[Weighted], item: Ints, n_resamples: int, rng: np.random.Generator
) -> tuple[Reals, int]:
    """Values of all runs, one row each, under draws of items; and how many items there are."""
    items, place = np.unique(item, return_inverse=True)
    m = len(items)
    values = np.empty((len(metrics), n_resamples))
    together = max(1, _DRAWN // len(item))
    for start in range(0, n_resamples, together):
        size = min(together, n_resamples - start)
        drawn = rng.integers(0, m, (size, m)) + m * np.arange(size)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=size * m).reshape(size, m)
        for row, one in zip(values, metrics, strict=True):
            row[start : start + size] = one(counts, place)
    return values, m


def _variance(differences: Reals, n: int) -> float:
    """Variance of draws of n items, without the bias of drawing from a sample."""
    known = differences[~np.isnan(differences)]
    if min(len(known), n) < 2:
        return math.nan
    # Draws that differ by rounding only have none.
    return float(known.var(ddof=1)) * n / (n - 1) if np.ptp(known) > TIE_TOLERANCE else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class JudgedPairs:
    """Pairs that were judged, with what a run says of each.

    Parameters
    ----------
    x, y : ndarray of int, shape (n_pairs,)
        Items of each pair.
    relevant : ndarray of bool, shape (n_pairs,)
        Whether they belong together.
    score : ndarray of float, shape (n_pairs,)
        What the run says.
    judged : ndarray of float, shape (n_pairs,), or None
        What was judged, where judgments are scores.
    """

    x: Ints
    y: Ints
    relevant: Bools
    score: Reals
    judged: Reals | None = None

    def __len__(self) -> int:
        return len(self.score)

    @property
    def units(self) -> tuple[str, ...]:
        """What is drawn again: "pairs", "x items", "y items", or items of both sides."""
        shared = [len(np.unique(items)) < len(items) for items in (self.x, self.y)]
        sides = tuple(f"{s} items" for s, is_in in zip("xy", shared, strict=True) if is_in)
        return sides or ("pairs",)


def judged_pairs(evaluation: Evaluation) -> JudgedPairs | None:
    """The judged pairs of an evaluation, by x item and then y item.

    Parameters
    ----------
    evaluation : Evaluation
        Of one run.

    Returns
    -------
    JudgedPairs or None
        None where queries were ranked against more than judged candidates.
    """
    if evaluation.pool != "judged" or evaluation.predicted is None:
        return None
    direction = evaluation.directions[0]
    ranking = evaluation.rankings[direction]
    queries, answers = ranking.query.astype(np.int64), ranking.candidate.astype(np.int64)
    x, y = (queries, answers) if direction == "x2y" else (answers, queries)
    order = np.lexsort((y, x))
    relevant = np.asarray(ranking.grade > 0)[order]
    score = np.asarray(evaluation.predicted, dtype=np.float64)
    return JudgedPairs(x[order], y[order], relevant, score, evaluation.judged)


def pools_judged_pairs(evaluation: Evaluation, metric: Metric) -> bool:
    """Whether runs like this one can be tested pair by pair."""
    if metric.level == "query" or not isinstance(metric, AUC | PartialAUC | Pearson):
        return False
    if metric.level == "scores" and evaluation.judged is None:
        return False
    return evaluation.pool == "judged" and evaluation.predicted is not None


def bootstrap_pairs(
    runs: Sequence[JudgedPairs],
    metric: Metric,
    *,
    level: float = 0.95,
    n_resamples: int = RESAMPLES,
    random_state: int = 0,
) -> dict[tuple[int, int], Comparison]:
    """Compare runs on the same judged pairs, all under the same draws of items.

    The standard error of a difference is that of its draws; interval and p-value are Student's.

    Parameters
    ----------
    runs : sequence of JudgedPairs
        Two or more.
    metric : Metric
        Pooled AUC, rank loss or partial AUC, or a correlation.
    level : float, default=0.95
        Of the intervals.
    n_resamples : int, default=2000
        Draws of each kind.
    random_state : int, default=0
        Seed of the draws.

    Returns
    -------
    dict of (int, int) to Comparison
        For each two runs, by their numbers, the first below the second. The
        unit is "judged pair"; nothing is corrected.

    Raises
    ------
    ValueError
        If the runs are none or not of the same pairs, the metric is another one,
        or a setting is out of range.

    Notes
    -----
    Where no item is in two pairs, pairs are drawn; where only items of one side are, those items
    are drawn, each with all of its pairs. Where both sides repeat, the variance is that of draws
    of x items, plus that of draws of y items, minus that of draws of pairs, which is in both [1]_.
    Drawing both sides at once and multiplying the counts would count the noise of single pairs
    three times. Draws without one of the classes are left out. The degrees of freedom are the
    items with a pair of the rarer class, on the side with fewer of them, less one; for
    correlations all items count.

    References
    ----------
    .. [1] A. C. Cameron, J. B. Gelbach and D. L. Miller. "Robust inference with multiway
       clustering." Journal of Business & Economic Statistics 29(2), 2011.
    """
    significance.check_level(level)
    significance.check_resamples(n_resamples)
    first = _check_same(runs)
    resampled = resample_runs(runs, metric, n_resamples, random_state)
    test = f"bootstrap over {' and '.join(first.units)}"
    units = min(resampled.values[kind][1] for kind in first.units)
    sizes = units, resampled.df, len(first)
    comparisons = {}
    for i, j in itertools.combinations(range(len(runs)), 2):
        difference = float(resampled.exact[i] - resampled.exact[j])
        comparisons[i, j] = _compared(test, difference, resampled.error(i, j), *sizes, level)
    return comparisons


def interval_of_pairs(
    run: JudgedPairs,
    metric: Metric,
    *,
    level: float = 0.95,
    n_resamples: int = RESAMPLES,
    random_state: int = 0,
) -> tuple[float, float]:
    """Interval of a metric of judged pairs, from the draws of `bootstrap_pairs`."""
    significance.check_level(level)
    significance.check_resamples(n_resamples)
    resampled = resample_runs([run], metric, n_resamples, random_state)
    error = resampled.error(0) if resampled.df > 0 else math.nan
    return significance.t_interval(float(resampled.exact[0]), error, resampled.df, level)


def delong_pairs(
    runs: Sequence[JudgedPairs], metric: Metric, *, level: float = 0.95
) -> dict[tuple[int, int], Comparison]:
    """Compare runs on the same judged pairs by `delong`: a check of the bootstrap."""
    first = _check_same(runs)
    if not isinstance(metric, AUC) or metric.level != "roc":
        raise ValueError(f"DeLong's test is of the pooled AUC, got {metric}. Use the bootstrap.")
    if first.units != ("pairs",):
        raise ValueError(
            "DeLong's test takes pairs for independent, but these share "
            f"{' and '.join(first.units)}. Use the bootstrap."
        )
    comparisons = {}
    for i, j in itertools.combinations(range(len(runs)), 2):
        one = delong(runs[i].score, runs[j].score, first.relevant, level=level)
        comparisons[i, j] = one if metric.higher_is_better else one.swapped()
    return comparisons


def delong(
    a_scores: ArrayLike, b_scores: ArrayLike, relevant: ArrayLike, *, level: float = 0.95
) -> Comparison:
    """DeLong's test of two AUCs of the same pairs, none of which share an item.

    Parameters
    ----------
    a_scores, b_scores : array-like of float, shape (n_pairs,)
        Score of each pair by both runs.
    relevant : array-like of bool, shape (n_pairs,)
        Whether the pair belongs together.
    level : float, default=0.95
        Of the interval, which is normal.

    Returns
    -------
    Comparison
        Its statistic is z; NaN with fewer than two pairs of a class.

    Raises
    ------
    ValueError
        If lengths do not fit, a score is NaN or infinite, or `level` is out of range.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Comparing the areas under two or
    more correlated receiver operating characteristic curves. Biometrics 44.
    Sun & Xu (2014), Fast implementation of DeLong's algorithm. IEEE Signal
    Processing Letters 21.
    """
    from scipy.special import ndtr, ndtri
    from scipy.stats import rankdata

    significance.check_level(level)
    sides = [significance.flat(a_scores, "a"), significance.flat(b_scores, "b")]
    truth = np.asarray(relevant, dtype=bool)
    lengths = [len(values) for values in (*sides, truth)]
    if len(set(lengths)) > 1 or np.isnan(sides).any():
        raise ValueError(
            f"Scores and relevance have lengths {lengths}, some scores may be NaN. Give one "
            "number a pair."
        )
    m, n = int(truth.sum()), int((~truth).sum())
    sizes = m + n, m + n - 1, m + n
    if min(m, n) < 2:
        return _compared("DeLong", math.nan, math.nan, *sizes, level)
    # Of each relevant pair the share of others below it, of each other that of those above.
    below, above = [], []
    for scores in sides:
        rank = rankdata(scores)
        below.append((rank[truth] - rankdata(scores[truth])) / n)
        above.append(1 - (rank[~truth] - rankdata(scores[~truth])) / m)
    difference = float(below[0].mean() - below[1].mean())
    parts = [significance.deviation(one[0] - one[1]) ** 2 for one in (below, above)]
    error = math.sqrt(parts[0] / m + parts[1] / n)
    comparison = _compared("DeLong", difference, error, *sizes, level)
    if error == 0:
        return comparison
    z, half_width = comparison.statistic, float(ndtri((1 + level) / 2)) * error
    low, high = comparison.difference - half_width, comparison.difference + half_width
    return replace(comparison, p_value=float(2 * ndtr(-abs(z))), low=low, high=high)


def _compared(
    test: str, difference: float, error: float, units: int, df: int, n: int, level: float
) -> Comparison:
    """Student's test of a difference with a standard error; effect in deviations of a unit."""
    difference = 0.0 if abs(difference) <= TIE_TOLERANCE else difference
    if df < 1:  # nothing to judge a spread by
        error = math.nan
    comparison = significance.student_test(test, difference, error, df, level, n=n, unit=UNIT)
    effect = significance.standardized(difference, error * math.sqrt(units), units - 1)
    return replace(comparison, effect_size=effect)


def _check_same(runs: Sequence[JudgedPairs]) -> JudgedPairs:
    """The first of some runs, all of which must have the same pairs."""
    first, *others = runs
    for other in others:
        parts = ((getattr(run, p) for run in (first, other)) for p in ("x", "y", "relevant"))
        if not all(np.array_equal(one, two) for one, two in parts):
            raise ValueError(
                f"These runs have {len(first):,} and {len(other):,} judged pairs, or not the same "
                "ones. Compare runs that were measured on one test part."
            )
    return first
