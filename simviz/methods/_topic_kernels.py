"""Compiled loops of the topic models: sums over the non-zero counts, and no others.

With ``s = θ_d · φ_w`` for a count c of word w in item d, expectation needs only ``Σ_w (c/s) φ_w``
for an item and ``Σ_d (c/s) θ_d`` for a word: topics of single words are never written down. Rows
of θ and φ are contiguous over topics, so that each step of the inner loops is SIMD. Sums are
formed row by row, in one order however many threads there are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simviz._numba import njit, prange
from simviz.base._jensen_shannon_kernels import exp2, log2

FLOOR = 1e-30  # of a probability: far below what float32 tells from 0 beside anything else
_CEILING = 1e34  # of a count over its probability: sums of some thousand are numbers yet
_STEEPEST = 40.0  # exponent of 2 that single precision can follow
_FLAT = 0.02  # a Dirichlet parameter whose e^ψ is about 1e-22
_LN_2 = math.log(2)


# Sums of SIMD lanes may be formed in any order, fixed when the loop is compiled.
@njit(fastmath=frozenset({"reassoc", "contract"}))
def _dot(a: Any, b: Any) -> Any:
    total = a.dtype.type(0)
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@njit(fastmath=frozenset({"contract"}))
def _add(weight: Any, b: Any, out: Any) -> None:
    for k in range(len(out)):
        out[k] += weight * b[k]


@njit(fastmath=frozenset({"reassoc"}))
def _sum(a: Any) -> Any:
    total = a.dtype.type(0)
    for k in range(len(a)):
        total += a[k]
    return total


@njit(fastmath=frozenset({"reassoc"}))
def _total(a: Any) -> float:
    total = 0.0
    for k in range(len(a)):
        total += a[k]
    return total


@njit(fastmath=frozenset({"reassoc"}))
def _weighted_logs(a: Any, weights: Any) -> float:
    """Σ w log2 a."""
    floor, total = a.dtype.type(FLOOR), 0.0
    for k in range(len(a)):
        total += weights[k] * log2(a[k] if a[k] > floor else floor)
    return total


@njit()
def _share(count: Any, s: Any, ceiling: Any) -> Any:
    """c/s, kept where single precision can follow."""
    share = count / s
    return share if share < ceiling else ceiling


@njit()
def _expect(ptr: Any, idx: Any, val: Any, i: int, t: Any, phi: Any, out: Any) -> None:
    """Add Σ_w (c/s) φ_w of item `i` with topics `t` to `out`."""
    floor, ceiling = t.dtype.type(FLOOR), t.dtype.type(_CEILING)
    for e in range(ptr[i], ptr[i + 1]):
        word = phi[idx[e]]
        _add(_share(val[e], max(_dot(t, word), floor), ceiling), word, out)


@njit()
def _expect_and_judge(ptr: Any, idx: Any, val: Any, i: int, t: Any, phi: Any,
                      out: Any) -> float:  # fmt: skip
    """The same, returning Σ_w c log s."""
    floor, ceiling = t.dtype.type(FLOOR), t.dtype.type(_CEILING)
    total = 0.0
    for e in range(ptr[i], ptr[i + 1]):
        word = phi[idx[e]]
        s = max(_dot(t, word), floor)
        _add(_share(val[e], s, ceiling), word, out)
        total += val[e] * log2(s)
    return total * _LN_2


# Units of one item share its words: four at a time, so that a word that was fetched serves all.
@njit(fastmath=frozenset({"contract", "reassoc"}))
def _add_product(A: Any, B: Any, out: Any) -> None:
    a, b, c, d = out[0], out[1], out[2], out[3]
    whole = len(B) - len(B) % 4
    for j in range(0, whole, 4):
        a0, a1, a2, a3 = A[0, j], A[0, j + 1], A[0, j + 2], A[0, j + 3]
        b0, b1, b2, b3 = A[1, j], A[1, j + 1], A[1, j + 2], A[1, j + 3]
        c0, c1, c2, c3 = A[2, j], A[2, j + 1], A[2, j + 2], A[2, j + 3]
        d0, d1, d2, d3 = A[3, j], A[3, j + 1], A[3, j + 2], A[3, j + 3]
        for k in range(B.shape[1]):
            p, q, r, s = B[j, k], B[j + 1, k], B[j + 2, k], B[j + 3, k]
            a[k] += (a0 * p + a1 * q) + (a2 * r + a3 * s)
            b[k] += (b0 * p + b1 * q) + (b2 * r + b3 * s)
            c[k] += (c0 * p + c1 * q) + (c2 * r + c3 * s)
            d[k] += (d0 * p + d1 * q) + (d2 * r + d3 * s)
    for j in range(whole, len(B)):
        for i in range(4):
            _add(A[i, j], B[j], out[i])


@njit()
def _words_of(ptr: Any, idx: Any, i: int, phi: Any) -> Any:
    """φ of the words of an item: by rows, and by columns."""
    rows = np.empty((ptr[i + 1] - ptr[i], phi.shape[1]), phi.dtype)
    columns = np.empty((phi.shape[1], len(rows)), phi.dtype)
    for e in range(len(rows)):
        rows[e] = phi[idx[ptr[i] + e]]
        columns[:, e] = rows[e]
    return rows, columns


@njit()
def _divide(val: Any, S: Any) -> None:
    """c/s in place of s, of four units."""
    floor, ceiling = S.dtype.type(FLOOR), S.dtype.type(_CEILING)
    for j in range(4):
        for e in range(len(val)):
            S[j, e] = _share(val[e], max(S[j, e], floor), ceiling)


@njit()
def _expect_four(val: Any, words: Any, T: Any, S: Any, out: Any) -> None:
    """Add Σ_w (c/s) φ_w of four units of one item to `out`; its c/s are left in `S`."""
    rows, columns = words
    S[:] = 0
    _add_product(T, columns, S)
    _divide(val, S)
    _add_product(S, rows, out)


@njit(parallel=True)
def expect_rows(ptr: Any, idx: Any, val: Any, unit_ptr: Any, units: Any, T: Any, phi: Any,
                more: bool, bounds: Any, out: Any, logs: Any) -> None:  # fmt: skip
    """Write each unit's expected topic counts to `out`, its log-likelihood to `logs`."""
    # The units of item i are ``units[unit_ptr[i]:unit_ptr[i + 1]]``, with topics ``T[u]``;
    # `bounds` are limits of parts of the items. With `more`, adds to what is there.
    for part in prange(len(bounds) - 1):
        four, found = np.zeros((4, T.shape[1]), T.dtype), np.empty((4, T.shape[1]), T.dtype)
        for i in range(bounds[part], bounds[part + 1]):
            first, last = unit_ptr[i], unit_ptr[i + 1]
            if last - first > 1:
                words, counts = _words_of(ptr, idx, i, phi), val[ptr[i] : ptr[i + 1]]
                S = np.empty((4, len(counts)), T.dtype)
            for start in range(first, last, 4):
                found[:] = 0
                n = min(last - start, 4)
                if n == 1:
                    u = units[start]
                    log = _expect_and_judge(ptr, idx, val, i, T[u], phi, found[0])
                    logs[u] = logs[u] + log if more else log
                else:
                    for j in range(n):
                        four[j] = T[units[start + j]]
                    S[:] = 0
                    _add_product(four, words[1], S)
                    for j in range(n):
                        u = units[start + j]
                        log = _LN_2 * _weighted_logs(S[j], counts)
                        logs[u] = logs[u] + log if more else log
                    _divide(counts, S)
                    _add_product(S, words[0], found)
                for j in range(n):
                    _write_product(T[units[start + j]], found[j], more, out[units[start + j]])


