"""Scores as thresholds see them: counts between cuts, probabilities and bands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simviz._types import Ints, Reals, SideT
from simviz.callbacks import Callback
from simviz.evaluation._blocks import buckets, n_items, queries_of, similarity_blocks
from simviz.evaluation.result import Direction, check_directions
from simviz.evaluation.roc import Roc
from simviz.evaluation.scoring import Scorer
from simviz.relevance import Relevance

Interval = tuple[float, float]

#: Equal steps of the score, and steps of equal shares of either class.
_WIDE, _SHARES = 60, 128
#: Least share of the pairs above a cut, and scores looked at to place such cuts.
_MIN_SHARE, _SAMPLED = 1e-5, 200_000
_BUCKETS = 4096
#: Times that queries are drawn for the intervals of a reliability.
_RESAMPLES = 500
#: Replicates drawn at a time.
_DRAWN = 100
#: False-positive rates and recalls at which curves are read.
_RATES = np.unique(np.concatenate([[0.0], np.geomspace(1e-5, 1, 101), np.linspace(0, 1, 101)]))
_RECALLS = np.linspace(0.01, 1, 100)


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
        targets = np.linspace(self.lowest, self.highest, n_bins + 1)[1:-1]
        at = np.flatnonzero((self.cuts > self.lowest) & (self.cuts < self.highest))
        if len(at):
            near = np.abs(self.cuts[at] - targets[:, None]).argmin(axis=1)
            at = at[np.unique(near)]
        edges = np.concatenate([[self.lowest], self.cuts[at], [self.highest]])
        starts = np.concatenate([[0], at + 1])
        classes = {"relevant": self.relevant, "rejected": self.rejected, "unjudged": self.unjudged}
        every = {name: counts.sum(axis=0) for name, counts in classes.items()}
        return edges, {name: np.add.reduceat(n, starts) for name, n in every.items()}


def score_counts(
    scorer: Scorer[SideT],
    x: SideT,
    y: SideT,
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
    scorer, x, y, relevance : Scorer, sides and judgments
        As in `evaluate`.
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
    block_size, callback : optional
        As in `evaluate`.

    Returns
    -------
    ScoreCounts

    Raises
    ------
    ValueError
        If a score is NaN, the shapes do not fit, the cuts do not ascend, or the
        direction is unknown.

    Examples
    --------
    >>> from simviz.evaluation import VectorScorer
    >>> Z = np.eye(3)
    >>> counts = score_counts(VectorScorer(), Z, Z, cuts=[0.5])
    >>> counts.relevant.sum(axis=0).tolist(), counts.negative.sum(axis=0).tolist()
    ([0, 3], [6, 0])
    """
    from simviz.evaluation._kernels import count_bins

    check_directions([direction])
    rel = Relevance.coerce(relevance, n_items(x), n_items(y))
    blocks = similarity_blocks(scorer, x, y, 2, block_size, callback)
    queries, _ = queries_of(rel, "split")
    scores, samples = [np.empty(0)], [np.empty(0)]
    lowest, highest = np.inf, -np.inf
    step = max(1, rel.shape[0] * rel.shape[1] // _SAMPLED)
    for start, block in blocks:
        low, high = float(block.min()), float(block.max())
        if np.isnan(low):
            raise ValueError(
                "Scores must be numbers, but some are NaN. Look for empty or infinite vectors; "
                "an empty item should score 0."
            )
        lowest, highest = min(lowest, low), max(highest, high)
        part = queries.part(start, start + len(block))
        scores.append(block[part.query, part.candidate].astype(np.float64))
        samples.append(block.ravel()[start % step :: step].astype(np.float64))
    score, relevant = np.concatenate(scores), queries.grade > 0
    if cuts is None:
        bounds = _default_cuts(lowest, highest, score[relevant], np.concatenate(samples))
    else:
        bounds = np.asarray(cuts, dtype=np.float64)
    if bounds.ndim != 1 or (np.diff(bounds) <= 0).any() or np.isnan(bounds).any():
        raise ValueError("cuts must be numbers in ascending order, none of them twice.")
    groups = _groups(rel.shape[direction == "y2x"], max_groups, seed)
    nobody = [np.zeros(n, dtype=np.int64) for n in rel.shape]
    row_group, column_group = (groups, nobody[1]) if direction == "x2y" else (nobody[0], groups)
    n_groups, n_bins = int(groups.max()) + 1, len(bounds) + 1
    every = np.zeros((n_groups, n_bins), dtype=np.int64)
    places = buckets(bounds, _BUCKETS)
    for start, block in blocks:
        rows = row_group[start : start + len(block)]
        count_bins(block, bounds, *places, rows, column_group, every)
    group = row_group[queries.query] + column_group[queries.candidate]
    cell = group * n_bins + np.searchsorted(bounds, score, side="right")
    of_class = [
        np.bincount(cell[of], minlength=n_groups * n_bins).reshape(n_groups, n_bins)
        for of in (relevant, ~relevant)
    ]
    return ScoreCounts(
        cuts=bounds,
        relevant=of_class[0],
        rejected=of_class[1],
        unjudged=every - of_class[0] - of_class[1],
        ignores_unjudged=rel.unjudged == "ignore",
        lowest=lowest,
        highest=highest,
    )


def _default_cuts(lowest: float, highest: float, relevant: Reals, sample: Reals) -> Reals:
    """Steps of equal width, and of equal shares of relevant and of all pairs."""
    few = 1 - np.geomspace(_MIN_SHARE, 1, _SHARES)
    parts = [np.linspace(lowest, highest, _WIDE + 1)[1:-1]]
    of_all = np.concatenate([few, np.linspace(0, 1, _SHARES // 2)])
    for scores, shares in ((relevant, np.linspace(0, 1, _SHARES)), (sample, of_all)):
        if len(scores):
            parts.append(np.quantile(scores, shares, method="inverted_cdf"))
    return np.unique(np.concatenate(parts))


def _groups(n_queries: int, max_groups: int, seed: int) -> Ints:
    """The group of each query: its own where there are few."""
    if n_queries <= max_groups:
        return np.arange(n_queries)
    shuffled = np.random.default_rng(seed).permutation(n_queries)
    return shuffled % max_groups


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """From a score to the probability that a pair belongs together.

    Parameters
    ----------
    cuts : ndarray of float64, shape (m,)
        Ascending scores at which the probability changes.
    probability : ndarray of float64, shape (m + 1,)
        Below the first cut, between any two, and from the last on; it never falls.

    Examples
    --------
    >>> Calibration(np.array([0.5]), np.array([0.1, 0.9])).of([0.2, 0.5])
    array([0.1, 0.9])
    """

    cuts: Reals
    probability: Reals

    @classmethod
    def fit(cls, counts: ScoreCounts, *, odds: float = 1.0) -> Calibration:
        """Isotonic regression of relevance on the score [1]_.

        Parameters
        ----------
        counts : ScoreCounts
            Of pairs that the model was not trained on.
        odds : float, default=1.0
            By what the odds of a pair belonging together differ where the probabilities will be
            used: with as many relevant among twice the candidates, 0.5.

        Returns
        -------
        Calibration

        Raises
        ------
        ValueError
            If no pair, or every pair, is relevant.

        References
        ----------
        .. [1] B. Zadrozny and C. Elkan. "Transforming classifier scores into
           accurate multiclass probability estimates." KDD 2002.
        """
        from sklearn.isotonic import isotonic_regression

        relevant, other = counts.relevant.sum(axis=0), counts.negative.sum(axis=0)
        if not relevant.any() or not other.any():
            raise ValueError(
                f"Calibration compares relevant with other pairs; got {int(relevant.sum())} and "
                f"{int(other.sum())}. Use a part of the data that holds both."
            )
        n = relevant + other
        filled = np.flatnonzero(n)
        rising = isotonic_regression(relevant[filled] / n[filled], sample_weight=n[filled])
        new = np.flatnonzero(np.diff(rising) > 0) + 1
        share = rising[np.concatenate([[0], new])]
        return cls(counts.cuts[filled[new] - 1], odds * share / (odds * share + 1 - share))

    def of(self, scores: object) -> Reals:
        """Probability that pairs with these scores belong together.

        Parameters
        ----------
        scores : array-like of float
            Similarities.

        Returns
        -------
        ndarray of float64
            In [0, 1].
        """
        at = np.searchsorted(self.cuts, np.asarray(scores, dtype=np.float64), side="right")
        return np.asarray(self.probability[at], dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """Probabilities held against what came true, in steps of the score.

    Parameters
    ----------
    predicted, observed : ndarray of float64, shape (n,)
        Mean probability, and share of the pairs that belong together.
    low, high : ndarray of float64, shape (n,)
        95 % interval of that share, over queries drawn again.
    n_pairs, n_relevant : ndarray of int64, shape (n,)
        Pairs of each step.
    from_score, to_score : ndarray of float64, shape (n,)
        The step; the first begins at -inf, the last ends at inf.
    """

    predicted: Reals
    observed: Reals
    low: Reals
    high: Reals
    n_pairs: Ints
    n_relevant: Ints
    from_score: Reals
    to_score: Reals

    @property
    def gap(self) -> float:
        """Mean distance of probability and share, each step counting by its relevant pairs.

        By all pairs the low scores, which are nearly all, would decide alone.
        """
        weight = self.n_relevant / self.n_relevant.sum()
        return float(weight @ np.abs(self.predicted - self.observed))


def reliability(calibration: Calibration, counts: ScoreCounts, *, n_bins: int = 10) -> Reliability:
    """Hold probabilities against pairs that neither model nor calibration has seen.

    Parameters
    ----------
    calibration : Calibration
        Fitted on another part of the data.
    counts : ScoreCounts
        Counted with ``cuts=calibration.cuts``.
    n_bins : int, default=10
        Steps at most, each with about as many relevant pairs.

    Returns
    -------
    Reliability
        By ascending score.

    Raises
    ------
    ValueError
        If the counts have other cuts, or hold no relevant pair.
    """
    if not np.array_equal(counts.cuts, calibration.cuts):
        raise ValueError("These pairs were counted between other cuts than the calibration's.")
    relevant, other = counts.relevant, counts.negative
    n_relevant = relevant.sum(axis=0)
    if not n_relevant.any():
        raise ValueError("None of these pairs is relevant, so no probability came true.")
    # A new step begins once the one before holds its share of the relevant pairs.
    step = (np.cumsum(n_relevant) - n_relevant) * n_bins // n_relevant.sum()
    # What lies above all joins the last.
    step = np.minimum(step, step[np.flatnonzero(n_relevant)[-1]])
    starts = np.flatnonzero(np.diff(step, prepend=-1) > 0)
    positive, negative = (
        np.add.reduceat(part, starts, axis=1).astype(np.float64) for part in (relevant, other)
    )
    n = len(positive)
    drawn = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=_RESAMPLES)
    again = [drawn @ part for part in (positive, negative)]
    with np.errstate(invalid="ignore"):
        low, high = np.nanquantile(again[0] / (again[0] + again[1]), [0.025, 0.975], axis=0)
    hits, pairs = positive.sum(axis=0), (positive + negative).sum(axis=0)
    everywhere = (relevant + other).sum(axis=0)
    expected = np.add.reduceat(everywhere * calibration.probability, starts)
    edges = np.concatenate([[-np.inf], counts.cuts, [np.inf]])
    return Reliability(
        predicted=expected / pairs,
        observed=hits / pairs,
        low=low,
        high=high,
        n_pairs=pairs.astype(np.int64),
        n_relevant=hits.astype(np.int64),
        from_score=edges[starts],
        to_score=edges[np.append(starts[1:], len(edges) - 1)],
    )


class Band(NamedTuple):
    """A curve's pointwise confidence band."""

    at: Reals
    low: Reals
    high: Reals


@dataclass(frozen=True, slots=True, eq=False)
class CurveBands:
    """Bands and intervals of what is read off a ROC curve.

    Parameters
    ----------
    tpr : Band
        True against false positive rate.
    precision : Band
        Precision against recall.
    auc, average_precision : tuple of float
        Lower and upper bound; NaN where a class is empty.
    n_queries : int
        Queries, or groups of them, that were drawn again.
    """

    tpr: Band
    precision: Band
    auc: Interval
    average_precision: Interval
    n_queries: int


def curve_bands(
    counts: ScoreCounts,
    roc: Roc,
    *,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> CurveBands:
    """Draw the queries again and again, each with all of its pairs.

    Pairs of one query are alike; resampling single pairs would make intervals
    far too narrow. So whole queries are drawn, as clusters are [1]_.

    Parameters
    ----------
    counts : ScoreCounts
        Pairs by query and score.
    roc : Roc
        The exact curve, around whose areas the intervals lie.
    n_resamples : int, default=1000
        Times the queries are drawn.
    confidence : float, default=0.95
        Share that bounds enclose, above 0 and below 1.
    seed : int, default=0
        Of the draws.

    Returns
    -------
    CurveBands

    Raises
    ------
    ValueError
        If a setting is out of range.

    Notes
    -----
    The candidates stay as they are: the bands tell of other queries to the
    same candidates. Between two cuts a curve is straight, which only shifts
    all draws alike; that shift is taken off the intervals.

    References
    ----------
    .. [1] C. A. Field and A. H. Welsh. "Bootstrapping clustered data." Journal
       of the Royal Statistical Society B 69(3), 2007.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is a share above 0 and below 1, got {confidence!r}.")
    if n_resamples < 2:
        raise ValueError(f"n_resamples counts draws, at least 2; got {n_resamples!r}.")
    # From the top: none passes at first, then all down to each cut.
    sums = (np.cumsum(part[:, ::-1], axis=1) for part in (counts.negative, counts.relevant))
    passing = [np.pad(part, ((0, 0), (1, 0))).astype(np.float64) for part in sums]
    n = len(passing[0])
    rng = np.random.default_rng(seed)
    curves: list[tuple[Reals, Reals, Reals]] = []
    for start in range(0, n_resamples, _DRAWN):
        size = min(_DRAWN, n_resamples - start)
        drawn = rng.multinomial(n, np.full(n, 1 / n), size=size).astype(np.float64)
        curves += map(_read_off, drawn @ passing[0], drawn @ passing[1])
    tpr, precision, areas = (np.array(part) for part in zip(*curves, strict=True))
    _, _, whole = _read_off(passing[0].sum(axis=0), passing[1].sum(axis=0))
    exact = np.array([roc.auc, roc.average_precision])
    shares = [(1 - confidence) / 2, (1 + confidence) / 2]
    bounds = _percentiles(areas, shares) + (exact - whole)
    auc, average = ((float(low), float(high)) for low, high in np.clip(bounds, 0, 1).T.tolist())
    rates = Band(_RATES, *_percentiles(tpr, shares))
    recalls = Band(_RECALLS, *_percentiles(precision, shares))
    return CurveBands(
        tpr=rates, precision=recalls, auc=auc, average_precision=average, n_queries=n
    )


def _read_off(fp: Reals, tp: Reals) -> tuple[Reals, Reals, Reals]:
    """Both curves at fixed places, and the areas, of one draw."""
    if not fp[-1] or not tp[-1]:
        return np.full(_RATES.shape, np.nan), np.full(_RECALLS.shape, np.nan), np.full(2, np.nan)
    fpr, tpr = fp / fp[-1], tp / tp[-1]
    # Backwards, so that of several points with one recall the first counts.
    with_recall = -np.interp(-_RECALLS, -tpr[::-1], -fp[::-1])
    n_true = _RECALLS * tp[-1]
    precision = n_true / (n_true + with_recall)
    areas = np.array([np.trapezoid(tpr, fpr), precision.mean()])
    return np.interp(_RATES, fpr, tpr), precision, areas


def _percentiles(values: Reals, shares: list[float]) -> Reals:
    """Of each column, draws without one of the classes left out."""
    complete = values[~np.isnan(values).any(axis=1)]
    if not len(complete):
        return np.full((2, values.shape[1]), np.nan)
    return np.asarray(np.quantile(complete, shares, axis=0), dtype=np.float64)
