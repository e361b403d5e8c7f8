"""Texts as weights of hashed terms, without a vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base.stored import Declared, Number, Size, StoredArray
from simviz.features._analysis import Analyzer
from simviz.features._base import normalize_rows
from simviz.features.text import TermFeatures, Tfidf, term_weights
from simviz.params import interval, parameter_constraints


@dataclass
class HashedTotals:
    """In how many texts each column is met, to which further texts can be added."""

    df: NDArray[np.int64]
    n_texts: int

    def add(self, other: HashedTotals) -> HashedTotals:
        """Add the counts of further texts, in place; returns itself."""
        self.df += other.df
        self.n_texts += other.n_texts
        return self


@dataclass(eq=False, repr=False)
class HashedText(TermFeatures):
    r"""Weights of terms in columns that a hash of the term chooses.

    No vocabulary is learned or stored: term t stands in column h(t), with a sign
    ξ(t) that another part of the hash gives. Terms that meet in a column add up;
    as their signs differ as often as not, inner products of two texts keep their
    expected value and vary by about 1 over the number of columns.

    Parameters
    ----------
    n_features : int, default=262144
        Columns. More make terms meet less often: of 50,000 terms in 2^18
        columns, one in six shares its own.
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        Terms are words; character n-grams across the whole text; or character
        n-grams inside each word, padded with a space on both sides.
    ngram_range, lowercase, stop_words, tf : optional
        As of `simviz.features.text.Tfidf`.
    idf : bool, default=True
        Whether columns are weighted by ln(N / df), with df the number of training texts that have
        a term there; a column that none has counts as if one had. Without it nothing is learned.
    signed : bool, default=True
        Whether terms have signs. Methods that read counts need them without.
    normalize : bool, default=True
        Whether rows are scaled to length 1. Empty rows stay empty.

    Attributes
    ----------
    n_texts_ : int
        N, the number of training texts.
    idf_ : ndarray of float64, shape (n_features,)
        Weights of columns; all 1 where `idf` is off.

    Raises
    ------
    ValueError
        From `fit`, if a parameter is out of range or there is no text.

    See Also
    --------
    Tfidf : With a vocabulary, so that columns have names.

    Notes
    -----
    The hash is scikit-learn's ``FeatureHasher`` (32 bits of MurmurHash3), the
    terms are those of `Tfidf` with the same parameters.

    References
    ----------
    Weinberger, K., Dasgupta, A., Langford, J., Smola, A. and Attenberg, J.
    (2009). Feature hashing for large scale multitask learning. ICML, 1113-1120.

    Examples
    --------
    >>> hashed = HashedText(16, idf=False, normalize=False).fit(["a red heart"])
    >>> row = hashed.transform(["a red car, a red heart"])
    >>> row.shape, sorted(row.data.tolist())
    ((1, 16), [-2.0, -1.0, -1.0, 2.0])
    """

    _stored: ClassVar[Declared] = {
        "n_features": Size("columns"),
        "idf_": StoredArray(("columns",)),
        "n_texts_": Number(1, whole=True),
    }

    _parameter_constraints = {  # noqa: RUF012 -- scikit-learn's name and shape for it
        **parameter_constraints(Tfidf),
        "n_features": [interval(Integral, 1, 2**31 - 1)],
        "idf": ["boolean"],
        "signed": ["boolean"],
    }

    n_features: int = 2**18
    analyzer: str | Analyzer = "word"
    ngram_range: tuple[int, int] = (1, 1)
    lowercase: bool = True
    stop_words: str | Sequence[str] | None = None
    tf: str = "raw"
    idf: bool = True
    signed: bool = True
    normalize: bool = True

    def _fit(self, texts: list[str]) -> None:
        self._keep(self._count(texts))

    def _count(self, texts: list[str]) -> HashedTotals:
        analyze = self._analyzer()
        if self.idf:
            met = self._hash(map(set, map(analyze, texts)), signed=False)
            df = np.bincount(met.indices, minlength=self.n_features)
        else:
            df = np.zeros(0, dtype=np.int64)
        return HashedTotals(df, len(texts))

    def _keep(self, totals: HashedTotals) -> None:
        if not totals.n_texts:
            raise ValueError(
                f"{type(self).__name__} learns weights from texts, got none. "
                "Fit on at least one text."
            )
        self.n_texts_ = totals.n_texts
        self.idf_ = np.ones(self.n_features)
        if self.idf:
            self.idf_ = np.log(totals.n_texts / np.maximum(totals.df, 1))

    def _transform(self, texts: list[str]) -> sp.csr_array:
        hashed = self._hash(map(self._analyzer(), texts), signed=self.signed)
        hashed.data *= self.idf_[hashed.indices]
        hashed.eliminate_zeros()
        if self.normalize:
            hashed = normalize_rows(hashed)
        return hashed.astype(np.float32)

    def _names(self) -> list[str]:
        return [f"hash{i}" for i in range(self.n_features)]

    def _hash(self, terms: Any, *, signed: bool) -> sp.csr_array:
        """Sums of weighted counts of terms that meet in a column."""
        from sklearn.feature_extraction import FeatureHasher

        # Text from the web may hold lone surrogates, which the hasher does not encode itself.
        rows: list[Any] = [[t.encode("utf-8", "surrogatepass") for t in own] for own in terms]
        kind = "string"
        if self.tf != "raw":
            kind, weigh = "pair", cache(term_weights(self.tf))
            rows = [[(t, weigh(n)) for t, n in Counter(own).items()] for own in rows]
        if not rows:
            return sp.csr_array((0, self.n_features))
        hasher = FeatureHasher(self.n_features, input_type=kind, alternate_sign=signed)
        hashed = sp.csr_array(hasher.transform(rows))
        hashed.sum_duplicates()
        return hashed
