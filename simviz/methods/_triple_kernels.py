"""Compiled steps on triples: a query, an item relevant to it, one that is not.

The rows of a side are four arrays ``(ptr, first, idx, val)``: row i has the values
``val[ptr[i]:ptr[i + 1]]`` at the columns ``idx[first[i]:]``. Of a CSR matrix `first` is `ptr`; of
a dense one it is 0 and `idx` counts the columns, so that neither is copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simviz._numba import njit

# Products and sums may be joined, and sums split into lanes: without it the loops below
# take a third longer.
_FAST = frozenset({"contract", "reassoc"})


@njit()
def _next(state: Any) -> Any:
    """One step of xorshift64; the state is its own answer, never 0."""
    state ^= (state << np.uint64(13)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    state ^= state >> np.uint64(7)
    state ^= (state << np.uint64(17)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    return state


@njit()
def _start(seed: int) -> Any:
    """Scramble a small seed (splitmix64), so that neighbouring seeds part at once."""
    z = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) | np.uint64(1)


@njit()
def _absent(listed: Any, first: Any, last: Any, rank: Any) -> Any:
    """The number that stands at `rank` among those not in a sorted stretch."""
    low: Any = first
    high: Any = last
    while low < high:
        middle = (low + high) // 2
        if listed[middle] - (middle - first) <= rank:
            low = middle + 1
        else:
            high = middle
    return rank + low - first


@njit()
def draw(queries: Any, relevant: Any, ptr: Any, listed: Any, judged: bool, n_y: int, group: int,
         triples: Any, seed: int) -> None:  # fmt: skip
    """Fill `triples` (n, 3): pairs uniformly, each with `group` others, uniformly."""
    # ``listed[ptr[q]:ptr[q + 1]]`` are the items `judged` not relevant to q, from which the
    # others are taken; else, sorted, those that may not be taken.
    state = _start(seed)
    pair = np.int64(0)
    for i in range(len(triples)):
        if i % group == 0:
            state = _next(state)
            pair = np.int64(state % np.uint64(len(queries)))
        q = queries[pair]
        first, last = np.int64(ptr[q]), np.int64(ptr[q + 1])
        state = _next(state)
        if judged:
            triples[i, 2] = listed[first + np.int64(state % np.uint64(last - first))]
        else:
            rank = np.int64(state % np.uint64(n_y - (last - first)))
            triples[i, 2] = _absent(listed, first, last, rank)
        triples[i, 0] = q
        triples[i, 1] = relevant[pair]


@njit(fastmath=_FAST)
def _add_row(rows: Any, i: int, sign: Any, A: Any, out: Any) -> None:
    """``out += sign * row_i @ A``."""
    ptr, first, idx, val = rows
    shift = first[i] - ptr[i]
    p, end = ptr[i], ptr[i + 1]
    # Four at a time: a quarter of the loads and stores of `out`.
    while p + 3 < end:
        a0, a1, a2, a3 = sign * val[p], sign * val[p + 1], sign * val[p + 2], sign * val[p + 3]
        row0, row1 = A[np.uint64(idx[p + shift])], A[np.uint64(idx[p + shift + 1])]
        row2, row3 = A[np.uint64(idx[p + shift + 2])], A[np.uint64(idx[p + shift + 3])]
        for c in range(len(out)):
            out[c] += (a0 * row0[c] + a1 * row1[c]) + (a2 * row2[c] + a3 * row3[c])
        p += 4
    while p < end:
        a = sign * val[p]
        row = A[np.uint64(idx[p + shift])]
        for c in range(len(out)):
            out[c] += a * row[c]
        p += 1


@njit(fastmath=_FAST)
def _add_outer(rows: Any, i: int, rate: Any, v: Any, A: Any) -> None:
    """``A += rate * outer(row_i, v)``."""
    ptr, first, idx, val = rows
    shift = first[i] - ptr[i]
    p, end = ptr[i], ptr[i + 1]
    while p + 3 < end:
        a0, a1, a2, a3 = rate * val[p], rate * val[p + 1], rate * val[p + 2], rate * val[p + 3]
        row0, row1 = A[np.uint64(idx[p + shift])], A[np.uint64(idx[p + shift + 1])]
        row2, row3 = A[np.uint64(idx[p + shift + 2])], A[np.uint64(idx[p + shift + 3])]
        for c in range(len(v)):
            row0[c] += a0 * v[c]
            row1[c] += a1 * v[c]
            row2[c] += a2 * v[c]
            row3[c] += a3 * v[c]
        p += 4
    while p < end:
        a = rate * val[p]
        row = A[np.uint64(idx[p + shift])]
        for c in range(len(v)):
            row[c] += a * v[c]
        p += 1


@njit()
def _scatter(rows: Any, i: int, sign: Any, out: Any) -> None:
    """``out += sign * row_i`` on a dense vector."""
    ptr, first, idx, val = rows
    shift = first[i] - ptr[i]
    for p in range(ptr[i], ptr[i + 1]):
        out[idx[p + shift]] += sign * val[p]


@njit()
def _clear(rows: Any, i: int, out: Any) -> None:
    """Undo what `_scatter` left behind, exactly."""
    ptr, first, idx, _ = rows
    shift = first[i] - ptr[i]
    for p in range(ptr[i], ptr[i + 1]):
        out[idx[p + shift]] = 0


@njit(fastmath=_FAST)
def _gather(rows: Any, i: int, v: Any) -> float:
    """``row_i @ v`` with a dense vector."""
    ptr, first, idx, val = rows
    shift = first[i] - ptr[i]
    total = 0.0
    for p in range(ptr[i], ptr[i + 1]):
        total += val[p] * v[idx[p + shift]]
    return total


@njit(fastmath=_FAST)
def low_rank_steps(x: Any, y: Any, triples: Any, group: int, U: Any, V: Any, margin: float,
                   rate: Any, identity: bool, x_squares: Any,
                   y_squares: Any) -> float:  # fmt: skip
    """Step U and V in place on the triples that violate the margin; the summed loss."""
    # `U` (d_x, N) and `V` (d_y, N) may be one array, for the symmetric form; rows that fill
    # cache lines, see `simviz.methods._triples.aligned`, are fastest. Up to `group` successive
    # triples of one pair make one step: they share the costly sums over its terms. Its length is
    # bounded as `bounded_rates` says, by the squared lengths of the rows.
    one = V.dtype.type(1)
    t = np.empty(U.shape[1], U.dtype)
    best, pull = np.empty_like(t), np.empty_like(t)
    s = np.empty((group, U.shape[1]), U.dtype)
    violated = np.empty(group, np.bool_)
    query = np.zeros(len(U) if identity else 0, U.dtype)
    total = 0.0
    start = 0
    while start < len(triples):
        q, plus = triples[start, 0], triples[start, 1]
        stop = start + 1
        while (
            stop < len(triples)
            and stop - start < group
            and triples[stop, 0] == q
            and triples[stop, 1] == plus
        ):
            stop += 1
        t[:] = 0
        best[:] = 0
        _add_row(x, q, one, U, t)
        _add_row(y, plus, one, V, best)
        lexical = 0.0
        if identity:
            _scatter(x, q, one, query)
            lexical = _gather(y, plus, query)
        count = 0
        steepest = 0.0
        own = 0.0
        for c in range(len(t)):
            own += t[c] * t[c]
        pull[:] = 0
        for k in range(stop - start):
            minus = triples[start + k, 2]
            s[k] = best
            _add_row(y, minus, -one, V, s[k])
            gap = lexical
            for c in range(len(t)):
                gap += t[c] * s[k, c]
            if identity:
                gap -= _gather(y, minus, query)
            violated[k] = gap < margin
            if violated[k]:
                count += 1
                total += margin - gap
                pull += s[k]
                other = 0.0
                for c in range(len(t)):
                    other += s[k, c] * s[k, c]
                slope = x_squares[q] * other + 2 * (y_squares[plus] + y_squares[minus]) * own
                steepest = max(steepest, slope)
        if identity:
            _clear(x, q, query)
        if count:
            # All updates use t and s from before any of them.
            step = rate if rate * steepest <= 1 else U.dtype.type(1 / steepest)
            _add_outer(x, q, step, pull, U)
            _add_outer(y, plus, step * U.dtype.type(count), t, V)
            for k in range(stop - start):
                if violated[k]:
                    _add_outer(y, triples[start + k, 2], -step, t, V)
        start = stop
    return total


@njit()
def diagonal_steps(x: Any, y: Any, triples: Any, w: Any, margin: float, rate: Any) -> float:
    """Step the diagonal `w` (d,) in place; the summed loss."""
    one = w.dtype.type(1)
    delta = np.zeros(len(w), w.dtype)
    total = 0.0
    for i in range(len(triples)):
        q, plus, minus = triples[i]
        _scatter(y, plus, one, delta)
        _scatter(y, minus, -one, delta)
        shift = x[1][q] - x[0][q]
        gap = 0.0
        for p in range(x[0][q], x[0][q + 1]):
            j = x[2][p + shift]
            gap += x[3][p] * w[j] * delta[j]
        if gap < margin:
            total += margin - gap
            for p in range(x[0][q], x[0][q + 1]):
                j = x[2][p + shift]
                w[j] += rate * x[3][p] * delta[j]
        _clear(y, plus, delta)
        _clear(y, minus, delta)
    return total


@njit()
def full_steps(x: Any, y: Any, triples: Any, W: Any, margin: float, rate: Any, passive: bool,
               lag: Any, done: int) -> float:  # fmt: skip
    """Step the whole matrix `W` (d_x, d_y) in place; the summed loss."""
    # With `passive` a step is as long as meets the margin, at most `rate`. `lag`, unless empty,
    # sums the updates times the number of steps before them: ``W - lag / n`` is the mean of W
    # over n steps.
    one = W.dtype.type(1)
    delta = np.zeros(W.shape[1], W.dtype)
    total = 0.0
    for i in range(len(triples)):
        q, plus, minus = triples[i]
        gap = 0.0
        shift = x[1][q] - x[0][q]
        for p in range(x[0][q], x[0][q + 1]):
            row = W[x[2][p + shift]]
            gap += x[3][p] * (_gather(y, plus, row) - _gather(y, minus, row))
        if gap >= margin:
            continue
        total += margin - gap
        step = rate
        if passive:
            _scatter(y, plus, one, delta)
            _scatter(y, minus, -one, delta)
            # Rows may share columns: |d+ - d-|^2 is d+ . delta - d- . delta.
            length = _gather(y, plus, delta) - _gather(y, minus, delta)
            _clear(y, plus, delta)
            _clear(y, minus, delta)
            square = 0.0
            for p in range(x[0][q], x[0][q + 1]):
                square += x[3][p] * x[3][p]
            if square * length <= 0:
                continue  # nothing tells the two items apart: no step could help
            step = W.dtype.type(min(rate, (margin - gap) / (square * length)))
        for p in range(x[0][q], x[0][q + 1]):
            j, a = x[2][p + shift], step * x[3][p]
            _scatter(y, plus, a, W[j])
            _scatter(y, minus, -a, W[j])
            if len(lag):
                b = np.float64(a) * (done + i)
                _scatter(y, plus, b, lag[j])
                _scatter(y, minus, -b, lag[j])
    return total


@njit()
def project_rows(x: Any, rows: Any, A: Any, out: Any) -> None:
    """``out[i] = row rows[i] @ A``."""
    one = A.dtype.type(1)
    for i in range(len(rows)):
        out[i] = 0
        _add_row(x, rows[i], one, A, out[i])


@njit()
def update_rows(x: Any, rows: Any, rate: Any, G: Any, A: Any) -> None:
    """``A += rate * sum_i outer(row rows[i], G[i])``."""
    for i in range(len(rows)):
        _add_outer(x, rows[i], rate, G[i], A)
