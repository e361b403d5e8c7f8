"""A threshold: what passes it, what to expect of it, and the pairs that it gets wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz._types import Ints, Mask, Reals, SideT
from simviz.callbacks import Callback
from simviz.evaluation._blocks import n_items, queries_of, similarity_blocks
from simviz.evaluation.scoring import Scorer
from simviz.relevance import Relevance


class Estimate(NamedTuple):
    """A share of pairs with its confidence interval.

    The interval is for the share among all pairs like these. What another part of the data gives
    varies by itself too: 95 % intervals hold it in about 83 % of parts that are as large.

    Parameters
    ----------
    value : float
        The share; NaN where there is nothing to take it of.
    low, high : float
        Bounds of the interval.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """A threshold, and what it does on some pairs.

    Parameters
    ----------
    threshold : float
        A pair passes at or above it.
    false_alarm_rate : Estimate
        Share of the other pairs that pass.
    recall : Estimate
        Share of the relevant pairs that pass.
    precision : Estimate
        Share of what passes that is relevant, at that prevalence.
    prevalence : float
        Share of all pairs that is relevant.
    n_positive, n_negative : int
        Relevant pairs, and others that count as not relevant.
    """

    threshold: float
    false_alarm_rate: Estimate
    recall: Estimate
    precision: Estimate
    prevalence: float
    n_positive: int
    n_negative: int


def choose_threshold(
    scorer: Scorer[SideT],
    x: SideT,
    y: SideT,
    relevance: object = None,
    *,
    false_alarm_rate: float = 0.01,
    block_size: int | None = None,
    callback: Callback | None = None,
) -> float:
    """Choose the lowest threshold that lets at most a share of the other pairs pass.

    It is the point of the ROC curve at that false-positive rate. Choose it on a
    validation part: on pairs that the scorer learned from it would be too high
    or too low elsewhere. Where scores depend on the other queries, as those of
    `simviz.pipeline.CSLSPipeline` with ``queries="given"``, it holds for this batch alone.

    Parameters
    ----------
    scorer, x, y, relevance : Scorer, sides and judgments
        As in `evaluate`.
    false_alarm_rate : float, default=0.01
        Share of the pairs that are not relevant, from 0 to 1.
    block_size, callback : optional
        As in `evaluate`.

    Returns
    -------
    float
        A pair passes at or above it. Pairs of one score pass together, and none
        of them where they would be too many.

    Raises
    ------
    ValueError
        If the rate is out of range, the shapes do not fit, or no pair counts as not relevant.

    Examples
    --------
    >>> from simviz.evaluation import VectorScorer
    >>> Z = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> round(choose_threshold(VectorScorer(), Z, Z, false_alarm_rate=0.4), 3)
    0.7
    """
    if not 0 <= false_alarm_rate <= 1:
        raise ValueError(f"A false-alarm rate lies in [0, 1], got {false_alarm_rate!r}.")
    judged = _Judged.of(Relevance.coerce(relevance, n_items(x), n_items(y)))
    n_other = judged.n_other
    if not n_other:
        raise ValueError(
            "No pair counts as not relevant, so nothing can be a false alarm. Use a part of the "
            "data with such pairs."
        )
    n_allowed = int(false_alarm_rate * n_other)
    if n_allowed == n_other:
        return float("-inf")
    highest = np.empty(0)
    blocks = similarity_blocks(scorer, x, y, 1, block_size, callback)
    for _, block, _, others in judged.passing(blocks, -np.inf):
        highest = np.concatenate([highest, block[others].astype(np.float64)])
        if len(highest) > n_allowed + 1:
            highest = np.partition(highest, -n_allowed - 1)[-n_allowed - 1 :]
    refused = highest.min()
    above = highest[highest > refused]
    if not len(above):
        return float(np.nextafter(np.float32(refused), np.float32(np.inf)))
    # Half way to the next, so that rounding lets none of those at it pass.
    return float(max(refused + (above.min() - refused) / 2, np.nextafter(refused, np.inf)))


