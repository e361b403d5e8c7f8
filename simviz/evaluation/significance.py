"""Is one run ahead of another, or was it luck? Tests on values query by query.

Every test takes two lists of values, one a query, and gives a `Comparison`. The paired ones expect
the same queries in the same order; a query that has no value (NaN) in both lists is left out.
Where both directions of aligned pairs are measured, give one value a pair, the mean of its two:
concatenating the directions would count every pair twice. Lists that do not belong together,
infinite values and settings out of range raise ValueError.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz._types import Ints, Reals
from simviz.evaluation.metrics import TIE_TOLERANCE
from simviz.ranking import Ranking, expected_auc, rank_listed
from simviz.registry import unknown_name

if TYPE_CHECKING:
    from simviz.evaluation.result import Evaluation


#: Up to this p-value two runs are told apart, unless said otherwise.
ALPHA = 0.05
#: What a comparison says of its first run; "level" is that the two cannot be told apart,
#: "undecided" that there is too little to test.
State = Literal["ahead", "behind", "level", "undecided"]
#: Up to so many differences that are not 0, every choice of signs is counted.
MAX_EXACT = 36
#: Sums closer than this, relative to the largest possible one, are equal.
_EQUAL = 1e-12
_TOGETHER = 8  # signs drawn as one byte
#: Queries drawn at a time.
_DRAWN = 100_000
_RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, compared by one test.

    Parameters
    ----------
    test : str
        What was tested, in words.
    statistic : float
        The test's own number, such as t; its sign is that of the difference.
    p_value : float
        Two-sided; NaN where there are too few values to test.
    difference : float
        Mean of the first run minus that of the second.
    low, high : float
        Interval of the difference.
    level : float
        Share of such intervals that cover the true difference.
    n : int
        Queries (or what else was counted) that have a value.
    outcomes : tuple of three int, or None
        How often the first run has the higher value, both are level, and it
        has the lower one; None where nothing is paired.
    effect_size : float
        Difference in standard deviations, corrected for small samples
        (Hedges' g): of the paired differences (Cohen's d_z), or of the values
        where nothing is paired. NaN for two pairs or fewer.
    unit : str
        What was counted.
    correction : str
        What has been done to `p_value` because of other comparisons.
    """

    test: str
    statistic: float
    p_value: float
    difference: float
    low: float
    high: float
    level: float
    n: int
    outcomes: tuple[int, int, int] | None
    effect_size: float
    unit: str = "query"
    correction: str = ""

    def is_significant(self, alpha: float = ALPHA) -> bool:
        """Whether the runs are told apart.

        Parameters
        ----------
        alpha : float, default=0.05
            Highest p-value that tells them apart.

        Returns
        -------
        bool
            False where the interval holds 0, whatever the p-value, and where
            there were too few values to test.
        """
        return self.p_value <= alpha and not self.low <= 0 <= self.high

    def state(self, *, higher_is_better: bool = True) -> State:
        """What is known of the first run.

        Parameters
        ----------
        higher_is_better : bool, default=True
            False for metrics such as rank loss.

        Returns
        -------
        {"ahead", "behind", "level", "undecided"}
            "level" where the two cannot be told apart, "undecided" where
            there were too few values to test.
        """
        if math.isnan(self.p_value):
            return "undecided"
        if not self.is_significant():
            return "level"
        return "ahead" if (self.difference > 0) == higher_is_better else "behind"

    @property
    def why_missing(self) -> str:
        """Why a number is NaN or infinite; empty where none is."""
        if math.isnan(self.p_value) or math.isnan(self.low):
            return f"a test needs more than {self.n:,} {plural(self.unit, self.n)}"
        if math.isinf(self.effect_size):
            return "all differences are equal, so that they have no spread"
        if math.isnan(self.effect_size):
            return f"an effect size needs more than {self.n:,} {plural(self.unit, self.n)}"
        return ""

    def swapped(self) -> Comparison:
        """What the test would have said of the second run against the first."""
        return replace(
            self,
            statistic=0.0 - self.statistic,  # which is 0 for 0, and not −0
            difference=0.0 - self.difference,
            low=0.0 - self.high,
            high=0.0 - self.low,
            outcomes=None if self.outcomes is None else self.outcomes[::-1],
            effect_size=0.0 - self.effect_size,
        )

    def describe(
        self, a_name: str, b_name: str, metric: str = "", *, higher_is_better: bool = True
    ) -> str:
        """One sentence with the test, its numbers, and how many queries they rest on.

        Parameters
        ----------
        a_name, b_name : str
            What the runs are called.
        metric : str, optional
            What was measured.
        higher_is_better : bool, default=True
            As in `state`.

        Returns
        -------
        str
            Without a full stop.

        Examples
        --------
        >>> from simviz.evaluation import paired_t
        >>> paired_t([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.6, 0.8]).describe("OPCA", "LSA", "MRR")
        'OPCA and LSA cannot be told apart: MRR +0.200 [−0.025, +0.425], p = 0.066,
        paired t, 4 queries'
        """
        finding = self.finding(a_name, b_name, metric, higher_is_better=higher_is_better)
        if math.isnan(self.p_value):
            return finding
        correction = f" ({self.correction})" if self.correction else ""
        return f"{finding}, {describe_p(self.p_value)}{correction}, {self.test}, {self.counted}"

    def finding(
        self, a_name: str, b_name: str, metric: str = "", *, higher_is_better: bool = True
    ) -> str:
        """What `describe` says before the p-value: the state, the difference and its interval.

        Parameters
        ----------
        a_name, b_name, metric, higher_is_better : str, str, str, bool
            As in `describe`.

        Returns
        -------
        str
            Without a full stop.
        """
        if math.isnan(self.p_value):
            return f"{a_name} and {b_name} cannot be compared on {self.counted}"
        won, _, lost = self.outcomes or (self.low != 0, 0, self.high != 0)
        if not won and not lost:
            agree = f"{a_name} and {b_name} agree on every {self.unit}"
            return f"{agree} by {metric}" if metric else agree
        better = self
        if self.difference != 0 and (self.difference > 0) != higher_is_better:
            better, a_name, b_name = self.swapped(), b_name, a_name
        relation = f"{a_name} and {b_name} cannot be told apart"
        if self.is_significant():
            relation = f"{a_name} is ahead of {b_name}"
        numbers = f"{signed(better.difference)} [{signed(better.low)}, {signed(better.high)}]"
        return f"{relation}: {f'{metric} {numbers}'.strip()}"

    @property
    def counted(self) -> str:
        """How many queries, or what else was counted."""
        return f"{self.n:,} {plural(self.unit, self.n)}"

    @property
    def basis(self) -> str:
        """The test, what was done because of other comparisons, and what was counted."""
        return ", ".join(filter(None, (self.test, self.correction, self.counted)))


