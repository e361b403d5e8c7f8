"""Loops of the Jensen-Shannon similarity; its functions import them when they run.

One compiled loop compares two distributions wherever that is asked for (all
pairs, listed pairs, ranks), always in the same order of operations and with
commutative ones only. So equal distributions get equal scores to the last bit,
whichever side asks, in whatever block, on however many threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz._numba import njit, prange
from simviz.base._elementary import log2

Ints = NDArray[np.int64]
Columns = NDArray[np.int32]
Values = NDArray[np.floating[Any]]

_TILE = 16  # queries at a time, so that a candidate read from memory serves them all
_CHUNK = 32  # candidates that stay in the second-level cache meanwhile


@njit(fastmath=frozenset({"contract"}))
def _shared(p: Any, q: Any, p_log: Any, q_log: Any) -> Any:
    """(p + q) log2(p + q) - p log2 p - q log2 q, and exactly 0 unless both are positive."""
    total = p + q
    gained = total * log2(total) - (p_log + q_log)
    return gained if p * q > 0 else p * q


# Only the sum over topics is in this function's own code, so only it may be
# split into lanes ("reassoc"); what is added keeps the order written above.
@njit(parallel=True, fastmath=frozenset({"reassoc"}))
def shared_information(
    P: Values,
    P_log: Values,
    Q: Values,
    Q_log: Values,
    start: Ints,
    stop: Ints,
    columns: Columns,
    place: Ints,
    n_parts: int,
    out: Values,
) -> None:
    """Compare each row i of P with the rows ``columns[start[i]:stop[i]]`` of Q.

    ``columns`` ascend within a row; results, from 0 to 1, go to ``out`` from
    ``place[i]`` on. ``P_log`` holds p log2 p. The width is a multiple of the
    lanes, so that no topic is left for a slower loop. A tile of rows is split
    into ``n_parts`` ranges of candidates, for queries too few to share out.
    """
    n, width = P.shape
    n_tiles = (n + _TILE - 1) // _TILE
    per_part = (Q.shape[0] + n_parts - 1) // n_parts
    for task in prange(n_tiles * n_parts):
        first = (task // n_parts) * _TILE
        last = min(n, first + _TILE)
        left = (task % n_parts) * per_part
        right = min(Q.shape[0], left + per_part)
        at = np.empty(last - first, np.int64)
        for i in range(first, last):
            at[i - first] = start[i] + np.searchsorted(columns[start[i] : stop[i]], left)
        for chunk in range(left, right, _CHUNK):
            end = min(right, chunk + _CHUNK)
            for i in range(first, last):
                e = at[i - first]
                while e < stop[i] and columns[e] < end:
                    j = columns[e]
                    total = P[i, 0] - P[i, 0]
                    for k in range(width):
                        total += _shared(P[i, k], Q[j, k], P_log[i, k], Q_log[j, k])
                    half = total / 2
                    out[place[i] + e - start[i]] = min(max(half, 0), 1)
                    e += 1
                at[i - first] = e


@njit(parallel=True)
def screen(
    bound: Values,
    indptr: Ints,
    lowest: Values,
    highest: Values,
    between: Ints,
    columns: Columns,
    n_open: Ints,
    n_zero: Ints,
) -> None:
    """Settle all candidates whose bound decides; list those left open.

    ``lowest`` and ``highest`` ascend within a row: a bound below
    ``lowest[c]`` cannot reach listed candidate c, one above ``highest[c]``
    certainly exceeds it. Adds to ``between[p]`` the settled candidates that
    exceed p but not p + 1; bounds of exactly 0 are similarities of 0 and only
    counted. Open candidates go to the row's ``columns``.
    """
    for i in prange(bound.shape[0]):
        row = bound[i]
        first, last = indptr[i], indptr[i + 1]
        listed = 0
        zero = 0
        if last - first == 1:
            low, high = lowest[first], highest[first]
            above = 0
            for j in range(len(row)):
                value = row[j]
                above += value > high
                if value >= low and value <= high:
                    if value > 0:
                        columns[i, listed] = j
                        listed += 1
                    else:
                        zero += 1
            between[first] += above
        elif last > first:
            for j in range(len(row)):
                value = row[j]
                if value < lowest[first]:
                    continue
                if value == 0:
                    zero += 1
                    continue
                exceeded = np.searchsorted(highest[first:last], value)
                reached = np.searchsorted(lowest[first:last], value, side="right")
                if exceeded < reached:
                    columns[i, listed] = j
                    listed += 1
                elif exceeded > 0:
                    between[first + exceeded - 1] += 1
        n_open[i], n_zero[i] = listed, zero


@njit(parallel=True)
def narrow(
    B: Values,
    C: Values,
    lines: Values,
    slack: float,
    indptr: Ints,
    ordered: Values,
    between: Ints,
    columns: Columns,
    n_open: Ints,
) -> None:
    """Settle what the second bound decides among the open candidates; keep the rest.

    ``lines`` holds lower and upper lines for B in equal cells, ``ordered``
    the listed similarities, ascending within a row; for the rest see `screen`.
    """
    n_cells = len(lines)
    for i in prange(B.shape[0]):
        first, last = indptr[i], indptr[i + 1]
        kept = 0
        for e in range(n_open[i]):
            j = columns[i, e]
            line = lines[min(int(B[i, j] * n_cells), n_cells - 1)]
            low = line[0] + line[1] * B[i, j] + C[i, j] - slack
            high = line[2] + line[3] * B[i, j] + C[i, j] + slack
            exceeded = np.searchsorted(ordered[first:last], low)
            reached = np.searchsorted(ordered[first:last], high, side="right")
            if exceeded < reached:
                columns[i, kept] = j
                kept += 1
            elif exceeded > 0:
                between[first + exceeded - 1] += 1
        n_open[i] = kept


@njit(parallel=True)
def place(
    similarity: Values,
    n_open: Ints,
    n_zero: Ints,
    indptr: Ints,
    ordered: Values,
    between: Ints,
    equal: Ints,
) -> None:
    """Place the open candidates, and those of similarity 0, among the listed ones.

    ``ordered`` holds the listed similarities, ascending within a row. Equal
    ones are counted in ``equal`` where they stand first.
    """
    for i in prange(len(n_open)):
        first, last = indptr[i], indptr[i + 1]
        for e in range(n_open[i]):
            value = similarity[i, e]
            low = first + np.searchsorted(ordered[first:last], value)
            if low < last and ordered[low] == value:
                equal[low] += 1
            if low > first:
                between[low - 1] += 1
        if first < last and ordered[first] == 0:
            equal[first] += n_zero[i]