def operating_point(
    scorer: Scorer[SideT],
    x: SideT,
    y: SideT,
    relevance: object = None,
    *,
    threshold: float,
    prevalence: float | None = None,
    groups: Mapping[Any, ArrayLike] | None = None,
    confidence: float = 0.95,
    block_size: int | None = None,
    callback: Callback | None = None,
) -> OperatingPoint:
    """Measure what a threshold lets through, with intervals.

    Choose the threshold by `choose_threshold`. The pairs have to be such that the
    scorer did not learn from, and where a judgment is missing they count as not
    relevant only if ``Relevance.unjudged`` says so.

    Parameters
    ----------
    scorer, x, y, relevance : Scorer, sides and judgments
        As in `evaluate`.
    threshold : float
        A pair passes at or above it.
    prevalence : float, optional
        Share of relevant pairs where the threshold will be used, above 0 and
        below 1; that of these pairs when omitted. Precision depends on it.
    groups : mapping of "x" or "y" to array-like, optional
        Labels of the items of a side, such as the page of each paragraph. Items
        of one label, on either side, are alike; give them where the data are
        split by group, else intervals are too narrow.
    confidence : float, default=0.95
        Share that intervals enclose, above 0 and below 1.
    block_size, callback : optional
        As in `evaluate`.

    Returns
    -------
    OperatingPoint
        Shares are NaN where a class is empty.

    Raises
    ------
    ValueError
        If a setting is out of range or the shapes do not fit.

    Notes
    -----
    An interval is for the share among all pairs like these at this threshold,
    also if it was chosen on them: what the choice adds is what the share varies.

    Pairs are alike that have an item in common, or an item of one with the mate of an item of the
    other: an x and a y item are mates if one is relevant to the other alone. So the variance of a
    share is taken over units of mates and groups [1]_, and over both sides [2]_; the larger
    counts. The interval is that of Clopper and Pearson for as many independent pairs as would have
    this variance [3]_. Where all pairs or none pass, each item of the smaller side counts once.

    References
    ----------
    .. [1] P. M. Aronow, C. Samii and V. A. Assenova. "Cluster-robust variance
       estimation for dyadic data." Political Analysis 23(4), 2015.
    .. [2] A. C. Cameron, J. B. Gelbach and D. L. Miller. "Robust inference with
       multiway clustering." Journal of Business & Economic Statistics 29(2), 2011.
    .. [3] E. L. Korn and B. I. Graubard. "Confidence intervals for proportions with small expected
       number of positive counts estimated from survey data." Survey Methodology 24(2), 1998.

    Examples
    --------
    >>> from simviz.evaluation import VectorScorer
    >>> Z = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> point = operating_point(VectorScorer(), Z, Z, threshold=0.7)
    >>> point.n_negative, round(point.false_alarm_rate.value, 3), point.recall.value
    (6, 0.333, 1.0)
    """
    if np.isnan(threshold) or not 0 < confidence < 1:
        raise ValueError(
            f"Got threshold={threshold} and confidence={confidence}; the threshold is a number, "
            "the confidence lies above 0 and below 1."
        )
    if prevalence is not None and not 0 < prevalence < 1:
        raise ValueError(f"prevalence is a share above 0 and below 1, got {prevalence!r}.")
    rel = Relevance.coerce(relevance, n_items(x), n_items(y))
    judged = _Judged.of(rel)
    units = _units(rel, groups or {}, x is y)
    scores = [np.empty(0)]
    alarms = [np.zeros((3, 1 + int(np.concatenate(of).max()))) for of in units]
    blocks = similarity_blocks(scorer, x, y, 1, block_size, callback)
    for start, _, score, passing in judged.passing(blocks, threshold):
        scores.append(score)
        n_row, n_column = passing.sum(axis=1), passing.sum(axis=0)
        for (x_unit, y_unit), tally in zip(units, alarms, strict=True):
            rows = x_unit[start : start + len(passing)]
            np.add.at(tally[0], rows, n_row)
            np.add.at(tally[1], y_unit, n_column)
            np.add.at(tally[2], rows, (passing & (rows[:, None] == y_unit)).sum(axis=1))
    is_hit = judged.relevant & (np.concatenate(scores) >= threshold)
    # By unit: relevant pairs that pass and all of them, then the same of the others.
    counts = []
    for (x_unit, y_unit), passed in zip(units, alarms, strict=True):
        ends, n = (x_unit[judged.row], y_unit[judged.column]), passed.shape[1]
        classes = np.ones_like(is_hit), is_hit, judged.relevant
        every, hits, positives = (_tally(ends, of, n) for of in classes)
        if not judged.ignores:
            n_x, n_y = np.bincount(x_unit, minlength=n), np.bincount(y_unit, minlength=n)
            every = np.stack([n_x * rel.shape[1], n_y * rel.shape[0], n_x * n_y])
        counts.append((hits, positives, passed, every - positives))
    n_positive = int(judged.relevant.sum())
    own = n_positive / max(1, n_positive + judged.n_other)
    target = own if prevalence is None else prevalence
    # Pairs of both classes count as they would at the prevalence wanted.
    weights = (target / own, (1 - target) / (1 - own)) if 0 < own < 1 else (1.0, 1.0)
    return OperatingPoint(
        threshold=float(threshold),
        false_alarm_rate=_share([(a, n) for _, _, a, n in counts], confidence),
        recall=_share([(h, p) for h, p, _, _ in counts], confidence),
        precision=_share(
            [(weights[0] * h, weights[0] * h + weights[1] * a) for h, _, a, _ in counts],
            confidence,
            weights,
        ),
        prevalence=target,
        n_positive=n_positive,
        n_negative=judged.n_other,
    )


