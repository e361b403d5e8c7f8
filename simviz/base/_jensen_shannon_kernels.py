"""Loops of the Jensen-Shannon similarity; its functions import them when they run.

One compiled loop compares two distributions wherever that is asked for (all
pairs, listed pairs, ranks), always in the same order of operations and with
commutative ones only. So equal distributions get equal scores to the last bit,
whichever side asks, in whatever block, on however many threads.
"""

from __future__ import annotations

from math import factorial, log
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from simviz._numba import njit, prange

_P0, _P1, _P2, _P3, _P4, _P5, _P6, _P7 = map(
    np.float32,
    (
        1.4426948,
        -0.72135717,
        0.48093945,
        -0.36008722,
        0.28670752,
        -0.250069,
        0.23688993,
        -0.14574403,
    ),
)
_SERIES = tuple(2 / np.log(2) / n for n in range(1, 21, 2))
_Z0, _Z1, _Z2, _Z3, _Z4, _Z5, _Z6, _Z7, _Z8, _Z9 = _SERIES
_POWERS = tuple(log(2) ** n / factorial(n) for n in range(1, 14))
_E1, _E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9, _E10, _E11, _E12, _E13 = _POWERS
_S1, _S2, _S3, _S4, _S5, _S6, _S7 = map(np.float32, _POWERS[:7])
_ONE = np.float32(1)
_ROOT_HALF_32 = np.int32(0x3F3504F3)
_EXPONENT_32 = np.int32(-(2**23))
_SHIFT_32 = np.int32(23)
_ROOT_HALF_64 = np.int64(0x3FE6A09E667F3BCD)
_EXPONENT_64 = np.int64(-(2**52))
_SHIFT_64 = np.int64(52)
# A number this large has no bits for fractions: adding it rounds to an integer,
# which then stands in the lowest bits.
_ROUND_32 = np.float32(1.5 * 2**23)
_ROUND_64 = np.float64(1.5 * 2**52)
_BITS_32 = np.int32(_ROUND_32.view(np.int32) - 127)
_BITS_64 = np.int64(_ROUND_64.view(np.int64) - 1023)

# Under its own error model numba would test every divisor for 0, number by number.
_OPTIONS = {"fastmath": {"contract"}, "error_model": "numpy"}

Ints = NDArray[np.int64]
Columns = NDArray[np.int32]
Values = NDArray[np.floating[Any]]

_TILE = 16  # queries at a time, so that a candidate read from memory serves them all
_CHUNK = 32  # candidates that stay in the second-level cache meanwhile


def log2(x: Any) -> Any:
    """Logarithm of a positive normal number."""
    raise NotImplementedError("Only compiled code calls this.")


def exp2(x: Any) -> Any:
    """Power of two, where it is a normal number."""
    raise NotImplementedError("Only compiled code calls this.")


def _log2_single(x: Any) -> Any:
    bits = np.float32(x).view(np.int32)
    exponent = np.int32(np.int32(bits - _ROOT_HALF_32) & _EXPONENT_32)
    f = np.int32(bits - exponent).view(np.float32) - _ONE
    p = ((((((_P7 * f + _P6) * f + _P5) * f + _P4) * f + _P3) * f + _P2) * f + _P1) * f + _P0
    return p * f + np.float32(np.int32(exponent >> _SHIFT_32))


def _log2_double(x: Any) -> Any:
    bits = np.float64(x).view(np.int64)
    exponent = np.int64(np.int64(bits - _ROOT_HALF_64) & _EXPONENT_64)
    m = np.int64(bits - exponent).view(np.float64)
    z = (m - 1.0) / (m + 1.0)
    w = z * z
    p = ((((_Z9 * w + _Z8) * w + _Z7) * w + _Z6) * w + _Z5) * w + _Z4
    p = (((p * w + _Z3) * w + _Z2) * w + _Z1) * w + _Z0
    return p * z + np.float64(np.int64(exponent >> _SHIFT_64))


def _exp2_single(x: Any) -> Any:
    rounded = np.float32(x + _ROUND_32)
    r = np.float32(x - (rounded - _ROUND_32))
    p = (((((_S7 * r + _S6) * r + _S5) * r + _S4) * r + _S3) * r + _S2) * r + _S1
    scale = np.int32(np.int32(rounded.view(np.int32) - _BITS_32) << _SHIFT_32)
    return (p * r + _ONE) * scale.view(np.float32)


def _exp2_double(x: Any) -> Any:
    rounded = np.float64(x + _ROUND_64)
    r = np.float64(x - (rounded - _ROUND_64))
    p = ((((_E13 * r + _E12) * r + _E11) * r + _E10) * r + _E9) * r + _E8
    p = ((((p * r + _E7) * r + _E6) * r + _E5) * r + _E4) * r + _E3
    p = (p * r + _E2) * r + _E1
    scale = np.int64(np.int64(rounded.view(np.int64) - _BITS_64) << _SHIFT_64)
    return (p * r + 1.0) * scale.view(np.float64)


@overload(log2, jit_options=_OPTIONS)
def _choose_log2(x: Any) -> Any:
    return _log2_single if x == types.float32 else _log2_double


@overload(exp2, jit_options=_OPTIONS)
def _choose_exp2(x: Any) -> Any:
    return _exp2_single if x == types.float32 else _exp2_double


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
    """Compare each row i of P with the rows ``columns[start[i]:stop[i]]`` of Q."""
    # ``columns`` ascend within a row; results, from 0 to 1, go to ``out`` from ``place[i]`` on.
    # ``P_log`` holds p log2 p. The width is a multiple of the lanes, so that no topic is left
    # for a slower loop. A tile of rows is split into ``n_parts`` ranges of candidates, for
    # queries too few to share out.
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
    """Settle all candidates whose bound decides; list those left open."""
    # ``lowest`` and ``highest`` ascend within a row: a bound below ``lowest[c]`` cannot reach
    # listed candidate c, one above ``highest[c]`` certainly exceeds it. Adds to ``between[p]``
    # the settled candidates that exceed p but not p + 1; bounds of exactly 0 are similarities of
    # 0 and only counted. Open candidates go to the row's ``columns``.
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
                end = np.searchsorted(lowest[first:last], value, side="right")
                if exceeded < end:
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
    """Settle what the second bound decides among the open candidates; keep the rest."""
    # ``lines`` holds lower and upper lines for B in equal cells, ``ordered`` the listed
    # similarities, ascending within a row; for the rest see `screen`.
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
            end = np.searchsorted(ordered[first:last], high, side="right")
            if exceeded < end:
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
    """Place the open candidates, and those of similarity 0, among the listed ones."""
    # ``ordered`` holds the listed similarities, ascending within a row. Equal ones are counted
    # in ``equal`` where they stand first.
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
