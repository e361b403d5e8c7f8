"""Ranks under ties: what stands above a candidate, and what level with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz._types import Ints, Reals


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Where the candidates that matter stand, query by query.

    The arrays of listed candidates are flat: those of query ``q`` are the slice
    ``indptr[q]:indptr[q + 1]``, as in a CSR matrix. All judged candidates are listed when only
    judged ones are ranked, else just the relevant ones.

    Parameters
    ----------
    indptr : array-like of int, shape (n_queries + 1,)
        Where each query's listed candidates begin and end.
    candidate : array-like of int, shape (n_listed,)
        Index of the candidate on the other side.
    grade : array-like of float, shape (n_listed,)
        Its grade; at or below 0 it was judged not relevant.
    above, tied : array-like of int, shape (n_listed,)
        Candidates of the pool scored strictly higher, and exactly as high (itself included).
    n_candidates : array-like of int, shape (n_queries,)
        Size of each query's pool.

    Raises
    ------
    ValueError
        If the lengths do not fit or a rank lies outside its pool.

    Examples
    --------
    Two candidates tie for the second place among four:

    >>> from simviz.ranking import expected_reciprocal_rank
    >>> r = Ranking([0, 1], [3], [1.0], above=[1], tied=[2], n_candidates=[4])
    >>> round(float(expected_reciprocal_rank(r)[0]), 4)  # (1/2 + 1/3) / 2
    0.4167
    """

    indptr: Ints
    candidate: Ints
    grade: Reals
    above: Ints
    tied: Ints
    n_candidates: Ints

    def __post_init__(self) -> None:
        for name in ("indptr", "candidate", "above", "tied", "n_candidates"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.int64))
        object.__setattr__(self, "grade", np.asarray(self.grade, dtype=np.float64))
        lengths = {name: len(getattr(self, name)) for name in ("candidate", "grade", "above")}
        lengths["tied"] = len(self.tied)
        n_listed = int(self.indptr[-1]) if len(self.indptr) else -1
        if set(lengths.values()) != {n_listed}:
            listing = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise ValueError(
                f"indptr ends at {n_listed}, but the listed candidates have lengths {listing}. "
                "Give one value per listed candidate."
            )
        if len(self.n_candidates) != self.n_queries:
            raise ValueError(
                f"n_candidates has {len(self.n_candidates)} values for {self.n_queries} queries. "
                "Give the size of each query's pool."
            )
        pool = self.n_candidates[self.query]
        wrong = (self.above < 0) | (self.tied < 1) | (self.above + self.tied > pool)
        if wrong.any():
            p = int(np.argmax(wrong))
            raise ValueError(
                f"Listed candidate {p} has {self.above[p]} above and {self.tied[p]} tied in a "
                f"pool of {pool[p]}. Count every candidate once, itself among the tied."
            )

    @property
    def n_queries(self) -> int:
        """Number of queries, with or without a relevant candidate."""
        return len(self.indptr) - 1

    @property
    def query(self) -> Ints:
        return np.repeat(np.arange(self.n_queries), np.diff(self.indptr))

    @property
    def n_relevant(self) -> Ints:
        return np.bincount(self.query[self.grade > 0], minlength=self.n_queries)