def _units(
    relevance: Relevance, groups: Mapping[str, ArrayLike], is_one: bool
) -> list[tuple[Ints, Ints]]:
    """Units of the x and the y items: each side by itself, then groups and mates together."""
    from scipy.sparse.csgraph import connected_components

    n_x, n_y = relevance.shape
    n = n_y if is_one else n_x + n_y
    numbers: dict[object, int] = {}
    apart, edges = [], []
    for side, size, first in (("x", n_x, 0), ("y", n_y, n - n_y)):
        unit = first + np.arange(size)
        if side in groups:
            labels = np.asarray(groups[side])
            if labels.shape != (size,):
                raise ValueError(
                    f"groups[{side!r}] has shape {labels.shape} for {size:,} items. Give a label "
                    "for each item of the side."
                )
            units = [numbers.setdefault(label, len(numbers)) for label in labels.tolist()]
            edges.append((unit, n + np.array(units, dtype=np.int64)))
            unit = edges[-1][1] + (n if first else 0)
        apart.append(unit)
    known = relevance.positives.tocoo()
    x_is_alone, y_is_alone = (np.bincount(at)[at] == 1 for at in (known.row, known.col))
    alone = x_is_alone | y_is_alone
    edges.append((known.row[alone], n - n_y + known.col[alone]))
    start, end = (np.concatenate(ends) for ends in zip(*edges, strict=True))
    graph = sp.coo_array((np.ones(len(start)), (start, end)), shape=(3 * n, 3 * n))
    joined = connected_components(graph, directed=False)[1].astype(np.int64)
    return [(apart[0], apart[1]), (joined[:n_x], joined[n - n_y : n])]


def _tally(ends: tuple[Ints, Ints], counted: Mask, n: int) -> Reals:
    """Count pairs by the unit of their x item, of their y item, and of both."""
    x, y = (end[counted] for end in ends)
    of = (x, y, x[x == y])
    return np.stack([np.bincount(unit, minlength=n) for unit in of]).astype(np.float64)


def _share(
    drawn: list[tuple[Any, Any]], confidence: float, weights: tuple[float, float] = (1.0, 1.0)
) -> Estimate:
    """A share of weighted pairs, given hits and pairs by unit, see `_tally`, for each drawing."""
    from scipy import stats

    total = float(drawn[0][1][0].sum())
    if not total:
        return Estimate(float("nan"), float("nan"), float("nan"))
    share = float(drawn[0][0][0].sum()) / total
    # What single pairs vary is in the units of both their items.
    single = share * (1 - share) * (weights[0] * (1 - share) + weights[1] * share) / total
    shares = []
    for hits, pairs in drawn:
        n_units = int((pairs[:2] > 0).sum(axis=1).min())
        x, y, both = (hits - share * pairs) / total
        squares = float(((x + y - both) ** 2).sum())
        twice = single * (1 - float(pairs[2].sum()) / total)
        squares = max(squares - twice, squares / 2)
        shares.append((n_units / max(1, n_units - 1) * squares, n_units))
    variance, smaller = max(shares)
    tail = (1 - confidence) / 2
    if 0 < share < 1 and variance > 0 and smaller > 1:
        n = share * (1 - share) / variance
        n *= (stats.norm.ppf(tail) / stats.t.ppf(tail, smaller - 1)) ** 2
    else:
        n = float(shares[0][1])
    hits = share * n
    low = stats.beta.ppf(tail, hits, n - hits + 1) if hits > 0 else 0.0
    high = stats.beta.ppf(1 - tail, hits + 1, n - hits) if hits < n else 1.0
    return Estimate(share, float(low), float(high))


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    """Judged pairs, and which of the others pass a threshold."""

    row: Ints
    column: Ints
    relevant: Mask
    queries: Any
    ignores: bool
    n_other: int

    @classmethod
    def of(cls, relevance: Relevance) -> _Judged:
        queries, _ = queries_of(relevance, "split")
        ignores = relevance.unjudged == "ignore"
        relevant = queries.grade > 0
        n_pairs = len(relevant) if ignores else relevance.shape[0] * relevance.shape[1]
        n_other = n_pairs - int(relevant.sum())
        return cls(queries.query, queries.candidate, relevant, queries, ignores, n_other)

    def passing(
        self, blocks: Any, threshold: float
    ) -> Iterator[tuple[int, NDArray[Any], Reals, Mask]]:
        """Yield first row, scores, those of judged pairs, and which others pass, of each block."""
        limit = np.float64(threshold)  # a plain float would be rounded to the type of the block
        for start, block in blocks:
            part = self.queries.part(start, start + len(block))
            inside, across = part.query, part.candidate
            passing = block >= limit
            if self.ignores:
                judged = np.zeros_like(passing)
                judged[inside, across] = True
                passing &= judged
            belongs = part.grade > 0
            passing[inside[belongs], across[belongs]] = False
            yield start, block, block[inside, across].astype(np.float64), passing


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPairs:
    """Some pairs with their scores."""

    x: Ints
    y: Ints
    score: Reals


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdErrors:
    """Pairs on the wrong side of a threshold.

    Parameters
    ----------
    threshold : float
        A pair passes at or above it.
    n_passing, n_true_positives, n_relevant : int
        Pairs that pass, relevant ones among them, and all relevant ones.
    false_alarms : ScoredPairs
        Of those that pass and are not relevant, some with the highest scores.
    misses : ScoredPairs
        Of the relevant ones that do not pass, some with the highest scores.
    """

    threshold: float
    n_passing: int
    n_true_positives: int
    n_relevant: int
    false_alarms: ScoredPairs
    misses: ScoredPairs


