"""What a paper says, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement with a number that decides it.

    Parameters
    ----------
    statement : str
        What is said, in plain words.
    found : float
        The number that we found; NaN where it could not be measured.
    bound : float
        What it has to reach.

    Examples
    --------
    >>> claim = Claim("Typos are found.", 0.97, 0.95)
    >>> claim.verdict
    'holds'
    """

    statement: str
    found: float
    bound: float

    @property
    def verdict(self) -> str:
        """One of "holds", "does not hold" and "not comparable"."""
        if self.found != self.found:
            return "not comparable"
        return "holds" if self.found >= self.bound else "does not hold"
