"""What the papers say beside each claim, read from ``published.toml``."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files

#: Paper, table or section, and column.
_Place = tuple[str, str, str]
_AHEAD, _BEFORE = "ahead of", ("ahead of", "not behind")
_ON_ITS_DATA = "so on its own data"
#: What a relation of two rows is in words.
_WORDS = {
    "ahead of": _ON_ITS_DATA,
    "not behind": _ON_ITS_DATA,
    "level with": _ON_ITS_DATA,
    "equal to": "equal in every printed digit",
}


class Said(str):
    """Words about a paper that `Published` has made, and nobody else."""

    __slots__ = ()


class Published:
    """Numbers and statements of papers; ValueError where two of them contradict each other."""

    def __init__(
        self,
        numbers: Iterable[tuple[str, str, str, str, float]],
        statements: Iterable[Sequence[str]],
    ) -> None:
        self.numbers: dict[_Place, dict[str, float]] = {}
        self.statements: dict[_Place, dict[tuple[str, str, str], Said]] = {}
        for paper, where, column, row, value in numbers:
            known = self.numbers.setdefault((paper, where, column), {})
            if known.setdefault(row, float(value)) != value:
                raise ValueError(f"{where} has two numbers for {row!r} ({column}).")
        for paper, where, column, row, relation, *others in statements:
            if (relation in _WORDS) != bool(others):
                raise ValueError(f"{row!r} is {relation!r} {others}: no known statement.")
            words = _WORDS.get(relation, f"{column} {relation}") + f" ({where})"
            if where.startswith("figure"):
                words = "only drawn in the paper"
            there = self.statements.setdefault((paper, where, column), {})
            there[row, relation, "".join(others)] = Said(words)
        for place in self.statements:
            self._check(place)

    def _check(self, place: _Place) -> None:
        """Refuse statements of a column that contradict each other or its numbers."""
        numbers, statements = self.numbers.get(place, {}), self.statements[place]
        rows = {*numbers, *(row for row, _, _ in statements)}
        rows |= {other for _, _, other in statements if not other.startswith("any ")}
        behind: dict[str, set[str]] = {row: set() for row in rows}
        for a, b in itertools.permutations(numbers, 2):
            if numbers[a] > numbers[b]:
                behind[a].add(b)
        for row, relation, other in statements:
            if relation in _BEFORE:
                left_out = {row, other.removeprefix("any but ")}
                behind[row] |= rows - left_out if other.startswith("any ") else {other}
            if relation == _AHEAD and row in numbers and numbers[row] == numbers.get(other):
                raise ValueError(f"{place[1]} has {row!r} ahead of {other!r}, and level.")
        try:
            TopologicalSorter(behind).prepare()
        except CycleError as error:
            circle = ", ".join(map(repr, error.args[1]))
            raise ValueError(f"{place[1]} contradicts itself ({place[2]}): {circle}.") from error
        for row, relation, other in statements:
            if relation not in _BEFORE and other in behind[row] | {
                b for b in behind if row in behind[b]
            }:
                raise ValueError(f"{place[1]} has {row!r} {relation} {other!r}, and not so.")

    def stated(
        self, paper: str, where: str, column: str, row: str, relation: str, other: str = ""
    ) -> Said:
        """A statement in words; ValueError where the file has none."""
        text = self.statements.get((paper, where, column), {}).get((row, relation, other))
        if text is None:
            said = f"{row!r} is {relation} {other!r}".removesuffix(" ''")
            raise ValueError(f"Nothing says that {said} ({paper}, {where}, {column}).")
        return text

    def ahead(self, paper: str, where: str, column: str, row: str, other: str) -> Said:
        """That a row is ahead of another: both numbers where they are known, else a statement."""
        numbers = self.numbers.get((paper, where, column), {})
        if not {row, other} <= numbers.keys():
            return self.stated(paper, where, column, row, _AHEAD, other)
        a, b = numbers[row], numbers[other]
        if not a > b:
            raise ValueError(f"{where} has {a:g} for {row!r} and {b:g} for {other!r} ({column}).")
        digits = max(map(_digits, (a, b)))
        return Said(f"{a:.{digits}f} and {b:.{digits}f} ({column})")


def _digits(number: float) -> int:
    """Decimals that the paper prints: at least two, at most four."""
    return max(2, len(f"{number:.4f}".rstrip("0").partition(".")[2]))


def _read() -> Published:
    text = files("simviz.experiments").joinpath("published.toml").read_text(encoding="utf-8")
    return Published(**tomllib.loads(text))


#: What ``published.toml`` has.
PUBLISHED = _read()