def describe_p(p: float) -> str:
    """A p-value to three decimals, or that it is smaller."""
    if math.isnan(p):
        return "p unknown"
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.3f}" if p < 0.9995 else "p = 1"


def plural(unit: str, n: int) -> str:
    """What was counted, as a number of them is called."""
    if n == 1:
        return unit
    return f"{unit[:-1]}ies" if unit.endswith("y") else f"{unit}s"


def signed(value: float) -> str:
    """Three decimals and a sign; nothing is −0."""
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text.replace("-", "−")


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
    a, b, level : array-like, array-like, float
        As in `paired_t`, whose interval this has.
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
        If the lists do not match, a value is infinite, or a setting is wrong.

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
    d = differences(a, b)
    check_resamples(n_resamples)
    p = sign_flip_p_value(d, n_resamples, random_state) if len(d) > 1 else math.nan
    comparison = student_of_differences("paired randomisation", d, level)
    return replace(comparison, statistic=comparison.difference, p_value=p)


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
        If the lists do not match, a value is infinite, or a setting is wrong.

    Examples
    --------
    >>> found = paired_t([0.9, 0.8, 0.7, 0.9, 0.6], [0.5, 0.6, 0.6, 0.8, 0.5])
    >>> round(found.statistic, 3), round(found.p_value, 4)
    (3.087, 0.0367)
    """
    return student_of_differences("paired t", differences(a, b), level)


def paired_bootstrap(
    a: ArrayLike,
    b: ArrayLike,
    *,
    level: float = 0.95,
    n_resamples: int = _RESAMPLES,
    random_state: int = 0,
) -> Comparison:
    """Bootstrap test: how far means of resampled queries stray.

    The interval is bias-corrected and accelerated (BCa). The p-value is the share of resampled
    means as far from the observed one as that is from 0, Noreen's shift method.

    Parameters
    ----------
    a, b, level, n_resamples, random_state : optional
        As in `paired_randomization`.

    Returns
    -------
    Comparison
        Its statistic is the mean difference.

    Raises
    ------
    ValueError
        If the lists do not match, a value is infinite, or a setting is wrong.

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
    d = differences(a, b)
    check_resamples(n_resamples)
    comparison = student_of_differences("paired bootstrap", d, level)
    middle = comparison.difference
    if len(d) < 2:
        return replace(comparison, statistic=middle, p_value=math.nan)
    means = resampled_means(d, n_resamples, random_state)
    is_extreme = np.abs(means - middle) >= abs(middle) - TIE_TOLERANCE
    p = float((1 + is_extreme.sum()) / (1 + n_resamples))
    low, high = bca_interval(d, means, level)
    return replace(comparison, statistic=middle, p_value=p, low=low, high=high)


