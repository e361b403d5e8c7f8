"""Where two runs differ: one query at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.evaluation.metrics import AUC, LEVEL, MRR, Metric, RankLoss, parse_metric
from simviz.evaluation.result import Direction, Evaluation, check_directions
from simviz.evaluation.significance import mean, standard_error
from simviz.ranking import Ranking

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]

#: Half of a 95 % interval in standard errors, as in every table.
REACH = 1.96


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Two runs on the same queries, query by query.

    Parameters
    ----------
    metric : Metric
        What was measured.
    direction : ndarray of str, shape (n,)
        "x2y" or "y2x": which side the query is of.
    query : ndarray of int, shape (n,)
        The query's position on its side of the test part.
    a, b : ndarray of float, shape (n,)
        Value of each run.
    a_rank, b_rank : ndarray of float, shape (n,)
        Rank at which each run has its first relevant answer, see
        `first_relevant_rank`.
    """

    metric: Metric
    direction: NDArray[np.str_]
    query: Ints
    a: Reals
    b: Reals
    a_rank: Reals
    b_rank: Reals

    def __len__(self) -> int:
        return len(self.query)

    @property
    def difference(self) -> Reals:
        """By how much the first run is better; negative where it is worse."""
        return self.a - self.b if self.metric.higher_is_better else self.b - self.a

    @property
    def outcome(self) -> Ints:
        """1 where the first run wins, 0 where both are level, -1 where it loses."""
        won = self.difference
        return np.where(np.abs(won) <= LEVEL, 0, np.sign(won)).astype(np.int64)

    @property
    def n_wins(self) -> int:
        """Queries that the first run does better."""
        return int((self.outcome == 1).sum())

    @property
    def n_ties(self) -> int:
        """Queries on which both are level."""
        return int((self.outcome == 0).sum())

    @property
    def n_losses(self) -> int:
        """Queries that the second run does better."""
        return int((self.outcome == -1).sum())

    def order(self) -> Ints:
        """Positions of the queries, the biggest movers first.

        Returns
        -------
        ndarray of int64, shape (n,)
            By the size of the difference, then by how far the first relevant
            answer moved, then as they come.
        """
        moved = np.abs(self.a_rank - self.b_rank)
        size = np.abs(self.difference).round(12)  # level ones are told apart by the ranks
        return np.lexsort((np.arange(len(self)), -moved, -size)).astype(np.int64)

    def take(self, index: NDArray[np.integer]) -> Differences:
        """Some of the queries.

        Parameters
        ----------
        index : ndarray of int
            Their positions, in the order wanted.

        Returns
        -------
        Differences
            Of these alone.
        """
        columns = (self.direction, self.query, self.a, self.b, self.a_rank, self.b_rank)
        return Differences(self.metric, *(column[index] for column in columns))

    def mean(self) -> float:
        """Mean difference; of several directions, the mean of their means.

        Returns
        -------
        float
            NaN where no query counts.
        """
        return float(np.mean([mean(part) for part in self._parts()]))

    def interval(self) -> tuple[float, float]:
        """95 % interval of the mean difference, from the paired queries.

        Returns
        -------
        low, high : float
            NaN for fewer than two queries in a direction. With two
            directions the error is the mean of both, which holds however
            closely they depend on each other.
        """
        middle = self.mean()
        reach = REACH * float(np.mean([standard_error(part) for part in self._parts()]))
        return middle - reach, middle + reach

    def in_words(self, a_name: str, b_name: str) -> str:
        """Say which of the two is ahead, and how sure that is.

        Parameters
        ----------
        a_name, b_name : str
            What the runs are called.

        Returns
        -------
        str
            One or two sentences.
        """
        middle, (low, high) = self.mean(), self.interval()
        n = f"{len(self):,} quer{'y' if len(self) == 1 else 'ies'}"
        if not len(self) or np.isnan(low):
            return f"{a_name} and {b_name} cannot be compared on {n}."
        ahead, behind = (a_name, b_name) if middle >= 0 else (b_name, a_name)
        if middle < 0:
            middle, low, high = -middle, -high, -low
        bounds = f"{low:.3f} to {high:.3f}".replace("-", "−")
        size = f"{self.metric!r} differs by {middle:.3f}, 95 % interval {bounds}"
        if low <= 0:
            return f"{ahead} and {behind} cannot be told apart: {size}, over the same {n}."
        return f"{ahead} is ahead of {behind}: {size}, over the same {n}."

    def _parts(self) -> list[Reals]:
        """The differences of each direction, so that both count alike."""
        known = dict.fromkeys(self.direction.tolist())
        return [self.difference[self.direction == d] for d in known] or [self.difference]


