"""Compiled loops of the topic models: sums over the non-zero counts, and no others.

With ``s = θ_d · φ_w`` for a count c of word w in item d, expectation needs only
``Σ_w (c/s) φ_w`` for an item and ``Σ_d (c/s) θ_d`` for a word: topics of single
words are never written down. Rows of θ and φ are contiguous over topics, so that
each step of the inner loops is SIMD. Sums are formed row by row, in one order
however many threads there are.
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


@njit(parallel=True)
def expect_rows(ptr: Any, idx: Any, val: Any, items: Any, T: Any, phi: Any, more: bool,
                bounds: Any, out: Any, logs: Any) -> None:  # fmt: skip
    """Write each unit's expected topic counts to `out`, its log-likelihood to `logs`."""
    # Unit u holds item ``items[u]`` and has topics ``T[u]``; `bounds` are limits of parts of the
    # units. With `more`, adds to what is there.
    for part in prange(len(bounds) - 1):
        buffer = np.empty(T.shape[1], T.dtype)
        for u in range(bounds[part], bounds[part + 1]):
            buffer[:] = 0
            found = _expect_and_judge(ptr, idx, val, items[u], T[u], phi, buffer)
            logs[u] = logs[u] + found if more else found
            _write_product(T[u], buffer, more, out[u])


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
def expect_shared_columns(
    ptr: Any, idx: Any, val: Any, unit_ptr: Any, units: Any, weights: Any, T: Any, phi: Any,
    more: bool, bounds: Any, out: Any,
) -> None:  # fmt: skip
    """The same where `ptr`, `idx`, `val` list the items of each word."""
    # Those of item i are the units ``units[unit_ptr[i]:unit_ptr[i + 1]]``, which count with
    # their `weights`.
    floor, ceiling = T.dtype.type(FLOOR), T.dtype.type(_CEILING)
    for part in prange(len(bounds) - 1):
        buffer = np.empty(T.shape[1], T.dtype)
        for w in range(bounds[part], bounds[part + 1]):
            buffer[:] = 0
            for e in range(ptr[w], ptr[w + 1]):
                for q in range(unit_ptr[idx[e]], unit_ptr[idx[e] + 1]):
                    u = units[q]
                    s = max(_dot(T[u], phi[w]), floor)
                    _add(_share(weights[u] * val[e], s, ceiling), T[u], buffer)
            _write_product(phi[w], buffer, more, out[w])


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
    """Multiply each column, in place."""
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
          bounds: Any, T_x: Any, T_y: Any, apart: Any) -> None:  # fmt: skip
    """Tilt the topics of each unit until both sides use them in equal shares."""
    # Maximises −Σ c log Z(λ) − ε‖λ‖₁ over λ by FISTA, from where `duals` stand: its gradient is
    # the difference of the sides' shares of topics. Writes λ, the tilted θ e^{−λ/N_x} and θ
    # e^{λ/N_y}, and how far the shares were still apart. A side is (ptr, idx, val, items, rates,
    # phi), with rates 1/N of the units, 0 for those with an empty side.
    for part in prange(len(bounds) - 1):
        buffers = np.empty((3, T.shape[1]), T.dtype)
        for u in range(bounds[part], bounds[part + 1]):
            apart[u] = _agree(
                u, side, other, T[u], duals[u], n_steps, epsilon, buffers, T_x[u], T_y[u]
            )


@njit()
def _agree(u: int, side: Any, other: Any, t: Any, dual: Any, n_steps: int, epsilon: Any,
           buffers: Any, t_x: Any, t_y: Any) -> float:  # fmt: skip
    x_ptr, x_idx, x_val, x_items, x_rates, x_phi = side
    y_ptr, y_idx, y_val, y_items, y_rates, y_phi = other
    rate_x, rate_y = x_rates[u], y_rates[u]
    if rate_x == 0:
        t_x[:] = t
        t_y[:] = t
        return 0.0
    number = t.dtype.type
    y, f_x, f_y = buffers[0], buffers[1], buffers[2]
    step = number(2 / (rate_x + rate_y))  # 1 / the bound on the curvature
    threshold = step * epsilon
    momentum = 1.0
    y[:] = dual
    for _ in range(n_steps):
        f_x[:] = 0
        f_y[:] = 0
        _tilt(t, y, -rate_x, t_x)
        _tilt(t, y, rate_y, t_y)
        _expect(x_ptr, x_idx, x_val, x_items[u], t_x, x_phi, f_x)
        _expect(y_ptr, y_idx, y_val, y_items[u], t_y, y_phi, f_y)
        after = (1 + math.sqrt(1 + 4 * momentum * momentum)) / 2
        push = number((momentum - 1) / after)
        momentum = after
        for k in range(len(t)):
            gap = rate_x * t_x[k] * f_x[k] - rate_y * t_y[k] * f_y[k]
            f_x[k] = gap
            moved = y[k] + step * gap
            above, below = moved - threshold, moved + threshold
            new = above if above > 0 else (below if below < 0 else number(0))
            y[k] = new + push * (new - dual[k])
            dual[k] = new
    _tilt(t, dual, -rate_x, t_x)
    _tilt(t, dual, rate_y, t_y)
    return max(np.abs(f_x).max() - epsilon, 0.0)


@njit(parallel=True)
def tilt_rows(T: Any, duals: Any, rates: Any, out: Any) -> None:
    """θ_u e^{rate·λ_u} of each unit."""
    for u in prange(len(T)):
        _tilt(T[u], duals[u], rates[u], out[u])


@njit(fastmath=frozenset({"contract"}))
def _tilt(t: Any, dual: Any, rate: Any, out: Any) -> None:
    """θ e^{rate·λ}; the exponent is kept where single precision can follow."""
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
