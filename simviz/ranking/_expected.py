"""What a rank metric expects over random orders of tied candidates.

The closed forms follow [1]_; `_tie_groups` names the counts they need.

References
----------
.. [1] F. McSherry and M. Najork. "Computing information retrieval performance
   measures efficiently in the presence of tied scores." ECIR 2008.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simviz.ranking._ranks import Ranking, runs

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Gain = Literal["exp2", "linear"]
Discount = Literal["log2", "jk"]


def expected_success_at(ranking: Ranking, k: int = 1) -> Reals:
    """Probability that a relevant candidate is among the first `k`.

    With ``k=1`` this is top-1 accuracy.

    Parameters
    ----------
    ranking : Ranking
        Where the relevant candidates stand.
    k : int, default=1
        How many candidates count.

    Returns
    -------
    ndarray of float64, shape (n_queries,)
        NaN for a query without a relevant candidate.

    Examples
    --------
    >>> r = Ranking([0, 1], [0], [1.0], above=[0], tied=[4], n_candidates=[4])
    >>> expected_success_at(r, 1)  # tied with three others
    array([0.25])
    """
    _check_k(k)
    query, above, tied, relevant, earlier = _tie_groups(ranking)
    first = earlier == 0
    query, above, tied, relevant = query[first], above[first], tied[first], relevant[first]
    places = np.clip(k - above, 0, tied)
    # All miss with probability C(t - r, m) / C(t, m), a product of min(m, r)
    # factors that is symmetric in the m places and the r relevant ones.
    few, many = np.minimum(places, relevant), np.maximum(places, relevant)
    miss = np.ones(len(query))
    for i in range(int(few.max(initial=0))):
        left = np.maximum(tied - i, 1)
        miss *= np.where(i < few, np.maximum(tied - many - i, 0) / left, 1.0)
    return _spread(ranking, query, 1.0 - miss)


def expected_reciprocal_rank(ranking: Ranking) -> Reals:
    """Expect 1 / rank of the first relevant candidate; its mean is the MRR.

    Parameters
    ----------
    ranking : Ranking
        Where the relevant candidates stand.

    Returns
    -------
    ndarray of float64, shape (n_queries,)
        NaN for a query without a relevant candidate.

    Examples
    --------
    >>> r = Ranking([0, 1], [0], [1.0], above=[0], tied=[3], n_candidates=[3])
    >>> expected_reciprocal_rank(r).round(4)  # (1 + 1/2 + 1/3) / 3
    array([0.6111])
    """
    query, above, tied, relevant, earlier = _tie_groups(ranking)
    first = earlier == 0
    query, above, tied, relevant = query[first], above[first], tied[first], relevant[first]
    # One relevant among the tied is anywhere among them: a harmonic sum, O(1).
    value = _harmonic_between(above, tied) / tied
    # Several within the top group (all of a constant scorer's) have a closed form too.
    top = above == 0
    r, rest = relevant[top], (tied - relevant)[top] + 1
    value[top] = r * _harmonic_between(r - 1, rest) / rest
    several = np.flatnonzero((relevant > 1) & ~top)
    if len(several):
        from simviz.ranking._kernels import first_relevant_reciprocal

        out = np.empty(len(several))
        first_relevant_reciprocal(above[several], tied[several], relevant[several], out)
        value[several] = out
    return _spread(ranking, query, value)


def expected_average_precision(ranking: Ranking) -> Reals:
    """Expect the mean, over the relevant candidates, of the precision at their ranks.

    Its mean over queries is the MAP.

    Parameters
    ----------
    ranking : Ranking
        Where the relevant candidates stand.

    Returns
    -------
    ndarray of float64, shape (n_queries,)
        NaN for a query without a relevant candidate.

    Examples
    --------
    >>> r = Ranking([0, 2], [4, 7], [1, 1], above=[0, 3], tied=[1, 1], n_candidates=[9])
    >>> expected_average_precision(r)  # (1/1 + 2/4) / 2
    array([0.75])
    """
    query, above, tied, relevant, earlier = _tie_groups(ranking)
    # Place i of a tie group is relevant with probability r / t, and then expects
    # (i - 1) ρ relevant ones before it in the group: summed over i,
    # Σ (earlier + 1 + (i - 1) ρ) / (above + i), with i - 1 = (above + i) - (above + 1).
    rho = (relevant - 1) / np.maximum(tied - 1, 1)
    harmonic = _harmonic_between(above, tied)
    total = (relevant / tied) * ((earlier + 1) * harmonic + rho * (tied - (above + 1) * harmonic))
    return _ratio(_sum(ranking, query, total), ranking.n_relevant)


def expected_precision_at(ranking: Ranking, k: int) -> Reals:
    """Expect the share of relevant candidates among the first `k`.

    Parameters
    ----------
    ranking : Ranking
        Where the relevant candidates stand.
    k : int
        How many candidates count; also the divisor when the pool is smaller.

    Returns
    -------
    ndarray of float64, shape (n_queries,)
        NaN for a query without a relevant candidate.

    Examples
    --------
    >>> r = Ranking([0, 2], [4, 7], [1, 1], above=[0, 3], tied=[1, 4], n_candidates=[9])
    >>> expected_precision_at(r, 5)  # the second is in with probability 2/4
    array([0.3])
    """
    hits = _hits_at(ranking, k)
    return np.where(np.isnan(hits), np.nan, hits / k)


def expected_recall_at(ranking: Ranking, k: int) -> Reals:
    """Expect the share of the relevant candidates that is among the first `k`.

    Parameters
    ----------
    ranking : Ranking
        Where the relevant candidates stand.
    k : int
        How many candidates count.

    Returns
    -------
    ndarray of float64, shape (n_queries,)
        NaN for a query without a relevant candidate.

    Examples
    --------
    >>> r = Ranking([0, 2], [4, 7], [1, 1], above=[0, 3], tied=[1, 4], n_candidates=[9])
    >>> expected_recall_at(r, 5)
    array([0.75])
    """
    return _ratio(_hits_at(ranking, k), ranking.n_relevant)


def expected_ndcg_at(
    ranking: Ranking,
    k: int | None = None,
    *,
    gain: Gain = "exp2",
    discount: Discount = "log2",
) -> Reals:
    """Expect the discounted cumulative gain at `k`, over that of the ideal order.

    Parameters
    ----------
    ranking : Ranking
        Where the relevant candidates stand.
    k : int, optional
        How many candidates count; all when omitted.
    gain : {"exp2", "linear"}, default="exp2"
        What a grade g is worth: 2^g - 1, or g. Not relevant is worth 0.
    discount : {"log2", "jk"}, default="log2"
        What rank r divides by: log2(1 + r), or the original rule with b = 2,
        under which ranks 1 and 2 count in full and then log2(r) [1]_.

    Returns
    -------
    ndarray of float64, shape (n_queries,)
        NaN for a query without a relevant candidate.

    Raises
    ------
    ValueError
        If the gain or the discount is unknown.

    References
    ----------
    .. [1] K. Järvelin and J. Kekäläinen. "IR evaluation methods for retrieving
       highly relevant documents." SIGIR 2000.

    Examples
    --------
    >>> r = Ranking([0, 2], [4, 7], [1, 2], above=[0, 1], tied=[1, 1], n_candidates=[9])
    >>> expected_ndcg_at(r, 3).round(4), expected_ndcg_at(r, 3, discount="jk")
    (array([0.7967]), array([1.]))
    """
    if gain not in ("exp2", "linear"):
        raise ValueError(f"gain must be 'exp2' or 'linear', got {gain!r}.")
    if discount not in ("log2", "jk"):
        raise ValueError(f"discount must be 'log2' or 'jk', got {discount!r}.")
    longest = int(ranking.n_candidates.max(initial=1))
    if k is not None:
        _check_k(k)
        longest = min(k, longest)
    ranks = np.arange(1, longest + 1, dtype=np.float64)
    divisor = np.log2(1 + ranks) if discount == "log2" else np.log2(np.maximum(ranks, 2))
    cumulative = np.concatenate([[0.0], np.cumsum(1 / divisor)])

    keep = ranking.grade > 0
    query, grade = ranking.query[keep], ranking.grade[keep]
    above, tied = ranking.above[keep], ranking.tied[keep]
    order = np.lexsort((-grade, query))
    first, size = runs(query[order])
    place = np.arange(len(order)) - np.repeat(first, size)
    if gain == "exp2":
        # 2^g - 1 over 2^(highest grade of the query): cancels, and cannot overflow.
        highest = np.empty(len(order))
        highest[order] = np.repeat(grade[order[first]], size)
        gains = np.exp2(grade - highest) * -np.expm1(-grade * np.log(2))
    else:
        gains = grade
    begin, end = np.minimum(above, longest), np.minimum(above + tied, longest)
    dcg = _sum(ranking, query, gains * (cumulative[end] - cumulative[begin]) / tied)
    begin, end = np.minimum(place, longest), np.minimum(place + 1, longest)
    ideal = _sum(ranking, query[order], gains[order] * (cumulative[end] - cumulative[begin]))
    return _ratio(dcg, ideal)


def expected_auc(ranking: Ranking) -> Reals:
    """Share of (relevant, not relevant) candidates in the right order, ties one half.

    One minus the rank loss of the query.

    Parameters
    ----------
    ranking : Ranking
        Where the relevant candidates stand.

    Returns
    -------
    ndarray of float64, shape (n_queries,)
        NaN for a query without a relevant or without any other candidate.

    Examples
    --------
    >>> r = Ranking([0, 1], [0], [1.0], above=[1], tied=[1], n_candidates=[5])
    >>> expected_auc(r)  # above three of the four others
    array([0.75])
    """
    keep = ranking.grade > 0
    over = _sum(ranking, ranking.query[keep], ranking.above[keep] + ranking.tied[keep] / 2)
    relevant = ranking.n_relevant.astype(np.float64)
    # Among the relevant themselves, above + tied / 2 adds up to r² / 2 in any order.
    wrong = over - relevant**2 / 2
    pairs = relevant * (ranking.n_candidates - relevant)
    return _ratio(pairs - wrong, pairs)


def _tie_groups(ranking: Ranking) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Each tie group with a relevant candidate: query, above, tied, relevant, earlier.

    The last two count its relevant candidates, and those of the groups above it.
    """
    keep = ranking.grade > 0
    query, above, tied = ranking.query[keep], ranking.above[keep], ranking.tied[keep]
    order = np.lexsort((above, query))
    query, above, tied = query[order], above[order], tied[order]
    first, relevant = runs(query, above)
    before = np.concatenate([[0], np.cumsum(ranking.n_relevant)])[query[first]]
    return query[first], above[first], tied[first], relevant, first - before