def rank_block(
    scores: ArrayLike,
    indptr: ArrayLike,
    indices: ArrayLike,
    pool: Literal["all", "judged"] = "all",
    *,
    scale: ArrayLike | None = None,
) -> tuple[Ints, Ints, Reals]:
    """Count what stands above and level with some listed candidates of each row.

    Parameters
    ----------
    scores : array-like of shape (b, n_y)
        One row a query, one column a candidate.
    indptr, indices : array-like of int, shapes (b + 1,) and (n_listed,)
        The listed candidates of each row, as in a CSR matrix.
    pool : {"all", "judged"}, default="all"
        What a candidate is ranked against: all of its row, or the listed ones.
    scale : array-like of shape (n_y,), optional
        A factor for each column, applied to the scores as they are compared.

    Returns
    -------
    above, tied : ndarray of int64, shape (n_listed,)
        Candidates of the pool scored strictly higher, and exactly as high (itself included).
    score : ndarray of float64, shape (n_listed,)
        The listed candidates' own (scaled) scores.

    Raises
    ------
    ValueError
        If a score of the pool is NaN or the shapes do not fit.

    Examples
    --------
    >>> above, tied, score = rank_block([[0.5, 0.9, 0.5, 0.1]], [0, 2], [0, 3])
    >>> above.tolist(), tied.tolist(), score.tolist()
    ([1, 3], [2, 1], [0.5, 0.1])
    """
    block = np.ascontiguousarray(scores)
    if block.dtype not in (np.float32, np.float64):
        block = block.astype(np.float64)
    starts = np.asarray(indptr, dtype=np.int64)
    listed = np.asarray(indices, dtype=np.int64)
    if block.ndim != 2 or len(starts) != len(block) + 1 or starts[-1] != len(listed):
        raise ValueError(
            f"Scores of shape {block.shape} need one more indptr than rows and as many indices "
            f"as indptr tells; got {len(starts)} and {len(listed)}."
        )
    if len(listed) and (listed.min() < 0 or listed.max() >= block.shape[1]):
        raise ValueError(
            f"Candidates must lie in 0..{block.shape[1] - 1}, got {listed.min()}..{listed.max()}."
        )
    factor = np.asarray(np.ones(block.shape[1]) if scale is None else scale, dtype=block.dtype)
    if factor.shape != block.shape[1:]:
        raise ValueError(
            f"scale has shape {factor.shape} for {block.shape[1]} candidates. Give one each."
        )
    if pool == "judged":
        rows = np.repeat(np.arange(len(block)), np.diff(starts))
        own = (block[rows, listed] * factor[listed]).astype(np.float64)
        above, tied = rank_listed(own, starts)
        return above, tied, own
    if pool != "all":
        raise ValueError(f"pool must be 'all' or 'judged', got {pool!r}.")

    from simviz._numba import threads_for
    from simviz.ranking._kernels import count_rows

    above, tied = np.zeros((2, len(listed)), dtype=np.int64)
    own = np.zeros(len(listed))
    with threads_for(block.size):
        n_nan = count_rows(block, factor, starts, listed, above, tied, own)
    _refuse_nan(n_nan, block.size)
    return above, tied, own


def rank_listed(scores: ArrayLike, indptr: ArrayLike) -> tuple[Ints, Ints]:
    """Rank each query's listed candidates against one another only.

    Parameters
    ----------
    scores : array-like of float, shape (n_listed,)
        Score of each listed candidate.
    indptr : array-like of int, shape (n_queries + 1,)
        Where each query's listed candidates begin and end.

    Returns
    -------
    above, tied : ndarray of int64, shape (n_listed,)
        As in `rank_block`.

    Raises
    ------
    ValueError
        If a score is NaN.

    Examples
    --------
    >>> above, tied = rank_listed([3.0, 1.0, 1.0, 9.0], [0, 3, 4])
    >>> above.tolist(), tied.tolist()
    ([0, 1, 1, 0], [1, 2, 2, 1])
    """
    values = np.asarray(scores, dtype=np.float64)
    starts = np.asarray(indptr, dtype=np.int64)
    _refuse_nan(int(np.isnan(values).sum()), values.size)
    query = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    rises = (values[1:] > values[:-1]) & (query[1:] == query[:-1])
    order = np.lexsort((-values, query)) if rises.any() else slice(None)
    first, size = equal_runs(query[order], values[order])
    above, tied = np.empty((2, len(values)), dtype=np.int64)
    above[order] = np.repeat(first, size) - starts[query]
    tied[order] = np.repeat(size, size)
    return above, tied


def equal_runs(*keys: NDArray[np.generic]) -> tuple[Ints, Ints]:
    """Start and length of each run of equal keys in sorted arrays."""
    n = len(keys[0])
    new = np.zeros(n, dtype=bool)
    new[:1] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    first = np.flatnonzero(new)
    return first, np.diff(first, append=n)


def _refuse_nan(n_nan: int, size: int) -> None:
    if n_nan:
        raise ValueError(
            f"Scores must be numbers, but {n_nan:,} of {size:,} are NaN. "
            "Look for empty or infinite vectors; an empty item should score 0."
        )


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


