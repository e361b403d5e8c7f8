"""What a paper says, and whether it holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Self

from simviz.evaluation.verdict import ALPHA, Comparison, plural

Verdict = Literal["holds", "does not hold", "not comparable"]
VERDICTS: tuple[Verdict, ...] = ("holds", "does not hold", "not comparable")


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement with a number that decides it.

    Parameters
    ----------
    statement : str
        What is said, in plain words.
    found : float
        The number that we found; NaN where it could not be measured.
    bound : float, default=0
        What it has to reach.
    quantity : str
        What the number is, such as "MRR, S2Net − OPCA".
    published : str
        What the paper has, in words; "only drawn in the paper" where it
        prints no number.
    test : str
        The test that decides, with what it counted; empty where none was made.
    p_value : float
        Of that test, corrected for the other claims it was made with; NaN
        where none was made. Above `simviz.evaluation.verdict.ALPHA` the claim
        does not hold, however large the number.
    low, high : float
        95 % interval of the number.
    paper_test : str
        What the paper's own test says, with its p-value.
    reason : str
        Why the claim cannot be compared; it then has no other verdict.
    ours : str
        What was found, in words, where the number says too little.

    Examples
    --------
    >>> claim = Claim("Typos are found.", 0.97, 0.95)
    >>> claim.verdict
    'holds'
    >>> Claim("S2Net is ahead of OPCA.", 0.01, p_value=0.3).verdict
    'does not hold'
    """

    statement: str
    found: float = math.nan
    bound: float = 0.0
    quantity: str = ""
    published: str = ""
    test: str = ""
    p_value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    paper_test: str = ""
    reason: str = ""
    ours: str = ""

    @property
    def verdict(self) -> Verdict:
        """One of "holds", "does not hold" and "not comparable"."""
        if self.reason or math.isnan(self.found):
            return "not comparable"
        reached = self.found >= self.bound and not self.p_value > ALPHA
        return "holds" if reached else "does not hold"

    @classmethod
    def ahead(
        cls,
        statement: str,
        found: Comparison,
        quantity: str = "",
        *,
        published: str = "",
        paper: Comparison | None = None,
        higher_is_better: bool = True,
    ) -> Self:
        """A claim that one method is better than another.

        Parameters
        ----------
        statement : str
            What is said, in plain words.
        found : Comparison
            The method that is said to be better against the other one.
        quantity : str
            What was compared, such as "MRR, S2Net − OPCA".
        published : str
            What the paper has, in words.
        paper : Comparison, optional
            The same by the test that the paper used.
        higher_is_better : bool, default=True
            False for metrics such as rank loss.

        Returns
        -------
        Claim
            It holds where the difference has the right sign and p ≤ 0.05.
        """
        if not higher_is_better:
            found = found.swapped()
            paper = None if paper is None else paper.swapped()
        return cls(
            statement,
            found.difference,
            math.nextafter(0.0, 1.0),
            quantity,
            published,
            test_in_words(found),
            found.p_value,
            found.low,
            found.high,
            "" if paper is None else f"{test_in_words(paper)}: {p_in_words(paper.p_value)}",
            "Too few values to test." if math.isnan(found.p_value) else "",
        )

    @classmethod
    def level(
        cls,
        statement: str,
        found: Comparison,
        margin: float,
        quantity: str = "",
        *,
        published: str = "",
    ) -> Self:
        """A claim that two methods are as good as each other.

        Parameters
        ----------
        statement : str
            What is said, in plain words.
        found : Comparison
            One against the other; only its interval is read.
        margin : float
            The largest difference that would not matter.
        quantity : str
            What was compared.
        published : str
            What the paper has, in words.

        Returns
        -------
        Claim
            It holds where the whole interval of the difference lies within
            the margin: that no difference was found would not show that there
            is none.
        """
        furthest = max(abs(found.low), abs(found.high))
        claim = cls(statement, margin - furthest, 0.0, quantity, published)
        words = f"{found.level:.0%} interval within ±{margin:g}, {counted(found)}"
        return replace(claim, test=words, low=found.low, high=found.high)

    def numbers(self) -> str:
        """What was found, in words.

        Returns
        -------
        str
            The quantity, its value with its interval, and p; empty where
            nothing was measured.

        Examples
        --------
        >>> Claim("A is ahead.", 0.021, low=0.01, high=0.032, p_value=0.0002).numbers()
        '+0.021 [+0.010, +0.032], p < 0.001'
        """
        if self.ours or math.isnan(self.found):
            return self.ours
        interval = not math.isnan(self.low)
        if interval and self.bound == 0 and math.isnan(self.p_value):
            told = f"[{signed(self.low)}, {signed(self.high)}]"  # a claim of being level
        else:
            told = signed(self.found)
            told += f" [{signed(self.low)}, {signed(self.high)}]" if interval else ""
        if not interval and math.isnan(self.p_value):
            told += f" (needed {signed(self.bound)})"
        p = "" if math.isnan(self.p_value) else f", {p_in_words(self.p_value)}"
        p += "; cannot be told apart" if self.p_value > ALPHA else ""
        return f"{f'{self.quantity}: ' if self.quantity else ''}{told}{p}"

    def to_json(self) -> dict[str, Any]:
        """All of it, as JSON's types, and the verdict."""
        tree = {name: _jsonable(value) for name, value in asdict(self).items()}
        return {**tree, "verdict": self.verdict}

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> Self:
        """Read what `to_json` answered.

        Parameters
        ----------
        tree : mapping
            JSON's types.

        Returns
        -------
        Claim
            The same claim.
        """
        fields: dict[str, Any] = {n: v for n, v in tree.items() if n != "verdict"}
        fields = {n: math.nan if v is None else v for n, v in fields.items()}
        return cls(**fields)


def counted(found: Comparison) -> str:
    """How many of what a test rests on, such as "1,032 queries"."""
    return f"{found.n:,} {plural(found.unit, found.n)}"


def test_in_words(found: Comparison) -> str:
    """Which test it was, what was done about others, and what it counted."""
    return ", ".join(filter(None, (found.test, found.correction, counted(found))))


def signed(value: float) -> str:
    """Three decimals and a sign; nothing is −0."""
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text.replace("-", "−")


def p_in_words(p: float) -> str:
    """A p-value as it is written."""
    if math.isnan(p):
        return "p unknown"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _jsonable(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value
