"""Differences of paired values, and Student's t of their mean."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.evaluation.differences import LEVEL

Reals = NDArray[np.float64]


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
    d[np.abs(d) <= LEVEL] = 0.0
    return d


def mean(values: Reals) -> float:
    """Mean; NaN of nothing."""
    return float(values.mean()) if len(values) else math.nan


def deviation(values: Reals) -> float:
    """Standard deviation of the sample; 0 where values differ by rounding only."""
    if len(values) < 2:
        return math.nan
    return float(values.std(ddof=1)) if np.ptp(values) > LEVEL else 0.0


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

    reach = float(stdtrit(df, (1 + level) / 2)) * error
    return difference - reach, difference + reach


def standardized(difference: float, spread: float, df: float) -> float:
    """Difference in standard deviations, without the bias of small samples (Hedges).

    With J = Γ(df/2) / (√(df/2) Γ((df − 1)/2)), about 1 − 3 / (4 df − 1).
    """
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
