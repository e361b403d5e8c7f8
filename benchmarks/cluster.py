"""S2Net's full-batch gradient: the loop of one process beside one and two workers of Dask.

``python benchmarks/cluster.py [--pairs 6000] [--rounds 5]`` prints seconds of one loss
and gradient, in turns, one thread a process; and, as cores may be shared with other
work, seconds of the processor: here (the scheduler is in this process) and of the
busiest worker.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

# isort: split
import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster

from simviz.cluster.rows import ClusterRows, LocalRows
from simviz.cluster.s2net import Share
from simviz.jobs.threads import limit_threads
from simviz.methods._s2net_losses import Loss, Settings
from simviz.relevance import Relevance


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=6_000)
    parser.add_argument("--terms", type=int, default=20_000)
    parser.add_argument("--components", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    n, d, k = asked.pairs, asked.terms, asked.components
    rng = np.random.default_rng(0)
    X, Y = (
        sp.random_array((n, d), density=75 / d, rng=rng, format="csr", dtype=np.float32)
        for _ in range(2)
    )
    loss = Loss(Relevance.identity(n), Settings("logistic", 10.0, "both", None, False), rng)
    theta = rng.normal(size=(2 * d + 2, k)).astype(np.float32)
    common = (Y, (False, None, False, ("float32", "cpu", theta.dtype, k)))

    def rows(shares: int) -> list[tuple[sp.csr_array, Loss]]:
        edges = np.linspace(0, n, shares + 1).astype(int)
        return [(X[lo:hi], loss.of_rows(slice(lo, hi))) for lo, hi in pairwise(edges)]

    limit_threads(1)
    how = {"threads_per_worker": 1, "dashboard_address": ":0", "host": "127.0.0.1"}
    with (
        LocalCluster(n_workers=1, **how) as one,
        LocalCluster(n_workers=2, **how) as two,
        Client(one) as first,
        Client(two) as second,
    ):
        ways = {
            "the loop": LocalRows(Share, rows(1), common),
            "one worker": ClusterRows(Share, rows(1), common, first, lambda: None),
            "two workers": ClusterRows(Share, rows(2), common, second, lambda: None),
        }
        seconds: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ways}
        clients = {"one worker": first, "two workers": second}

        def worked(name: str) -> np.ndarray:
            client = clients.get(name)
            return np.array(list(client.run(time.process_time).values()) if client else [0.0])

        values = {name: way(theta) for name, way in ways.items()}  # compiles and sends
        for _ in range(asked.rounds):
            for name, way in ways.items():
                before, start = worked(name), (time.perf_counter(), time.process_time())
                values[name] = way(theta)
                took, here = time.perf_counter() - start[0], time.process_time() - start[1]
                seconds[name].append((took, here, float((worked(name) - before).max())))
    expected = values["the loop"][1]
    print("| loss and gradient | least | median | processor here | busiest worker | off by |")
    print("|---|---|---|---|---|---|")
    for name, rounds_ in seconds.items():
        off = abs(values[name][1] - expected).max() / abs(expected).max()
        middle, here, there = np.median(rounds_, axis=0)
        least = min(rounds_)[0]
        numbers = f"{least:.2f} s | {middle:.2f} s | {here:.2f} s | {there:.2f} s | {off:.0e}"
        print(f"| {name} | {numbers} |")


if __name__ == "__main__":
    main()
