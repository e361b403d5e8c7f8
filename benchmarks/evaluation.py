"""What evaluation costs and how often its tests are wrong, beside other libraries.

``python benchmarks/evaluation.py products|runs|pairs|search`` prints tables in Markdown: rank
metrics of vectors beside the bare products, run dictionaries and a curve; ``simviz compare`` on
TREC runs beside ir_measures' means of the same files; false alarms of the tests of judged pairs;
searches that fit once what candidates share beside scikit-learn's grid search. Peers (`ranx`,
`pytrec_eval`) are compared where they are installed. Vectors, runs and pairs are synthetic.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

import numpy as np  # isort: skip
from _timing import machine, show, timed
from sklearn.model_selection import GridSearchCV

from simviz.data import PairSet, Split, split
from simviz.datasets import load_demo
from simviz.evaluation import (
    AUC,
    MAP,
    MRR,
    NDCG,
    JudgedPairs,
    Precision,
    Recall,
    TopOne,
    VectorScorer,
    bootstrap_pairs,
    dimension_curve,
    dimension_grid,
    evaluate,
    parse_metric,
)
from simviz.evaluation._tuning_fits import PairUnits
from simviz.evaluation.judged_pair_tests import delong_pairs
from simviz.evaluation.tuning import Selection, UnitEstimator, development, search
from simviz.pipeline import default_pipeline

#: Items of a side, dimensions, and rounds, in which works take turns.
ITEMS, DIMENSIONS, ROUNDS = 8_675, 1_000, 3
RANK_METRICS = (TopOne(), MRR(), MAP(), Precision(5), Recall(10), NDCG(3), AUC("query"))
#: Queries whose run dictionary is built: one of all queries would fill the memory.
SAMPLE = 100
QUERIES, RUNS, JUDGED = 1_000, 10, 20
PEER = """
import json, sys, ir_measures
qrels = list(ir_measures.read_trec_qrels(sys.argv[1]))
measure = ir_measures.nDCG @ 10
print(json.dumps([
    ir_measures.calc_aggregate([measure], qrels, ir_measures.read_trec_run(run))[measure]
    for run in sys.argv[2:]
]))
"""
#: Which items judged pairs share.
STRUCTURES = {
    "once": "every item once",
    "queries": "queries with 5 candidates",
    "both": "both sides 5 times",
}

#: Comparisons of two runs, draws of a bootstrap, and the share of relevant pairs.
COMPARISONS, DRAWS, SHARE = 1_000, 500, 0.3
GRIDS: dict[str, Mapping[str, Sequence[Any]]] = {
    "cca": {"n_components": [50, 100, 200, 400], "regularization": [0.1, 1.0, 10.0]},
    "cl_lsi": {"n_components": [10, 25, 50, 75, 100, 150, 200, 250, 300, 350, 400, 450]},
}
FOLDS = 3


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


def products() -> None:
    for line in machine():
        print(line)
    X, Y = vectors(ITEMS, DIMENSIONS)
    works = {f.__name__: partial(f, X, Y) for f in (bare, ranked, with_auc, curve)}
    for work in (bare, ranked, with_auc, curve):
        work(X[:300], Y[:300])  # compiles
    before = peak_mb()
    ranked(X, Y)
    added = peak_mb() - before
    took = turns(works, ROUNDS)
    print(f"\n{ITEMS:,} x {ITEMS:,}, K = {DIMENSIONS:,}, median of {ROUNDS} rounds")
    rows = [(name, f"{s:.2f}", f"{s / took['bare']:.2f}") for name, s in took.items()]
    show(("work", "seconds", "of bare products"), rows)
    print(f"\nPeak memory {peak_mb():,.0f} MB, of which `ranked` added {added:,.0f} MB to")
    print(f"vectors and libraries ({before:,.0f} MB).")
    ratios = took["curve"] / took["ranked"], took["curve"] / took["with_auc"]
    print(f"Curve of 12 points: {ratios[0]:.2f} x `ranked`, {ratios[1]:.2f} x `with_auc`.")

    scores = VectorScorer().iter_similarity(X[:SAMPLE], Y)
    block = np.concatenate(list(scores))
    qrels = {f"q{i}": {f"d{i}": 1} for i in range(SAMPLE)}
    of_queries = 2 * ITEMS / SAMPLE
    print(f"\nRun dictionaries of {SAMPLE} queries, times {of_queries:.1f} for all of both sides")
    peers = {"building the dictionary": lambda *_: run_dictionary(block)}
    for name, told, work in (
        ("ranx", "ranx: building its `Run`", of_ranx),
        ("pytrec_eval", "pytrec_eval: building and evaluating", of_pytrec_eval),
    ):
        if importlib.util.find_spec(name):
            peers[told] = work
    rows = []
    for told, work in peers.items():
        work(block[:2], {q: qrels[q] for q in ("q0", "q1")})
        seconds = turns({"": partial(work, block, qrels)}, ROUNDS)[""] * of_queries
        rows.append((told, f"{seconds:.0f}", f"{seconds / took['ranked']:.0f}"))
    show(("peer", "seconds", "times `ranked`"), rows)


def write(folder: Path, depth: int) -> list[str]:
    """Write judgments and runs that get better by and by; return the paths of the runs."""
    rng = np.random.default_rng(0)
    documents = np.array([rng.choice(2 * depth, JUDGED, False) for _ in range(QUERIES)])
    grades = rng.integers(0, 4, documents.shape)
    with (folder / "qrels.txt").open("w") as file:
        for q, (row, graded) in enumerate(zip(documents, grades, strict=True)):
            file.writelines(f"q{q} 0 d{d} {g}\n" for d, g in zip(row, graded, strict=True))
    for run in range(RUNS):
        with (folder / f"run{run}.trec").open("w") as file:
            for q in range(QUERIES):
                known = np.zeros(2 * depth)
                known[documents[q]] = grades[q]
                answers = rng.permutation(2 * depth)[:depth]
                scores = rng.random(depth) + 0.15 * (1 + run / 30) * known[answers]
                order = np.argsort(-scores)
                file.writelines(
                    f"q{q} Q0 d{answers[i]} {rank} {scores[i]:.9f} run{run}\n"
                    for rank, i in enumerate(order, 1)
                )
    return [str(folder / f"run{run}.trec") for run in range(RUNS)]


def measured(*words: str) -> tuple[str, float]:
    """What a process prints, and the processor time that it took with all that it imports."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *words], stdout=subprocess.PIPE, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, seconds


