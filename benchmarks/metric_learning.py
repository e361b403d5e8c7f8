"""Print the tables of metric learning: speed beside a peer, many constraints, MLC beside PCA.

``python benchmarks/metric_learning.py TABLE [--data FOLDER ...]``. Settings are
chosen on dev splits. How MLC ranks is measured by
``python -m simviz.experiments heterogeneous_ranking``.
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

import numpy as np  # isort: skip
from _corpora import graded
from ground import show

from simviz.data import PairSet
from simviz.evaluation import evaluate, query_values
from simviz.evaluation.significance import paired_test
from simviz.features import Tfidf
from simviz.methods import get_method
from simviz.methods._metric import Constraints, LogDetProjections
from simviz.methods.hdlr import HDLR
from simviz.pipeline import default_pipeline

SIZES = (5_000, 20_000, 100_000)
STARTS: tuple[tuple[str, dict[str, object]], ...] = (
    ("pca", {}),
    ("mlc", {}),
    ("mlc", {"form": "diagonal"}),
    ("mlc", {"n_components": 100, "measure": "dot", "validation_fraction": 0}),
)
#: Training queries, and queries of each pool, of a set that is cut (None: all there are).
CUT: dict[str, tuple[int | None, int | None]] = {"en_es_sentences": (10_000, 2_000)}
ITML = """
import json, sys, time
import numpy as np
from metric_learn import ITML
data = np.load(sys.argv[1])
points, sign, bounds = data["points"], data["sign"], data["bounds"]
sweeps = int(sys.argv[2])
took = []
for n in (1, 1 + sweeps):
    start, cpu = time.perf_counter(), time.process_time()
    model = ITML(max_iter=n, tol=0.0).fit(points, sign, bounds=bounds)
    took.append((time.perf_counter() - start, time.process_time() - cpu))
wall, cpu = (np.subtract(*took[::-1]) / (sweeps * len(sign))).tolist()
print(json.dumps({"wall": wall, "cpu": cpu}))
"""


def problem(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, Constraints, tuple[float, float]]:
    """Noisy points of a hundred groups, pairs of which half are similar, and bounds."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 100, 5_000)
    spread = np.geomspace(1, 0.05, d)
    points = (rng.normal(size=(100, d))[group] + rng.normal(size=(5_000, d))) * spread
    x, y = rng.integers(0, 5_000, (2, n))
    near = rng.random(n) < 0.5
    order = np.argsort(group, kind="stable")
    first, size = np.searchsorted(group[order], np.arange(100)), np.bincount(group)
    y = np.where(near, order[first[group[x]] + y % size[group[x]]], y)
    near, apart = group[x] == group[y], x != y
    pairs = Constraints(x, y, np.where(near, 1.0, -1.0)).take(apart)
    squares = np.sum((points[pairs.x[:5_000]] - points[pairs.y[:5_000]]) ** 2, axis=1)
    low, high = np.percentile(squares, [5, 95])
    return points, pairs, (float(low), float(high))


def swept(points: np.ndarray, pairs: Constraints, bounds: tuple[float, float], sweeps: int):
    """Seconds (wall, processor) of so many sweeps, updates made, and the projections."""
    projections = LogDetProjections(points, points, pairs, bounds, 1.0)
    start, cpu = time.perf_counter(), time.process_time()
    for _ in range(sweeps):
        projections.sweep(lambda: None)
    return time.perf_counter() - start, time.process_time() - cpu, projections


def speed(peer: str | None, *, small: bool) -> None:
    """Sweeps at the size that matters, and one constraint beside metric-learn's."""
    n, sweeps = (5_000, 2) if small else (100_000, 20)
    swept(*problem(500, 20), 1)
    rows = []
    for k in (100, 300):
        wall, cpu, done = swept(*problem(n, k), sweeps)
        active = float((done.multipliers > 0).mean())
        each = cpu / (sweeps * len(done.pairs))
        rows.append((k, f"{len(done.pairs):,} × {sweeps}", f"{wall:.1f} s", f"{cpu:.1f} s",
                     f"{1e6 * each:.1f} µs", active))  # fmt: skip
    head = ("k", "constraints × sweeps", "time", "processor time", "a constraint", "bounding")
    show(head, rows)
    if peer is None:
        print("No peer was measured: give --peer.\n")
        return
    d, k, n = (200, 20, 100) if small else (1_000, 100, 400)
    points, pairs, bounds = problem(n, d)
    # The first k features vary most: they stand for what a projection keeps.
    _, cpu, _ = swept(points[:, :k].copy(), problem(20_000, k)[1], bounds, 3)
    ours = cpu / (3 * len(problem(20_000, k)[1]))
    rows = [(f"ours, k = {k}", f"{1e6 * ours:.1f} µs", 1.0)]
    for width in (d, k):
        seconds = itml(peer, points[:, :width], pairs, bounds)
        name = f"metric-learn ITML, {width:,} features"
        rows.append((name, f"{1e6 * seconds:.1f} µs", seconds / ours))
    show(("one constraint", "processor time", "ratio"), rows)


