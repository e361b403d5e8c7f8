"""Learned scores and their blends with BM25 on many divisions of the queries."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from _corpora import Sides, pool
from numpy.typing import NDArray

from simviz.evaluation import corrected_resampled_t
from simviz.features import TextCounts, Tfidf
from simviz.methods import get_method
from simviz.methods.mlc import MLC
from simviz.ranking import Ranking, expected_average_precision, rank_block
from simviz.relevance import Relevance

Ints = NDArray[np.integer]
Scores = NDArray[np.floating]
#: A setting's scores of all documents for queries, learned from others.
Learner = Callable[[Ints, Ints], dict[str, Scores]]

TEST_SHARE, N_FOLDS = 0.2, 5
MLC_DIMENSIONS, SVD_DIMENSIONS = (20, 50), (5, 10, 20, 40, 80, 160)
ALPHAS = np.linspace(0, 1, 11)
COLUMNS = ("scorer", "MAP", "over BM25", "p, corrected", "ahead in", "chosen in the first")


def average_precision(scores: Scores, positives: sp.csr_array) -> float:
    """MAP of queries over all documents, as expected over ties."""
    above, tied, _ = rank_block(scores, positives.indptr, positives.indices)
    n = np.full(len(scores), scores.shape[1])
    ranking = Ranking(positives.indptr, positives.indices, positives.data, above, tied, n)
    return float(np.nanmean(expected_average_precision(ranking)))


class Collection:
    """Queries and documents of a folder, and everything that is not learned.

    Parameters
    ----------
    folder : Path
        As `benchmarks._corpora.pool` reads it.
    """

    def __init__(self, folder: Path) -> None:
        queries, documents, relevance = pool(folder)
        self.positives = relevance.positives
        words = {"stop_words": "english", "min_df": 2}
        tfidf = Tfidf(**words).fit(documents)
        counts = TextCounts(stop_words="english").fit(documents)
        self.X, self.Y = tfidf.transform(queries), tfidf.transform(documents)
        self.vsm = np.asarray((self.X @ self.Y.T).toarray())
        sides: Sides = counts.transform(queries), counts.transform(documents)
        any_pairs = Relevance(self.positives, unjudged="negative")
        self.bm25 = get_method("bm25")().fit(*sides, any_pairs).similarity(*sides)
        self.bm25_spread = self.bm25.std()
        self.space = get_method("pca")(max(MLC_DIMENSIONS)).fit(self.X, self.Y, any_pairs)

    def judged(self, rows: Ints) -> Relevance:
        """Judgments of some queries, all other pairs negative."""
        return Relevance(sp.csr_array(self.positives[rows]), unjudged="negative")

    def mlc(self, train: Ints, test: Ints) -> dict[str, Scores]:
        """Scores by MLC after PCA, in both forms and several dimensions."""
        found = {}
        for k in MLC_DIMENSIONS:
            for form in ("full", "diagonal"):
                space = self.space.truncate(min(k, self.space.n_components_))
                model = MLC(space.n_components_, init=space, form=form, n_constraints=4_000,
                            tol=1e-3)  # fmt: skip
                model.fit(self.X[train], self.Y, self.judged(train))
                found[f"{form}, k={k}"] = model.similarity(self.X[test], self.Y)
        return found

    def svd(self, train: Ints, test: Ints) -> dict[str, Scores]:
        """Scores by heterogeneous SVD, with both weights and in several dimensions."""
        found = {}
        for weight in ("balanced", "paper"):
            model: Any = get_method("heterogeneous_svd")(
                min(max(SVD_DIMENSIONS), len(train)), negative_weight=weight, measure="dot"
            )
            model.fit(self.X[train], self.Y, self.judged(train))
            for k in SVD_DIMENSIONS:
                if k <= model.n_components_:
                    small = model.truncate(k)
                    found[f"{weight}, k={k}"] = small.similarity(self.X[test], self.Y)
        return found

    def blends(self, scores: Scores, rows: Ints, scale: float) -> list[Scores]:
        """α of the scores and 1 - α of BM25's, each in units of its spread."""
        base = self.bm25[rows] / self.bm25_spread
        return [alpha / scale * scores + (1 - alpha) * base for alpha in ALPHAS]

    def evaluate(self, scores: Scores, rows: Ints) -> float:
        """MAP of some queries."""
        return average_precision(scores, sp.csr_array(self.positives[rows]))


def chosen(
    collection: Collection, learn: Learner, train: Ints, test: Ints, rng: np.random.Generator
) -> dict[str, tuple[float, str]]:
    """Test MAP of a method alone and beside BM25, settings by folds of the training queries."""
    folds = np.array_split(rng.permutation(train), N_FOLDS)
    alone: dict[str, list[float]] = {}
    blended: dict[str, list[NDArray[np.float64]]] = {}
    for held in folds:
        for setting, scores in learn(np.setdiff1d(train, held), held).items():
            alone.setdefault(setting, []).append(collection.evaluate(scores, held))
            curve = [
                collection.evaluate(blend, held)
                for blend in collection.blends(scores, held, scores.std() or 1.0)
            ]
            blended.setdefault(setting, []).append(np.array(curve))
    whole = {name: values for name, values in alone.items() if len(values) == N_FOLDS}
    best = max(whole, key=lambda name: np.mean(whole[name]))
    curves = {name: np.mean(blended[name], axis=0) for name in whole}
    best_blend = max(curves, key=lambda name: curves[name].max())
    at = int(curves[best_blend].argmax())
    final = learn(train, test)
    blend = collection.blends(final[best_blend], test, final[best_blend].std() or 1.0)[at]
    return {
        "alone": (collection.evaluate(final[best], test), best),
        "blend": (collection.evaluate(blend, test), f"{best_blend}, α={ALPHAS[at]:.1f}"),
    }


def resampled(folder: Path, n_repeats: int) -> list[tuple[object, ...]]:
    """Rows of the table: MAP over repeats, and the corrected test against BM25."""
    collection = Collection(folder)
    n = collection.X.shape[0]
    values: dict[str, list[float]] = {}
    first: dict[str, str] = {}
    for repeat in range(n_repeats):
        rng = np.random.default_rng(repeat)
        order = rng.permutation(n)
        test, train = np.split(order, [round(TEST_SHARE * n)])
        results: dict[str, tuple[float, str]] = {
            "VSM": (collection.evaluate(collection.vsm[test], test), ""),
            "BM25": (collection.evaluate(collection.bm25[test], test), ""),
        }
        for name, learn in (("MLC", collection.mlc), ("heterogeneous SVD", collection.svd)):
            both = chosen(collection, learn, train, test, rng)
            results[name], results[f"{name} + BM25"] = both["alone"], both["blend"]
        for name, (value, setting) in results.items():
            values.setdefault(name, []).append(value)
            first.setdefault(name, setting)
        found = {name: round(value, 4) for name, (value, _) in results.items()}
        print(folder.name, repeat, found, file=sys.stderr, flush=True)
    return [_row(name, values, first) for name in values]


def _row(name: str, values: Mapping[str, list[float]], first: Mapping[str, str]) -> Any:
    a, b = np.array(values[name]), np.array(values["BM25"])
    row: tuple[object, ...] = (name, float(a.mean()), float(a.mean() - b.mean()))
    if name == "BM25":
        return (*row, "", "", "")
    p = corrected_resampled_t(a, b, test_fraction=TEST_SHARE).p_value
    return (*row, float(p), f"{(a > b).sum()} of {len(a)}", first[name])
