"""Time of a whole quality-against-dimension curve, in evaluations of its last point.

Run ``python benchmarks/dimension_curve.py``; the table goes to standard output.
"""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from simviz.evaluation import VectorScorer, dimension_curve, dimension_grid, evaluate


def seconds(work: Callable[[], object], repeats: int) -> float:
    """Best of several runs, after one that compiles and warms up."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    print(f"{'n':>6} {'K':>5} {'points':>6} {'evaluate':>9} {'curve':>8} {'curve / evaluate':>17}")
    for n, K, repeats in ((400, 200, 20), (2000, 500, 5), (8675, 1000, 3)):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, K)).astype(np.float32)
        Y = (X + 3 * rng.standard_normal((n, K))).astype(np.float32)
        ks = dimension_grid(K)
        once = seconds(partial(evaluate, VectorScorer(), X, Y), repeats)
        curve = seconds(partial(dimension_curve, X, Y, dimensions=ks), repeats)
        print(f"{n:>6} {K:>5} {len(ks):>6} {once:>8.3f}s {curve:>7.3f}s {curve / once:>17.2f}")


if __name__ == "__main__":
    main()