def wilcoxon(a: ArrayLike, b: ArrayLike, *, level: float = 0.95) -> Comparison:
    """Wilcoxon's signed-rank test: whether gains outrank losses.

    Parameters
    ----------
    a, b, level : array-like, array-like, float
        As in `paired_t`; the interval is that of the mean.

    Returns
    -------
    Comparison
        Its statistic is the sum of signed ranks.

    Raises
    ------
    ValueError
        If the lists do not match, a value is infinite, or a setting is wrong.

    Notes
    -----
    It does not test the mean, and may contradict the mean's interval. Queries that are level are
    dropped; small samples are exact, as `scipy.stats.wilcoxon` has it.

    Examples
    --------
    >>> wilcoxon([0.9, 0.8, 0.7, 0.9, 0.6], [0.5, 0.6, 0.6, 0.8, 0.5]).p_value
    0.0625
    """
    d = differences(a, b)
    moved = d[d != 0]
    statistic, p = (0.0, 1.0) if len(d) > 1 else (math.nan, math.nan)
    if len(d) > 1 and len(moved):
        import scipy.stats

        moved = moved.round(12)  # those that are equal but for their last bits share a rank
        statistic = float(np.sign(moved) @ scipy.stats.rankdata(np.abs(moved)))
        p = float(scipy.stats.wilcoxon(moved).pvalue)
    comparison = student_of_differences("Wilcoxon signed-rank", d, level)
    return replace(comparison, statistic=statistic, p_value=p)


def unpaired_t(a: ArrayLike, b: ArrayLike, *, level: float = 0.95) -> Comparison:
    """t-test of two means that does not know which values belong together.

    Published tables often used it on accuracies, with Bonferroni's correction
    (see `compare_all`). On the same queries a paired test finds more: what
    makes a query hard for both runs cancels out.

    Parameters
    ----------
    a, b : array-like of float, shapes (n_a,) and (n_b,)
        Values of both runs; each NaN is skipped.
    level : float, default=0.95
        Of the interval.

    Returns
    -------
    Comparison
        Its statistic is t; n counts the queries of the shorter list.

    Raises
    ------
    ValueError
        If a list is no list of numbers, a value is infinite, or `level` is out of range.

    Examples
    --------
    >>> found = unpaired_t([0.9, 0.8, 0.7, 0.9, 0.6], [0.5, 0.6, 0.6, 0.8, 0.5])
    >>> round(found.statistic, 3), round(found.p_value, 4)
    (2.25, 0.0546)
    """
    sides = [values[~np.isnan(values)] for values in (flat(a, "a"), flat(b, "b"))]
    sizes = [len(values) for values in sides]
    freedom = sum(sizes) - 2.0
    spreads = [deviation(values) for values in sides]
    pooled = error = math.nan
    if min(sizes) > 1:
        weighted = [s * s * (n - 1) for s, n in zip(spreads, sizes, strict=True)]
        pooled = math.sqrt(sum(weighted) / freedom)
        error = pooled * math.sqrt(sum(1 / n for n in sizes))
    difference = mean(sides[0]) - mean(sides[1])
    comparison = student_test("unpaired t", difference, error, freedom, level, n=min(sizes))
    return replace(comparison, effect_size=standardized(difference, pooled, freedom))


