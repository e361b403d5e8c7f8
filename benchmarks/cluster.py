"""S2Net's full-batch gradient: the loop of one process beside one and two workers of Dask.

``python benchmarks/cluster.py`` prints, for each number
of pairs, seconds of one loss and gradient, in turns, one thread a process. As cores may be
shared with other work, seconds of the processor stand beside those of the clock: of this
process (the scheduler is in it) and of the busiest worker. Shares of two workers are timed
one after the other in this process too: what two workers could reach at best. 2 minutes.

``python benchmarks/cluster.py beyond`` fits data larger than the memory of a worker here and
on two workers, of which one is killed on the way, and prints what workers held at most and how
far the models are apart. 5 minutes, 5 GB.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

# isort: split
import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster

from simviz.jobs.worker import limit_threads
from simviz.methods._s2net_losses import Loss
from simviz.methods.s2net import S2Net
from simviz.relevance import Relevance
from simviz.scale.lbfgs import ClusterRows, LocalRows, Share, fit_s2net_lbfgs

Way = Callable[[np.ndarray], tuple[float, np.ndarray]]


def main() -> None:
    limit_threads(1)
    if sys.argv[1:] == ["beyond"]:
        fit_beyond_memory()
        return
    with workers() as cluster, Client(cluster) as client:
        for n in (10_000, 20_000):
            measure(n, client)


def workers(**how: Any) -> LocalCluster:
    """Two workers of one thread that nobody else can reach."""
    quiet = {"dashboard_address": None, "host": "127.0.0.1"}
    return LocalCluster(2, threads_per_worker=1, **quiet, **how)


def measure(n: int, client: Client, d: int = 20_000, k: int = 200) -> None:
    """Time all ways in turns and print a table."""
    rng = np.random.default_rng(0)
    X, Y = (
        sp.random_array((n, d), density=75 / d, rng=rng, format="csr", dtype=np.float32)
        for _ in range(2)
    )
    loss = Loss(Relevance.identity(n), S2Net(loss="logistic"), rng)
    theta = rng.normal(size=(2 * d + 2, k)).astype(np.float32)
    how = (False, None, False, False, ("float32", "cpu", theta.dtype, k))

    def own(shares: int) -> list[tuple[str, slice, Loss]]:
        edges = np.linspace(0, n, shares + 1).astype(int)
        slices = [slice(*ends) for ends in pairwise(edges)]
        return [(str(i), rows, loss.of_rows(rows)) for i, rows in enumerate(slices)]

    def remote(shares: int) -> ClusterRows:
        return ClusterRows(Share, X, Y, own(shares), how, client, lambda: None)

    ways: dict[str, Way] = {
        "the loop": LocalRows(Share, X, Y, own(1), how),
        "the loop, two shares": LocalRows(Share, X, Y, own(2), how),
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


def fit_beyond_memory(n: int = 100_000, words: int = 1_700, limit: str = "700 MiB") -> None:
    """Fit long texts of 500 topics here and on workers that have no memory for them."""
    rng = np.random.default_rng(0)
    d, m = 50_000, 500
    topic = rng.integers(0, m, n, dtype=np.int32)
    topic[:m] = np.arange(m)
    indices = rng.integers(0, d, (n, words), dtype=np.int32)
    indices[:, ::4] = topic[:, None] * (d // m) + indices[:, ::4] % (d // m)
    starts = words * np.arange(n + 1, dtype=np.int32)
    X = sp.csr_array((rng.random(n * words, np.float32), indices.ravel(), starts), (n, d))
    X.sum_duplicates()
    Y = sp.random_array((m, 2_000), density=0.05, rng=rng, format="csr", dtype=np.float32)
    relevance = Relevance.from_pairs(np.arange(n), topic, shape=(n, m), unjudged="negative")
    how = {"loss": "logistic", "solver": "lbfgs", "init": "random", "validation_fraction": 0}
    size = sum(a.nbytes for a in (X.data, X.indices, X.indptr)) / 1e6
    print(f"{n:,} texts of {words:,} words, {size:,.0f} MB; workers of {limit}\n", flush=True)
    print("| by | seconds | iterations | killed | most a worker held | off by |")
    print("|---|---|---|---|---|---|")
    start = time.perf_counter()
    one = S2Net(20, max_iter=3, **how).fit(X, Y, relevance)
    took = time.perf_counter() - start
    print(f"| one machine | {took:.0f} | {one.n_iter_} | | | |", flush=True)
    for kills in (0, 1):
        with workers(memory_limit=limit) as cluster, Client(cluster) as client:
            held = Held(cluster, kills)
            two = S2Net(20, max_iter=3, **how).set_callbacks(held.kill)
            held.start()
            start = time.perf_counter()
            fit_s2net_lbfgs(two, X, Y, relevance, client=client, n_shares=2)
            took = time.perf_counter() - start
            held.is_over = True
        off = max(
            abs(getattr(one, name) - getattr(two, name)).max() / abs(getattr(one, name)).max()
            for name in ("x_projection_", "y_projection_", "x_offset_", "y_offset_")
        )
        done = f"{took:.0f} | {two.n_iter_} | {kills - held.kills}"
        print(f"| two workers | {done} | {held.peak:.0f} MB | {off:.0e} |", flush=True)


class Held(Thread):
    """Looks twenty times a second what workers hold, and kills so many of them."""

    def __init__(self, cluster: LocalCluster, kills: int) -> None:
        super().__init__(daemon=True)
        self._cluster, self.kills, self._told = cluster, kills, 0
        self.peak, self.is_over = 0.0, False

    def kill(self, step: int, total: int, metrics: dict[str, float]) -> bool:
        """Kill a worker in the middle of the evaluation after the first step."""
        self._told += step == 1
        if self._told == 2 and self.kills:
            os.kill(self.pids()[0], signal.SIGKILL)
            self.kills -= 1
        return False

    def pids(self) -> list[int]:
        """Processes of the workers."""
        return [nanny.pid for nanny in self._cluster.workers.values() if nanny.pid]

    def run(self) -> None:
        """Note the most that one of them held."""
        while not self.is_over:
            for pid in self.pids():
                with suppress(OSError):  # it was killed meanwhile
                    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
                    self.peak = max(self.peak, pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
            time.sleep(0.05)


if __name__ == "__main__":
    main()