@njit(parallel=True)
def expect_columns(ptr: Any, idx: Any, val: Any, T: Any, phi: Any, more: bool, bounds: Any,
                   out: Any) -> None:  # fmt: skip
    """Write each word's expected topic counts to `out`; with `more`, add them."""
    # `ptr`, `idx`, `val` list the units of each word.
    for part in prange(len(bounds) - 1):
        buffer = np.empty(T.shape[1], T.dtype)
        for w in range(bounds[part], bounds[part + 1]):
            buffer[:] = 0
            # s anew rather than kept: θ_u is at hand anyway, s would have to be fetched.
            _expect(ptr, idx, val, w, phi[w], T, buffer)
            _write_product(phi[w], buffer, more, out[w])


@njit(parallel=True)
def expect_counts(ptr: Any, idx: Any, val: Any, unit_ptr: Any, units: Any, weights: Any, T: Any,
                  phi: Any, bounds: Any, out: Any) -> None:  # fmt: skip
    """Write Σ_u (w c/s) θ_u of each count c of items, summed over their units, to `out`."""
    # Its first row is the first count of item ``bounds[0]``. Units count with their `weights`.
    floor, ceiling = T.dtype.type(FLOOR), T.dtype.type(_CEILING)
    for part in prange(len(bounds) - 1):
        four = np.zeros((4, T.shape[1]), T.dtype)
        for i in range(bounds[part], bounds[part + 1]):
            first, last = unit_ptr[i], unit_ptr[i + 1]
            begin = ptr[i] - ptr[bounds[0]]
            found, counts = out[begin : begin + ptr[i + 1] - ptr[i]], val[ptr[i] : ptr[i + 1]]
            found[:] = 0
            if last - first > 1:
                words = _words_of(ptr, idx, i, phi)
                S = np.empty((4, len(counts)), T.dtype)
            for start in range(first, last, 4):
                n = min(last - start, 4)
                if n == 1:
                    u = units[start]
                    for e in range(len(counts)):
                        s = max(_dot(T[u], phi[idx[ptr[i] + e]]), floor)
                        _add(_share(weights[u] * counts[e], s, ceiling), T[u], found[e])
                    continue
                for j in range(n):
                    four[j] = T[units[start + j]]
                S[:] = 0
                _add_product(four, words[1], S)
                _divide(counts, S)
                for j in range(4):
                    weight = weights[units[start + j]] if j < n else S.dtype.type(0)
                    for e in range(len(counts)):
                        S[j, e] *= weight
                _add_outer(S, four, found)


