"""Where two runs differ: one query at a time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz._types import Ints, Reals
from simviz.evaluation.metrics import AUC, MRR, TIE_TOLERANCE, Metric, RankLoss, parse_metric
from simviz.evaluation.result import Direction, Evaluation, check_directions
from simviz.evaluation.significance import mean
from simviz.ranking import Ranking, rank_listed

#: Half of a 95 % interval in standard errors, as in every table.
Z_95 = 1.96
#: Groups that share more than this part of their queries are one group.
_SAME = 0.7
#: A group's mean must be this many standard errors from that of all queries.
_MIN_Z = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Two runs on the same queries, query by query."""

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
        return np.where(np.abs(won) <= TIE_TOLERANCE, 0, np.sign(won)).astype(np.int64)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Queries that the first run wins, on which both are level, and that it loses."""
        lost, level, won = np.bincount(self.outcome + 1, minlength=3).tolist()
        return won, level, lost

    def order(self) -> Ints:
        """Positions of the queries, the biggest movers first."""
        moved = np.abs(self.a_rank - self.b_rank)
        size = np.abs(self.difference).round(12)  # level ones are told apart by the ranks
        return np.lexsort((np.arange(len(self)), -moved, -size)).astype(np.int64)

    def take(self, index: NDArray[np.integer]) -> Differences:
        """Some of the queries."""
        columns = (self.direction, self.query, self.a, self.b, self.a_rank, self.b_rank)
        return Differences(self.metric, *(column[index] for column in columns))

    def mean(self) -> float:
        """Mean difference; of several directions, the mean of their means."""
        known = dict.fromkeys(self.direction.tolist())
        parts = [self.difference[self.direction == d] for d in known] or [self.difference]
        return float(np.mean([mean(part) for part in parts]))


def paired_differences(
    a: Evaluation,
    b: Evaluation,
    metric: Metric | str,
    directions: Sequence[Direction] | None = None,
) -> Differences:
    """Compare two evaluations query by query."""
    metric = parse_metric(metric)
    requested = a.directions[:1] if directions is None else tuple(directions)
    check_directions(requested, a.directions)
    check_directions(requested, b.directions)
    parts: list[tuple[NDArray[Any], ...]] = []
    for direction in requested:
        _check_same(a, b, direction)
        values = [one.per_query(metric, direction) for one in (a, b)]
        ranks = [first_relevant_rank(one.rankings[direction]) for one in (a, b)]
        query = np.flatnonzero(~np.isnan(values[0]))
        numbers = (column[query] for column in (*values, *ranks))
        parts.append((np.full(len(query), direction), query, *numbers))
    return Differences(metric, *(np.concatenate(column) for column in zip(*parts, strict=True)))


def first_relevant_rank(ranking: Ranking) -> Reals:
    """Rank of the first relevant candidate, as expected over orders of ties."""
    # The lowest of r places drawn at random from t has the mean (t + 1) / (r + 1): the first of
    # r relevant candidates among t tied ones stands so far behind those above them.
    keep = ranking.grade > 0
    query, above, tied = ranking.query[keep], ranking.above[keep], ranking.tied[keep]
    best = np.full(ranking.n_queries, np.iinfo(np.int64).max)
    np.minimum.at(best, query, above)
    first = above == best[query]
    relevant = np.bincount(query[first], minlength=ranking.n_queries)
    rank = np.full(ranking.n_queries, np.nan)
    rank[query[first]] = above[first] + (tied[first] + 1) / (relevant[query[first]] + 1)
    return rank


def hardest_queries(ranking: Ranking, n: int = 3) -> list[tuple[int, float]]:
    """Queries whose first relevant answer stands lowest, with its rank; none that are right."""
    ranks = first_relevant_rank(ranking)
    order = np.argsort(-np.nan_to_num(ranks, nan=1.0), kind="stable")[:n]
    return [(int(query), float(ranks[query])) for query in order if ranks[query] > 1]


def query_metric(metric: Metric | str) -> Metric:
    """The metric that says of single queries what another says of all pairs."""
    metric = parse_metric(metric)
    if metric.level == "query":
        return metric
    if isinstance(metric, AUC):  # rank loss is one too
        return RankLoss("query") if isinstance(metric, RankLoss) else AUC("query")
    return MRR()


def _check_same(a: Evaluation, b: Evaluation, direction: Direction) -> None:
    one, other = a.rankings[direction], b.rankings[direction]
    parts = ("indptr", "candidate", "grade", "n_candidates")
    is_same = (np.array_equal(getattr(one, part), getattr(other, part)) for part in parts)
    if a.pool != b.pool or not all(is_same):
        raise ValueError(
            f"These evaluations ask different queries ({one.n_queries:,} {direction} against a "
            f"{a.pool!r} pool, {other.n_queries:,} against a {b.pool!r} pool, or other "
            "judgments). Compare runs that were measured on one test part."
        )


@dataclass(frozen=True, slots=True, eq=False)
class TermGroup:
    """Queries that share a word."""

    term: str
    queries: Ints
    difference: float
    z: float

    def __len__(self) -> int:
        return len(self.queries)


def shared_terms(
    difference: ArrayLike, texts: Sequence[str], *, n_groups: int = 5, least: int = 4
) -> tuple[list[TermGroup], list[TermGroup]]:
    """Words by which to describe where the first run gains, and where the second."""
    # The words are chosen because they stand out, among all that the queries hold. That
    # describes these queries and proves nothing about others.
    from simviz.features._analysis import build_analyzer, count_terms

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
        figures = float(means[column]), float(z[column])
        return TermGroup(terms[column], queries.astype(np.int64), *figures)

    sides = []
    for sign in (1.0, -1.0):
        likely = np.flatnonzero(common & (sign * means > 0) & (sign * z >= _MIN_Z))
        selected: list[TermGroup] = []
        for column in likely[np.argsort(-sign * z[likely], kind="stable")]:
            if len(selected) == n_groups:
                break
            candidate = group(int(column))
            shared = [
                len(np.intersect1d(candidate.queries, other.queries, assume_unique=True))
                / len(np.union1d(candidate.queries, other.queries))
                for other in selected
            ]
            if max(shared, default=0.0) <= _SAME:
                selected.append(candidate)
        sides.append(selected)
    return sides[0], sides[1]


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Candidates of a query, the best first."""

    candidate: Ints
    score: Reals
    first: Ints
    last: Ints

    @classmethod
    def from_scores(cls, scores: ArrayLike, pool: ArrayLike | None = None) -> Self:
        """Put candidates in order."""
        values = np.asarray(scores, dtype=np.float64)
        candidate = np.arange(len(values)) if pool is None else np.asarray(pool, dtype=np.int64)
        values = values[candidate]
        above, tied = rank_listed(values, [0, len(values)])
        order = np.argsort(above, kind="stable")
        first = above[order] + 1
        return cls(candidate[order], values[order], first, first + tied[order] - 1)

    def __len__(self) -> int:
        return len(self.candidate)

    @property
    def place(self) -> Reals:
        """Expected place of each: the middle of those that it shares."""
        return (self.first + self.last) / 2

    def rank_text(self, at: int) -> str:
        """The rank of one, as a range where answers tie."""
        first, last = int(self.first[at]), int(self.last[at])
        return f"{first:,}" if first == last else f"{first:,}–{last:,}"

    def shown(self, k: int = 10, always: Collection[int] = ()) -> Ints:
        """Which to list: those surely among the first, and some others."""
        is_required = np.isin(self.candidate, list(always))
        return np.flatnonzero((self.last <= k) | is_required).astype(np.int64)

    def moved_from(self, other: Answers) -> Reals:
        """How many places each stands higher here than in other answers."""
        mine, theirs = np.argsort(self.candidate), np.argsort(other.candidate)
        if not np.array_equal(self.candidate[mine], other.candidate[theirs]):
            raise ValueError(
                f"These answers are about different candidates ({len(self):,} and "
                f"{len(other):,}). Compare answers to one query from one pool."
            )
        moved = np.empty(len(self))
        moved[mine] = other.place[theirs] - self.place[mine]
        return moved
