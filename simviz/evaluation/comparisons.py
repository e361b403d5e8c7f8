"""Runs compared by any metric: query by query, or by drawing judged pairs again."""

from __future__ import annotations

import itertools
import math
import string
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from simviz._types import Reals
from simviz.evaluation import significance
from simviz.evaluation.differences import query_metric
from simviz.evaluation.judged_pair_tests import (
    bootstrap_pairs,
    delong_pairs,
    judged_pairs,
    pools_judged_pairs,
)
from simviz.evaluation.metrics import AUC, MRR, Metric, TopOne, parse_metric
from simviz.evaluation.result import Direction, Evaluation, check_directions
from simviz.evaluation.significance import ALPHA, TESTS, Comparison, mean, paired_test, plural
from simviz.registry import unknown_name

if TYPE_CHECKING:
    import pandas as pd

K = TypeVar("K")
Correction = Literal["holm", "bonferroni", "none"]

_ALPHABET = string.ascii_lowercase + string.ascii_uppercase
#: A difference of fewer standard errors says next to nothing, not even its sign.
_MIN_ERRORS = 0.5
#: Above so many queries the normal distribution is as good as Student's.
_MANY = 10_000


def adjust_p_values(p_values: ArrayLike, correction: Correction = "holm") -> Reals:
    """Correct p-values for how many there are.

    Compared with α as usual, the corrected ones make any false alarm among
    all comparisons as rare as α.

    Parameters
    ----------
    p_values : array-like of float, shape (n,)
        Of all comparisons that were made; NaN stays NaN and does not count.
    correction : {"holm", "bonferroni", "none"}, default="holm"
        Bonferroni multiplies each by n. Holm multiplies the smallest by n,
        the next by n − 1 and so on: it keeps the same promise and finds more.

    Returns
    -------
    ndarray of float64, shape (n,)
        In the same order, at most 1.

    Raises
    ------
    ValueError
        If a p-value lies outside [0, 1] or the correction is unknown.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure.
    Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> adjust_p_values([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    if correction not in ("holm", "bonferroni", "none"):
        raise ValueError(f"correction must be 'holm', 'bonferroni' or 'none', got {correction!r}.")
    p = np.array(p_values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(p))
    if ((p[known] < 0) | (p[known] > 1)).any():
        raise ValueError(f"p-values lie between 0 and 1, got {p[known].tolist()}.")
    if correction == "holm":
        order = known[np.argsort(p[known], kind="stable")]
        p[order] = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1))
    elif correction == "bonferroni":
        p[known] *= len(known)
    return np.minimum(p, 1.0)


def tie_groups(
    p_values: ArrayLike, order: Sequence[int] | None = None, *, alpha: float = ALPHA
) -> list[tuple[int, ...]]:
    """The largest groups none of whose members can be told apart.

    Insert and absorb: begin with one group of all; divide each group that holds a pair that
    differs into one without the first and one without the second; drop groups inside others.

    Parameters
    ----------
    p_values : array-like of float, shape (n, n)
        Corrected p-value of each pair; symmetric. The diagonal is not read,
        NaN tells nothing apart.
    order : sequence of int, optional
        All runs, the best first; as they are numbered when omitted.
    alpha : float, default=0.05
        Highest p-value that tells a pair apart.

    Returns
    -------
    list of tuple of int
        Each group in the given order; the group of the best run first.

    Raises
    ------
    ValueError
        If the matrix is not square and symmetric or the order leaves runs out.

    Notes
    -----
    A run may be in several groups, since "cannot be told apart" does not carry over from neighbour
    to neighbour. It does not mean "equal" either: with more queries groups divide.

    References
    ----------
    Piepho (2004), An algorithm for a letter-based representation of
    all-pairwise comparisons. Journal of Computational and Graphical
    Statistics 13.

    Examples
    --------
    The first and the last differ, the one between them from neither:

    >>> tie_groups([[1, 0.6, 0.01], [0.6, 1, 0.3], [0.01, 0.3, 1]])
    [(0, 1), (1, 2)]
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 2 or p.shape[0] != p.shape[1] or not np.array_equal(p, p.T, equal_nan=True):
        raise ValueError(
            f"p_values of shape {p.shape} must be a symmetric table of all pairs of runs."
        )
    ranked = list(range(len(p))) if order is None else [int(i) for i in order]
    if sorted(ranked) != list(range(len(p))):
        raise ValueError(f"order must name each of the {len(p)} runs once, got {ranked}.")
    groups = [frozenset(range(len(p)))] if len(p) else []
    for i, j in itertools.combinations(range(len(p)), 2):
        if p[i, j] <= alpha:
            divided = [
                part
                for group in groups
                for part in ((group - {i}, group - {j}) if {i, j} <= group else (group,))
            ]
            groups = [g for g in dict.fromkeys(divided) if not any(g < h for h in divided)]
    place = {run: at for at, run in enumerate(ranked)}
    ordered = (tuple(sorted(group, key=place.__getitem__)) for group in groups)
    return sorted(ordered, key=lambda group: [place[run] for run in group])