def expected_reciprocal_rank(ranking: Ranking, k: int | None = None) -> Reals:
    """Expect 1 / rank of the first relevant candidate; its mean is the MRR.

    Parameters
    ----------
    ranking, k : Ranking, int
        As in `expected_success_at`; all ranks count where `k` is omitted.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Examples
    --------
    >>> r = Ranking([0, 1], [0], [1.0], above=[0], tied=[3], n_candidates=[3])
    >>> expected_reciprocal_rank(r).round(4)  # (1 + 1/2 + 1/3) / 3
    array([0.6111])
    """
    query, above, tied, relevant, earlier = _tie_groups(ranking)
    first = earlier == 0
    query, above, tied, relevant = query[first], above[first], tied[first], relevant[first]
    places = tied
    if k is not None:
        _check_k(k)
        places = np.clip(k - above, 0, tied)
    # One relevant among the tied is anywhere among them: a harmonic sum, O(1).
    value = _harmonic_between(above, places) / tied
    # Several within the top group (all of a constant scorer's) have a closed form too.
    top = (above == 0) & (places == tied)
    r, rest = relevant[top], (tied - relevant)[top] + 1
    value[top] = r * _harmonic_between(r - 1, rest) / rest
    several = np.flatnonzero((relevant > 1) & ~top)
    if len(several):
        from simviz.ranking._kernels import first_relevant_reciprocal

        out = np.empty(len(several))
        columns = above[several], tied[several], relevant[several], places[several]
        first_relevant_reciprocal(*columns, out)
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
    ranking, k : Ranking, int
        As in `expected_success_at`; `k` is also the divisor where the pool is smaller.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Examples
    --------
    >>> r = Ranking([0, 2], [4, 7], [1, 1], above=[0, 3], tied=[1, 4], n_candidates=[9])
    >>> expected_precision_at(r, 5)  # the second is in with probability 2/4
    array([0.3])
    """
    _check_k(k)
    return _hits_at(ranking, k) / k


def expected_r_precision(ranking: Ranking) -> Reals:
    """Expect the share of relevant candidates among the first R, of which R are relevant.

    Parameters
    ----------
    ranking : Ranking
        Where the relevant candidates stand.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Examples
    --------
    >>> r = Ranking([0, 2], [4, 7], [1, 1], above=[0, 3], tied=[1, 1], n_candidates=[9])
    >>> expected_r_precision(r)  # one of the two is among the first two
    array([0.5])
    """
    return _ratio(_hits_at(ranking, ranking.n_relevant), ranking.n_relevant)


def expected_recall_at(ranking: Ranking, k: int) -> Reals:
    """Expect the share of the relevant candidates that is among the first `k`.

    Parameters
    ----------
    ranking, k : Ranking, int
        As in `expected_success_at`.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Examples
    --------
    >>> r = Ranking([0, 2], [4, 7], [1, 1], above=[0, 3], tied=[1, 4], n_candidates=[9])
    >>> expected_recall_at(r, 5)
    array([0.75])
    """
    _check_k(k)
    return _ratio(_hits_at(ranking, k), ranking.n_relevant)


def expected_ndcg_at(
    ranking: Ranking,
    k: int | None = None,
    *,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    ideal: Ranking | None = None,
) -> Reals:
    """Expect the discounted cumulative gain at `k`, over that of the ideal order.

    Parameters
    ----------
    ranking, k : Ranking, int
        As in `expected_success_at`; all candidates count where `k` is omitted.
    gain : {"exp2", "linear"}, default="exp2"
        What a grade g is worth: 2^g - 1, or g. Not relevant is worth 0.
    discount : {"log2", "jk"}, default="log2"
        What rank r divides by: log2(1 + r), or the original rule with b = 2,
        under which ranks 1 and 2 count in full and then log2(r) [1]_.
    ideal : Ranking, optional
        Whose candidates make the ideal order; those of `ranking` when omitted. With
        others the quotient may pass 1.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

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

    best = ranking if ideal is None else ideal
    highest = np.zeros(ranking.n_queries)
    for one in (ranking, best):
        np.maximum.at(highest, one.query, one.grade)

    def gains(grade: Reals, query: Ints) -> Reals:
        if gain == "linear":
            return grade
        # 2^g - 1 over 2^(highest grade of the query): cancels, and cannot overflow.
        return np.exp2(grade - highest[query]) * -np.expm1(-grade * np.log(2))

    query, grade, above, tied = _relevant(ranking)
    begin, end = np.minimum(above, longest), np.minimum(above + tied, longest)
    worth = gains(grade, query)
    dcg = _sum(ranking, query, worth * (cumulative[end] - cumulative[begin]) / tied)
    query, grade, _, _ = _relevant(best)
    order = np.lexsort((-grade, query))
    query, grade = query[order], grade[order]
    first, size = equal_runs(query)
    place = np.arange(len(order)) - np.repeat(first, size)
    begin, end = np.minimum(place, longest), np.minimum(place + 1, longest)
    ideal_dcg = _sum(ranking, query, gains(grade, query) * (cumulative[end] - cumulative[begin]))
    return _ratio(dcg, ideal_dcg)