@njit(fastmath=frozenset({"contract", "reassoc"}))
def _add_outer(A: Any, B: Any, out: Any) -> None:
    p, q, r, s = B[0], B[1], B[2], B[3]
    for e in range(len(out)):
        a, b, c, d, row = A[0, e], A[1, e], A[2, e], A[3, e], out[e]
        for k in range(len(row)):
            row[k] += (a * p[k] + b * q[k]) + (c * r[k] + d * s[k])


@njit()
def add_counts(idx: Any, found: Any, phi: Any, out: Any) -> None:
    """Add what `expect_counts` found to the expected topic counts of the words ``idx``."""
    for e in range(len(idx)):
        word, row, into = phi[idx[e]], found[e], out[idx[e]]
        for k in range(len(into)):
            into[k] += word[k] * row[k]


@njit()
def _write_product(a: Any, b: Any, more: bool, out: Any) -> None:
    if more:
        for k in range(len(out)):
            out[k] += a[k] * b[k]
    else:
        for k in range(len(out)):
            out[k] = a[k] * b[k]


@njit(parallel=True)
def share_rows(A: Any, added: Any) -> None:
    """Rows ∝ A + `added`, in place; equal shares where that is nothing."""
    for u in prange(len(A)):
        row = A[u]
        for k in range(len(row)):
            row[k] += added[k]
        total = _total(row)
        if total > 0:
            scale = A.dtype.type(1 / total)
            for k in range(len(row)):
                row[k] *= scale
        else:
            row[:] = 1 / len(row)


