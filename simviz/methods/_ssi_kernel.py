"""The inner loop of supervised semantic indexing, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from simviz._numba import njit


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
def _contains(indices: Any, first: int, last: int, value: Any) -> bool:
    """Whether a sorted stretch of indices holds a value."""
    end = last
    while first < last:
        middle = (first + last) // 2
        if indices[middle] < value:
            first = middle + 1
        else:
            last = middle
    return first < end and indices[first] == value


@njit()
def _dot(indices_a: Any, data_a: Any, a: int, end_a: int, indices_b: Any, data_b: Any, b: int,
         end_b: int) -> float:  # fmt: skip
    """Inner product of two sparse rows with sorted indices."""
    total = 0.0
    while a < end_a and b < end_b:
        if indices_a[a] == indices_b[b]:
            total += data_a[a] * data_b[b]
            a += 1
            b += 1
        elif indices_a[a] < indices_b[b]:
            a += 1
        else:
            b += 1
    return total


@njit()
def descend(
    x_ptr: Any, x_idx: Any, x_val: Any, y_ptr: Any, y_idx: Any, y_val: Any,
    queries: Any, relevant: Any, other_ptr: Any, other_idx: Any, explicit: bool,
    U: Any, V: Any, n: int, seed: int, margin: float, rate: float, identity: bool,
) -> float:  # fmt: skip
    """Sample n triples, step on those that violate the margin, return the summed loss.

    `U` (d_x, N) and `V` (d_y, N) change in place. `other_ptr`, `other_idx`
    list the judged negatives of each query when `explicit`, else its relevant
    items, which are then rejected.
    """
    n_components = U.shape[1]
    n_y = len(y_ptr) - 1
    state = _start(seed)
    t = np.empty(n_components)
    s = np.empty(n_components)
    total = 0.0
    for _ in range(n):
        state = _next(state)
        pair = np.int64(state % np.uint64(len(queries)))
        q, plus = queries[pair], relevant[pair]
        first, last = other_ptr[q], other_ptr[q + 1]
        while True:
            state = _next(state)
            if explicit:
                minus = other_idx[first + np.int64(state % np.uint64(last - first))]
                break
            minus = np.int64(state % np.uint64(n_y))
            if not _contains(other_idx, first, last, minus):
                break
        t[:] = 0.0
        s[:] = 0.0
        for p in range(x_ptr[q], x_ptr[q + 1]):
            for c in range(n_components):
                t[c] += x_val[p] * U[x_idx[p], c]
        for p in range(y_ptr[plus], y_ptr[plus + 1]):
            for c in range(n_components):
                s[c] += y_val[p] * V[y_idx[p], c]
        for p in range(y_ptr[minus], y_ptr[minus + 1]):
            for c in range(n_components):
                s[c] -= y_val[p] * V[y_idx[p], c]
        gap = 0.0
        for c in range(n_components):
            gap += t[c] * s[c]
        if identity:
            gap += _dot(x_idx, x_val, x_ptr[q], x_ptr[q + 1],
                        y_idx, y_val, y_ptr[plus], y_ptr[plus + 1])  # fmt: skip
            gap -= _dot(x_idx, x_val, x_ptr[q], x_ptr[q + 1],
                        y_idx, y_val, y_ptr[minus], y_ptr[minus + 1])  # fmt: skip
        if gap >= margin:
            continue
        total += margin - gap
        # Both updates use t and s from before either.
        for p in range(x_ptr[q], x_ptr[q + 1]):
            for c in range(n_components):
                U[x_idx[p], c] += rate * x_val[p] * s[c]
        for p in range(y_ptr[plus], y_ptr[plus + 1]):
            for c in range(n_components):
                V[y_idx[p], c] += rate * y_val[p] * t[c]
        for p in range(y_ptr[minus], y_ptr[minus + 1]):
            for c in range(n_components):
                V[y_idx[p], c] -= rate * y_val[p] * t[c]
    return total
