"""False alarms of the tests of judged pairs, and how long they take.

``python benchmarks/pair_tests.py`` draws pairs of runs that are equally good again and again,
tests each two, and counts how often they are told apart at 5 %. Labels and scores follow the
items, so that pairs which share one depend on each other.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from simviz.evaluation import JudgedPairs, bootstrap_pairs, parse_metric
from simviz.evaluation.pair_tests import delong_pairs

STRUCTURES = {
    "once": "every item once",
    "queries": "queries with 5 candidates",
    "both": "both sides 5 times",
}


def items(kind: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The x and y items of n pairs."""
    if kind == "once":
        return np.arange(n), np.arange(n)
    side = n // 5
    if kind == "queries":
        return np.sort(rng.integers(0, side, n)), np.arange(n)
    cells = np.sort(rng.choice(side * side, n, replace=False))
    return cells // side, cells % side


def equal_runs(kind: str, n: int, share: float, rng: np.random.Generator) -> list[JudgedPairs]:
    """Two runs whose scores differ by nothing but chance."""
    x, y = items(kind, n, rng)

    def noise() -> np.ndarray:
        of_items = rng.normal(size=x.max() + 1)[x] + rng.normal(size=y.max() + 1)[y]
        return of_items + rng.normal(size=n)

    label = noise()
    relevant = label > np.quantile(label, 1 - share)
    common = 0.7 * (relevant + rng.normal(size=n))
    return [JudgedPairs(x, y, relevant, common + noise(), label) for _ in range(2)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, nargs="+", default=[100, 400], help="judged pairs")
    parser.add_argument("--share", type=float, default=0.3, help="relevant ones among them")
    parser.add_argument("--metric", default="AUC")
    parser.add_argument("--tests", type=int, default=1000, help="comparisons")
    parser.add_argument("--resamples", type=int, default=500, help="draws of a bootstrap")
    asked = parser.parse_args()
    metric = parse_metric(asked.metric)
    print(f"False alarms in {asked.tests:,} comparisons by {metric}, {asked.share:.0%} relevant")
    print("| structure | pairs | bootstrap | DeLong |")
    print("|---|---|---|---|")
    for kind, title in STRUCTURES.items():
        for n in asked.n:
            alarms, checks = 0, []
            for seed in range(asked.tests):
                runs = equal_runs(kind, n, asked.share, np.random.default_rng([n, seed]))
                found = bootstrap_pairs(
                    runs, metric, n_resamples=asked.resamples, random_state=seed
                )
                alarms += found[0, 1].is_significant()
                if kind == "once" and metric.name == "AUC":
                    checks.append(delong_pairs(runs, metric)[0, 1].is_significant())
            print(f"| {title} | {n:,} | {alarms} | {sum(checks) if checks else '–'} |", flush=True)

    print("\n5,000 pairs, 2,000 draws: seconds of processor time of one comparison")
    for kind, title in STRUCTURES.items():
        runs = equal_runs(kind, 5000, asked.share, np.random.default_rng(0))
        start = time.process_time()
        bootstrap_pairs(runs, metric)
        print(f"{title}: {time.process_time() - start:.2f}")


if __name__ == "__main__":
    main()
