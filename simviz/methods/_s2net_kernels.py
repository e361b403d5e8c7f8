"""Compiled loops of S2Net over comparisons: sigmoids, their sums, log-losses.

Everything works on ``exp(γ s)``, so that a comparison costs a multiplication
instead of an exponential: with ``x = exp(γ (s⁻ − s⁺))`` the derivative of
``log(1 + x)`` is ``x / (1 + x)``. Logarithms are not taken one by one either:
the factors ``1 + x`` are multiplied in float64, their exponents counted apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simviz._numba import njit, prange

# Columns that one thread works on at a time. Products of as many numbers below 2
# stay finite, and all buffers stay in the first-level cache.
WIDTH = 512

LOGISTIC, HINGE, SOFTMAX = 0, 1, 2

_LN2 = 0.6931471805599453
_MANTISSA = 0xFFFFFFFFFFFFF
_ONE = 0x3FF0000000000000


@njit()
def _take_exponents(bits: Any) -> int:
    """Bring positive doubles, given as their bits, into [1, 2); return what was taken."""
    taken = 0
    for j in range(len(bits)):
        taken += (bits[j] >> 52) - 1023
        bits[j] = (bits[j] & _MANTISSA) | _ONE
    return taken


@njit()
def _fold(values: Any) -> Any:
    """Sum of an array by halves, which compiles to SIMD; destroys it."""
    n = len(values)
    while n > 8:
        half = n // 2
        for j in range(half):
            values[j] += values[n - half + j]
        n -= half
    total = 0.0
    for j in range(n):
        total += values[j]
    return total


@njit(parallel=True)
def compare_matched(E: Any, a: Any, b: Any, every: int, rows: Any, cols: Any, logs: Any) -> None:
    """Both directions at once, where an item has one relevant partner at most.

    `E` (b, m) holds exp(γ s), 0 for relevant pairs, and becomes the sum of
    the sigmoids x/(1+x) of row and column; `a` (b,) and `b` (m,) are
    exp(−γ s⁺), 0 where there is no partner. Adds sums of sigmoids to `rows`
    (chunks, b) and `cols` (m,), summed losses to `logs` (chunks,). `every` tells
    how many rows' factors a double can hold.
    """
    n, m = E.shape
    one = np.float32(1)
    for c in prange((m + WIDTH - 1) // WIDTH):
        lo = c * WIDTH
        w = min(m, lo + WIDTH) - lo
        partner = b[lo : lo + w]
        product = np.ones(w)
        bits = product.view(np.int64)
        column = np.zeros(w, E.dtype)
        own = np.zeros(w, E.dtype)
        exponent = 0
        for i in range(n):
            e = E[i, lo : lo + w]
            factor = a[i]
            for j in range(w):
                x = e[j] * factor
                y = e[j] * partner[j]
                p = one + x
                q = one + y
                inverse = one / (p * q)
                r = x * q * inverse
                s = y * p * inverse
                own[j] = r
                column[j] += s
                e[j] = r + s
                product[j] *= np.float64(p) * np.float64(q)
            rows[c, i] += _fold(own)
            if i % every == every - 1:
                exponent += _take_exponents(bits)
        exponent += _take_exponents(bits)
        mantissa = 1.0
        for j in range(w):
            mantissa *= product[j]
            cols[lo + j] += column[j]
        logs[c] += np.log(mantissa) + exponent * _LN2


@njit(parallel=True)
def compare_rows(
    E: Any, G: Any, indptr: Any, factor: Any, weight: Any, hinge: bool, every: int, rho: Any,
    loss: Any,
) -> None:  # fmt: skip
    """Compare every listed partner of a row with all other items of the row.

    For log-losses `E` (b, m) holds exp(γ s), 0 for relevant pairs, and `factor`
    exp(−γ s⁺) of each listed partner; for hinges s, −inf for relevant pairs, and
    s⁺ − margin. Derivatives are added to `G` (b, m) and, summed, to `rho` of
    each listed partner; both and the `loss` of each row times `weight` (b,).
    """
    m = E.shape[1]
    one = np.float32(1)
    for i in prange(E.shape[0]):
        total = 0.0
        first, last = indptr[i], indptr[i + 1]
        for lo in range(0, m if last > first else 0, WIDTH):
            w = min(m, lo + WIDTH) - lo
            e = E[i, lo : lo + w]
            g = G[i, lo : lo + w]
            scale = weight[i]
            own = np.zeros(w, E.dtype)
            product = np.ones(w)
            bits = product.view(np.int64)
            exponent = 0
            for p in range(first, last):
                f = factor[p]
                if hinge:
                    for j in range(w):
                        excess = max(e[j] - f, np.float32(0))
                        active = one if excess > 0 else np.float32(0)
                        own[j] = active
                        g[j] += scale * active
                        total += excess
                else:
                    for j in range(w):
                        x = e[j] * f
                        y = one + x
                        r = x / y
                        own[j] = r
                        g[j] += scale * r
                        product[j] *= np.float64(y)
                    if (p - first) % every == every - 1:
                        exponent += _take_exponents(bits)
                rho[p] += weight[i] * _fold(own)
            if not hinge:
                exponent += _take_exponents(bits)
                mantissa = 1.0
                for j in range(w):
                    mantissa *= product[j]
                total += np.log(mantissa) + exponent * _LN2
        loss[i] += weight[i] * total


@njit(parallel=True)
def compare_listed(
    kind: int, high: Any, low: Any, ptr: Any, lower: Any, weight: Any, margin: float, out: Any,
    loss: Any,
) -> None:  # fmt: skip
    """Compare listed pairs of a query with those of lower grade.

    Pairs are sorted by query and grade; the first ``lower[e]`` of a query are
    graded below pair e. `high` is exp(−γ s) and `low` exp(γ s); for hinges −s and
    s. Derivatives by the scores (but for γ) are added to `out`, the `loss`
    of each query is written; both times `weight` of the query.
    """
    for q in prange(len(ptr) - 1):
        first = ptr[q]
        total = 0.0
        for e in range(first, ptr[q + 1]):
            n = lower[e]
            if n == 0:
                continue
            below = low[first : first + n]
            took = out[first : first + n]
            f = high[e]
            given = 0.0
            if kind == HINGE:
                for j in range(n):
                    gap = margin + below[j] + f
                    if gap > 0:
                        total += gap
                        took[j] += weight[q]
                        given += 1
            elif kind == LOGISTIC:
                product = 1.0
                for j in range(n):
                    x = below[j] * f
                    product *= 1 + x
                    if product > 1e100:  # a factor is below e^200
                        total += np.log(product)
                        product = 1.0
                    r = x / (1 + x)
                    took[j] += weight[q] * r
                    given += r
                total += np.log(product)
            else:
                x = 0.0
                for j in range(n):
                    x += below[j] * f
                for j in range(n):
                    took[j] += weight[q] * below[j] * f / (1 + x)
                given = x / (1 + x)
                total += np.log1p(x)
            out[e] -= weight[q] * given
        loss[q] = weight[q] * total


@njit(parallel=True)
def pair_scores(P: Any, Q: Any, x: Any, y: Any, out: Any) -> None:
    """Inner products of listed rows of P and Q, in float64."""
    for e in prange(len(x)):
        p, q = P[x[e]], Q[y[e]]
        total = 0.0
        for c in range(len(p)):
            total += np.float64(p[c]) * np.float64(q[c])
        out[e] = total


@njit(parallel=True)
def add_pairs(ptr: Any, other: Any, weight: Any, order: Any, Z: Any, out: Any) -> None:
    """Add to each row of `out` its listed rows of `Z`, weighted, in place.

    Row i lists the places ``order[ptr[i]:ptr[i + 1]]`` of `other` and `weight`.
    """
    for i in prange(len(ptr) - 1):
        row = out[i]
        for p in range(ptr[i], ptr[i + 1]):
            z, w = Z[other[order[p]]], weight[order[p]]
            for c in range(len(row)):
                row[c] += w * z[c]


@njit(parallel=True)
def unit_rows(P: Any, bias: Any, known: Any, inverse: Any) -> None:
    """Add the bias to known rows and scale them to length 1, in place; clear the others."""
    smallest = np.finfo(P.dtype).tiny
    for i in prange(len(P)):
        p = P[i]
        inverse[i] = 0
        if not known[i]:
            p[:] = 0
            continue
        squares = np.zeros(8)
        for c in range(len(p)):
            p[c] += bias[c]
            squares[c & 7] += np.float64(p[c]) * np.float64(p[c])
        norm = np.sqrt(squares.sum())
        if norm > smallest:
            inverse[i] = 1 / norm
        scale = inverse[i]
        for c in range(len(p)):
            p[c] *= scale


@njit(parallel=True)
def tangent_rows(P: Any, inverse: Any, dP: Any) -> None:
    """Derivatives by unit rows become those by the rows before, in place.

    What points along a row is lost, the rest is divided by its length.
    """
    for i in prange(len(P)):
        p, d = P[i], dP[i]
        products = np.zeros(8)
        for c in range(len(p)):
            products[c & 7] += np.float64(p[c]) * np.float64(d[c])
        along, scale = P.dtype.type(products.sum()), inverse[i]
        for c in range(len(p)):
            d[c] = scale * (d[c] - along * p[c])


@njit(parallel=True)
def adam_step(
    A: Any, gradient: Any, mean: Any, square: Any, average: Any, rate: float, correction: float,
    decay: float,
) -> None:  # fmt: skip
    """One step of Adam in place, and the running average of what it visits."""
    one = A.dtype.type(1)
    first, second, tiny = A.dtype.type(0.9), A.dtype.type(0.999), A.dtype.type(1e-8)
    step, root, keep = A.dtype.type(rate), A.dtype.type(correction), A.dtype.type(decay)
    for i in prange(A.shape[0]):
        a, g, m, v, s = A[i], gradient[i], mean[i], square[i], average[i]
        for c in range(A.shape[1]):
            m[c] = first * m[c] + (one - first) * g[c]
            v[c] = second * v[c] + (one - second) * g[c] * g[c]
            a[c] -= step * m[c] / (np.sqrt(v[c] * root) + tiny)
            s[c] = keep * s[c] + (one - keep) * a[c]
