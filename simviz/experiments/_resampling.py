"""Learned scores and their blends with BM25 on many divisions of the queries."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data import PairSet
from simviz.experiments._progress import Progress
from simviz.features import TextCounts, Tfidf
from simviz.methods import get_method
from simviz.ranking import Ranking, expected_average_precision, rank_block
from simviz.relevance import Relevance

Ints = NDArray[np.integer[Any]]
Scores = NDArray[np.floating[Any]]
#: Scores of all documents for some queries, by setting, learned from other queries.
Learner = Callable[[Ints, Ints], dict[str, Scores]]

#: Share of the queries that each division tests on.
TEST_SHARE = 0.2
ALPHAS = np.linspace(0, 1, 11)
_SVD = (5, 10, 20, 40, 80, 160)
_FORMS = ("full", "diagonal")
_CONSTRAINTS = 4_000


@dataclass(frozen=True, slots=True)
class Measured:
    """A scorer on the test queries of one division.

    Parameters
    ----------
    value : float
        Mean average precision.
    setting : str
        What the folds of the training queries chose; empty for nothing.
    """

    value: float
    setting: str = ""


class Collection:
    """Queries and documents, and everything that is not learned from pairs.

    Parameters
    ----------
    pairs : PairSet
        Texts; all queries have relevant documents.
    mlc_dimensions : tuple of int
        Principal components among which MLC learns.
    seed : int
        Of the methods.
    """

    def __init__(self, pairs: PairSet, mlc_dimensions: tuple[int, ...], seed: int) -> None:
        queries, documents = pairs.x.content, pairs.y.content
        self.positives = pairs.relevance.positives
        self.mlc_dimensions, self.seed = mlc_dimensions, seed
        tfidf = Tfidf(stop_words="english", min_df=2).fit(documents)
        counts = TextCounts(stop_words="english").fit(documents)
        self.X, self.Y = tfidf.transform(queries), tfidf.transform(documents)
        self.vsm: Scores = (self.X @ self.Y.T).toarray()
        sides = counts.transform(queries), counts.transform(documents)
        any_pairs = Relevance(self.positives, unjudged="negative")
        self.bm25: Scores = get_method("bm25")().fit(*sides, any_pairs).similarity(*sides)
        self.space: Any = get_method("pca")(max(mlc_dimensions), random_state=seed)
        self.space.fit(self.X, self.Y, any_pairs)
        # Turned into the few dimensions that queries span: no inner product of queries, and no
        # learned similarity to a document, is changed by it.
        U, s, _ = np.linalg.svd(self.X.toarray(), full_matrices=False)
        self.turned = (U * s).astype(self.X.dtype)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def judged(self, rows: Ints) -> Relevance:
        """Judgments of some queries, all other pairs negative.

        Parameters
        ----------
        rows : ndarray of int
            Queries.

        Returns
        -------
        Relevance
            Of those queries and all documents.
        """
        return Relevance(sp.csr_array(self.positives[rows]), unjudged="negative")

    def mlc(self, train: Ints, test: Ints) -> dict[str, Scores]:
        """Scores by MLC after PCA, in both forms and some dimensions.

        Parameters
        ----------
        train, test : ndarray of int
            Queries to learn from, and to score.

        Returns
        -------
        dict of str to ndarray of shape (n_test, n_documents)
            By setting, in words.
        """
        found = {}
        for k in self.mlc_dimensions:
            space = self.space.truncate(min(k, self.space.n_components_))
            for form in _FORMS:
                model: Any = get_method("mlc")(
                    space.n_components_, init=space, form=form, n_constraints=_CONSTRAINTS,
                    tol=1e-3, random_state=self.seed,
                )  # fmt: skip
                model.fit(self.X[train], self.Y, self.judged(train))
                found[f"{form}, {k} dimensions"] = model.similarity(self.X[test], self.Y)
        return found

    def svd(self, train: Ints, test: Ints) -> dict[str, Scores]:
        """Scores by heterogeneous SVD, with two weights and in some dimensions.

        Parameters
        ----------
        train, test : ndarray of int
            Queries to learn from, and to score.

        Returns
        -------
        dict of str to ndarray of shape (n_test, n_documents)
            By setting, in words.
        """
        found = {}
        top = min(max(_SVD), len(train), self.turned.shape[1], self.Y.shape[1])
        for weight in ("balanced", "paper"):
            model: Any = get_method("heterogeneous_svd")(
                top, negative_weight=weight, measure="dot", random_state=self.seed
            )
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*is more than the data can give", UserWarning)
                model.fit(self.turned[train], self.Y, self.judged(train))
            # Folds that differ by a query may give a dimension more or less: names are those of
            # the grid, so that settings can be compared.
            for k, before in zip(_SVD, (0, *_SVD), strict=False):
                if before < model.n_components_:
                    small = model.truncate(min(k, model.n_components_))
                    found[f"{weight} weights, at most {k} dimensions"] = small.similarity(
                        self.turned[test], self.Y
                    )
        return found

    def blends(self, scores: Scores, rows: Ints) -> list[Scores]:
        """Weigh learned scores and BM25's, each in units of its spread.

        Parameters
        ----------
        scores : ndarray of shape (n, n_documents)
            Learned.
        rows : ndarray of int, shape (n,)
            Whose they are.

        Returns
        -------
        list of ndarray
            One a weight of `ALPHAS`.
        """
        base = self.bm25[rows] / (self.bm25.std() or 1.0)
        learned = scores / (scores.std() or 1.0)
        return [alpha * learned + (1 - alpha) * base for alpha in ALPHAS]

    def average_precision(self, scores: Scores, rows: Ints) -> float:
        """Mean over queries, as expected over ties.

        Parameters
        ----------
        scores : ndarray of shape (n, n_documents)
            All documents are ranked.
        rows : ndarray of int, shape (n,)
            Queries.

        Returns
        -------
        float
            MAP.
        """
        positives = sp.csr_array(self.positives[rows])
        above, tied, _ = rank_block(scores, positives.indptr, positives.indices)
        n = np.full(len(scores), scores.shape[1])
        ranking = Ranking(positives.indptr, positives.indices, positives.data, above, tied, n)
        return float(np.nanmean(expected_average_precision(ranking)))


def divided(
    collection: Collection,
    learners: Mapping[str, Learner],
    trial: int,
    n_folds: int,
    progress: Progress,
) -> dict[str, Measured]:
    """Test scorers on a fifth of the queries, drawn at random.

    Parameters
    ----------
    collection : Collection
        Queries and documents.
    learners : mapping of str to callable
        What is learned, by its name; each is tested alone and with BM25.
    trial : int
        Seed of the division.
    n_folds : int
        Folds of the training queries, by which settings and weights are
        chosen.
    progress : Progress
        Hears how far it is.

    Returns
    -------
    dict of str to Measured
        VSM, BM25, and both forms of each learner.
    """
    rng = np.random.default_rng(trial)
    test, train = np.split(rng.permutation(len(collection)), [round(TEST_SHARE * len(collection))])
    found = {
        "VSM": Measured(collection.average_precision(collection.vsm[test], test)),
        "BM25": Measured(collection.average_precision(collection.bm25[test], test)),
    }
    for (name, learn), part in progress.over({item: 1.0 for item in learners.items()}):
        part(f"Trial {trial + 1}: {name}")
        alone, blended = _chosen(collection, learn, train, test, n_folds, rng)
        found |= {name: alone, f"{name} + BM25": blended}
    return found


def _chosen(
    collection: Collection,
    learn: Learner,
    train: Ints,
    test: Ints,
    n_folds: int,
    rng: np.random.Generator,
) -> tuple[Measured, Measured]:
    """Test MAP of a learner alone and with BM25; settings by folds of the training queries."""
    alone: dict[str, list[float]] = {}
    curves: dict[str, list[list[float]]] = {}
    for held in np.array_split(rng.permutation(train), n_folds):
        for setting, scores in learn(np.setdiff1d(train, held), held).items():
            alone.setdefault(setting, []).append(collection.average_precision(scores, held))
            curves.setdefault(setting, []).append(
                [
                    collection.average_precision(blend, held)
                    for blend in collection.blends(scores, held)
                ]
            )
    final = learn(train, test)
    # Folds of unequal size may allow one dimension more or less.
    whole = [name for name, values in alone.items() if len(values) == n_folds and name in final]
    best = max(whole, key=lambda name: np.mean(alone[name]))
    means = {name: np.mean(curves[name], axis=0) for name in whole}
    mixed = max(whole, key=lambda name: means[name].max())
    at = int(means[mixed].argmax())
    blend = collection.blends(final[mixed], test)[at]
    return (
        Measured(collection.average_precision(final[best], test), best),
        Measured(collection.average_precision(blend, test), f"{mixed}, α = {ALPHAS[at]:.1f}"),
    )
