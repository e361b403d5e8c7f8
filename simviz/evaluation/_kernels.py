"""Counting loops of `simviz.evaluation`; its functions import them when they run.

Every count is a whole number added by one thread, so results never depend on
the number of threads or on the sizes of the blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz._numba import njit, prange

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Scores = NDArray[np.floating[Any]]
Steps = NDArray[np.int32]

#: Rounding of both scores and of α*, over the sum of what was added: 2⁻⁵⁰ is 4 times as much.
_ROUNDING = 2.0**-50
_LEAST = 1e-300  # the same where numbers become too small to be rounded in proportion


@njit(parallel=True)
def count_columns(
    scores: Scores,
    floor: Reals,
    margin: Reals,
    indptr: Ints,
    ordered: Reals,
    above: Ints,
    equal: Ints,
    place: Ints,
    kept: Reals,
    n_kept: Ints,
) -> None:
    """Place each score among the sorted scores of its column's listed rows."""
    # Adds to ``above[p]`` what lies above ``ordered[p]`` and not above the next one of the
    # column, and, where the margin is 0, to ``equal[p]`` what equals it (at the first of repeated
    # scores). Listed scores may be known up to a margin only: what lies within it goes to
    # ``place`` and ``kept``, one row a strip of columns, as far as there is room; ``n_kept``
    # counts it. ``floor`` holds the least score of each column that matters, inf if none.
    n_y = scores.shape[1]
    width = 256  # columns of a strip: its bounds stay in cache while rows pass by
    room = place.shape[1]
    for strip in prange((n_y + width - 1) // width):
        n = 0
        for i in range(scores.shape[0]):
            for j in range(strip * width, min(n_y, (strip + 1) * width)):
                value = np.float64(scores[i, j])
                if value < floor[j]:
                    continue
                start, stop = indptr[j], indptr[j + 1]
                least = value - margin[j]
                low, high = start, stop
                while low < high:
                    middle = (low + high) // 2
                    if ordered[middle] < least:
                        low = middle + 1
                    else:
                        high = middle
                if low > start:
                    above[low - 1] += 1
                if margin[j] == 0.0:
                    if low < stop and ordered[low] == value:
                        equal[low] += 1
                    continue
                most = value + margin[j]
                while low < stop and ordered[low] <= most:
                    if n < room:
                        place[strip, n] = low
                        kept[strip, n] = value
                    n += 1
                    low += 1
        n_kept[strip] = n


@njit(parallel=True)
def count_between(
    scores: Scores,
    ordered: Reals,
    origin: float,
    per_unit: float,
    bucket_start: Ints,
    counts: Ints,
) -> None:
    """Count scores at (odd places) and between (even places) some sorted ones."""
    # ``counts`` has one row a worker. A bucket number never falls as scores rise, so
    # `bucket_start` narrows each search to a few scores.
    n_workers = counts.shape[0]
    m = len(ordered)
    last = len(bucket_start) - 2
    for worker in prange(n_workers):
        mine = counts[worker]
        for i in range(worker, scores.shape[0], n_workers):
            row = scores[i]
            for j in range(len(row)):
                value = row[j]
                if value < ordered[0]:
                    mine[0] += 1
                    continue
                if value > ordered[m - 1]:
                    mine[2 * m] += 1
                    continue
                bucket = 0
                if per_unit > 0:
                    bucket = min(int((np.float64(value) - origin) * per_unit), last)
                low, high = bucket_start[bucket], bucket_start[bucket + 1]
                while low < high:
                    middle = (low + high) // 2
                    if ordered[middle] < value:
                        low = middle + 1
                    else:
                        high = middle
                mine[2 * low + (low < m and ordered[low] == value)] += 1


@njit()
def count_bins(
    scores: Scores,
    cuts: Reals,
    origin: float,
    per_unit: float,
    bucket_start: Ints,
    row_group: Ints,
    column_group: Ints,
    counts: Ints,
) -> None:
    """Count scores between cuts, for groups of rows or of columns."""
    # Adds to ``counts[row_group[i] + column_group[j], b]`` where ``b`` cuts are at or below the
    # score. A bucket number never falls as scores rise, so `bucket_start` narrows each search to
    # a few cuts.
    last = len(bucket_start) - 2
    for i in range(scores.shape[0]):
        row = scores[i]
        for j in range(len(row)):
            value = np.float64(row[j])
            place = (value - origin) * per_unit
            bucket = int(min(place, np.float64(last))) if place > 0 else 0
            b = bucket_start[bucket]
            while b < len(cuts) and cuts[b] <= value:
                b += 1
            counts[row_group[i] + column_group[j], b] += 1


@njit(parallel=True)
def roc_areas(
    counts: Ints,
    item: Ints,
    positive: NDArray[np.bool_],
    starts: Ints,
    max_fpr: float,
    areas: Reals,
) -> None:
    """Mean height of ROC curves up to a false-positive rate, one a row of counts."""
    # Pairs come with the highest score first; group g of ties begins at ``starts[g]``. A pair
    # counts as often as its item does. NaN where a class is empty.
    for b in prange(len(counts)):
        drawn = counts[b]
        n_positive, n_negative = 0, 0
        for p in range(len(item)):
            if positive[p]:
                n_positive += drawn[item[p]]
            else:
                n_negative += drawn[item[p]]
        if n_positive == 0 or n_negative == 0:
            areas[b] = np.nan
            continue
        limit = max_fpr * n_negative
        area = 0.0
        above_positive, above_negative = 0, 0
        for g in range(len(starts) - 1):
            tied_positive, tied_negative = 0, 0
            for p in range(starts[g], starts[g + 1]):
                if positive[p]:
                    tied_positive += drawn[item[p]]
                else:
                    tied_negative += drawn[item[p]]
            if tied_negative > 0:
                width = min(float(tied_negative), limit - above_negative)
                # Along a slope that the limit cuts, only its lower part counts.
                area += width * (above_positive + tied_positive * width / tied_negative / 2)
                above_negative += tied_negative
                if above_negative >= limit:
                    break
            above_positive += tied_positive
        areas[b] = area / (limit * n_positive)


@njit(parallel=True)
def rank_correlations(
    counts: Ints,
    item: Ints,
    a_order: Ints,
    a_starts: Ints,
    b_order: Ints,
    b_starts: Ints,
    correlations: Reals,
) -> None:
    """Spearman's correlations, one a row of counts; pairs count as their items do."""
    # Group g of ties of a list is ``order[starts[g] : starts[g + 1]]``. NaN where the first list
    # says one thing of all pairs, 0 where the second does.
    n = len(item)
    for r in prange(len(counts)):
        drawn = counts[r]
        total = 0
        for p in range(n):
            total += drawn[item[p]]
        rank = np.empty(n)  # of the first list, from the middle
        before = 0
        for g in range(len(a_starts) - 1):
            tied = 0
            for p in range(a_starts[g], a_starts[g + 1]):
                tied += drawn[item[a_order[p]]]
            for p in range(a_starts[g], a_starts[g + 1]):
                rank[a_order[p]] = before + (tied - total) / 2
            before += tied
        aa, bb, ab = 0.0, 0.0, 0.0
        before = 0
        for g in range(len(b_starts) - 1):
            tied = 0
            for p in range(b_starts[g], b_starts[g + 1]):
                tied += drawn[item[b_order[p]]]
            other = before + (tied - total) / 2
            before += tied
            for p in range(b_starts[g], b_starts[g + 1]):
                pair = b_order[p]
                weight = drawn[item[pair]]
                aa += weight * rank[pair] * rank[pair]
                ab += weight * rank[pair] * other
            bb += tied * other * other
        if aa == 0.0:
            correlations[r] = np.nan
        else:
            correlations[r] = ab / np.sqrt(aa * bb) if bb > 0.0 else 0.0


@njit()
def _step(steps: Steps, first: int, stop: int) -> None:
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
    """Add to the steps of a target where a competitor stands above, and level."""
    # `inner` holds the smallest α above 0 and the largest below 1.
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
    own_learned: Reals,
    own_lexical: Reals,
    alphas: Reals,
    inner: Reals,
    bucket_start: Ints,
    above: Steps,
    tied: Steps,
) -> None:
    """Compare the listed candidates of each query with all scores of its row."""
    # Query i lists the places ``indptr[i]`` to ``indptr[i + 1]`` of `own_learned`, `own_lexical`,
    # `above` and `tied`, which are steps over the grid and one place beyond.
    for i in prange(learned.shape[0]):
        for p in range(indptr[i], indptr[i + 1]):
            own_l, own_b = own_learned[p], own_lexical[p]
            higher, tied_there = above[p], tied[p]
            for j in range(learned.shape[1]):
                l, b = np.float64(learned[i, j]), np.float64(lexical[i, j])  # noqa: E741
                # Most compete with a target that is ahead of them in both.
                if l < own_l and b < own_b:
                    near = min(own_l - l, own_b - b)
                    size = abs(l) + abs(b) + abs(own_l) + abs(own_b)
                    if near > _ROUNDING * size + _LEAST:
                        continue
                _compare(l, b, own_l, own_b, alphas, inner, bucket_start, higher, tied_there)
