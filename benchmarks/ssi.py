"""The speed of supervised semantic indexing: triples a second.

``python benchmarks/ssi.py`` prints a table in Markdown. What it learns from links is
measured by ``python -m simviz.experiments ssi_links``.
"""

import time

import simviz  # noqa: F401 -- before numpy: it sets how OpenBLAS threads wait

import numpy as np  # isort: skip
import scipy.sparse as sp
from ground import show

from simviz.relevance import Relevance

WORDS, ROWS, FILLED = 20_000, 20_000, 75  # documents as long as the paper's


def speed() -> None:
    """Triples a second of the compiled steps on one thread, while all violate the margin."""
    from simviz.methods import _triple_kernels
    from simviz.methods._triples import TripleSource, aligned, rows_of

    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, WORDS + 1) ** 0.9
    share /= share.sum()
    # Gumbel's trick: distinct words of a document, frequent ones more often.
    keys = (np.log(share) + rng.gumbel(size=(400, WORDS))).argsort(axis=1)[:, -FILLED:]
    documents = np.sort(keys[rng.integers(400, size=ROWS)], axis=1).astype(np.int32)
    X = sp.csr_array(
        (np.full(documents.size, FILLED**-0.5, np.float32), documents.ravel(),
         np.arange(ROWS + 1) * FILLED), shape=(ROWS, WORDS),
    )  # fmt: skip
    x, rows = rows_of(X), []
    for n_components in (50, 100):
        for group in (1, 4, 8):
            source = TripleSource(Relevance.identity(ROWS), links=False, group=group)
            start = rng.normal(0, 0.01, (2, WORDS, n_components)).astype(np.float32)
            U, V = map(aligned, start)
            took: dict[float, list[float]] = {np.inf: [], -np.inf: []}
            for turn in range(6):
                triples = source.draw(40_000, turn)
                for margin, times in took.items():
                    start = time.perf_counter()
                    _triple_kernels.low_rank_steps(
                        x, x, triples, group, U, V, margin, np.float32(1e-6), True
                    )
                    times.append(time.perf_counter() - start)
            best = (f"{len(triples) / min(times[1:]):,.0f}" for times in took.values())
            rows.append((n_components, group, *best))
    show(("N", "others a step", "triples/s, all violate", "triples/s, none does"), rows)


if __name__ == "__main__":
    speed()