def compare_runs() -> None:
    rows = []
    for depth in (100, 1_000):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            runs, qrels = write(folder, depth), str(folder / "qrels.txt")
            ours, theirs = [], []
            for _ in range(3):
                said, seconds = measured(
                    "-m", "simviz", "compare", *runs, "--qrels", qrels, "--json"
                )
                ours.append(seconds)
                peer, seconds = measured("-c", PEER, qrels, *runs)
                theirs.append(seconds)
            values = {one["run"]: one["value"] for one in json.loads(said)["runs"]}
            wanted = json.loads(peer)
            apart = max(abs(values[f"run{i}"] - v) for i, v in enumerate(wanted))
            seconds = (f"{median(one):.1f} s" for one in (ours, theirs))
            rows.append((f"{depth:,}", *seconds, f"{apart:.0e}"))
    head = "answers a query", "simviz compare", "ir_measures, means alone", "largest difference"
    show(head, rows)


def items(kind: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The x and y items of n pairs."""
    if kind == "once":
        return np.arange(n), np.arange(n)
    side = n // 5
    if kind == "queries":
        return np.sort(rng.integers(0, side, n)), np.arange(n)
    cells = np.sort(rng.choice(side * side, n, replace=False))
    return cells // side, cells % side


def equal_runs(kind: str, n: int, rng: np.random.Generator) -> list[JudgedPairs]:
    """Two runs whose scores differ by nothing but chance."""
    x, y = items(kind, n, rng)

    def noise() -> np.ndarray:
        of_items = rng.normal(size=x.max() + 1)[x] + rng.normal(size=y.max() + 1)[y]
        return of_items + rng.normal(size=n)

    label = noise()
    relevant = label > np.quantile(label, 1 - SHARE)
    common = 0.7 * (relevant + rng.normal(size=n))
    return [JudgedPairs(x, y, relevant, common + noise(), label) for _ in range(2)]


def check_pairs() -> None:
    metric, rows = parse_metric("AUC"), []
    for kind, title in STRUCTURES.items():
        for n in (100, 400):
            alarms, checks = 0, []
            for seed in range(COMPARISONS):
                runs = equal_runs(kind, n, np.random.default_rng([n, seed]))
                found = bootstrap_pairs(runs, metric, n_resamples=DRAWS, random_state=seed)
                alarms += found[0, 1].is_significant()
                if kind == "once":
                    checks.append(delong_pairs(runs, metric)[0, 1].is_significant())
            rows.append((title, f"{n:,}", alarms, sum(checks) if checks else "–"))
    print(f"False alarms in {COMPARISONS:,} comparisons by {metric}, {SHARE:.0%} relevant")
    show(("structure", "pairs", "bootstrap", "DeLong"), rows)


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one run, which other work leaves alone; all was compiled before."""
    start = time.process_time()
    work()
    return time.process_time() - start


def grid_search(method: str, whole: PairSet, folds: int) -> GridSearchCV:
    """Drive a method with scikit-learn's grid search over the same folds."""
    units = PairUnits.of(whole, "pair")
    estimator = UnitEstimator(default_pipeline(method, whole), units, direction="mean")
    grid = GridSearchCV(estimator, GRIDS[method], cv=units.folds(folds), refit=False)
    return grid.fit(np.arange(len(units)))


def on_test(method: str, parts: Split, found: Selection, whole: PairSet) -> list[float]:
    """Test MRR of every candidate, each trained on everything but the test part."""
    units = PairUnits.of(whole, "pair")
    values = []
    for trial in found.trials:
        estimator = UnitEstimator(default_pipeline(method, whole), units, direction="mean")
        fitted = estimator.set_params(**trial.params).fit(np.arange(len(units))).pipeline_
        test = parts.test
        values.append(
            evaluate(fitted, test.x, test.y, test.relevance, ["MRR"]).value("MRR", "mean")
        )
    return values


def search_grids() -> None:
    pairs = load_demo("emoji")
    parts = split(pairs, "pair")
    whole = development(pairs, parts)
    speed, quality = [], []
    for method in GRIDS:  # compiles what both need
        search(default_pipeline(method, whole), whole, {"n_components": [5]}, cv=2)
    for method, params in GRIDS.items():
        pipeline = default_pipeline(method, whole)
        found: list[Selection] = []
        ways: dict[str, Callable[[], object]] = {
            "simviz.evaluation.tuning.search": lambda p=pipeline, g=params, f=found: f.append(
                search(p, whole, g, cv=FOLDS, direction="mean")
            ),
            "GridSearchCV": lambda m=method: grid_search(m, whole, FOLDS),
        }
        times = {name: seconds(way) for name, way in ways.items()}
        first = next(iter(times.values()))
        n = len(found[0].trials)
        speed += [
            (method, n, FOLDS, name, f"{t:.1f} s", f"{t / first:.2f}") for name, t in times.items()
        ]
        values = on_test(method, parts, found[0], whole)
        for rule in ("best", "one_se"):
            chosen = found[0].by_rule(rule)
            value = values[found[0].trials.index(chosen)]
            told = ", ".join(f"{name} {v:g}" for name, v in chosen.params.items())
            quality.append(
                (method, rule, told, f"{chosen.mean:.3f} ± {chosen.spread:.3f}", f"{value:.3f}",
                 f"{max(values):.3f}")
            )  # fmt: skip
    show(("method", "candidates", "folds", "search", "processor time", "ratio"), speed)
    show(("method", "rule", "chosen", "MRR of the folds", "test MRR", "best test MRR"), quality)


if __name__ == "__main__":
    works = {
        "products": products,
        "runs": compare_runs,
        "pairs": check_pairs,
        "search": search_grids,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", choices=works)
    works[parser.parse_args().work]()
