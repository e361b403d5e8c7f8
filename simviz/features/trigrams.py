"""Texts as counts of three characters in a row."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from simviz.features._analysis import Analyzer, build_analyzer, check_texts, count_terms
from simviz.params import interval, validate_params


@dataclass(eq=False, repr=False)
class Trigrams(TransformerMixin, BaseEstimator):
    """Counts of three characters in a row, those that are new among them.

    Texts are brought to Unicode normal form C first, and white space to single
    spaces. A text shorter than three characters is one term as a whole.

    Parameters
    ----------
    lowercase : bool, default=True
        Whether case is ignored.
    n_unseen : int, default=1024
        Columns for trigrams that training did not show. They are spread over
        these columns by a hash, so that new texts keep their sizes and match
        one another.

    Attributes
    ----------
    vocabulary_ : list of str
        The trigrams of training, one a column, in code point order. Columns
        of unseen ones follow.

    Raises
    ------
    ValueError
        From `fit`, if a parameter is out of range or no trigram is found.

    See Also
    --------
    simviz.features.text.TextCounts : Words or n-grams, those of training alone.

    References
    ----------
    Neculoiu, Versteegh & Rotaru (2016), Learning text similarity with Siamese
    recurrent networks. RepL4NLP, section 5.

    Examples
    --------
    >>> trigrams = Trigrams(n_unseen=2).fit(["clerk", "IT"])
    >>> trigrams.vocabulary_
    ['cle', 'erk', 'it', 'ler']
    >>> trigrams.transform(["a clerk"]).toarray().astype(int)
    array([[1, 1, 0, 1, 0, 2]])
    """

    _parameter_constraints = {  # noqa: RUF012 -- scikit-learn's name and shape for it
        "lowercase": ["boolean"],
        "n_unseen": [interval(Integral, 1, None)],
    }

    lowercase: bool = True
    n_unseen: int = 1024

    def fit(self, X: Sequence[str], y: object = None) -> Self:
        """Learn which trigrams there are.

        Parameters
        ----------
        X : sequence of str, length n
            The training texts.
        y : object, optional
            Ignored.

        Returns
        -------
        Trigrams
            Itself.
        """
        validate_params(self)
        texts = check_texts(X, type(self).__name__)
        terms = self._analyzer()
        found = {term for text in texts for term in terms(text)}
        # Halves of a surrogate pair are no characters, and no file could hold them.
        found = {term for term in found if not any("\ud800" <= c <= "\udfff" for c in term)}
        if not found:
            raise ValueError(
                f"Trigrams learns its vocabulary from texts, and found no character in "
                f"{len(texts):,}. Fit on at least one text that is not blank."
            )
        self.vocabulary_ = sorted(found)
        return self

    def transform(self, X: Sequence[str]) -> sp.csr_array:
        """Count the trigrams of texts.

        Parameters
        ----------
        X : sequence of str, length n
            Texts.

        Returns
        -------
        csr_array of float32, shape (n, n_terms + n_unseen)
            One entry a distinct trigram of a text; a blank text is an empty row.
        """
        check_is_fitted(self)
        texts = check_texts(X, type(self).__name__)
        known = set(self.vocabulary_)
        buckets = range(self.n_unseen)
        # Trigrams have at most three characters: longer names cannot be taken for one.
        names = [f"unseen {i}" for i in buckets]

        def name(term: str) -> str:
            code = zlib.crc32(term.encode("utf-8", "surrogatepass"))
            return names[code % self.n_unseen]

        terms = self._analyzer()

        def named(text: str) -> list[str]:
            return [term if term in known else name(term) for term in terms(text)]

        return count_terms(texts, named, [*self.vocabulary_, *names])[0]

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the trigrams of the columns.

        Parameters
        ----------
        input_features : object, optional
            Ignored.

        Returns
        -------
        ndarray of str, shape (n_terms + n_unseen,)
            The vocabulary, then "unseen 0", "unseen 1", ...
        """
        check_is_fitted(self)
        unseen = [f"unseen {i}" for i in range(self.n_unseen)]
        return np.array([*self.vocabulary_, *unseen], dtype=object)

    def _analyzer(self) -> Analyzer:
        """From a text to its trigrams; to the whole of a shorter one."""
        trigrams = build_analyzer("char", (3, 3), self.lowercase, ())
        shorter = build_analyzer("char", (1, 2), self.lowercase, ())
        # The longest of the shorter n-grams of a short text is the text.
        return lambda text: trigrams(text) or shorter(text)[-1:]
