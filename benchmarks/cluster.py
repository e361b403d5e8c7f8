"""S2Net's full-batch gradient: the loop of one process beside one and two workers of Dask.

``python benchmarks/cluster.py`` prints, for each number
of pairs, seconds of one loss and gradient, in turns, one thread a process. As cores may be
shared with other work, seconds of the processor stand beside those of the clock: of this
process (the scheduler is in it) and of the busiest worker. Shares of two workers are timed
one after the other in this process too: what two workers could reach at best. 2 minutes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

# isort: split
import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster

from simviz.jobs.worker import limit_threads
from simviz.methods._s2net_losses import Loss, Settings
from simviz.relevance import Relevance
from simviz.scale.gradients import ClusterRows, LocalRows, Share

Way = Callable[[np.ndarray], tuple[float, np.ndarray]]


def main() -> None:
    limit_threads(1)
    quiet = {"dashboard_address": None, "host": "127.0.0.1"}
    with LocalCluster(2, threads_per_worker=1, **quiet) as cluster, Client(cluster) as client:
        for n in (10_000, 20_000):
            measure(n, client)


def measure(n: int, client: Client, d: int = 20_000, k: int = 200) -> None:
    """Time all ways in turns and print a table."""
    rng = np.random.default_rng(0)
    X, Y = (
        sp.random_array((n, d), density=75 / d, rng=rng, format="csr", dtype=np.float32)
        for _ in range(2)
    )
    loss = Loss(Relevance.identity(n), Settings("logistic", 10.0, "both", None, False), rng)
    theta = rng.normal(size=(2 * d + 2, k)).astype(np.float32)
    common = (Y, (False, None, False, ("float32", "cpu", theta.dtype, k)))

    def rows(shares: int) -> list[tuple[Any, ...]]:
        edges = np.linspace(0, n, shares + 1).astype(int)
        return [(X[lo:hi], loss.of_rows(slice(lo, hi))) for lo, hi in pairwise(edges)]

    def remote(shares: int) -> ClusterRows:
        return ClusterRows(Share, rows(shares), common, client, lambda: None)

    ways: dict[str, Way] = {
        "the loop": LocalRows(Share, rows(1), common),
        "the loop, two shares": LocalRows(Share, rows(2), common),
        "one worker": remote(1),
        "two workers": remote(2),
    }
    values = {name: way(theta) for name, way in ways.items()}  # compiles and sends
    seconds: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ways}
    for _ in range(5):
        for name, way in ways.items():
            before = worked(client)
            start, here = time.perf_counter(), time.process_time()
            values[name] = way(theta)
            took, here = time.perf_counter() - start, time.process_time() - here
            there = max(after - before[place] for place, after in worked(client).items())
            seconds[name].append((took, here, there))
    expected = values["the loop"][1]
    middle = {name: np.median(found, axis=0) for name, found in seconds.items()}
    print(f"\n{n:,} pairs, {d:,} terms, {k} components: one loss and gradient\n")
    print("| by | least | median | to the loop | processor here | busiest worker | off by |")
    print("|---|---|---|---|---|---|---|")
    for name, (took, here, there) in middle.items():
        off = abs(values[name][1] - expected).max() / abs(expected).max()
        least, ratio = min(seconds[name])[0], took / middle["the loop"][0]
        clock = f"{least:.2f} s | {took:.2f} s | {ratio:.2f}"
        print(f"| {name} | {clock} | {here:.2f} s | {there:.2f} s | {off:.0e} |")
    (one, _, alone), (two, _, busiest) = middle["one worker"], middle["two workers"]
    print(f"\ntwo workers: {one / two:.2f} times one by the clock, ", end="")
    print(f"{alone / busiest:.2f} times by the busiest processor", flush=True)
    for way in ways.values():
        way.close()  # type: ignore[attr-defined]


def worked(client: Client) -> dict[str, float]:
    """Seconds of the processor that each worker has taken."""
    return client.run(time.process_time)  # type: ignore[no-any-return]


if __name__ == "__main__":
    main()