@njit(parallel=True)
def add_and_sum(N: Any, added: Any, known: Any, bounds: Any, sums: Any) -> None:
    """Add to `known` rows, and sum the columns of each part of them into `sums`."""
    for part in prange(len(bounds) - 1):
        total = sums[part]
        total[:] = 0
        for w in range(bounds[part], bounds[part + 1]):
            row = N[w]
            if known[w] and added != 0:
                for k in range(len(row)):
                    row[k] += added
            for k in range(len(row)):
                total[k] += row[k]


@njit(parallel=True)
def scale_columns(N: Any, scale: Any) -> None:
    for w in prange(len(N)):
        row = N[w]
        for k in range(len(row)):
            row[k] *= scale[k]


@njit(parallel=True)
def sum_logs(A: Any, weights: Any, out: Any) -> None:
    """Σ_k weights[k] log A[i, k] of each row."""
    for i in prange(len(A)):
        out[i] = _LN_2 * _weighted_logs(A[i], weights)


@njit(parallel=True)
def fold_in(ptr: Any, idx: Any, val: Any, phi: Any, prior: Any, n_iter: int, bounds: Any,
            out: Any) -> None:  # fmt: skip
    """Topics of items given φ, by so many steps from equal shares; 0 without known words."""
    # θ ∝ N + `prior`. The words of an item stay in the caches over all its steps.
    for part in prange(len(bounds) - 1):
        buffer = np.empty(phi.shape[1], phi.dtype)
        for i in range(bounds[part], bounds[part + 1]):
            _fold_in(ptr, idx, val, i, phi, prior, n_iter, buffer, out[i])


@njit()
def _fold_in(ptr: Any, idx: Any, val: Any, i: int, phi: Any, prior: Any, n_iter: int,
             buffer: Any, t: Any) -> None:  # fmt: skip
    t[:] = 1 / len(t)
    for _ in range(n_iter):
        buffer[:] = 0
        _expect(ptr, idx, val, i, t, phi, buffer)
        evidence, total = 0.0, 0.0
        for k in range(len(t)):
            count = t[k] * buffer[k]
            evidence += count
            t[k] = count + prior[k]
            total += t[k]
        if evidence <= 0:
            t[:] = 0
            return
        scale = t.dtype.type(1 / total)
        for k in range(len(t)):
            t[k] *= scale


@njit(parallel=True)
def likelihoods(ptr: Any, idx: Any, val: Any, items: Any, T: Any, rows: Any, phi: Any,
                out: Any) -> None:  # fmt: skip
    """Σ_w c log s of item ``items[u]`` with topics ``T[rows[u]]``."""
    for u in prange(len(items)):
        out[u] = _likelihood(ptr, idx, val, items[u], T[rows[u]], phi)


@njit()
def _likelihood(ptr: Any, idx: Any, val: Any, i: int, t: Any, phi: Any) -> float:
    total = 0.0
    for e in range(ptr[i], ptr[i + 1]):
        total += val[e] * log2(max(_dot(t, phi[idx[e]]), t.dtype.type(FLOOR)))
    return total * _LN_2


@njit(parallel=True)
def agree(side: Any, other: Any, T: Any, duals: Any, n_steps: int, epsilon: Any,
          bounds: Any, T_side: Any, T_other: Any, apart: Any) -> None:  # fmt: skip
    """Tilt the topics of each unit until both sides use them in equal shares."""
    # Maximises −Σ c log Z(λ) − ε‖λ‖₁ over λ by FISTA, from where `duals` stand: its gradient is
    # the difference of the sides' shares of topics. Writes λ, the tilted θ e^{rate·λ} of each
    # side, and how far the shares were still apart. Rates are −1/N on one side and 1/N on the
    # other, 0 for units with an empty side. `side` is (ptr, idx, val, unit_ptr, units, rates,
    # phi), `other` (ptr, idx, val, items, rates, phi).
    ptr, idx, val, unit_ptr, units, _, phi = side
    for part in prange(len(bounds) - 1):
        buffers = np.zeros((5, 4, T.shape[1]), T.dtype)
        words, S = (phi, phi), buffers[0]
        for i in range(bounds[part], bounds[part + 1]):
            first, last = unit_ptr[i], unit_ptr[i + 1]
            counts = val[ptr[i] : ptr[i + 1]]
            if last - first > 1:
                words = _words_of(ptr, idx, i, phi)
                S = np.empty((4, len(counts)), T.dtype)
            for start in range(first, last, 4):
                chosen = units[start : min(start + 4, last)]
                _agree(
                    i, chosen, counts, words, S, side, other, T, duals, n_steps, epsilon,
                    buffers, apart,
                )  # fmt: skip
                for j in range(len(chosen)):
                    T_side[chosen[j]], T_other[chosen[j]] = buffers[0, j], buffers[1, j]


