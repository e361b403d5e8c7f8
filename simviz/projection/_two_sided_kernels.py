"""Compiled loops of the two-sided layout."""

from __future__ import annotations

from typing import Any

import numpy as np

from simviz._numba import njit, prange

#: What lets a sum of floats run in lanes: the order of its terms, and products fused with sums.
_LANES = frozenset({"reassoc", "contract", "arcp", "nsz"})
_ONE = np.float32(1)


@njit(parallel=True)
def calibrate(cost: Any, counts: Any, perplexity: float, out: Any) -> None:
    """Shares exp(−β cost) of each row, with the β at which they have a perplexity."""
    for i in prange(len(cost)):
        k = counts[i]
        out[i] = 0
        if not k:
            continue
        spread = 0.0
        for j in range(k):
            spread += cost[i, j] - cost[i, 0]
        # With few neighbours the perplexity leaves room for differences between them.
        goal = np.log(max(1.0, min(perplexity, 2 * k / 3)))
        low, high = 0.0, np.inf
        beta = k / spread if spread > 0 else 1.0
        total = 1.0
        for _ in range(60):
            total, mean = 0.0, 0.0
            for j in range(k):
                excess = cost[i, j] - cost[i, 0]
                weight = np.exp(-beta * excess)
                total += weight
                mean += weight * excess
            entropy = np.log(total) + beta * mean / total
            if abs(entropy - goal) < 1e-5:
                break
            if entropy > goal:
                low = beta
                beta = 2 * beta if high == np.inf else (low + high) / 2
            else:
                high = beta
                beta = (low + high) / 2
        for j in range(k):
            out[i, j] = np.exp(-beta * (cost[i, j] - cost[i, 0])) / total


@njit()
def sort_into_cells(x: Any, y: Any, left: float, low: float, width: float, n: int) -> Any:
    """Points in the order of their cells on a grid of n × n, and where each cell begins."""
    cell = np.empty(len(x), dtype=np.int64)
    begins = np.zeros(n * n + 1, dtype=np.int64)
    for i in range(len(x)):
        row = min(max(int((y[i] - low) / width), 0), n - 1)
        column = min(max(int((x[i] - left) / width), 0), n - 1)
        cell[i] = row * n + column
        begins[cell[i] + 1] += 1
    for c in range(n * n):
        begins[c + 1] += begins[c]
    order = np.empty(len(x), dtype=np.int64)
    used = begins[:-1].copy()
    for i in range(len(x)):
        order[used[cell[i]]] = i
        used[cell[i]] += 1
    return order, begins


@njit()
def sum_cells(x: Any, y: Any, charge: Any, begins: Any) -> Any:
    """The cells that hold points: first at or after each cell, middles, counts and charges."""
    first = np.empty(len(begins), dtype=np.int64)
    n = 0
    for c in range(len(begins) - 1):
        first[c] = n
        n += begins[c + 1] > begins[c]
    first[-1] = n
    sums = np.zeros((4, n), dtype=np.float32)
    for c in range(len(begins) - 1):
        at, size = first[c], begins[c + 1] - begins[c]
        for i in range(begins[c], begins[c + 1]):
            sums[0, at] += x[i] / size
            sums[1, at] += y[i] / size
            sums[2, at] += _ONE
            sums[3, at] += charge[i]
    return first, sums[0], sums[1], sums[2], sums[3]


@njit(fastmath=_LANES)
def _pushed(
    a: Any, b: Any, own: Any, x: Any, y: Any, count: Any, charge: Any, start: int, stop: int
) -> Any:
    """Push on a point (a, b) by sources of a range, and the sum of their kernels."""
    f, g, z = np.float32(0), np.float32(0), np.float32(0)
    for j in range(start, stop):
        dx, dy = a - x[j], b - y[j]
        u = _ONE / (_ONE + dx * dx + dy * dy)
        z += count[j] * u
        w = (own * count[j] + charge[j]) * u * u
        f += w * dx
        g += w * dy
    return f, g, z


@njit(parallel=True)
def repel(
    x: Any, y: Any, own: Any, left: float, low: float, width: float, n: int, to_x: Any, to_y: Any,
    ones: Any, charge: Any, begins: Any, first: Any, cell_x: Any, cell_y: Any, cell_n: Any,
    cell_charge: Any, radius: int, out: Any,
) -> None:  # fmt: skip
    """Σ (own + charge) u² (p − q) and Σ u over points q: near ones singly, far ones by cell."""
    # Near are cells within `radius` of the own one in each direction; none if it is negative.
    for i in prange(len(x)):
        a, b, r = x[i], y[i], own[i]
        row = min(max(int((b - low) / width), 0), n - 1)
        column = min(max(int((a - left) / width), 0), n - 1)
        top, end = max(row - radius, 0), min(row + radius, n - 1) + 1
        side, stop = max(column - radius, 0), min(column + radius, n - 1) + 1
        if radius < 0:
            end = top
        f, g, z = np.float32(0), np.float32(0), np.float32(0)
        at = 0
        # Cells and points lie row by row: between two lines of near cells all are far.
        for line in range(top, end + 1):
            c = line * n
            stop_far = first[c + side] if line < end else len(cell_x)
            more = _pushed(a, b, r, cell_x, cell_y, cell_n, cell_charge, at, stop_far)
            f, g, z = f + more[0], g + more[1], z + more[2]
            if line < end:
                at = first[c + stop]
                near, stop_near = begins[c + side], begins[c + stop]
                more = _pushed(a, b, r, to_x, to_y, ones, charge, near, stop_near)
                f, g, z = f + more[0], g + more[1], z + more[2]
        out[0, i], out[1, i], out[2, i] = f, g, z


@njit(parallel=True, fastmath=_LANES)
def descend(
    at: Any, push: Any, indptr: Any, indices: Any, data: Any, exaggeration: Any, rate: Any,
    momentum: Any, longest: Any, speed: Any, gain: Any, out: Any,
) -> None:  # fmt: skip
    """One step down the gradient, with momentum and a gain for each coordinate, into `out`."""
    x, y = at[0], at[1]
    for i in prange(len(x)):
        f, g = np.float32(0), np.float32(0)
        for t in range(indptr[i], indptr[i + 1]):
            dx, dy = x[i] - x[indices[t]], y[i] - y[indices[t]]
            w = data[t] / (_ONE + dx * dx + dy * dy)
            f += w * dx
            g += w * dy
        slope = (
            np.float32(4) * (exaggeration * f - push[0, i]),
            np.float32(4) * (exaggeration * g - push[1, i]),
        )
        for c in range(2):
            same = slope[c] * speed[c, i] > 0
            new = gain[c, i] * np.float32(0.8) if same else gain[c, i] + np.float32(0.2)
            gain[c, i] = max(new, np.float32(0.01))
            speed[c, i] = momentum * speed[c, i] - rate * gain[c, i] * slope[c]
        length = np.sqrt(speed[0, i] ** 2 + speed[1, i] ** 2)
        for c in range(2):
            if length > longest:
                speed[c, i] *= longest / length
            out[c, i] = at[c, i] + speed[c, i]
