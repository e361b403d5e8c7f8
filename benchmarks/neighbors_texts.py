"""Recall of lists and graphs on real texts, by cosine and by inner products.

``python benchmarks/neighbors_texts.py SET [--pairs 20000]`` with the folder of an
aligned set (see `_corpora.aligned`): learns from training pairs, indexes all texts of
the y side, and asks with the test texts of the x side. For methods whose vectors differ
in length it also tries graphs over vectors that were made equally long.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

# isort: split
import faiss
import numpy as np
from _corpora import Vocabularies, aligned

from simviz.jobs.worker import limit_threads
from simviz.methods import get_method
from simviz.scale import ApproximateIndex, embed, exact_search, write_vectors

METHODS = {
    "heterogeneous_svd": {"measure": "dot"},
    "ssi": {"shared": False, "max_iter": 5, "random_state": 0},
    "cl_lsi": {"shared": False},
    "s2net": {"shared": False, "max_iter": 5, "random_state": 0},
}
WIDTHS, PROBES = (16, 32, 64, 128, 256), (4, 8, 16, 32, 64)


def longer(Y: np.ndarray, Q: np.ndarray, truth: np.ndarray) -> list[float]:
    """Recall of a graph over vectors with a further column that makes them equally long."""
    lengths = np.linalg.norm(Y, axis=1)
    missing = np.sqrt(np.maximum(0, lengths.max() ** 2 - lengths**2))
    graph = faiss.IndexHNSWFlat(Y.shape[1] + 1, 16, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = 128
    graph.add(np.column_stack([Y, missing]).astype(np.float32))
    found = []
    for ef in WIDTHS:
        how = faiss.SearchParametersHNSW(efSearch=ef)
        positions = graph.search(np.pad(Q, ((0, 0), (0, 1))), 10, params=how)[1]
        shared = [len(np.intersect1d(a, b)) for a, b in zip(truth, positions, strict=True)]
        found.append(float(np.mean(shared)) / truth.shape[1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", type=Path)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--components", type=int, default=200)
    asked = parser.parse_args()
    limit_threads(1)
    parts = aligned(asked.set)
    train = tuple(side[: asked.pairs] for side in parts["train"])
    words = Vocabularies.fit(train, shared=False, min_df=2)
    X, Y = words.transform(train)
    y_texts = [text for part in parts.values() for text in part[1]]
    y_all, x_test = words.y.transform(y_texts), words.x.transform(parts["test"][0][:1000])
    print(f"{len(y_texts):,} texts, {X.shape[0]:,} pairs learned from, {words.sizes()} words")
    columns = " | ".join(f"{n} or {ef}" for n, ef in zip(PROBES, WIDTHS, strict=True))
    print(f"| method | lengths, 1 % to 99 % | index | {columns} |")
    print("|---|---|---|" + "---|" * len(WIDTHS), flush=True)
    for name, settings in METHODS.items():
        model = get_method(name)(n_components=asked.components, **settings)
        model.fit(X, Y)
        Q = embed(model, x_test, "x")
        Q = np.ascontiguousarray(Q[np.linalg.norm(Q, axis=1) > 0])
        rows = {}
        with tempfile.TemporaryDirectory() as home:
            vectors = write_vectors(model, [y_all], f"{home}/vectors", "y")
            exact = exact_search(vectors, Q, 10)
            own = np.array(vectors[0])
            index = ApproximateIndex.build(vectors, f"{home}/lists")
            rows["lists"] = [index.recall(Q, n_probe=n, exact=exact).mean for n in PROBES]
            for kind in ("cosine", "inner_product")[: 1 + (vectors.similarity == "dot")]:
                how = {"kind": "graph", "connectivity": 16, "neighbors": kind}
                index = ApproximateIndex.build(vectors, f"{home}/{kind}", **how)
                rows[f"graph, neighbours by {kind.replace('_', ' ')}"] = [
                    index.recall(Q, ef_search=ef, exact=exact).mean for ef in WIDTHS
                ]
        if vectors.similarity == "dot":
            rows["graph, a further column"] = longer(own, Q, exact.positions)
        told = np.quantile(np.linalg.norm(own, axis=1), [0.01, 0.99])
        for graph, values in rows.items():
            cells = " | ".join(f"{value:.3f}" for value in values)
            print(f"| {name} | {told[0]:.2f} to {told[1]:.2f} | {graph} | {cells} |",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
