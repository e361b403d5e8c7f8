"""Tests on measurements of many parts: disjoint subsets, folds, repeated splits."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.evaluation import _paired
from simviz.evaluation.significance import comparison, student_of_differences
from simviz.evaluation.verdict import Comparison
from simviz.ranking import Ranking, expected_auc, rank_listed

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


def partitioned_auc_t(
    a_scores: ArrayLike,
    b_scores: ArrayLike,
    relevant: ArrayLike,
    *,
    query: ArrayLike | None = None,
    n_subsets: int = 50,
    level: float = 0.95,
    random_state: int = 0,
) -> Comparison:
    """Paired t-test of the AUCs of disjoint random subsets.

    Parameters
    ----------
    a_scores, b_scores : array-like of float, shape (n_pairs,)
        Score of each pair by both runs.
    relevant : array-like of bool, shape (n_pairs,)
        Whether the pair belongs together.
    query : array-like of shape (n_pairs,), optional
        Query of each pair. Its pairs stay together, as they must where they
        depend on each other; single pairs are divided when omitted.
    n_subsets : int, default=50
        Parts of about the same number of queries (or pairs).
    level : float, default=0.95
        Of the interval of the mean difference of the subsets' AUCs.
    random_state : int, default=0
        Seed of the partition.

    Returns
    -------
    Comparison
        Its n counts the subsets that hold both classes; others have no AUC.

    Raises
    ------
    ValueError
        If lengths do not fit, a score is NaN, or there are fewer queries (or
        pairs) than subsets.

    Notes
    -----
    The subsets are a partition. Random subsets that overlap, such as halves
    or bootstrap samples, are not independent: with 50 of them a t-test at
    the 1 % level rejects a true null hypothesis about two times in three, and
    ever more often the more subsets are drawn.

    References
    ----------
    Yih, Toutanova, Platt & Meek (2011), Learning discriminative projections
    for text similarity measures. CoNLL, section 4.2: "50 random subsets".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> relevant = rng.random(2000) < 0.3
    >>> good, poor = (relevant + noise * rng.normal(size=2000) for noise in (1, 2))
    >>> partitioned_auc_t(good, poor, relevant).in_words("good", "poor", "AUC")[:22]
    'good is ahead of poor:'
    """
    sides = [np.asarray(scores, dtype=np.float64) for scores in (a_scores, b_scores)]
    truth = np.asarray(relevant, dtype=bool)
    owner = np.arange(len(truth)) if query is None else np.asarray(query)
    lengths = [len(values) for values in (*sides, truth, owner)]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"Scores, relevance and queries have lengths {lengths}. Give one value a pair."
        )
    subset = _partition(owner, n_subsets, random_state)
    a, b = (_auc_by(subset, scores, truth, n_subsets) for scores in sides)
    d = _paired.differences(a, b)
    return student_of_differences("paired t over disjoint subsets", d, level, unit="subset")


def corrected_resampled_t(
    a: ArrayLike, b: ArrayLike, *, test_fraction: float, level: float = 0.95
) -> Comparison:
    """t-test of folds or repeated splits, whose training parts overlap.

    The usual test takes the values for independent and rejects too often.
    Here the variance of their mean grows from s²/J to
    s² (1/J + n_test / n_train).

    Parameters
    ----------
    a, b : array-like of float, shape (n_splits,)
        Value of each split in both runs.
    test_fraction : float
        Share of the data that a split tests on: 0.2 for 80/20, 1/k for k
        folds.
    level : float, default=0.95
        Of the interval.

    Returns
    -------
    Comparison
        Its statistic is t with J − 1 degrees of freedom.

    Raises
    ------
    ValueError
        If the lists do not belong together or a share is out of range.

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error. Machine
    Learning 52.

    Examples
    --------
    >>> found = corrected_resampled_t(
    ...     [0.71, 0.74, 0.69, 0.73, 0.72], [0.68, 0.70, 0.69, 0.70, 0.68], test_fraction=0.2
    ... )
    >>> round(found.statistic, 2), round(found.p_value, 3)
    (2.54, 0.064)
    """
    if not 0 < test_fraction < 1:
        raise ValueError(
            f"test_fraction must lie between 0 and 1, got {test_fraction}. An 80/20 split has 0.2."
        )
    d = _paired.differences(a, b)
    n, middle = len(d), _paired.mean(d)
    inflated = 1 / max(n, 1) + test_fraction / (1 - test_fraction)
    error = _paired.deviation(d) * math.sqrt(inflated)
    t, p = _paired.student(middle, error, n - 1)
    interval = _paired.t_interval(middle, error, n - 1, level)
    return comparison("corrected resampled t", d, t, p, level, interval, unit="split")


def _partition(owner: NDArray[np.generic], n_subsets: int, random_state: int) -> Ints:
    """Subset of each pair; pairs of one owner are in one subset."""
    owners, place = np.unique(owner, return_inverse=True)
    if not 2 <= n_subsets <= len(owners):
        raise ValueError(
            f"{len(owners):,} queries (or pairs) cannot be divided into {n_subsets} subsets. "
            "Ask for 2 or more, and no more than there are."
        )
    order = np.random.default_rng(random_state).permutation(len(owners))
    return np.asarray((order % n_subsets)[place], dtype=np.int64)


def _auc_by(subset: Ints, scores: Reals, relevant: NDArray[np.bool_], n_subsets: int) -> Reals:
    """AUC of each subset, as if it were a query whose pairs are its candidates."""
    order = np.argsort(subset, kind="stable")
    sizes = np.bincount(subset, minlength=n_subsets)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    above, tied = rank_listed(scores[order], indptr)
    grade = np.where(relevant[order], 1.0, -1.0)
    return expected_auc(Ranking(indptr, order, grade, above, tied, sizes))
