"""Table 2 of Bai et al. (2009): documents found by queries in another language."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import Matrix, MethodTags, PairModel, RowScorer, unit_rows
from simviz.data import PairSet
from simviz.experiments._bench import BlendedRanking, Task
from simviz.experiments._experiment import graded, two_texts
from simviz.experiments._parts import Parts, flattened
from simviz.features import TextCounts, Tfidf, default_features
from simviz.methods import get_method
from simviz.params import interval
from simviz.pipeline import PairPipeline
from simviz.relevance import Relevance

#: Metadata of x items that is their translation.
TRANSLATION = "translation"


class TranslatedTfidf(PairModel):
    r"""Cosine of tf·idf after translating x items with a dictionary induced from the pairs."""

    # A query's count of the y term f is what its own terms e make likely, :math:`\sum_e tf_e\,
    # t(f \mid e)`, and is weighed as those of documents are.

    tags: ClassVar[MethodTags] = MethodTags(
        title="TF-IDF of translated queries",
        reference="Brown et al. 1993",
        year=1993,
        family="lexical",
        input="counts",
        space="two",
        uses="paired",
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_candidates": [interval(Integral, 1, None)]
    }

    def __init__(self, n_candidates: int = 30) -> None:
        self.n_candidates = n_candidates

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        Y = sp.csr_array(Y)
        self.translation_, _ = induced_dictionary(X, Y, relevance, self.n_candidates)
        df = np.bincount(Y.indices[Y.data != 0], minlength=Y.shape[1])
        self.idf_ = np.log(np.maximum(Y.shape[0], 1) / np.maximum(df, 1))

    def _candidates(self, Y: Matrix) -> sp.csr_array:
        return self._weighed(Y).T.tocsr()

    def _row_scorer(self, X: Matrix, candidates: sp.csr_array) -> RowScorer:
        P = self._weighed(sp.csr_array(X @ self.translation_))
        return lambda rows: (P[rows] @ candidates).toarray()

    def _pair_score(self, X: Matrix, Y: Matrix) -> NDArray[np.floating]:
        product = self._weighed(sp.csr_array(X @ self.translation_)).multiply(self._weighed(Y))
        return np.asarray(product.sum(axis=1)).ravel()

    def _weighed(self, counts: Matrix) -> sp.csr_array:
        rows = sp.csr_array(counts, dtype=np.float64, copy=True)
        rows.data = np.log1p(rows.data) * self.idf_[rows.indices]
        return sp.csr_array(unit_rows(rows))


def induced_dictionary(
    X: Matrix,
    Y: Matrix,
    relevance: object = None,
    n_candidates: int = 30,
    *,
    max_iter: int = 5,
    min_probability: float = 0.001,
) -> tuple[sp.csr_array, list[float]]:
    """How likely each x term translates to which y terms, and the loss before each iteration."""
    # Model 1 of Brown, Della Pietra, Della Pietra & Mercer (1993), The mathematics of statistical
    # machine translation. Computational Linguistics 19(2): each term f of a y item is the
    # translation of one of the terms e of its x item, whichever, or of none. Expectation
    # maximisation of sum_(x, y) sum_(f in y) log(sum_(e in x) t(f | e) + p_0(f)). Where the
    # original normalises by the length of the x item, this one does not, which changes the
    # balance with "none" alone: p_0(f) is the share of f in the y side. All steps are products of
    # sparse matrices, so that only terms that were met together cost anything.
    X, Y = (sp.csr_array(side, dtype=np.float64) for side in (X, Y))
    pairs = Relevance.coerce(relevance, X.shape[0], Y.shape[0]).positives.tocoo()
    if not pairs.nnz:
        raise ValueError(
            "A dictionary is induced from pairs that belong together; none does here. "
            "Give relevance with a value above 0."
        )
    X, Y = X[pairs.row], Y[pairs.col]
    T = _row_shares(_likely_translations(X, Y, n_candidates))
    total = max(Y.sum(), 1.0)
    none = np.asarray(Y.sum(axis=0)).ravel() / total
    losses = []
    for _ in range(max_iter):
        T, loss = _step(X, Y, T, none)
        losses.append(loss / total)
    T.data[T.data < min_probability] = 0
    T.eliminate_zeros()
    return T, losses


def _likely_translations(X: sp.csr_array, Y: sp.csr_array, n: int) -> sp.csr_array:
    """Dice's coefficient of each term's best translations; the same place means the same pair."""
    x, y = (_ones(side) for side in (X, Y))
    together = sp.csr_array(x.T @ y)
    often = [np.asarray(side.sum(axis=0)).ravel() for side in (x, y)]
    rows = np.repeat(np.arange(together.shape[0]), np.diff(together.indptr))
    columns = together.indices
    dice = 2 * together.data / (often[0][rows] + often[1][columns])
    order = np.lexsort((columns, -dice, rows))
    kept = order[np.arange(len(order)) - together.indptr[rows[order]] < n]
    return sp.csr_array((dice[kept], (rows[kept], columns[kept])), shape=together.shape)


def _step(
    X: sp.csr_array, Y: sp.csr_array, T: sp.csr_array, none: NDArray[np.float64]
) -> tuple[sp.csr_array, float]:
    """One step of expectation maximisation, and the loss before it."""
    # What explains term f of pair i: the sum over the terms of its x item, and none of them.
    explained = sp.csr_array((X @ T).multiply(_ones(Y))) + _ones(Y) @ sp.diags_array(none)
    explained = sp.csr_array(explained)
    explained.sort_indices()
    shares = sp.csr_array(Y, copy=True)
    shares.sort_indices()
    loss = -float(shares.data @ np.log(explained.data))
    shares.data = shares.data / explained.data
    return _row_shares(sp.csr_array(T.multiply(X.T @ shares))), loss


def _ones(matrix: sp.csr_array) -> sp.csr_array:
    ones = np.ones(len(matrix.data))
    return sp.csr_array((ones, matrix.indices, matrix.indptr), shape=matrix.shape)


def _row_shares(T: sp.csr_array) -> sp.csr_array:
    """Rows scaled to sum to 1; empty ones stay empty."""
    sums = np.asarray(T.sum(axis=1)).ravel()
    scale = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
    return sp.csr_array(sp.diags_array(scale) @ T)


class GivenTranslations(Tfidf):
    """tf·idf of texts, or of the translation that is given for a text."""

    def __init__(self, translations: Mapping[str, str], collection: Sequence[str] = ()) -> None:
        super().__init__(tf="log1p")
        self.translations = translations
        self.collection = collection

    def fit(self, X: Sequence[str], y: object = None) -> Self:
        """Learn the vocabulary of texts, in translation where there is one."""
        return super().fit([*self._translated(X), *self.collection])

    def transform(self, X: Sequence[str]) -> sp.csr_array:
        """Weigh the terms of texts, or of their translations."""
        return super().transform(self._translated(X))

    def _translated(self, texts: Sequence[str]) -> list[str]:
        return [self.translations.get(text, text) for text in texts]


class SsiLanguages(BlendedRanking):
    """Blends of learned scores with TFIDF on translated queries."""

    def suits(self, pairs: PairSet) -> bool:
        """Whether it can be run on pairs."""
        return two_texts(pairs) and pairs.relevance.unjudged == "negative"

    def prepared(self, pairs: PairSet, **how: Any) -> Parts:
        """Make data of pairs that somebody brought."""
        return super().prepared(pairs, pool="all" if graded(pairs) else "mates", **how)

    def _adapted(self, parts: Parts) -> Parts:
        mates, linked, about = parts.train, graded(parts.train), parts.describe()
        notes = (*parts.notes, self.texts["linked" if linked else "mates"])
        if linked:
            same, links = np.unique(mates.relevance.positives.data)[:-3:-1]
            mates = flattened(mates, same)
            parts = parts.each(lambda part: flattened(part, links))
        return replace(parts, one_collection=linked, about=about, notes=notes, mates=mates)

    def _begun(self, data: Parts) -> tuple[Parts, PairPipeline]:
        """TFIDF of queries in the language of the documents, and how they came to be."""
        train, *held = data.train, data.validation, data.test
        sides = [part.x for part in (train, *held)]
        how, known = "given", sp.csr_array((0, 0))
        if all(TRANSLATION in x.metadata for x in sides):
            texts = (zip(x.content, x.metadata[TRANSLATION], strict=True) for x in sides)
            translations: dict[str, str] = dict(itertools.chain.from_iterable(texts))
            ranked = [text for part in held for text in part.y.content]
            features = GivenTranslations(translations, ranked)
            lexical = PairPipeline(get_method("tfidf_cosine")(), features).fit(train)
        else:
            lexical = PairPipeline(TranslatedTfidf(), TextCounts(), TextCounts())
            known, how = lexical.fit(data.mates or train).model_.translation_, "induced"
        n_words = np.count_nonzero(np.diff(known.indptr))
        text = self.texts[how].format(n_translations=known.nnz, n_words=n_words)
        return replace(data, notes=(*data.notes, text)), lexical

    def _pipeline(self, method: str, task: Task, **params: Any) -> PairPipeline:
        features = [
            default_features("text", "tfidf", content=side.content, tf="log1p", min_df=2)
            for side in (task.parts.train.x, task.parts.train.y)
        ]
        model = get_method(method)(shared=False, random_state=task.seed, **params)
        return PairPipeline(model, *features)
