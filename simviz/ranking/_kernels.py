"""Counting loops of `simviz.ranking`; its functions import them when they run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simviz._numba import njit, prange

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Scores = NDArray[np.floating]


@njit(parallel=True)
def count_rows(
    scores: Scores,
    scale: Scores,
    indptr: Ints,
    indices: Ints,
    above: Ints,
    tied: Ints,
    listed: Reals,
) -> int:
    """Count, for each listed candidate, the row's entries above it and equal to it."""
    # Fills `above`, `tied` and `listed` (the candidate's own score) and returns the number of
    # NaN met.
    n_y = scores.shape[1]
    n_nan = 0
    for i in prange(scores.shape[0]):
        row = scores[i]
        start, stop = indptr[i], indptr[i + 1]
        nan = 0
        if stop - start == 1:
            # The common case: three comparisons an entry, which compile to SIMD.
            own = row[indices[start]] * scale[indices[start]]
            higher = 0
            equal = 0
            for j in range(n_y):
                value = row[j] * scale[j]
                higher += value > own
                equal += value == own
                nan += value != value
            above[start], tied[start], listed[start] = higher, equal, own
        else:
            for p in range(start, stop):
                listed[p] = row[indices[p]] * scale[indices[p]]
            ordered = np.sort(listed[start:stop])
            m = stop - start
            # Entries above ordered[p - 1] and not above ordered[p]; what equals
            # a repeated score counts where the score stands first.
            between = np.zeros(m + 1, np.int64)
            equal_to = np.zeros(m + 1, np.int64)
            for j in range(n_y):
                value = row[j] * scale[j]
                nan += value != value
                if m == 0 or value < ordered[0]:
                    continue
                low, high = 0, m
                while low < high:
                    middle = (low + high) // 2
                    if ordered[middle] < value:
                        low = middle + 1
                    else:
                        high = middle
                between[low] += 1
                if low < m and ordered[low] == value:
                    equal_to[low] += 1
            for p in range(m - 1, -1, -1):
                between[p] += between[p + 1]
            for p in range(start, stop):
                first = np.searchsorted(ordered, listed[p])
                tied[p] = equal_to[first]
                above[p] = between[first + 1]
        n_nan += nan
    return n_nan


@njit()
def first_relevant_reciprocal(
    above: Ints, tied: Ints, relevant: Ints, places: Ints, out: Reals
) -> None:
    """Expect 1 / rank of the first of `relevant` ones among the first places of `tied`."""
    # With F the place of the first relevant one inside its tie group, P(F = 1) = r / t and P(F =
    # f + 1) / P(F = f) = (t - f - r + 1) / (t - f).
    for q in range(len(out)):
        t, r = tied[q], relevant[q]
        probability = r / t
        total = 0.0
        for f in range(1, min(t - r + 1, places[q]) + 1):
            term = probability / (above[q] + f)
            total += term
            # The terms shrink, and geometrically once r is large.
            if term * (t - f) < 1e-17 * total:
                break
            probability *= (t - f - r + 1) / (t - f)
        out[q] = total
