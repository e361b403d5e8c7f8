"""Metrics of one query's ranks; the mean over queries is reported."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simviz.evaluation._metric import Metric, check_choice, check_k
from simviz.ranking import (
    Discount,
    Gain,
    Ranking,
    expected_average_precision,
    expected_ndcg_at,
    expected_precision_at,
    expected_recall_at,
    expected_reciprocal_rank,
    expected_success_at,
)

Reals = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class TopOne(Metric):
    """Top-1 accuracy: the first candidate is relevant.

    Examples
    --------
    >>> TopOne(), TopOne() == TopOne()
    (top-1, True)
    """

    _name = "top-1"
    _description = "Share of queries whose first answer is relevant."

    def per_query(self, ranking: Ranking) -> Reals:
        """Probability that the first candidate is relevant."""
        return expected_success_at(ranking, 1)


@dataclass(frozen=True, repr=False)
class MRR(Metric):
    """Mean reciprocal rank of the first relevant candidate."""

    _name = "MRR"
    _description = "Mean of 1 / rank of the first relevant answer."

    def per_query(self, ranking: Ranking) -> Reals:
        """Reciprocal rank of each query."""
        return expected_reciprocal_rank(ranking)


@dataclass(frozen=True, repr=False)
class MAP(Metric):
    """Mean average precision over all relevant candidates."""

    _name = "MAP"
    _description = "Mean precision at the ranks of all relevant answers."

    def per_query(self, ranking: Ranking) -> Reals:
        """Average precision of each query."""
        return expected_average_precision(ranking)


@dataclass(frozen=True, repr=False)
class Precision(Metric):
    """Share of relevant candidates among the first k.

    Parameters
    ----------
    k : int, default=5
        How many candidates count; also the divisor when there are fewer.
    """

    _name = "P@{k}"
    _description = "Share of the first {k} answers that are relevant."
    k: int = 5

    def __post_init__(self) -> None:
        check_k(self.k)

    def per_query(self, ranking: Ranking) -> Reals:
        """Precision of each query."""
        return expected_precision_at(ranking, self.k)


@dataclass(frozen=True, repr=False)
class Recall(Metric):
    """Share of the relevant candidates that is among the first k.

    Parameters
    ----------
    k : int, default=10
        How many candidates count.
    """

    _name = "recall@{k}"
    _description = "Share of all relevant answers found among the first {k}."
    k: int = 10

    def __post_init__(self) -> None:
        check_k(self.k)

    def per_query(self, ranking: Ranking) -> Reals:
        """Recall of each query."""
        return expected_recall_at(ranking, self.k)


@dataclass(frozen=True, repr=False)
class NDCG(Metric):
    """Normalised discounted cumulative gain of the first k.

    Parameters
    ----------
    k : int or None, default=3
        How many candidates count; None counts all.
    gain : {"exp2", "linear"}, default="exp2"
        A grade g is worth 2^g - 1, or g.
    discount : {"log2", "jk"}, default="log2"
        Rank r divides by log2(1 + r), or by max(1, log2(r)).

    Examples
    --------
    >>> NDCG(3), NDCG(10, gain="linear"), NDCG(None, discount="jk")
    (NDCG@3 (exponential gain), NDCG@10 (linear gain), NDCG (exponential gain, jk))
    """

    _description = "Gain of the graded answers, later ranks counting less, over the best possible."
    k: int | None = 3
    gain: Gain = "exp2"
    discount: Discount = "log2"

    def __post_init__(self) -> None:
        if self.k is not None:
            check_k(self.k)
        check_choice("gain", self.gain, ("exp2", "linear"))
        check_choice("discount", self.discount, ("log2", "jk"))

    @property
    def name(self) -> str:
        """What tables show: always the gain, since tools differ in what they mean by NDCG."""
        gain = "exponential gain" if self.gain == "exp2" else "linear gain"
        return f"NDCG{self._at} ({gain}{', jk' if self.discount == 'jk' else ''})"

    @property
    def aliases(self) -> tuple[str, ...]:
        """Shorter names, in which the default gain and discount go without saying."""
        if self.discount == "jk":
            return (f"NDCG{self._at} ({self.gain}, jk)",)
        return (f"NDCG{self._at}" + ("" if self.gain == "exp2" else f" ({self.gain})"),)

    @property
    def _at(self) -> str:
        return "" if self.k is None else f"@{self.k}"

    def certain(self, ranking: Ranking) -> NDArray[np.bool_]:
        """Queries whose candidates are all relevant, and of one grade."""
        found = super().certain(ranking)
        lowest, highest = np.full((2, ranking.n_queries), np.nan)
        np.fmin.at(lowest, ranking.query, ranking.grade)
        np.fmax.at(highest, ranking.query, ranking.grade)
        return np.asarray(found & (lowest == highest))

    def per_query(self, ranking: Ranking) -> Reals:
        """NDCG of each query."""
        return expected_ndcg_at(ranking, self.k, gain=self.gain, discount=self.discount)
