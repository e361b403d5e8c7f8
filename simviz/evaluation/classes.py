"""How many pairs of each class score between some cuts, query by query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.callbacks import Callback
from simviz.evaluation._blocks import Blocks, bounds, n_items
from simviz.evaluation._judged import queries_of
from simviz.evaluation._late_columns import vectors_of
from simviz.evaluation.result import Direction, check_directions
from simviz.evaluation.scoring import Scorer, Side
from simviz.relevance import Relevance

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Block = NDArray[np.floating[Any]]

#: Equal steps of the score, and steps of equal shares of either class.
_WIDE, _SHARES = 60, 128
#: Least share of the pairs above a cut, and scores looked at to place such cuts.
_LEAST_SHARE, _SAMPLED = 1e-5, 200_000
_BUCKETS = 4096


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCounts:
    """Pairs by class, group of queries, and step of the score.

    Parameters
    ----------
    cuts : ndarray of float64, shape (n_bins - 1,)
        Ascending; a score falls into bin b if b cuts are at or below it.
    relevant, rejected, unjudged : ndarray of int64, shape (n_groups, n_bins)
        Pairs that belong together, that were judged not to, and the rest.
    ignores_unjudged : bool
        Whether pairs without a judgment count for nothing.
    lowest, highest : float
        Range of all scores.
    """

    cuts: Reals
    relevant: Ints
    rejected: Ints
    unjudged: Ints
    ignores_unjudged: bool
    lowest: float
    highest: float

    @property
    def negative(self) -> Ints:
        """Pairs that count as not relevant, of shape (n_groups, n_bins)."""
        return self.rejected if self.ignores_unjudged else self.rejected + self.unjudged

    def histogram(self, n_bins: int = 40) -> tuple[Reals, dict[str, Ints]]:
        """Pairs of each class in steps of equal width, as nearly as the cuts allow.

        Parameters
        ----------
        n_bins : int, default=40
            Steps at most.

        Returns
        -------
        edges : ndarray of float64, shape (m + 1,)
            From the lowest score to the highest, all others among the cuts.
        counts : dict of str to ndarray of int64, shape (m,)
            By class: "relevant", "rejected" and "unjudged".
        """
        wanted = np.linspace(self.lowest, self.highest, n_bins + 1)[1:-1]
        inside = np.flatnonzero((self.cuts > self.lowest) & (self.cuts < self.highest))
        if not len(inside):
            at = inside
        else:
            near = np.abs(self.cuts[inside][None, :] - wanted[:, None]).argmin(axis=1)
            at = inside[np.unique(near)]
        edges = np.concatenate([[self.lowest], self.cuts[at], [self.highest]])
        starts = np.concatenate([[0], at + 1])
        classes = {
            "relevant": self.relevant,
            "rejected": self.rejected,
            "unjudged": self.unjudged,
        }
        return edges, {
            name: np.add.reduceat(counts.sum(axis=0), starts) for name, counts in classes.items()
        }


def score_counts(
    scorer: Scorer[Side],
    x: Side,
    y: Side,
    relevance: object = None,
    *,
    direction: Direction = "x2y",
    cuts: ArrayLike | None = None,
    max_groups: int = 2000,
    seed: int = 0,
    block_size: int | None = None,
    callback: Callback | None = None,
) -> ScoreCounts:
    """Count scores between cuts, in blocks of bounded memory.

    Parameters
    ----------
    scorer : Scorer
        A fitted model or pipeline.
    x, y : matrices or Items
        What the scorer's ``iter_similarity`` takes.
    relevance : Relevance or sparse matrix of shape (n_x, n_y), optional
        Judgments; row i belongs to row i when omitted.
    direction : {"x2y", "y2x"}, default="x2y"
        Which side's items are the queries.
    cuts : array-like of float, optional
        Where to count, ascending. When omitted: steps of equal width, and
        steps of equal shares of the relevant pairs and of all pairs, finer
        towards the top. Every count is exact wherever the cuts lie.
    max_groups : int, default=2000
        Where there are more queries they are counted in so many random
        groups, which vary as queries do when they are drawn again.
    seed : int, default=0
        Of those groups.
    block_size : int, optional
        Rows of a block; the scorer chooses when omitted.
    callback : callable, optional
        See `simviz.callbacks`; steps are rows of two passes.

    Returns
    -------
    ScoreCounts
        Counts of all pairs.

    Raises
    ------
    ValueError
        If a score is NaN, the shapes do not fit, or the direction is unknown.
    JobCancelled
        If the callback asked to stop.

    Examples
    --------
    >>> from simviz.evaluation import VectorScorer
    >>> Z = np.eye(3)
    >>> counts = score_counts(VectorScorer(), Z, Z, cuts=[0.5])
    >>> counts.relevant.sum(axis=0).tolist(), counts.negative.sum(axis=0).tolist()
    ([0, 3], [6, 0])
    """
    check_directions([direction])
    rel = Relevance.coerce(relevance, n_items(x), n_items(y))
    vectors = vectors_of(scorer, x, y)

    def compute() -> Iterable[Block]:
        if vectors is None:
            return scorer.iter_similarity(x, y, block_size=block_size)
        P, Q = vectors
        return (P[a:b] @ Q.T for a, b in bounds(*rel.shape, block_size))

    blocks = Blocks(compute, rel.shape, n_passes=2, callback=callback)
    seen = _look(blocks, rel)
    chosen = seen.cuts() if cuts is None else np.asarray(cuts, dtype=np.float64)
    if chosen.ndim != 1 or (np.diff(chosen) <= 0).any() or np.isnan(chosen).any():
        raise ValueError("cuts must be numbers in ascending order, none of them twice.")
    groups = _groups(rel.shape[direction == "y2x"], max_groups, seed)
    nobody = [np.zeros(n, dtype=np.int64) for n in rel.shape]
    row_group, column_group = (groups, nobody[1]) if direction == "x2y" else (nobody[0], groups)
    n_groups, n_bins = int(groups.max()) + 1, len(chosen) + 1
    every = _count(blocks, chosen, row_group, column_group, n_groups)
    group = row_group[seen.row] + column_group[seen.column]
    cell = group * n_bins + np.searchsorted(chosen, seen.score, side="right")
    relevant, rejected = (
        np.bincount(cell[of], minlength=n_groups * n_bins).reshape(n_groups, n_bins)
        for of in (seen.relevant, ~seen.relevant)
    )
    return ScoreCounts(
        cuts=chosen,
        relevant=relevant,
        rejected=rejected,
        unjudged=every - relevant - rejected,
        ignores_unjudged=rel.unjudged == "ignore",
        lowest=seen.lowest,
        highest=seen.highest,
    )


@dataclass(slots=True)
class _Seen:
    """What a first look at all scores tells: the judged ones, the range, a sample."""

    row: Ints
    column: Ints
    relevant: NDArray[np.bool_]
    score: Reals
    lowest: float
    highest: float
    sample: Reals

    def cuts(self) -> Reals:
        """Steps of equal width, and of equal shares of relevant and of all pairs."""
        wide = np.linspace(self.lowest, self.highest, _WIDE + 1)[1:-1]
        few = 1 - np.geomspace(_LEAST_SHARE, 1, _SHARES)
        parts = [wide]
        for scores, shares in (
            (self.score[self.relevant], np.linspace(0, 1, _SHARES)),
            (self.sample, np.concatenate([few, np.linspace(0, 1, _SHARES // 2)])),
        ):
            if len(scores):
                parts.append(np.quantile(scores, shares, method="inverted_cdf"))
        return np.unique(np.concatenate(parts))


def _look(blocks: Blocks, relevance: Relevance) -> _Seen:
    queries, _ = queries_of(relevance, "split")
    n_x, n_y = relevance.shape
    row, column, relevant = queries.query, queries.candidate, queries.grade > 0
    step = max(1, n_x * n_y // _SAMPLED)
    scores, samples = [np.empty(0)], [np.empty(0)]
    lowest, highest = np.inf, -np.inf
    for start, block in blocks:
        low, high = float(block.min()), float(block.max())
        if np.isnan(low):
            raise ValueError(
                "Scores must be numbers, but some are NaN. Look for empty or infinite vectors; "
                "an empty item should score 0."
            )
        lowest, highest = min(lowest, low), max(highest, high)
        first, last = queries.indptr[start], queries.indptr[start + len(block)]
        scores.append(block[row[first:last] - start, column[first:last]].astype(np.float64))
        samples.append(block.ravel()[start % step :: step].astype(np.float64))
    return _Seen(
        row, column, relevant, np.concatenate(scores), lowest, highest, np.concatenate(samples)
    )


def _groups(n_queries: int, max_groups: int, seed: int) -> Ints:
    """The group of each query: its own where there are few."""
    if n_queries <= max_groups:
        return np.arange(n_queries)
    shuffled = np.random.default_rng(seed).permutation(n_queries)
    return shuffled % max_groups


def _count(
    blocks: Blocks, cuts: Reals, row_group: Ints, column_group: Ints, n_groups: int
) -> Ints:
    """All pairs by group and bin."""
    from simviz.evaluation._kernels import count_bins

    counts = np.zeros((n_groups, len(cuts) + 1), dtype=np.int64)
    origin, per_unit = 0.0, 0.0
    bucket = np.zeros(len(cuts), dtype=np.int64)
    # Buckets of equal width; one for all where a width would be 0 or infinite.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        span = cuts[-1:] - cuts[:1]
        width = _BUCKETS / span
    if len(cuts) and np.isfinite(span[0]) and np.isfinite(width[0]):
        origin, per_unit = float(cuts[0]), float(width[0])
        bucket = np.minimum(((cuts - origin) * per_unit).astype(np.int64), _BUCKETS)
    bucket_start = np.searchsorted(bucket, np.arange(_BUCKETS + 1))
    for start, block in blocks:
        rows = row_group[start : start + len(block)]
        count_bins(block, cuts, origin, per_unit, bucket_start, rows, column_group, counts)
    return counts