def errors_at(
    scorer: Scorer[SideT],
    x: SideT,
    y: SideT,
    relevance: object = None,
    *,
    threshold: float,
    k: int = 10,
    block_size: int | None = None,
    callback: Callback | None = None,
) -> ThresholdErrors:
    """List what a threshold lets through, and what it misses.

    Parameters
    ----------
    scorer, x, y, relevance : Scorer, sides and judgments
        As in `evaluate`. Pairs that are ignored are neither counted nor listed.
    threshold : float
        A pair passes at or above it.
    k : int, default=10
        Pairs to list of each kind, at most.
    block_size, callback : optional
        As in `evaluate`.

    Returns
    -------
    ThresholdErrors

    Raises
    ------
    ValueError
        If `k` is not positive, the threshold is NaN, or the shapes do not fit.

    Examples
    --------
    >>> from simviz.evaluation import VectorScorer
    >>> Z = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> found = errors_at(VectorScorer(), Z, Z[[0, 1, 0]], threshold=0.7)
    >>> found.n_passing, found.n_true_positives, found.misses.x.tolist()
    (6, 2, [2])
    """
    if k < 1 or np.isnan(threshold):
        raise ValueError(f"Got k={k} and threshold={threshold}; k is positive, neither is NaN.")
    judged = _Judged.of(Relevance.coerce(relevance, n_items(x), n_items(y)))
    row, column, relevant = judged.row, judged.column, judged.relevant
    scores, n_others = [np.empty(0)], 0
    top: list[tuple[Ints, Ints, Reals]] = []
    blocks = similarity_blocks(scorer, x, y, 1, block_size, callback)
    for start, block, listed, passing in judged.passing(blocks, threshold):
        scores.append(listed)
        n_others += int(passing.sum())
        i, j = np.nonzero(passing)
        top.append(_highest(i + start, j, block[i, j].astype(np.float64), k))
    score = np.concatenate(scores)
    is_hit = relevant & (score >= threshold)
    is_miss = relevant & (score < threshold)
    alarms = tuple(np.concatenate(part) for part in zip(*top, strict=True))
    return ThresholdErrors(
        threshold=float(threshold),
        n_passing=n_others + int(is_hit.sum()),
        n_true_positives=int(is_hit.sum()),
        n_relevant=int(relevant.sum()),
        false_alarms=ScoredPairs(*_highest(alarms[0], alarms[1], alarms[2], k)),
        misses=ScoredPairs(*_highest(row[is_miss], column[is_miss], score[is_miss], k)),
    )


def _highest(x: Ints, y: Ints, score: Reals, k: int) -> tuple[Ints, Ints, Reals]:
    """Those with the highest scores, equal ones as they come."""
    order = np.argsort(-score, kind="stable")[:k]
    return x[order], y[order], score[order]
