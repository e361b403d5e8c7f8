"""How often random signs give a sum as large as the one seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

#: Up to so many differences that are not 0, every choice of signs is counted.
MOST_EXACT = 36
#: Sums closer than this, relative to the largest possible one, are equal.
_EQUAL = 1e-12
_TOGETHER = 8  # signs drawn as one byte


def sign_flip_p_value(differences: Reals, n_resamples: int, random_state: int) -> float:
    """Two-sided p-value of a sum under random signs.

    Parameters
    ----------
    differences : ndarray of float, shape (n,)
        Zeros have no sign and do not matter.
    n_resamples : int
        Choices of signs to draw where there are too many to count.
    random_state : int
        Seed of the draws.

    Returns
    -------
    float
        Exact for up to 36 differences that are not 0; else drawn, where the
        signs seen count as one of the draws.
    """
    moved = differences[differences != 0]
    size = float(np.abs(moved).sum())
    # Equal sums may differ in their last bits: what is level counts as reached.
    limit = abs(float(moved.sum())) - _EQUAL * size
    if len(moved) <= MOST_EXACT:
        return _share_exact(moved, limit)
    sums = _drawn_sums(moved, n_resamples, np.random.default_rng(random_state))
    return float((1 + (np.abs(sums) >= limit).sum()) / (1 + n_resamples))


def _share_exact(values: Reals, limit: float) -> float:
    """Share of all 2^n signed sums that are `limit` or more from 0.

    Every sum is one of the first half of the values plus one of the second:
    2^(n/2) sums are sorted, and as many looked up among them.
    """
    half = len(values) // 2
    left, right = np.sort(_signed_sums(values[:half])), _signed_sums(values[half:])
    high = len(left) - np.searchsorted(left, limit - right, side="left")
    low = np.searchsorted(left, -limit - right, side="right")
    reached = int(high.sum()) + int(low.sum())
    return min(1.0, reached / 2.0 ** len(values))  # a limit of 0 counts sums of 0 twice


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
