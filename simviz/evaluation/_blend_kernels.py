"""Counting loops of the blend curve; its functions import them when they run.

Against a target t, a competitor j scores above where
d(α) = α (l_j - l_t) + (1 - α) (b_j - b_t) > 0. That is a line in α, so its
sign changes once at most, at α* = Δb / (Δb - Δl): one step in an array of
differences over the grid says where j stands at every α.

Scores are compared as floating-point numbers everywhere else, so they are
here: wherever d is not far enough from 0 for rounding to be out of play, both
scores are computed as a blend computes them, and compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz._numba import njit, prange

Ints = NDArray[np.int64]
Steps = NDArray[np.int32]
Reals = NDArray[np.float64]
Scores = NDArray[np.floating[Any]]

#: Rounding of both scores and of α*, over the sum of what was added: 2⁻⁵⁰ is 4 times as much.
_ROUNDING = 2.0**-50
_LEAST = 1e-300  # the same where numbers become too small to be rounded in proportion


@njit()
def _step(steps: Steps, first: int, stop: int) -> None:
    """Count one more from `first` on, up to `stop`."""
    steps[first] += 1
    steps[stop] -= 1


@njit()
def _compare_all(
    learned: float,
    lexical: float,
    own_learned: float,
    own_lexical: float,
    alphas: Reals,
    above: Steps,
    tied: Steps,
) -> None:
    """Compare two scores at every α, as they are rounded."""
    for k in range(len(alphas)):
        alpha = alphas[k]
        rest = 1.0 - alpha
        score = alpha * learned + rest * lexical
        own = alpha * own_learned + rest * own_lexical
        if score > own:
            _step(above, k, k + 1)
        elif score == own:
            _step(tied, k, k + 1)


@njit()
def _compare(
    learned: float,
    lexical: float,
    own_learned: float,
    own_lexical: float,
    alphas: Reals,
    inner: Reals,
    bucket_start: Ints,
    above: Steps,
    tied: Steps,
) -> None:
    """Add to the steps of a target where a competitor stands above, and level.

    `inner` holds the smallest α above 0 and the largest below 1.
    """
    d_learned = learned - own_learned
    d_lexical = lexical - own_lexical
    n = len(alphas)
    if d_learned == 0.0 and d_lexical == 0.0:
        tied[0] += 1
        return
    size = abs(learned) + abs(lexical) + abs(own_learned) + abs(own_lexical)
    rounding = _ROUNDING * size + _LEAST
    gap_learned, gap_lexical = abs(d_learned), abs(d_lexical)
    if (d_learned >= 0.0) == (d_lexical >= 0.0) or d_learned == 0.0 or d_lexical == 0.0:
        # One sign wherever both count; at an end where only one does, perhaps level.
        low, high = inner[0], inner[1]
        near = min(
            low * gap_learned + (1.0 - low) * gap_lexical,
            high * gap_learned + (1.0 - high) * gap_lexical,
        )
        if near <= rounding:
            _compare_all(learned, lexical, own_learned, own_lexical, alphas, above, tied)
            return
        first, stop = 0, n
        if d_lexical == 0.0 and alphas[0] == 0.0:
            _step(tied, 0, 1)
            first = 1
        if d_learned == 0.0 and alphas[n - 1] == 1.0:
            _step(tied, n - 1, n)
            stop = n - 1
        if d_learned + d_lexical > 0.0 and stop > first:
            _step(above, first, stop)
        return
    flip = d_lexical / (d_lexical - d_learned)
    k = bucket_start[int(flip * (len(bucket_start) - 1))]
    while k < n and alphas[k] < flip:
        k += 1
    slope = gap_learned + gap_lexical
    is_near = k < n and (alphas[k] - flip) * slope <= rounding
    if is_near or (k > 0 and (flip - alphas[k - 1]) * slope <= rounding):
        _compare_all(learned, lexical, own_learned, own_lexical, alphas, above, tied)
    elif d_learned > 0.0:
        if k < n:
            _step(above, k, n)
    elif k > 0:
        _step(above, 0, k)


@njit(parallel=True)
def compare_rows(
    learned: Scores,
    lexical: Scores,
    indptr: Ints,
    indices: Ints,
    alphas: Reals,
    inner: Reals,
    bucket_start: Ints,
    above: Steps,
    tied: Steps,
) -> int:
    """Compare the listed candidates of each row with all of the row.

    Adds to ``above[p]`` and ``tied[p]``, steps over the grid and one place
    beyond, and returns how many scores are not finite.
    """
    n_wrong = 0
    for i in prange(learned.shape[0]):
        wrong = 0
        for j in range(learned.shape[1]):
            total = learned[i, j] + lexical[i, j]
            wrong += total - total != 0.0
        n_wrong += wrong
        if wrong == 0:
            for p in range(indptr[i], indptr[i + 1]):
                own_learned = np.float64(learned[i, indices[p]])
                own_lexical = np.float64(lexical[i, indices[p]])
                higher, level = above[p], tied[p]
                for j in range(learned.shape[1]):
                    l, b = np.float64(learned[i, j]), np.float64(lexical[i, j])  # noqa: E741
                    # Most compete with a target that is ahead of them in both.
                    if l < own_learned and b < own_lexical:
                        near = min(own_learned - l, own_lexical - b)
                        size = abs(l) + abs(b) + abs(own_learned) + abs(own_lexical)
                        if near > _ROUNDING * size + _LEAST:
                            continue
                    _compare(
                        l,
                        b,
                        own_learned,
                        own_lexical,
                        alphas,
                        inner,
                        bucket_start,
                        higher,
                        level,
                    )
    return n_wrong


@njit(parallel=True)
def compare_columns(
    learned: Scores,
    lexical: Scores,
    first_column: int,
    indptr: Ints,
    own_learned: Reals,
    own_lexical: Reals,
    alphas: Reals,
    inner: Reals,
    bucket_start: Ints,
    above: Steps,
    tied: Steps,
) -> None:
    """Compare the listed rows of some columns with these rows of the columns.

    Column ``first_column + c`` lists the places ``indptr[c]`` to
    ``indptr[c + 1]`` of `own_learned`, `own_lexical`, `above` and `tied`.
    """
    n_columns = len(indptr) - 1
    width = 64  # columns of a strip: its steps stay in cache while rows pass by
    for strip in prange((n_columns + width - 1) // width):
        for i in range(learned.shape[0]):
            for c in range(strip * width, min(n_columns, (strip + 1) * width)):
                l = np.float64(learned[i, first_column + c])  # noqa: E741
                b = np.float64(lexical[i, first_column + c])
                for p in range(indptr[c], indptr[c + 1]):
                    if l < own_learned[p] and b < own_lexical[p]:
                        near = min(own_learned[p] - l, own_lexical[p] - b)
                        size = abs(l) + abs(b) + abs(own_learned[p]) + abs(own_lexical[p])
                        if near > _ROUNDING * size + _LEAST:
                            continue
                    _compare(
                        l,
                        b,
                        own_learned[p],
                        own_lexical[p],
                        alphas,
                        inner,
                        bucket_start,
                        above[p],
                        tied[p],
                    )