def paired_differences(
    a: Evaluation,
    b: Evaluation,
    metric: Metric | str,
    directions: Sequence[Direction] | None = None,
) -> Differences:
    """Compare two evaluations query by query.

    Parameters
    ----------
    a, b : Evaluation
        Of the same test part, against the same pool.
    metric : Metric or str
        A metric with a value per query; see `query_metric` for the others.
    directions : sequence of {"x2y", "y2x"}, optional
        Which sides ask; the first that `a` was evaluated in when omitted.

    Returns
    -------
    Differences
        Of the queries that count: those with a relevant candidate.

    Raises
    ------
    ValueError
        If the two asked different queries, or the metric pools all pairs.

    Examples
    --------
    >>> from simviz.evaluation import VectorScorer, evaluate
    >>> Z = np.eye(4)
    >>> good = evaluate(VectorScorer(), Z, Z)
    >>> poor = evaluate(VectorScorer(), Z, Z[[0, 1, 3, 2]])
    >>> found = paired_differences(good, poor, "MRR", ["x2y"])
    >>> found.n_wins, found.n_ties, found.n_losses
    (2, 2, 0)
    >>> found.b_rank.tolist()  # behind the wrong one and level with two others
    [1.0, 1.0, 3.0, 3.0]
    """
    metric = parse_metric(metric) if isinstance(metric, str) else metric
    wanted = a.directions[:1] if directions is None else tuple(directions)
    check_directions(wanted, a.directions)
    check_directions(wanted, b.directions)
    parts: list[tuple[NDArray[np.str_], Ints, Reals, Reals, Reals, Reals]] = []
    for direction in wanted:
        _check_same(a, b, direction)
        values = (a.per_query(metric, direction), b.per_query(metric, direction))
        counts = np.flatnonzero(~np.isnan(values[0]))
        ranks = [first_relevant_rank(e.rankings[direction])[counts] for e in (a, b)]
        parts.append(
            (
                np.full(len(counts), direction),
                counts.astype(np.int64),
                values[0][counts],
                values[1][counts],
                ranks[0],
                ranks[1],
            )
        )
    return Differences(metric, *(np.concatenate(column) for column in zip(*parts, strict=True)))


def first_relevant_rank(ranking: Ranking) -> Reals:
    """Rank of the first relevant candidate, as expected over orders of ties.

    Parameters
    ----------
    ranking : Ranking
        Where the relevant candidates stand.

    Returns
    -------
    ndarray of float64, shape (n_queries,)
        From 1; NaN for a query without a relevant candidate.

    Notes
    -----
    The lowest of r places drawn at random from t has the mean
    (t + 1) / (r + 1): the first of r relevant candidates among t tied ones
    stands so far behind those above them.

    Examples
    --------
    >>> r = Ranking([0, 2], [3, 5], [1, 1], above=[4, 4], tied=[5, 5], n_candidates=[20])
    >>> first_relevant_rank(r)  # two of the places 5 to 9
    array([6.])
    """
    keep = ranking.grade > 0
    query, above, tied = ranking.query[keep], ranking.above[keep], ranking.tied[keep]
    best = np.full(ranking.n_queries, np.iinfo(np.int64).max)
    np.minimum.at(best, query, above)
    first = above == best[query]
    relevant = np.bincount(query[first], minlength=ranking.n_queries)
    rank = np.full(ranking.n_queries, np.nan)
    rank[query[first]] = above[first] + (tied[first] + 1) / (relevant[query[first]] + 1)
    return rank


def query_metric(metric: Metric | str) -> Metric:
    """The metric that says of single queries what another says of all pairs.

    Parameters
    ----------
    metric : Metric or str
        Any metric.

    Returns
    -------
    Metric
        The same, where it has a value per query; else AUC and rank loss by
        query for the pooled ones, and MRR for what has no such form.

    Examples
    --------
    >>> query_metric("AUC"), query_metric("P@5"), query_metric("pAUC@0.1")
    (AUC (by query), P@5, MRR)
    """
    metric = parse_metric(metric) if isinstance(metric, str) else metric
    if metric.level == "query":
        return metric
    if isinstance(metric, AUC):  # rank loss is one too
        return RankLoss("query") if isinstance(metric, RankLoss) else AUC("query")
    return MRR()