@njit()
def _agree(i: int, chosen: Any, counts: Any, words: Any, S: Any, side: Any, other: Any, T: Any,
           duals: Any, n_steps: int, epsilon: Any, buffers: Any, apart: Any) -> None:  # fmt: skip
    ptr, idx, val, _, _, rates, phi = side
    other_ptr, other_idx, other_val, items, other_rates, other_phi = other
    number = T.dtype.type
    t, t_other, y, f, f_other = buffers[0], buffers[1], buffers[2], buffers[3], buffers[4]
    momentum = 1.0
    for j in range(len(chosen)):
        y[j] = duals[chosen[j]]
    for _ in range(n_steps):
        f[:] = 0
        for j in range(len(chosen)):
            u = chosen[j]
            f_other[j] = 0
            _tilt(T[u], y[j], rates[u], t[j])
            _tilt(T[u], y[j], other_rates[u], t_other[j])
            _expect(other_ptr, other_idx, other_val, items[u], t_other[j], other_phi, f_other[j])
        if len(chosen) > 1:
            _expect_four(counts, words, t, S, f)
        else:
            _expect(ptr, idx, val, i, t[0], phi, f[0])
        after = (1 + math.sqrt(1 + 4 * momentum * momentum)) / 2
        push = number((momentum - 1) / after)
        momentum = after
        for j in range(len(chosen)):
            u = chosen[j]
            rate, other_rate = rates[u], other_rates[u]
            # 1 / the bound on the curvature
            step = number(2 / (abs(rate) + abs(other_rate))) if rate else number(0)
            _rise(step, push, epsilon, rate, other_rate, t[j], t_other[j], f[j], f_other[j], y[j],
                  duals[u])  # fmt: skip
    for j in range(len(chosen)):
        u = chosen[j]
        _tilt(T[u], duals[u], rates[u], t[j])
        _tilt(T[u], duals[u], other_rates[u], t_other[j])
        apart[u] = max(np.abs(f[j]).max() - epsilon, 0.0) if rates[u] else 0.0


@njit()
def _rise(step: Any, push: Any, epsilon: Any, rate: Any, other_rate: Any, t: Any, t_other: Any,
          f: Any, f_other: Any, y: Any, dual: Any) -> None:  # fmt: skip
    """One step of FISTA; `f` becomes by how much the shares differ."""
    threshold = step * epsilon if step else step
    for k in range(len(t)):
        gap = -rate * t[k] * f[k] - other_rate * t_other[k] * f_other[k]
        f[k] = gap
        moved = y[k] + step * gap
        above, below = moved - threshold, moved + threshold
        new = above if above > 0 else (below if below < 0 else t.dtype.type(0))
        y[k] = new + push * (new - dual[k])
        dual[k] = new


@njit(parallel=True)
def tilt_rows(T: Any, duals: Any, rates: Any, out: Any) -> None:
    """θ_u e^{rate·λ_u} of each unit."""
    for u in prange(len(T)):
        _tilt(T[u], duals[u], rates[u], out[u])


