"""How far curves over all pairs would move with other queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simviz.evaluation.classes import ScoreCounts
from simviz.evaluation.roc import Roc

Reals = NDArray[np.float64]
Interval = tuple[float, float]

#: Replicates drawn at a time.
_DRAWN = 100
_RATES = np.unique(np.concatenate([[0.0], np.geomspace(1e-5, 1, 101), np.linspace(0, 1, 101)]))
_RECALLS = np.linspace(0.01, 1, 100)


class Band(NamedTuple):
    """A curve's pointwise confidence band.

    Parameters
    ----------
    at : ndarray of float64, shape (n,)
        Where on the horizontal axis, ascending.
    low, high : ndarray of float64, shape (n,)
        Bounds there.
    """

    at: Reals
    low: Reals
    high: Reals


@dataclass(frozen=True, slots=True, eq=False)
class CurveBands:
    """Bands and intervals of what is read off a ROC curve.

    Parameters
    ----------
    tpr : Band
        True against false positive rate.
    precision : Band
        Precision against recall.
    auc, average_precision, equal_error_rate : tuple of float
        Lower and upper bound; NaN where a class is empty.
    n_queries : int
        Queries, or groups of them, that were drawn again.
    """

    tpr: Band
    precision: Band
    auc: Interval
    average_precision: Interval
    equal_error_rate: Interval
    n_queries: int


def curve_bands(
    counts: ScoreCounts,
    roc: Roc,
    *,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> CurveBands:
    """Draw the queries again and again, each with all of its pairs.

    Pairs of one query are alike; resampling single pairs would make intervals
    far too narrow. So whole queries are drawn, as clusters are [1]_.

    Parameters
    ----------
    counts : ScoreCounts
        Pairs by query and score.
    roc : Roc
        The exact curve, around whose areas the intervals lie.
    n_resamples : int, default=1000
        Times the queries are drawn.
    confidence : float, default=0.95
        Share that bounds enclose, above 0 and below 1.
    seed : int, default=0
        Of the draws.

    Returns
    -------
    CurveBands
        Percentiles of what the draws give.

    Raises
    ------
    ValueError
        If a setting is out of range.

    Notes
    -----
    The candidates stay as they are: the bands tell of other queries to the
    same candidates. Between two cuts a curve is straight, which only shifts
    all draws alike; that shift is taken off the intervals.

    References
    ----------
    .. [1] C. A. Field and A. H. Welsh. "Bootstrapping clustered data." Journal
       of the Royal Statistical Society B 69(3), 2007.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is a share above 0 and below 1, got {confidence!r}.")
    if n_resamples < 2:
        raise ValueError(f"n_resamples counts draws, at least 2; got {n_resamples!r}.")
    # From the top: none passes at first, then all down to each cut.
    passing = [
        np.pad(np.cumsum(part[:, ::-1], axis=1), ((0, 0), (1, 0))).astype(np.float64)
        for part in (counts.negative, counts.relevant)
    ]
    n = len(passing[0])
    rng = np.random.default_rng(seed)
    curves: list[tuple[Reals, Reals, Reals]] = []
    for start in range(0, n_resamples, _DRAWN):
        size = min(_DRAWN, n_resamples - start)
        drawn = rng.multinomial(n, np.full(n, 1 / n), size=size).astype(np.float64)
        curves += map(_read_off, drawn @ passing[0], drawn @ passing[1])
    tpr, precision, areas = (np.array(part) for part in zip(*curves, strict=True))
    _, _, whole = _read_off(passing[0].sum(axis=0), passing[1].sum(axis=0))
    exact = np.array([roc.auc, roc.average_precision, roc.equal_error_rate])
    shares = [(1 - confidence) / 2, (1 + confidence) / 2]
    bounds = _percentiles(areas, shares) + (exact - whole)
    auc, average, equal = (
        (float(low), float(high)) for low, high in np.clip(bounds, 0, 1).T.tolist()
    )
    return CurveBands(
        tpr=Band(_RATES, *_percentiles(tpr, shares)),
        precision=Band(_RECALLS, *_percentiles(precision, shares)),
        auc=auc,
        average_precision=average,
        equal_error_rate=equal,
        n_queries=n,
    )


def _read_off(fp: Reals, tp: Reals) -> tuple[Reals, Reals, Reals]:
    """Both curves at fixed places, and the three areas, of one draw."""
    if not fp[-1] or not tp[-1]:
        return np.full(_RATES.shape, np.nan), np.full(_RECALLS.shape, np.nan), np.full(3, np.nan)
    fpr, tpr = fp / fp[-1], tp / tp[-1]
    # Backwards, so that of several points with one recall the first counts.
    with_recall = -np.interp(-_RECALLS, -tpr[::-1], -fp[::-1])
    found = _RECALLS * tp[-1]
    precision = found / (found + with_recall)
    gap = np.interp(0.0, fpr - (1 - tpr), fpr)
    return (
        np.interp(_RATES, fpr, tpr),
        precision,
        np.array([np.trapezoid(tpr, fpr), precision.mean(), gap]),
    )


def _percentiles(values: Reals, shares: list[float]) -> Reals:
    """Of each column, draws without one of the classes left out."""
    kept = values[~np.isnan(values).any(axis=1)]
    if not len(kept):
        return np.full((2, values.shape[1]), np.nan)
    return np.asarray(np.quantile(kept, shares, axis=0), dtype=np.float64)
