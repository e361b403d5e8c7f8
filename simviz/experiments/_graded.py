"""Methods that rank documents for queries, with settings chosen on validation queries."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data.items import Items
from simviz.evaluation import (
    AUC,
    NDCG,
    Comparison,
    Evaluation,
    Roc,
    evaluate,
    partitioned_auc_t,
)
from simviz.experiments._parts import Parts
from simviz.experiments._progress import Progress
from simviz.features import TextCounts, Tfidf
from simviz.methods import get_method
from simviz.relevance import Relevance

Scores = NDArray[np.float32]
Reals = NDArray[np.float64]
Values = Mapping[str, tuple[Any, ...]]

#: Depths of NDCG, as in the paper.
DEPTHS = (1, 3, 5)
#: Metadata column of queries with what an outside search said about them.
SNIPPETS = "snippets"
#: Dimensions of the PCA from which S2Net and HDLR start.
_LARGEST = 1000
_FIXED: Mapping[str, Mapping[str, Any]] = {
    "s2net": {"loss": "logistic", "direction": "x2y", "max_iter": 30, "patience": 5},
}
_NAMES = {"tfidf_cosine": "TFIDF", "bm25": "BM25", "lsa": "LSA", "pca": "PCA"}


class Given:
    """Scores that are known already.

    Parameters
    ----------
    scores : ndarray of shape (n_queries, n_documents)
        All of them.
    """

    def __init__(self, scores: Scores) -> None:
        self.scores = scores

    def iter_similarity(
        self, x: object, y: object, /, *, block_size: int | None = None
    ) -> Iterator[Scores]:
        """All of them at once."""
        yield self.scores


@dataclass(frozen=True, slots=True)
class Ranker:
    """A method with its settings, and what it scores.

    Parameters
    ----------
    method : str
        Its id.
    title : str
        What it is called.
    settings : str
        What was chosen, in words.
    k : int
        Dimensions; 0 for none.
    validation : float
        Mean of NDCG at the depths.
    scores : mapping of str to ndarray
        Of validation and test queries with all documents.
    """

    method: str
    title: str
    settings: str
    k: int
    validation: float
    scores: Mapping[str, Scores]


class Graded:
    """Queries and documents as matrices, and methods fitted to them.

    Texts of all documents, but none of the judgments of validation and test
    queries, are known to all methods, in one vocabulary.

    Parameters
    ----------
    parts : Parts
        Queries divided, the same documents in all parts.
    grids : mapping of str to mapping
        Values to try of each method's parameters, the largest last; nested
        methods are fitted once and cut.
    seed : int
        Of everything random.
    stop_words : str or None, default="english"
        Words to leave out, see `simviz.features.TextCounts`.
    """

    def __init__(
        self,
        parts: Parts,
        grids: Mapping[str, Values],
        seed: int,
        stop_words: str | None = "english",
    ) -> None:
        self.parts, self.grids, self.seed = parts, grids, seed
        self._fitted: dict[str, Any] = {}
        sides = {"train": parts.train, "validation": parts.validation, "test": parts.test}
        self.judged: dict[str, Relevance] = {n: part.relevance for n, part in sides.items()}
        texts = {name: _texts(part.x) for name, part in sides.items()}
        self.has_snippets = SNIPPETS in parts.train.x.metadata

        def vectors(features: TextCounts) -> dict[str, sp.csr_array]:
            features.fit([*texts["train"], *parts.train.y.content])
            made = {name: features.transform(asked) for name, asked in texts.items()}
            return {**made, "y": features.transform(parts.train.y.content)}

        tried = {tf: vectors(Tfidf(tf=tf, stop_words=stop_words)) for tf in _WEIGHTINGS}
        cosine = {tf: _dot(made) for tf, made in tried.items()}
        best = max(cosine, key=lambda tf: self.quality(cosine[tf]["validation"], "validation"))
        self.vectors = {"tfidf": tried[best], "counts": vectors(TextCounts(stop_words=stop_words))}
        self.tfidf = self.ranker("tfidf_cosine", f"tf {best}", 0, cosine[best])

    def quality(self, scores: Scores, part: str) -> float:
        """Mean of NDCG at the depths."""
        result = ranked(scores, self.judged[part], with_auc=False)
        return float(np.mean([result.value(NDCG(k)) for k in DEPTHS]))

    def ranker(self, method: str, settings: str, k: int, scores: Mapping[str, Scores]) -> Ranker:
        """Under its name, with its validation quality."""
        title = _NAMES.get(method) or str(get_method(method).tags.title)
        quality = self.quality(scores["validation"], "validation")
        return Ranker(method, title, settings, k, quality, scores)

    def tried(self, method: str, progress: Progress) -> list[Ranker]:
        """A method with every setting of its grid.

        Parameters
        ----------
        method : str
            Its id; "tfidf_cosine" has been tried already.
        progress : Progress
            Hears how far it is.

        Returns
        -------
        list of Ranker
            In the grid's order.
        """
        if method == "tfidf_cosine":
            return [self.tfidf]
        grid, found = self.grids[method], []
        for values, part in progress.over(list(product(*grid.values()))):
            params = dict(zip(grid, values, strict=True))
            settings = ", ".join(f"{_WORDS.get(n, n)} {v}" for n, v in params.items())
            told = f"{get_method(method).tags.title}, {settings}"
            part(told)
            model = self.model(method, params, part.listen(told))
            part(told, 0.9)
            data = self.vectors_for(model)
            scores = {
                name: np.asarray(model.similarity(data[name], data["y"]), np.float32)
                for name in ("validation", "test")
            }
            k = int(params.get("n_components", 0))
            found.append(self.ranker(method, settings, k, scores))
        return found

    def vectors_for(self, model: Any) -> dict[str, sp.csr_array]:
        """What a method takes: counts of terms, or weights."""
        return self.vectors["counts" if model.tags.input == "counts" else "tfidf"]

    def model(self, method: str, params: Mapping[str, Any], callback: Any = None) -> Any:
        """A fitted model; cut from a larger one where that is the same.

        Parameters
        ----------
        method : str
            Its id.
        params : mapping
            Values of the method's grid.
        callback : callable, optional
            See `simviz.callbacks`.

        Returns
        -------
        PairModel
            Fitted.
        """
        cls = get_method(method)
        late = ("n_components",) if cls.tags.nested else ("measure",)
        early = {name: value for name, value in params.items() if name not in late}
        if cls.tags.nested:
            early["n_components"] = max(
                self.grids.get(method, {}).get("n_components", (_LARGEST,))
            )
        if method == "pca":
            early["n_components"] = _LARGEST  # S2Net and HDLR start from it
        key = f"{method} {early}"
        if key not in self._fitted:
            usual = {"shared": True, "random_state": self.seed, **_FIXED.get(method, {})}
            if method in ("s2net", "hdlr"):
                usual["init"] = self.model("pca", {"n_components": _LARGEST}, callback)
            known = cls._get_param_names()
            told = {name: value for name, value in usual.items() if name in known}
            self._fitted[key] = self._fit(cls(**told, **early), callback)
        model = self._fitted[key]
        if cls.tags.nested:
            return model.truncate(min(params["n_components"], model.n_components_))
        return model.set_params(**{n: v for n, v in params.items() if n in late})

    def _fit(self, model: Any, callback: Any) -> Any:
        vectors = self.vectors_for(model)
        data = [vectors["train"], vectors["y"], self.judged["train"]]
        if hasattr(model, "patience"):
            data += [vectors["validation"], vectors["y"], self.judged["validation"]]
        if callback is not None:
            model.set_callbacks(callback)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*is more than the data can give", UserWarning)
            return model.fit(*data)


_WEIGHTINGS = ("raw", "log1p", "log2")
_WORDS = {"n_components": "k", "regularization": "ridge"}


def _texts(queries: Items) -> list[str]:
    """Queries, with what was found about them outside where that is known."""
    snippets = queries.metadata.get(SNIPPETS)
    if snippets is None:
        return list(queries.content)
    return [f"{q}\n{s}" for q, s in zip(queries.content, snippets, strict=True)]


def _dot(vectors: Mapping[str, sp.csr_array]) -> dict[str, Scores]:
    return {name: (vectors[name] @ vectors["y"].T).toarray() for name in ("validation", "test")}


def ranked(scores: Scores, judged: Relevance, *, with_auc: bool = True) -> Evaluation:
    """Rank documents for queries, in the pool that the judgments allow.

    Parameters
    ----------
    scores : ndarray of shape (n_queries, n_documents)
        All of them.
    judged : Relevance
        Grades.
    with_auc : bool, default=True
        Whether pairs of all queries are put in one order, too.

    Returns
    -------
    Evaluation
        Of NDCG at the depths, and of AUC.
    """
    empty = np.zeros((scores.shape[0], 1)), np.zeros((scores.shape[1], 1))
    metrics = [NDCG(k) for k in DEPTHS] + ([AUC()] if with_auc else [])
    return evaluate(Given(scores), *empty, judged, metrics, directions=["x2y"])


def judged_pairs(
    scores: Scores, judged: Relevance, least: int = 1
) -> tuple[Reals, NDArray[np.bool_], NDArray[np.int64]]:
    """Score of each pair that counts, whether its grade is high enough, its query.

    Parameters
    ----------
    scores : ndarray of shape (n_queries, n_documents)
        All of them.
    judged : Relevance
        Grades.
    least : int, default=1
        The lowest grade that counts as relevant.

    Returns
    -------
    score, relevant, query : ndarrays of shape (n_pairs,)
        Of all pairs where unjudged ones are negative; else of judged ones.
    """
    matrix = judged.matrix
    if judged.unjudged == "negative":
        grade = matrix.toarray()
        query = np.repeat(np.arange(grade.shape[0]), grade.shape[1])
        return scores.ravel().astype(np.float64), (grade >= least).ravel(), query
    query = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return scores[query, matrix.indices].astype(np.float64), matrix.data >= least, query


def roc(scores: Scores, judged: Relevance, least: int = 1) -> Roc:
    """The curve over all pairs that count.

    Parameters
    ----------
    scores, judged, least
        As in `judged_pairs`.

    Returns
    -------
    Roc
        With AUC and partial AUC.
    """
    score, relevant, _ = judged_pairs(scores, judged, least)
    return Roc.from_scores(score, relevant)


def over_subsets(a: Scores, b: Scores, judged: Relevance, seed: int = 0) -> Comparison:
    """The paper's test of AUC: paired t over 50 subsets, which are disjoint here.

    Parameters
    ----------
    a, b : ndarrays of shape (n_queries, n_documents)
        Scores of both rankers.
    judged : Relevance
        Grades.
    seed : int, default=0
        Of the partition.

    Returns
    -------
    Comparison
        Of `a` against `b`.
    """
    first, relevant, query = judged_pairs(a, judged)
    second, _, _ = judged_pairs(b, judged)
    n = min(50, len(np.unique(query)))
    return partitioned_auc_t(first, second, relevant, query=query, n_subsets=n, random_state=seed)


def gains(result: Evaluation, judged: Relevance, k: int) -> Reals:
    """Discounted cumulative gain of each query, not divided by the best possible.

    Parameters
    ----------
    result : Evaluation
        See `ranked`.
    judged : Relevance
        Grades.
    k : int
        Depth.

    Returns
    -------
    ndarray of shape (n_queries,)
        NaN where nothing is relevant.
    """
    matrix = judged.matrix
    ideal = np.full(judged.shape[0], np.nan)
    for i in range(judged.shape[0]):
        grades = matrix.data[matrix.indptr[i] : matrix.indptr[i + 1]]
        grades = np.sort(np.maximum(grades, 0))[::-1][:k]
        ideal[i] = ((2**grades - 1) / np.log2(np.arange(len(grades)) + 2)).sum()
    return np.asarray(result.per_query(NDCG(k)) * ideal, dtype=np.float64)
