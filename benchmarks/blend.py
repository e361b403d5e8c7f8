"""Query expansion beside TF-IDF, and the time of a whole curve of blends.

``python benchmarks/blend.py speed`` and ``python benchmarks/blend.py quality --data FOLDER``
print tables in Markdown; FOLDER holds one folder each of ``citeulike_t`` and ``cora``, without it
the links between pages of Python documentation, which simviz has, are measured alone.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

import numpy as np  # isort: skip
import scipy.sparse as sp
from _timing import in_turns
from ground import show
from numpy.typing import NDArray

from simviz.base import unit_rows
from simviz.evaluation import MAP, Precision, evaluate, paired_randomization
from simviz.evaluation.blends import ALPHAS, blend_curve
from simviz.experiments import Parts, get_experiment
from simviz.features import Vectors
from simviz.methods import get_method
from simviz.pipeline import PairPipeline

N, K, TERMS, FILLED = 8_675, 200, 20_000, 40
COMMON, NOISE = 4, 4.5  # of the pairs that speed is measured on: each part finds about half
BETAS = (0.0, 0.1, 0.25, 0.5, 1.0)
FEEDBACK = (5, 10, 20, 50)
KEPT_TERMS = (20, 50, None)
MOST_QUERIES = 300  # of the validation part, for choosing settings
Block = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Both:
    """A learned and a lexical similarity of the same items, as a blend gives them."""

    P: NDArray[np.float32]
    Q: NDArray[np.float32]
    X: Any
    Y: Any
    alpha: float = 0.5

    def iter_parts(  # noqa: D102 -- as `simviz.evaluation.blends.Blendable` has it
        self, x: object, y: object, /, *, block_size: int | None = None
    ) -> Iterator[tuple[Block, Block]]:
        size = block_size or max(16, 2**21 // len(self.Q))
        terms = self.Y.T.tocsr() if sp.issparse(self.Y) else self.Y.T
        for start in range(0, len(self.P), size):
            rows = slice(start, start + size)
            lexical = self.X[rows] @ terms
            yield self.P[rows] @ self.Q.T, lexical.toarray() if sp.issparse(lexical) else lexical

    def iter_similarity(  # noqa: D102 -- as `simviz.evaluation.Scorer` has it
        self, x: object, y: object, /, *, block_size: int | None = None
    ) -> Iterator[Block]:
        for learned, lexical in self.iter_parts(x, y, block_size=block_size):
            yield self.alpha * learned.astype(np.float64) + (1.0 - self.alpha) * lexical.astype(
                np.float64
            )


def made_up(n: int) -> Both:
    """Pairs that share a few terms, and whose vectors point the same way, more or less."""
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, TERMS + 1) ** 0.9
    idf = np.log(1 / np.minimum(1, FILLED * share / share.sum()) + 1).astype(np.float32)

    def terms(k: int) -> NDArray[np.int64]:
        return rng.choice(TERMS, (n, k), p=share / share.sum())

    def rows(columns: NDArray[np.int64]) -> sp.csr_array:
        at = np.repeat(np.arange(n), columns.shape[1]), columns.ravel()
        counts = sp.csr_array((np.ones(columns.size, np.float32), at), shape=(n, TERMS))
        counts.data = np.log1p(counts.data) * idf[counts.indices]
        return unit_rows(counts)

    common = terms(COMMON)
    X, Y = (rows(np.hstack([common, terms(FILLED - COMMON)])) for _ in range(2))
    P = rng.standard_normal((n, K)).astype(np.float32)
    Q = P + NOISE * rng.standard_normal((n, K)).astype(np.float32)
    return Both(unit_rows(P), unit_rows(Q), X, Y)


def speed(n: int) -> None:
    """A curve of 101 weights against one evaluation at one weight, in turns."""
    sparse = made_up(n)
    rng = np.random.default_rng(1)
    other = unit_rows(rng.standard_normal((n, K)).astype(np.float32))
    near = unit_rows(other + NOISE * rng.standard_normal((n, K)).astype(np.float32))
    dense = Both(sparse.P, sparse.Q, other, near)
    rows = []
    for lexical, both, metrics, directions in (
        ("sparse", sparse, ["MRR"], ["x2y", "y2x"]),
        ("sparse", sparse, ["MRR", "top-1", "MAP", "NDCG@3"], ["x2y", "y2x"]),
        ("dense", dense, ["MRR"], ["x2y", "y2x"]),
    ):
        options: dict[str, Any] = {"metrics": metrics, "directions": directions}
        works = {
            work.__name__: partial(work, both, both.P, both.Q, **options)
            for work in (evaluate, blend_curve)
        }
        once, curve = (took.least for took in in_turns(works, (), (), 1).values())
        told = blend_curve(both, both.P, both.Q, alphas=[0, 0.3, 1], **options)
        at = evaluate(replace(both, alpha=0.3), both.P, both.Q, **options)
        off = max(abs(told.values(m)[1] - at.value(m)) for m in metrics)
        rows.append(
            (lexical, ", ".join(metrics), len(directions), f"{once:.2f} s", f"{curve:.2f} s",
             f"{curve / once:.2f}", f"{off:.1e}")
        )  # fmt: skip
    print(f"{n:,} × {n:,}, {len(ALPHAS)} weights\n")
    show(
        ("lexical part", "metrics", "directions", "one evaluation", "curve", "ratio", "off by"),
        rows,
    )


def measured(asked: Parts, **params: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Average precision and P@10 of each test query, expanded by the documents that are ranked."""
    model = get_method("query_expansion")(**params)
    pipeline = PairPipeline(model, Vectors(), Vectors()).fit(asked.test)
    result = asked.ranked(pipeline, [MAP(), Precision(10)])
    return result.per_query(MAP()), result.per_query(Precision(10))