def letter_display(groups: Sequence[Sequence[int]]) -> list[str]:
    """Compact letter display: runs that share a letter cannot be told apart.

    Parameters
    ----------
    groups : sequence of sequence of int
        As `tie_groups` gives them; the first is "a".

    Returns
    -------
    list of str
        One a run. After "z" come capitals, then "a1" and so on.

    Examples
    --------
    >>> letter_display([(0, 1), (1, 2)])
    ['a', 'ab', 'b']
    """
    marks = [""] * (1 + max((run for group in groups for run in group), default=-1))
    for at, group in enumerate(groups):
        again, letter = divmod(at, len(_ALPHABET))
        for run in group:
            marks[run] += _ALPHABET[letter] + (str(again) if again else "")
    return marks


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """Several runs, compared in pairs.

    Parameters
    ----------
    names : tuple of str
        What the runs are called.
    means : ndarray of float, shape (n_runs,)
        Mean value of each.
    pairs : dict of (int, int) to Comparison
        First run number below the second; p-values are corrected.
    higher_is_better : bool
        False for metrics such as rank loss.

    Raises
    ------
    ValueError
        From `between`, if the two were not compared; from `letters`, if only a baseline was
        compared with the others.
    """

    names: tuple[str, ...]
    means: Reals
    pairs: dict[tuple[int, int], Comparison]
    higher_is_better: bool = True

    @property
    def p_values(self) -> Reals:
        """Corrected p-values, shape (n_runs, n_runs); NaN where nothing was compared."""
        p = np.full((len(self.names), len(self.names)), np.nan)
        for (i, j), comparison in self.pairs.items():
            p[i, j] = p[j, i] = comparison.p_value
        return p

    def between(self, a: str, b: str) -> Comparison:
        """What was found about two runs.

        Parameters
        ----------
        a, b : str
            Their names.

        Returns
        -------
        Comparison
        """
        known = {name: i for i, name in enumerate(self.names)}
        at = known.get(a, -1), known.get(b, -1)
        if at in self.pairs:
            return self.pairs[at]
        if at[::-1] in self.pairs:
            return self.pairs[at[::-1]].swapped()
        raise ValueError(
            f"{a!r} and {b!r} were not compared. Known: {', '.join(map(repr, self.names))}."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row a pair of runs: a, b, difference, interval, corrected p-value, told apart."""
        import pandas as pd

        columns: dict[str, Any] = {"a": [self.names[i] for i, _ in self.pairs]}
        columns |= {"b": [self.names[j] for _, j in self.pairs]}
        comparisons = list(self.pairs.values())
        for name in ("difference", "low", "high", "p_value"):
            columns[name] = [getattr(one, name) for one in comparisons]
        columns["told_apart"] = [one.is_significant() for one in comparisons]
        return pd.DataFrame(columns)

    def order(self) -> list[int]:
        """Numbers of the runs by their mean, the best first; runs without a value last."""
        sign = -1.0 if self.higher_is_better else 1.0
        return [int(i) for i in np.argsort(sign * self.means, kind="stable")]

    def letters(self) -> dict[str, str]:
        """Compact letter display, by the name of the run; "a" is the best group."""
        n = len(self.names)
        if len(self.pairs) < n * (n - 1) // 2:
            raise ValueError(
                "Groups need all pairs of runs; here only a baseline was compared with the "
                "others. Leave out baseline."
            )
        p = np.ones((n, n))  # 0 where two are told apart, by the interval too
        for (i, j), comparison in self.pairs.items():
            p[i, j] = p[j, i] = not comparison.is_significant()
        marks = letter_display(tie_groups(p, self.order()))
        return dict(zip(self.names, marks, strict=True))


def compare_all(
    values: Mapping[str, ArrayLike],
    test: str = "randomization",
    *,
    correction: Correction = "holm",
    baseline: str | None = None,
    higher_is_better: bool = True,
    **settings: float,
) -> Comparisons:
    """Compare several runs in pairs, and correct for how many pairs there are.

    Parameters
    ----------
    values : mapping of str to array-like of float, shape (n_queries,)
        Name of each run to the value of each query.
    test : str, default="randomization"
        As in `paired_test`.
    correction : {"holm", "bonferroni", "none"}, default="holm"
        See `adjust_p_values`.
    baseline : str, optional
        Compare this one with all others, and nothing else: fewer pairs, so a
        milder correction. All pairs when omitted.
    higher_is_better : bool, default=True
        False for metrics such as rank loss.
    **settings : float
        Settings of the test, such as ``level``.

    Returns
    -------
    Comparisons

    Raises
    ------
    ValueError
        If there are fewer than two runs, the baseline is none of them, or as in
        `paired_test` and `adjust_p_values`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> base = rng.random(200)
    >>> runs = {"A": base + 0.1 * rng.random(200), "B": base, "C": base + 0.1 * rng.random(200)}
    >>> compare_all(runs).letters()
    {'A': 'a', 'B': 'b', 'C': 'a'}
    """
    names = tuple(values)
    pairs = pairs_to_compare(names, baseline)
    lists = [values[name] for name in names]
    comparisons = {(i, j): paired_test(lists[i], lists[j], test, **settings) for i, j in pairs}
    means = np.array([mean(own) for own in lists])
    return Comparisons(names, means, apply_correction(comparisons, correction), higher_is_better)


def apply_correction(
    comparisons: Mapping[K, Comparison], correction: Correction = "holm"
) -> dict[K, Comparison]:
    """Correct comparisons that were made one by one, as `compare_all` does.

    Parameters
    ----------
    comparisons : mapping of hashable to Comparison
        All comparisons of a table, by any names, with the p-values of their tests.
    correction : {"holm", "bonferroni", "none"}, default="holm"
        See `adjust_p_values`.

    Returns
    -------
    dict of hashable to Comparison

    Raises
    ------
    ValueError
        As in `adjust_p_values`.

    Examples
    --------
    >>> from simviz.evaluation import paired_t
    >>> one = paired_t([0.9, 0.8, 0.7, 0.9, 0.6], [0.5, 0.6, 0.6, 0.8, 0.5])
    >>> apply_correction({(0, 1): one, (0, 2): one}, "bonferroni")[0, 1].correction
    'Bonferroni, 2 comparisons'
    """
    p_values = adjust_p_values([one.p_value for one in comparisons.values()], correction)
    note = f"{correction.capitalize()}, {len(comparisons):,} comparisons"
    if correction == "none" or len(comparisons) == 1:
        note = ""
    return {
        pair: replace(one, p_value=float(p), correction=note)
        for (pair, one), p in zip(comparisons.items(), p_values, strict=True)
    }


def pairs_to_compare(names: Sequence[str], baseline: str | None) -> list[tuple[int, int]]:
    """Which runs are compared, by their numbers."""
    known = ", ".join(map(repr, names)) or "none"
    if len(names) < 2:
        raise ValueError(f"Comparing needs two runs or more; got {known}.")
    if baseline is not None and baseline not in names:
        raise ValueError(f"The baseline {baseline!r} is none of the runs {known}.")
    every = itertools.combinations(range(len(names)), 2)
    return [(i, j) for i, j in every if baseline in (None, names[i], names[j])]


def compare_all_evaluations(
    evaluations: Mapping[str, Evaluation],
    metric: Metric | str,
    directions: Sequence[Direction] | None = None,
    test: str = "randomization",
    *,
    correction: Correction = "holm",
    baseline: str | None = None,
    **settings: float,
) -> Comparisons:
    """Compare several runs by any metric: by queries, or by judged pairs.

    Parameters
    ----------
    evaluations : mapping of str to Evaluation
        Of the same test part, against the same pool.
    metric : Metric or str
        What to compare; see `compared_metric` for what is tested.
    directions : sequence of {"x2y", "y2x"}, optional
        Which sides ask; the first that the first run was evaluated in when
        omitted. Pairs are the same in every direction.
    test : str, default="randomization"
        As in `paired_test`. Judged pairs are tested by the bootstrap of
        `bootstrap_pairs` whichever is named, unless that is "delong".
    correction, baseline : optional
        As in `compare_all`.
    **settings : float
        Settings of the test, such as ``level`` and ``random_state``.

    Returns
    -------
    Comparisons
        All of them, with corrected p-values. Their unit is "judged pair" where pairs were drawn.

    Raises
    ------
    ValueError
        As in `compare_all` and `query_values`; where pairs are drawn, as in
        `bootstrap_pairs`; and of "delong" if the metric is not the AUC or rank
        loss of judged pairs, or items are in several of them.
    """
    names = tuple(evaluations)
    compared = pairs_to_compare(names, baseline)
    what = compared_metric(evaluations.values(), metric)
    if what.level == "query":
        first = next(iter(evaluations.values()))
        sides = first.directions[:1] if directions is None else directions
        values = {name: query_values(one, what, sides) for name, one in evaluations.items()}
        comparisons = compare_all(
            {name: one.values for name, one in values.items()},
            test,
            correction=correction,
            baseline=baseline,
            higher_is_better=what.higher_is_better,
            **settings,
        )
        units = [one.unit for one in values.values()]
        pairs = {(i, j): replace(one, unit=units[i]) for (i, j), one in comparisons.pairs.items()}
        return replace(comparisons, pairs=pairs)
    if test not in (*TESTS, "delong"):
        raise ValueError(unknown_name("test", test, (*TESTS, "delong")))
    runs = [run for one in evaluations.values() if (run := judged_pairs(one)) is not None]
    every = (delong_pairs if test == "delong" else bootstrap_pairs)(runs, what, **settings)
    means = np.array([one.value(what) for one in evaluations.values()])
    pairs = apply_correction({pair: every[pair] for pair in compared}, correction)
    return Comparisons(names, means, pairs, what.higher_is_better)


def compare_evaluations(
    a: Evaluation,
    b: Evaluation,
    metric: Metric | str,
    directions: Sequence[Direction] | None = None,
    test: str = "randomization",
    **settings: float,
) -> Comparison:
    """Compare two runs by any metric: by queries, or by judged pairs.

    Parameters
    ----------
    a, b : Evaluation
        Of the same test part, against the same pool.
    metric, directions, test, **settings : optional
        As in `compare_all_evaluations`.

    Returns
    -------
    Comparison
        Of `a` against `b`.

    Raises
    ------
    ValueError
        As in `compare_all_evaluations`.
    """
    comparisons = compare_all_evaluations(
        {"a": a, "b": b}, metric, directions, test, correction="none", baseline=None, **settings
    )
    return comparisons.pairs[0, 1]


@dataclass(frozen=True, slots=True)
class PowerAnalysis:
    """Queries that would separate two runs, if they differ as much as they seem to.

    Parameters
    ----------
    n : int
        Queries there are.
    needed : int or None
        Queries that would do, altogether; None where the difference is too small for an answer.
    separated : bool
        Whether `paired_randomization` tells them apart already.
    difference : float
        Mean difference.
    power : float
        Probability that so many queries tell the runs apart.
    unit : str, default="query"
        What was counted.
    """

    n: int
    needed: int | None
    separated: bool
    difference: float
    power: float
    unit: str = "query"

    @property
    def more(self) -> int | None:
        """Queries to add; 0 where the runs are told apart, None where nobody can say."""
        if self.separated:
            return 0
        return None if self.needed is None else max(1, self.needed - self.n)

    def describe(self, a_name: str, b_name: str) -> str:
        """One sentence, without a full stop.

        Parameters
        ----------
        a_name, b_name : str
            What the runs are called.

        Returns
        -------
        str
        """
        here = f"{self.n:,} {plural(self.unit, self.n)}"
        if self.separated:
            return f"{here} tell {a_name} and {b_name} apart already"
        if self.more is None:
            return (
                f"on {here}, {a_name} and {b_name} are too close to say how many more would "
                "separate them"
            )
        step = 10 ** max(0, len(str(self.more)) - 2)
        more = -(-self.more // step) * step  # two leading digits: others would promise too much
        return (
            f"about {more:,} more {plural(self.unit, more)} would separate {a_name} from "
            f"{b_name} with a probability of {100 * self.power:.0f} %, if they differ "
            "as much as they seem to"
        )


def power_analysis(
    a: ArrayLike, b: ArrayLike, *, power: float = 0.8, alpha: float = ALPHA
) -> PowerAnalysis:
    """Say how many queries would tell two runs apart.

    Parameters
    ----------
    a, b : array-like of float, shape (n_queries,)
        As in `paired_t`.
    power : float, default=0.8
        Probability with which the test should find the difference, from 0.5.
    alpha : float, default=0.05
        Highest p-value that tells the runs apart.

    Returns
    -------
    PowerAnalysis

    Raises
    ------
    ValueError
        If the lists do not match, a value is infinite, or a setting is wrong.

    Notes
    -----
    The number is that of a paired t-test, which `paired_randomization` follows closely, but no
    less than that one needs for so small a p-value. Mean and standard deviation of the differences
    are taken for the true ones. Both are estimates, so the answer is a magnitude to plan with.
    Where the mean is less than half its standard error it may as well be of the other sign, and no
    number is given.

    Examples
    --------
    >>> a, b = [0.9, 0.4, 0.7, 0.9, 0.6], [0.5, 0.6, 0.6, 0.8, 0.5]
    >>> plan = power_analysis(a, b)
    >>> plan.needed, plan.more
    (38, 33)
    """
    if not (0.5 <= power < 1 and 0 < alpha < 1):
        raise ValueError(
            f"power must lie between 0.5 and 1 and alpha between 0 and 1, got {power} and {alpha}."
        )
    d = significance.differences(a, b)
    n, middle, spread = len(d), mean(d), significance.deviation(d)
    error = spread / math.sqrt(max(n, 1))
    if n < 2 or middle == 0 or abs(middle) < _MIN_ERRORS * error:
        return PowerAnalysis(n, None, False, middle, power)
    # Of the 2^n choices of swaps, two reach the sum of differences that are all of one sign.
    least = 1 + math.ceil(-math.log2(alpha))
    needed = 0 if spread == 0 else sample_size(abs(middle) / spread, power, alpha)
    is_separated = significance.paired_randomization(a, b).is_significant(alpha)
    return PowerAnalysis(n, max(needed, least), is_separated, middle, power)


def sample_size(effect: float, power: float, alpha: float) -> int:
    """Least n whose two-sided paired t-test finds an effect, in standard deviations."""
    from scipy.special import ndtri

    normal = ((ndtri(1 - alpha / 2) + ndtri(power)) / effect) ** 2
    if normal > _MANY:
        return math.ceil(normal)
    return 2 + bisect_left(range(2, 2 * _MANY), power, key=lambda n: _power(n, effect, alpha))


def _power(n: int, effect: float, alpha: float) -> float:
    """Probability that n queries show an effect: Student's t about √n · effect."""
    from scipy.special import nctdtr, stdtrit

    limit = float(stdtrit(n - 1, 1 - alpha / 2))
    away = math.sqrt(n) * effect
    # What falls beyond the other end is of the wrong sign, and next to nothing.
    return float(1 - nctdtr(n - 1, away, limit))


@dataclass(frozen=True, slots=True)
class Protocol:
    """A test and what was done about many comparisons."""

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
    """The test that published tables of a metric rest on."""
    # A gain that is not normalised would weigh queries with many answers more; here the values
    # of the metric itself are tested.
    # Platt, Toutanova & Yih (2010), Translingual document representations from discriminative
    # projections. EMNLP. Yih, Toutanova, Platt & Meek (2011), Learning discriminative
    # projections for text similarity measures. CoNLL.
    metric = parse_metric(metric)
    if isinstance(metric, TopOne | MRR):
        return _UNPAIRED
    if isinstance(metric, AUC) and metric.level == "roc":  # rank loss is one too
        return _SUBSETS
    return _PAIRED


@dataclass(frozen=True, slots=True, eq=False)
class QueryValues:
    """What a run did, query by query.

    Parameters
    ----------
    metric : Metric
        What was measured, see `query_metric`.
    values : ndarray of float64, shape (n,)
        Their mean is the metric's value; NaN where a query does not count.
    unit : {"query", "pair"}
        What a value belongs to: a query, or an aligned pair that asks from both sides.
    is_independent : bool
        False where queries of both sides stand side by side although they depend on each other
        through shared judgments. Tests then find a little too much.
    """

    metric: Metric
    values: Reals
    unit: str
    is_independent: bool


def query_values(
    evaluation: Evaluation, metric: Metric | str, directions: Sequence[Direction] | None = None
) -> QueryValues:
    """Values of one metric for the tests of `simviz.evaluation.significance`.

    Parameters
    ----------
    evaluation : Evaluation
        Of one run.
    metric : Metric or str
        Any metric; what stands for it query by query, where it pools pairs.
    directions : sequence of {"x2y", "y2x"}, optional
        Which sides ask; the first that was evaluated when omitted.

    Returns
    -------
    QueryValues
        Of one direction: its queries. Of two, where every query has one answer and every answer
        one query: the mean of both, one value a pair. Of two otherwise: the queries of both sides,
        weighted so that both sides count alike.

    Raises
    ------
    ValueError
        If there is no such metric or the direction was not evaluated.

    Examples
    --------
    >>> from simviz.evaluation import VectorScorer, evaluate
    >>> Y = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1.0]])
    >>> found = evaluate(VectorScorer(), np.eye(3), Y, directions=("y2x", "x2y"))
    >>> values = query_values(found, "MRR")
    >>> values.unit, values.values.round(3).tolist(), round(found.value("MRR"), 3)
    ('query', [1.0, 1.0, 0.75], 0.917)
    """
    metric = query_metric(metric)
    requested = evaluation.directions[:1] if directions is None else tuple(directions)
    check_directions(requested, evaluation.directions)
    sides = [evaluation.per_query(metric, direction) for direction in requested]
    if len(sides) == 1:
        return QueryValues(metric, sides[0], "query", True)
    ranking = evaluation.rankings["x2y"]
    relevant = ranking.grade > 0
    x, y = ranking.query[relevant], ranking.candidate[relevant]
    if len(np.unique(x)) == len(x) and len(np.unique(y)) == len(y):  # no item is in two pairs
        both = dict(zip(requested, sides, strict=True))
        forward, back = both["x2y"][x], both["y2x"][y]
        # In a judged pool one side of a pair may be unable to fail, and not count.
        if np.array_equal(np.isnan(forward), np.isnan(back)):
            return QueryValues(metric, (forward + back) / 2, "pair", True)
    counts = [max(1, int((~np.isnan(values)).sum())) for values in sides]
    shares = [sum(counts) / (len(sides) * n) for n in counts]
    weighted = [values * share for values, share in zip(sides, shares, strict=True)]
    return QueryValues(metric, np.concatenate(weighted), "query", False)


def compared_metric(evaluation: Evaluation | Iterable[Evaluation], metric: Metric | str) -> Metric:
    """What `compare_evaluations` tests: a metric, or what stands for it query by query.

    Parameters
    ----------
    evaluation : Evaluation or iterable of Evaluation
        One of the runs, or all of them.
    metric : Metric or str
        Any metric.

    Returns
    -------
    Metric
        The same where its judged pairs are drawn, else that of `query_metric`:
        so, too, where one run was stored without the scores of its pairs.

    Raises
    ------
    ValueError
        If there is no such metric.

    Examples
    --------
    >>> from simviz.evaluation import VectorScorer, evaluate
    >>> compared_metric(evaluate(VectorScorer(), np.eye(3), np.eye(3)), "AUC")
    AUC (by query)
    """
    metric = parse_metric(metric)
    runs = [evaluation] if isinstance(evaluation, Evaluation) else evaluation
    return metric if all(pools_judged_pairs(one, metric) for one in runs) else query_metric(metric)
