"""How often terms occur over many texts: all that a vocabulary is chosen by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

_SHOWN = 60  # letters of a text in a message


@dataclass
class TermTotals:
    """Counts of terms over texts, to which those of further texts can be added.

    Parameters
    ----------
    terms : list of str
        The terms, in order of appearance.
    df : ndarray of int64, shape (n_terms,)
        In how many texts each of them is.
    totals : ndarray of int64, shape (n_terms,)
        How often it occurs.
    n_texts : int
        Texts that were counted.
    first : str
        How the first text begins, for messages.
    """

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
        at = np.fromiter(
            (place.setdefault(term, len(place)) for term in other.terms),
            np.int64,
            len(other.terms),
        )
        new = len(place) - known
        if new:
            # New terms got their places in the order in which they stand there.
            self.terms.extend(other.terms[i] for i in np.flatnonzero(at >= known))
            self.df = np.concatenate([self.df, np.zeros(new, np.int64)])
            self.totals = np.concatenate([self.totals, np.zeros(new, np.int64)])
        self.df[at] += other.df
        self.totals[at] += other.totals
        if not self.n_texts:
            self.first = other.first
        self.n_texts += other.n_texts
        return self

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_place": None}  # made anew where it is needed

    def select(self, min_df: float, max_df: float, max_features: int | None) -> NDArray[np.int64]:
        """Which terms make the vocabulary, in code point order.

        Raises
        ------
        ValueError
            If none is left.
        """
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
        kept = np.array(sorted(inside, key=self.terms.__getitem__), dtype=np.int64)
        if max_features is not None and max_features < len(kept):
            most = np.argsort(-self.totals[kept], kind="stable")[:max_features]
            kept = kept[np.sort(most)]
        return kept