def some(links: Parts, n: int) -> Parts:
    """Validation queries evenly spread, n or a few more, in place of those of the test."""
    asked = links.validation
    step = max(1, len(asked.x) // n)
    return replace(links, test=asked.take(range(0, len(asked.x), step)))


def quality(links: Parts) -> None:
    """MAP and P@10 of query expansion, its settings chosen on validation, and of TF-IDF."""
    held_out = some(links, MOST_QUERIES)
    grid = [
        {"beta": beta, "n_feedback": fed, "n_terms": kept}
        for beta in BETAS[1:]
        for fed in FEEDBACK
        for kept in KEPT_TERMS
    ]

    def on_validation(params: dict[str, Any]) -> float:
        return float(np.nanmean(measured(held_out, **params)[0]))

    held = {str(params): on_validation(params) for params in grid}
    best = max(grid, key=lambda params: held[str(params)])
    usual: dict[str, Any] = {}
    rows = []
    precise, _ = measured(links, beta=0)
    for title, params in (
        ("TF-IDF", {"beta": 0}),
        ("query expansion, defaults", usual),
        ("query expansion, chosen", best),
    ):
        average, ten = measured(links, **params)
        found = paired_randomization(average, precise)
        told = "" if title == "TF-IDF" else ", ".join(f"{k} {v}" for k, v in params.items())
        rows.append(
            (title, told, on_validation(params), float(np.nanmean(average)),
             float(np.nanmean(ten)), found.difference,
             "" if title == "TF-IDF" else f"{found.p_value:.4f}")
        )  # fmt: skip
    print(f"### {links.name}: {links.describe()}\n")
    heads = ("scores", "settings", "MAP, validation", "MAP", "P@10", "MAP to TF-IDF's", "p")
    show(heads, rows)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["speed", "quality"])
    parser.add_argument("--data", type=Path, help="folder with citeulike_t and cora")
    parser.add_argument("--only", choices=["cora", "citeulike_t", "pydocs_links"])
    parser.add_argument("--n", type=int, default=N, help="items of a side, for speed")
    asked = parser.parse_args()
    if asked.what == "speed":
        speed(asked.n)
        return
    experiment = get_experiment("ssi_links")
    if asked.only in (None, "pydocs_links"):
        quality(experiment.load())
    for name in ("cora", "citeulike_t"):
        if asked.data is not None and asked.only in (None, name):
            quality(experiment.load(asked.data / name))


if __name__ == "__main__":
    main()
