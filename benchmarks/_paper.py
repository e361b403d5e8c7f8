"""Fits at the size of the papers, each in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

from _corpora import Vocabularies, aligned  # isort: skip
import itertools

from _timing import in_turns
from ground import show

from simviz.evaluation import VectorScorer, dimension_curve, dimension_grid, evaluate
from simviz.methods import get_method

#: Method, its parameters, and the minutes a fit may take.
RUNS: tuple[tuple[str, dict[str, Any], float], ...] = (
    ("cl_lsi", {"n_components": 2000}, 6),
    ("cca", {"n_components": 1500, "rank": 3000}, 10),
    ("cca", {"n_components": 1500}, 10),
    ("opca", {"n_components": 1000}, 10),
)
MEMORY = 8.0  # GiB a fit may take
N_TERMS = 20_000
N_POINTS = 12


def paper(data: Path, repeats: int, *, small: bool) -> None:
    """Time, memory and quality of each run, with one vocabulary a side and with one for both."""
    rows = []
    for shared in (False, True):
        for method, params, minutes in RUNS:
            if small:
                params = {name: value // 20 for name, value in params.items()}
            task = {
                "data": str(data), "method": method, "params": params, "shared": shared,
                "repeats": repeats, "n_train": 3_000 if small else None,
            }  # fmt: skip
            # A process of its own: its peak memory is that of this fit and nothing else.
            done = subprocess.run(
                [sys.executable, __file__, json.dumps(task)], check=False, stdout=subprocess.PIPE
            )
            name = f"{method} {', '.join(f'{k}={v}' for k, v in params.items())}"
            vocabulary = "shared" if shared else "separate"
            if done.returncode:
                rows.append((name, vocabulary, f"failed ({done.returncode})", *[""] * 9))
                continue
            got = json.loads(done.stdout.splitlines()[-1])
            rows.append(
                (
                    name, vocabulary, got["terms"], got["k"], f"{got['fit']:.1f} s",
                    got["fit"] / (60 * minutes), f"{got['wait']:.2f} s",
                    f"{got['memory']:.2f} GiB", got["memory"] / MEMORY,
                    got["MRR"], f"{got['evaluation']:.2f} s / {got['curve']:.2f} s",
                    got["curve"] / got["evaluation"],
                )
            )  # fmt: skip
    show(
        (
            "fit", "vocabulary", "terms", "k", "time", "of what is allowed",
            "longest wait for a chance to cancel", "peak memory", "of what is allowed",
            "test MRR", f"evaluation / curve of {N_POINTS} points", "ratio",
        ),
        rows,
    )  # fmt: skip


def _run(task: dict[str, Any]) -> dict[str, Any]:
    parts = aligned(Path(task["data"]))
    train = tuple(side[: task["n_train"]] for side in parts["train"])
    words, min_df = Vocabularies.at_most(train, N_TERMS, shared=task["shared"])
    X, Y = words.transform(train)
    test = words.transform(parts["test"])
    params = dict(task["params"])
    cls = get_method(task["method"])
    _warm(cls, X, Y, shared=task["shared"])
    # Whoever cancels is heard at the next report: the longest pause between two is the wait.
    heard: list[float] = []

    def listen(*_: object) -> None:
        heard.append(time.perf_counter())

    model = cls(**params, shared=task["shared"]).set_callbacks(listen)
    start = time.perf_counter()
    model.fit(X, Y)
    end = time.perf_counter()
    moments = [start, *heard, end]
    peak = _peak()
    P, Q = model.transform(test[0]), model.transform_y(test[1])
    grid = dimension_grid(model.n_components_, N_POINTS)
    works = {
        "evaluation": lambda P, Q: evaluate(VectorScorer(), P, Q, metrics=["MRR"]),
        "curve": lambda P, Q: dimension_curve(P, Q, dimensions=grid),
    }
    took = in_turns(works, (P, Q), (P[:200], Q[:200]), task["repeats"])
    value = took["evaluation"].result.value("MRR", "mean")
    last = float(took["curve"].result.values()[-1])
    if abs(value - last) > 1e-3:
        raise RuntimeError(f"The curve ends at {last}, the evaluation says {value}.")
    return {
        "terms": f"{' + '.join(f'{n:,}' for n in sorted({*words.sizes()}))} (min_df {min_df})",
        "k": model.n_components_, "fit": end - start, "memory": peak,
        "wait": max(b - a for a, b in itertools.pairwise(moments)),
        "MRR": value, "evaluation": took["evaluation"].median, "curve": took["curve"].median,
    }  # fmt: skip


def _warm(cls: Any, X: Any, Y: Any, *, shared: bool) -> None:
    """Compile and load on few rows; compiling is not what is measured."""
    cls(5, shared=shared).fit(X[:300], Y[:300])


def _peak() -> float:
    """GiB of memory this process has held at most (Linux counts in KiB)."""
    # On Linux a child starts from its parent's peak, here a few hundred MiB.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    print(json.dumps(_run(json.loads(sys.argv[1]))))