def itml(peer: str, points: np.ndarray, pairs: Constraints, bounds: tuple[float, float]) -> float:
    """Processor seconds a constraint of metric-learn's ITML, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pairs.npz"
        tuples = np.stack([points[pairs.x], points[pairs.y]], axis=1)
        np.savez(file, points=tuples, sign=pairs.sign.astype(int), bounds=np.array(bounds))
        command = [peer, "-W", "ignore", "-c", ITML, str(file), "3"]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(json.loads(out)["cpu"])


def constraints(data: Path, *, small: bool) -> None:
    """HDLR beside the model it starts from: with more and more constraints."""
    parts = graded(data, *CUT.get(data.name, (None, None)))
    features = Tfidf(min_df=2, tf="log1p").fit(parts["train"][0] + parts["train"][1])
    sides = {
        name: (features.transform(x), features.transform(y), relevance)
        for name, (x, y, relevance) in parts.items()
    }
    train, dev, test = sides["train"], sides["dev"], sides["test"]
    watched = dict(zip(("X_val", "y_val", "relevance_val"), dev, strict=True))
    n_relevant = train[2].positives.nnz
    print(f"{data.name}: {train[0].shape[0]:,} training queries, {n_relevant:,} relevant pairs.\n")
    rows = []
    for init in ("pca", "opca"):
        shared = {"shared": True} if init == "opca" else {}
        start = get_method(init)(100, **shared).fit(*train)
        rows.append((init, "start", "", "", start.score(*dev), start.score(*test)))
        for n in SIZES[: 1 if small else None]:
            model = HDLR(100, init=start, n_constraints=n).fit(*train, **watched)
            sweep = f"{model.best_iter_} of {model.n_iter_}"
            rows.append((init, f"{model.n_constraints_:,}", str(model.gamma_), sweep,
                         model.score(*dev), model.score(*test)))  # fmt: skip
    show(("start", "constraints", "γ by dev", "best sweep", "dev MRR", "test MRR"), rows)


def beside_first(data: Path, settings: Sequence[tuple[str, dict[str, object]]]) -> None:
    """Methods in pipelines with defaults, paired with the first of them over test queries."""
    parts = graded(data, 1_400, 1_400)
    train, test = (PairSet.from_texts(*parts[name]) for name in ("train", "test"))
    rows, values = [], []
    for name, params in settings:
        pipeline = default_pipeline(name, train, **params).fit(train)
        result = evaluate(pipeline, test.x, test.y, test.relevance, metrics=["MRR"])
        values.append(query_values(result, "MRR").values)
        model, p = pipeline.model_, paired_test(values[-1], values[0]).p_value
        given = [name, *(f"{key}={value}" for key, value in params.items())]
        kept = f"{model.best_iter_} of {model.n_iter_}" if hasattr(model, "best_iter_") else ""
        rows.append((", ".join(given), kept, len(values[0]), float(np.mean(values[-1])),
                     f"{p:.2g}" if len(values) > 1 else ""))  # fmt: skip
    print(f"{data.name}: {len(train.x):,} training queries, {test.shape[1]:,} candidates.\n")
    show(("method", "step kept", "n", "test MRR", "p beside the first"), rows)


def main() -> None:
    """Run one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["speed", "constraints", "start"])
    parser.add_argument("--data", type=Path, nargs="+", default=[], help="folders of data sets")
    parser.add_argument("--peer", help="a Python with metric-learn 0.7.0 and scikit-learn 1.7.2")
    parser.add_argument("--small", action="store_true", help="only see that it runs")
    args = parser.parse_args()
    if args.table == "speed":
        speed(args.peer, small=args.small)
    for folder in args.data:
        if args.table == "start":
            beside_first(folder, STARTS)
        else:
            constraints(folder, small=args.small)


if __name__ == "__main__":
    main()
