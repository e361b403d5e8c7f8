"""The ROC curve over all pairs, from exact counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from simviz._types import Ints, Reals


@dataclass(frozen=True, slots=True, eq=False)
class Roc:
    """True against false positives as the threshold falls.

    Points on a straight line between their neighbours are left out: the
    curve and its areas are the same without them.

    Parameters
    ----------
    false_positives, true_positives : ndarray of int64, shape (n_points,)
        Pairs that pass, from none to all.
    thresholds : ndarray of float64, shape (n_points,)
        A pair passes at or above it; ``inf`` lets none pass, ``-inf`` all.

    Examples
    --------
    >>> roc = Roc.from_scores([0.9, 0.4, 0.4, 0.1], [True, True, False, False])
    >>> roc.fpr.tolist(), roc.tpr.tolist(), roc.auc
    ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0], 0.875)
    """

    false_positives: Ints
    true_positives: Ints
    thresholds: Reals

    @classmethod
    def from_scores(cls, scores: ArrayLike, relevant: ArrayLike) -> Self:
        """Draw the curve of some pairs.

        Parameters
        ----------
        scores : array-like of float, shape (n,)
            Similarity of each pair.
        relevant : array-like of bool, shape (n,)
            Whether the pair belongs together.

        Returns
        -------
        Roc
        """
        positive = np.asarray(relevant, dtype=bool)
        distinct, at = np.unique(np.asarray(scores, dtype=np.float64), return_inverse=True)
        positives = np.bincount(at[positive], minlength=len(distinct))
        negatives = np.bincount(at[~positive], minlength=len(distinct))
        between = np.zeros(len(distinct) + 1, dtype=np.int64)
        return cls.from_counts(distinct, positives, negatives, between)

    @classmethod
    def from_counts(
        cls, scores: Reals, positives: Ints, negatives: Ints, negatives_between: Ints
    ) -> Self:
        """Draw the curve from counts at and between the scores of the relevant pairs.

        Between two such scores only false positives rise, along a straight
        line: their exact scores do not matter.

        Parameters
        ----------
        scores : ndarray of float64, shape (m,)
            Distinct scores, ascending.
        positives, negatives : ndarray of int64, shape (m,)
            Pairs of each class with exactly that score.
        negatives_between : ndarray of int64, shape (m + 1,)
            Negative pairs below ``scores[0]``, between ``scores[i - 1]`` and
            ``scores[i]``, and above the last.

        Returns
        -------
        Roc
        """
        # Downwards: those strictly between (just above the score), then those at it.
        steps_fp = np.zeros(2 * len(scores) + 1, dtype=np.int64)
        steps_tp = np.zeros_like(steps_fp)
        cut = np.full(len(steps_fp), -np.inf)
        steps_fp[0::2] = negatives_between[::-1]
        steps_fp[1::2] = negatives[::-1]
        steps_tp[1::2] = positives[::-1]
        cut[0:-1:2] = np.nextafter(scores[::-1], np.inf)
        cut[1::2] = scores[::-1]
        moves = (steps_fp > 0) | (steps_tp > 0)
        fp = np.concatenate([[0], np.cumsum(steps_fp[moves])])
        tp = np.concatenate([[0], np.cumsum(steps_tp[moves])])
        cut = np.concatenate([[np.inf], cut[moves]])
        dx, dy = np.diff(fp), np.diff(tp)
        bends = np.ones(len(fp), dtype=bool)
        bends[1:-1] = dx[:-1] * dy[1:] != dx[1:] * dy[:-1]
        return cls(fp[bends], tp[bends], cut[bends])

    @property
    def n_positive(self) -> int:
        """Number of relevant pairs."""
        return int(self.true_positives[-1])

    @property
    def n_negative(self) -> int:
        """Number of pairs that are not relevant."""
        return int(self.false_positives[-1])

    @property
    def fpr(self) -> Reals:
        """Share of the negative pairs that pass; NaN where there are none."""
        return self.false_positives / (self.n_negative or np.nan)

    @property
    def tpr(self) -> Reals:
        """Share of the relevant pairs that pass; NaN where there are none."""
        return self.true_positives / (self.n_positive or np.nan)

    @property
    def auc(self) -> float:
        """Area under the curve, ties one half; NaN where a class is empty."""
        twice = self.true_positives[1:] + self.true_positives[:-1]
        area = int(np.diff(self.false_positives) @ twice)
        return area / (2 * self.n_positive * self.n_negative or np.nan)

    @property
    def precision(self) -> Reals:
        """Share of what passes that is relevant; NaN where nothing passes."""
        passing = self.true_positives + self.false_positives
        return self.true_positives / np.where(passing > 0, passing, np.nan)

    @property
    def average_precision(self) -> float:
        """Mean, over the relevant pairs, of the precision where each is found.

        Ties count with their expected value, as everywhere. Neighbouring groups of ties of which
        the same share is relevant are one group here. NaN where no pair is relevant.
        """
        from simviz.ranking import Ranking, expected_average_precision

        fp, tp = self.false_positives, self.true_positives
        hits, passed = np.diff(tp), np.diff(fp)
        steps = np.flatnonzero(hits)
        # Straight up, each pair passes by itself; along a slope, all pairs tie.
        alone = passed[steps] == 0
        place = np.repeat(steps, hits[steps])
        first = np.cumsum(hits[steps]) - hits[steps]
        within = np.arange(len(place)) - np.repeat(first, hits[steps])
        is_alone = np.repeat(alone, hits[steps])
        above = fp[place] + tp[place] + np.where(is_alone, within, 0)
        tied = np.where(is_alone, 1, hits[place] + passed[place])
        n = np.array([0, len(place)])
        size = np.array([self.n_positive + self.n_negative])
        every = Ranking(n, place, np.ones(len(place)), above, tied, size)
        return float(expected_average_precision(every)[0])

    def tpr_at(self, fpr: float) -> float:
        """Highest share of relevant pairs that pass at a false-positive rate.

        Parameters
        ----------
        fpr : float
            In [0, 1]; between two points of the curve the line counts.

        Returns
        -------
        float
        """
        x, y = self.fpr, self.tpr
        last = int(np.searchsorted(x, fpr, side="right")) - 1
        if last == len(x) - 1:
            return float(y[-1])
        share = (fpr - x[last]) / (x[last + 1] - x[last])
        return float(y[last] + share * (y[last + 1] - y[last]))

    def partial_auc(self, max_fpr: float, *, standardized: bool = False) -> float:
        """Area up to a false-positive rate, as a mean height or against chance.

        Parameters
        ----------
        max_fpr : float
            In (0, 1].
        standardized : bool, default=False
            False divides the area by `max_fpr`. True gives McClish's (1 + (area - chance) / (best
            - chance)) / 2, where chance is max_fpr² / 2 and the best is max_fpr [1]_.

        Returns
        -------
        float
            NaN where a class is empty.

        Raises
        ------
        ValueError
            If `max_fpr` lies outside (0, 1].

        References
        ----------
        .. [1] D. K. McClish. "Analyzing a portion of the ROC curve." Medical
           Decision Making 9(3), 1989.
        """
        if not 0 < max_fpr <= 1:
            raise ValueError(f"max_fpr must lie in (0, 1], got {max_fpr}.")
        if not self.n_positive or not self.n_negative:
            return float("nan")
        x, y = self.fpr, self.tpr
        inside = int(np.searchsorted(x, max_fpr, side="right"))
        x, y = np.append(x[:inside], max_fpr), np.append(y[:inside], self.tpr_at(max_fpr))
        area = float(np.trapezoid(y, x))
        if not standardized:
            return area / max_fpr
        chance = max_fpr**2 / 2
        return (1 + (area - chance) / (max_fpr - chance)) / 2
