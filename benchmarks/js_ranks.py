"""Ranks by Jensen-Shannon similarity: all pairs in numpy against bounds and what they leave.

Run ``python benchmarks/js_ranks.py``; the table goes to standard output. The
direct computation is numpy's: for each query one array of all candidates'
sums, cut so that it stays in cache, its SIMD logarithm and one contraction. It
takes turns with ours, on the first queries only, and its time is scaled to all
of them; so is that of our own all-pairs similarity.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "10")

from functools import partial
from typing import Any

import numpy as np
from _timing import in_turns, machine

from simviz.base._jensen_shannon import js_ranks, js_similarity
from simviz.ranking import rank_block

SHAPES = ((5_000, 500), (8_675, 1_000))
#: Concentration of the topics of an item, and what share its counterpart keeps of them.
KINDS = {
    "few topics an item, close pairs": (0.05, 0.5),
    "few topics an item, far pairs": (0.05, 0.15),
    "many topics an item, close pairs": (1.1, 0.5),
    "many topics an item, far pairs": (1.1, 0.25),
}
PART = 100  # queries of the slow ones that are timed


def sides(n: int, k: int, concentration: float, kept: float) -> tuple[Any, Any]:
    """Shares of topics of both sides, row i belonging to row i."""
    rng = np.random.default_rng(0)
    own, x_only, y_only = (rng.dirichlet(np.full(k, concentration), n) for _ in range(3))
    sides = (kept * own + (1 - kept) * other for other in (x_only, y_only))
    x, y = (side.astype(np.float32) for side in sides)
    return x, y


def direct(P: Any, Q: Any, *, part: int) -> Any:
    """Ranks of row i among all rows, for the first rows."""
    above = np.empty(min(part, len(P)), dtype=np.int64)
    p_log, q_log = (_x_log2(S).sum(axis=1) for S in (P, Q))
    step = max(1, 2**16 // Q.shape[1])
    total, logs = np.empty((2, step, Q.shape[1]), dtype=np.float32)
    for i in range(len(above)):
        score = np.empty(len(Q), dtype=np.float32)
        for j in range(0, len(Q), step):
            size = len(Q[j : j + step])
            np.add(P[i], Q[j : j + step], out=total[:size])
            np.maximum(total[:size], np.float32(1e-30), out=logs[:size])
            np.log2(logs[:size], out=logs[:size])
            np.einsum("jk,jk->j", total[:size], logs[:size], out=score[j : j + size])
        score -= q_log
        score -= p_log[i]
        above[i] = (score > score[i]).sum()
    return above


def _x_log2(S: Any) -> Any:
    return S * np.log2(np.maximum(S, np.float32(1e-30)))


def all_pairs(P: Any, Q: Any, *, part: int) -> Any:
    """Ranks of row i among all rows, for the first rows, comparing all pairs."""
    S = js_similarity(P[:part], Q)
    own = np.arange(len(S))
    return rank_block(S, np.arange(len(S) + 1), own)[0]


def bounded(P: Any, Q: Any) -> Any:
    """Ranks of row i among all rows."""
    own = np.arange(len(P))
    return np.concatenate([above for above, _, _ in js_ranks(P, Q, np.arange(len(P) + 1), own)])


def main() -> None:
    for line in machine():
        print(line)
    print()
    print("| n | topics | theta | MRR | numpy, all pairs | ours, all pairs | ours | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for n, k in SHAPES:
        for name, (concentration, kept) in KINDS.items():
            data = sides(n, k, concentration, kept)
            works = {
                "numpy": partial(direct, part=PART),
                "all": partial(all_pairs, part=10 * PART),
                "ours": bounded,
            }
            times = in_turns(works, data, sides(100, 20, concentration, kept), repeats=3)
            above = times["ours"].result
            assert (above[: 10 * PART] == times["all"].result).all()
            seconds = (
                times["numpy"].median * n / PART,
                times["all"].median * n / (10 * PART),
                times["ours"].median,
            )
            cells = " | ".join(f"{s:.2f} s" for s in seconds)
            mrr = float(np.mean(1 / (1 + above)))
            ratio = f"{seconds[0] / seconds[2]:.0f}"
            print(f"| {n:,} | {k:,} | {name} | {mrr:.3f} | {cells} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