#: Tests by the names that `compare` takes.
TESTS: dict[str, Callable[..., Comparison]] = {
    "randomization": paired_randomization,
    "t": paired_t,
    "bootstrap": paired_bootstrap,
    "wilcoxon": wilcoxon,
    "unpaired t": unpaired_t,
}


def paired_test(
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

    Raises
    ------
    ValueError
        If there is no such test, and the nearest one is named; or as in that test.

    Examples
    --------
    >>> paired_test([0.9, 0.8, 0.7], [0.5, 0.6, 0.6], "randomisation")
    Traceback (most recent call last):
    ...
    ValueError: There is no test 'randomisation'. Did you mean 'randomization'? Known: ...
    """
    if test not in TESTS:
        raise ValueError(unknown_name("test", test, TESTS))
    return TESTS[test](a, b, **settings)


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
        If lengths do not fit, a score is NaN, there are fewer queries (or pairs)
        than subsets, or a setting is out of range.

    Notes
    -----
    The subsets are a partition. Random subsets that overlap, such as halves or bootstrap samples,
    are not independent: with 50 of them a t-test at the 1 % level rejects a true null hypothesis
    about two times in three, and ever more often the more subsets are drawn.

    References
    ----------
    Yih, Toutanova, Platt & Meek (2011), Learning discriminative projections
    for text similarity measures. CoNLL, section 4.2: "50 random subsets".
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
    d = differences(a, b)
    return student_of_differences("paired t over disjoint subsets", d, level, unit="subset")


def corrected_resampled_t(
    a: ArrayLike, b: ArrayLike, *, test_fraction: float, level: float = 0.95
) -> Comparison:
    """t-test of folds or repeated splits, whose training parts overlap.

    The usual test takes the values for independent and rejects too often. Here the variance of
    their mean grows from s²/J to s² (1/J + n_test / n_train).

    Parameters
    ----------
    a, b : array-like of float, shape (n_splits,)
        Value of each split in both runs.
    test_fraction : float
        Share of the data that a split tests on: 0.2 for 80/20, 1/k for k folds.
    level : float, default=0.95
        Of the interval.

    Returns
    -------
    Comparison
        Its statistic is t with J − 1 degrees of freedom.

    Raises
    ------
    ValueError
        If the lists do not match, a value is infinite, or a setting is wrong.

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
    d = differences(a, b)
    inflated = 1 / max(len(d), 1) + test_fraction / (1 - test_fraction)
    error = deviation(d) * math.sqrt(inflated)
    return student_of_differences("corrected resampled t", d, level, error, unit="split")


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


def flat(values: ArrayLike, name: str) -> Reals:
    """A list of finite or missing values."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(
            f"{name} has shape {array.shape}. Give one value a query: a list, not a table."
        )
    if np.isinf(array).any():
        raise ValueError(
            f"{name} has {int(np.isinf(array).sum())} infinite values. A query without a "
            "value is NaN; all others must be finite."
        )
    return array


def differences(a: ArrayLike, b: ArrayLike) -> Reals:
    """A − b of the queries that have a value, 0 where they differ by rounding only."""
    x, y = flat(a, "a"), flat(b, "b")
    if len(x) != len(y):
        raise ValueError(
            f"a has {len(x):,} values, b {len(y):,}. Paired tests need the same queries in the "
            "same order."
        )
    only_a, only_b = ~np.isnan(x) & np.isnan(y), np.isnan(x) & ~np.isnan(y)
    if only_a.any() or only_b.any():
        raise ValueError(
            f"{int(only_a.sum()):,} queries have a value in a only, {int(only_b.sum()):,} in b "
            "only. Compare runs that were measured on the same judgments, or leave these out."
        )
    d = (x - y)[~np.isnan(x)]
    d[np.abs(d) <= TIE_TOLERANCE] = 0.0
    return d


def student_test(
    test: str,
    difference: float,
    error: float,
    df: float,
    level: float,
    *,
    n: int,
    unit: str = "query",
) -> Comparison:
    """Student's test of a difference with a standard error; nothing paired, no effect size."""
    t, p = student(difference, error, df)
    low, high = t_interval(difference, error, df, level)
    return Comparison(test, t, p, difference, low, high, level, n, None, math.nan, unit)


def student_of_differences(
    test: str, differences: Reals, level: float, error: float | None = None, unit: str = "query"
) -> Comparison:
    """Student's test of the mean of differences, independent unless their error is given."""
    n, spread = len(differences), deviation(differences)
    if error is None:
        error = spread / math.sqrt(max(n, 1))
    comparison = student_test(test, mean(differences), error, n - 1, level, n=n, unit=unit)
    signs = np.sign(differences)
    outcomes = (int((signs > 0).sum()), int((signs == 0).sum()), int((signs < 0).sum()))
    effect = standardized(comparison.difference, spread, n - 1)
    return replace(comparison, outcomes=outcomes, effect_size=effect)


def deviation(values: Reals) -> float:
    """Standard deviation of the sample; 0 where values differ by rounding only."""
    if len(values) < 2:
        return math.nan
    return float(values.std(ddof=1)) if np.ptp(values) > TIE_TOLERANCE else 0.0


def student(difference: float, error: float, df: float) -> tuple[float, float]:
    """T and its two-sided p-value; no difference at all is no evidence."""
    if math.isnan(error):
        return math.nan, math.nan
    if error == 0:
        return (0.0, 1.0) if difference == 0 else (math.copysign(math.inf, difference), 0.0)
    from scipy.special import stdtr

    t = difference / error
    return t, float(2 * stdtr(df, -abs(t)))


def t_interval(difference: float, error: float, df: float, level: float) -> tuple[float, float]:
    """Student's interval of a mean difference."""
    check_level(level)
    if math.isnan(error):
        return math.nan, math.nan
    from scipy.special import stdtrit

    half_width = float(stdtrit(df, (1 + level) / 2)) * error
    return difference - half_width, difference + half_width


def standardized(difference: float, spread: float, df: float) -> float:
    """Difference in standard deviations, without the bias of small samples (Hedges)."""
    # With J = Γ(df/2) / (√(df/2) Γ((df − 1)/2)), about 1 − 3 / (4 df − 1).
    if spread == 0:
        return 0.0 if difference == 0 else math.copysign(math.inf, difference)
    if math.isnan(spread) or df < 2:
        return math.nan
    bias = math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / math.sqrt(df / 2)
    return difference / spread * bias


def check_level(level: float) -> None:
    """Refuse a level of confidence that is no share."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}.")


def check_resamples(n_resamples: int) -> None:
    """Refuse a number of draws that can show nothing."""
    if isinstance(n_resamples, bool) or int(n_resamples) != n_resamples or n_resamples < 1:
        raise ValueError(f"n_resamples must be a whole number from 1, got {n_resamples!r}.")


def sign_flip_p_value(differences: Reals, n_resamples: int, random_state: int) -> float:
    """Two-sided p-value of a sum under random signs."""
    moved = differences[differences != 0]
    size = float(np.abs(moved).sum())
    # Equal sums may differ in their last bits: what is level counts as reached.
    limit = abs(float(moved.sum())) - _EQUAL * size
    if len(moved) <= MAX_EXACT:
        return _share_exact(moved, limit)
    sums = _drawn_sums(moved, n_resamples, np.random.default_rng(random_state))
    return float((1 + (np.abs(sums) >= limit).sum()) / (1 + n_resamples))


def _share_exact(values: Reals, limit: float) -> float:
    """Share of all 2^n signed sums that are `limit` or more from 0."""
    # Every sum is one of the first half of the values plus one of the second: 2^(n/2) sums are
    # sorted, and as many looked up among them.
    half = len(values) // 2
    left, right = np.sort(_signed_sums(values[:half])), _signed_sums(values[half:])
    high = len(left) - np.searchsorted(left, limit - right, side="left")
    low = np.searchsorted(left, -limit - right, side="right")
    n_extreme = int(high.sum()) + int(low.sum())
    return min(1.0, n_extreme / 2.0 ** len(values))  # a limit of 0 counts sums of 0 twice


def _drawn_sums(values: Reals, n: int, rng: np.random.Generator) -> Reals:
    """Sums under random signs; memory does not grow with the number of values."""
    sums = np.zeros(n)
    for start in range(0, len(values), _TOGETHER):
        table = _signed_sums(values[start : start + _TOGETHER])
        sums += table[rng.integers(0, len(table), n, dtype=np.uint16)]
    return sums


def _signed_sums(values: Reals) -> Reals:
    """All 2^n sums of ± each value."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def mean(values: ArrayLike) -> float:
    """Mean of the values that are not NaN; NaN where there are none."""
    known = _present(values)
    return float(known.mean()) if len(known) else math.nan


def standard_error(values: ArrayLike) -> float:
    """Standard error of the mean; values that are NaN are skipped.

    Parameters
    ----------
    values : array-like of float
        One value a query.

    Returns
    -------
    float
        NaN for fewer than two values.
    """
    known = _present(values)
    return float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else math.nan


def confidence_interval(
    values: ArrayLike | Evaluation,
    metric: Any = None,
    *,
    level: float = 0.95,
    method: Literal["bootstrap", "bca", "normal"] = "bootstrap",
    n_resamples: int = 2000,
    random_state: int = 0,
) -> tuple[float, float]:
    """Interval for the mean of per-query values; those that are NaN are skipped.

    Parameters
    ----------
    values : array-like of float, or Evaluation
        One value a query, or what measured them.
    metric : Metric or str, optional
        Of an evaluation, a metric of ranks; the side that asks is its first.
    level : float, default=0.95
        Share of such intervals that cover the true mean.
    method : {"bootstrap", "bca", "normal"}, default="bootstrap"
        Percentiles of the means of resampled queries; the same, corrected for bias and skewness;
        or the mean plus and minus a multiple of its standard error.
    n_resamples : int, default=2000
        How often queries are drawn again.
    random_state : int, default=0
        Seed of the draws.

    Returns
    -------
    low, high : float
        NaN for fewer than two values.

    Raises
    ------
    ValueError
        If `level` lies outside (0, 1), the method is unknown, or an evaluation is
        given without a metric or the reverse.

    Examples
    --------
    >>> low, high = confidence_interval([0.0, 1.0] * 50, method="normal")
    >>> round(low, 3), round(high, 3)
    (0.402, 0.598)
    """
    if hasattr(values, "per_query") != (metric is not None):
        raise ValueError(
            "An interval is of values, one a query, or of an evaluation and a metric: "
            'confidence_interval(evaluation, "MRR").'
        )
    if metric is not None:
        values = cast("Evaluation", values).per_query(metric)
    check_level(level)
    if method not in ("bootstrap", "bca", "normal"):
        raise ValueError(f"method must be 'bootstrap', 'bca' or 'normal', got {method!r}.")
    known = _present(cast("ArrayLike", values))
    if len(known) < 2:
        return math.nan, math.nan
    tail = (1 - level) / 2
    if method == "normal":
        half_width = NormalDist().inv_cdf(1 - tail) * standard_error(known)
        return float(known.mean() - half_width), float(known.mean() + half_width)
    means = resampled_means(known, n_resamples, random_state)
    if method == "bca":
        return bca_interval(known, means, level)
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def resampled_means(values: Reals, n_resamples: int, random_state: int) -> Reals:
    """Means of lists drawn from a list, with replacement, as long as it is."""
    rng = np.random.default_rng(random_state)
    # Some at a time: memory stays small however many queries there are.
    together = max(1, _DRAWN // len(values))
    means = np.empty(n_resamples)
    for start in range(0, n_resamples, together):
        part = means[start : start + together]
        part[:] = values[rng.integers(0, len(values), (len(part), len(values)))].mean(axis=1)
    return means


def bca_interval(values: Reals, means: Reals, level: float) -> tuple[float, float]:
    """Efron's bias-corrected and accelerated interval of a mean."""
    normal, middle = NormalDist(), float(values.mean())
    below = float((means < middle).mean() + (means <= middle).mean()) / 2
    away = values - middle
    squares = float(away @ away)
    if not 0 < below < 1 or np.ptp(values) == 0:
        low, high = (float(np.quantile(means, q)) for q in ((1 - level) / 2, (1 + level) / 2))
        return low, high
    bias = normal.inv_cdf(below)
    # Leaving out one value moves the mean by a multiple of its distance from it.
    skew = float((away**3).sum()) / (6 * squares**1.5)
    shares = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        z = bias + normal.inv_cdf(tail)
        shares.append(normal.cdf(bias + z / (1 - skew * z)))
    low, high = np.quantile(means, shares)
    return float(low), float(high)


def _present(values: ArrayLike) -> Reals:
    array = np.asarray(values, dtype=np.float64).ravel()
    return array[~np.isnan(array)]
