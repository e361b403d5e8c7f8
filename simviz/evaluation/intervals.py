"""Where the mean over all such queries lies, judged from those at hand."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Reals = NDArray[np.float64]

#: Queries drawn at a time.
_DRAWN = 100_000


def mean(values: ArrayLike) -> float:
    """Mean of the values that are not NaN; NaN where there are none.

    Parameters
    ----------
    values : array-like of float
        One value a query.

    Returns
    -------
    float
        Their mean.

    Examples
    --------
    >>> mean([1.0, float("nan"), 0.5])
    0.75
    """
    kept = _kept(values)
    return float(kept.mean()) if len(kept) else float("nan")


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

    Examples
    --------
    >>> standard_error([0.0, 1.0, 0.0, 1.0]).__round__(4)
    0.2887
    """
    kept = _kept(values)
    return float(kept.std(ddof=1) / np.sqrt(len(kept))) if len(kept) > 1 else float("nan")


def confidence_interval(
    values: ArrayLike,
    level: float = 0.95,
    *,
    method: Literal["bootstrap", "bca", "normal"] = "bootstrap",
    n_resamples: int = 2000,
    random_state: int = 0,
) -> tuple[float, float]:
    """Interval for the mean of per-query values; those that are NaN are skipped.

    Parameters
    ----------
    values : array-like of float
        One value a query.
    level : float, default=0.95
        Share of such intervals that cover the true mean.
    method : {"bootstrap", "bca", "normal"}, default="bootstrap"
        Percentiles of the means of resampled queries; the same, corrected for
        bias and skewness; or the mean plus and minus a multiple of its
        standard error.
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
        If `level` lies outside (0, 1) or the method is unknown.

    Examples
    --------
    >>> low, high = confidence_interval([0.0, 1.0] * 50, method="normal")
    >>> round(low, 3), round(high, 3)
    (0.402, 0.598)
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}.")
    if method not in ("bootstrap", "bca", "normal"):
        raise ValueError(f"method must be 'bootstrap', 'bca' or 'normal', got {method!r}.")
    kept = _kept(values)
    if len(kept) < 2:
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    if method == "normal":
        from statistics import NormalDist

        reach = NormalDist().inv_cdf(1 - tail) * standard_error(kept)
        return float(kept.mean() - reach), float(kept.mean() + reach)
    means = resampled_means(kept, n_resamples, random_state)
    if method == "bca":
        return bca_interval(kept, means, level)
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def resampled_means(values: Reals, n_resamples: int, random_state: int) -> Reals:
    """Means of lists drawn from a list, with replacement, as long as it is.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        What is drawn from.
    n_resamples : int
        How often.
    random_state : int
        Seed of the draws.

    Returns
    -------
    ndarray of float64, shape (n_resamples,)
        The means.
    """
    rng = np.random.default_rng(random_state)
    # Some at a time: memory stays small however many queries there are.
    together = max(1, _DRAWN // len(values))
    means = np.empty(n_resamples)
    for start in range(0, n_resamples, together):
        part = means[start : start + together]
        part[:] = values[rng.integers(0, len(values), (len(part), len(values)))].mean(axis=1)
    return means


def bca_interval(values: Reals, means: Reals, level: float) -> tuple[float, float]:
    """Efron's bias-corrected and accelerated interval of a mean.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        What was drawn from.
    means : ndarray of float, shape (n_resamples,)
        Means of what was drawn, see `resampled_means`.
    level : float
        Share of such intervals that cover the true mean.

    Returns
    -------
    low, high : float
        The mean itself, twice, where all values are equal.
    """
    from statistics import NormalDist

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


def _kept(values: ArrayLike) -> Reals:
    array = np.asarray(values, dtype=np.float64).ravel()
    return array[~np.isnan(array)]