@njit(fastmath=frozenset({"contract"}))
def _tilt(t: Any, dual: Any, rate: Any, out: Any) -> None:
    scale = t.dtype.type(rate / _LN_2)
    top, bottom = t.dtype.type(_STEEPEST), t.dtype.type(-_STEEPEST)
    for k in range(len(t)):
        x = scale * dual[k]
        x = x if x < top else top
        out[k] = t[k] * exp2(x if x > bottom else bottom)


@njit()
def _exp_digamma(x: float, more: float) -> float:
    """e^(ψ(x) + `more`) for x > 0, to 1e-12 of its value; 0 for what is nearly 0."""
    if x < FLOOR:
        return 0.0
    shift = more
    while x < 8:
        shift -= 1 / x
        x += 1
    r = 1 / (x * x)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r / 132))))
    return x * math.exp(shift - 0.5 / x - series)


@njit(parallel=True)
def vary(ptr: Any, idx: Any, val: Any, B: Any, prior: Any, n_iter: int, tol: float,
         bounds: Any, gamma: Any, T: Any, logs: Any) -> None:  # fmt: skip
    """Update each item's Dirichlet `gamma` until it changes by less than `tol` on average."""
    # Words have the weights `B`, e^{E log φ}; writes e^ψ(γ) to `T` and Σ c log s to `logs`. An
    # item without known words gets γ = 0.
    for part in prange(len(bounds) - 1):
        buffer = np.empty(B.shape[1], B.dtype)
        for i in range(bounds[part], bounds[part + 1]):
            logs[i] = _vary(ptr, idx, val, i, B, prior, n_iter, tol, buffer, gamma[i], T[i])


@njit()
def _write_exp_digamma(g: Any, t: Any) -> float:
    """Write e^(ψ(g) + more) to `t` and return `more`, 0 unless all of them would be nothing."""
    top = g.max()
    # ψ(x) is about −1/x. Only the ratios of an item's topics count.
    more = 1 / top if FLOOR < top < _FLAT else 0.0
    for k in range(len(t)):
        t[k] = _exp_digamma(g[k], more)
    return more


@njit()
def _vary(ptr: Any, idx: Any, val: Any, i: int, B: Any, prior: Any, n_iter: int, tol: float,
          buffer: Any, g: Any, t: Any) -> float:  # fmt: skip
    if ptr[i] == ptr[i + 1]:
        g[:] = 0
        t[:] = 0
        return 0.0
    more = _write_exp_digamma(g, t)
    for _ in range(n_iter):
        buffer[:] = 0
        _expect(ptr, idx, val, i, t, B, buffer)
        change, evidence = 0.0, 0.0
        for k in range(len(t)):
            count = t[k] * buffer[k]
            evidence += count
            new = prior[k] + count
            change += abs(new - g[k])
            g[k] = new
        if evidence <= 0:
            g[:] = 0
            t[:] = 0
            return 0.0
        more = _write_exp_digamma(g, t)
        if change < tol * len(t):
            break
    buffer[:] = 0
    found = _expect_and_judge(ptr, idx, val, i, t, B, buffer)
    if more:
        for e in range(ptr[i], ptr[i + 1]):
            found -= more * val[e]
    return found


