"""Where the mean over all such queries lies, judged from those at hand."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike


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
    method: Literal["bootstrap", "normal"] = "bootstrap",
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
    method : {"bootstrap", "normal"}, default="bootstrap"
        Percentiles of the means of resampled queries, or the mean plus and
        minus a multiple of its standard error.
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
    if method not in ("bootstrap", "normal"):
        raise ValueError(f"method must be 'bootstrap' or 'normal', got {method!r}.")
    kept = _kept(values)
    if len(kept) < 2:
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    if method == "normal":
        from statistics import NormalDist

        reach = NormalDist().inv_cdf(1 - tail) * standard_error(kept)
        return float(kept.mean() - reach), float(kept.mean() + reach)
    rng = np.random.default_rng(random_state)
    # One draw at a time: memory stays at one list of queries.
    means = [kept[rng.integers(0, len(kept), len(kept))].mean() for _ in range(n_resamples)]
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def _kept(values: ArrayLike) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    array = np.asarray(values, dtype=np.float64).ravel()
    return array[~np.isnan(array)]
