"""Recall of lists on real texts, by cosine and by inner products.

``python benchmarks/neighbors_texts.py SET [--pairs 20000]`` with the folder of an
aligned set (see `_corpora.aligned`): learns from training pairs, indexes all texts of
the y side, and asks with the test texts of the x side.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

# isort: split
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
PROBES = (4, 8, 16, 32, 64)


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
    columns = " | ".join(map(str, PROBES))
    print(f"| method | lengths, 1 % to 99 % | {columns} |")
    print("|---|---|" + "---|" * len(PROBES), flush=True)
    for name, settings in METHODS.items():
        model = get_method(name)(n_components=asked.components, **settings)
        model.fit(X, Y)
        Q = embed(model, x_test, "x")
        Q = np.ascontiguousarray(Q[np.linalg.norm(Q, axis=1) > 0])
        with tempfile.TemporaryDirectory() as home:
            vectors = write_vectors(model, [y_all], f"{home}/vectors", "y")
            exact = exact_search(vectors, Q, 10)
            own = np.array(vectors[0])
            index = ApproximateIndex.build(vectors, f"{home}/lists")
            found = [index.recall(Q, n_probe=n, exact=exact).mean for n in PROBES]
        told = np.quantile(np.linalg.norm(own, axis=1), [0.01, 0.99])
        cells = " | ".join(f"{value:.3f}" for value in found)
        print(f"| {name} | {told[0]:.2f} to {told[1]:.2f} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
