"""Searches that fit once what candidates share, beside scikit-learn's grid search without.

``python benchmarks/search.py`` prints tables in Markdown, from the emoji demo.
"""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

import numpy as np  # isort: skip
from _timing import show
from sklearn.model_selection import GridSearchCV

from simviz.data import PairSet, Split, split
from simviz.datasets import load_demo
from simviz.evaluation import evaluate
from simviz.evaluation._search_fits import PairUnits
from simviz.evaluation.search import Selection, UnitEstimator, development, search
from simviz.pipeline import default_pipeline

GRIDS: dict[str, Mapping[str, Sequence[Any]]] = {
    "cca": {"n_components": [50, 100, 200, 400], "regularization": [0.1, 1.0, 10.0]},
    "cl_lsi": {"n_components": [10, 25, 50, 75, 100, 150, 200, 250, 300, 350, 400, 450]},
}


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--method", choices=GRIDS, nargs="*", default=list(GRIDS))
    options = parser.parse_args()
    folds, grids = options.folds, {m: GRIDS[m] for m in options.method}
    pairs = load_demo("emoji")
    parts = split(pairs, "pair")
    whole = development(pairs, parts)
    speed, quality = [], []
    for method in grids:  # compiles what both need
        search(default_pipeline(method, whole), whole, {"n_components": [5]}, cv=2)
    for method, params in grids.items():
        pipeline = default_pipeline(method, whole)
        found: list[Selection] = []
        ways: dict[str, Callable[[], object]] = {
            "simviz.evaluation.search.search": lambda p=pipeline, g=params, f=found: f.append(
                search(p, whole, g, cv=folds, direction="mean")
            ),
            "GridSearchCV": lambda m=method: grid_search(m, whole, folds),
        }
        times = {name: seconds(way) for name, way in ways.items()}
        first = next(iter(times.values()))
        n = len(found[0].trials)
        speed += [
            (method, n, folds, name, f"{t:.1f} s", f"{t / first:.2f}") for name, t in times.items()
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
    main()