def _check_same(a: Evaluation, b: Evaluation, direction: Direction) -> None:
    """Refuse evaluations whose queries, pools or judgments differ."""
    one, other = a.rankings[direction], b.rankings[direction]
    same = a.pool == b.pool and all(
        np.array_equal(getattr(one, part), getattr(other, part))
        for part in ("indptr", "candidate", "grade", "n_candidates")
    )
    if not same:
        raise ValueError(
            f"These evaluations ask different queries ({one.n_queries:,} {direction} against a "
            f"{a.pool!r} pool, {other.n_queries:,} against a {b.pool!r} pool, or other "
            "judgments). Compare runs that were measured on one test part."
        )


#: Groups that share more than this part of their queries are one group.
_SAME = 0.7
#: A group's mean must be this many standard errors from that of all queries.
_LEAST_Z = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class TermGroup:
    """Queries that share a word.

    Parameters
    ----------
    term : str
        The word, in lower case.
    queries : ndarray of int64, shape (n,)
        Positions of the queries, ascending.
    difference : float
        Mean difference of the two runs over them.
    z : float
        By how many standard errors that mean is off the mean of all queries.
    """

    term: str
    queries: Ints
    difference: float
    z: float

    def __len__(self) -> int:
        return len(self.queries)


def shared_terms(
    difference: ArrayLike, texts: Sequence[str], *, n_groups: int = 5, least: int = 4
) -> tuple[list[TermGroup], list[TermGroup]]:
    """Words by which to describe where the first run gains, and where the second.

    Parameters
    ----------
    difference : array-like of float, shape (n,)
        By how much the first run is better on each query.
    texts : sequence of str, length n
        The queries.
    n_groups : int, default=5
        Groups on each side, at most.
    least : int, default=4
        Queries that must share a word.

    Returns
    -------
    gains, losses : list of TermGroup
        Words on whose queries the first run is ahead on average, and more so
        than over all queries; words where it is behind. The most telling
        first. A group that is nearly the same as an earlier one is left out.

    Raises
    ------
    ValueError
        If the lengths differ.

    Notes
    -----
    The words are chosen because they stand out, among all that the queries
    hold. That describes these queries and proves nothing about others.

    Examples
    --------
    >>> texts = ["red car", "red house", "blue car", "blue house", "blue sky", "red sky"]
    >>> gains, losses = shared_terms([0.5, 0.4, 0.0, -0.3, -0.2, 0.6], texts, least=3)
    >>> gains[0].term, len(gains[0]), round(gains[0].difference, 2), losses[0].term
    ('red', 3, 0.5, 'blue')
    """
    from simviz.features.text import build_analyzer, count_terms

    d = np.asarray(difference, dtype=np.float64)
    if d.shape != (len(texts),):
        raise ValueError(
            f"There are {d.shape} differences and {len(texts):,} texts. Give one of each a query."
        )
    spread = float(d.std()) if len(d) else 0.0
    if spread == 0:
        return [], []
    counts, terms = count_terms(texts, build_analyzer("word", (1, 1), True, ()))
    columns = counts.tocsc()
    sizes = np.diff(columns.indptr)
    sums = np.asarray((columns != 0).astype(np.float64).T @ d).ravel()
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / sizes
        z = np.sqrt(sizes) * (means - d.mean()) / spread
    common = (sizes >= least) & (sizes < len(d))

    def group(column: int) -> TermGroup:
        queries = np.sort(columns.indices[columns.indptr[column] : columns.indptr[column + 1]])
        return TermGroup(
            terms[column], queries.astype(np.int64), float(means[column]), float(z[column])
        )

    sides = []
    for sign in (1.0, -1.0):
        told = np.flatnonzero(common & (sign * means > 0) & (sign * z >= _LEAST_Z))
        order = told[np.argsort(-sign * z[told], kind="stable")]
        sides.append(_distinct([int(i) for i in order], group, n_groups))
    return sides[0], sides[1]


def _distinct(
    order: Sequence[int], group: Callable[[int], TermGroup], n_groups: int
) -> list[TermGroup]:
    """The first groups that are not nearly the same as one before."""
    kept: list[TermGroup] = []
    for column in order:
        if len(kept) == n_groups:
            break
        found = group(column)
        if not any(_is_same(found.queries, other.queries) for other in kept):
            kept.append(found)
    return kept


def _is_same(a: Ints, b: Ints) -> bool:
    shared = len(np.intersect1d(a, b, assume_unique=True))
    return shared > _SAME * (len(a) + len(b) - shared)
