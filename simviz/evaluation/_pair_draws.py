"""Items of judged pairs drawn again, and how far what runs did spreads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simviz.evaluation._weighted import Weighted, weighted
from simviz.evaluation.differences import LEVEL
from simviz.evaluation.metrics import Metric

if TYPE_CHECKING:
    from simviz.evaluation.pair_tests import JudgedPairs

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]

#: Pairs of draws held at a time.
_DRAWN = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """What runs did as they are, and under draws of each kind.

    Parameters
    ----------
    exact : ndarray of float, shape (n_runs,)
        Without drawing.
    values : dict of str to (ndarray of float, int)
        By what is drawn: one row a run, and how many there are to draw.
    df : int
        Degrees of freedom.
    """

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


def drawn_again(
    runs: Sequence[JudgedPairs], metric: Metric, n_resamples: int, random_state: int
) -> Drawn:
    """Runs on the same judged pairs under the same draws."""
    first = runs[0]
    values = [weighted(metric, run.score, run.relevant, run.judged) for run in runs]
    kinds = first.drawn if len(first.drawn) == 1 else (*first.drawn, "pairs")
    items = {"pairs": np.arange(len(first)), "x items": first.x, "y items": first.y}
    drawn: dict[str, tuple[Reals, int]] = {}
    for number, kind in enumerate(kinds):
        seed = np.random.default_rng([random_state, number])
        drawn[kind] = draws(values, items[kind], n_resamples, seed)
    once = np.ones((1, len(first)), dtype=np.int64), items["pairs"]
    exact = np.array([one(*once)[0] for one in values])
    # An area rests on its rarer class, a correlation on all pairs.
    counted = np.ones(len(first), dtype=bool)
    if metric.level == "roc":
        counted = first.relevant == (2 * first.relevant.sum() <= len(first))
    df = min(len(np.unique(items[kind][counted])) for kind in first.drawn) - 1
    return Drawn(exact, drawn, df)


def draws(
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
    kept = differences[~np.isnan(differences)]
    if min(len(kept), n) < 2:
        return math.nan
    # Draws that differ by rounding only have none.
    return float(kept.var(ddof=1)) * n / (n - 1) if np.ptp(kept) > LEVEL else 0.0
