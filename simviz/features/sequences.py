"""Texts as sequences of characters, and as counts of three characters in a row."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base.stored import Declared, Size, Texts
from simviz.features._analysis import Analyzer, build_analyzer, count_terms
from simviz.features._base import Transformer
from simviz.params import interval

UNKNOWN = 1  # id of every character that training did not show


@dataclass(eq=False, repr=False)
class Characters(Transformer):
    """Texts as rows of character ids, one column a position.

    0 is no character, 1 a character that is not in the alphabet, and the alphabet counts on from
    2. Texts are brought to Unicode normal form C first, and white space to single spaces.

    Parameters
    ----------
    max_length : int, default=100
        Characters that are read of a text; the rest is cut off.
    lowercase : bool, default=True
        Whether case is ignored.
    min_count : int, default=2
        Characters that occur less often in training are not learned: a method
        then sees in training what an unknown character is.

    Attributes
    ----------
    alphabet_ : list of str
        The characters, in code point order; the first has the id 2.

    Raises
    ------
    ValueError
        From `fit`, if a parameter is out of range or no character is found.

    See Also
    --------
    Trigrams : Three characters at a time, without their order.

    References
    ----------
    Neculoiu, Versteegh & Rotaru (2016), Learning text similarity with Siamese
    recurrent networks. RepL4NLP, section 4.

    Examples
    --------
    >>> characters = Characters(max_length=4, min_count=1).fit(["cab", "bad  a"])
    >>> characters.alphabet_
    [' ', 'a', 'b', 'c', 'd']
    >>> characters.transform(["Dab", "cabs", "zoo"]).toarray().astype(int)
    array([[6, 3, 4, 0],
           [5, 3, 4, 1],
           [1, 1, 1, 0]])
    """

    _stored: ClassVar[Declared] = {
        "max_length": Size("columns"),
        "alphabet_": Texts("alphabet", single=True),
    }

    _parameter_constraints = {  # noqa: RUF012 -- scikit-learn's name and shape for it
        "max_length": [interval(Integral, 1, 10_000)],
        "lowercase": ["boolean"],
        "min_count": [interval(Integral, 1, None)],
    }

    max_length: int = 100
    lowercase: bool = True
    min_count: int = 2

    def _fit(self, texts: list[str]) -> None:
        codes, counts = np.unique(self._codes(texts)[0], return_counts=True)
        # Halves of a surrogate pair are no characters, and no file could hold them.
        valid = (codes < 0xD800) | (codes > 0xDFFF)
        codes, counts = codes[valid], counts[valid]
        if not len(codes):
            raise ValueError(
                f"Characters learns its alphabet from texts, and found no character in "
                f"{len(texts):,}. Fit on at least one text that is not blank."
            )
        # Of a few short texts every character may be rare: then all of them are learned.
        frequent = counts >= min(self.min_count, int(counts.max()))
        self.alphabet_ = [chr(code) for code in codes[frequent]]

    def _transform(self, texts: list[str]) -> sp.csr_array:
        codes, lengths = self._codes(texts)
        alphabet = np.array([ord(c) for c in self.alphabet_], dtype=np.uint32)
        place = np.minimum(np.searchsorted(alphabet, codes), len(alphabet) - 1)
        ids = np.where(alphabet[place] == codes, place + UNKNOWN + 1, UNKNOWN)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        positions = np.arange(len(codes)) - np.repeat(ends[:-1], lengths)
        kind = np.int32 if len(codes) < 2**31 else np.int64
        return sp.csr_array(
            (ids.astype(np.float32), positions.astype(kind), ends.astype(kind)),
            shape=(len(lengths), self.max_length),
        )

    def _names(self) -> list[str]:
        return [f"position {i + 1}" for i in range(self.max_length)]

    def _codes(self, texts: list[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Code points of all texts in a row, and how many there are of each."""
        cleaned = [self._clean(text)[: self.max_length] for text in texts]
        raw = "".join(cleaned).encode("utf-32-le", "surrogatepass")
        lengths = np.fromiter(map(len, cleaned), dtype=np.int64, count=len(cleaned))
        return np.frombuffer(raw, dtype="<u4"), lengths

    def _clean(self, text: str) -> str:
        text = " ".join(unicodedata.normalize("NFC", text).split())
        return text.lower() if self.lowercase else text


@dataclass(eq=False, repr=False)
class Trigrams(Transformer):
    """Counts of three characters in a row, those that are new among them.

    Texts are brought to Unicode normal form C first, and white space to single
    spaces. A text shorter than three characters is one term as a whole.

    Parameters
    ----------
    lowercase : bool, default=True
        Whether case is ignored.
    n_unseen : int, default=262144
        Columns for trigrams that training did not show. They are spread over these columns by a
        hash, so that new texts keep their sizes and match one another.

    Attributes
    ----------
    vocabulary_ : list of str
        The trigrams of training, one a column, in code point order. Columns of unseen ones follow.

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

    _stored: ClassVar[Declared] = {
        "vocabulary_": lambda features: Texts("columns", more=features.n_unseen),
    }

    _parameter_constraints = {  # noqa: RUF012 -- scikit-learn's name and shape for it
        "lowercase": ["boolean"],
        "n_unseen": [interval(Integral, 1, 2**20)],
    }

    lowercase: bool = True
    n_unseen: int = 2**18

    def _fit(self, texts: list[str]) -> None:
        terms = self._analyzer()
        trigrams = {term for text in texts for term in terms(text)}
        # Halves of a surrogate pair are no characters, and no file could hold them.
        trigrams = {term for term in trigrams if not any("\ud800" <= c <= "\udfff" for c in term)}
        if not trigrams:
            raise ValueError(
                f"Trigrams learns its vocabulary from texts, and found no character in "
                f"{len(texts):,}. Fit on at least one text that is not blank."
            )
        self.vocabulary_ = sorted(trigrams)

    def _transform(self, texts: list[str]) -> sp.csr_array:
        return count_terms(texts, self._analyzer(), self._columns(), self.n_unseen)[0]

    def _names(self) -> list[str]:
        # Trigrams have at most three characters: longer names cannot be taken for one.
        return [*self.vocabulary_, *(f"unseen {i}" for i in range(self.n_unseen))]

    def _analyzer(self) -> Analyzer:
        """From a text to its trigrams; to the whole of a shorter one."""
        trigrams = build_analyzer("char", (3, 3), self.lowercase, ())
        shorter = build_analyzer("char", (1, 2), self.lowercase, ())
        # The longest of the shorter n-grams of a short text is the text.
        return lambda text: trigrams(text) or shorter(text)[-1:]
