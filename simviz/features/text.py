"""Texts as counts of terms, and as weights of terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base.stored import Declared, Number, StoredArray, Texts
from simviz.features._analysis import (
    Analyzer,
    build_analyzer,
    check_texts,
    count_terms,
    unseen_place,
)
from simviz.features._base import Transformer, normalize_rows
from simviz.params import interval, options, validate_params

_SHOWN = 60  # letters of a text in a message

LONGEST_NGRAM = 10


@dataclass
class TermTotals:
    """Counts of terms over texts, to which those of further texts can be added."""

    terms: list[str] = field(default_factory=list)
    df: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    totals: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    n_texts: int = 0
    first: str = ""

    def __post_init__(self) -> None:
        self._place: dict[str, int] | None = None

    @classmethod
    def of(cls, counts: sp.csr_array, terms: list[str], texts: Sequence[str]) -> TermTotals:
        """Totals of a matrix of counts (n_texts, n_terms), without duplicate entries."""
        df = np.bincount(counts.indices, minlength=len(terms))
        totals = np.bincount(counts.indices, counts.data, minlength=len(terms)).astype(np.int64)
        return cls(terms, df, totals, len(texts), texts[0][:_SHOWN] if len(texts) else "")

    def add(self, other: TermTotals) -> TermTotals:
        """Add the counts of further texts, in place; returns itself."""
        if self._place is None:
            self._place = {term: i for i, term in enumerate(self.terms)}
        place, known = self._place, len(self.terms)
        places = (place.setdefault(term, len(place)) for term in other.terms)
        at = np.fromiter(places, np.int64, len(other.terms))
        new = len(place) - known
        if new:
            # New terms got their places in the order in which they stand there.
            self.terms.extend(other.terms[i] for i in np.flatnonzero(at >= known))
            self.df, self.totals = (np.pad(counts, (0, new)) for counts in (self.df, self.totals))
        self.df[at] += other.df
        self.totals[at] += other.totals
        if not self.n_texts:
            self.first = other.first
        self.n_texts += other.n_texts
        return self

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_place": None}  # made anew where it is needed

    def select(self, min_df: float, max_df: float, max_features: int | None) -> NDArray[np.int64]:
        """Which terms make the vocabulary, in code point order."""
        low, high = (
            limit * self.n_texts if isinstance(limit, float | np.floating) else limit
            for limit in (min_df, max_df)
        )
        if low > high:
            raise ValueError(
                f"min_df={min_df} asks for at least {low:g} texts and max_df={max_df} "
                f"for at most {high:g} of {self.n_texts:,}. Lower min_df or raise max_df."
            )
        df = self.df
        inside = np.flatnonzero((df >= low) & (df <= high))
        if not len(inside):
            raise ValueError(
                f"min_df={min_df} and max_df={max_df} leave none of {len(df):,} terms; "
                f"they occur in {df.min():,} to {df.max():,} of {self.n_texts:,} texts. "
                "Lower min_df or raise max_df."
            )
        columns = np.array(sorted(inside, key=self.terms.__getitem__), dtype=np.int64)
        if max_features is not None and max_features < len(columns):
            frequent = np.argsort(-self.totals[columns], kind="stable")[:max_features]
            columns = columns[np.sort(frequent)]
        return columns


def term_weights(tf: str) -> Callable[[Any], Any]:
    """What counts become: "raw", "log1p" or "log2"."""
    weights: dict[str, Callable[[Any], Any]] = {
        "raw": lambda count: count,
        "log1p": np.log1p,
        "log2": lambda count: 1 + np.log2(count),
    }
    return weights[tf]


class TermFeatures(Transformer):
    """What features of terms share: what a term is, and counts of terms that add up."""

    analyzer: str | Analyzer
    ngram_range: tuple[int, int]
    lowercase: bool
    stop_words: str | Sequence[str] | None

    def count_totals(self, X: Sequence[str]) -> Any:
        """Count the terms of some of the texts to learn from, for `fit_totals`."""
        validate_params(self)
        return self._count(self._check(X))

    def fit_totals(self, totals: Any) -> Self:
        """Learn from the totals of all training texts, as if fitted on these texts."""
        validate_params(self)
        self._keep(totals)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._analyzer()

    def dropped_words(self) -> frozenset[str]:
        """The words that are dropped, in lower case where case is ignored."""
        if self.stop_words is None:
            return frozenset()
        if self.analyzer in ("char", "char_wb"):
            raise ValueError(
                f"stop_words are words, but analyzer={self.analyzer!r} has none to drop. "
                "Use analyzer='word', or stop_words=None and a lower max_df."
            )
        if isinstance(self.stop_words, str):
            from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

            return ENGLISH_STOP_WORDS
        words = check_texts(self.stop_words, "stop_words")
        return frozenset(w.lower() if self.lowercase else w for w in words)

    def _analyzer(self) -> Analyzer:
        """Return the function from text to terms that the parameters describe."""
        span = tuple(self.ngram_range)
        if (
            len(span) != 2
            or not all(isinstance(n, Integral) for n in span)
            or not 1 <= span[0] <= span[1] <= LONGEST_NGRAM
        ):
            raise ValueError(
                "ngram_range is two whole numbers (low, high) with 1 <= low <= high <= "
                f"{LONGEST_NGRAM}, got {self.ngram_range!r}."
            )
        return build_analyzer(self.analyzer, span, self.lowercase, self.dropped_words())

    def _count(self, texts: list[str]) -> Any:
        raise NotImplementedError

    def _keep(self, totals: Any) -> Any:
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class TextCounts(TermFeatures):
    """Counts of words or of character n-grams.

    A word is a run of letters and digits of any script, one character is
    enough. Texts are brought to Unicode normal form C first.

    Parameters
    ----------
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        Terms are words; character n-grams across the whole text; or character
        n-grams inside each word, padded with a space on both sides. A function from
        a text to its words takes the place of our rule of what a word is.
    ngram_range : tuple of int, default=(1, 1)
        Least and greatest number of words or characters in a term.
    lowercase : bool, default=True
        Whether case is ignored.
    min_df, max_df : int or float, default=1 and 1.0
        Terms in fewer or more training texts are dropped; a float is a share.
    max_features : int, optional
        Only so many terms are kept: the most frequent ones, of equally
        frequent ones the first in code point order.
    stop_words : {"english"} or list of str, optional
        Words to drop.
    n_unseen : int, default=0
        Columns for terms that training did not show, over which a hash spreads them; with 0 they
        are left out. Needs the whole vocabulary: no `min_df`, `max_df` or `max_features`.

    Attributes
    ----------
    vocabulary_ : list of str
        The terms, one a column, in code point order. Columns of unseen terms follow.

    Raises
    ------
    ValueError
        From `fit`, if a parameter is out of range or no term is left.

    See Also
    --------
    Tfidf : The same counts, weighted.

    Examples
    --------
    >>> counts = TextCounts().fit(["a red heart", "a car, a red car"])
    >>> list(counts.get_feature_names_out())
    ['a', 'car', 'heart', 'red']
    >>> counts.transform(["Car? A blue CAR!"]).toarray()
    array([[1., 2., 0., 0.]], dtype=float32)
    """

    _stored: ClassVar[Declared] = {
        "vocabulary_": lambda features: Texts("columns", more=features.n_unseen),
    }

    _parameter_constraints = {  # noqa: RUF012 -- scikit-learn's name and shape for it
        "analyzer": [options("word", "char", "char_wb"), callable],
        "ngram_range": [tuple, list],
        "lowercase": ["boolean"],
        "min_df": [interval(Integral, 1, None), interval(Real, 0, 1)],
        "max_df": [interval(Integral, 1, None), interval(Real, 0, 1)],
        "max_features": [interval(Integral, 1, None), None],
        "stop_words": [options("english"), list, tuple, None],
        "n_unseen": [interval(Integral, 0, 2**24)],
    }

    analyzer: str | Analyzer = "word"
    ngram_range: tuple[int, int] = (1, 1)
    lowercase: bool = True
    min_df: float = 1
    max_df: float = 1.0
    max_features: int | None = None
    stop_words: str | Sequence[str] | None = None
    n_unseen: int = 0

    def fit_transform(self, X: Sequence[str], y: object = None) -> sp.csr_array:
        """Return ``fit(X).transform(X)``, in one pass over the texts."""
        validate_params(self)
        return self._weigh(self._learn(self._check(X)))

    def _fit(self, texts: list[str]) -> None:
        self._learn(texts)

    def _transform(self, texts: list[str]) -> sp.csr_array:
        counts = count_terms(texts, self._analyzer(), self._columns(), self.n_unseen)[0]
        return self._weigh(counts)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_unseen and not self._is_whole():
            raise ValueError(
                f"n_unseen={self.n_unseen} counts terms that training did not show, but min_df, "
                "max_df or max_features drop terms that it did. Leave these, or set n_unseen=0."
            )

    def _is_whole(self) -> bool:
        """Whether all terms of training make the vocabulary."""
        share = float, np.floating
        keeps_rare = self.min_df == 1 and not isinstance(self.min_df, share)
        keeps_frequent = self.max_df == 1 and isinstance(self.max_df, share)
        return keeps_rare and keeps_frequent and self.max_features is None

    def names_in(self, text: str) -> NDArray[np.object_]:
        """Names of the columns for one text, whose unseen terms name theirs.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        ndarray of str, shape (n_columns,)
            None stands for columns of unseen terms that the text does not have.
        """
        columns = self._columns()
        names = np.empty(len(columns) + self.n_unseen, dtype=object)
        names[: len(columns)] = self.vocabulary_
        if self.n_unseen:
            for term in self._analyzer()(text):
                if term not in columns:
                    names[len(columns) + unseen_place(term, self.n_unseen)] = term
        return names

    def _names(self) -> list[str]:
        return [*self.vocabulary_, *(f"unseen {i}" for i in range(self.n_unseen))]

    def _learn(self, texts: list[str]) -> sp.csr_array:
        """Set the vocabulary; return the counts of the training texts."""
        if not texts:
            raise ValueError(
                f"{type(self).__name__} learns its vocabulary from texts, got none. "
                "Fit on at least one text."
            )
        counts, terms = count_terms(texts, self._analyzer())
        counts = counts[:, self._keep(TermTotals.of(counts, terms, texts))]
        counts.sort_indices()
        counts.resize((len(texts), len(self.vocabulary_) + self.n_unseen))
        return counts

    def _count(self, texts: list[str]) -> TermTotals:
        return TermTotals.of(*count_terms(texts, self._analyzer()), texts)

    def _keep(self, totals: TermTotals) -> NDArray[np.int64]:
        """Set the vocabulary; return which of the terms it is."""
        if not totals.terms:
            raise ValueError(
                f"No term was found in {totals.n_texts:,} texts with analyzer={self.analyzer!r} "
                f"and ngram_range={tuple(self.ngram_range)}; the first text is {totals.first!r}. "
                "Texts may be empty, too short, or made of stop words and punctuation only: "
                "try analyzer='char_wb' or drop stop_words."
            )
        columns = totals.select(self.min_df, self.max_df, self.max_features)
        self.vocabulary_ = [totals.terms[i] for i in columns]
        return columns

    def _weigh(self, counts: sp.csr_array) -> sp.csr_array:
        return counts


@dataclass(eq=False, repr=False)
class Tfidf(TextCounts):
    r"""Term frequency times inverse document frequency, frozen in training.

    The weight of term t in a text is :math:`f(tf) \ln(N / df_t)`, where N is the number of
    training texts and df_t the number of those that hold t. A term that all of them hold weighs 0.

    Parameters
    ----------
    analyzer, ngram_range, lowercase, min_df, max_df, max_features, stop_words, n_unseen : optional
        As of `simviz.features.text.TextCounts`.
    tf : {"raw", "log1p", "log2"}, default="raw"
        What a count becomes: itself, ln(1 + tf), or 1 + log2(tf).
    normalize : bool, default=True
        Whether rows are scaled to length 1. Empty rows stay empty.

    Attributes
    ----------
    vocabulary_ : list of str
        The terms, one a column, in code point order. Columns of unseen terms follow.
    idf_ : ndarray of float64, shape (n_terms,)
        ln(N / df_t) of the vocabulary.
    n_texts_ : int
        N, the number of training texts.

    Raises
    ------
    ValueError
        From `fit`, if a parameter is out of range or no term is left.

    Notes
    -----
    N and df are those of the training texts; fit one for each language.
    A term that training did not show weighs as if one training text had it: ln N.
    scikit-learn's ``TfidfTransformer(smooth_idf=False)`` adds 1 to every idf.

    References
    ----------
    Salton, G. and Buckley, C. (1988). Term-weighting approaches in automatic
    text retrieval. Information Processing & Management 24(5), 513-523.

    Yih, W., Toutanova, K., Platt, J. and Meek, C. (2011). Learning
    discriminative projections for text similarity measures. CoNLL, 247-256.

    Examples
    --------
    >>> weights = Tfidf(normalize=False).fit(["a red heart", "a car, a red car", "a sun"])
    >>> weights.transform(["a red car"]).toarray().round(3)
    array([[0.   , 1.099, 0.   , 0.405, 0.   ]], dtype=float32)
    """

    _stored: ClassVar[Declared] = {
        "idf_": lambda features: StoredArray((len(features.vocabulary_),)),
        "n_texts_": Number(1, whole=True),
    }

    _parameter_constraints = {  # noqa: RUF012 -- scikit-learn's name and shape for it
        "tf": [options("raw", "log1p", "log2")],
        "normalize": ["boolean"],
    }

    tf: str = "raw"
    normalize: bool = True

    def _keep(self, totals: TermTotals) -> NDArray[np.int64]:
        columns = super()._keep(totals)
        self.n_texts_ = totals.n_texts
        # df is at least 1: every term of the vocabulary was met in training.
        self.idf_ = np.log(totals.n_texts / totals.df[columns])
        return columns

    def _weigh(self, counts: sp.csr_array) -> sp.csr_array:
        idf = np.append(self.idf_, np.log(self.n_texts_))  # of what is unseen, behind the others
        values = term_weights(self.tf)(counts.data.astype(np.float64))
        values *= idf[np.minimum(counts.indices, len(self.idf_))]
        weighted = sp.csr_array((values, counts.indices, counts.indptr), shape=counts.shape)
        weighted.eliminate_zeros()
        if self.normalize:
            weighted = normalize_rows(weighted)
        return weighted.astype(np.float32)
