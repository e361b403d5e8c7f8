"""Is one run ahead of another, or was it luck? Tests on values query by query.

Every test takes two lists of values, one a query, and gives a `Comparison`.
The paired ones expect the same queries in the same order; a query that has no
value (NaN) in both lists is left out. Where both directions of aligned pairs
are measured, give one value a pair, the mean of its two: concatenating the
directions would count every pair twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from simviz.discovery import unknown_name
from simviz.evaluation import _paired
from simviz.evaluation._paired import Reals
from simviz.evaluation._permutation import sign_flip_p_value
from simviz.evaluation.differences import LEVEL
from simviz.evaluation.intervals import bca_interval, resampled_means
from simviz.evaluation.verdict import Comparison

_RESAMPLES = 10_000


def paired_randomization(
    a: ArrayLike,
    b: ArrayLike,
    *,
    level: float = 0.95,
    n_resamples: int = _RESAMPLES,
    random_state: int = 0,
) -> Comparison:
    """Paired randomisation test: the two values of each query might be swapped.

    Assumes nothing about the shape of the differences. Where up to 36 queries
    differ, all choices of swaps are counted; else some are drawn.

    Parameters
    ----------
    a, b : array-like of float, shape (n_queries,)
        Value of each query in both runs.
    level : float, default=0.95
        Of the interval, which is Student's.
    n_resamples : int, default=10_000
        Choices of swaps to draw; p is then no less than 1 / (1 + n_resamples).
    random_state : int, default=0
        Seed of the draws.

    Returns
    -------
    Comparison
        Its statistic is the mean difference.

    Raises
    ------
    ValueError
        If the lists do not belong together or a setting means nothing.

    References
    ----------
    Fisher (1935), The design of experiments, section 21.
    Smucker, Allan & Carterette (2007), A comparison of statistical
    significance tests for information retrieval evaluation. CIKM.

    Examples
    --------
    >>> paired_randomization([0.9, 0.8, 0.7, 0.9, 0.6], [0.5, 0.6, 0.6, 0.8, 0.5]).p_value
    0.0625
    """
    d = _paired.differences(a, b)
    _paired.check_resamples(n_resamples)
    p = sign_flip_p_value(d, n_resamples, random_state) if len(d) > 1 else math.nan
    return comparison("paired randomisation", d, _paired.mean(d), p, level)


def paired_t(a: ArrayLike, b: ArrayLike, *, level: float = 0.95) -> Comparison:
    """Student's t-test of the mean difference.

    Parameters
    ----------
    a, b : array-like of float, shape (n_queries,)
        Value of each query in both runs.
    level : float, default=0.95
        Of the interval.

    Returns
    -------
    Comparison
        Its statistic is t. Where all queries differ by the same amount, t is
        infinite and p is 0; where none differs, they are 0 and 1.

    Raises
    ------
    ValueError
        If the lists do not belong together or `level` is out of range.

    Examples
    --------
    >>> found = paired_t([0.9, 0.8, 0.7, 0.9, 0.6], [0.5, 0.6, 0.6, 0.8, 0.5])
    >>> round(found.statistic, 3), round(found.p_value, 4)
    (3.087, 0.0367)
    """
    return student_of_differences("paired t", _paired.differences(a, b), level)


def paired_bootstrap(
    a: ArrayLike,
    b: ArrayLike,
    *,
    level: float = 0.95,
    n_resamples: int = _RESAMPLES,
    random_state: int = 0,
) -> Comparison:
    """Bootstrap test: how far means of resampled queries stray.

    The interval is bias-corrected and accelerated (BCa). The p-value is the
    share of resampled means as far from the observed one as that is from 0,
    Noreen's shift method.

    Parameters
    ----------
    a, b : array-like of float, shape (n_queries,)
        Value of each query in both runs.
    level : float, default=0.95
        Of the interval.
    n_resamples : int, default=10_000
        How often queries are drawn again.
    random_state : int, default=0
        Seed of the draws.

    Returns
    -------
    Comparison
        Its statistic is the mean difference.

    Raises
    ------
    ValueError
        If the lists do not belong together or a setting means nothing.

    References
    ----------
    Efron (1987), Better bootstrap confidence intervals. JASA 82.
    Noreen (1989), Computer-intensive methods for testing hypotheses.

    Examples
    --------
    >>> found = paired_bootstrap([0.9, 0.8, 0.7, 0.9, 0.6], [0.5, 0.6, 0.6, 0.8, 0.5])
    >>> round(found.low, 2), round(found.high, 2)
    (0.1, 0.34)
    """
    d = _paired.differences(a, b)
    _paired.check_resamples(n_resamples)
    _paired.check_level(level)
    if len(d) < 2:
        return comparison("paired bootstrap", d, _paired.mean(d), math.nan, level)
    middle = _paired.mean(d)
    means = resampled_means(d, n_resamples, random_state)
    reached = np.abs(means - middle) >= abs(middle) - LEVEL
    p = float((1 + reached.sum()) / (1 + n_resamples))
    interval = bca_interval(d, means, level)
    return comparison("paired bootstrap", d, middle, p, level, interval)


def wilcoxon(a: ArrayLike, b: ArrayLike, *, level: float = 0.95) -> Comparison:
    """Wilcoxon's signed-rank test: whether gains outrank losses.

    Parameters
    ----------
    a, b : array-like of float, shape (n_queries,)
        Value of each query in both runs.
    level : float, default=0.95
        Of the interval of the mean, which is Student's.

    Returns
    -------
    Comparison
        Its statistic is the sum of signed ranks.

    Raises
    ------
    ValueError
        If the lists do not belong together or `level` is out of range.

    Notes
    -----
    It does not test the mean, and may contradict the mean's interval. Queries
    that are level are dropped; small samples are exact, as
    `scipy.stats.wilcoxon` has it.

    Examples
    --------
    >>> wilcoxon([0.9, 0.8, 0.7, 0.9, 0.6], [0.5, 0.6, 0.6, 0.8, 0.5]).p_value
    0.0625
    """
    d = _paired.differences(a, b)
    moved = d[d != 0]
    statistic, p = (0.0, 1.0) if len(d) > 1 else (math.nan, math.nan)
    if len(d) > 1 and len(moved):
        import scipy.stats

        moved = moved.round(12)  # those that are equal but for their last bits share a rank
        statistic = float(np.sign(moved) @ scipy.stats.rankdata(np.abs(moved)))
        p = float(scipy.stats.wilcoxon(moved).pvalue)
    return comparison("Wilcoxon signed-rank", d, statistic, p, level)


def unpaired_t(
    a: ArrayLike, b: ArrayLike, *, equal_var: bool = True, level: float = 0.95
) -> Comparison:
    """t-test of two means that does not know which values belong together.

    Published tables often used it on accuracies, with Bonferroni's correction
    (see `compare_all`). On the same queries a paired test finds more: what
    makes a query hard for both runs cancels out.

    Parameters
    ----------
    a, b : array-like of float, shapes (n_a,) and (n_b,)
        Values of both runs; each NaN is skipped.
    equal_var : bool, default=True
        Pool the variances (Student), or allow two different ones (Welch).
    level : float, default=0.95
        Of the interval.

    Returns
    -------
    Comparison
        Its statistic is t; n counts the queries of the shorter list.

    Raises
    ------
    ValueError
        If a value is infinite or `level` is out of range.

    Examples
    --------
    >>> found = unpaired_t([0.9, 0.8, 0.7, 0.9, 0.6], [0.5, 0.6, 0.6, 0.8, 0.5])
    >>> round(found.statistic, 3), round(found.p_value, 4)
    (2.25, 0.0546)
    """
    sides = [values[~np.isnan(values)] for values in (_paired.flat(a, "a"), _paired.flat(b, "b"))]
    sizes = [len(values) for values in sides]
    freedom = sum(sizes) - 2.0
    middle = _paired.mean(sides[0]) - _paired.mean(sides[1])
    spreads = [_paired.deviation(values) for values in sides]
    pooled = math.nan
    error = math.nan
    df = freedom
    if min(sizes) > 1:
        weighted = [s * s * (n - 1) for s, n in zip(spreads, sizes, strict=True)]
        pooled = math.sqrt(sum(weighted) / freedom)
        error = pooled * math.sqrt(sum(1 / n for n in sizes))
        if not equal_var:
            shares = [s * s / n for s, n in zip(spreads, sizes, strict=True)]
            error = math.sqrt(sum(shares))
            below = sum(s * s / (n - 1) for s, n in zip(shares, sizes, strict=True))
            df = sum(shares) ** 2 / below if below else freedom
    t, p = _paired.student(middle, error, df)
    low, high = _paired.t_interval(middle, error, df, level)
    return Comparison(
        "unpaired t" if equal_var else "Welch's t",
        t, p, middle, low, high, level, min(sizes), None,
        _paired.standardized(middle, pooled, freedom),
    )  # fmt: skip


#: Tests by the names that `compare` takes.
TESTS: dict[str, Callable[..., Comparison]] = {
    "randomization": paired_randomization,
    "t": paired_t,
    "bootstrap": paired_bootstrap,
    "wilcoxon": wilcoxon,
    "unpaired t": unpaired_t,
}


def compare(
    a: ArrayLike, b: ArrayLike, test: str = "randomization", **settings: float
) -> Comparison:
    """Compare two runs by a test that is named.

    Parameters
    ----------
    a, b : array-like of float, shape (n_queries,)
        Value of each query in both runs.
    test : {"randomization", "t", "bootstrap", "wilcoxon", "unpaired t"}
        Which test: `paired_randomization` unless said otherwise.
    **settings : float
        Settings of that test, such as ``level``.

    Returns
    -------
    Comparison
        What the test found.

    Raises
    ------
    ValueError
        If there is no such test; names the nearest one.

    Examples
    --------
    >>> compare([0.9, 0.8, 0.7], [0.5, 0.6, 0.6], "randomisation")
    Traceback (most recent call last):
    ...
    ValueError: There is no test 'randomisation'. Did you mean 'randomization'? Known: ...
    """
    if test not in TESTS:
        raise ValueError(unknown_name("test", test, TESTS))
    return TESTS[test](a, b, **settings)


def comparison(
    test: str,
    differences: Reals,
    statistic: float,
    p_value: float,
    level: float,
    interval: tuple[float, float] | None = None,
    unit: str = "query",
) -> Comparison:
    """What a paired test found; the interval is Student's unless given.

    Parameters
    ----------
    test : str
        In words.
    differences : ndarray of float, shape (n,)
        Of the values that were compared.
    statistic, p_value : float
        Of the test.
    level : float
        Of the interval.
    interval : tuple of two float, optional
        Of the mean difference.
    unit : str, default="query"
        What a difference belongs to.

    Returns
    -------
    Comparison
        With win, tie and loss counts, and the effect size.
    """
    _paired.check_level(level)
    n, middle = len(differences), _paired.mean(differences)
    spread = _paired.deviation(differences)
    if interval is None:
        interval = _paired.t_interval(middle, spread / math.sqrt(max(n, 1)), n - 1, level)
    outcomes = _counts(differences)
    effect = _paired.standardized(middle, spread, n - 1)
    return Comparison(
        test, statistic, p_value, middle, *interval, level, n, outcomes, effect, unit
    )


def student_of_differences(
    test: str, differences: Reals, level: float, unit: str = "query"
) -> Comparison:
    """Student's test of the mean of independent differences."""
    n = len(differences)
    error = _paired.deviation(differences) / math.sqrt(max(n, 1))
    t, p = _paired.student(_paired.mean(differences), error, n - 1)
    return comparison(test, differences, t, p, level, unit=unit)


def _counts(differences: Reals) -> tuple[int, int, int]:
    """How many are above, at and below 0."""
    signs = np.sign(differences)
    return int((signs > 0).sum()), int((signs == 0).sum()), int((signs < 0).sum())
