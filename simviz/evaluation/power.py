"""How many queries it would take to tell two runs apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

from numpy.typing import ArrayLike

from simviz.evaluation import _paired
from simviz.evaluation.verdict import ALPHA, plural

#: A difference of fewer standard errors says next to nothing, not even its sign.
_LEAST = 0.5
#: Above so many queries the normal distribution is as good as Student's.
_MANY = 10_000


@dataclass(frozen=True, slots=True)
class Plan:
    """Queries that would separate two runs, if they differ as much as they seem to.

    Parameters
    ----------
    n : int
        Queries there are.
    needed : int or None
        Queries that would do, altogether; None where the difference is too
        small for an answer.
    separated : bool
        Whether they are told apart already.
    difference : float
        Mean difference.
    power : float
        Probability that so many queries tell the runs apart.
    unit : str, default="query"
        What was counted.
    """

    n: int
    needed: int | None
    separated: bool
    difference: float
    power: float
    unit: str = "query"

    @property
    def more(self) -> int | None:
        """Queries to add; 0 where the runs are told apart, None where nobody can say."""
        if self.separated:
            return 0
        return None if self.needed is None else max(1, self.needed - self.n)

    def in_words(self, a_name: str, b_name: str) -> str:
        """One sentence.

        Parameters
        ----------
        a_name, b_name : str
            What the runs are called.

        Returns
        -------
        str
            Without a full stop.
        """
        here = f"{self.n:,} {plural(self.unit, self.n)}"
        if self.separated:
            return f"{here} tell {a_name} and {b_name} apart already"
        if self.more is None:
            return (
                f"{a_name} and {b_name} are too close on {here} to say how many more would "
                "separate them"
            )
        more = _rounded(self.more)
        return (
            f"about {more:,} more {plural(self.unit, more)} would separate {a_name} from "
            f"{b_name} with a probability of {100 * self.power:.0f} %, if they differ "
            "as much as they seem to"
        )


def queries_needed(
    a: ArrayLike, b: ArrayLike, *, power: float = 0.8, alpha: float = ALPHA
) -> Plan:
    """Say how many queries a paired t-test would need to tell two runs apart.

    Parameters
    ----------
    a, b : array-like of float, shape (n_queries,)
        Value of each query in both runs.
    power : float, default=0.8
        Probability with which the test should find the difference, from 0.5.
    alpha : float, default=0.05
        Highest p-value that tells the runs apart.

    Returns
    -------
    Plan
        How many, and how to say it.

    Raises
    ------
    ValueError
        If the lists do not belong together or a share is out of range.

    Notes
    -----
    Mean and standard deviation of the differences are taken for the true
    ones. Both are estimates, so the answer is a magnitude to plan with. Where
    the mean is less than half its standard error it may as well be of the
    other sign, and no number is given.

    Examples
    --------
    >>> a, b = [0.9, 0.4, 0.7, 0.9, 0.6], [0.5, 0.6, 0.6, 0.8, 0.5]
    >>> plan = queries_needed(a, b)
    >>> plan.needed, plan.more
    (38, 33)
    """
    if not (0.5 <= power < 1 and 0 < alpha < 1):
        raise ValueError(
            f"power must lie between 0.5 and 1 and alpha between 0 and 1, got {power} and {alpha}."
        )
    d = _paired.differences(a, b)
    n, middle, spread = len(d), _paired.mean(d), _paired.deviation(d)
    error = spread / math.sqrt(max(n, 1))
    _, p = _paired.student(middle, error, n - 1)
    if n < 2 or middle == 0 or abs(middle) < _LEAST * error:
        return Plan(n, None, False, middle, power)
    needed = 2 if spread == 0 else _sample_size(abs(middle) / spread, power, alpha)
    return Plan(n, needed, p <= alpha, middle, power)


def _sample_size(effect: float, power: float, alpha: float) -> int:
    """Least n whose two-sided paired t-test finds an effect, in standard deviations."""
    from scipy.special import ndtri

    normal = ((ndtri(1 - alpha / 2) + ndtri(power)) / effect) ** 2
    if normal > _MANY:
        return math.ceil(normal)
    low, high = 1, 2  # too few, enough
    while _power(high, effect, alpha) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if _power(middle, effect, alpha) < power:
            low = middle
        else:
            high = middle
    return high


def _power(n: int, effect: float, alpha: float) -> float:
    """Probability that n queries show an effect: Student's t about √n · effect."""
    from scipy.special import nctdtr, stdtrit

    limit = float(stdtrit(n - 1, 1 - alpha / 2))
    away = math.sqrt(n) * effect
    # What falls beyond the other end is of the wrong sign, and next to nothing.
    return float(1 - nctdtr(n - 1, away, limit))


def _rounded(n: int) -> int:
    """Two leading digits: more would promise too much."""
    step = 10 ** max(0, len(str(n)) - 2)
    return -(-n // step) * step
