"""Timing of things that take turns, and what they ran on."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from statistics import median
from typing import Any

import simviz._numba  # noqa: F401 -- before torch: it sets how OpenMP threads wait

import numba  # isort: skip
from threadpoolctl import threadpool_info  # isort: skip

PEERS = ("cca-zoo", "gensim")
#: Rounds in which works take turns.
REPEATS = 3


@dataclass(frozen=True)
class Timed:
    """Seconds of each run, and what the last one returned."""

    seconds: tuple[float, ...]
    result: Any

    @property
    def least(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return median(self.seconds)

    def cells(self) -> tuple[str, str]:
        """Least and median for a table."""
        return f"{self.least:.2f} s", f"{self.median:.2f} s"


def timed(work: Callable[[], object]) -> Timed:
    """One run."""
    gc.collect()
    start = time.perf_counter()
    result = work()
    return Timed((time.perf_counter() - start,), result)


def in_turns(
    works: Mapping[str, Callable[..., object]],
    data: Sequence[object],
    warm: Sequence[object],
    repeats: int = REPEATS,
) -> dict[str, Timed]:
    """Run works one after the other, several rounds of all.

    Parameters
    ----------
    works : mapping of str to callable
        What is compared; each is called with the data.
    data : sequence
        Arguments of the timed runs.
    warm : sequence
        Small arguments of one first run of each, which loads libraries and
        compiles; not timed.
    repeats : int
        Rounds.

    Returns
    -------
    dict of str to Timed
        By name, in the order of the works.
    """
    for work in works.values():
        work(*warm)
    rounds = [
        {name: timed(lambda work=work: work(*data)) for name, work in works.items()}
        for _ in range(repeats)
    ]
    return {
        name: Timed(tuple(one[name].seconds[0] for one in rounds), rounds[-1][name].result)
        for name in works
    }


def machine() -> Iterator[str]:
    """Lines that say on what a table was measured."""
    import torch

    peers = [peer for peer in PEERS if find_spec(peer.replace("-", "_"))]
    names = ("numpy", "scipy", "scikit-learn", "numba", "torch", *peers)
    yield ", ".join(f"{name} {version(name)}" for name in names)
    pools = {f"{p['internal_api']} {p['num_threads']}" for p in threadpool_info()}
    pools |= {f"numba {numba.get_num_threads()}", f"torch {torch.get_num_threads()}"}
    wait = os.environ.get("OPENBLAS_THREAD_TIMEOUT", "default")
    load = os.getloadavg()[0]
    yield (
        f"{os.cpu_count()} cores, load {load:.1f} before; threads: {', '.join(sorted(pools))}; "
        f"OPENBLAS_THREAD_TIMEOUT={wait} for all"
    )


def medians(works: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """Median seconds of each work; they take turns after one round of warming up."""
    named = {str(number): work for number, work in enumerate(works)}
    return [one.median for one in in_turns(named, (), (), repeats).values()]


def show(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table in Markdown; numbers get three digits."""
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        cells = [f"{c:.3f}" if isinstance(c, float) else str(c) for c in row]
        print("| " + " | ".join(cells) + " |", flush=True)
    print()
