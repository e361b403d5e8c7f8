"""What a score means: the share of pairs with such a score that belong together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simviz.evaluation.classes import ScoreCounts

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """From a score to the probability that a pair belongs together.

    Parameters
    ----------
    cuts : ndarray of float64, shape (m,)
        Ascending scores at which the probability changes.
    probability : ndarray of float64, shape (m + 1,)
        Below the first cut, between any two, and from the last on; it never
        falls.

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
            By what the odds of a pair belonging together differ where the
            probabilities will be used: with as many relevant among twice the
            candidates, 0.5.

        Returns
        -------
        Calibration
            Steps that rise.

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


def reliability(
    calibration: Calibration,
    counts: ScoreCounts,
    *,
    n_bins: int = 10,
    n_resamples: int = 500,
    seed: int = 0,
) -> Reliability:
    """Hold probabilities against pairs that neither model nor calibration has seen.

    Parameters
    ----------
    calibration : Calibration
        Fitted on another part of the data.
    counts : ScoreCounts
        Counted with ``cuts=calibration.cuts``.
    n_bins : int, default=10
        Steps at most, each with about as many relevant pairs.
    n_resamples : int, default=500
        Times the queries are drawn for the intervals.
    seed : int, default=0
        Of the draws.

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
    found = relevant.sum(axis=0)
    if not found.any():
        raise ValueError("None of these pairs is relevant, so no probability came true.")
    # A new step begins once the one before holds its share of the relevant pairs.
    step = (np.cumsum(found) - found) * n_bins // found.sum()
    step = np.minimum(step, step[np.flatnonzero(found)[-1]])  # what lies above all joins the last
    starts = np.flatnonzero(np.diff(step, prepend=-1) > 0)
    positive, negative = (
        np.add.reduceat(part, starts, axis=1).astype(np.float64) for part in (relevant, other)
    )
    n = len(positive)
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=n_resamples)
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
