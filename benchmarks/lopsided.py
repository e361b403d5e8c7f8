"""Few queries, many titles: what a fit costs when one side is much the larger.

442 queries and 23,600 titles of which 5,500 pairs belong together, as character n-grams
(about 7,600 and 31,700 features). The titles are made of words from two vocabularies that
translate each other, with typing errors, so that there is something to learn.

    python benchmarks/lopsided.py [METHOD ...]
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
import warnings

import numpy as np
from scipy.sparse import coo_array

from simviz.data import PairSet
from simviz.methods import get_method
from simviz.pipeline import default_pipeline
from simviz.relevance import Relevance

METHODS = ("cl_lsi", "cca", "opca", "hdlr", "s2net")
_LETTERS = np.array(list("etaoinshrdlcumwfgypbvk"))


def words(rng: np.random.Generator, n: int) -> list[str]:
    """Invented words, letters as frequent as in English."""
    p = 1 / np.arange(2, len(_LETTERS) + 2)
    return ["".join(rng.choice(_LETTERS, rng.integers(3, 10), p=p / p.sum())) for _ in range(n)]


def lopsided(
    n_x: int = 442, n_y: int = 23_600, n_pairs: int = 5_500, *, seed: int = 0
) -> tuple[PairSet, PairSet]:
    """Return training pairs and 2,000 titles not seen, each of one of the queries."""
    rng = np.random.default_rng(seed)
    concepts = 800
    here, there = words(rng, concepts), words(rng, concepts)
    decor = words(rng, 1_800)
    queries = [rng.choice(concepts, 3, replace=False) for _ in range(n_x)]

    def title(query: int | None) -> str:
        about = queries[query][:] if query is not None else rng.integers(0, concepts, 3)
        kept = rng.permutation(about)[: rng.integers(2, 4)]
        parts = [there[c] for c in kept]
        parts += [decor[int(w)] for w in 1_800 * rng.random(rng.integers(1, 4)) ** 2]
        parts = [typed(rng, p) for p in parts]
        return " ".join(rng.permutation(parts))

    x = [" ".join(here[c] for c in query) for query in queries]
    mates = np.concatenate([np.arange(n_x), rng.integers(0, n_x, n_pairs - n_x)])
    y = [title(int(q)) for q in mates] + [title(None) for _ in range(n_y - n_pairs)]
    unseen = rng.integers(0, n_x, 2_000)
    titles = [title(int(q)) for q in unseen]
    return pairs(x, y, mates), pairs(x, titles, unseen)


def pairs(x: list[str], y: list[str], mates: np.ndarray) -> PairSet:
    """Return the pair set in which title i belongs to query ``mates[i]``."""
    n = len(mates)
    matrix = coo_array((np.ones(n), (mates, np.arange(n))), shape=(len(x), len(y))).tocsr()
    return PairSet.from_texts(x, y, Relevance(matrix))


def typed(rng: np.random.Generator, word: str) -> str:
    """Return the word as somebody in a hurry types it, one time in fifty."""
    if len(word) < 4 or rng.random() > 0.02:
        return word
    i = int(rng.integers(1, len(word) - 1))
    return word[:i] + word[i + 1 :]


def main(methods: tuple[str, ...]) -> None:
    """Print seconds of a fit, and the MRR of unseen titles."""
    train, test = lopsided()
    warm = pairs(list(train.x.content[:40]), list(train.y.content[:40]), np.arange(40))
    print("| method | features | passes | seconds of processor | MRR y→x |\n|---|---|---|---|---|")
    for name in methods:
        apart = {"shared": False} if "shared" in get_method(name).__annotations__ else {}
        pipeline = default_pipeline(name, train, **apart)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            default_pipeline(name, warm, **apart).fit(warm)  # compiles
            start = time.process_time()
            pipeline.fit(train)
            seconds = time.process_time() - start
        model = pipeline.model_
        scores = pipeline.similarity(test.x, test.y)
        mate = test.relevance.matrix.T.tocsr().indices
        own = scores[mate, np.arange(len(mate))]
        rank = 1 + (scores > own).sum(axis=0) + ((scores == own).sum(axis=0) - 1) / 2
        widths = f"{model.x_projection_.shape[0]:,} + {model.y_projection_.shape[0]:,}"
        passes = getattr(model, "n_iter_", "")
        print(f"| {name} | {widths} | {passes} | {seconds:.1f} | {(1 / rank).mean():.3f} |")


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or METHODS)
