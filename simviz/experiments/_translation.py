"""Texts of one language found by the words of another: queries translated word by word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import Matrix, MethodTags, PairModel, RowScorer, unit_rows
from simviz.features import Tfidf
from simviz.features.dictionary import InducedDictionary
from simviz.params import interval
from simviz.relevance import Relevance


class TranslatedTfidf(PairModel):
    r"""Cosine of tf·idf after translating x items with a dictionary induced from the pairs.

    A query's count of the y term f is what its own terms e make likely,
    :math:`\sum_e tf_e\, t(f \mid e)`, and is weighed as those of documents are.

    Parameters
    ----------
    n_candidates : int, default=30
        Translations of a term at most, see
        `simviz.features.dictionary.InducedDictionary`.

    Attributes
    ----------
    dictionary_ : InducedDictionary
        Induced from the relevant pairs.
    idf_ : ndarray of float64, shape (d_y,)
        ln(N / df) of the y items of training.

    Raises
    ------
    ValueError
        From `fit`, if counts are negative or no pair belongs together.
    """

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
        self.dictionary_ = InducedDictionary(self.n_candidates).fit(X, Y, relevance)
        df = np.bincount(Y.indices[Y.data != 0], minlength=Y.shape[1])
        self.idf_ = np.log(np.maximum(Y.shape[0], 1) / np.maximum(df, 1))

    def _row_scorer(self, X: Matrix, Y: Matrix) -> RowScorer:
        P, QT = self._weighed(self.dictionary_.transform(X)), self._weighed(Y).T.tocsr()
        return lambda rows: (P[rows] @ QT).toarray()

    def _pair_score(self, X: Matrix, Y: Matrix) -> NDArray[np.floating]:
        product = self._weighed(self.dictionary_.transform(X)).multiply(self._weighed(Y))
        return np.asarray(product.sum(axis=1)).ravel()

    def _weighed(self, counts: Matrix) -> sp.csr_array:
        rows = sp.csr_array(counts, dtype=np.float64, copy=True)
        rows.data = np.log1p(rows.data) * self.idf_[rows.indices]
        return sp.csr_array(unit_rows(rows))


class GivenTranslations(Tfidf):
    """tf·idf of texts, or of the translation that is given for a text.

    Parameters
    ----------
    translations : mapping of str to str
        Text to its translation; texts that are none of its keys stay as they
        are.
    collection : sequence of str
        More texts whose words count: the documents that will be ranked.
    """

    def __init__(self, translations: Mapping[str, str], collection: Sequence[str] = ()) -> None:
        super().__init__(tf="log1p")
        self.translations = translations
        self.collection = collection

    def fit(self, X: Sequence[str], y: object = None) -> Self:
        """Learn the vocabulary of texts, in translation where there is one.

        Parameters
        ----------
        X : sequence of str, length n
            Training texts.
        y : object, optional
            Ignored.

        Returns
        -------
        GivenTranslations
            Itself.
        """
        return super().fit([*self._translated(X), *self.collection])

    def transform(self, X: Sequence[str]) -> sp.csr_array:
        """Weigh the terms of texts, or of their translations.

        Parameters
        ----------
        X : sequence of str, length n
            Texts.

        Returns
        -------
        csr_array of float32, shape (n, n_terms)
            Rows of length 1.
        """
        return super().transform(self._translated(X))

    def _translated(self, texts: Sequence[str]) -> list[str]:
        return [self.translations.get(text, text) for text in texts]