def expected_err_at(ranking: Ranking, k: int, *, highest_grade: float = 4.0) -> Reals:
    """Expect the reciprocal of the rank at which a reader has found enough.

    A reader goes down the list and is content with a candidate of grade g with
    probability (2^g - 1) / 2^h, where h is the highest grade: the expected
    reciprocal rank of [1]_, equations 4 and 5.

    Parameters
    ----------
    ranking, k : Ranking, int
        As in `expected_success_at`.
    highest_grade : float, default=4
        The highest grade of the scale, whether or not any candidate has it.

    Returns
    -------
    ndarray of float64, shape (n_queries,)

    Raises
    ------
    ValueError
        If a grade is above the highest.

    References
    ----------
    .. [1] O. Chapelle, D. Metzler, Y. Zhang and P. Grinspan. "Expected
       reciprocal rank for graded relevance." CIKM 2009.

    Examples
    --------
    >>> r = Ranking([0, 2], [4, 7], [2, 1], above=[0, 1], tied=[1, 1], n_candidates=[9])
    >>> expected_err_at(r, 5, highest_grade=2)  # 3/4 + (1 - 3/4) 1/4 / 2
    array([0.78125])
    """
    _check_k(k)
    query, grade, above, tied = _relevant(ranking)
    if len(grade) and grade.max() > highest_grade:
        raise ValueError(
            f"There is a grade {grade.max():g} above the highest, {highest_grade:g}. Name the "
            "highest grade of the scale."
        )
    order = np.lexsort((above, query))
    query, grade, above, tied = query[order], grade[order], above[order], tied[order]
    stops = np.exp2(grade - highest_grade) - np.exp2(-highest_grade)
    # Whatever the order of ties, the reader goes on beyond a group with the same probability.
    goes_on = np.concatenate([[0.0], np.cumsum(np.log1p(-stops))])
    first, members = equal_runs(query, above)
    begins = first[np.searchsorted(query[first], query[first])]
    arrives = np.exp(goes_on[first] - goes_on[begins])
    above, tied = above[first], tied[first]
    places = np.clip(k - above, 0, tied)
    # One relevant candidate stands at each place of its group with the same probability.
    value = stops[first] * _harmonic_between(above, places) / tied
    for group in np.flatnonzero((members > 1) & (places > 0)):
        some = stops[first[group] : first[group] + members[group]]
        ends = _stops_within(some, int(tied[group]), int(places[group]))
        value[group] = (ends / (above[group] + np.arange(1, len(ends) + 1))).sum()
    total = _sum(ranking, query[first], arrives * value)
    return np.where(ranking.n_relevant > 0, total, np.nan)


def _stops_within(stops: Reals, tied: int, places: int) -> Reals:
    """Probability of stopping at each of the first places of a tie group, in random order."""
    from scipy.stats import hypergeom

    # Mean product of 1 - stops over the subsets of h relevant candidates, for h = 0, 1, ...:
    # elementary symmetric means, which stay within [0, 1].
    n = min(len(stops), places)
    mean = np.zeros(n + 1)
    mean[0] = 1.0
    for seen, stop in enumerate(stops, start=1):
        h = np.arange(1, min(seen, n) + 1)
        inside = h / seen
        mean[h] = inside * (1 - stop) * mean[h - 1] + (1 - inside) * mean[h]
    before = np.arange(places + 1)[:, None]
    counts = np.arange(n + 1)
    going_on = hypergeom.pmf(counts, tied, len(stops), before) @ mean
    return going_on[:-1] - going_on[1:]


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
    query, _, above, tied = _relevant(ranking)
    over = _sum(ranking, query, above + tied / 2)
    relevant = ranking.n_relevant.astype(np.float64)
    # Among the relevant themselves, above + tied / 2 adds up to r² / 2 in any order.
    wrong = over - relevant**2 / 2
    pairs = relevant * (ranking.n_candidates - relevant)
    return _ratio(pairs - wrong, pairs)


def _relevant(ranking: Ranking) -> tuple[Ints, Reals, Ints, Ints]:
    """Query, grade, above and tied of each relevant candidate."""
    keep = ranking.grade > 0
    return ranking.query[keep], ranking.grade[keep], ranking.above[keep], ranking.tied[keep]


def _tie_groups(ranking: Ranking) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Each tie group with a relevant candidate: query, above, tied, relevant, earlier."""
    # The last two count its relevant candidates, and those of the groups above it.
    query, _, above, tied = _relevant(ranking)
    order = np.lexsort((above, query))
    query, above, tied = query[order], above[order], tied[order]
    first, relevant = equal_runs(query, above)
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
    return np.where(tied == 1, 1 / np.maximum(end, 1), smooth)


def _hits_at(ranking: Ranking, k: int | Ints) -> Reals:
    """Relevant candidates expected among the first `k`, one number or one a query."""
    query, _, above, tied = _relevant(ranking)
    end = np.broadcast_to(k, ranking.n_queries)[query]
    hits = _sum(ranking, query, np.clip(end - above, 0, tied) / tied)
    return np.where(ranking.n_relevant > 0, hits, np.nan)


def _sum(ranking: Ranking, query: Ints, values: Reals) -> Reals:
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
