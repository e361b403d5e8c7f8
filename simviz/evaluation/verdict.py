"""What a significance test found, and how to say it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

#: Up to this p-value two runs are told apart, unless said otherwise.
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, compared by one test.

    Parameters
    ----------
    test : str
        What was tested, in words.
    statistic : float
        The test's own number, such as t; its sign is that of the difference.
    p_value : float
        Two-sided; NaN where there are too few values to test.
    difference : float
        Mean of the first run minus that of the second.
    low, high : float
        Interval of the difference.
    level : float
        Share of such intervals that cover the true difference.
    n : int
        Queries (or what else was counted) that have a value.
    outcomes : tuple of three int, or None
        How often the first run has the higher value, both are level, and it
        has the lower one; None where nothing is paired.
    effect_size : float
        Difference in standard deviations, corrected for small samples
        (Hedges' g): of the paired differences (Cohen's d_z), or of the values
        where nothing is paired. NaN for two pairs or fewer.
    unit : str
        What was counted.
    correction : str
        What has been done to `p_value` because of other comparisons.
    """

    test: str
    statistic: float
    p_value: float
    difference: float
    low: float
    high: float
    level: float
    n: int
    outcomes: tuple[int, int, int] | None
    effect_size: float
    unit: str = "query"
    correction: str = ""

    def is_significant(self, alpha: float = ALPHA) -> bool:
        """Whether the runs are told apart.

        Parameters
        ----------
        alpha : float, default=0.05
            Highest p-value that tells them apart.

        Returns
        -------
        bool
            False where there were too few values to test.
        """
        return self.p_value <= alpha

    def swapped(self) -> Comparison:
        """The same with the runs exchanged.

        Returns
        -------
        Comparison
            What the test would have said of the second run against the first.
        """
        return replace(
            self,
            statistic=0.0 - self.statistic,  # which is 0 for 0, and not −0
            difference=0.0 - self.difference,
            low=0.0 - self.high,
            high=0.0 - self.low,
            outcomes=None if self.outcomes is None else self.outcomes[::-1],
            effect_size=0.0 - self.effect_size,
        )

    def in_words(
        self,
        a_name: str,
        b_name: str,
        metric: str = "",
        *,
        higher_is_better: bool = True,
        alpha: float = ALPHA,
    ) -> str:
        """One sentence with the test, its numbers, and how many queries they rest on.

        Parameters
        ----------
        a_name, b_name : str
            What the runs are called.
        metric : str, optional
            What was measured.
        higher_is_better : bool, default=True
            False for metrics such as rank loss.
        alpha : float, default=0.05
            Highest p-value that tells the runs apart.

        Returns
        -------
        str
            Without a full stop.

        Examples
        --------
        >>> from simviz.evaluation import paired_t
        >>> paired_t([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.6, 0.8]).in_words("OPCA", "LSA", "MRR")
        'OPCA and LSA cannot be told apart: MRR +0.200 [−0.025, +0.425], p = 0.066, paired t, 4 queries'
        """  # noqa: E501 -- a sentence is one line
        counted = f"{self.n:,} {plural(self.unit, self.n)}"
        if math.isnan(self.p_value):
            return f"{a_name} and {b_name} cannot be compared on {counted}"
        if self.difference != 0 and (self.difference > 0) != higher_is_better:
            told = self.swapped()
            return told.in_words(
                b_name, a_name, metric, higher_is_better=higher_is_better, alpha=alpha
            )
        relation = (
            f"{a_name} is ahead of {b_name}"
            if self.is_significant(alpha)
            else f"{a_name} and {b_name} cannot be told apart"
        )
        p = _p_in_words(self.p_value) + (f" ({self.correction})" if self.correction else "")
        return f"{relation}: {self._numbers(metric)}, {p}, {self.test}, {counted}"

    def lead_in_words(
        self, a_name: str, b_name: str, metric: str = "", *, higher_is_better: bool = True
    ) -> str:
        """One sentence on which run is ahead, without a verdict: for the part runs are chosen by.

        Parameters
        ----------
        a_name, b_name : str
            What the runs are called.
        metric : str, optional
            What was measured.
        higher_is_better : bool, default=True
            False for metrics such as rank loss.

        Returns
        -------
        str
            Without a full stop.

        Examples
        --------
        >>> from simviz.evaluation import paired_t
        >>> paired_t([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.6, 0.8]).lead_in_words("OPCA", "LSA", "MRR")
        'OPCA is ahead of LSA by MRR +0.200 [−0.025, +0.425], 4 queries'
        """  # noqa: E501 -- a sentence is one line
        counted = f"{self.n:,} {plural(self.unit, self.n)}"
        if math.isnan(self.difference):
            return f"{a_name} and {b_name} cannot be compared on {counted}"
        if self.difference == 0:
            return f"{a_name} and {b_name} are level on {counted}"
        if (self.difference > 0) != higher_is_better:
            a_name, b_name = b_name, a_name
        ahead = self if self.difference > 0 else self.swapped()
        return f"{a_name} is ahead of {b_name} by {ahead._numbers(metric)}, {counted}"

    def _numbers(self, metric: str) -> str:
        """The difference with its interval."""
        numbers = f"{_signed(self.difference)} [{_signed(self.low)}, {_signed(self.high)}]"
        return f"{metric} {numbers}".strip()


def plural(unit: str, n: int) -> str:
    """What was counted, as a number of them is called."""
    if n == 1:
        return unit
    return f"{unit[:-1]}ies" if unit.endswith("y") else f"{unit}s"


def _signed(value: float) -> str:
    """Three decimals and a sign; nothing is −0."""
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text.replace("-", "−")


def _p_in_words(p: float) -> str:
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.3f}" if p < 0.9995 else "p = 1"
