"""Time and memory of an evaluation: beside the bare products, run dictionaries, and a curve.

``python benchmarks/evaluation.py`` prints the tables. Peers (`ranx`, `pytrec_eval`) are compared
where they are installed. Vectors are synthetic: the work does not depend on what they mean.
"""

from __future__ import annotations

import argparse
import importlib
import resource
import sys
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
from _timing import machine, timed

from simviz.evaluation import (
    AUC,
    MAP,
    MRR,
    NDCG,
    Precision,
    Recall,
    TopOne,
    VectorScorer,
    dimension_curve,
    dimension_grid,
    evaluate,
)

RANK_METRICS = (TopOne(), MRR(), MAP(), Precision(5), Recall(10), NDCG(3), AUC("query"))
#: Queries whose run dictionary is built: one of all queries would fill the memory.
SAMPLE = 100


def vectors(n: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Two sides of which row i belongs to row i."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, K), dtype=np.float32)
    return X, X + 3 * rng.standard_normal((n, K), dtype=np.float32)


def bare(X: np.ndarray, Y: np.ndarray) -> None:
    """All similarities, block by block, and nothing else."""
    for _ in VectorScorer().iter_similarity(X, Y):
        pass


def ranked(X: np.ndarray, Y: np.ndarray) -> None:
    """Every rank metric, both directions."""
    evaluate(VectorScorer(), X, Y, metrics=RANK_METRICS).to_records()


def with_auc(X: np.ndarray, Y: np.ndarray) -> None:
    """The default metrics, the area over all pairs among them."""
    evaluate(VectorScorer(), X, Y).to_records()


def curve(X: np.ndarray, Y: np.ndarray) -> None:
    """MRR of twelve numbers of dimensions, both directions."""
    dimension_curve(X, Y, dimensions=dimension_grid(X.shape[1]))


def run_dictionary(scores: np.ndarray) -> dict[str, dict[str, float]]:
    """What `ranx` and `pytrec_eval` take, built as fast as Python does."""
    names = [f"d{j}" for j in range(scores.shape[1])]
    lines = zip(range(len(scores)), scores.tolist(), strict=True)
    return {f"q{i}": dict(zip(names, line, strict=True)) for i, line in lines}


def of_ranx(scores: np.ndarray, _qrels: dict[str, dict[str, int]]) -> None:
    """Its run, sorted and typed; evaluating it comes on top."""
    import ranx

    ranx.Run(run_dictionary(scores))


def of_pytrec_eval(scores: np.ndarray, qrels: dict[str, dict[str, int]]) -> None:
    """Its run, and six metrics of it."""
    import pytrec_eval

    measures = {"success_1", "recip_rank", "map", "P_5", "recall_10", "ndcg_cut_3"}
    pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run_dictionary(scores))


def turns(works: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each work; they take turns."""
    rounds = [{name: timed(work).least for name, work in works.items()} for _ in range(repeats)]
    return {name: median(one[name] for one in rounds) for name in works}


def peak_mb() -> float:
    """Most memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=8675, help="items of a side")
    parser.add_argument("--k", type=int, default=1000, help="dimensions")
    parser.add_argument("--repeats", type=int, default=3, help="rounds")
    asked = parser.parse_args()
    for line in machine():
        print(line)
    X, Y = vectors(asked.n, asked.k)
    works = {f.__name__: partial(f, X, Y) for f in (bare, ranked, with_auc, curve)}
    for work in (bare, ranked, with_auc, curve):
        work(X[:300], Y[:300])  # compiles
    before = peak_mb()
    ranked(X, Y)
    added = peak_mb() - before
    took = turns(works, asked.repeats)
    print(f"\n{asked.n:,} x {asked.n:,}, K = {asked.k:,}, median of {asked.repeats} rounds")
    print("| work | seconds | of bare products |")
    print("|---|---|---|")
    for name, seconds in took.items():
        print(f"| {name} | {seconds:.2f} | {seconds / took['bare']:.2f} |")
    print(f"\nPeak memory {peak_mb():,.0f} MB, of which `ranked` added {added:,.0f} MB to")
    print(f"vectors and libraries ({before:,.0f} MB).")
    ratios = took["curve"] / took["ranked"], took["curve"] / took["with_auc"]
    print(f"Curve of 12 points: {ratios[0]:.2f} x `ranked`, {ratios[1]:.2f} x `with_auc`.")

    scores = VectorScorer().iter_similarity(X[:SAMPLE], Y)
    block = np.concatenate(list(scores))
    qrels = {f"q{i}": {f"d{i}": 1} for i in range(SAMPLE)}
    of_queries = 2 * asked.n / SAMPLE
    print(f"\nRun dictionaries of {SAMPLE} queries, times {of_queries:.1f} for all of both sides")
    print("| peer | seconds | times `ranked` |")
    print("|---|---|---|")
    building = turns({"": lambda: run_dictionary(block)}, asked.repeats)[""] * of_queries
    print(f"| building the dictionary | {building:.0f} | {building / took['ranked']:.0f} |")
    for name, told, work in (
        ("ranx", "ranx: building its `Run`", of_ranx),
        ("pytrec_eval", "pytrec_eval: building and evaluating", of_pytrec_eval),
    ):
        try:
            importlib.import_module(name)
        except ImportError:
            print(f"{name} is not installed.", file=sys.stderr)
            continue
        work(block[:2], {q: qrels[q] for q in ("q0", "q1")})
        seconds = turns({"": partial(work, block, qrels)}, asked.repeats)[""] * of_queries
        print(f"| {told} | {seconds:.0f} | {seconds / took['ranked']:.0f} |")


if __name__ == "__main__":
    main()