# No sum within the loops: which form of them runs depends on where arrays lie in memory.
@njit(fastmath=frozenset({"contract"}))
def reassign(start: int, stop: int, ptr: Any, idx: Any, val: Any, shares: Any, weights: Any,
             a: Any, b: Any, mass: Any, N_u: Any, N_w: Any, N_k: Any, buffers: Any,
             ) -> float:  # fmt: skip
    """Set the topics of each count of units `start` to `stop` to what all others expect."""
    # `ptr`, `idx`, `val` list the counts of each unit, ``shares[e]`` the topics of count e. One
    # occurrence of its word is left out of the expected counts `N_u` (units), `N_w` (words) and
    # `N_k` (all), of which the latter two are weighted. `mass` is b times the number of words.
    # Returns Σ w c log p(word | all others).
    zero, one = a.dtype.type(0), a.dtype.type(1)
    n_topics, total_a = len(a), _total(a)
    p, inverse, before = buffers[0], buffers[1], buffers[2]
    found = 0.0
    for u in range(start, stop):
        row, weight = N_u[u], weights[u]
        length = _total(row) + total_a
        for k in range(n_topics):
            inverse[k] = one / (N_k[k] + mass)
            before[k] = row[k]
        for e in range(ptr[u], ptr[u + 1]):
            count, word, share = val[e], N_w[idx[e]], shares[e]
            own, copies = min(count, one), min(weight * count, one)
            for k in range(n_topics):
                inside, left = copies * share[k], row[k] - own * share[k]
                others = word[k] - inside
                # 1 / (N_k - inside + mass) to first order: divisions take most of the time.
                rate = inverse[k] + inside * inverse[k] * inverse[k]
                rate *= (others if others > zero else zero) + b
                p[k] = ((left if left > zero else zero) + a[k]) * rate
            total = _sum(p)
            if not total > 0:
                continue
            found += weight * count * log2(total / max(length - own, total_a))
            scale = one / total
            for k in range(n_topics):
                new = p[k] * scale
                change = count * (new - share[k])
                share[k] = new
                row[k] += change
                word[k] += weight * change
        for k in range(n_topics):
            N_k[k] += weight * (row[k] - before[k])
    return found * _LN_2


@njit(fastmath=frozenset({"contract"}))
def recount(start: int, stop: int, ptr: Any, idx: Any, val: Any, shares: Any, weights: Any,
            N_u: Any, squares: Any, N_w: Any) -> None:  # fmt: skip
    """Add up the expected counts of units and of words, and of units Σ c share²."""
    for u in range(start, stop):
        row, square, weight = N_u[u], squares[u], weights[u]
        for e in range(ptr[u], ptr[u + 1]):
            count, word, share = val[e], N_w[idx[e]], shares[e]
            for k in range(len(row)):
                part = count * share[k]
                row[k] += part
                square[k] += part * share[k]
                word[k] += weight * part


@njit()
def sweep(start: int, stop: int, token_ptr: Any, words: Any, split: Any, weights: Any,
          draws: Any, a: Any, b: float, sizes: Any, z: Any, N_u: Any, N_w: Any, N_k: Any,
          p: Any) -> float:  # fmt: skip
    """Draw the topic of each token of units `start` to `stop` anew, given all others."""
    # The tokens of unit u are ``token_ptr[u]`` to ``token_ptr[u + 1]``, those from ``split[u]``
    # on of the second vocabulary. `N_w` (V, K) and `N_k` (vocabularies, K) are weighted. Returns
    # Σ w log p(token | all others).
    n_topics, total_a = len(a), a.sum()
    inverse = 1 / (N_k + (b * sizes).reshape(-1, 1))
    found, first = 0.0, token_ptr[start]
    for u in range(start, stop):
        row, weight = N_u[u], weights[u]
        length = token_ptr[u + 1] - token_ptr[u] - 1 + total_a
        for q in range(token_ptr[u], token_ptr[u + 1]):
            v = 1 if q >= split[u] else 0
            word, rate = N_w[words[q]], inverse[v]
            k = z[q]
            row[k] -= 1
            word[k] -= weight
            N_k[v, k] -= weight
            rate[k] = 1 / (N_k[v, k] + b * sizes[v])
            for t in range(n_topics):
                p[t] = (row[t] + a[t]) * (word[t] + b) * rate[t]
            total = 0.0
            for t in range(n_topics):
                total += p[t]
                p[t] = total
            found += weight * math.log(total / length)
            aim, low, high = draws[q - first] * total, 0, n_topics - 1
            while low < high:
                middle = (low + high) // 2
                if p[middle] > aim:
                    high = middle
                else:
                    low = middle + 1
            z[q] = low
            row[low] += 1
            word[low] += weight
            N_k[v, low] += weight
            rate[low] = 1 / (N_k[v, low] + b * sizes[v])
    return found
