"""Compiled loops of collapsed Gibbs sampling."""

from __future__ import annotations

import math
from typing import Any

from simviz._numba import njit


@njit()
def sweep(start: int, stop: int, token_ptr: Any, words: Any, split: Any, weights: Any,
          draws: Any, a: Any, b: float, sizes: Any, z: Any, N_u: Any, N_w: Any, N_k: Any,
          p: Any) -> float:  # fmt: skip
    """Draw the topic of each token of units `start` to `stop` anew, given all others.

    The tokens of unit u are ``token_ptr[u]`` to ``token_ptr[u + 1]``, those
    from ``split[u]`` on of the second vocabulary. `N_w` (V, K) and `N_k`
    (vocabularies, K) are weighted. Returns Σ w log p(token | all others).
    """
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