def _harmonic_between(above: Ints, tied: Ints) -> Reals:
    """Σ 1 / (above + i) for i = 1..tied, to machine precision relative to itself."""
    # H(n) = γ + ln(n + 1/2) + 1/(24 (n + 1/2)²) - 7/(960 (n + 1/2)⁴) + ...; for
    # small n a table, and for large n differences that never subtract big sums.
    small = 64
    table = np.concatenate([[0.0], np.cumsum(1 / np.arange(1.0, small + 1))])

    def rest(n: Reals) -> Reals:
        square = 1 / (n + 0.5) ** 2
        return square * (1 / 24 - square * (7 / 960 - square * (31 / 8064)))

    end = above + tied
    head = table[np.minimum(end, small)] - table[np.minimum(above, small)]
    low, high = np.maximum(above, small).astype(float), np.maximum(end, small).astype(float)
    smooth = head + np.log1p((high - low) / (low + 0.5)) + (rest(high) - rest(low))
    # Without ties it is the very 1 / rank.
    return np.where(tied == 1, 1 / end, smooth)


def _hits_at(ranking: Ranking, k: int) -> Reals:
    """Relevant candidates expected among the first `k`."""
    _check_k(k)
    keep = ranking.grade > 0
    above, tied = ranking.above[keep], ranking.tied[keep]
    hits = _sum(ranking, ranking.query[keep], np.clip(k - above, 0, tied) / tied)
    return np.where(ranking.n_relevant > 0, hits, np.nan)


def _sum(ranking: Ranking, query: Ints, values: Reals) -> Reals:
    """Add up the values of each query."""
    total = np.bincount(query, weights=values, minlength=ranking.n_queries)
    return total.astype(np.float64, copy=False)


def _spread(ranking: Ranking, query: Ints, values: Reals) -> Reals:
    """One value per query, NaN where there is none."""
    out = np.full(ranking.n_queries, np.nan)
    out[query] = values
    return out


def _ratio(numerator: Reals, denominator: Reals | Ints) -> Reals:
    """Quotient, NaN where nothing is to be divided."""
    out = np.full(len(numerator), np.nan)
    np.divide(numerator, denominator, out=out, where=denominator > 0)
    return out


def _check_k(k: int) -> None:
    if k < 1:
        raise ValueError(f"k counts candidates and must be at least 1, got {k}.")
