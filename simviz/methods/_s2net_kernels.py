"""Compiled loops of S2Net over comparisons: sigmoids, their sums, log-losses.

Everything works on ``exp(γ s)``, so that a comparison costs a multiplication instead of an
exponential: with ``x = exp(γ (s⁻ − s⁺))`` the derivative of ``log(1 + x)`` is ``x / (1 + x)``.
Logarithms are not taken one by one either: the factors ``1 + x`` are multiplied in float64, their
exponents counted apart. Blocks of scores are read once and overwritten on the way, in the type
that the products left: floats, or bits of bfloat16.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from simviz._numba import njit, prange
from simviz.methods._product_kernels import bfloat16_bits, number

_JOINED = {"fastmath": {"contract"}}

# A number added to this has its nearest integer plus 127, the bias of exponents, in
# its last bits.
_MAGIC = np.float32(3 * 2**22 + 127)
_LEAST = np.float32(-127)

# Least relative error of 2^r for |r| <= 1/2 by a polynomial: 2e-9, found by Remez' exchange.
_C0, _C1, _C2, _C3, _C4, _C5, _C6 = (
    np.float32(c)
    for c in (
        1.0,
        0.6931472057374,
        0.2402264689061,
        0.0555032877661,
        0.0096184889583,
        0.0013399931362,
        0.0001534581201,
    )
)

# Columns that one thread works on at a time. Products of as many numbers below 2
# stay finite, and all buffers stay in the first-level cache.
WIDTH = 512
LOGISTIC, HINGE, SOFTMAX = 0, 1, 2
_LN2 = 0.6931471805599453
_MANTISSA = 0xFFFFFFFFFFFFF
_ONE = 0x3FF0000000000000


def power_of_two(x: Any) -> Any:
    """2 to the power of x: of a float32 below 128 to 2e-7, 0 from -127 down."""
    raise NotImplementedError("only for compiled loops")


@overload(power_of_two, strict=False, jit_options=_JOINED)
def _power_of_two(x: Any) -> Any:
    return _single if x == types.float32 else lambda x: np.exp2(x)


def _single(x: Any) -> Any:
    x = max(x, _LEAST)
    shifted = x + _MAGIC
    r = x - (shifted - _MAGIC)
    fraction = _C0 + r * (_C1 + r * (_C2 + r * (_C3 + r * (_C4 + r * (_C5 + r * _C6)))))
    whole = np.uint32(np.float32(shifted).view(np.uint32) << np.uint32(23)).view(np.float32)
    return fraction * whole


def stored(x: Any, before: Any) -> Any:
    """A float as an entry of the type that stood in its place, see `number`."""
    raise NotImplementedError("only for compiled loops")


@overload(stored, strict=False)
def _stored(x: Any, before: Any) -> Any:
    if isinstance(before, types.Integer):
        return lambda x, before: bfloat16_bits(x)
    return lambda x, before: x


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
def compare_matched(S: Any, scale: Any, a: Any, b: Any, every: int, rows: Any, cols: Any,
                    logs: Any) -> None:  # fmt: skip
    """Both directions at once, where an item has one relevant partner at most."""
    # `S` (b, m) holds s, −∞ for relevant pairs, and becomes the sum of the sigmoids x/(1+x) of
    # row and column; 2 to the power of s times `scale` is exp(γ s). `a` (b,) and `b` (m,) are
    # exp(−γ s⁺), 0 where there is no partner; they and `scale` tell the type to work in. Adds
    # sums of sigmoids to `rows` (chunks, b) and `cols` (m,), summed losses to `logs` (chunks,).
    # `every` tells how many rows' factors a double can hold.
    n, m = S.shape
    one = a.dtype.type(1)
    for c in prange((m + WIDTH - 1) // WIDTH):
        lo = c * WIDTH
        w = min(m, lo + WIDTH) - lo
        partner = b[lo : lo + w]
        product = np.ones(w)
        bits = product.view(np.int64)
        column = np.zeros(w, a.dtype)
        own = np.zeros(w, a.dtype)
        exponent = 0
        for i in range(n):
            s = S[i, lo : lo + w]
            factor = a[i]
            for j in range(w):
                e = power_of_two(number(s[j]) * scale)
                x = e * factor
                y = e * partner[j]
                p = one + x
                q = one + y
                both = p * q  # below e^80: float32 holds it
                inverse = one / both
                r = x * q * inverse
                t = y * p * inverse
                own[j] = r
                column[j] += t
                s[j] = stored(r + t, s[j])
                product[j] *= np.float64(both)
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
def sum_exponentials(S: Any, scale: Any, rows: Any, cols: Any) -> None:
    """Add sums of exp(γ s) to `rows` (chunks, b) and `cols` (m,); see `compare_matched`."""
    # `scale` has one number, whose type is worked in.
    n, m = S.shape
    for c in prange((m + WIDTH - 1) // WIDTH):
        lo = c * WIDTH
        w = min(m, lo + WIDTH) - lo
        own = np.zeros(w, scale.dtype)
        column = np.zeros(w, scale.dtype)
        for i in range(n):
            s = S[i, lo : lo + w]
            for j in range(w):
                e = power_of_two(number(s[j]) * scale[0])
                own[j] = e
                column[j] += e
            rows[c, i] += _fold(own)
        for j in range(w):
            cols[lo + j] += column[j]


@njit(parallel=True)
def weigh_exponentials(S: Any, scale: Any, by_row: Any, by_column: Any) -> None:
    """Each s of `S` (b, m) becomes exp(γ s) times the sum of two weights, in place."""
    n, m = S.shape
    for c in prange((m + WIDTH - 1) // WIDTH):
        lo = c * WIDTH
        hi = min(m, lo + WIDTH)
        weight = by_column[lo:hi]
        for i in range(n):
            s, own = S[i, lo:hi], by_row[i]
            for j in range(hi - lo):
                e = power_of_two(number(s[j]) * scale)
                s[j] = stored(e * (own + weight[j]), s[j])


@njit(parallel=True)
def compare_rows(
    E: Any, G: Any, indptr: Any, factor: Any, weight: Any, hinge: bool, every: int, rho: Any,
    loss: Any,
) -> None:  # fmt: skip
    """Compare every listed partner of a row with all other items of the row."""
    # For log-losses `E` (b, m) holds exp(γ s), 0 for relevant pairs, and `factor` exp(−γ s⁺) of
    # each listed partner; for hinges s, −inf for relevant pairs, and s⁺ − margin. Derivatives
    # are added to `G` (b, m) and, summed, to `rho` of each listed partner; both and the `loss`
    # of each row times `weight` (b,).
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
    """Compare listed pairs of a query with those of lower grade."""
    # Pairs are sorted by query and grade; the first ``lower[e]`` of a query are graded below
    # pair e. `high` is exp(−γ s) and `low` exp(γ s); for hinges −s and s. Derivatives by the
    # scores (but for γ) are added to `out`, the `loss` of each query is written; both times
    # `weight` of the query.
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
    for e in prange(len(x)):
        p, q = P[x[e]], Q[y[e]]
        total = 0.0
        for c in range(len(p)):
            total += np.float64(p[c]) * np.float64(q[c])
        out[e] = total


@njit(parallel=True)
def add_pairs(ptr: Any, other: Any, weight: Any, order: Any, Z: Any, out: Any) -> None:
    """Add to each row of `out` its listed rows of `Z`, weighted, in place."""
    # Row i lists the places ``order[ptr[i]:ptr[i + 1]]`` of `other` and `weight`.
    for i in prange(len(ptr) - 1):
        row = out[i]
        for p in range(ptr[i], ptr[i + 1]):
            z, w = Z[other[order[p]]], weight[order[p]]
            for c in range(len(row)):
                row[c] += w * z[c]


@njit(parallel=True)
def add_scaled(entries: Any, scale: Any, out: Any) -> None:
    """Add ``scale`` times a matrix, of floats or of bits of bfloat16, to another."""
    for i in prange(len(out)):
        row, values = out[i], entries[i]
        for c in range(len(row)):
            row[c] += scale * number(values[c])


# Vectors begin with length 1 on average. What a start does not reach has lengths such as 1e-15,
# of rounding alone: the inverse would make gradients of 1e15 of it, and no step of the others.
SHORTEST = 1e-6


@njit(parallel=True)
def unit_rows(P: Any, bias: Any, known: Any, inverse: Any) -> None:
    """Add the bias to known rows and scale them to length 1, in place; clear the others."""
    # So are rows shorter than `SHORTEST`.
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
        if norm > SHORTEST:
            inverse[i] = 1 / norm
        scale = inverse[i]
        for c in range(len(p)):
            p[c] *= scale


@njit(parallel=True)
def tangent_rows(P: Any, inverse: Any, dP: Any) -> None:
    """Derivatives by unit rows become those by the rows before, in place."""
    # What points along a row is lost, the rest is divided by its length.
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
